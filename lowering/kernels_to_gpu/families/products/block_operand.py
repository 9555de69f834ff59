"""Block-quantised right-hand sides: words of packed numbers are read, and dequantised in registers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override
from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.ir import Attribute, SSAValue

from .....dialects.extensions.arith import ExtUIOp
from .....dialects.graph.ops.block_weight import UI8, BlockWeight
from .....dialects.graph.values import element_type_of_value, shape_of
from .....passes.kernels.schedules.cuda.products import WORD
from ....kernel_code.arithmetic import Arithmetic, bits_of, convert, loaded
from ....kernel_code.loop_builder import Index, vector_of
from ...gpu_kernel import Grid
from ...thread_builder import ACCESS, ThreadBuilder
from .operands import MatrixOperand, StridedDims, line_of

_WHOLE = 0x4B000000
"""The bits of 2^23 as f32, of which the last ones hold an integer below that."""


@dataclass(frozen=True)
class BlockOperand(MatrixOperand):
    """Places are those of numbers; `line` has the bytes, `scale` and `zero` a number for each block."""

    blocks: BlockWeight
    scale: SSAValue
    zero: SSAValue | None

    @property
    @override
    def element(self) -> Attribute:
        return f32

    @property
    @override
    def is_copied(self) -> bool:
        return False

    @override
    def fetched(self) -> list[Attribute]:
        return [vector_of(UI8, WORD), *[f32] * (1 if self.zero is None else 2)]

    @override
    def fetch(self, b: ThreadBuilder, at: Index) -> list[SSAValue]:
        return [self.word(b, at), *self.parameters(b, at)]

    def word(self, b: ThreadBuilder, at: Index) -> SSAValue:
        """The bytes of a word of numbers."""
        return b.vload(self.line, [b.mul(b.div(at, self.vector), WORD)], WORD)

    def parameters(self, b: ThreadBuilder, at: Index) -> list[SSAValue]:
        """The scale of a number's block as f32, and its zero point if there are any."""
        group = b.named(b.div(at, self.blocks.numbers[1]), "group")
        pairs = [(self.blocks.scale, self.scale)]
        if self.blocks.zero is not None and self.zero is not None:
            pairs.append((self.blocks.zero, self.zero))
        return [convert(b, loaded(b, b.load(line, [group])), element_type_of_value(each), f32) for each, line in pairs]

    @override
    def made(self, b: ThreadBuilder, fetched: Sequence[SSAValue], element: Attribute) -> list[SSAValue]:
        word, scale, *zero = fetched
        m = Arithmetic(b, f32)
        numbers = [convert(b, m.mul(each, scale), f32, element) for each in self.numbers(b, word, zero)]
        lanes = min(len(numbers), ACCESS * 8 // bits_of(element))
        vectors: list[SSAValue] = []
        for start in range(0, len(numbers), lanes):
            vector = b.constant(0.0, vector_of(element, lanes))
            for lane in range(lanes):
                vector = b.inserted(numbers[start + lane], vector, lane)
            vectors.append(vector)
        return vectors

    def numbers(self, b: ThreadBuilder, word: SSAValue, zero: Sequence[SSAValue]) -> list[SSAValue]:
        """A word's numbers less their zero point: exactly, as floats between 2^23 and 2^24 less 2^23."""
        bits, _, _, middle = self.blocks.numbers
        m, integers = Arithmetic(b, f32), Arithmetic(b, i32)
        taken = b.constant(float(2**23 + (0 if zero else middle)), f32)
        word = loaded(b, word)
        found: list[SSAValue] = []
        for number in range(self.vector):
            byte, place = divmod(number * bits, 8)
            value = b.insert(ExtUIOp(b.extract(word, byte), i32))
            if place:
                value = b.insert(arith.ShRUIOp(value, b.constant(place, i32)))
            if bits < 8:
                value = integers.binary("and", value, b.constant(2**bits - 1, i32))
            value = integers.binary("or", value, b.constant(_WHOLE, i32))
            value = m.sub(b.insert(arith.BitcastOp(value, f32)), taken)
            found.append(m.sub(value, zero[0]) if zero else value)
        return found


def block_operand(grid: Grid, blocks: BlockWeight) -> BlockOperand:
    """The matrix that a kernel's block weight stands for, as an operand with a row for each column of the product."""
    bits, block, depth, _ = blocks.numbers
    rows, groups = shape_of(blocks.scale)
    line, scale, *zero = [line_of(grid, value) for value in blocks.parameters]
    steps = StridedDims((rows,), (groups * block,))
    return BlockOperand(
        line, 0, rows, depth, WORD * 8 // bits, True, steps, 1, blocks, scale, zero[0] if zero else None
    )
