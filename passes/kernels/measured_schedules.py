"""Tuned schedules, measured to be the fastest, by kernel key: stored in the context for choose-schedule.

A kernel's key is computed from its text without its name, and from the target: equal kernels of different models have
one key; another CPU, or another number of threads, gives another.
"""

from __future__ import annotations

import hashlib
from io import StringIO

from xdsl.context import Context
from xdsl.dialects.builtin import StringAttr
from xdsl.printer import Printer

from ...dialects.graph.ops.structure import KernelOp
from ...dialects.kernel.kernel_attributes import ScheduleAttr
from ...dialects.kernel.targets import Target
from ...dialects.xdsl_repairs import kept_in


def tuned_schedules(ctx: Context) -> dict[str, ScheduleAttr]:
    """The tuned schedules of a context, by kernel key; filled in by the caller of the pipeline."""
    return kept_in(ctx, "tuned_schedules", dict[str, ScheduleAttr])


def kernel_key(kernel: KernelOp, target: Target) -> str:
    """The key of a kernel without a schedule, on a target."""
    nameless = kernel.clone()
    nameless.sym_name = StringAttr("")
    stream = StringIO()
    Printer(stream=stream, print_debuginfo=False).print_op(nameless)
    return hashlib.sha256(f"{target}\n{stream.getvalue()}".encode()).hexdigest()[:32]
