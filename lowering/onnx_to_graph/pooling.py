"""Pools, local and global."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from xdsl.ir import SSAValue

from ...dialects.graph.base import GraphOp
from ...dialects.graph.elementwise import MulOp, PowOp
from ...dialects.graph.reduction import ReduceMaxOp, ReduceMeanOp, ReduceSumOp
from ...dialects.graph.unary import AbsOp
from ...dialects.graph.values import shape_of
from ...dialects.graph.windows import AvgPoolOp, MaxPoolOp
from .node import Handler, Node, in_single
from .windows import Window, check_rank, read_window


def _window(node: Node, x: SSAValue) -> Window:
    rank = check_rank(node, shape_of(x))
    kernel = node.integers("kernel_shape")
    if kernel is None or len(kernel) != rank:
        raise node.invalid(f"kernel_shape must have {rank} entries, got {kernel}")
    return read_window(node, shape_of(x)[2:], kernel)


def _max_pool(node: Node) -> SSAValue:
    x = node.operand()
    if node.wants(1):
        raise node.unsupported("the result Indices is asked for")
    node.ignore("storage_order")  # of Indices
    window = _window(node, x)
    return node.emit(
        MaxPoolOp(
            x,
            window.kernel,
            strides=window.strides,
            pads=window.pads,
            dilations=window.dilations,
            ceil_mode=node.flag("ceil_mode"),
        )
    )


def _average_pool(node: Node) -> SSAValue:
    return _average(node, node.operand(), node.flag("count_include_pad"))


def _average(node: Node, x: SSAValue, count_include_pad: bool) -> SSAValue:
    window = _window(node, x)
    return node.emit(
        AvgPoolOp(
            x,
            window.kernel,
            strides=window.strides,
            pads=window.pads,
            dilations=window.dilations,
            ceil_mode=node.flag("ceil_mode"),
            count_include_pad=count_include_pad,
        )
    )


def _lp_pool(node: Node, x: SSAValue) -> SSAValue:
    """The p-norm of each window: the mean of |x|^p, padding counted, times the window's size, to the 1/p."""
    if node.flag("ceil_mode"):
        raise node.unsupported("ceil_mode")
    p = node.integer("p", 2)
    powers = node.emit(PowOp(node.emit(AbsOp(x)), node.scalar(p, x)))
    mean = _average(node, powers, count_include_pad=True)
    total = node.emit(MulOp(mean, node.scalar(prod(node.integers("kernel_shape") or []), x)))
    return node.emit(PowOp(total, node.scalar(1 / p, x)))


def _global(make: Callable[[SSAValue, Sequence[int]], GraphOp]) -> Handler:
    def handler(node: Node) -> SSAValue:
        x = node.operand()
        check_rank(node, shape_of(x))
        return node.emit(make(x, range(2, len(shape_of(x)))))

    return handler


def _global_lp_pool(node: Node, x: SSAValue) -> SSAValue:
    check_rank(node, shape_of(x))
    p = node.integer("p", 2)
    powers = node.emit(PowOp(node.emit(AbsOp(x)), node.scalar(p, x)))
    total = node.emit(ReduceSumOp(powers, range(2, len(shape_of(x))), keepdims=True))
    return node.emit(PowOp(total, node.scalar(1 / p, x)))


HANDLERS: dict[str, Handler] = {
    "MaxPool": _max_pool,
    "AveragePool": _average_pool,
    "LpPool": in_single(_lp_pool),
    "GlobalMaxPool": _global(lambda x, axes: ReduceMaxOp(x, axes, keepdims=True)),
    "GlobalAveragePool": _global(lambda x, axes: ReduceMeanOp(x, axes, keepdims=True)),
    "GlobalLpPool": in_single(_global_lp_pool),
}
