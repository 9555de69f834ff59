"""Attributes of a kernel's symbol: form, schedule, and the interface that says what it requires of its buffers.

#kernel.form<"contraction">
#kernel.schedule<"panels", {mr = 6, nr = 16}>
#kernel.interface<strided_operands = [0], packed = [1 : #kernel.packing<"panels", {nr = 16}>], per_thread = 128>
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from typing_extensions import override
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IntAttr,
    IntegerAttr,
    StringAttr,
    i64,
)
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import (
    irdl_attr_definition,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ..graph.ops.structure import SpeaksOfKernel
from ..graph.packing.attribute import PackingAttr
from ..graph.packing.packings import Packing
from ..kind_and_options import KindAndOptions, numbers_of


@irdl_attr_definition
class FormAttr(ParametrizedAttribute):
    """`#kernel.form<"contraction">`: the kind of computation in a kernel's body, independent of device and schedule."""

    name = "kernel.form"
    kind: StringAttr

    @classmethod
    def of(cls, kind: str) -> FormAttr:
        """A form from its kind."""
        return cls(StringAttr(kind))

    @override
    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return [StringAttr(parser.parse_str_literal())]

    @override
    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.kind.data)


@irdl_attr_definition
class ScheduleAttr(KindAndOptions, ParametrizedAttribute):
    """`#kernel.schedule<"panels", {mr = 14, nr = 32}>`: a schedule's kind and its options.

    Options are integers; their allowed values are documented at the schedule's dataclass (passes/kernels/schedules).
    """

    name = "kernel.schedule"
    kind: StringAttr
    options: DictionaryAttr

    @classmethod
    def of(cls, kind: str, **options: int) -> ScheduleAttr:
        """A schedule from a kind and integer options."""
        values = {key: IntegerAttr(value, i64) for key, value in options.items()}
        return cls(StringAttr(kind), DictionaryAttr(values))

    def numbers(self) -> dict[str, int]:
        """The options by name."""
        return numbers_of(self.options)

    @override
    def verify(self) -> None:
        if wrong := [key for key, value in self.options.data.items() if not isinstance(value, IntegerAttr)]:
            raise VerifyException(f"the schedule's {wrong[0]} is no integer")


@irdl_attr_definition
class MoveAttr(ParametrizedAttribute):
    """`0 to 1 sizes [2, 3] from 0 [6, 1] at 3 [6, 1]`: a window of operand 0 copied unchanged to one of result 1.

    Each window is given by its offset and strides, in elements of the dense tensor.
    """

    name = "kernel.move"
    operand: IntAttr
    result: IntAttr
    sizes: ArrayAttr[IntAttr]
    source_offset: IntAttr
    source_strides: ArrayAttr[IntAttr]
    target_offset: IntAttr
    target_strides: ArrayAttr[IntAttr]

    @classmethod
    def of(
        cls,
        operand: int,
        result: int,
        sizes: Sequence[int],
        source: tuple[int, Sequence[int]],
        target: tuple[int, Sequence[int]],
    ) -> MoveAttr:
        """A move from integers; `source` and `target` are each (offset, strides)."""

        def ints(values: Sequence[int]) -> ArrayAttr[IntAttr]:
            return ArrayAttr(IntAttr(value) for value in values)

        windows = (IntAttr(source[0]), ints(source[1]), IntAttr(target[0]), ints(target[1]))
        return cls(IntAttr(operand), IntAttr(result), ints(sizes), *windows)

    @override
    def verify(self) -> None:
        if not len(self.sizes) == len(self.source_strides) == len(self.target_strides):
            raise VerifyException("the windows of a move have as many strides as sizes")
        if min(self.source_offset.data, self.target_offset.data) < 0:
            raise VerifyException("a move has a negative offset")

    @classmethod
    def parse_bare(cls, parser: AttrParser) -> MoveAttr:
        """Parses a move as it is written inside an interface, without `#kernel.move<...>` around it."""

        def number() -> int:
            return parser.parse_integer(allow_boolean=False)

        def numbers() -> list[int]:
            return parser.parse_comma_separated_list(parser.Delimiter.SQUARE, number)

        operand = number()
        parser.parse_keyword("to")
        result = number()
        parser.parse_keyword("sizes")
        sizes = numbers()
        parser.parse_keyword("from")
        source = number(), numbers()
        parser.parse_keyword("at")
        return cls.of(operand, result, sizes, source, (number(), numbers()))

    def text(self) -> str:
        """The text that `parse_bare` parses."""
        sizes, source, target = map(_listed, (self.sizes, self.source_strides, self.target_strides))
        windows = f"from {self.source_offset.data:d} {source} at {self.target_offset.data:d} {target}"
        return f"{self.operand.data} to {self.result.data} sizes {sizes} {windows}"


