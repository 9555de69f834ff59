"""The panels schedule: tiles over weights that are packed ahead, panel by panel.

All rows meet a panel before the next one is read. Nothing is blocked further: what has many rows or long sums is for
blocked_panels.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from ......dialects.graph.ops.structure import KernelOp
from ......dialects.kernel.targets import CpuAttr
from .panels_by_rows import shares_rows
from .tiled_product import TiledProduct


@dataclass(frozen=True)
class Panels(TiledProduct):
    """Tiles over packed panels, panel by panel; threads share out all panels' tiles in one."""

    forms = ("contraction",)

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """If threads are not to share out rows: then it is for panels_by_rows.py."""
        for schedule in super().candidates(kernel, target):
            if not shares_rows(kernel, schedule.mr, target):
                yield schedule
