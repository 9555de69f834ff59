"""The pipeline of a configuration."""

from __future__ import annotations

from collections.abc import Sequence

from ...lowering.pipelines import Phase, phases
from ..compute_device import compute_device
from ..config import EngineConfig
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
