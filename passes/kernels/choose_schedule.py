"""choose-schedule: every kernel gets its schedule and its interface.

before:  graph.kernel @matmul_0(%a, %w) attributes {family = "contraction"} { ... }
after:   graph.kernel @matmul_0(%a, %w) attributes {
           schedule = #kernel.schedule<"panels", {mr = 14, nr = 32}>, interface = #kernel.interface<> } { ... }

The family was named by form-kernels, which knew the root it fused around; how wide and how tall the tiles are, how
much scratch the code needs and which buffers may share bytes is decided here from the module's `kernel.target`
(a portable one where there is none).
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

from ...dialects.errors import CompileError
from ...dialects.graph import KernelOp, describe
from ...dialects.kernel import TargetAttr, target_of
from .schedules import schedule_class

WAYS: dict[str, tuple[str, ...]] = {
    "attention": ("attention",),
    "contraction": ("panels",),
    "depthwise": ("depthwise",),
    "lrn": ("lrn",),
    "map": ("map",),
    "recurrence": ("recurrence",),
    "rows": ("rows", "direct"),
    "windows": ("windows",),
}
"""The schedules of each family; the first that can carry a kernel out does."""


@dataclass(frozen=True)
class ChooseSchedule(ModulePass):
    """Every kernel gets its schedule and its interface."""

    name = "choose-schedule"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        for kernel in op.body.block.ops:
            if not isinstance(kernel, KernelOp) or kernel.schedule is not None:
                continue
            family = kernel.attributes.pop("family", None)
            if not isinstance(family, StringAttr) or family.data not in WAYS:
                raise CompileError(f"{describe(kernel)} @{kernel.sym_name.data}: no known kernel family")
            schedule_kernel(kernel, family.data, target)


def schedule_kernel(kernel: KernelOp, family: str, target: TargetAttr) -> None:
    """Gives a kernel of a family its schedule and its interface."""
    for name in WAYS[family]:
        for schedule in schedule_class(target.device.data, name).candidates(kernel, target):
            kernel.schedule, kernel.interface = schedule.attribute(), schedule.interface(kernel)
            return
