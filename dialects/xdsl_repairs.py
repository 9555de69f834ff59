"""Process-wide repairs of errors and slow paths in xDSL; extensions/ adds what it lacks.

test/unit/dialects/test_xdsl_repairs.py shows xDSL's own behaviour for each repair, and fails once upstream has fixed
it: then the repair is removed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, TypeVar, cast

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import (
    UNKNOWN_LOC,
    AnyFloat,
    BytesAttr,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    IntAttr,
    IntegerAttr,
    LocationAttr,
    StridedLayoutAttr,
)
from xdsl.dialects.utils import dynamic_index_list
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue, Use
from xdsl.ir.core import SSAValues
from xdsl.irdl import AttributeDef, EqIntConstraint, IRDLOperation, OpDef, OptionalDef, PropertyDef, operations
from xdsl.irdl.constraints import RangeLengthConstraint, VerificationContext
from xdsl.parser import AttrParser, attribute_parser
from xdsl.parser.base_parser import BaseParser
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, OpTrait, Pure
from xdsl.utils.exceptions import ParseError, VerifyException
from xdsl.utils.lexer import Token
from xdsl.utils.mlir_lexer import MLIRLexer, MLIRTokenKind

from .sizes.sizes import SizesData, is_fixed, now
from .sizes.spelling import has_symbols, parse_size

__all__ = ["kept_in", "repair_construction", "repair_effects", "repair_sizes", "repair_text", "repair_verification"]

T = TypeVar("T")

_DENSE_ELEMENT: Any = vars(AttrParser)["_TensorLiteralElement"]
_number_of = _DENSE_ELEMENT.to_type
_item_of_tuple: Any = vars(tuple)["__getitem__"]
_is_numbered = Block.is_default_block_name

# The same strings as xDSL's own pattern, without ever trying again: `++` and `*+` keep what they took.
_STRING = re.compile(r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"')


def repair_text() -> None:
    """Repairs parsing and printing of modules; idempotent."""
    # xDSL prints infinities, NaN and some other floats as `0x7F800000`, in dense attributes too, but there it reads
    # them back as that integer's value.
    _DENSE_ELEMENT.to_type = _element_of
    # Without a closing quote, its own pattern takes time exponential in the rest of the line.
    MLIRLexer._unescaped_characters_regex = _STRING  # pyright: ignore[reportPrivateUsage]
    # It writes non-ASCII letters as bytes, and does not parse a string with such bytes as a string.
    MLIRLexer._lex_string_literal = _lex_string  # pyright: ignore[reportPrivateUsage]
    # It takes a label such as ^0 for a name hint, and then refuses it with a ValueError.
    Block.is_default_block_name = staticmethod(_is_no_name)
    # It compares values: 0.0 and -0.0 are then printed as one number, and NaN and NaN as two.
    DenseIntOrFPElementsAttr.is_splat = _is_splat
    # It constructs the type constraint of `dense<...>` again for each, which took longer than
    # parsing the numbers in it.
    _PARSING.base = _constraint_of


_lex_bytes: Any = vars(MLIRLexer)["_lex_string_literal"]


def _lex_string(self: Any, start_pos: int) -> Any:
    """A string literal; a bytes literal only if it is not UTF-8."""
    token = _lex_bytes(self, start_pos)
    if token.kind is MLIRTokenKind.BYTES_LIT:
        try:
            token.span.bytes_contents.decode()
        except UnicodeDecodeError:
            return token
        return Token(MLIRTokenKind.STRING_LIT, token.span)
    return token


def repair_sizes() -> None:
    """Allows symbolic sizes wherever an integer is allowed: in packed lists of numbers, and in a module's text.

    They are printed in parentheses (see sizes/spelling.py); where xDSL's parser expects an integer or a dimension, a
    parenthesis opens one.
    """
    lists, parser = cast("Any", DenseArrayBase), cast("Any", AttrParser)
    lists.get_values, lists.iter_values, lists.from_list = _values_of, _iterated, staticmethod(_packed)
    dynamic_index_list.print_dynamic_index_list = _print_index_list
    cast("Any", StridedLayoutAttr)._print_int_or_question = staticmethod(_print_stride)
    parser.parse_integer = _size_or(_parse_integer)
    parser._parse_int_or_question = _size_or(_parse_stride)
    parser.parse_dimension_list = _parse_dimensions
    parser.parse_optional_builtin_int_or_float_attr = _parse_number_attribute


def _size_or(parse: Callable[..., Any]) -> Callable[..., Any]:
    """Parses a size if there is a parenthesis, else what xDSL parses."""

    def parsed(parser: AttrParser, *args: Any, **options: Any) -> Any:
        return parse_size(parser) if _opens_size(parser) else parse(parser, *args, **options)

    return parsed


_print_int_or_question: Any = vars(StridedLayoutAttr)["_print_int_or_question"].__func__


def _print_stride(printer: Any, value: Any) -> None:
    """Prints `strided<[(tokens * 64), 1]>`, whose integers xDSL prints separately."""
    if isinstance(value, IntAttr):
        printer.print_int(cast("Any", value).data)
    else:
        _print_int_or_question(printer, value)


class _AsInText:
    """A size whose str() is its spelling in IR."""

    def __init__(self, size: int) -> None:
        self._size = size

    @override
    def __str__(self) -> str:
        return f"{self._size:d}"


_print_indices: Any = vars(dynamic_index_list)["print_dynamic_index_list"]


def _print_index_list(printer: Any, mark: int, values: Any, integers: Any, *args: Any, **options: Any) -> None:
    """Prints `[%3, (tokens * 64)]`, whose integers xDSL prints by yet another function."""
    _print_indices(printer, mark, values, [x if is_fixed(x) else _AsInText(x) for x in integers], *args, **options)


def _opens_size(parser: Any) -> bool:
    return parser._current_token.kind is MLIRTokenKind.L_PAREN


def _parse_dimensions(parser: Any) -> list[int]:
    """Parses dimensions, putting the `x` after the last one back, as xDSL does."""
    dimensions: list[int] = []
    while True:
        if _opens_size(parser):
            at = parser.pos
            dimensions.append(parse_size(parser))
            if now(dimensions[-1]) < 0:
                parser.raise_error(f"a dimension can't be {now(dimensions[-1])}", at, at + 1)
        elif parser._current_token.kind in (MLIRTokenKind.INTEGER_LIT, MLIRTokenKind.QUESTION):
            dimensions.append(parser.parse_shape_dimension())
        else:
            if dimensions:
                parser._resume_from(parser._current_token.span.start - 1)
            return dimensions
        if not parser._parse_optional_shape_delimiter():
            return dimensions


def _parse_number_attribute(parser: Any) -> Any:
    """Parses `(tokens * 64) : index`; a parenthesis may also open a function type."""
    if not (_opens_size(parser) and has_symbols(parser)):
        return _parse_number(parser)
    start = parser._current_token.span.start
    try:
        size = parse_size(parser)
    except ParseError:
        size = None
    if size is None or parser._current_token.kind is not MLIRTokenKind.COLON:
        parser._resume_from(start)
        return None
    parser.parse_punctuation(":")
    return IntegerAttr(size, parser.parse_type())


_parse_integer, _parse_stride, _parse_number = (
    vars(BaseParser)["parse_integer"],
    vars(AttrParser)["_parse_int_or_question"],
    vars(AttrParser)["parse_optional_builtin_int_or_float_attr"],
)
_pack_list: Any = vars(DenseArrayBase)["from_list"].__func__


def _packed(data_type: Any, data: Sequence[Any]) -> Any:
    """A packed list of numbers; symbolic sizes are kept beside their current values."""
    made = _pack_list(data_type, [now(each) if isinstance(each, int) else each for each in data])
    if is_fixed(*data):
        return made
    return DenseArrayBase(data_type, BytesAttr(SizesData(made.data.data, tuple(data))))


def _iterated(array: Any) -> Iterator[Any]:
    return iter(_values_of(array))


_get_values: Any = vars(DenseArrayBase)["get_values"]


def _values_of(array: Any) -> tuple[Any, ...]:
    data = array.data.data
    return data.sizes if isinstance(data, SizesData) else _get_values(array)


def repair_effects() -> None:
    """Adds the memory effects that operations have in MLIR, needed by dead code elimination and CSE."""
    from xdsl.dialects import arith, vector  # takes time that a module without them need not spend

    effects: dict[type[IRDLOperation], OpTrait] = {
        arith.RemUIOp: Pure(),
        vector.LoadOp: MemoryReadEffect(),
        vector.MaskedLoadOp: MemoryReadEffect(),
        vector.StoreOp: MemoryWriteEffect(),
        vector.MaskedStoreOp: MemoryWriteEffect(),
        vector.CreateMaskOp: Pure(),
        vector.BitcastOp: Pure(),
    }
    for operation, effect in effects.items():
        if not operation.has_trait(type(effect)):
            operation.traits.add_trait(effect)


def repair_construction() -> None:
    """Makes construction of operations more than twice as fast, which was a fifth of compile time in Python.

    Attributes are constructed, and operands accessed, faster, too.
    """
    # It creates mostly empty lists and views, and imports a name, for every operation.
    Operation.__init__ = _construct
    # It looks up the defaults of properties in the definition for every operation.
    IRDLOperation.__post_init__ = _fill_defaults
    # It checks for every attribute whether its class may be an attribute.
    Attribute.__post_init__ = _verify
    # It looks up its base class for every operand access.
    SSAValues.__getitem__ = _item_of
    # It checks for every operand, result and region whether it is a sequence, which is slow if it is none.
    _RULES.irdl_build_arg_list = _list_of


def repair_verification() -> None:
    """Makes verification of operations take 0.75 of the time.

    xDSL's verifier looks through the definitions of operands, results, regions and successors for every operation,
    mostly to find that each stands for one value or that there are none.
    """
    _RULES.irdl_op_verify_arg_list = _verify_values
    _RULES.irdl_op_verify_regions = _verify_regions
    _RULES.verify_variadic_size = _verify_number


_PARSING: Any = attribute_parser
_constraint_of = cache(vars(attribute_parser)["base"])
_RULES: Any = operations
_list_in_words, _values_in_words, _regions_in_words, _number_in_words = (
    vars(operations)[name]
    for name in ("irdl_build_arg_list", "irdl_op_verify_arg_list", "irdl_op_verify_regions", "verify_variadic_size")
)


def _verify_values(op: Operation, definition: OpDef, construct: Any, context: VerificationContext) -> None:
    """Verifies operands or results; falls back to xDSL's verifier for variadic ones, and for error messages."""
    operands, results = _constraints(type(op))
    values, constraints = (
        (op.operands, operands) if construct is _RULES.VarIRConstruct.OPERAND else (op.results, results)
    )
    if constraints is not None and len(values) == len(constraints):
        try:
            for value, constraint in zip(values, constraints, strict=True):
                constraint.verify(value.type, context)
        except VerifyException:
            pass
        else:
            return
    _values_in_words(op, definition, construct, context)


