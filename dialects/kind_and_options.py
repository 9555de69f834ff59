"""Attributes that consist of a kind and integer options: `#kernel.schedule<"panels", {mr = 14, nr = 32}>`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, i64
from xdsl.ir import Attribute
from xdsl.parser import AttrParser
from xdsl.printer import Printer


def numbers_of(options: DictionaryAttr) -> dict[str, int]:
    """The integers among options, by name."""
    return {key: value.value.data for key, value in options.data.items() if isinstance(value, IntegerAttr)}


class KindAndOptions:
    """Assembly format `<"kind", {key = integer, ...}>`, in which the options are optional."""

    kind: StringAttr
    options: DictionaryAttr

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        options: dict[str, Attribute] = {}
        with parser.in_angle_brackets():
            kind = StringAttr(parser.parse_str_literal())
            if parser.parse_optional_punctuation(","):
                with parser.in_braces():
                    while True:
                        key = parser.parse_identifier()
                        parser.parse_punctuation("=")
                        options[key] = IntegerAttr(parser.parse_integer(allow_boolean=False), i64)
                        if parser.parse_optional_punctuation(",") is None:
                            break
        return [kind, DictionaryAttr(options)]

    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(self.kind.data)
            if numbers := numbers_of(self.options):
                pairs = ", ".join(f"{key} = {number:d}" for key, number in numbers.items())
                printer.print_string(f", {{{pairs}}}")
