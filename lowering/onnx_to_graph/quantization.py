"""Quantised operators, taken apart into arithmetic on floats (exact for products of 8-bit numbers) or i32."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import Float64Type, f32, i32
from xdsl.ir import Attribute, SSAValue

from ...dialects.graph.activation import ClipOp
from ...dialects.graph.contraction import ConvOp, MatmulOp
from ...dialects.graph.elementwise import AddOp, DivOp, MulOp, SubOp
from ...dialects.graph.unary import RoundOp
from ...dialects.graph.values import element_type_of_value, numpy_dtype, shape_of
from .movement import slice_axis
from .node import Handler, Node
from .types import element_type
from .windows import check_rank, read_window

_UINT8 = element_type(2, "uint8")


def _wide(type: Attribute) -> Attribute:
    """The float type to compute in."""
    return type if isinstance(type, Float64Type) else f32


def _aligned(node: Node, parameter: SSAValue, x: SSAValue) -> SSAValue:
    """A scale or zero point (of all of x, by place along the axis, by block of it) so that it broadcasts."""
    shape, given = shape_of(x), shape_of(parameter)
    if len(given) == 0 or given == (1,):
        return node.reshape(parameter, ())
    axis = node.axis(1, len(shape))
    if len(given) == 1:
        return node.reshape(parameter, [given[0] if index == axis else 1 for index in range(len(shape))])
    block = node.integer("block_size", 0)
    if len(given) != len(shape) or block < 1 or given[axis] != -(-shape[axis] // block):
        raise node.invalid(f"a scale of shape {list(given)} doesn't fit {list(shape)} in blocks of {block}")
    outer, inner = given[: axis + 1], given[axis + 1 :]
    repeated = node.broadcast(node.reshape(parameter, (*outer, 1, *inner)), (*outer, block, *inner))
    flat = node.reshape(repeated, (*given[:axis], given[axis] * block, *inner))
    return slice_axis(node, flat, axis, 0, shape[axis])


def _dequantized(node: Node, x: SSAValue, scale: SSAValue, zero_point: SSAValue | None) -> SSAValue:
    """(x - zero_point) * scale"""
    wide = _wide(element_type_of_value(scale))
    value = node.cast(x, wide)
    if zero_point is not None:
        value = node.emit(SubOp(value, node.cast(_aligned(node, zero_point, x), wide)))
    return node.emit(MulOp(value, node.cast(_aligned(node, scale, x), wide)))


def _quantized(node: Node, x: SSAValue, scale: SSAValue, zero_point: SSAValue | None, to: Attribute) -> SSAValue:
    """round(x / scale) + zero_point, limited to the integer type."""
    dtype = numpy_dtype(to)
    if dtype.kind not in "iu":
        raise node.unsupported(f"quantisation to {to}")
    wide = _wide(element_type_of_value(x))
    value = node.emit(DivOp(node.cast(x, wide), node.cast(_aligned(node, scale, x), wide)))
    value = node.emit(RoundOp(value))
    if zero_point is not None:
        value = node.emit(AddOp(value, node.cast(_aligned(node, zero_point, x), wide)))
    limits = np.iinfo(dtype)
    return node.cast(node.emit(ClipOp(value, float(limits.min), float(limits.max))), to)


def _dequantize_linear(node: Node) -> SSAValue:
    x, scale = node.operand(0), node.operand(1)
    result = _dequantized(node, x, scale, node.optional(2))
    subject = f"{node.name} ({node.op_type}): attribute output_dtype"
    given = node.integer("output_dtype", 0)
    return node.cast(result, element_type(given, subject) if given else element_type_of_value(scale))


def _quantize_linear(node: Node) -> SSAValue:
    zero_point = node.optional(2)
    given = node.integer("output_dtype", 0)
    if zero_point is not None:
        to = element_type_of_value(zero_point)
    else:
        to = element_type(given, f"{node.name} ({node.op_type}): attribute output_dtype") if given else _UINT8
    return _quantized(node, node.operand(0), node.operand(1), zero_point, to)


def _centred(node: Node, index: int, zero_point: int, axis: int) -> SSAValue:
    """An operand as i32 minus its zero point, which may have one entry for each place along an axis."""
    value = node.cast(node.operand(index), i32)
    if not node.has_operand(zero_point):
        return value
    offset = node.cast(node.operand(zero_point), i32)
    if len(shape_of(offset)) == 1:
        shape = [1] * len(shape_of(value))
        shape[axis] = shape_of(offset)[0]
        offset = node.reshape(offset, shape)
    return node.emit(SubOp(value, offset))


def _matmul_integer(node: Node) -> SSAValue:
    return node.emit(MatmulOp(_centred(node, 0, 2, -2), _centred(node, 1, 3, -1)))


def _conv_integer(node: Node) -> SSAValue:
    x, weight = _centred(node, 0, 2, 1), _centred(node, 1, 3, 0)
    return _conv(node, x, weight, None)


def _conv(node: Node, x: SSAValue, weight: SSAValue, bias: SSAValue | None) -> SSAValue:
    check_rank(node, shape_of(x))
    window = read_window(node, shape_of(x)[2:], shape_of(weight)[2:])
    return node.emit(
        ConvOp(
            x,
            weight,
            bias,
            strides=window.strides,
            pads=window.pads,
            dilations=window.dilations,
            groups=node.integer("group", 1),
        )
    )


def _qlinear_matmul(node: Node) -> SSAValue:
    a = _dequantized(node, node.operand(0), node.operand(1), node.operand(2))
    b = _dequantized(node, node.operand(3), node.operand(4), node.operand(5))
    zero_point = node.operand(7)
    product = node.emit(MatmulOp(a, b))
    return _quantized(node, product, node.operand(6), zero_point, element_type_of_value(zero_point))


def _per_output(node: Node, index: int, weight: SSAValue) -> SSAValue:
    """A weight's scale or zero point, with an entry for each output channel, in a shape that broadcasts."""
    value = node.operand(index)
    count = shape_of(value)
    if len(count) == 0 or count == (1,):
        return node.reshape(value, ())
    return node.reshape(value, (count[0], *[1] * (len(shape_of(weight)) - 1)))


def _qlinear_conv(node: Node) -> SSAValue:
    """The convolution of the dequantised operands; the bias is an i32 in units of x_scale * w_scale."""
    x_scale, w_scale = node.operand(1), node.operand(4)
    x = _dequantized(node, node.operand(0), x_scale, node.operand(2))
    weight = node.operand(3)
    centred = node.emit(SubOp(node.cast(weight, f32), node.cast(_per_output(node, 5, weight), f32)))
    scaled = node.emit(MulOp(centred, _per_output(node, 4, weight)))
    bias = node.optional(8)
    if bias is not None:
        unit = node.emit(MulOp(node.reshape(x_scale, ()), w_scale))
        bias = node.emit(MulOp(node.cast(bias, f32), unit))
    zero_point = node.operand(7)
    result = _conv(node, x, scaled, bias)
    return _quantized(node, result, node.operand(6), zero_point, element_type_of_value(zero_point))


HANDLERS: dict[str, Handler] = {
    "QuantizeLinear": _quantize_linear,
    "DequantizeLinear": _dequantize_linear,
    "MatMulInteger": _matmul_integer,
    "ConvInteger": _conv_integer,
    "QLinearMatMul": _qlinear_matmul,
    "QLinearConv": _qlinear_conv,
}
