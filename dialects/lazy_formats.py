"""Assembly formats of operations are parsed when one is first read or printed, not when its class is defined.

The formats of xDSL's dialects and ours took 8 % of the time to compile a small model, which neither reads nor prints
any. Importing this file changes xDSL; classes that exist by then keep their formats.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from xdsl.irdl import IRDLOperation, OpDef, operations
from xdsl.utils.exceptions import ParseError, PyRDLOpDefinitionError

if TYPE_CHECKING:
    from xdsl.irdl.declarative_assembly_format import FormatProgram
    from xdsl.parser import Parser
    from xdsl.printer import Printer

_accessors_of = operations.get_accessors_from_op_def


def format_of(definition: OpDef) -> FormatProgram:
    """The parsed format of an operation that has one. Raises PyRDLOpDefinitionError if it is malformed."""
    from xdsl.irdl.declarative_assembly_format import FormatProgram

    assert definition.assembly_format is not None
    try:
        return FormatProgram.from_str(definition.assembly_format, definition)
    except ParseError as error:
        raise PyRDLOpDefinitionError("Error during the parsing of the assembly format: ", error.args) from error


def _lazy_accessors(definition: OpDef, custom_verify: Any) -> Mapping[str, Any]:
    """As xDSL's accessors, but for the format."""
    text, definition.assembly_format = definition.assembly_format, None
    accessors = _accessors_of(definition, custom_verify)
    definition.assembly_format = text
    if text is None:
        return accessors

    @cache
    def program() -> FormatProgram:
        return format_of(definition)

    @classmethod
    def parse(cls: type[IRDLOperation], parser: Parser) -> IRDLOperation:
        return program().parse(parser, cls)

    def print_(self: IRDLOperation, printer: Printer) -> None:
        program().print(printer, self)

    return {**accessors, "parse": parse, "print": print_}


cast("Any", operations).get_accessors_from_op_def = _lazy_accessors
