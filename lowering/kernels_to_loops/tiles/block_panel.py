"""Reading of block-quantised weights as BlockPanelPacking lays them out: the numbers of a panel, in registers.

The bits of a number n, put into those of 2^23, make the float 2^23 + n, from which 2^23 + zero is subtracted: exact,
and as fast as a conversion.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i32
from xdsl.dialects.vector import BitcastOp
from xdsl.ir import Attribute, SSAValue

from ....dialects.byte_dot import GROUP
from ....dialects.graph.ops.block_weight import UI8
from ....dialects.graph.packing.block_panels import WORD
from ....dialects.kernel.targets import CpuAttr
from ...kernel_code.arithmetic import Arithmetic, convert, loaded
from ...kernel_code.loop_builder import Index, LoopBuilder, vector_of

WRITTEN_OUT = 32
"""Numbers of a column whose code is written out; blocks of more loop over as many."""
_AHEAD = 8192
"""Bytes by which words are prefetched: a processor's own prefetching stops at each page of 4096. One row by 2048 x 5632
numbers of 4 bits in blocks of 32, from memory, takes 0.88 of the time, on two threads 0.5, many rows as long (Zen 5).
"""
_MAGIC, _MAGIC_BITS = 2.0**23, 0x4B000000
"""A float whose last bit counts 1."""


@dataclass(frozen=True)
class BlockNumbers:
    """A block-quantised weight: what code is specialised for."""

    bits: int
    block: int
    tail: int  # numbers of the last block, if it is not whole
    middle: int  # the zero point of all blocks, if there are none of each
    scale: Attribute
    zero: Attribute | None

    @property
    def span(self) -> int:
        """Numbers of a word."""
        return WORD // self.bits

    @property
    def words(self) -> int:
        """Words of a block."""
        return -(-self.block // self.span)


Level: TypeAlias = Callable[[SSAValue, int, int], SSAValue]
"""(words of a register, its number, place of a number in a word) -> that number less the zero point, as f32."""


@dataclass(frozen=True)
class PanelPlaces:
    """Addresses of a panel's words, scales, and zero points if there are any."""

    words: SSAValue
    scales: SSAValue
    zeros: SSAValue | None


class BlockPanel:
    """A panel of `registers` vectors of `lanes` columns."""

    def __init__(self, b: LoopBuilder, numbers: BlockNumbers, places: PanelPlaces, registers: int, lanes: int) -> None:
        self.b, self.numbers, self.registers, self.lanes = b, numbers, registers, lanes
        columns = registers * lanes
        self._words = b.view(places.words, 0, [1, columns * GROUP], [columns * GROUP, 1])
        self._scales = b.view(places.scales, 0, [1, columns], [columns, 1])
        self._zeros = None if places.zeros is None else b.view(places.zeros, 0, [1, columns], [columns, 1])
        self.floats, self.integers = vector_of(f32, lanes), vector_of(i32, lanes)
        self.m = Arithmetic(b, self.floats, contract=False)

    def words(self, block: Index, word: Index) -> list[SSAValue]:
        """A word of each column, a vector of i32 for each register."""
        b = self.b
        row, held = b.add(b.mul(block, self.numbers.words), word), self.lanes * GROUP
        ahead = b.add(row, _AHEAD // (held * self.registers))
        for at in range(0, held * self.registers, CpuAttr.CACHE_LINE):
            b.prefetch(self._words, [ahead, at], near=True)
        vectors = [loaded(b, b.vload(self._words, [row, each * held], held)) for each in range(self.registers)]
        return [b.insert(BitcastOp(each, self.integers)) for each in vectors]

    def each_word(
        self,
        count: int,
        body: Callable[[Index, int, Sequence[SSAValue]], Sequence[SSAValue]],
        carried: Sequence[SSAValue],
        written_out: int = WRITTEN_OUT,
    ) -> Sequence[SSAValue]:
        """`body(word, numbers, carried)` for each word of `count` numbers of a block; the last may have fewer."""
        span = self.numbers.span
        step, words = max(1, written_out // span), count // span

        def several(first: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            for word in range(step):
                carried = body(self.b.add(first, word), span, carried)
            return carried

        whole = words // step * step
        carried = self.b.loop(0, whole, several, step=step, carried=carried, unrolled=False)
        for word in range(whole, words):
            carried = body(word, span, carried)
        return body(words, count % span, carried) if count % span else carried

    def shifted(self, words: SSAValue, places: int, mask: int) -> SSAValue:
        """Words shifted down, under the mask."""
        b = self.b
        if places:
            words = b.make(arith.ShRUIOp, words, b.constant(places, self.integers))
        return b.make(arith.AndIOp, words, b.constant(mask, self.integers))

    def scales(self, block: Index) -> list[SSAValue]:
        """A block's scales as f32."""
        return [convert(self.b, each, self.numbers.scale, f32) for each in self._by_columns(self._scales, block)]

    def byte_zeros(self, block: Index, type: Attribute) -> list[SSAValue]:
        """A block's zero points, if they are bytes, in another type."""
        if self._zeros is None or self.numbers.zero != UI8:
            return []
        return [convert(self.b, each, UI8, type) for each in self._by_columns(self._zeros, block)]

    def float_zeros(self, block: Index) -> list[SSAValue]:
        """A block's zero points, if they are floats."""
        return self._by_columns(self._zeros, block) if self._zeros is not None and self.numbers.zero == f32 else []

    def _by_columns(self, window: SSAValue, block: Index) -> list[SSAValue]:
        b, lanes = self.b, self.lanes
        return [loaded(b, b.vload(window, [block, each * lanes], lanes)) for each in range(self.registers)]

    def levels(self, block: Index) -> Level:
        """What makes floats of a block's numbers."""
        b, m, numbers = self.b, self.m, self.numbers
        middle = numbers.middle if numbers.zero is None else 0
        subtracted = [b.constant(_MAGIC + middle, self.floats)] * self.registers
        if zeros := self.byte_zeros(block, f32):
            subtracted = [m.add(each, m.constant(_MAGIC)) for each in zeros]
        further = self.float_zeros(block)

        def level(words: SSAValue, register: int, place: int) -> SSAValue:
            at = place % GROUP * 8 + place // GROUP * numbers.bits
            low = self.shifted(words, at, 2**numbers.bits - 1)
            bits = b.make(arith.OrIOp, low, b.constant(_MAGIC_BITS, self.integers))
            value = m.sub(b.insert(arith.BitcastOp(bits, self.floats)), subtracted[register])
            return m.sub(value, further[register]) if further else value

        return level
