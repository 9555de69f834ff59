"""TensorUnits: matrix fragments of a warp's lanes, and their products at the target's precision.

With g = lane / 4 and t = lane % 4, a lane holds of a product [16, step] x [step, 8] -> [16, 8]:

    left   rows g and g + 8, columns t and t + 4          for 16 bits: 2 t, 2 t + 1, and these + 8
    right  rows t and t + 4, column g                     for 16 bits: 2 t, 2 t + 1, and these + 8
    sums   rows g and g + 8, columns 2 t and 2 t + 1

32-bit numbers are rounded when a fragment is made. For 3xtf32, fragments keep 32 bits and each product becomes three:
of both rounded numbers, and of either with the other's rounding error.

A column of the left-hand side may stand for any depth, as long as the same row of the right-hand side does: a lane
takes its `along` numbers from depth along * t on, where they are side by side in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import VectorType, bf16, f16, f32
from xdsl.ir import Attribute, SSAValue

from ..kernel_code.arithmetic import Arithmetic, convert, lanes_of
from .thread_builder import ThreadBuilder

_ELEMENTS: dict[str, Attribute] = {"fp16": f16, "bf16": bf16}


@dataclass(frozen=True)
class TensorUnits:
    """Products of fragments on tensor cores."""

    b: ThreadBuilder
    precision: str

    @property
    def is_short(self) -> bool:
        """Whether numbers have 16 bits, which doubles the step."""
        return self.precision in _ELEMENTS

    @property
    def step(self) -> int:
        """Columns of a left-hand side, rows of a right-hand one."""
        return 16 if self.is_short else 8

    @property
    def element(self) -> Attribute:
        """The type of a number in a fragment."""
        return _ELEMENTS.get(self.precision, f32)

    @property
    def along(self) -> int:
        """Numbers that a lane holds of a row of the left-hand side, or of a column of the right-hand one."""
        return 4 if self.is_short else 2

    @property
    def left(self) -> VectorType[Attribute]:
        """The type of a left-hand fragment."""
        return self._type(8 if self.is_short else 4)

    @property
    def right(self) -> VectorType[Attribute]:
        """The type of a right-hand fragment."""
        return self._type(4 if self.is_short else 2)

    def _type(self, count: int) -> VectorType[Attribute]:
        return VectorType(self.element, [count])

    @property
    def left_places(self) -> list[tuple[int, int]]:
        """Of the numbers of a left-hand fragment in order: 0 for row g or 1 for g + 8, and which `along` the depth."""
        pair = 2 if self.is_short else 1
        return [(i % 2, i // 2 * pair + j) for i in range(4) for j in range(pair)]

    @property
    def right_rows(self) -> list[int]:
        """The rows of the numbers of a right-hand fragment in order, for lane 0."""
        return [0, 1, 8, 9] if self.is_short else [0, 4]

    def fragment(self, numbers: Sequence[SSAValue]) -> SSAValue:
        """A fragment of f32 numbers, in the order of `left_places` or `right_rows`."""
        made = self.b.constant(0.0, self._type(len(numbers)))
        for lane, number in enumerate(numbers):
            made = self.b.inserted(self._rounded(number), made, lane)
        return made

    def _rounded(self, number: SSAValue) -> SSAValue:
        if self.precision == "tf32":
            return self.b.to_tf32(number)
        return convert(self.b, number, f32, self.element)

    def parts(self, fragment: SSAValue) -> list[SSAValue]:
        """What is multiplied for a fragment: itself, or for 3xtf32 its numbers, rounded, and their rounding errors."""
        return [*self._parts(fragment)] if self.precision == "3xtf32" else [fragment]

    def multiply(self, left: Sequence[SSAValue], right: Sequence[SSAValue], sums: SSAValue) -> SSAValue:
        """sums + left right, of the parts of fragments."""
        if self.precision != "3xtf32":
            return self.b.mma(left[0], right[0], sums)
        return self.b.mma_of_parts((left[0], left[1]), (right[0], right[1]), sums)

    def _parts(self, fragment: SSAValue) -> tuple[SSAValue, SSAValue]:
        """A 32-bit fragment, rounded, and its rounding error."""
        m, count = Arithmetic(self.b, f32), lanes_of(fragment)
        large = small = self.b.constant(0.0, self._type(count))
        for lane in range(count):
            number = self.b.extract(fragment, lane)
            rounded = self.b.to_tf32(number)
            large = self.b.inserted(rounded, large, lane)
            small = self.b.inserted(self.b.to_tf32(m.sub(number, rounded)), small, lane)
        return large, small
