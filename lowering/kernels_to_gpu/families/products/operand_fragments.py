"""Fragments of an operand's tiles in shared memory, as a warp's tensor core instructions take them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ....kernel_code.arithmetic import Arithmetic, bits_of
from ....kernel_code.loop_builder import Index
from ...thread_builder import ACCESS, ThreadBuilder
from .tile_copies import TileCopy

ROWS, COLUMNS = 16, 8  # of the sums of one instruction


@dataclass
class OperandFragment:
    """A lane's share of the rows from `first` on of a tile, in groups of 16: a left fragment, or two right ones.

    A group is four matrices of 8 rows of 16 bytes along the depth, which one ldmatrix loads: of the left operand those
    of one depth follow each other, of the right one those of the same rows (see MmaOp). Numbers of 32 bits whose lines
    run along rows are read one by one: they can't be transposed. f32 is rounded to tf32, and `split` in two such
    numbers.
    """

    b: ThreadBuilder
    copy: TileCopy
    first: Index
    groups: int
    lane: Index
    is_left: bool = False
    split: bool = False
    rounded: bool = False
    """Whether numbers of f32 have been rounded before."""

    def __post_init__(self) -> None:
        b, shape, name = self.b, (self.groups, 4 * self._word), self.copy.name
        self._large = b.private(self.copy.element, shape, f"{name}_part")
        self._small = b.private(f32, shape, f"{name}_rest") if self.split else self._large
        lane = self.lane
        if self.is_left == self.copy.by_depth:
            line, across = b.rem(lane, 16), b.div(lane, 16)
        else:
            line, across = b.add(b.rem(lane, 8), b.mul(b.div(lane, 16), 8)), b.rem(b.div(lane, 8), 2)
        self._line = b.named(line, f"{name}_lane_line")
        self._across = b.named(b.mul(across, ACCESS * 8 // bits_of(self.copy.element)), f"{name}_lane_at")

    @property
    def _word(self) -> int:
        """Numbers in 4 bytes."""
        return 32 // bits_of(self.copy.element)

    def read(self, stage: Index, depth: Index) -> None:
        """Loads the numbers of all groups from `depth` on."""
        b, by_depth = self.b, self.copy.by_depth

        def load(i: Index) -> None:
            row = b.add(self.first, b.mul(i, ROWS))
            if self.copy.element == f32 and not by_depth:
                self._read_each(stage, row, depth, i)
                return
            line, at = (row, depth) if by_depth else (depth, row)
            place = [stage, b.add(line, self._line), b.add(at, self._across)]
            numbers = b.ldmatrix(self.copy.shared, place, 4, transpose=not by_depth)
            if self.copy.element == f32 and not self.rounded:
                for e in range(4):
                    self._round(b.extract(numbers, e), [i, e])
            else:
                b.vstore(numbers, self._large, [i, 0])

        b.unrolled(self.groups, load)

    def _read_each(self, stage: Index, row: Index, depth: Index, i: Index) -> None:
        """The four numbers of a group, in the order in which ldmatrix has them."""
        b = self.b
        line, column = b.add(depth, b.rem(self.lane, 4)), b.add(row, b.div(self.lane, 4))
        for e in range(4):
            down, along = (e % 2, e // 2) if self.is_left else (e // 2, e % 2)
            at = [stage, b.add(line, along * 4), b.add(column, down * 8)]
            self._round(b.load(self.copy.shared, at), [i, e])

    def _round(self, value: SSAValue, at: list[Index]) -> None:
        b, large = self.b, value if self.rounded else self.b.to_tf32(value)
        b.store(large, self._large, at)
        if self.split:
            b.store(b.to_tf32(Arithmetic(b, f32).sub(value, large)), self._small, at)

    def large(self, i: Index) -> SSAValue:
        """Fragment i, rounded."""
        return self._fragment(self._large, i)

    def small(self, i: Index) -> SSAValue:
        """The rounding error of fragment i (3xtf32)."""
        return self._fragment(self._small, i)

    def _fragment(self, numbers: SSAValue, i: Index) -> SSAValue:
        b, word = self.b, self._word
        if self.is_left:
            return b.vload(numbers, [i, 0], 4 * word)
        return b.vload(numbers, [b.div(i, 2), b.mul(b.rem(i, 2), 2 * word)], 2 * word)
