"""flip-signs: converts the left operand of byte products to the signedness for which the CPU has an instruction.

before:  %y = graph.conv %x, %w, %b {pad_value = 3, ..} : (tensor<..xui8>, tensor<..xi8>, tensor<..xi32>) -> ..
after:   %0 = graph.cast %x {to = i8}    %1 = graph.add %0, -128 : tensor<..xi8>
         %y = graph.conv %1, %w, %b' {pad_value = -125, ..} : (tensor<..xi8>, tensor<..xi8>, tensor<..xi32>) -> ..

AVX's vpdpbusd takes unsigned by signed bytes, ARM's sdot signed by signed ones. With x - 128 instead of x each sum
lacks 128 times the sum of its weights, which is known: b' is b with it. A product gets an add of it. The cast and the
add work byte by byte, so they become part of the kernel that makes x. Weights that are computed stay as they are, and
so do depthwise convolutions, which add up no neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import IntegerType, ModuleOp, Signedness, i8, i32
from xdsl.ir import Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.graph.ops.contraction import ConvOp, MatmulOp, is_byte
from ...dialects.graph.ops.conversion import CastOp
from ...dialects.graph.ops.elementwise import AddOp
from ...dialects.graph.ops.structure import ConstantOp, WeightOp
from ...dialects.graph.values import Array, element_type_of_value, int_attr, numpy_dtype, shape_of, tensor
from ...dialects.kernel.targets import CpuAttr, target_of
from .support.pattern_utils import GraphPattern, PatternPass, rewrites, with_operands

_HALF = 128
_UI8 = IntegerType(8, Signedness.UNSIGNED)


class _FlipSigns(GraphPattern):
    """A product of bytes by a constant weight -> one with the left operand's signedness flipped"""

    def _flipped(self, x: SSAValue, op: Operation) -> tuple[list[Operation], SSAValue]:
        """x in the other type, with 128 subtracted or added."""
        to = i8 if element_type_of_value(x) == _UI8 else _UI8
        cast = CastOp(x, to, location=op.location)
        shift = ConstantOp.from_numpy(np.asarray(_HALF).astype(numpy_dtype(to)))
        add = AddOp(cast.result, shift.result, location=op.location)
        return [cast, shift, add], add.result

    def _missing(self, op: MatmulOp | ConvOp, weight: SSAValue, axes: Sequence[int]) -> ConstantOp | WeightOp:
        """What sums with the flipped operand lack, for each column."""
        sign = 1 if element_type_of_value(op.operands[0]) == _UI8 else -1
        kept = [size for axis, size in enumerate(shape_of(weight)) if axis not in axes]
        how = f"{sign} * 128 * sums over {axes}"
        sums = partial(_sums, axes=tuple(axes), factor=sign * _HALF)
        return self.constants.computed([weight], tensor(i32, kept), how, sums, op.location)


class FlipConvolution(_FlipSigns):
    """conv(x, w, b) -> conv(x - 128, w, b + 128 * sums of w)"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ConvOp, rewriter: PatternRewriter, /) -> None:
        weight, bias = op.weight, op.bias
        known = self.constants.is_constant(weight) and (bias is None or self.constants.is_constant(bias))
        if not _is_slow(op) or not known or shape_of(weight)[1] == 1:
            return
        made, x = self._flipped(op.x, op)
        missing = self._missing(op, weight, range(1, len(shape_of(weight))))
        made.append(missing)
        if bias is not None:
            total = self.constants.computed(
                [bias, missing.results[0]], tensor(i32, shape_of(bias)), "sum", np.add, op.location
            )
            made.append(total)
        shift = -_HALF if element_type_of_value(op.x) == _UI8 else _HALF
        operands = [x, weight, made[-1].results[0]]
        rewriter.replace(op, [*made, with_operands(op, operands, pad_value=int_attr(op.padding + shift))])


class FlipProduct(_FlipSigns):
    """matmul(x, w) -> matmul(x - 128, w) + 128 * sums of w"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter, /) -> None:
        if not _is_slow(op) or not self.constants.is_constant(op.rhs) or len(shape_of(op.rhs)) != 2:
            return
        made, x = self._flipped(op.lhs, op)
        missing = self._missing(op, op.rhs, [1 if op.transpose_b is not None else 0])
        product = with_operands(op, [x, op.rhs])
        add = AddOp(product.results[0], missing.results[0], location=op.location)
        rewriter.replace(op, [*made, missing, product, add])


def _sums(weight: Array, axes: tuple[int, ...], factor: int) -> Array:
    return (weight.sum(axes, np.int64) * factor).astype(np.int32)


def _is_slow(op: MatmulOp | ConvOp) -> bool:
    """Whether the CPU has one instruction for the operands' bytes only with one of them flipped."""
    types = [element_type_of_value(operand) for operand in op.operands[:2]]
    module = op.get_toplevel_object()
    assert isinstance(module, ModuleOp)
    target = target_of(module)
    if not all(map(is_byte, types)) or not isinstance(target, CpuAttr):
        return False
    alike = types[0] == types[1]
    slow = ("", "pmaddwd")
    return target.byte_dot(alike) in slow and target.byte_dot(not alike) not in slow


class FlipSigns(PatternPass):
    """Bytes on the left are shifted by 128 where the CPU multiplies them with the weight's only so."""

    name = "flip-signs"
    patterns = (FlipConvolution, FlipProduct)
    machine = CpuAttr
