"""limit-threads: limits a small model's threads by its estimated work.

before:  builtin.module attributes {kernel.target = #kernel.cpu<..., threads = 8>}
after:   builtin.module attributes {kernel.target = #kernel.cpu<..., threads = 1>}

An inference of a few microseconds is over before a second thread has woken up. So there is a thread for each `grain`
nanoseconds that the kernels take together, as passes/cost_model.py estimates it, and one at least. Comes before
choose-schedule, which cuts the work for the threads there are. Needs form-kernels.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.graph.host import kernels_of, main_of
from ...dialects.graph.ops.structure import CallOp
from ...dialects.kernel.targets import CpuAttr, target_of
from ..cost_model import MODEL_GRAIN, nanoseconds
from ..statistics import count


@dataclass(frozen=True)
class LimitThreads(ModulePass):
    """Limits a small model's threads by its estimated work."""

    name = "limit-threads"

    grain: int = MODEL_GRAIN
    """Nanoseconds of work for each thread."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        if not isinstance(target, CpuAttr) or target.threads.data == 1 or not self.grain:
            return
        threads = target.threads.data
        times = {name: nanoseconds(kernel, target) for name, kernel in kernels_of(op).items()}
        calls = (call for call in main_of(op, self.name).body.walk() if isinstance(call, CallOp))
        worth = max(1, sum(times[call.callee.string_value()] for call in calls) // self.grain)
        if worth < threads:
            op.attributes["kernel.target"] = target.with_threads(worth)
            count(ctx, self.name, "thread left out", threads - worth)
