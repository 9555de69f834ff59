"""Schedules that were measured to be the fastest, by what a kernel is: kept with the context, for choose-schedule.

A kernel's key is made of its text without its name, and of the target: kernels of other models that are alike have the
same, and another CPU, or another number of threads, is another key.
"""

from __future__ import annotations

import hashlib
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import StringAttr
from xdsl.printer import Printer

from ...dialects.graph.ops.structure import KernelOp
from ...dialects.kernel.attributes import ScheduleAttr
from ...dialects.kernel.targets import Target
from ...dialects.xdsl_repairs import kept_in


def tuned_schedules(ctx: Context) -> dict[str, ScheduleAttr]:
    """What is known in a context, by the keys of kernels: who runs the pipeline fills it in."""
    return kept_in(ctx, "tuned_schedules", dict[str, ScheduleAttr])


def kernel_key(kernel: KernelOp, target: Target) -> str:
    """What tells a kernel that has no schedule yet from others, on a target."""
    nameless = kernel.clone()
    nameless.sym_name = StringAttr("")
    stream = StringIO()
    Printer(stream=stream, print_debuginfo=False).print_op(nameless)
    return hashlib.sha256(f"{target}\n{stream.getvalue()}".encode()).hexdigest()[:32]
