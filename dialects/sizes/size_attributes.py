"""Module attributes on symbolic sizes: the symbols with their bounds, the guards, and the arena's buffers."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import cast

from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from .guards import Guard, Guards
from .offsets import Offset
from .polynomials import InputSymbol, Symbol, spelled, spelled_name
from .sizes import Size, terms_of
from .spelling import declare, parse_optional_name, parse_size

SYMBOLS = "kernel.symbols"
"""Attribute of a module: the symbols that its sizes hang on, in the order of the table that code reads them from."""

GUARDS = "kernel.guards"
"""Attribute of a module: what passes have taken for granted of its sizes so far."""

BUFFERS = "kernel.buffers"
"""Attribute of a module on an arena: what is placed there at each shape."""

SIZES = "sizes"
"""The role of an argument: the table of symbols, of 64-bit numbers."""


@irdl_attr_definition
class SymbolsAttr(Data[tuple[Size, ...]]):
    """The symbols of a module with their bounds and current values; printed before any size that uses them.

        #kernel.symbols<dim batch = 1 in [1, 8], dim width = 224 in [32, 512] by 32,
                        offset "buffer x" = 4096 in [0, 65536] live [0, 3] [5, 6]>

    A dimension that must be a multiple of a unit is that unit times its symbol, which is named `"width / 32"`.
    """

    name = "kernel.symbols"

    @classmethod
    @override
    def parse_parameter(cls, parser: AttrParser) -> tuple[Size, ...]:
        sizes: list[Size] = []
        with parser.in_angle_brackets():
            parser.parse_comma_separated_list(parser.Delimiter.NONE, lambda: sizes.append(_parse_symbol(parser)))
        names = [symbol_of(size).name for size in sizes]
        if twice := next((name for name in names if names.count(name) > 1), None):
            parser.raise_error(f"two symbols are named {twice}")
        return declare(parser, dict(zip(names, sizes, strict=True)))

    @override
    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_list(self.data, lambda size: printer.print_string(_symbol_text(size)))


def symbol_of(size: Size) -> Symbol:
    """The symbol of a size that is an entry of #kernel.symbols."""
    ((monomial, _),) = size.terms
    return cast("Symbol", monomial[0])


def _symbol_text(size: Size) -> str:
    symbol = symbol_of(size)
    match symbol:
        case InputSymbol(unit=unit, span=(low, high)):
            name = spelled_name(symbol.dimension)
            return f"dim {name} = {size.value * unit} in [{low}, {high}]{f' by {unit}' if unit > 1 else ''}"
        case Offset(live=live):
            return f"offset {symbol.spelled} = {size.value} in [{symbol.low}, {symbol.high}] live {_spans_text(live)}"
        case _:
            return f"symbol {symbol.spelled} = {size.value} in [{symbol.low}, {symbol.high}]"


def _spans_text(spans: Sequence[tuple[int, int]]) -> str:
    return " ".join(f"[{low}, {high}]" for low, high in spans)


