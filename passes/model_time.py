"""The estimated time of a model, from the costs of its kernels' schedules."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp

from ..dialects.graph.host import kernels_of, main_of, runs_of
from ..dialects.graph.ops.indexing import ScatterOp
from ..dialects.graph.ops.structure import KernelOp
from ..dialects.kernel.calls import CallOp
from ..dialects.kernel.targets import CpuAttr, GpuAttr, target_of
from ..dialects.sizes.guards import unguarded
from .cost_model import bytes_of, moving_seconds, multiplying_seconds, nanoseconds, operations, seats_of
from .kernels.kernel_facts import constant_operands
from .kernels.schedules import schedule_of
from .kernels.schedules.cpu.winograd import Winograd
from .memory.analysis.main_steps import calls_of, stages_of

CALL_SECONDS = 40e-9
"""Of a call: its arguments, and what a kernel computes before its loops."""


WAITED = 0.3
"""Share of the time of reading a product's weights that its multiplications do not hide. Without it ResNet-50 by bands,
which read weights again for each, took 16 % longer than estimated; with it the frontiers of MobileNet-v2, ResNet-18 and
ViT-B/16 are within 13 % of what they take, and BERT base's but for its smallest plan (Zen 5, one thread). Winograd's
cost tells what its products wait for."""


def estimated_seconds(module: ModuleOp) -> float:
    """Estimated seconds of an inference of a module at the arena level, at its current sizes.

    Each loop has as many turns as its bounds say, or one where these are of run time. On a CPU a stage's work is
    divided evenly among the threads that it is worth; on a GPU calls run one by one, and costs include the launch.
    """
    target, kernels = target_of(module), kernels_of(module)
    found = 0.0
    with unguarded():
        if isinstance(target, GpuAttr):
            costs = {name: schedule_of(kernel, target.device).cost(kernel, target) for name, kernel in kernels.items()}
            return sum(runs_of(call) * costs[call.callee.string_value()] for call in calls_of(main_of(module)))
        costs = {name: _seconds(kernel, target) for name, kernel in kernels.items()}
        work = {name: nanoseconds(kernel, target) for name, kernel in kernels.items()}
        for stage in stages_of(main_of(module).body.block):
            called = [call.callee.string_value() for call in stage]
            seats = seats_of(sum(work[name] for name in called), target.threads.data)
            saved = sum(_left_in_place(kernels[name], call, target) for name, call in zip(called, stage, strict=True))
            taken = (sum(costs[name] for name in called) - saved) / seats + CALL_SECONDS * len(called)
            found += runs_of(stage[0]) * taken
    return found


def _seconds(kernel: KernelOp, target: CpuAttr) -> float:
    """The cost of a kernel, with what it waits for weights."""
    schedule = schedule_of(kernel, target.device)
    cost = schedule.cost(kernel, target)
    if isinstance(schedule, Winograd):
        return cost
    weights = (kernel.arguments[place] for place in constant_operands(kernel))
    waiting = sum(moving_seconds(bytes_of(value), target) for value in weights)
    return cost + WAITED * min(multiplying_seconds(operations(kernel)[0], target), waiting)


def _left_in_place(kernel: KernelOp, call: CallOp, target: CpuAttr) -> float:
    """The seconds that a kernel's cost has for copying what a scatter, whose result is in place, leaves as it is."""
    made = kernel.terminator.operands[0].owner
    if not isinstance(made, ScatterOp) or made.x not in kernel.arguments:
        return 0.0
    if call.ins[kernel.arguments.index(made.x)] is not call.outs[0]:
        return 0.0
    copied = max(0, bytes_of(made.x) - bytes_of(made.updates))
    return 2 * moving_seconds(copied, target)
