"""expand-math: expands functions such as exp and tanh to arithmetic that LLVM can vectorise.

before:  %y = math.exp %x : vector<16xf32>
after:   %t = math.fma %x, %log2e, %round : vector<16xf32>     a polynomial in arith, math.fma and bit
         ...                                                   operations; kernel_code/approximations.py

Rounding to integers and fused multiply-adds are expanded, too, if the module's `kernel.target` lacks instructions for
them: `vector.fma`, and `math.fma` with the flag `contract`, to a product and a sum, other `math.fma` to an emulation of
single rounding.

In f32, scalar or vector: exp, exp2, expm1, tanh, erf, log, log1p, atan, sin, cos and powf. In f16 and bf16 these and
the other C library functions are computed in f32. Everything else is unchanged: sqrt and the like are instructions, and
the rest calls the C library. Where results are reproducible, that rest is an error, and fused multiply-adds are exact
on every CPU.
"""

from collections.abc import Callable
from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import arith, func, vector
from xdsl.dialects.arith import FastMathFlagsAttr
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    ModuleOp,
    UnknownLoc,
    f32,
    f64,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.errors import UnsupportedError
from ...dialects.extensions.replace import shaped_like
from ...dialects.graph.base import node_name
from ...dialects.kernel.targets import cpu_of
from ..kernel_code import approximations
from ..kernel_code.arithmetic import Arithmetic, number_in
from ..kernel_code.loop_builder import InsertionBuilder
from . import missing_instructions
from .types import element_of

_EXPANSIONS: dict[str, Callable[[Arithmetic, SSAValue], SSAValue]] = {
    "math.exp": approximations.exp,
    "math.exp2": approximations.exp2,
    "math.expm1": approximations.expm1,
    "math.tanh": approximations.tanh,
    "math.erf": approximations.erf,
    "math.log": approximations.log,
    "math.log1p": approximations.log1p,
    "math.atan": approximations.atan,
    "math.sin": approximations.sin,
    "math.cos": approximations.cos,
}
_POWER = "math.powf"
_INSTRUCTIONS = {
    f"math.{name}" for name in ("absf", "absi", "copysign", "ctlz", "ctpop", "cttz", "ipowi", "rsqrt", "sqrt")
}
_ROUNDINGS: dict[str, Callable[[Arithmetic, SSAValue], SSAValue]] = {
    "math.ceil": missing_instructions.ceil,
    "math.floor": missing_instructions.floor,
    "math.round": missing_instructions.nearest_away,
    "math.roundeven": missing_instructions.roundeven,
    "math.trunc": missing_instructions.trunc,
}
_FUSED, _FUSED_VECTOR = "math.fma", "vector.fma"


@dataclass(frozen=True)
class ExpandMath(ModulePass):
    """Expands the math of all functions."""

    name = "expand-math"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = cpu_of(op)
        missing = target.reproducible and not target.has("fma")
        fused = target.has("fma") or missing
        done = set(_INSTRUCTIONS)
        done.update((_FUSED, _FUSED_VECTOR) if fused else ())
        done.update(_ROUNDINGS if target.has("round") else ())
        for each in _math(op):
            if each.name not in done:
                _expand(each, fused)
        if target.reproducible:
            for each in _math(op):
                if missing and each.name in (_FUSED, _FUSED_VECTOR):
                    _fuse_exactly(each)
                elif each.name not in (*_INSTRUCTIONS, *_ROUNDINGS, _FUSED, _FUSED_VECTOR):
                    what = " ".join(filter(None, (_caller(op, each), f"({each.name})")))
                    raise UnsupportedError(f"{what}: the C library computes it, whose results are not reproducible")


def _math(module: ModuleOp) -> list[Operation]:
    return [each for each in module.walk() if each.name.startswith("math.") or each.name == _FUSED_VECTOR]


