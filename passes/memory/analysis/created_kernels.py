"""Kernels created by memory passes, scheduled by the kernel passes' rules (the one such dependency)."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ....dialects.graph.ops.structure import KernelOp
from ....dialects.kernel.kernel_attributes import FormAttr
from ....dialects.kernel.targets import target_of
from ...kernels.choose_schedule import schedule_kernel


def add_map_kernel(module: ModuleOp, kernel: KernelOp) -> None:
    """Inserts an elementwise kernel into a module, scheduled for the module's target."""
    kernel.form = FormAttr.of("map")
    schedule_kernel(kernel, target_of(module))
    module.body.block.add_op(kernel)
