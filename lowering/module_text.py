"""Parsing and printing of modules: the context with our dialects, weights files, and errors as InvalidModelError."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from io import StringIO
from os import PathLike
from pathlib import Path

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, LocationAttr, ModuleOp, UnknownLoc
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue
from xdsl.parser import Parser
from xdsl.parser.core import ForwardDeclaredValue
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException, ParseError
from xdsl.utils.hints import isa
from xdsl.utils.lexer import Span

from ..dialects.errors import InvalidModelError, MiniInferError
from ..dialects.graph.base import describe
from ..dialects.graph.blobs import MiniContext, blobs_in
from ..dialects.regular_file import read_regular
from ..dialects.sizes.size_attributes import SYMBOLS, SymbolsAttr, symbol_of
from ..dialects.sizes.sizes import Size
from ..dialects.sizes.spelling import declare
from .registry import dialect_factories

ELIDED_ABOVE = 16  # elements of a constant beyond which it is large


def module_context(folder: Path | None = None, *, allow_unregistered: bool = False) -> MiniContext:
    """A context with our dialects; weights files are relative to `folder`, by default the current one."""
    ctx = MiniContext(allow_unregistered)
    for name, make in dialect_factories().items():
        ctx.register_dialect(name, make)
    if folder is not None:
        ctx.blobs.base_dir = folder.resolve()
    return ctx


def read_module(path: str | PathLike[str]) -> tuple[ModuleOp, MiniContext]:
    """A file's module, verified, and the context that locates its weights. Raises InvalidModelError.

    A module printed with weights elided is refused.
    """
    file = Path(path)
    try:
        text = read_regular(file)
    except OSError as error:
        raise InvalidModelError(f"{file}: {error.strerror}") from None
    ctx = module_context(file.parent)
    module = parse_module(ctx, text, str(file))
    with own_errors():
        module.verify()
    for op in module.walk():
        for blob in blobs_in(op):
            if not blob.file.data:
                raise InvalidModelError(
                    f"{describe(op)}: {blob.nbytes.data} bytes of weights were left out when {file} was written"
                )
    return module, ctx


def parse_module(
    ctx: MiniContext, text: bytes, file: str, line: int = 0, places: dict[Operation, int] | None = None
) -> ModuleOp:
    """Parses the module in a text that starts after `line` lines of a file, unverified. Raises InvalidModelError.

    The first lines of its ops are recorded in `places`.
    """
    with own_errors():
        try:
            content = text.decode()
            parser = Parser(ctx, content, file) if places is None else _NotingParser(ctx, content, file, line, places)
            _declare_symbols(ctx, parser, content)
            module = _parsed(parser)
            _check_order(module)
            return module
        except UnicodeDecodeError as error:
            raise InvalidModelError(f"{file} is not text: {error.reason} at byte {error.start}") from error
        except RecursionError:
            raise InvalidModelError(f"{file} is nested too deeply") from None
        except ParseError as error:
            error.span = replace(error.span, line_offset=line)
            raise


_SYMBOLS = re.compile(re.escape(f"{SYMBOLS} = ") + r'(#kernel\.symbols<(?:[^">]|"[^"]*")*>)')


def _declare_symbols(ctx: MiniContext, parser: Parser, content: str) -> None:
    """Declares the module's symbols to a parser if they follow their uses: in the generic form."""
    if content.lstrip().startswith('"builtin.module"'):
        declare(parser, {symbol_of(size).name: size for size in stated_symbols(ctx, content)})


def stated_symbols(ctx: MiniContext, content: str) -> tuple[Size, ...]:
    """The symbols that a module's text declares, without parsing the rest; () if all shapes are static."""
    found = _SYMBOLS.search(content)
    symbols = None if found is None else Parser(ctx, found[1]).parse_attribute()
    return symbols.data if isinstance(symbols, SymbolsAttr) else ()


def _parsed(parser: Parser) -> ModuleOp:
    """Parses a module; Python exceptions of the parser become errors at its current position."""
    try:
        return parser.parse_module()
    except (DiagnosticException, MiniInferError, ParseError, RecursionError):
        raise
    except Exception as error:
        at = Span(parser.pos, parser.pos + 1, parser.lexer.input)
        raise ParseError(at, " ".join(map(str, error.args)) or type(error).__name__) from error


