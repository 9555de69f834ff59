"""C++ for arith operations, on scalars and lane by lane on vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.arith import CMPF_COMPARISON_OPERATIONS, CMPI_COMPARISON_OPERATIONS, IntegerOverflowAttr
from xdsl.dialects.builtin import BFloat16Type, Float64Type, IndexType, IntegerAttr, VectorType
from xdsl.ir import Attribute, Operation

from ...dialects.extensions.arith import CmpfOp, CmpiOp
from ...dialects.sizes.sizes import Size
from ..op_facts import fail
from .expressions import Expression, Lanes, Value, binary, call, conditional, literal, plus, unary
from .kernel_text import Handler, KernelText
from .types import element_of, is_half, is_truth, narrow_bits

Rule: TypeAlias = "Callable[[KernelText, Any, Sequence[Expression]], Expression]"

_INTEGER = {"addi": "+", "subi": "-", "muli": "*"}
WRAPPING = {"+": "wrapping_add", "-": "wrapping_sub", "*": "wrapping_mul"}
TRUTH = {"addi": "!=", "subi": "!=", "muli": "&&", "andi": "&&", "ori": "||", "xori": "!="}
_BITS = {"andi": "&", "ori": "|", "xori": "^"}
_SIGNED = {"divsi": "/", "remsi": "%", "shrsi": ">>", "shli": "<<"}
FUNCTIONS = {
    "divui": "divu",
    "remui": "remu",
    "shrui": "shru",
    "minsi": "smaller",
    "maxsi": "larger",
    "minui": "minu",
    "maxui": "maxu",
    "floordivsi": "floor_div",
    "ceildivsi": "ceil_div",
    "ceildivui": "ceil_divu",
}
_FLOAT = {"addf": "+", "subf": "-", "mulf": "*", "divf": "/"}
FLOAT_FUNCTIONS = {"maximumf": "maximum", "minimumf": "minimum"}
LIBRARY = {"maxnumf": "fmax", "minnumf": "fmin", "remf": "fmod"}
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}
_OPPOSITE = {"lt": ">=", "le": ">", "gt": "<=", "ge": "<"}


def elementwise(kernel: KernelText, op: Operation, rule: Rule, *, repeated: bool = False) -> None:
    """Defines an elementwise op's result; `repeated`: the rule uses operands more than once."""
    operands = [kernel.atom(each) if repeated else kernel.value(each) for each in op.operands]
    kernel.define(op.results[0], by_lane(kernel, op, operands, lambda parts: rule(kernel, op, parts)), op)


def by_lane(
    kernel: KernelText, op: Operation, operands: Sequence[Value], rule: Callable[[Sequence[Expression]], Expression]
) -> Value:
    """Applies `rule` to scalars, or to each lane of vectors."""
    if not isinstance(op.results[0].type, VectorType):
        return rule([each for each in operands if isinstance(each, Expression)])
    parts = [kernel.lanes(value) for value in op.operands]
    return Lanes(at=lambda lane: rule([part(lane) for part in parts]))


def widened(value: Expression, type: Attribute) -> Expression:
    """A 16-bit float converted to float, in which it is computed."""
    return call("to_f32", value) if is_half(type) else value


def rounded(value: Expression, type: Attribute) -> Expression:
    """A float rounded to 16 bits, where that is the type."""
    if not is_half(type):
        return value
    return call("to_bf16" if isinstance(element_of(type), BFloat16Type) else "to_f16", value)


def in_f32(op: Operation, operands: Sequence[Expression]) -> list[Expression]:
    """The operands, with 16-bit floats widened to float."""
    return [widened(each, operand.type) for each, operand in zip(operands, op.operands, strict=True)]


def _short(op: Operation) -> str:
    return op.name.partition(".")[2]


def _narrow(kernel: KernelText, op: Operation, value: Expression) -> Expression:
    """Converts back to a narrow integer type, as C computes in int at least."""
    kind = kernel.types.spelled(element_of(op.results[0].type))
    return call(kind, value) if kind in ("i8", "i16") else value


def _integer(kernel: KernelText, op: Operation, x: Sequence[Expression]) -> Expression:
    kind = op.results[0].type
    if is_truth(kind):
        return binary(TRUTH[_short(op)], *x)
    symbol = _INTEGER[_short(op)]
    flags = op.properties.get("overflowFlags")
    if isinstance(element_of(kind), IndexType) and symbol == "+" and x[1].number is not None:
        return plus(x[0], x[1].number)
    if isinstance(element_of(kind), IndexType) or (isinstance(flags, IntegerOverflowAttr) and flags.data):
        return _narrow(kernel, op, binary(symbol, *x))
    return call(WRAPPING[symbol], *x)


