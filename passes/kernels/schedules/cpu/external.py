"""The external schedule: one call of a user's compiled function on the kernel's buffers."""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.dialects.builtin import IntegerType, Signedness

from .....dialects.graph.ops.external import ExternalCallOp
from .....dialects.graph.ops.structure import KernelOp
from .....dialects.graph.values import nbytes_of, type_of
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import CpuAttr
from ....cost_model import seconds
from ...kernel_facts import argument_index, the_root
from ..schedule import Schedule
from ..scratch import ScratchLayout

BYTE = IntegerType(8, Signedness.UNSIGNED)
LINE = CpuAttr.CACHE_LINE


@dataclass(frozen=True)
class External(Schedule[CpuAttr]):
    """All buffers are row-major; results that nobody reads are written to scratch."""

    forms = ("external",)

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        return seconds(kernel, target)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        root, scratch = the_root(kernel, ExternalCallOp), self.scratch(kernel)
        yielded = list(kernel.terminator.arguments)
        inplace = [
            (argument_index(kernel, root.operands[operand]), yielded.index(root.results[result]))
            for operand, result in root.inplace_pairs
            if root.results[result] in yielded and root.operands[operand].has_one_use()
        ]
        return InterfaceAttr.of(inplace=inplace, scratch=scratch.together, per_thread=scratch.per_thread)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """The function's scratch, and the results that nobody reads, each in whole cache lines."""
        root = the_root(kernel, ExternalCallOp)
        own = [("scratch", root.scratch_bytes)] if root.scratch is not None else []
        parts = [
            (unread(number), nbytes_of(type_of(result)))
            for number, result in enumerate(root.results)
            if result not in kernel.terminator.arguments
        ]
        if root.threads is None:
            return ScratchLayout.of(shared=_in_lines([*parts, *own]))
        return ScratchLayout.of(own=_in_lines(own), shared=_in_lines(parts))


def unread(number: int) -> str:
    """The scratch part that takes a result which nobody reads."""
    return f"result {number}"


def _in_lines(parts: list[tuple[str, int]]) -> list[tuple[str, IntegerType, tuple[int]]]:
    return [(name, BYTE, (-(-nbytes // LINE) * LINE,)) for name, nbytes in parts]
