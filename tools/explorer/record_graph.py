"""The numbered nodes, tensors and steps of a record, tied to each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...dialects.graph.model_nodes import ModelNode
from ...passes.kernels.choose_schedule import Choice
from ...passes.memory.report.memory_report import MemoryPlan
from .record_data import Node, Step, Tensor, numbers_of


def graph_of(
    model: Sequence[ModelNode], memory: MemoryPlan, plan: Any
) -> tuple[list[Node], list[Tensor], Mapping[str, Sequence[int]]]:
    """The nodes of the ONNX graph, its tensors and the plan's, and the nodes' numbers by their names in the model."""
    records = {each.name: each for each in memory.tensors}
    removed = {each.name: each for each in memory.removed}
    tensors: dict[str, Tensor] = {}
    dtypes = {spec.name: str(spec.dtype) for spec in (*plan.inputs, *plan.outputs)}

    def add(name: str, shape: Sequence[int] | None, nbytes: int, *, of_model: bool) -> None:
        made = tensors.setdefault(
            name,
            Tensor(name, None if shape is None else list(shape), dtypes.get(name, ""), nbytes, "removed", of_model),
        )
        if (record := records.get(name)) is not None:
            made.shape = made.shape or list(record.shape)
            made.bytes, made.dtype = record.bytes, record.dtype
            made.role, made.offset, made.end = record.role, record.offset, record.end
            made.birth, made.death, made.buffer = record.birth, record.death, record.buffer
            made.inplace, made.read_at = record.inplace, list(record.read_at)
        elif (gone := removed.get(name)) is not None:
            made.fate, made.steps = gone.text, list(gone.steps)

    for spec in (*plan.inputs, *plan.outputs):
        add(spec.name, spec.shape, spec.nbytes, of_model=True)
    for node in model:
        for each in node.outputs:
            add(each.name, each.shape, each.bytes, of_model=True)
    for record in memory.tensors:
        add(record.name, record.shape, record.bytes, of_model=record.name in tensors)
    for node in model:
        for name in filter(None, node.inputs):
            add(name, None, 0, of_model=True)
    number = numbers_of(list(tensors))
    for name, record in records.items():
        tensors[name].shared = [number[other] for other in record.shared_with]
    for name, gone in removed.items():
        if gone.into in number:
            tensors[name].same = number[gone.into]
    listed = list(tensors.values())
    nodes: list[Node] = []
    named: dict[str, list[int]] = {}
    for node in model:
        if not node.operator:  # an initialiser
            tensors[node.name].role = "weight"
            continue
        inputs = [number[name] for name in node.inputs if name]
        outputs = [number[each.name] for each in node.outputs]
        for each in outputs:
            listed[each].node = len(nodes)
        for each in inputs:
            listed[each].readers.append(len(nodes))
        before = len(named.get(node.name, ()))
        name = f"{node.name}#{before + 1}" if before else node.name
        named.setdefault(node.name, []).append(len(nodes))
        nodes.append(Node(name, node.operator, inputs, outputs, []))
    return nodes, listed, named


def tie_steps(
    nodes: Sequence[Node],
    named: Mapping[str, Sequence[int]],
    tensors: Sequence[Tensor],
    steps: Sequence[Step],
    memory: MemoryPlan,
    choices: Sequence[Choice],
) -> None:
    """Ties steps to nodes and tensors, and to the schedules that they could have had."""
    tensor = numbers_of([each.name for each in tensors])
    considered = {
        each.kernel: [(schedule.name, seconds * 1e6) for schedule, seconds in each.candidates] for each in choices
    }
    for record in memory.tensors:
        own = tensor[record.name]
        for at in record.read_at:
            steps[at].reads.append(own)
        if record.role in ("intermediate", "output", "scratch") and record.kernel:
            tensors[own].steps = [record.birth]
            (steps[record.birth].scratch if record.role == "scratch" else steps[record.birth].writes).append(own)
    for number, (step, names) in enumerate(zip(steps, memory.step_nodes, strict=True)):
        for name in names:
            known = named.get(name, ())
            if len(known) > 1:  # of several of one name, that of its results, or else the first that is left
                own = [each for each in known if set(nodes[each].outputs) & set(step.writes)]
                known = own or [each for each in known if not nodes[each].steps][:1] or known[:1]
            step.nodes += known
        for each in step.nodes:
            nodes[each].steps.append(number)
        step.candidates = considered.get(step.kernel, [])
