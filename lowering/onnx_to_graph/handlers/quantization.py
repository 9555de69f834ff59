"""Quantised operators: QuantizeLinear and DequantizeLinear, with products in floats between them.

QLinearConv and QLinearMatMul are decomposed to the form of models with explicit QuantizeLinear and DequantizeLinear;
`recompose-quantized` finds the integer products in both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, SSAValue

from ....dialects.graph.narrow_types import is_narrow_float
from ....dialects.graph.ops.activation import ClipOp
from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.conversion import CastOp
from ....dialects.graph.ops.elementwise import DivOp, EqualOp, MulOp, SubOp, WhereOp
from ....dialects.graph.ops.movement import PadOp
from ....dialects.graph.ops.quantization import DequantizeOp, QuantizeOp, is_quantized
from ....dialects.graph.ops.reduction import ReduceMaxOp, ReduceMinOp
from ....dialects.graph.ops.unary import RoundOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....dialects.sizes.sizes import equal, equal_shapes
from ..element_types import element_type
from ..node import Handler, Node
from .contraction import convolution
from .movement import slice_axis

_UINT8 = element_type(2, "uint8")


@dataclass(frozen=True)
class Grain:
    """The granularity of a scale: x of shape `whole` is viewed as shape `split`, and scales as `entries` beside it."""

    whole: tuple[int, ...]
    split: tuple[int, ...]
    entries: tuple[int, ...]
    padding: tuple[int, int] = (0, 0)  # an axis, and the places added to it so that its last block is whole

    def apart(self, node: Node, x: SSAValue) -> SSAValue:
        """x as shape `split`."""
        axis, more = self.padding
        if more:
            high = [0] * len(self.whole)
            high[axis] = more
            x = node.emit(PadOp(x, [0] * len(high), high))
        return node.reshape(x, self.split)

    def together(self, node: Node, x: SSAValue) -> SSAValue:
        """The inverse of `apart`."""
        axis, more = self.padding
        if not more:
            return node.reshape(x, self.whole)
        padded = [size + more * (at == axis) for at, size in enumerate(self.whole)]
        return slice_axis(node, node.reshape(x, padded), axis, 0, self.whole[axis])


def blocks_along(node: Node, shape: Sequence[int], axis: int, block: int, given: Sequence[int]) -> Grain:
    """The granularity of scales of shape `given` for each `block` places along an axis; the last ones may be fewer."""
    blocks = -(-shape[axis] // block) if block >= 1 else 0
    if block < 1 or not equal_shapes(given, (*shape[:axis], blocks, *shape[axis + 1 :])):
        raise node.invalid(f"a scale of shape {list(given)} doesn't fit {list(shape)} in blocks of {block}")
    whole, before, after = tuple(shape), tuple(shape[:axis]), tuple(shape[axis + 1 :])
    if equal(given[axis], 1):
        return Grain(whole, whole, tuple(given))
    padding = (axis, given[axis] * block - shape[axis]) if shape[axis] % block else (0, 0)
    return Grain(whole, (*before, given[axis], block, *after), (*before, given[axis], 1, *after), padding)


def _grain(node: Node, x: SSAValue, scale: SSAValue) -> Grain:
    """The granularity: per tensor, per axis, or per block."""
    shape, given = shape_of(x), shape_of(scale)
    node.ignore("axis", "block_size")  # where all granularities agree
    if len(given) == 0 or equal_shapes(given, (1,)):
        return Grain(shape, shape, ())
    axis = 0 if len(shape) == 1 else node.axis(1, len(shape))
    block = node.integer("block_size", 0)
    if len(given) == 1 and not (block and len(shape) == 1):
        if not equal(given[0], shape[axis]):
            raise node.invalid(f"{given[0]} scales for {shape[axis]} places along axis {axis}")
        return Grain(shape, shape, tuple(given[0] if at == axis else 1 for at in range(len(shape))))
    return blocks_along(node, shape, axis, block, given)


def dequantized(
    node: Node, grain: Grain, x: SSAValue, scale: SSAValue, zero: SSAValue | None, to: Attribute
) -> SSAValue:
    """(x - zero) * scale in the type `to`, of whatever granularity; narrow floats have no zero point."""
    scale, parts = node.reshape(node.cast(scale, to), grain.entries), grain.apart(node, x)
    if is_narrow_float(element_type_of_value(x)):
        return grain.together(node, node.emit(MulOp(node.cast(parts, to), scale)))
    zeros = None if zero is None else node.reshape(zero, grain.entries if shape_of(zero) else ())
    return grain.together(node, node.emit(DequantizeOp(parts, scale, zeros)))


def _check_zero_point(node: Node, zero_point: SSAValue | None, scale: SSAValue, type: Attribute) -> None:
    if zero_point is None:
        return
    given = element_type_of_value(zero_point)
    if given != type:
        raise node.invalid(f"a zero point of type {given} for numbers of type {type}")
    shapes = [[size for size in shape_of(value) if not equal(size, 1)] for value in (zero_point, scale)]
    if not equal_shapes(*shapes):
        raise node.invalid(
            f"a zero point of shape {list(shape_of(zero_point))} with a scale of shape {list(shape_of(scale))}"
        )


def _type_attribute(node: Node, name: str) -> Attribute | None:
    return node.element_type(name) if node.integer(name, 0) else None


def _check_type(node: Node, type: Attribute) -> None:
    if not is_quantized(type) and not is_narrow_float(type):
        raise node.unsupported(f"quantisation to {type}")


def _dequantize_linear(node: Node) -> SSAValue:
    x, scale, zero_point = node.operand(0), node.operand(1), node.optional(2)
    _check_type(node, element_type_of_value(x))
    _check_zero_point(node, zero_point, scale, element_type_of_value(x))
    to = _type_attribute(node, "output_dtype") or element_type_of_value(scale)
    return dequantized(node, _grain(node, x, scale), x, scale, zero_point, to)


def _quantize_linear(node: Node) -> SSAValue:
    x, scale, zero_point = node.operand(0), node.operand(1), node.optional(2)
    asked = _type_attribute(node, "output_dtype")
    to = asked or (_UINT8 if zero_point is None else element_type_of_value(zero_point))
    _check_type(node, to)
    _check_zero_point(node, zero_point, scale, to)
    saturate = node.flag("saturate", True)  # concerns 8-bit floats
    precise = _type_attribute(node, "precision") or element_type_of_value(scale)
    grain = _grain(node, x, scale)
    zeros = None if zero_point is None else node.reshape(zero_point, grain.entries)
    scales = node.reshape(node.cast(scale, precise), grain.entries)
    x = node.cast(grain.apart(node, x), precise)
    if is_narrow_float(to):
        result = node.emit(CastOp(node.emit(DivOp(x, scales)), to, saturate=saturate))
    else:
        result = node.emit(QuantizeOp(x, scales, zeros, to))
    return grain.together(node, result)


def own_range(node: Node, x: SSAValue) -> tuple[SSAValue, SSAValue]:
    """Dynamic quantisation: the ui8 scale and zero point for the range of x and 0; an all-zero x gets scale 1.

    By ONNX's definition its scale would be 0, and a divisor; ONNX Runtime has 1.
    """
    axes, nought = range(len(shape_of(x))), node.scalar(0, x)
    low = node.emit(ClipOp(node.emit(ReduceMinOp(x, axes)), None, 0.0))
    high = node.emit(ClipOp(node.emit(ReduceMaxOp(x, axes)), 0.0, None))
    extent = node.emit(DivOp(node.emit(SubOp(high, low)), node.scalar(255, x)))
    scale = node.emit(WhereOp(node.emit(EqualOp(extent, nought)), node.scalar(1, x), extent))
    zero = node.emit(ClipOp(node.emit(DivOp(node.emit(SubOp(nought, low)), scale)), 0.0, 255.0))
    return scale, node.cast(node.emit(RoundOp(zero)), _UINT8)


def _dynamic_quantize_linear(node: Node) -> list[SSAValue]:
    x = node.operand(0)
    scale, zero = own_range(node, x)
    return [node.emit(QuantizeOp(x, scale, zero, _UINT8)), scale, zero]


def _centred(node: Node, index: int, zero_point: int, axis: int) -> SSAValue:
    """An operand as i32 minus its zero point, which may be per axis."""
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
    return convolution(node, x, weight, None)


def parameter(node: Node, value: SSAValue, axis: int, rank: int) -> SSAValue:
    """A scale or zero point of a product's operand: one entry, per axis, or of the same rank."""
    shape = shape_of(value)
    if len(shape) > 1:
        return value
    if not shape or shape == (1,):
        return node.reshape(value, ())
    return node.reshape(value, [shape[0] if at == axis % rank else 1 for at in range(rank)])


