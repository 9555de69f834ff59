"""Makes our dialects and passes known to plain `xdsl-opt`, through the entry point group `xdsl.universe`.

There xDSL's own dialects come as they are, without our repairs.
"""

from __future__ import annotations

from xdsl.universe import XDSL_UNIVERSE, Universe

from .registry import dialect_factories, pass_factories

UNIVERSE = Universe(
    all_dialects={name: make for name, make in dialect_factories().items() if name not in XDSL_UNIVERSE.all_dialects},
    all_passes={name: make for name, make in pass_factories().items() if name not in XDSL_UNIVERSE.all_passes},
)