def _bits(kernel: KernelText, op: Operation, x: Sequence[Expression]) -> Expression:
    if _short(op) == "xori" and x[1].text == "true":
        return unary("!", x[0])
    table = TRUTH if is_truth(op.results[0].type) else _BITS
    return _narrow(kernel, op, binary(table[_short(op)], *x))


def _signed(kernel: KernelText, op: Operation, x: Sequence[Expression]) -> Expression:
    if is_truth(op.results[0].type):
        fail(op, "this arithmetic is not defined on booleans")
    return _narrow(kernel, op, binary(_SIGNED[_short(op)], *x))


def _function(kernel: KernelText, op: Operation, x: Sequence[Expression]) -> Expression:
    if is_truth(op.results[0].type):
        fail(op, "this arithmetic is not defined on booleans")
    return call(FUNCTIONS[_short(op)], *x)


def _float(kernel: KernelText, op: Operation, x: Sequence[Expression]) -> Expression:
    return rounded(binary(_FLOAT[_short(op)], *in_f32(op, x)), op.results[0].type)


def _float_function(kernel: KernelText, op: Operation, x: Sequence[Expression]) -> Expression:
    return rounded(call(FLOAT_FUNCTIONS[_short(op)], *in_f32(op, x)), op.results[0].type)


def _library(kernel: KernelText, op: Operation, x: Sequence[Expression]) -> Expression:
    suffix = "" if isinstance(element_of(op.results[0].type), Float64Type) else "f"
    return rounded(call(LIBRARY[_short(op)] + suffix, *in_f32(op, x)), op.results[0].type)


def _negative(kernel: KernelText, op: Operation, x: Sequence[Expression]) -> Expression:
    return rounded(unary("-", *in_f32(op, x)), op.results[0].type)


_UNSIGNED = {"bool": "int", "i8": "u8", "i16": "u16", "int": "u32", "i64": "u64"}


def _unsigned(kernel: KernelText, value: Expression, type: Attribute) -> Expression:
    """An integer interpreted as unsigned."""
    kind = kernel.types.spelled(element_of(type))
    if kind == "int" and value.number is not None:
        return Expression(f"{value.number % 2**32}u", number=value.number)
    return call(_UNSIGNED[kind], value)


def _read_signed(kernel: KernelText, value: Expression, type: Attribute) -> Expression:
    """An integer interpreted as signed: as an i1, true is -1."""
    return unary("-", call("int", value)) if is_truth(type) else value


def _cmpi(kernel: KernelText, op: CmpiOp, x: Sequence[Expression]) -> Expression:
    name, kind = CMPI_COMPARISON_OPERATIONS[op.predicate.value.data], op.lhs.type
    if name in ("eq", "ne"):
        return binary(_COMPARISONS[name], *x)
    read = _unsigned if name[0] == "u" else _read_signed
    return binary(_COMPARISONS[name[1:]], *(read(kernel, each, kind) for each in x))


def _cmpf(kernel: KernelText, op: CmpfOp, x: Sequence[Expression]) -> Expression:
    name = CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    a, b = in_f32(op, x)
    match name:
        case "false" | "true":
            return Expression(name, number=int(name == "true"))
        case "ord" | "uno":
            symbol, join = ("==", "&&") if name == "ord" else ("!=", "||")
            first = binary(symbol, a, a)
            return first if a == b else binary(join, first, binary(symbol, b, b))
        case "one":
            return binary("||", binary("<", a, b), binary(">", a, b))
        case "ueq":
            return unary("!", _in_parens(binary("||", binary("<", a, b), binary(">", a, b))))
        case "une":
            return binary("!=", a, b)
        case _ if name[0] == "u":
            return unary("!", _in_parens(binary(_OPPOSITE[name[1:]], a, b)))
        case _:
            return binary(_COMPARISONS[name[1:]], a, b)


def _in_parens(value: Expression) -> Expression:
    return Expression(f"({value.text})", depends=value.depends)


def _compare_floats(kernel: KernelText, op: CmpfOp) -> None:
    name = CMPF_COMPARISON_OPERATIONS[op.predicate.value.data]
    elementwise(kernel, op, _cmpf, repeated=name in ("ord", "uno", "one", "ueq"))


