"""The pipeline of a configuration: its phases, its passes, and the target that they work for."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp

from ...dialects.graph.blobs import MiniContext
from ...dialects.kernel.kernel_attributes import ScheduleAttr
from ...lowering.levels import level_of
from ...lowering.pipelines import PATHS, Phase, parse_passes, phases
from ...passes.kernels.measured_schedules import tuned_schedules
from ..compute_device import compute_device
from ..config import EngineConfig
from ..kept.cpus import host_cpu
from ..kept.tuning_store import TuningStore
from ..option_declarations import options_of


def engine_phases(
    config: EngineConfig, changes: Sequence[str] = (), *, plan_memory: bool | None = None
) -> tuple[Phase, ...]:
    """The pipeline of a configuration, perhaps with further changes; `plan_memory` overrides the configuration's."""
    own = [each.changes(getattr(config, name)) for name, each in options_of(EngineConfig).items()]
    return phases(
        compute_device(config.place).kind,
        optimize=config.enable_graph_optimization,
        plan_memory=config.enable_memory_planning if plan_memory is None else plan_memory,
        changes=[*own, *changes],
    )


def pass_names(config: EngineConfig, module: ModuleOp | None = None) -> list[str]:
    """The passes that a configuration runs, in order, on the given module or on one at the graph level."""
    path = PATHS[compute_device(config.place).kind]
    start = 0 if module is None or level_of(module) == "graph" else path.index(level_of(module)) + 1
    phases = [phase for phase in engine_phases(config) if phase.level in path[start:]]
    return [each.name for phase in phases for each in parse_passes(phase.passes)]


def set_target(module: ModuleOp, ctx: MiniContext, config: EngineConfig, machine: str = "") -> None:
    """Sets the target of a module at the graph level, and passes the tuner's measurements for it."""
    if level_of(module) == "graph":
        module.attributes["kernel.target"] = compute_device(config.place).target(config, machine)
        if config.tuned and not machine and compute_device(config.place).kind == "cpu":
            tell_measured(ctx)


def tell_measured(ctx: MiniContext) -> None:
    """Passes the tuner's measurements on this machine to choose-schedule."""
    tuned_schedules(ctx).update(
        (key, ScheduleAttr.of(each.chosen.schedule, **each.chosen.options))
        for key, each in TuningStore.of(host_cpu().model).load().items()
    )
