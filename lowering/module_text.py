"""Modules as text: the context that our dialects need, printing, and what is wrong with a text in our own errors."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import replace
from io import StringIO
from os import PathLike
from pathlib import Path

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, UnknownLoc
from xdsl.ir import Attribute, Block, BlockArgument, Operation
from xdsl.parser import Parser
from xdsl.parser.core import ForwardDeclaredValue
from xdsl.printer import Printer
from xdsl.utils.exceptions import DiagnosticException, ParseError
from xdsl.utils.hints import isa
from xdsl.utils.lexer import Span

from ..dialects.errors import InvalidModelError, MiniInferError
from ..dialects.graph.base import describe
from ..dialects.graph.blobs import MiniContext, blobs_in
from ..dialects.plain_file import read_plain
from ..dialects.sizes.attributes import SYMBOLS, SymbolsAttr, symbol_of
from ..dialects.sizes.sizes import Size
from ..dialects.sizes.spelling import declare
from .registry import dialect_factories

ELIDED_ABOVE = 16  # elements of a constant


def module_context(folder: Path | None = None, *, allow_unregistered: bool = False) -> MiniContext:
    """A context that knows our dialects; files of weights are named from `folder`, or else from the current one."""
    ctx = MiniContext(allow_unregistered)
    for name, make in dialect_factories().items():
        ctx.register_dialect(name, make)
    if folder is not None:
        ctx.blobs.base_dir = folder.resolve()
    return ctx


def read_module(path: str | PathLike[str]) -> tuple[ModuleOp, MiniContext]:
    """A file's module, verified, and the context that finds its weights. Raises InvalidModelError.

    A module of which weights were left out is refused: it is for reading.
    """
    file = Path(path)
    try:
        text = read_plain(file)
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
    """The module in a text that follows `line` lines of a file, unverified. Raises InvalidModelError.

    The lines on which its ops begin are put into `places`.
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
    """Tells a parser the module's symbols where they stand behind what is made of them: in the generic form."""
    if content.lstrip().startswith('"builtin.module"'):
        declare(parser, {symbol_of(size).name: size for size in stated_symbols(ctx, content)})


def stated_symbols(ctx: MiniContext, content: str) -> tuple[Size, ...]:
    """The symbols that a module's text states, without reading all of it; none where it has no sizes of run time."""
    found = _SYMBOLS.search(content)
    symbols = None if found is None else Parser(ctx, found[1]).parse_attribute()
    return symbols.data if isinstance(symbols, SymbolsAttr) else ()


def _parsed(parser: Parser) -> ModuleOp:
    """The module; what the parser says in an exception of Python's own, it says of the place that it has reached."""
    try:
        return parser.parse_module()
    except (DiagnosticException, MiniInferError, ParseError, RecursionError):
        raise
    except Exception as error:
        at = Span(parser.pos, parser.pos + 1, parser.lexer.input)
        raise ParseError(at, " ".join(map(str, error.args)) or type(error).__name__) from error


def _check_order(module: ModuleOp) -> None:
    """Refuses an op that reads what is made later in its block, or in a region that it is not in, which xDSL lets
    through. Raises InvalidModelError.

    What comes from another block is left to LLVM's verifier.
    """
    numbers = {op: number for number, op in enumerate(module.walk())}
    for op in numbers:
        for operand in op.operands:
            if isinstance(operand, ForwardDeclaredValue):
                raise InvalidModelError(f"{describe(op)}: it reads what is made in a region that it is not in")
            maker, reader = operand.owner, op
            if isinstance(maker, Block):
                continue
            while reader.parent is not maker.parent and (outer := reader.parent_op()) is not None:
                reader = outer
            if reader.parent is maker.parent and numbers[reader] <= numbers[maker]:
                name = f"%{operand.name_hint}" if operand.name_hint else f"the result of {maker.name}"
                raise InvalidModelError(f"{describe(op)}: {name} is read before it is made")


class _NotingParser(Parser):
    """Notes on which line each op begins."""

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
    """Prints the locations that are known, and none that are not; with `elide`, no constants of many elements."""

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
    def print_block_argument(self, arg: BlockArgument, print_type: bool = True) -> None:
        outer, self.print_debuginfo = self.print_debuginfo, not isinstance(arg.location, UnknownLoc)
        super().print_block_argument(arg, print_type)
        self.print_debuginfo = outer


def print_module(ctx: Context, module: ModuleOp, *, generic: bool = False, elide: bool = False) -> str:
    """The module as text that parses back, unless long constants are left out of it."""
    stream = StringIO()
    printer = _ModulePrinter(stream, generic=generic, elide=elide)
    printer.print_op(module)
    printer.print_metadata(ctx.loaded_dialects)
    stream.write("\n")
    return stream.getvalue()


class _StablePrinter(_ModulePrinter):
    """Every value and block has one name in all that is printed: functions have no numbering of their own."""

    @override
    def enter_scope(self) -> None: ...

    @override
    def exit_scope(self) -> None: ...


class ComparableTexts:
    """Texts of a module while passes change it, in which each value and block keeps the name that it had at first.

    So texts differ where modules do; as `print_module` counts, a new value would change the names of all behind it.
    """

    def __init__(self, ctx: Context) -> None:
        self._ctx = ctx
        self._printer = _StablePrinter(StringIO(), generic=False, elide=False)

    def text(self, module: ModuleOp) -> str:
        """The module now."""
        self._printer.stream = stream = StringIO()
        self._printer.print_op(module)
        self._printer.print_metadata(self._ctx.loaded_dialects)
        return stream.getvalue()


@contextmanager
def own_errors() -> Generator[None]:
    """Makes xDSL's complaints about a text, about a module or from a pass InvalidModelErrors."""
    try:
        yield
    except (DiagnosticException, ParseError) as error:
        raise InvalidModelError(_message_of(error)) from error


def _message_of(error: Exception) -> str:
    """What an error says, with the place in the text or in the module where it knows one."""
    if isinstance(error, ParseError):
        return str(error).strip("\n")
    for note in getattr(error, "__notes__", ()):
        lines = note.splitlines()
        # xDSL adds the whole module, with a row of carets under the op that is wrong.
        marked = [index for index, line in enumerate(lines) if line.lstrip().startswith("^^^")]
        if marked:
            return f"{error}\n  {lines[marked[0] - 1].strip()}"
    return str(error)
