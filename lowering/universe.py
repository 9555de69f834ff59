"""Makes our dialects and passes known to plain `xdsl-opt`, through the entry point group `xdsl.universe`."""

from __future__ import annotations

from xdsl.universe import Universe

from .registry import DIALECTS, PASSES, dialect_factories, pass_factories


def _ours(entry: str) -> bool:
    return not entry.startswith("xdsl.")


UNIVERSE = Universe(
    all_dialects={name: make for name, make in dialect_factories().items() if _ours(DIALECTS[name])},
    all_passes={name: make for name, make in pass_factories().items() if _ours(PASSES[name])},
)