def _listed(numbers: Iterable[IntAttr]) -> str:
    """A list of integers or sizes as text: `[2, (tokens * 64)]`."""
    return f"[{', '.join(f'{each.data:d}' for each in numbers)}]"

    @override
    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            return cls.parse_bare(parser).parameters

    @override
    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(self.text())


@irdl_attr_definition
class InterfaceAttr(ParametrizedAttribute, SpeaksOfKernel):
    """A kernel's contract with the memory passes: what it requires of its buffers, and which may share bytes.

    `inplace`: pairs (operand, result) that may be the same bytes.

    `moves`: windows of operands that are only copied to a result, so that no code is needed where source and target are
    already the same bytes; either all or none of a result is covered by moves.

    `strided_operands` and `strided_results`: those whose buffers may have other than row-major strides (the innermost
    stride stays 1).

    `packed`: weights that the code reads packed, and the packing that pack-weights must apply to each.

    `scratch`: bytes for all threads together; `per_thread`: bytes for each thread.

    `pieces`: number of pieces that the work consists of. Each starts with a prologue which every share that holds a
    part of the piece repeats; 0 where the work may be divided anywhere.
    """

    name = "kernel.interface"
    inplace: ArrayAttr[ArrayAttr[IntAttr]]
    moves: ArrayAttr[MoveAttr]
    strided_operands: ArrayAttr[IntAttr]
    strided_results: ArrayAttr[IntAttr]
    packed: ArrayAttr[IntAttr]
    packings: ArrayAttr[PackingAttr]
    scratch: IntAttr
    per_thread: IntAttr
    pieces: IntAttr

    @classmethod
    def of(
        cls,
        *,
        inplace: Sequence[tuple[int, int]] = (),
        moves: Sequence[MoveAttr] = (),
        strided_operands: Sequence[int] = (),
        strided_results: Sequence[int] = (),
        packed: Mapping[int, Packing] | None = None,
        scratch: int = 0,
        per_thread: int = 0,
        pieces: int = 0,
    ) -> InterfaceAttr:
        """An interface from Python values."""

        def pairs(values: Sequence[tuple[int, int]]) -> ArrayAttr[ArrayAttr[IntAttr]]:
            return ArrayAttr([ArrayAttr([IntAttr(a), IntAttr(b)]) for a, b in values])

        def ints(values: Sequence[int]) -> ArrayAttr[IntAttr]:
            return ArrayAttr([IntAttr(value) for value in values])

        return cls(
            pairs(inplace),
            ArrayAttr(moves),
            ints(strided_operands),
            ints(strided_results),
            ints(list(packed or {})),
            ArrayAttr(PackingAttr.of(packing) for packing in (packed or {}).values()),
            IntAttr(scratch),
            IntAttr(per_thread),
            IntAttr(pieces),
        )

    @property
    def inplace_pairs(self) -> list[tuple[int, int]]:
        """The (operand, result) pairs that may share bytes."""
        return [(pair.data[0].data, pair.data[1].data) for pair in self.inplace]

    @property
    def packing(self) -> dict[int, Packing]:
        """The packing of each packed operand, by operand number."""
        return {operand.data: each.packing for operand, each in zip(self.packed, self.packings, strict=True)}

    @override
    def verify(self) -> None:
        if min(self.scratch.data, self.per_thread.data) < 0:
            raise VerifyException("an interface has a negative size of scratch")
        if self.pieces.data < 0:
            raise VerifyException("an interface has a negative number of pieces")

    @override
    def verify_numbers(self, operands: int, results: int) -> None:
        pairs = (*self.inplace_pairs, *((move.operand.data, move.result.data) for move in self.moves))
        of_operands = [operand for operand, _ in pairs] + [each.data for each in (*self.strided_operands, *self.packed)]
        of_results = [result for _, result in pairs] + [each.data for each in self.strided_results]
        for what, count, numbers in (("operand", operands, of_operands), ("result", results, of_results)):
            if wrong := [number for number in numbers if not 0 <= number < count]:
                raise VerifyException(f"the interface refers to {what} {wrong[0]}; there are {count}")

    def scratch_bytes(self, threads: int) -> int:
        """Bytes of scratch that a call needs with `threads` threads."""
        return self.scratch.data + threads * self.per_thread.data

    @override
    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        def ints() -> list[int]:
            return parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: parser.parse_integer(allow_boolean=False)
            )

        def pairs() -> list[tuple[int, int]]:
            parsed = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, ints)
            if any(len(pair) != 2 for pair in parsed):
                parser.raise_error("expected [operand, result] pairs")
            return [(pair[0], pair[1]) for pair in parsed]

        def packing() -> tuple[int, Packing]:
            operand = parser.parse_integer(allow_boolean=False)
            parser.parse_punctuation(":")
            attribute = parser.parse_attribute()
            if not isinstance(attribute, PackingAttr):
                parser.raise_error("expected #kernel.packing<...>")
            return operand, attribute.packing

        inplace: list[tuple[int, int]] = []
        moves: Sequence[MoveAttr] = ()
        lists: dict[str, list[int]] = {"strided_operands": [], "strided_results": []}
        packed: dict[int, Packing] = {}
        numbers = {"scratch": 0, "per_thread": 0, "pieces": 0}
        with parser.in_angle_brackets():
            while (key := parser.parse_optional_identifier()) is not None:
                parser.parse_punctuation("=")
                if key == "inplace":
                    inplace = pairs()
                elif key == "moves":
                    square = parser.Delimiter.SQUARE
                    moves = parser.parse_comma_separated_list(square, lambda: MoveAttr.parse_bare(parser))
                elif key in lists:
                    lists[key] = ints()
                elif key == "packed":
                    packed = dict(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, packing))
                elif key in numbers:
                    numbers[key] = parser.parse_integer(allow_boolean=False)
                else:
                    parser.raise_error(f"unknown interface entry '{key}'")
                if parser.parse_optional_punctuation(",") is None:
                    break
        return cls.of(
            inplace=inplace,
            moves=moves,
            strided_operands=lists["strided_operands"],
            strided_results=lists["strided_results"],
            packed=packed,
            scratch=numbers["scratch"],
            per_thread=numbers["per_thread"],
            pieces=numbers["pieces"],
        ).parameters

    @override
    def print_parameters(self, printer: Printer) -> None:
        parts: list[str] = []
        if self.inplace.data:
            parts.append(f"inplace = {[list(pair) for pair in self.inplace_pairs]}")
        if self.moves.data:
            parts.append(f"moves = [{', '.join(move.text() for move in self.moves)}]")
        for key, values in (
            ("strided_operands", self.strided_operands),
            ("strided_results", self.strided_results),
        ):
            if values.data:
                parts.append(f"{key} = {[value.data for value in values]}")
        if self.packed.data:
            pairs = zip(self.packed, self.packings, strict=True)
            parts.append(f"packed = [{', '.join(f'{operand.data} : {packing}' for operand, packing in pairs)}]")
        for key, number in (("scratch", self.scratch), ("per_thread", self.per_thread), ("pieces", self.pieces)):
            if number.data:
                parts.append(f"{key} = {number.data:d}")
        with printer.in_angle_brackets():
            printer.print_string(", ".join(parts))
