"""recompose-block-weight: block-wise dequantisation of a matrix before a product becomes one op on a CPU.

before:  %0 = graph.unpack_bits %w {to = ui4, ..}    %1 = graph.dequantize %0, %s, %z    %2 = graph.reshape %1
         %y = graph.matmul %x, %2 {transpose_b}      %0, %1: [N, blocks, block]  %2: [N, K]
after:   %2 = graph.block_weight %w', %s', %z' {bits = 4, block = 32, depth = 4096, ..}
         %y = graph.matmul %x, %2 {transpose_b}

So the product's kernel can take it in, and the weight stays as small as it was. Weights, scales and zero points must be
known; signed numbers become unsigned ones, with other zero points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.graph.base import GraphOp
from ...dialects.graph.narrow_types import narrow_types, packed
from ...dialects.graph.ops.block_weight import UI8, BlockWeightOp
from ...dialects.graph.ops.contraction import MatmulOp
from ...dialects.graph.ops.conversion import UnpackBitsOp
from ...dialects.graph.ops.movement import ReshapeOp, SliceOp
from ...dialects.graph.ops.quantization import DequantizeOp, integer_range
from ...dialects.graph.ops.structure import ConstantOp, WeightOp
from ...dialects.graph.values import Array, element_type_of_value, ints, shape_of, tensor
from ...dialects.kernel.targets import CpuAttr
from .support.pattern_utils import GraphPattern, PatternPass, only_use, rewrites

_WIDTHS = (4, 8)


@dataclass(frozen=True)
class _Operands:
    """Ops for the weight, the scales and optional zeros of a block_weight, and its attributes."""

    made: Sequence[ConstantOp | WeightOp]
    bits: int
    block: int
    middle: int = 0


class BlocksInFrontOfProduct(GraphPattern):
    """matmul(x, reshape(dequantize(w, s, z))) {transpose_b} -> matmul(x, block_weight(w, s, z)) {transpose_b}"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter, /) -> None:
        value = op.rhs
        if op.transpose_b is None or len(shape_of(value)) != 2 or element_type_of_value(value) != f32:
            return
        rows, depth = shape_of(value)
        cut = only_use(value, SliceOp)
        if cut is not None:
            if any(ints(cut.starts)) or set(ints(cut.steps)) != {1}:
                return
            value = cut.x
        reshape = only_use(value, ReshapeOp)
        wide = only_use(value if reshape is None else reshape.x, DequantizeOp)
        if wide is None or (found := self._operands(wide, rows, depth)) is None:
            return
        values = [each.results[0] for each in found.made]
        numbers = {"bits": found.bits, "block": found.block, "middle": found.middle}
        whole = BlockWeightOp(*values, **numbers, depth=depth, location=wide.location)
        rewriter.insert([*found.made, whole])
        op.operands[1] = whole.result
        rewriter.notify_op_modified(op)

    def _operands(self, wide: DequantizeOp, rows: int, depth: int) -> _Operands | None:
        """The operands and attributes of a block_weight; None if it can't be one."""
        shape, scales = shape_of(wide.x), shape_of(wide.scale)
        numbers = element_type_of_value(wide.x)
        low, high = integer_range(numbers)
        bits = (high - low).bit_length()
        if bits not in _WIDTHS or len(shape) != 3 or shape[0] != rows or scales != (*shape[:2], 1):
            return None
        if shape[2] * bits % 8 or not shape[1] * shape[2] >= depth > (shape[1] - 1) * shape[2]:
            return None
        source = wide.x
        while isinstance(owner := source.owner, ReshapeOp | UnpackBitsOp):
            source = owner.operands[0]
        zero = np.zeros((), np.uint8) if wide.zero_point is None else self._known(wide.zero_point)
        if not self.constants.is_constant(source) or not self.constants.is_constant(wide.scale):
            return None
        if zero is None or (zero.size != 1 and zero.shape != scales):
            return None
        # The highest bit of signed numbers is flipped, which adds half of their range.
        flipped = -low * (17 if bits == 4 else 1)
        size = (rows, shape[1] * shape[2] * bits // 8)
        bytes, laid = partial(_bytes, shape=size, bits=bits, flipped=flipped), partial(_reshaped, shape=shape[:2])
        weight = self.constants.computed(
            [source], tensor(UI8, size), f"bytes ^ {flipped}", bytes, wide.location, rows=1
        )
        scale = self.constants.computed([wide.scale], tensor(f32, shape[:2]), "scales", laid, wide.location, rows=1)
        middles = (zero.astype(np.int16) - low).astype(np.uint8)
        if middles.size == 1:
            return _Operands([weight, scale], bits, shape[2], int(middles.flat[0]))
        return _Operands(
            [weight, scale, self.constants.make(middles.reshape(shape[:2]), wide.location)], bits, shape[2]
        )

    def _known(self, value: SSAValue) -> Array | None:
        """The value if it is computed from constants, by ops that constant folding leaves alone, too."""
        if self.constants.is_constant(value):
            return self.constants.array(value)
        owner = value.owner
        if not isinstance(owner, GraphOp) or not owner.operands:
            return None
        operands = [self._known(operand) for operand in owner.operands]
        known = [each for each in operands if each is not None]
        return owner.evaluate(*known)[0] if len(known) == len(operands) else None


def _bytes(weight: Array, shape: tuple[int, int], bits: int, flipped: int) -> Array:
    """Numbers of few bits packed into bytes, the first one lowest; a folded constant has a byte for each."""
    data = packed(weight, bits) if weight.dtype in narrow_types() else weight.view(np.uint8)
    return data.reshape(shape) ^ np.uint8(flipped)


def _reshaped(array: Array, shape: tuple[int, ...]) -> Array:
    return array.reshape(shape)


class RecomposeBlockWeight(PatternPass):
    """Recognises block-wise dequantisation of a matrix before a product."""

    name = "recompose-block-weight"
    patterns = (BlocksInFrontOfProduct,)
    machine = CpuAttr
