"""The resize schedule: rows of pictures are resampled along their length, and results are sums of resampled rows.

It is for pictures whose rows lie along the innermost axis. Elements of as many rows as a register has lanes are
resampled together, so that a position along the rows is a number and not a vector of numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, prod
from typing import Self

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32, i64
from xdsl.ir import Operation

from .....dialects.graph.ops.resize import ResizeOp
from .....dialects.graph.ops.structure import KernelOp, YieldOp
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import CpuAttr
from .....dialects.sizes.sizes import is_fixed, now
from ....cost_model import seconds
from ...kernel_facts import the_root
from ..schedule import Count, Schedule, TileSize
from ..scratch import ScratchLayout
from .tuning import RESIZE_CACHE_SHARE, RESIZE_GATHERED, RESIZE_ROWS


@dataclass(frozen=True)
class Resize(Schedule[CpuAttr]):
    """Rows along their length first, into scratch, then sums of rows."""

    forms = ("map",)

    lanes: TileSize
    """Elements of one register: rows that are resampled together."""
    rows: TileSize
    """Rows in scratch: whole registers of them."""
    planes: TileSize
    """Pictures whose rows are in scratch together."""
    band: Count
    """Rows of the result that are computed from those in scratch: of whole pictures, if there are several."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """As many rows in scratch as fill some registers and fit a part of the cache."""
        if (op := lone_resize(kernel)) is None or not fits(op):
            return
        lanes = target.lanes(32)
        (height, width), (new_height, new_width) = shape_of(op.x)[-2:], shape_of(op.result)[-2:]
        fitting = target.l2.data // RESIZE_CACHE_SHARE // (4 * max(now(width), now(new_width)))
        rows = max(lanes, min(RESIZE_ROWS, fitting) // lanes * lanes)
        if is_fixed(height, new_height) and height <= rows:
            pictures = max(1, prod(map(now, shape_of(op.x)[:-2])) // (2 * target.threads.data))
            planes = min(rows // height, pictures)
            yield cls(lanes, -(-planes * height // lanes) * lanes, planes, new_height)
            return
        step, reach = _step(op), op.neighbours(len(shape_of(op.x)) - 2)
        band = max(1, int((rows - reach - 1) / step) if step else rows)
        needed = ceil((band - 1) * step) + reach + 1
        yield cls(lanes, -(-needed // lanes) * lanes, 1, band)

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        """Elements are transposed in registers before and after they are resampled along rows."""
        op = the_root(kernel, ResizeOp)
        planes = prod(map(now, shape_of(op.x)[:-2]))
        (height, width), (new_height, new_width) = (map(now, shape_of(v)[-2:]) for v in (op.x, op.result))
        along, across = (op.neighbours(len(shape_of(op.x)) - axis) for axis in (1, 2))
        resampled = 6 * width + (6 + 3 * along) * new_width
        return seconds(kernel, target, more=planes * (height * resampled + new_height * new_width * (2 + across)))

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(per_thread=self.scratch(kernel).per_thread)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """Positions and weights, transposed elements of a register of rows, and resampled rows."""
        op = the_root(kernel, ResizeOp)
        rank = len(shape_of(op.x))
        width, (new_height, new_width) = shape_of(op.x)[-1], shape_of(op.result)[-2:]
        read, padded = (-(-size // self.lanes) * self.lanes for size in (width, new_width))
        along, across = op.neighbours(rank - 1), op.neighbours(rank - 2)
        return ScratchLayout.of(
            [
                ("columns", f32, (read, self.lanes)),
                ("resampled", f32, (self.rows, padded + self.lanes)),
                ("places_along", i64, (padded, along)),
                ("places_across", i64, (new_height, across)),
                ("weights_along", f32, (padded, along)),
                ("weights_across", f32, (new_height, across)),
            ]
        )


def lone_resize(kernel: KernelOp) -> ResizeOp | None:
    """The resize that a kernel consists of."""
    ops = [op for op in kernel.body.block.ops if not isinstance(op, YieldOp)]
    return ops[0] if len(ops) == 1 and isinstance(ops[0], ResizeOp) else None


def fits(op: Operation) -> bool:
    """Whether a resize is supported: of rows, and perhaps columns, of pictures of floats of up to 32 bits."""
    if not isinstance(op, ResizeOp) or op.coordinate.data == "tf_crop_and_resize":
        return False
    rank = len(shape_of(op.x))
    outer = all(op.is_identity(axis) for axis in range(rank - 2))
    empty = 0 in (*shape_of(op.x), *shape_of(op.result))
    known = element_type_of_value(op.x) in (f32, Float16Type(), BFloat16Type())
    return rank >= 2 and outer and known and not empty and not op.is_identity(rank - 1)


def separate_instructions(op: ResizeOp) -> int:
    """Estimated instructions where each element of the result is computed for itself, a register of a row at a time.

    Elements that are next to each other are gathered, and their positions and weights computed in f64.
    """
    rank = len(shape_of(op.x))
    if op.mode.data == "nearest" and all(_is_whole(op, axis) for axis in (rank - 2, rank - 1)):
        return 0
    taps = op.neighbours(rank - 1) * op.neighbours(rank - 2)
    return RESIZE_GATHERED * taps * prod(map(now, shape_of(op.result)))


def _is_whole(op: ResizeOp, axis: int) -> bool:
    """Whether nearest elements along an axis are one in so many, or each of them as often."""
    old, new = shape_of(op.x)[axis], shape_of(op.result)[axis]
    if not is_fixed(old, new):
        return True
    places, steps = op.taps(axis)[0][:, 0], np.arange(new)
    repeated = new % old == 0 and np.array_equal(places, steps // (new // old))
    return repeated or (old % new == 0 and np.array_equal(places, steps * (old // new) + places[0]))


def _step(op: ResizeOp) -> float:
    """The largest distance, along the columns of x, of two successive rows of the result."""
    axis = len(shape_of(op.x)) - 2
    if op.is_identity(axis):
        return 1.0
    if is_fixed(shape_of(op.x)[axis], shape_of(op.result)[axis]):
        return float(np.diff(op.positions(axis)).max(initial=0))
    return (2 if op.coordinate.data == "align_corners" else 1) / op.scales.get_values()[axis]
