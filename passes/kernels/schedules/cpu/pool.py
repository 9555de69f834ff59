"""The pool schedule: pools of channels-first pictures, as many pictures at a time as a register has lanes.

Pictures are transposed in registers, so that a pixel of all of them is a vector. Windows then read whole vectors,
whatever their strides and pads, where along short rows lanes would stay idle or be gathered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32, i64
from xdsl.ir import Operation

from .....dialects.graph.ops.structure import KernelOp, YieldOp
from .....dialects.graph.ops.windows import AvgPoolOp, MaxPoolOp
from .....dialects.graph.values import element_type_of_value, ints, shape_of
from .....dialects.graph.window_sizes import Window
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import CpuAttr
from .....dialects.sizes.sizes import is_fixed, now
from ....cost_model import seconds
from ..schedule import Schedule, TileSize
from ..scratch import ScratchLayout
from .tuning import POOL_CACHE_SHARE, POOL_ROW, POOL_STRIDES, POOL_TRANSPOSED


@dataclass(frozen=True)
class Pool(Schedule[CpuAttr]):
    """A register of pictures at a time, in scratch with their pads."""

    forms = ("windows",)

    lanes: TileSize
    """Elements of one register: pictures that are done together."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """If pictures, with their pads, fit a part of the cache."""
        op = lone_pool(kernel)
        if op is None or not fits(op):
            return
        made = cls(target.lanes(32))
        if 4 * made.lanes * prod(padded_shape(op)) <= target.l2.data // POOL_CACHE_SHARE:
            yield made

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        """Elements are transposed in registers before and after windows are read."""
        op = lone_pool(kernel)
        assert op is not None
        pictures = -(-now(prod(shape_of(op.x)[:2])) // self.lanes) * self.lanes
        pixels, results = prod(shape_of(op.x)[2:]), prod(shape_of(op.result)[2:])
        here = pictures * (POOL_TRANSPOSED * (pixels + results) + 2 * results * prod(ints(op.kernel)))
        return seconds(kernel, target, more=here - op.instructions)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(per_thread=self.scratch(kernel).per_thread)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """Pictures with their pads, where their pixels go, where windows begin, and the divisors of means."""
        op = lone_pool(kernel)
        assert op is not None
        pixels, results = prod(shape_of(op.x)[2:]), prod(shape_of(op.result)[2:])
        return ScratchLayout.of(
            [
                ("pictures", f32, (prod(padded_shape(op)), self.lanes)),
                ("pixels", i64, (pixels,)),
                ("windows", i64, (results,)),
                ("divisors", f32, (results if isinstance(op, AvgPoolOp) else 0,)),
            ]
        )


def lone_pool(kernel: KernelOp) -> MaxPoolOp | AvgPoolOp | None:
    """The pool that a kernel consists of."""
    ops = [op for op in kernel.body.block.ops if not isinstance(op, YieldOp)]
    return ops[0] if len(ops) == 1 and isinstance(ops[0], MaxPoolOp | AvgPoolOp) else None


def fits(op: Operation) -> bool:
    """Whether a pool is supported: channels-first, of floats of up to 32 bits, pictures of a known size."""
    if not isinstance(op, MaxPoolOp | AvgPoolOp) or op.layout.data != "NCHW":
        return False
    known = element_type_of_value(op.x) in (f32, Float16Type(), BFloat16Type())
    return known and is_fixed(*shape_of(op.x)[2:]) and 0 not in (*shape_of(op.x), *shape_of(op.result))


def padded_shape(op: MaxPoolOp | AvgPoolOp) -> list[int]:
    """The sizes of a picture with what windows read around it."""
    window: Window = op.window
    return [
        max(before + size, (count - 1) * stride + (taps - 1) * dilation + 1)
        for before, size, count, stride, taps, dilation in zip(
            ints(op.pads),
            shape_of(op.x)[2:],
            shape_of(op.result)[2:],
            window.strides,
            window.kernel,
            window.dilations,
            strict=False,
        )
    ]


def strided_instructions(op: MaxPoolOp | AvgPoolOp, lanes: int) -> int:
    """Estimated instructions where each row of the result is computed for itself, of channels-first pictures.

    Borders of a row are scalar code, elements that are not next to each other are loaded in parts.
    """
    taps, stride, dilation = ints(op.kernel)[-1], ints(op.strides)[-1], ints(op.dilations)[-1]
    width, count, before = shape_of(op.x)[-1], shape_of(op.result)[-1], ints(op.pads)[len(ints(op.kernel)) - 1]
    inside = sum(
        first >= 0 and first + (taps - 1) * dilation < width
        for first in range(-before, count * stride - before, stride)
    )
    row = -(-inside // lanes) * (stride if stride <= POOL_STRIDES else lanes) + count - inside
    return lanes * now(prod(shape_of(op.result)[:-1])) * (row * prod(ints(op.kernel)) + POOL_ROW)