def _expand(op: Operation, fused: bool) -> None:
    element = element_of(op.results[0].type)
    if isinstance(element, Float16Type | BFloat16Type):
        op = _in_f32(op)
        element = f32
    if element not in (f32, f64):
        return
    m = Arithmetic(InsertionBuilder(op), op.results[0].type, contract=False, fused=fused)
    replacement: SSAValue | None = None
    if op.name == _FUSED_VECTOR or _may_round_twice(op):
        replacement = m.fma(*op.operands)
    elif op.name == _FUSED:
        replacement = missing_instructions.fused(m, *op.operands)
    elif op.name in _ROUNDINGS:
        replacement = _ROUNDINGS[op.name](m, op.operands[0])
    elif element == f64:
        return
    elif op.name in _EXPANSIONS:
        replacement = _EXPANSIONS[op.name](m, op.operands[0])
    elif op.name == _POWER:
        exponent = _constant_of(op.operands[1])
        replacement = None if exponent is None else m.known_power(op.operands[0], exponent)
        replacement = replacement or approximations.power(m, *op.operands)
    if replacement is not None:
        _replace(op, replacement)


def _fuse_exactly(op: Operation) -> None:
    """Replaces a fused operation by what the instruction gives. Raises UnsupportedError for f64."""
    if isinstance(element_of(op.results[0].type), Float16Type | BFloat16Type):
        op = _in_f32(op)
    if element_of(op.results[0].type) != f32:
        raise UnsupportedError(
            "reproducible results of float64 need a CPU with fused multiply-adds, which this one lacks"
        )
    m = Arithmetic(InsertionBuilder(op), op.results[0].type, contract=False)
    _replace(op, missing_instructions.fused_exactly(m, *op.operands))


def _caller(module: ModuleOp, op: Operation) -> str:
    """The node for which an operation's function is called first; "" where none is known."""
    inside: Operation | None = op
    while inside is not None and not isinstance(inside, func.FuncOp):
        inside = inside.parent_op()
    if inside is None:
        return ""
    calls = [
        each
        for each in module.walk()
        if isinstance(each, func.CallOp) and each.callee.root_reference == inside.sym_name
    ]
    return next(filter(None, (node_name(each) or _caller(module, each) for each in calls)), "")


def _may_round_twice(op: Operation) -> bool:
    flags = op.properties.get("fastmath")
    return op.name == _FUSED and isinstance(flags, FastMathFlagsAttr) and FastMathFlag.ALLOW_CONTRACT in flags.data


def _in_f32(op: Operation) -> Operation:
    """Wraps the operation in conversions to f32 and back; returns the one in f32."""
    block, result = op.parent, op.results[0]
    assert block is not None
    wide = shaped_like(f32, result.type)
    operands: list[SSAValue] = []
    for operand in op.operands:
        extended = arith.ExtFOp.create(operands=(operand,), result_types=(wide,), location=op.location)
        block.insert_op_before(extended, op)
        operands.append(extended.results[0])
    computed = type(op).create(operands=operands, result_types=(wide,), properties=op.properties, location=op.location)
    narrowed = arith.TruncFOp.create(operands=computed.results, result_types=(result.type,), location=op.location)
    block.insert_ops_before([computed, narrowed], op)
    _replace(op, narrowed.results[0])
    return computed


def _replace(op: Operation, value: SSAValue) -> None:
    """Replaces an operation by a value; what was inserted for it, right before it, has its location."""
    if not isinstance(op.location, UnknownLoc):
        made = op.prev_op
        while made is not None and isinstance(made.location, UnknownLoc):
            made.location = op.location
            made = made.prev_op
    op.results[0].replace_all_uses_with(value)
    op.detach()
    op.erase()


def _constant_of(value: SSAValue) -> float | None:
    """The constant that `value` is in all lanes, if known."""
    owner = value.owner
    return _constant_of(owner.source) if isinstance(owner, vector.BroadcastOp) else number_in(value)
