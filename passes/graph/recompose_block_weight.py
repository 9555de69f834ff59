"""recompose-block-weight: block-wise dequantisation of a matrix before a product becomes one op on a CPU.

before:  %0 = graph.unpack_bits %w {to = ui4, ..}    %1 = graph.dequantize %0, %s, %z    %2 = graph.reshape %1
         %y = graph.matmul %x, %2 {transpose_b}      %0, %1: [N, blocks, block]  %2: [N, K]
after:   %2 = graph.block_weight %w', %s', %z' {bits = 4, block = 32, depth = 4096, ..}
         %y = graph.matmul %x, %2 {transpose_b}

before:  %0 = graph.dequantize %w, %s                %w: [K, N]  %s: [1, N]
         %y = graph.matmul %x, %0
after:   %0 = graph.block_weight %w', %s' {bits = 8, block = K, ..}
         %y = graph.matmul %x, %0 {transpose_b}

So the product's kernel can take it in, and the weight stays as small as it was. Weights, scales and zero points must be
known; signed numbers become unsigned ones, with other zero points. A zero point that is a float is what is subtracted
behind the dequantisation, divided by the scale. Casts from 16-bit floats are looked through: scales stay so narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ...dialects.graph.base import GraphOp
from ...dialects.graph.ops.block_weight import SCALES, UI8, WIDTHS, BlockWeightOp
from ...dialects.graph.ops.contraction import MatmulOp
from ...dialects.graph.ops.conversion import CastOp, UnpackBitsOp
from ...dialects.graph.ops.elementwise import SubOp
from ...dialects.graph.ops.movement import ReshapeOp, SliceOp
from ...dialects.graph.ops.quantization import DequantizeOp, integer_range
from ...dialects.graph.ops.structure import ConstantOp, WeightOp
from ...dialects.graph.values import Array, element_type_of_value, ints, shape_of, tensor
from ...dialects.kernel.targets import CpuAttr
from ...dialects.sizes.sizes import is_fixed
from .support.pattern_utils import GraphPattern, PatternPass, only_use, rewrites


@dataclass(frozen=True)
class _Blocks:
    """The numbers of a matrix [rows, depth], as they lie: [rows, blocks, block], or `turned` [blocks, block, rows].

    Those of a `flat` matrix, whose rows are one block each, have no axis of blocks.
    """

    rows: int
    blocks: int
    block: int
    bits: int
    low: int  # the least number of their type
    turned: bool
    flat: bool
    packed: bool  # whether several are in one byte

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of the numbers."""
        return (self.blocks, self.block, self.rows) if self.turned else (self.rows, self.blocks, self.block)

    @property
    def whole(self) -> int:
        """The size of a block that fills whole bytes."""
        apart = 8 // self.bits
        return -(-self.block // apart) * apart

    def bytes(self, weight: Array) -> Array:
        """The unsigned numbers in whole bytes [rows, bytes], the first one of each byte in its lowest bits.

        Of some rows only, if the weight has those only.
        """
        apart, mask = 8 // self.bits, 2**self.bits - 1
        flipped = -self.low & mask  # the highest bit of signed numbers, which adds half of their range
        places = np.arange(0, 8, self.bits, dtype=np.uint8)
        if self.packed and not self.turned and self.whole == self.block:
            return weight.reshape(-1, self.blocks * self.block * self.bits // 8) ^ np.uint8(sum(flipped << int(place) for place in places))
        numbers = weight.reshape(-1, 1) >> places if self.packed else weight.view(np.uint8)
        numbers = numbers.reshape(-1)
        if self.turned:
            numbers = numbers[: prod(self.shape)].reshape(self.shape).transpose(2, 0, 1)
        else:
            of_row = self.blocks * self.block
            numbers = numbers[: numbers.size // of_row * of_row].reshape(-1, self.blocks, self.block)
        numbers = numbers & np.uint8(mask) ^ np.uint8(flipped)
        numbers = np.pad(numbers, [(0, 0), (0, 0), (0, self.whole - self.block)])
        return np.bitwise_or.reduce(numbers.reshape(len(numbers), -1, apart) << places, axis=-1)

    def aligned(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of scales or zero points, with an axis for each of the numbers'."""
        rank = 2 if self.flat else 3
        aligned = [*[1] * (rank - len(shape)), *shape]
        if self.flat:
            aligned.insert(0 if self.turned else 1, 1)
        return tuple(aligned)

    def has(self, shape: Sequence[int]) -> bool:
        """Whether there is one scale or zero point for each block, or for several of them."""
        wanted = (self.blocks, 1, self.rows) if self.turned else (self.rows, self.blocks, 1)
        return all(size in (1, most) for size, most in zip(self.aligned(shape), wanted, strict=True))

    def is_cut_behind(self, cut: SliceOp) -> bool:
        """Whether a slice leaves out nothing but what is behind the last block."""
        behind = not any(ints(cut.starts)) and set(ints(cut.steps)) == {1}
        return behind and (len(shape_of(cut.x)) == 2 or self.blocks == 1)

    def of_blocks(self, array: Array) -> Array:
        """Scales or zero points as [rows, blocks]."""
        laid = array.reshape(self.aligned(array.shape))
        laid = laid.transpose(2, 0, 1) if self.turned else laid
        return np.ascontiguousarray(np.broadcast_to(laid[..., 0], (self.rows, self.blocks)))


class BlocksInFrontOfProduct(GraphPattern):
    """matmul(x, reshape(dequantize(w, s, z))) -> matmul(x, block_weight(w', s', z')) {transpose_b}"""

    @rewrites
    @override
    def match_and_rewrite(self, op: MatmulOp, rewriter: PatternRewriter, /) -> None:
        shape, turned = shape_of(op.rhs), op.transpose_b is None
        if len(shape) != 2 or element_type_of_value(op.rhs) != f32:
            return
        depth, rows = shape if turned else shape[::-1]
        value, cuts = _behind_cast(op.rhs), list[SliceOp]()
        while (moving := only_use(value, SliceOp) or only_use(value, ReshapeOp)) is not None:
            cuts += [moving] if isinstance(moving, SliceOp) else []
            value = moving.x
        value = _behind_cast(value)
        moved = only_use(value, SubOp)
        wide = only_use(value if moved is None else _behind_cast(moved.lhs), DequantizeOp)
        blocks = None if wide is None else self._blocks(wide, rows, turned)
        if wide is None or blocks is None or not all(blocks.is_cut_behind(each) for each in cuts):
            return
        if not 0 <= blocks.blocks * blocks.block - depth < blocks.block:
            return
        if (zeros := self._zeros(wide, blocks, None if moved is None else moved.rhs)) is None:
            return
        made = [self._weight(wide, blocks), self._scale(wide, blocks)]
        middle = int(zeros) if isinstance(zeros, int) else 0
        if not isinstance(zeros, int):
            made.append(self.constants.make(zeros, wide.location))
        numbers = {"bits": blocks.bits, "block": blocks.whole, "depth": depth, "middle": middle}
        whole = BlockWeightOp(*[each.results[0] for each in made], **numbers, location=wide.location)
        flags = op.transpose_a is not None, True
        rewriter.replace(op, [*made, whole, MatmulOp(op.lhs, whole, *flags, location=op.location, lhs_as=op.lhs_as)])

    def _blocks(self, wide: DequantizeOp, rows: int, turned: bool) -> _Blocks | None:
        """How the numbers lie; None if they can't be those of a block_weight."""
        low, high = integer_range(element_type_of_value(wide.x))
        bits, shape, flat = (high - low).bit_length(), shape_of(wide.x), len(shape_of(wide.x)) == 2
        if bits not in WIDTHS or not is_fixed(*shape) or element_type_of_value(wide.scale) not in SCALES:
            return None
        if flat:
            shape = (1, *shape) if turned else (shape[0], 1, shape[1])
        if len(shape) != 3 or shape[2 if turned else 0] != rows:
            return None
        source, packed = _source(wide)
        found = _Blocks(rows, *(shape[:2] if turned else shape[1:]), bits, low, turned, flat, packed)
        whole = found.blocks == 1 or found.whole == found.block
        known = self.constants.is_constant(source) and self.constants.is_constant(wide.scale)
        return found if whole and known and all(found.has(shape_of(each)) for each in wide.operands[1:]) else None

    def _weight(self, wide: DequantizeOp, blocks: _Blocks) -> ConstantOp | WeightOp:
        size = (blocks.rows, blocks.blocks * blocks.whole * blocks.bits // 8)
        source, _ = _source(wide)
        rows = 1 if not blocks.turned and shape_of(source)[:1] == (blocks.rows,) else 0
        return self.constants.computed([source], tensor(UI8, size), str(blocks), blocks.bytes, wide.location, rows=rows)

    def _scale(self, wide: DequantizeOp, blocks: _Blocks) -> ConstantOp | WeightOp:
        type = tensor(element_type_of_value(wide.scale), (blocks.rows, blocks.blocks))
        return self.constants.computed([wide.scale], type, str(blocks), blocks.of_blocks, wide.location)

    def _zeros(self, wide: DequantizeOp, blocks: _Blocks, moved: SSAValue | None) -> Array | int | None:
        """The zero point of all blocks, or those of each: of ui8, or f32 for what is `moved` by more."""
        zero = np.zeros((), np.uint8) if wide.zero_point is None else self._known(wide.zero_point)
        if zero is None:
            return None
        middles = (zero.astype(np.int16) - blocks.low).astype(np.uint8)
        if moved is not None:
            offset, scale = self.constants.array(moved), self.constants.array(wide.scale)
            if offset is None or scale is None or not blocks.has(offset.shape):
                return None
            offset, scale = (blocks.of_blocks(each).astype(np.float32) for each in (offset, scale))
            return blocks.of_blocks(middles) + np.divide(offset, scale, out=np.zeros_like(offset), where=scale != 0)
        return int(middles.flat[0]) if middles.size == 1 else blocks.of_blocks(middles)

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


def _behind_cast(value: SSAValue) -> SSAValue:
    """What a cast from a 16-bit float to f32 reads."""
    cast = only_use(value, CastOp)
    return cast.x if cast is not None and cast.to == f32 and element_type_of_value(cast.x) in SCALES else value


def _source(wide: DequantizeOp) -> tuple[SSAValue, bool]:
    """The bytes of the numbers, and whether there are several in each."""
    source, packed = wide.x, False
    while isinstance(owner := source.owner, ReshapeOp | UnpackBitsOp):
        packed = packed or isinstance(owner, UnpackBitsOp)
        source = owner.operands[0]
    return source, packed


class RecomposeBlockWeight(PatternPass):
    """Recognises block-wise dequantisation of a matrix before a product."""

    name = "recompose-block-weight"
    patterns = (BlocksInFrontOfProduct,)
    machine = CpuAttr
