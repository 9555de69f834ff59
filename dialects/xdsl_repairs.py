"""Repairs of xDSL for the whole process, of what it does wrong or slowly; extensions/ adds what it lacks.

test/unit/dialects/test_xdsl_repairs.py says of each what xDSL does by itself, and fails once that is mended there: then
the repair goes.
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
    """Repairs what reads and writes a module's text; once is as good as often."""
    # xDSL prints infinities, NaN and some other floats as `0x7F800000`, in dense attributes too, but there it reads
    # them back as that integer's value.
    _DENSE_ELEMENT.to_type = _element_of
    # Where a closing quote is missing, its own pattern takes time exponential in the rest of the line.
    MLIRLexer._unescaped_characters_regex = _STRING  # pyright: ignore[reportPrivateUsage]
    # It writes letters beyond ASCII as bytes, and takes a string with such bytes for no string when it reads them.
    MLIRLexer._lex_string_literal = _lex_string  # pyright: ignore[reportPrivateUsage]
    # It takes a label such as ^0 for a name to keep, and then refuses the name with a ValueError.
    Block.is_default_block_name = staticmethod(_is_no_name)
    # It compares values: 0.0 and -0.0 are printed as one number then, and NaN and NaN are two.
    DenseIntOrFPElementsAttr.is_splat = _is_splat
    # It makes the constraint that the type of `dense<...>` must meet anew for each, which took longer than
    # the numbers in it.
    _PARSING.base = _constraint_of


_lex_bytes: Any = vars(MLIRLexer)["_lex_string_literal"]


def _lex_string(self: Any, start_pos: int) -> Any:
    """A string; bytes only where they are no UTF-8."""
    token = _lex_bytes(self, start_pos)
    if token.kind is MLIRTokenKind.BYTES_LIT:
        try:
            token.span.bytes_contents.decode()
        except UnicodeDecodeError:
            return token
        return Token(MLIRTokenKind.STRING_LIT, token.span)
    return token


def repair_sizes() -> None:
    """Sizes of run time stand wherever an integer does: in lists of numbers, which xDSL packs, and in a module's text.

    They are printed in parentheses (see sizes/spelling.py), and where xDSL's parser wants an integer or a dimension,
    a parenthesis opens one.
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
    """A size where a parenthesis opens one, and what xDSL parses elsewhere."""

    def parsed(parser: AttrParser, *args: Any, **options: Any) -> Any:
        return parse_size(parser) if _opens_size(parser) else parse(parser, *args, **options)

    return parsed


_print_int_or_question: Any = vars(StridedLayoutAttr)["_print_int_or_question"].__func__


def _print_stride(printer: Any, value: Any) -> None:
    """`strided<[(tokens * 64), 1]>`: xDSL prints these integers by a way of its own."""
    if isinstance(value, IntAttr):
        printer.print_int(cast("Any", value).data)
    else:
        _print_int_or_question(printer, value)


class _AsInText:
    """A size that prints as IR has it, whatever it is asked."""

    def __init__(self, size: int) -> None:
        self._size = size

    @override
    def __str__(self) -> str:
        return f"{self._size:d}"


_print_indices: Any = vars(dynamic_index_list)["print_dynamic_index_list"]


def _print_index_list(printer: Any, mark: int, values: Any, integers: Any, *args: Any, **options: Any) -> None:
    """`[%3, (tokens * 64)]`: xDSL prints these integers by another way than all others."""
    _print_indices(printer, mark, values, [x if is_fixed(x) else _AsInText(x) for x in integers], *args, **options)


def _opens_size(parser: Any) -> bool:
    return parser._current_token.kind is MLIRTokenKind.L_PAREN


def _parse_dimensions(parser: Any) -> list[int]:
    """Dimensions, and the `x` behind the last one given back, as xDSL does."""
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
    """`(tokens * 64) : index`; a parenthesis may also open the type of a function."""
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
    """A list of numbers; where some are sizes of run time, they stay beside their present values."""
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
    """Gives operations the memory effects that they have in MLIR, or dead loads stay and equal ones are not merged."""
    from xdsl.dialects import arith, vector  # costs time that a module without them need not take

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
    """Makes operations in less than half of the time, which was a fifth of all that a compile does in Python.

    Attributes and what operations hold are made and read faster, too.
    """
    # It makes lists and views of what is mostly empty, and imports a name, for every operation anew.
    Operation.__init__ = _construct
    # It looks for the defaults of properties in the definition, for every operation anew.
    IRDLOperation.__post_init__ = _fill_defaults
    # It asks of every attribute whether its class is one that attributes may have.
    Attribute.__post_init__ = _verify
    # It looks its base class up for every operand that is read.
    SSAValues.__getitem__ = _item_of
    # It asks of every operand, result and region whether it is a sequence, which takes long where it is none.
    _RULES.irdl_build_arg_list = _list_of


def repair_verification() -> None:
    """Verifies operations in 0.75 of the time.

    For every operation anew it looks through the definitions of operands, results, regions and successors, most often
    to find that each stands for one value or that there are none.
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
    """Verifies operands or results; xDSL's own verifier is asked where any may be many, and to tell what is wrong."""
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
    """What a kind of operation asks of the types of its operands and results; None where any may be many or none."""
    definition = kind.get_irdl_definition()
    return _constraints_of_each(definition.operands), _constraints_of_each(definition.results)


