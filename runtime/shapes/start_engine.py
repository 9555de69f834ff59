"""Construction of the engine for a configuration: of one plan, or of as many as the shapes of calls need."""

from __future__ import annotations

from collections.abc import Callable

from ..config import EngineConfig
from ..engine import Build, Engine


def start_engine(
    config: EngineConfig, build: Build, names: Callable[[], tuple[str, ...]], *, compiled_once: bool = False
) -> Engine:
    """An engine, with code compiled already if the configuration determines the shapes.

    `build` compiles; `names` gives the inputs' names before anything is compiled. With `compiled_once`, only the first
    code is used: shapes for which it is not valid are refused.
    """
    if not config.is_dynamic:
        made = build({})
        return Engine(made.plan, config, made.statistics)
    from .dynamic_engine import DynamicEngine  # with the planner, which a plan for one shape has no use for

    return DynamicEngine(config, build, names, compiled_once)