def _check_order(module: ModuleOp) -> None:
    """Refuses an operand defined later in its block, or in a region not enclosing its use, which xDSL accepts.

    Raises InvalidModelError. Dominance between blocks is left to LLVM's verifier.
    """
    numbers = {op: number for number, op in enumerate(module.walk())}
    for op in numbers:
        for operand in op.operands:
            if isinstance(operand, ForwardDeclaredValue):
                raise InvalidModelError(f"{describe(op)}: it reads a value of a region that does not enclose it")
            maker, reader = operand.owner, op
            if isinstance(maker, Block):
                continue
            while reader.parent is not maker.parent and (outer := reader.parent_op()) is not None:
                reader = outer
            if reader.parent is maker.parent and numbers[reader] <= numbers[maker]:
                name = f"%{operand.name_hint}" if operand.name_hint else f"the result of {maker.name}"
                raise InvalidModelError(f"{describe(op)}: {name} is read before it is defined")


class _NotingParser(Parser):
    """A parser that records the line on which each op begins."""

    def __init__(self, ctx: MiniContext, text: str, file: str, line: int, places: dict[Operation, int]) -> None:
        super().__init__(ctx, text, file)
        self._ends = [match.start() for match in re.finditer("\n", text)]
        self._line, self._places = line, places

    @override
    def parse_operation(self) -> Operation:
        line = self._line + bisect_left(self._ends, self.pos) + 1
        op = super().parse_operation()
        self._places[op] = line
        return op


def _is_long(constant: DenseIntOrFPElementsAttr) -> bool:
    return len(constant) > ELIDED_ABOVE and not constant.is_splat()


class _ModulePrinter(Printer):
    """Prints known locations only; with `elide`, large constants are abbreviated."""

    def __init__(self, stream: StringIO, *, generic: bool, elide: bool) -> None:
        super().__init__(stream, print_generic_format=generic)
        self._elide = elide

    @override
    def print_attribute(self, attribute: Attribute) -> None:
        if self._elide and isa(attribute, DenseIntOrFPElementsAttr) and _is_long(attribute):
            self.print_string("dense_resource<__elided__> : ")
            super().print_attribute(attribute.type)
        else:
            super().print_attribute(attribute)

    @override
    def print_op(self, op: Operation) -> None:
        outer, self.print_debuginfo = self.print_debuginfo, not isinstance(op.location, UnknownLoc)
        super().print_op(op)
        self.print_debuginfo = outer

    @override
    def print_operation_type(self, op: Operation) -> None:
        # xDSL writes the location behind it, also in front of the regions of an scf.while, where it can't be read.
        own_format = type(op).print is not Operation.print and not self.print_generic_format
        outer, self.print_debuginfo = self.print_debuginfo, self.print_debuginfo and not own_format
        super().print_operation_type(op)
        self.print_debuginfo = outer

    @override
    def print_block_argument(self, arg: BlockArgument, print_type: bool = True) -> None:
        outer, self.print_debuginfo = self.print_debuginfo, not isinstance(arg.location, UnknownLoc)
        super().print_block_argument(arg, print_type)
        self.print_debuginfo = outer


def print_module(ctx: Context, module: ModuleOp, *, generic: bool = False, elide: bool = False) -> str:
    """The module as text that parses back, unless `elide` leaves out large constants."""
    stream = StringIO()
    printer = _ModulePrinter(stream, generic=generic, elide=elide)
    printer.print_op(module)
    printer.print_metadata(ctx.loaded_dialects)
    stream.write("\n")
    return stream.getvalue()


_NAMED = re.compile(r'"(?:[^"\\]|\\.)*"|%([\w$.-]+)')
"""A string, or the name of a value."""


@dataclass(frozen=True)
class _Form:
    """The text of ops that differ in their values only, and what they have in common.

    `pieces` are texts and numbers of values: first the results, then the operands.
    """

    parts: tuple[object, ...]
    pieces: tuple[str | int, ...]