def _constraints_of_each(definitions: Sequence[tuple[str, Any]]) -> Sequence[Any] | None:
    ranges = [definition.constr for _, definition in definitions]
    one = all(isinstance(each, RangeLengthConstraint) and each.length == EqIntConstraint(1) for each in ranges)
    return [each.constraint.constr for each in ranges] if one else None


def kept_in(ctx: Context, name: str, make: Callable[[], T]) -> T:
    """What passes keep in a context under a name, made on first use: contexts of xDSL's own have no place for it."""
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
    """Fills a new operation in, as xDSL's own constructor does."""
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
    """What an operation is given, and how much for each definition; asks xDSL itself where that is not one for each."""
    if len(args) == len(arg_defs) and all(map(_is_one, map(type, args))):
        return list(args), [1] * len(args)
    return _list_in_words(construct, args, arg_defs, error_prefix)


@cache
def _is_one(kind: type[Any]) -> bool:
    return kind is not type(None) and not issubclass(kind, Sequence)


def _fill_defaults(self: IRDLOperation) -> None:
    """Gives an operation the properties and attributes that it wasn't given and that have a default."""
    properties, attributes = _defaults(type(self))
    for name, value in properties:
        self.properties.setdefault(name, value)
    for name, value in attributes:
        self.attributes.setdefault(name, value)
    Operation.__post_init__(self)  # xDSL's implicit builders take operations in there


def _verify(self: Attribute) -> None:
    self._verify()  # pyright: ignore[reportPrivateUsage]


def _item_of(self: SSAValues[Any], idx: Any) -> Any:
    """A value, or those of a slice."""
    found = _item_of_tuple(self, idx)
    return SSAValues(found) if isinstance(idx, slice) else found


@cache
def _defaults(kind: type[IRDLOperation]) -> tuple[list[tuple[str, Attribute]], list[tuple[str, Attribute]]]:
    """The defaults of the properties and of the attributes of a kind of operation."""
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
    """The value of an element of `dense<...>`: a float of its type may be written as its bits."""
    if isinstance(element_type, AnyFloat) and element.span.text[:2] in ("0x", "0X"):
        bits = int(element.value).to_bytes(element_type.compile_time_size, "little")
        return element_type.unpack(bits, 1)[0]
    return _number_of(element, parser, element_type)


def _is_splat(self: DenseIntOrFPElementsAttr) -> bool:
    """Whether there are elements, and all have the same bits."""
    data = self.data.data
    return len(self) > 0 and data == data[: self.get_element_type().compile_time_size] * len(self)


def _is_no_name(name: str) -> bool:
    """Whether a block's label is a mere number, so that the block has no name to keep."""
    return not Block.is_valid_name(name) or _is_numbered(name)
