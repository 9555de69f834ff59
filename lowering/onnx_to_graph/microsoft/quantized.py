"""Quantised operators, decomposed to ONNX's operators between DequantizeLinear and QuantizeLinear.

Each operand is three: values, scale and an optional zero point.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.dialects.builtin import IntegerType, Signedness, f32
from xdsl.ir import SSAValue

from ....dialects.graph.base import GraphOp
from ....dialects.graph.ops.activation import LeakyReluOp
from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.elementwise import AddOp, MulOp, WhereOp
from ....dialects.graph.ops.movement import ConcatOp, TransposeOp
from ....dialects.graph.ops.quantization import DequantizeOp, QuantizeOp
from ....dialects.graph.ops.reduction import ReduceMeanOp, SoftmaxOp
from ....dialects.graph.ops.unary import SigmoidOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....dialects.sizes.sizes import equal_shapes
from ..handlers.contraction import convolution
from ..handlers.pooling import average_pool
from ..handlers.quantization import own_range, parameter
from ..handlers.windows import check_rank
from ..node import Handler, Node
from .fused import biased

_UINT8 = IntegerType(8, Signedness.UNSIGNED)


def dequantized(node: Node, index: int, axis: int = 1) -> SSAValue:
    """The operand at `index` in f32, dequantised by the scale and zero point that follow it, possibly per `axis`."""
    return unquantized(node, node.operand(index), node.operand(index + 1), node.optional(index + 2), axis)


def unquantized(node: Node, x: SSAValue, scale: SSAValue, zero: SSAValue | None, axis: int = 1) -> SSAValue:
    """(x - zero) * scale in f32."""
    rank = len(shape_of(x))
    zeros = None if zero is None else parameter(node, zero, axis, rank)
    return node.emit(DequantizeOp(x, parameter(node, node.cast(scale, f32), axis, rank), zeros))


def quantized(node: Node, value: SSAValue, index: int, like: SSAValue) -> SSAValue:
    """A result quantised by the scale at `index` and the zero point after it; without one, of the type of `like`."""
    scale, zero = node.cast(node.reshape(node.operand(index), ()), f32), node.optional(index + 1)
    to = element_type_of_value(like if zero is None else zero)
    return node.emit(QuantizeOp(value, scale, None if zero is None else node.reshape(zero, ()), to))


def _binary(make: Callable[[SSAValue, SSAValue], GraphOp]) -> Handler:
    return lambda node: quantized(node, node.emit(make(dequantized(node, 0), dequantized(node, 3))), 6, node.operand(0))


def _unary(make: Callable[[Node, SSAValue], SSAValue]) -> Handler:
    return lambda node: quantized(node, make(node, dequantized(node, 0)), 3, node.operand(0))


def _softmax(node: Node, x: SSAValue) -> SSAValue:
    """Before opset 13, as stated by an attribute, over all dimensions from the axis on."""
    shape, opset = shape_of(x), node.integer("opset", 0)
    axis = node.axis(-1 if opset >= 13 else 1, len(shape))
    if opset >= 13:
        return node.emit(SoftmaxOp(x, axis))
    flat = node.reshape(x, (prod(shape[:axis]), prod(shape[axis:])))
    return node.reshape(node.emit(SoftmaxOp(flat, 1)), shape)


def channels_first(node: Node, x: SSAValue, compute: Callable[[SSAValue], SSAValue]) -> SSAValue:
    """Applies `compute` with channels second, transposing if the node states that they are last."""
    if not node.flag("channels_last"):
        return compute(x)
    rank = len(shape_of(x))
    result = compute(node.emit(TransposeOp(x, (0, rank - 1, *range(1, rank - 1)))))
    return node.emit(TransposeOp(result, (0, *range(2, rank), 1)))


def _global_average_pool(node: Node, x: SSAValue) -> SSAValue:
    rank = check_rank(node, shape_of(x)) + 2
    first = 1 if node.flag("channels_last") else 2
    return node.emit(ReduceMeanOp(x, range(first, first + rank - 2), keepdims=True))


def _concat(node: Node) -> SSAValue:
    count = len(node.proto.input) - 2
    if count < 3 or count % 3:
        raise node.invalid(f"{count} operands are no triples of numbers, scale and zero point")
    parts = [dequantized(node, 2 + index) for index in range(0, count, 3)]
    joined = node.emit(ConcatOp(parts, node.axis(0, len(shape_of(parts[0])))))
    return quantized(node, joined, 0, node.operand(2))


def _where(node: Node) -> SSAValue:
    chosen = node.emit(WhereOp(node.operand(0), dequantized(node, 1), dequantized(node, 4)))
    return quantized(node, chosen, 7, node.operand(1))


def _conv(node: Node) -> SSAValue:
    """ONNX's QLinearConv, possibly with channels last."""
    weight, bias = dequantized(node, 3, 0), node.optional(8)
    if bias is not None:
        unit = node.emit(MulOp(node.reshape(node.operand(1), ()), node.operand(4)))
        bias = node.emit(DequantizeOp(bias, unit))
    result = channels_first(node, dequantized(node, 0), lambda x: convolution(node, x, weight, bias))
    return quantized(node, result, 6, node.operand(0))