def _verify_regions(op: Operation, definition: OpDef, context: VerificationContext) -> None:
    if definition.regions or op.regions:
        _regions_in_words(op, definition, context)


def _verify_number(op: Operation, definition: OpDef, construct: Any) -> None:
    if construct is not _RULES.VarIRConstruct.SUCCESSOR or definition.successors or op.successors:
        _number_in_words(op, definition, construct)


@cache
def _constraints(kind: type[Any]) -> tuple[Sequence[Any] | None, Sequence[Any] | None]:
    """The constraints on operand and result types of an operation class; None for variadic ones."""
    definition = kind.get_irdl_definition()
    return _constraints_of_each(definition.operands), _constraints_of_each(definition.results)


def _constraints_of_each(definitions: Sequence[tuple[str, Any]]) -> Sequence[Any] | None:
    ranges = [definition.constr for _, definition in definitions]
    one = all(isinstance(each, RangeLengthConstraint) and each.length == EqIntConstraint(1) for each in ranges)
    return [each.constraint.constr for each in ranges] if one else None


def kept_in(ctx: Context, name: str, make: Callable[[], T]) -> T:
    """A value stored in a context by name, created at first use: xDSL's contexts have no such facility."""
    kept = vars(ctx)
    if name not in kept:
        kept[name] = make()
    return kept[name]


