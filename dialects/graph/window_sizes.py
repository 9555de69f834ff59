"""Layouts and window geometry of convolutions and pools.

A layout is the position of the channels: "NCHW" is [N, C, spatial...], "NHWC" is [N, spatial..., C], for any number of
spatial dimensions. Pads are (begin of each spatial dimension..., end of each...).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import TypeVar

import numpy as np

from ..sizes.sizes import is_fixed, now
from .axes import Special, Windowed
from .base import require
from .values import Array

LAYOUTS = ("NCHW", "NHWC")
T = TypeVar("T")


def _shown(size: int) -> str:
    """A size, one of run time with the value that it has."""
    return str(size) if is_fixed(size) else f"{size} = {now(size)}"


def channel_axis(layout: str, rank: int) -> int:
    """The channel dimension."""
    require(layout in LAYOUTS, f'layout is "NCHW" or "NHWC", got "{layout}"')
    return 1 if layout == "NCHW" else rank - 1


def spatial_axes(layout: str, rank: int) -> range:
    """The spatial dimensions."""
    return range(2, rank) if channel_axis(layout, rank) == 1 else range(1, rank - 1)


def spatial_shape(shape: Sequence[int], layout: str) -> tuple[int, ...]:
    """The spatial sizes of a tensor in a layout."""
    return tuple(shape[axis] for axis in spatial_axes(layout, len(shape)))


def full_shape(batch: T, channels: T, spatial: Sequence[T], layout: str) -> tuple[T, ...]:
    """A tensor's shape in a layout, an index of it, or labels of its axes."""
    return (batch, channels, *spatial) if layout == "NCHW" else (batch, *spatial, channels)


def channels_first(x: Array, layout: str) -> Array:
    """`x` as [N, C, spatial...]: a view."""
    return x if layout == "NCHW" else np.moveaxis(x, -1, 1)


def from_channels_first(x: Array, layout: str) -> Array:
    """The inverse of `channels_first`, as a dense array."""
    return np.ascontiguousarray(x if layout == "NCHW" else np.moveaxis(x, 1, -1))


def usual_window(
    rank: int, strides: Sequence[int] | None, pads: Sequence[int] | None, dilations: Sequence[int] | None
) -> dict[str, Sequence[int]]:
    """Properties of an op over windows of so many dimensions: absent strides and dilations are ones, pads zeros."""
    ones = (1,) * rank
    return {"strides": strides or ones, "pads": pads or (0,) * (2 * rank), "dilations": dilations or ones}


@dataclass(frozen=True)
class Window:
    """A sliding window over padded spatial dimensions. Fields have one entry per spatial dimension."""

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    begin: tuple[int, ...]
    end: tuple[int, ...]

    @staticmethod
    def of(kernel: Sequence[int], strides: Sequence[int], pads: Sequence[int], dilations: Sequence[int]) -> Window:
        """A window from an op's attributes. Raises VerifyException for inconsistent ones."""
        rank = len(kernel)
        require(len(strides) == rank, f"{rank} spatial dimensions, but {len(strides)} strides")
        require(len(dilations) == rank, f"{rank} spatial dimensions, but {len(dilations)} dilations")
        require(len(pads) == 2 * rank, f"{rank} spatial dimensions, but {len(pads)} pads instead of {2 * rank}")
        require(min((*kernel, *strides, *dilations, 1)) >= 1, "kernel, strides and dilations must be positive")
        require(min((*pads, 0)) >= 0, "pads must not be negative")
        return Window(tuple(kernel), tuple(strides), tuple(dilations), tuple(pads[:rank]), tuple(pads[rank:]))

    @property
    def extent(self) -> tuple[int, ...]:
        """The extent of the dilated kernel."""
        return tuple((size - 1) * step + 1 for size, step in zip(self.kernel, self.dilations, strict=True))

    def axes(self, kind: type[Windowed] = Windowed, *, ceil_mode: bool = False) -> Special:
        """Access relations of the spatial dimensions, labelled by their numbers."""
        numbers = zip(self.kernel, self.strides, self.dilations, self.begin, self.end, strict=True)
        return {
            axis: partial(kind, taps=taps, stride=stride, dilation=step, before=begin, after=end, ceil_mode=ceil_mode)
            for axis, (taps, stride, step, begin, end) in enumerate(numbers)
        }

    def positions(self, spatial: Sequence[int], ceil_mode: bool = False) -> tuple[int, ...]:
        """The number of window positions in each dimension.

        With `ceil_mode` a last window may extend beyond the end, if it starts before the end pad.
        """
        result: list[int] = []
        for size, extent, stride, begin, end in zip(
            spatial, self.extent, self.strides, self.begin, self.end, strict=True
        ):
            room = size + begin + end - extent
            require(
                room >= 0,
                f"a window of {extent} doesn't fit into {_shown(size)} elements padded by {begin} and {end}",
            )
            count = (-(-room // stride) if ceil_mode else room // stride) + 1
            if ceil_mode and (count - 1) * stride >= size + begin:
                count -= 1
            result.append(count)
        return tuple(result)

    def padded(self, x: Array, positions: Sequence[int], value: float | int) -> Array:
        """`x` [N, C, spatial...] padded with `value` to all elements that `positions` windows cover."""
        widths = [(0, 0), (0, 0)]
        for axis, count in enumerate(positions):
            touched = (count - 1) * self.strides[axis] + self.extent[axis]
            after = max(touched - x.shape[2 + axis] - self.begin[axis], 0)
            widths.append((self.begin[axis], after))
        return np.pad(x, widths, constant_values=value)

    def taps(self, positions: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...]]]:
        """Each kernel index with the slices of the padded array under it at all positions."""
        for index in product(*(range(size) for size in self.kernel)):
            slices = tuple(
                slice(place * dilation, place * dilation + (count - 1) * stride + 1, stride)
                for place, dilation, count, stride in zip(index, self.dilations, positions, self.strides, strict=True)
            )
            yield index, slices
