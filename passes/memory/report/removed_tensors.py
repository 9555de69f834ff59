"""The ONNX tensors of a model that are no tensors of its memory plan, and what became of each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from ....dialects.graph.model_nodes import ModelNode, ModelTensor, computed_nodes
from ....dialects.kernel.calls import CallOp
from ..analysis.main_steps import Step
from .memory_records import RemovedRecord, TensorRecord


def removed_tensors(
    nodes: Sequence[ModelNode], records: Sequence[TensorRecord], steps: Sequence[Step]
) -> Iterator[RemovedRecord]:
    """The tensors of the model's nodes that have no record, in the model's order, each once."""
    finder = _Finder(nodes, steps)
    told = {record.name for record in records}
    for node in nodes:
        for tensor in node.outputs:
            if tensor.name not in told:
                told.add(tensor.name)
                yield finder.removed(node, tensor)


def model_weight_bytes(nodes: Sequence[ModelNode]) -> int:
    """Bytes of a model's initialisers, and of constants that are nodes."""
    return sum(each.bytes for node in nodes if node.operator in ("", "Constant") for each in node.outputs)


class _Finder:
    """Finds the calls that compute a tensor, or what its readers became."""

    def __init__(self, nodes: Sequence[ModelNode], steps: Sequence[Step]) -> None:
        self._steps = steps
        self._at: dict[str, list[int]] = {}
        for number, step in enumerate(steps):
            for name in computed_nodes(step):
                self._at.setdefault(name, []).append(number)
        self._readers: dict[str, list[ModelNode]] = {}
        for node in nodes:
            for name in node.inputs:
                self._readers.setdefault(name, []).append(node)

    def removed(self, node: ModelNode, tensor: ModelTensor) -> RemovedRecord:
        """What became of a tensor."""
        if tensor.fate == "unused":
            return RemovedRecord(tensor.name, "unused")
        if tensor.same and tensor.fate != "constant":
            return RemovedRecord(tensor.name, "same", into=tensor.same)
        if tensor.fate == "constant":
            return self._inside(tensor.name, "constant", self._of_readers(tensor.name))
        if node.name in self._at:
            return self._inside(tensor.name, "fused", self._at[node.name])
        if later := self._of_readers(tensor.name):
            return self._inside(tensor.name, "fused", later)
        return RemovedRecord(tensor.name, "unused")

    def _inside(self, name: str, fate: Literal["fused", "constant"], steps: Sequence[int]) -> RemovedRecord:
        return RemovedRecord(name, fate, tuple(map(self._kernel, steps)), tuple(steps))

    def _kernel(self, number: int) -> str:
        step = self._steps[number]
        return step.callee.string_value() if isinstance(step, CallOp) else step.name

    def _of_readers(self, tensor: str) -> list[int]:
        """The steps of the nearest nodes that need a tensor and have calls."""
        found: set[int] = set()
        pending, seen = [tensor], {tensor}
        for name in pending:
            for node in self._readers.get(name, ()):
                if node.name in self._at:
                    found.update(self._at[node.name])
                    continue
                fresh = [each.name for each in node.outputs if each.name not in seen]
                pending += fresh
                seen.update(fresh)
        return sorted(found)
