"""The estimated time of a model on a CPU, from the costs of its kernels' schedules."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ..dialects.graph.host import kernels_of, main_of, runs_of
from ..dialects.kernel.targets import cpu_of
from ..dialects.sizes.guards import unguarded
from .cost_model import nanoseconds, seats_of
from .kernels.schedules import schedule_of
from .memory.analysis.main_steps import stages_of

CALL_SECONDS = 40e-9
"""Of a call: its arguments, and what a kernel computes before its loops."""


def estimated_seconds(module: ModuleOp) -> float:
    """Estimated seconds of an inference of a module at the arena level, at its current sizes.

    Each loop has as many turns as its bounds say, or one where these are of run time. A stage's work is divided evenly
    among the threads that it is worth.
    """
    target, kernels = cpu_of(module), kernels_of(module)
    found = 0.0
    with unguarded():
        costs = {name: schedule_of(kernel, target.device).cost(kernel, target) for name, kernel in kernels.items()}
        work = {name: nanoseconds(kernel, target) for name, kernel in kernels.items()}
        for stage in stages_of(main_of(module).body.block):
            called = [call.callee.string_value() for call in stage]
            seats = seats_of(sum(work[name] for name in called), target.threads.data)
            taken = sum(costs[name] for name in called) / seats + CALL_SECONDS * len(called)
            found += runs_of(stage[0]) * taken
    return found