def _construct(
    self: Any,
    *,
    operands: Sequence[SSAValue] = (),
    result_types: Sequence[Attribute] = (),
    properties: Mapping[str, Attribute] = {},
    attributes: Mapping[str, Attribute] = {},
    location: LocationAttr | None = None,
    successors: Sequence[Block] = (),
    regions: Sequence[Region] = (),
) -> None:
    """Initialises a new operation, equivalently to xDSL's constructor."""
    self._operands = operands = SSAValues(operands)
    self._operand_uses = tuple([Use(self, index) for index in range(len(operands))])
    for operand, use in zip(operands, self._operand_uses, strict=True):
        operand.add_use(use)
    self.results = SSAValues([OpResult(type, self, index) for index, type in enumerate(result_types)])
    self.properties = dict(properties)
    self.attributes = dict(attributes)
    self.location = UNKNOWN_LOC if location is None else location
    self.regions = ()
    if successors:
        self.successors = successors
    for region in regions:
        self.add_region(region)
    self.__post_init__()


def _list_of(
    construct: Any, args: Sequence[Any], arg_defs: Sequence[Any], error_prefix: str = ""
) -> tuple[list[Any], list[int]]:
    """The values given to an operation, and their number per definition; calls xDSL for variadic definitions."""
    if len(args) == len(arg_defs) and all(map(_is_one, map(type, args))):
        return list(args), [1] * len(args)
    return _list_in_words(construct, args, arg_defs, error_prefix)