class _StablePrinter(_ModulePrinter):
    """A printer in which every value and block of the whole text has one name, also across functions.

    It prints modules many times, and large ones: texts of attributes are kept, and the text of an op without regions is
    made from that of another one with the same attributes and types.
    """

    begun: dict[Operation, int] | None = None
    """Where the text of each op begins, if that is to be noted."""

    def __init__(self, stream: StringIO, *, generic: bool, elide: bool) -> None:
        super().__init__(stream, generic=generic, elide=elide)
        self._forms: dict[tuple[object, ...], _Form | None] = {}
        self._attributes: dict[int, tuple[Attribute, str]] = {}
        self._names: dict[SSAValue, str] = {}

    @override
    def print_op(self, op: Operation) -> None:
        stream = self.stream
        assert isinstance(stream, StringIO)
        start = stream.tell()
        if self.begun is not None:
            self.begun[op] = start
        if op.regions or op.successors:
            super().print_op(op)
            return
        values = *op.results, *op.operands
        parts = type(op), op.location, *op.properties.values(), *op.attributes.values(), *(each.type for each in values)
        key = *map(id, parts), *op.properties, *op.attributes, len(op.results)
        form = self._forms.get(key)
        if form is not None and len(set(values)) == len(values):
            names = [self._name_of(value) for value in values]
            stream.write("".join(each if isinstance(each, str) else names[each] for each in form.pieces))
            return
        super().print_op(op)
        if key not in self._forms:
            stream.seek(start)
            self._forms[key] = self._form(parts, values, stream.read())

    @override
    def print_ssa_value(self, value: SSAValue) -> str:
        name = self._names[value] = super().print_ssa_value(value)
        return name

    def _name_of(self, value: SSAValue) -> str:
        """The name of a value, which is given one if it has none."""
        name = self._names.get(value)
        if name is None:
            stream, self.stream = self.stream, StringIO()
            name = self.print_ssa_value(value)
            self.stream = stream
        return f"%{name}"

    def _form(self, parts: tuple[object, ...], values: Sequence[SSAValue], text: str) -> _Form | None:
        """The form of a text; None where places of values can't be told, and where a new line depends on the indent."""
        numbers = {self._name_of(value): number for number, value in enumerate(values)}
        pieces: list[str | int] = []
        end = 0
        for match in _NAMED.finditer(text):
            if match[1] is None:
                continue
            if match[0] not in numbers:
                return None
            pieces += text[end : match.start()], numbers[match[0]]
            end = match.end()
        distinct = len(numbers) == len(values) and "\n" not in text
        return _Form(parts, (*pieces, text[end:])) if distinct else None

    @override
    def print_string(self, text: str, *, indent: int | None = None) -> None:
        stream = self.stream
        if stream is None or "\n" in text:
            super().print_string(text, indent=indent)
        else:
            stream.write(text)  # without counting columns, as nothing asks for them

    @override
    def print_attribute(self, attribute: Attribute) -> None:
        stream = self.stream
        assert isinstance(stream, StringIO)
        known = self._attributes.get(id(attribute))
        if known is not None:
            stream.write(known[1])
            return
        start = stream.tell()
        super().print_attribute(attribute)
        if not isinstance(attribute, LocationAttr):  # whose text depends on what they are printed in
            stream.seek(start)
            self._attributes[id(attribute)] = attribute, stream.read()

    @override
    def enter_scope(self) -> None: ...

    @override
    def exit_scope(self) -> None: ...


class ComparableTexts:
    """Texts of a module between passes, in which each value and block keeps its first name.

    So texts differ only where modules do; with `print_module`, a new value would renumber all values after it.
    """

    def __init__(self, ctx: Context, *, elide: bool = False) -> None:
        self._ctx = ctx
        self._printer = _StablePrinter(StringIO(), generic=False, elide=elide)

    def text(self, module: ModuleOp) -> str:
        """The module's present text."""
        self._printer.stream = stream = StringIO()
        self._printer.print_op(module)
        self._printer.print_metadata(self._ctx.loaded_dialects)
        return stream.getvalue()

    def numbered_text(self, module: ModuleOp) -> tuple[str, dict[Operation, int]]:
        """The module's present text, and the line, from 1, on which each op begins."""
        self._printer.begun = begun = dict[Operation, int]()
        text = self.text(module)
        self._printer.begun = None
        ends = [match.start() for match in re.finditer("\n", text)]
        return text, {op: bisect_left(ends, place) + 1 for op, place in begun.items()}


@contextmanager
def own_errors() -> Generator[None]:
    """Converts xDSL's exceptions from parsing, verification and passes to InvalidModelError."""
    try:
        yield
    except (DiagnosticException, ParseError) as error:
        raise InvalidModelError(_message_of(error)) from error


def _message_of(error: Exception) -> str:
    """An error's message, with its position in the text or module if known."""
    if isinstance(error, ParseError):
        return str(error).strip("\n")
    for note in getattr(error, "__notes__", ()):
        lines = note.splitlines()
        # xDSL appends the whole module, with carets under the op at fault.
        marked = [index for index, line in enumerate(lines) if line.lstrip().startswith("^^^")]
        if marked:
            return f"{error}\n  {lines[marked[0] - 1].strip()}"
    return str(error)