def _gemm(node: Node) -> SSAValue:
    """alpha * a' b' + c with c an i32 in units of alpha and both scales; stays in floats without a result scale."""
    transposed = node.flag("transB")
    a, b = dequantized(node, 0), dequantized(node, 3, 0 if transposed else 1)
    result = node.emit(MatmulOp(a, b, transpose_a=node.flag("transA"), transpose_b=transposed))
    alpha, c = node.number("alpha", 1.0), node.optional(6)
    factor = node.scalar(alpha, f32)
    if alpha != 1.0:
        result = node.emit(MulOp(result, factor))
    if c is not None:
        scale = node.emit(MulOp(node.reshape(node.operand(1), ()), node.operand(4)))
        unit = _single(node, node.emit(MulOp(scale, factor)))
        if shape_of(unit):  # a scale for each column
            c = node.broadcast(c, (*shape_of(c)[:-1], *shape_of(unit)))
        result = node.emit(AddOp(result, node.emit(DequantizeOp(c, unit))))
    return quantized(node, result, 7, node.operand(0)) if node.has_operand(7) else result


def _single(node: Node, value: SSAValue) -> SSAValue:
    return node.reshape(value, ()) if equal_shapes(shape_of(value), (1,)) else value


def _dynamic_quantize_matmul(node: Node) -> SSAValue:
    """The left operand is quantised dynamically to ui8, as by DynamicQuantizeLinear."""
    x = node.operand(0)
    scale, zero = own_range(node, x)
    a = node.emit(DequantizeOp(node.emit(QuantizeOp(x, scale, zero, _UINT8)), scale, zero))
    b = unquantized(node, node.operand(1), node.operand(2), node.optional(3), -1)
    return biased(node, node.emit(MatmulOp(a, b)), 4)


def _matmul_integer_to_float(node: Node) -> SSAValue:
    a = unquantized(node, node.operand(0), node.operand(2), node.optional(4), -2)
    b = unquantized(node, node.operand(1), node.operand(3), node.optional(5), -1)
    return biased(node, node.emit(MatmulOp(a, b)), 6)


HANDLERS: dict[str, Handler] = {
    "com.microsoft.QLinearAdd": _binary(AddOp),
    "com.microsoft.QLinearMul": _binary(MulOp),
    "com.microsoft.QLinearSigmoid": _unary(lambda node, x: node.emit(SigmoidOp(x))),
    "com.microsoft.QLinearLeakyRelu": _unary(lambda node, x: node.emit(LeakyReluOp(x, node.number("alpha", 0.01)))),
    "com.microsoft.QLinearSoftmax": _unary(_softmax),
    "com.microsoft.QLinearAveragePool": _unary(
        lambda node, x: channels_first(node, x, lambda first: average_pool(node, first))
    ),
    "com.microsoft.QLinearGlobalAveragePool": _unary(_global_average_pool),
    "com.microsoft.QLinearConcat": _concat,
    "com.microsoft.QLinearWhere": _where,
    "com.microsoft.QLinearConv": _conv,
    "com.microsoft.QGemm": _gemm,
    "com.microsoft.DynamicQuantizeMatMul": _dynamic_quantize_matmul,
    "com.microsoft.MatMulIntegerToFloat": _matmul_integer_to_float,
}
