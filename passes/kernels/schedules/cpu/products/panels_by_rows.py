"""The schedule of panels whose rows are shared out: each thread goes through all panels with its share of the rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Self

from typing_extensions import override

from ......dialects.graph.ops.contraction import ConvOp
from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.values import nbytes_of, shape_of, type_of
from ......dialects.kernel.targets import CpuAttr
from ......dialects.sizes.sizes import now
from ....forms.contraction import contraction_form
from ..tuning import PANELS_TILES_PER_THREAD
from .tiled_product import TiledProduct


@dataclass(frozen=True)
class PanelsByRows(TiledProduct):
    """Tiles over packed panels, panel by panel; threads share out each panel's tiles."""

    forms = ("contraction",)

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """In place of `panels`, where that pays."""
        for schedule in super().candidates(kernel, target):
            if shares_rows(kernel, schedule.mr, target):
                yield schedule


def shares_rows(kernel: KernelOp, mr: int, target: CpuAttr) -> bool:
    """Whether threads share out rows: enough tiles, and a left-hand side of more than half the right-hand side's bytes.

    Each thread reads its share of the one and all of the other. Weights are read-only, but of a left-hand side
    distributed by rows each thread has itself written about what it reads. With cores that are far apart (35 GB/s for
    data written by the other one, 440 ns round trip) MobileNet-v2 takes 1.97 ms on 2 threads instead of 2.27,
    ShuffleNet-v2 1.14 instead of 1.41, ResNet-50 18.6 instead of 20.4; where right-hand sides count whole, 1.98, 1.16
    and 18.8. With cores that share a cache (90 GB/s, 75 ns) it is within two percent (Zen 5).
    """
    form, threads = contraction_form(kernel), target.threads.data
    tiles = prod(shape_of(form.root.results[0])[:-1]) // mr
    grouped = isinstance(form.root, ConvOp) and form.root.groups.value.data > 1
    if threads == 1 or grouped or now(tiles) < PANELS_TILES_PER_THREAD * threads:
        return False
    return 2 * now(nbytes_of(type_of(form.lhs))) > now(nbytes_of(type_of(form.rhs)))