def _dequantized(node: Node, index: int, axis: int) -> SSAValue:
    """An operand, dequantised to f32 by the scale and zero point that follow it."""
    x = node.operand(index)
    scale, zero = (parameter(node, node.operand(index + at), axis, len(shape_of(x))) for at in (1, 2))
    return node.emit(DequantizeOp(x, node.cast(scale, f32), zero))


def _quantized(node: Node, x: SSAValue, index: int, axis: int = 1) -> SSAValue:
    """A result, quantised by the scale and zero point at `index`."""
    scale, zero = (parameter(node, node.operand(index + at), axis, len(shape_of(x))) for at in (0, 1))
    return node.emit(QuantizeOp(x, node.cast(scale, f32), zero, element_type_of_value(zero)))


def _qlinear_matmul(node: Node) -> SSAValue:
    return _quantized(node, node.emit(MatmulOp(_dequantized(node, 0, -2), _dequantized(node, 3, -1))), 6, -2)


def _qlinear_conv(node: Node) -> SSAValue:
    """The convolution of the dequantised operands; the bias is an i32 in units of x_scale * w_scale."""
    x, weight, bias = _dequantized(node, 0, 1), _dequantized(node, 3, 0), node.optional(8)
    if bias is not None:
        unit = node.emit(MulOp(node.reshape(node.operand(1), ()), node.operand(4)))
        bias = node.emit(DequantizeOp(bias, unit))
    return _quantized(node, convolution(node, x, weight, bias), 6)


HANDLERS: dict[str, Handler] = {
    "com.microsoft.QuantizeLinear": _quantize_linear,
    "com.microsoft.DequantizeLinear": _dequantize_linear,
    "QuantizeLinear": _quantize_linear,
    "DequantizeLinear": _dequantize_linear,
    "DynamicQuantizeLinear": _dynamic_quantize_linear,
    "MatMulInteger": _matmul_integer,
    "ConvInteger": _conv_integer,
    "QLinearMatMul": _qlinear_matmul,
    "QLinearConv": _qlinear_conv,
}
