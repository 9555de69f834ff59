"""Attributes common to convolutions and pools: strides, dilations and padding, with `auto_pad`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from xdsl.ir import SSAValue

from ....dialects.graph import window_sizes as spatial
from ....dialects.graph.values import shape_of
from ....dialects.sizes.sizes import equal_shapes
from ..node import Node


class Moves(TypedDict):
    """The attributes of a sliding window, as keyword arguments of graph ops."""

    strides: list[int]
    pads: list[int]
    dilations: list[int]


@dataclass(frozen=True)
class Window:
    """The stride, dilation and padding of a window, per spatial dimension; `pads` has all begins, then all ends."""

    kernel: list[int]
    strides: list[int]
    dilations: list[int]
    pads: list[int]

    @property
    def moves(self) -> Moves:
        """The strides, dilations and pads, as keyword arguments of graph ops."""
        return {"strides": self.strides, "pads": self.pads, "dilations": self.dilations}

    def geometry(self) -> spatial.Window:
        """The window in the form of graph ops."""
        return spatial.Window.of(self.kernel, self.strides, self.pads, self.dilations)


def spatial_ints(node: Node, name: str, rank: int, default: int) -> list[int]:
    """An attribute with one integer for each of `rank` dimensions."""
    values = node.integers(name)
    if values is None:
        return [default] * rank
    if len(values) != rank:
        raise node.invalid(f"attribute {name} has {len(values)} entries, but {rank} are needed for the operand's shape")
    return values


def check_rank(node: Node, shape: Sequence[int]) -> int:
    """The number of spatial dimensions of an operand [N, C, ...]."""
    if len(shape) < 3:
        raise node.invalid(f"the operand needs batch, channels and at least one more dimension, got rank {len(shape)}")
    return len(shape) - 2


def read_kernel(node: Node, weight: SSAValue, rank: int) -> list[int]:
    """The spatial sizes of a weight, checked against `kernel_shape`."""
    shape = shape_of(weight)
    if len(shape) != rank + 2:
        raise node.invalid(f"the weight has {len(shape)} dimensions, but the operand has {rank + 2}")
    kernel = list(shape[2:])
    stated = spatial_ints(node, "kernel_shape", rank, 0)
    if node.has("kernel_shape") and not equal_shapes(stated, kernel):
        raise node.invalid(f"kernel_shape is {stated}, but the weight's is {kernel}")
    return kernel


def read_window(node: Node, sizes: Sequence[int], kernel: Sequence[int]) -> Window:
    """The window over an operand of these spatial sizes."""
    rank = len(sizes)
    strides = spatial_ints(node, "strides", rank, 1)
    dilations = spatial_ints(node, "dilations", rank, 1)
    if min(*strides, *dilations, *kernel, 1) < 1:
        raise node.invalid(f"kernel {list(kernel)}, strides {strides} and dilations {dilations} must be at least 1")
    pads = spatial_ints(node, "pads", 2 * rank, 0)
    mode = node.text("auto_pad", "NOTSET")
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        pads = _same_pads(sizes, kernel, strides, dilations, upper=mode == "SAME_UPPER")
    elif mode == "VALID":
        pads = [0] * (2 * rank)
    elif mode != "NOTSET":
        raise node.malformed(f"auto_pad {mode} is unknown")
    return Window(list(kernel), strides, dilations, pads)


def split_pads(total: Sequence[int], upper: bool) -> list[int]:
    """Padding for begins and ends; the larger half of an odd amount goes to the end if `upper`."""
    small = [amount // 2 for amount in total]
    large = [amount - half for amount, half in zip(total, small, strict=True)]
    return small + large if upper else large + small


def _same_pads(
    sizes: Sequence[int], kernel: Sequence[int], strides: Sequence[int], dilations: Sequence[int], upper: bool
) -> list[int]:
    """The padding for which the result has ceil(size / stride) elements along each dimension."""
    total: list[int] = []
    for size, extent, stride, dilation in zip(sizes, kernel, strides, dilations, strict=True):
        results = -(-size // stride)
        total.append(max(0, (results - 1) * stride + (extent - 1) * dilation + 1 - size))
    return split_pads(total, upper)