def _select(kernel: KernelText, op: Operation) -> None:
    """A conditional expression of values already computed: no memory access or shuffle is conditional."""
    for each in op.operands[1:]:
        value = kernel.value(each)
        if any(not space.startswith("=") for space in value.depends):
            kernel.atom(each)
    elementwise(kernel, op, lambda _, __, x: conditional(x[0], x[1], x[2]))


def _cast(kernel: KernelText, op: Operation, x: Sequence[Expression]) -> Expression:
    """Conversion between a 16-bit float and any other type, by way of float."""
    source, target = op.operands[0].type, op.results[0].type
    before = "float" if is_half(source) else kernel.types.spelled(element_of(source))
    after = "float" if is_half(target) else kernel.types.spelled(element_of(target))
    value, name = widened(x[0], source), _short(op)
    bits = narrow_bits(target if name == "trunci" else source)
    if bits is not None:
        return call(after, _low_bits(value, bits, signed=name == "extsi"))
    if name in ("extsi", "index_cast", "sitofp") and is_truth(source):
        value, before = _read_signed(kernel, value, source), "int"
    elif name in ("extui", "uitofp", "index_castui") and not is_truth(source):
        value, before = _unsigned(kernel, value, source), ""
        if "[" in value.text:  # g++ takes `(float(u8(x[i])) ...` for the type of a function with an array
            value = unary("+", value)
    elif name in ("trunci", "index_cast") and is_truth(target):
        return binary("!=", Expression(f"({binary('&', value, literal(1)).text})", depends=value.depends), literal(0))
    elif name in ("fptosi", "fptoui") and is_truth(target):
        return binary("!=", call("int", value), literal(0))
    elif name == "fptoui":
        value = _unsigned(kernel, value, target)
    elif name == "fptosi" and after in ("i8", "i16"):
        value = call("int", value)
    return rounded(value if before == after else call(after, value), target)


def _low_bits(value: Expression, bits: int, *, signed: bool) -> Expression:
    """The low bits as a number, sign-extended if `signed`."""
    low = binary("&", value, literal(2**bits - 1))
    if not signed:
        return low
    half = literal(2 ** (bits - 1))
    return binary("-", binary("^", low, half), half)


def _bitcast(kernel: KernelText, op: Operation, x: Sequence[Expression]) -> Expression:
    kind, source = (kernel.types.spelled(element_of(each.type)) for each in (op.results[0], op.operands[0]))
    return x[0] if kind == source else call(f"bits_as<{kind}>", x[0])


def _constant(kernel: KernelText, op: Operation) -> None:
    result, given = op.results[0], op.properties["value"]
    if isinstance(given, IntegerAttr) and isinstance(given.value.data, Size):
        size = kernel.size(given.value.data)
        kind = kernel.types.spelled(result.type)
        kernel.define(result, size if kind == kernel.types.index else call(kind, size), op)
        return
    value = kernel.types.constant(cast("Attribute", given), result.type)
    several = isinstance(value, Lanes) and value.at is None
    kernel.define(result, value, op, many=not several)


def _simple(rule: Rule) -> Handler:
    return lambda kernel, op: elementwise(kernel, op, rule)


def _named(names: Sequence[str] | dict[str, str], handler: Handler) -> dict[str, Handler]:
    return {f"arith.{name}": handler for name in names}


HANDLERS: dict[str, Handler] = {
    **_named(_INTEGER, _simple(_integer)),
    **_named(_BITS, _simple(_bits)),
    **_named(_SIGNED, _simple(_signed)),
    **_named(FUNCTIONS, _simple(_function)),
    **_named(_FLOAT, _simple(_float)),
    **_named(FLOAT_FUNCTIONS, _simple(_float_function)),
    **_named(LIBRARY, _simple(_library)),
    **_named(
        (
            "extsi",
            "extui",
            "trunci",
            "sitofp",
            "uitofp",
            "fptosi",
            "fptoui",
            "extf",
            "truncf",
            "index_cast",
            "index_castui",
        ),
        _simple(_cast),
    ),
    "arith.negf": _simple(_negative),
    "arith.cmpi": _simple(_cmpi),
    "arith.cmpf": _compare_floats,
    "arith.select": _select,
    "arith.bitcast": _simple(_bitcast),
    "arith.constant": _constant,
}
