"""The entry point `xdsl.universe`, which adds our dialects and passes to plain `xdsl-opt`.

There, xDSL's own dialects are used without our repairs.
"""

from __future__ import annotations

from xdsl.universe import XDSL_UNIVERSE, Universe

from .registry import dialect_factories, pass_factories

UNIVERSE = Universe(
    all_dialects={name: make for name, make in dialect_factories().items() if name not in XDSL_UNIVERSE.all_dialects},
    all_passes={name: make for name, make in pass_factories().items() if name not in XDSL_UNIVERSE.all_passes},
)
