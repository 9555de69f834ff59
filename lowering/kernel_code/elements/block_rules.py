"""Single elements of block-quantised weights."""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i8
from xdsl.ir import SSAValue

from ....dialects.graph.ops.block_weight import UI8, BlockWeight, StackedBlockWeightOp
from ....dialects.graph.values import element_type_of_value
from ..arithmetic import Arithmetic, convert
from ..index_expr import Expr
from .element_values import Values, element_of
from .movement_rules import wrapped


@element_of.register
def _block_weight(op: BlockWeight, v: Values, index: tuple[Expr, ...]) -> SSAValue:
    """(number - zero) * scale"""
    bits, block, _, middle = op.numbers
    row, at = index
    if isinstance(op, StackedBlockWeightOp):
        row = wrapped(v, op.which, [], op.count) * op.rows.value.data + row
    place, part = at.divide(8 // bits)
    number = v.at(op.weight, [row, place])
    if bits < 8:
        number, shift = v.alike([number, v.number_as(part * bits, i8)])
        shifted = v.b.insert(arith.ShRUIOp(number, shift))
        number = v.b.insert(arith.AndIOp(shifted, v.b.constant(2**bits - 1, shifted.type)))
    group = at.divide(block)[0]
    value = convert(v.b, number, UI8, f32)
    zero = v.b.constant(float(middle), f32)
    if op.zero is not None:
        zero = convert(v.b, v.at(op.zero, [row, group]), element_type_of_value(op.zero), f32)
    scale = convert(v.b, v.at(op.scale, [row, group]), element_type_of_value(op.scale), f32)
    value, zero, scale = v.alike([value, zero, scale])
    m = Arithmetic(v.b, value.type)
    return m.mul(m.sub(value, zero), scale)