def _parse_symbol(parser: AttrParser) -> Size:
    kind = parser.parse_identifier()
    name = parser.expect(lambda: parse_optional_name(parser), "a symbol's name expected")
    parser.parse_punctuation("=")
    at = parser.pos
    value = parser.parse_integer()
    parser.parse_keyword("in")
    ((low, high),) = _parse_spans(parser, 1)
    unit, live = 1, ()
    if kind == "dim" and parser.parse_optional_keyword("by") is not None:
        unit = parser.parse_integer()
    if kind == "offset":
        parser.parse_keyword("live")
        live = _parse_spans(parser)
    if not 0 <= low <= value <= high or low == high or unit < 1 or value % unit:
        multiple = f"a multiple of {unit} " if unit != 1 else ""
        parser.raise_error(f"{name} is {value}: it must be {multiple}in [{low}, {high}], from 0 on", at, parser.pos)
    match kind:
        case "dim":
            symbol = InputSymbol.of(name, low, high, unit)
        case "offset":
            symbol = Offset(name, low, high, live)
        case "symbol":
            symbol = Symbol(name, low, high)
        case _:
            parser.raise_error(f"a symbol is a dim, an offset or a symbol, and not a {kind}")
    return Size(value // unit, frozenset({((symbol,), 1)}))


def _parse_spans(parser: AttrParser, count: int = 0) -> tuple[tuple[int, int], ...]:
    """Parses intervals `[0, 3] [5, 9]`: `count` of them, or any number where that is 0."""
    spans: list[tuple[int, int]] = []
    while parser.parse_optional_punctuation("[") is not None:
        low = parser.parse_integer()
        parser.parse_punctuation(",")
        spans.append((low, parser.parse_integer()))
        parser.parse_punctuation("]")
        if len(spans) == count:
            break
    if len(spans) < count:
        parser.raise_error("expected [low, high]")
    return tuple(spans)


def sizes_of_module(module: ModuleOp) -> tuple[Size, ...]:
    """The symbols of a module as sizes with their current values; empty where all shapes are static."""
    found = module.attributes.get(SYMBOLS)
    return found.data if isinstance(found, SymbolsAttr) else ()


def symbols_of_module(module: ModuleOp) -> tuple[Symbol, ...]:
    """The symbols of a module; empty where all shapes are static."""
    return tuple(map(symbol_of, sizes_of_module(module)))


_RELATIONS = {
    "positive": ("positive", True),
    "negative_or_zero": ("positive", False),
    "zero": ("zero", True),
    "nonzero": ("zero", False),
}


@irdl_attr_definition
class GuardsAttr(Data[tuple[Guard, ...]]):
    """Conditions on the sizes under which the module's code is correct.

    #kernel.guards<(tokens - 128) positive, (tokens - 512) negative_or_zero, (width - 224) zero, (n) nonzero>
    """

    name = "kernel.guards"

    @classmethod
    @override
    def parse_parameter(cls, parser: AttrParser) -> tuple[Guard, ...]:
        def guard() -> Guard:
            size = parse_size(parser)
            relation = parser.parse_identifier()
            if relation not in _RELATIONS:
                parser.raise_error(f"expected one of {', '.join(_RELATIONS)}")
            return Guard(terms_of(size), *_RELATIONS[relation])

        with parser.in_angle_brackets():
            return tuple(parser.parse_comma_separated_list(parser.Delimiter.NONE, guard))

    @override
    def print_parameter(self, printer: Printer) -> None:
        words = {relation: word for word, relation in _RELATIONS.items()}
        with printer.in_angle_brackets():
            printer.print_list(
                self.data,
                lambda guard: printer.print_string(f"({spelled(guard.terms)}) {words[guard.kind, guard.holds]}"),
            )


def guards_of_module(module: ModuleOp) -> Guards:
    """The guards recorded on a module."""
    found, guards = module.attributes.get(GUARDS), Guards()
    for guard in found.data if isinstance(found, GuardsAttr) else ():
        guards.note(guard)
    return guards


@contextmanager
def guarded(module: ModuleOp) -> Generator[None]:
    """Records on the module every guard noted inside the context, while passes rewrite it."""
    if SYMBOLS not in module.attributes:
        yield
        return
    with guards_of_module(module).collecting() as guards:
        yield
    state_guards(module, guards)


def state_guards(module: ModuleOp, guards: Guards) -> None:
    """Sets the module's guards attribute; without guards it is left out."""
    if guards.noted:
        module.attributes[GUARDS] = GuardsAttr(tuple(guards.noted.values()))


@dataclass(frozen=True)
class PlacedBuffer:
    """A buffer of the arena: its size in bytes, and the half-open step intervals [from, to) in which it is live."""

    name: str
    size: int
    live: tuple[tuple[int, int], ...]
    scratch: bool = False


@irdl_attr_definition
class BuffersAttr(Data[tuple[int, tuple[PlacedBuffer, ...]]]):
    """The buffers of the arena, for planning it at any shape: the alignment, and the buffers in order of their offsets.

        #kernel.buffers<256, "conv" (tokens * 64) [0, 3], "norm" scratch 4096 [1, 2] [5, 6]>

    Each has its size in bytes and the half-open step intervals in which it is live.
    """

    name = "kernel.buffers"

    @classmethod
    @override
    def parse_parameter(cls, parser: AttrParser) -> tuple[int, tuple[PlacedBuffer, ...]]:
        buffers: list[PlacedBuffer] = []
        with parser.in_angle_brackets():
            alignment = parser.parse_integer()
            while parser.parse_optional_punctuation(",") is not None:
                name = parser.parse_str_literal()
                scratch = parser.parse_optional_keyword("scratch") is not None
                size, live = parser.parse_integer(), _parse_spans(parser)
                if not live:
                    parser.raise_error("expected [birth, death)")
                buffers.append(PlacedBuffer(name, size, live, scratch))
        return alignment, tuple(buffers)

    @override
    def print_parameter(self, printer: Printer) -> None:
        alignment, buffers = self.data
        with printer.in_angle_brackets():
            printer.print_int(alignment)
            for each in buffers:
                printer.print_string(", ")
                printer.print_string_literal(each.name)
                printer.print_string(f"{' scratch' if each.scratch else ''} {each.size:d} {_spans_text(each.live)}")