@cache
def _is_one(kind: type[Any]) -> bool:
    return kind is not type(None) and not issubclass(kind, Sequence)


def _fill_defaults(self: IRDLOperation) -> None:
    """Sets absent properties and attributes that have a default."""
    properties, attributes = _defaults(type(self))
    for name, value in properties:
        self.properties.setdefault(name, value)
    for name, value in attributes:
        self.attributes.setdefault(name, value)
    Operation.__post_init__(self)  # xDSL's implicit builders collect operations there


def _verify(self: Attribute) -> None:
    self._verify()  # pyright: ignore[reportPrivateUsage]


def _item_of(self: SSAValues[Any], idx: Any) -> Any:
    """A value, or those of a slice."""
    found = _item_of_tuple(self, idx)
    return SSAValues(found) if isinstance(idx, slice) else found


@cache
def _defaults(kind: type[IRDLOperation]) -> tuple[list[tuple[str, Attribute]], list[tuple[str, Attribute]]]:
    """The defaults of an operation class's properties and attributes."""
    definition = kind.get_irdl_definition()
    return _stated_defaults(definition.properties), _stated_defaults(definition.attributes)


def _stated_defaults(
    definitions: Mapping[str, PropertyDef] | Mapping[str, AttributeDef],
) -> list[tuple[str, Attribute]]:
    return [
        (name, each.default_value)
        for name, each in definitions.items()
        if each.default_value is not None and not isinstance(each, OptionalDef)
    ]


def _element_of(element: Any, parser: AttrParser, element_type: Attribute) -> Any:
    """Parses an element of `dense<...>`: a float may be written as its bits."""
    if isinstance(element_type, AnyFloat) and element.span.text[:2] in ("0x", "0X"):
        bits = int(element.value).to_bytes(element_type.compile_time_size, "little")
        return element_type.unpack(bits, 1)[0]
    return _number_of(element, parser, element_type)


def _is_splat(self: DenseIntOrFPElementsAttr) -> bool:
    """Whether there are elements, and all have the same bits."""
    data = self.data.data
    return len(self) > 0 and data == data[: self.get_element_type().compile_time_size] * len(self)


def _is_no_name(name: str) -> bool:
    """Whether a block's label is a mere number, and not a name to keep."""
    return not Block.is_valid_name(name) or _is_numbered(name)
