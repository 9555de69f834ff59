"""The layout of block-quantised weights that products read: words of 32 bits for each column, in panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from typing_extensions import override
from xdsl.ir import Operation

from ...byte_dot import GROUP
from ...errors import CompileError
from ..base import require
from ..values import Array
from .packings import Packing

WORD = 32
"""Bits of a column's numbers that lie side by side: one lane of a vector."""

# Shuffles of a word's numbers as exchanges of bits of their positions: those under the mask change places with those
# `shift` bits above. Applied in reverse they are undone.
_EXCHANGES: dict[int, tuple[tuple[int, int], ...]] = {
    2: ((6, 0x00CC00CC), (12, 0x0000F0F0)),
    4: ((8, 0x0000FF00), (4, 0x00F000F0)),
    8: (),
}


@dataclass(frozen=True)
class BlockPanelPacking(Packing):
    """[N, bytes], numbers of `bits` bits in blocks of `block`, as [ceil(N / nr), words, nr * GROUP].

    A word holds `span` consecutive numbers of a column: number i in byte i % GROUP of the word, from bit
    i // GROUP * bits on. So one mask, or a shift and a mask, gives GROUP consecutive numbers of each column as bytes.
    Blocks are padded to whole words. `paired`: a panel has nr / 2 columns of each half of the rows.
    """

    kind = "block_panels"

    nr: int
    bits: int
    block: int
    paired: bool = False

    @property
    def span(self) -> int:
        """Numbers of a word."""
        return WORD // self.bits

    def _words(self, nbytes: int) -> tuple[int, int]:
        """Blocks of a row, and words of a block."""
        return nbytes * 8 // self.bits // self.block, -(-self.block // self.span)

    @override
    def packed_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        require(len(shape) == 2 and self.bits in _EXCHANGES, f"{self.bits} bits of numbers in shape {list(shape)}")
        bits = self.block * self.bits
        whole = bits % 8 == 0 and shape[1] * 8 % bits == 0
        require(whole, f"rows of {shape[1]} bytes have no blocks of {self.block} numbers of {self.bits} bits")
        halved = shape[0] % 2 == 0 and self.nr % 2 == 0
        require(halved or not self.paired, f"{shape[0]} columns have no halves for panels of {self.nr}")
        blocks, words = self._words(shape[1])
        return (-(-shape[0] // self.nr), blocks * words, self.nr * GROUP)

    @override
    def pack(self, weight: Array, out: Array | None = None) -> Array:
        panels, words, _ = shape = self.packed_shape(weight.shape)
        packed = np.zeros(shape, np.uint8) if out is None else out
        halves = 2 if self.paired else 1
        laid = packed.view(np.uint32).reshape(panels, words, halves, self.nr // halves)
        for number, half in enumerate(np.split(weight, halves)):
            columns = self._to_words(half)
            whole, rest = divmod(len(columns), laid.shape[-1])
            into = laid[:, :, number]
            into[:whole] = columns[: len(columns) - rest].reshape(whole, laid.shape[-1], words).transpose(0, 2, 1)
            if rest:
                into[whole, :, :rest] = columns[len(columns) - rest :].T
                into[whole, :, rest:] = 0
        return packed

    @override
    def unpack(self, packed: Array, shape: Sequence[int]) -> Array:
        halves = 2 if self.paired else 1
        rows, (panels, words, _) = shape[0] // halves, packed.shape
        laid = packed.view(np.uint32).reshape(panels, words, halves, -1).transpose(2, 0, 3, 1)
        columns = laid.reshape(halves, -1, words)[:, :rows].reshape(-1, words)
        return self._from_words(np.ascontiguousarray(columns), shape[1])

    def _to_words(self, rows: Array) -> Array:
        """Bytes [N, bytes] as words [N, words]."""
        blocks, words = self._words(rows.shape[1])
        held = self.block * self.bits // 8
        cut = rows.reshape(len(rows), blocks, held)
        if held % GROUP:
            cut = np.pad(cut, [(0, 0), (0, 0), (0, words * GROUP - held)])
        result = np.ascontiguousarray(cut).view(np.uint32).reshape(len(rows), -1)
        for exchange in _EXCHANGES[self.bits]:
            result = _exchanged(result, *exchange)
        return result

    def _from_words(self, columns: Array, nbytes: int) -> Array:
        """The inverse of `_to_words`."""
        for exchange in reversed(_EXCHANGES[self.bits]):
            columns = _exchanged(columns, *exchange)
        blocks, words = self._words(nbytes)
        cut = columns.view(np.uint8).reshape(len(columns), blocks, words * GROUP)
        return cut[..., : self.block * self.bits // 8].reshape(len(columns), nbytes)

    @override
    def ops(self, value: object) -> list[Operation]:
        """Raises CompileError: schedules ask for this packing for constant weights only."""
        raise CompileError("only constant block-quantised weights can be packed")

    @override
    def rows(self, shape: Sequence[int]) -> int:
        return 0 if self.paired else self.nr


def _exchanged(words: Array, shift: int, mask: int) -> Array:
    """Words with the bits under the mask exchanged for those `shift` bits above."""
    apart = (words ^ words >> np.uint32(shift)) & np.uint32(mask)
    return words ^ apart ^ apart << np.uint32(shift)
