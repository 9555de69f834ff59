"""Local and global pools."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from xdsl.ir import SSAValue

from ....dialects.graph.base import GraphOp
from ....dialects.graph.ops.elementwise import MulOp, PowOp
from ....dialects.graph.ops.indexing import ScatterElementsOp
from ....dialects.graph.ops.movement import PadOp
from ....dialects.graph.ops.reduction import ReduceMaxOp, ReduceMeanOp, ReduceSumOp
from ....dialects.graph.ops.unary import AbsOp
from ....dialects.graph.ops.windows import AvgPoolOp, MaxPoolIndexOp, MaxPoolOp
from ....dialects.graph.values import shape_of
from ....dialects.sizes.sizes import equal_shapes
from ..node import Handler, Node, in_single
from .windows import Window, check_rank, read_window


def _window(node: Node, x: SSAValue) -> Window:
    rank = check_rank(node, shape_of(x))
    kernel = node.integers("kernel_shape")
    if kernel is None or len(kernel) != rank:
        raise node.invalid(f"kernel_shape must have {rank} entries, got {kernel}")
    return read_window(node, shape_of(x)[2:], kernel)


def max_pool(node: Node, x: SSAValue) -> list[SSAValue]:
    """The maximum of each window of x, and, if used, the flat index of that element."""
    window, ceil_mode = _window(node, x), node.flag("ceil_mode")
    column_major = node.flag("storage_order")  # for Indices
    results = [node.emit(MaxPoolOp(x, window.kernel, **window.moves, ceil_mode=ceil_mode))]
    if node.wants(1):
        places = MaxPoolIndexOp(x, window.kernel, **window.moves, ceil_mode=ceil_mode, column_major=column_major)
        results.append(node.emit(places))
    return results


def _max_unpool(node: Node) -> SSAValue:
    """Scatters elements of x to flat indices into a result without padding; zeros elsewhere.

    A larger `output_shape` has additional zeros at the ends.
    """
    x, indices = node.operand(0), node.operand(1)
    window = _window(node, x)
    rank = len(window.kernel)
    if not equal_shapes(shape_of(indices), shape_of(x)):
        raise node.invalid(f"indices of shape {shape_of(indices)}, but an operand of shape {shape_of(x)}")
    spatial = [
        (size - 1) * stride - begin - end + extent
        for size, stride, begin, end, extent in zip(
            shape_of(x)[2:], window.strides, window.pads[:rank], window.pads[rank:], window.kernel, strict=True
        )
    ]
    if min(spatial) < 0:
        raise node.invalid(f"pads {window.pads} crop more than there is")
    shape = [*shape_of(x)[:2], *spatial]
    count = prod(shape_of(x))
    zeros = node.broadcast(node.scalar(0, x), (prod(shape),))
    spread = node.emit(ScatterElementsOp(zeros, node.reshape(indices, (count,)), node.reshape(x, (count,))))
    result = node.reshape(spread, shape)
    if not node.has_operand(2):
        return result
    wanted = node.ints_operand(2)
    if len(wanted) != len(shape) or any(size < least for size, least in zip(wanted, shape, strict=True)):
        raise node.invalid(f"output_shape {wanted} has no room for {shape}")
    more = [size - least for size, least in zip(wanted, shape, strict=True)]
    return node.emit(PadOp(result, [0] * len(shape), more)) if any(more) else result


def average_pool(node: Node, x: SSAValue) -> SSAValue:
    """The mean of each window of x."""
    window, padded = _window(node, x), node.flag("count_include_pad")
    return node.emit(
        AvgPoolOp(x, window.kernel, **window.moves, ceil_mode=node.flag("ceil_mode"), count_include_pad=padded)
    )


def _power(node: Node) -> int:
    """The exponent p of a p-norm."""
    p = node.integer("p", 2)
    if p < 1:
        raise node.malformed(f"p is {p}; it must be at least 1")
    return p


def _lp_pool(node: Node, x: SSAValue) -> SSAValue:
    """The p-norm of each window: (mean of |x|^p, padding included, times the window's size)^(1/p)."""
    p, window = _power(node), _window(node, x)
    if node.flag("ceil_mode"):
        window = _padded_to_the_end(window, shape_of(x)[2:])
    powers = node.emit(PowOp(node.emit(AbsOp(x)), node.scalar(p, x)))
    mean = node.emit(AvgPoolOp(powers, window.kernel, **window.moves, count_include_pad=True))
    total = node.emit(MulOp(mean, node.scalar(prod(window.kernel), x)))
    return node.emit(PowOp(total, node.scalar(1 / p, x)))


def _padded_to_the_end(window: Window, sizes: Sequence[int]) -> Window:
    """The window with explicit padding for the overhang of `ceil_mode`, so that all of it counts."""
    geometry = window.geometry()
    ends = [
        max(end, (count - 1) * stride + extent - size - begin)
        for end, count, stride, extent, size, begin in zip(
            geometry.end,
            geometry.positions(sizes, ceil_mode=True),
            geometry.strides,
            geometry.extent,
            sizes,
            geometry.begin,
            strict=True,
        )
    ]
    return replace(window, pads=[*geometry.begin, *ends])


def _global(make: Callable[[SSAValue, Sequence[int]], GraphOp]) -> Handler:
    def handler(node: Node) -> SSAValue:
        x = node.operand()
        check_rank(node, shape_of(x))
        return node.emit(make(x, range(2, len(shape_of(x)))))

    return handler


def _global_lp_pool(node: Node, x: SSAValue) -> SSAValue:
    check_rank(node, shape_of(x))
    p = _power(node)
    powers = node.emit(PowOp(node.emit(AbsOp(x)), node.scalar(p, x)))
    total = node.emit(ReduceSumOp(powers, range(2, len(shape_of(x))), keepdims=True))
    return node.emit(PowOp(total, node.scalar(1 / p, x)))


HANDLERS: dict[str, Handler] = {
    "MaxPool": lambda node: max_pool(node, node.operand()),
    "MaxUnpool": _max_unpool,
    "AveragePool": lambda node: average_pool(node, node.operand()),
    "LpPool": in_single(_lp_pool),
    "GlobalMaxPool": _global(lambda x, axes: ReduceMaxOp(x, axes, keepdims=True)),
    "GlobalAveragePool": _global(lambda x, axes: ReduceMeanOp(x, axes, keepdims=True)),
    "GlobalLpPool": in_single(_global_lp_pool),
}
