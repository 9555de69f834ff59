"""The engine of a configuration: of one plan, or of as many as the shapes of calls take."""

from __future__ import annotations

from collections.abc import Callable

from ..config import EngineConfig
from ..engine import Build, Engine


def start_engine(
    config: EngineConfig, build: Build, names: Callable[[], tuple[str, ...]], *, compiled_once: bool = False
) -> Engine:
    """An engine that has its first code already, where the configuration says for which shapes.

    `build` gives code, and `names` those of the inputs where there is none before the first call. With `compiled_once`
    the first code is all: shapes that it is not right for are refused.
    """
    if not config.is_dynamic:
        made = build({})
        return Engine(made.plan, config, made.statistics)
    from .dynamic_engine import DynamicEngine  # with the planner, which a plan for one shape has no use for

    return DynamicEngine(config, build, names, compiled_once)
