"""Lowering of scf loops and branches to basic blocks and branches, and of calls.

A loop is rotated: it tests at its end, with an additional test before it unless it surely runs:

before:  %r = scf.for %i = %lb to %ub step %s iter_args(%a = %x) -> (f32) { ... scf.yield %y }
after:       llvm.cond_br (%lb < %ub), ^body(%lb, %x), ^exit(%x)
         ^body(%i, %a): ...
             llvm.cond_br (%i + %s < %ub), ^body(%i + %s, %y), ^exit(%y)
         ^exit(%r):

A loop with a trip count of 1 becomes its body, one of 0 nothing. An attribute `loop_annotation = {unroll = 4 : i64,
vectorize = 8 : i64, interleave = 2 : i64}` of scf.for is attached to the loop's back edge as advice to LLVM; 1
disables. Loops around long loops, and loops with many vectors, disable unrolling unless annotated: they are already in
the intended form, and LLVM would unroll them for some CPUs, which makes code a tenth larger and no faster.
"""

from collections.abc import Sequence
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, SymbolRefAttr, i1, i64
from xdsl.dialects.llvm import CallingConventionAttr, TailCallKind, TailCallKindAttr
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.sizes.sizes import Size
from ..op_facts import fail
from .body import NSW, FunctionBody, Handler
from .instructions import NO_FAST_MATH, integer_list

FEW_TRIPS = 8  # trip count up to which LLVM may unroll a loop completely, such as one over a window's rows
MANY_VECTORS = 24  # number of ops in a loop's body that hide each other's latency; twice as many for few iterations

_AS_IT_IS = DictionaryAttr({"unroll": IntegerAttr(1, i64), "vectorize": IntegerAttr(1, i64)})
_SIGNED_LESS = {"predicate": IntegerAttr(2, i64)}


def _jump(
    body: FunctionBody,
    target: Block,
    values: Sequence[SSAValue],
    attributes: dict[str, Attribute] | None = None,
) -> None:
    body.append(llvm.BrOp, values, successors=(target,), attributes=attributes or {})


def _branch(
    body: FunctionBody,
    condition: SSAValue,
    then: tuple[Block, Sequence[SSAValue]],
    otherwise: tuple[Block, Sequence[SSAValue]],
    attributes: dict[str, Attribute] | None = None,
) -> None:
    sizes = integer_list((1, len(then[1]), len(otherwise[1])))
    body.append(
        llvm.CondBrOp,
        (condition, *then[1], *otherwise[1]),
        {"operandSegmentSizes": sizes},
        (then[0], otherwise[0]),
        attributes or {},
    )


def _inline(body: FunctionBody, block: Block, arguments: Sequence[SSAValue]) -> list[SSAValue]:
    """Lowers a block in place; returns the values that its terminator yields."""
    for argument, value in zip(block.args, arguments, strict=True):
        body.values[argument] = value
    return body.lowered(body.lower_block(block).operands)


def _results(body: FunctionBody, op: Operation, values: Sequence[SSAValue]) -> None:
    for result, value in zip(op.results, values, strict=True):
        body.values[result] = value


def _trips(body: FunctionBody, lower: SSAValue, upper: SSAValue, step: SSAValue) -> int | None:
    """The trip count of a loop, None if it is unknown."""
    first, last, stride = (body.known.get(bound) for bound in (lower, upper, step))
    if isinstance(first, Size) or isinstance(last, Size):
        return None
    if first is not None and last is not None and first >= last:
        return 0
    if first is None or last is None or stride is None:
        return None
    return -((first - last) // stride)


def _for(body: FunctionBody, op: Operation) -> None:
    lower, upper, step, *initial = body.lowered(op.operands)
    block = op.regions[0].block
    trips = _trips(body, lower, upper, step)
    if trips == 0:
        _results(body, op, initial)
        return
    if trips == 1:
        _results(body, op, _inline(body, block, (lower, *initial)))
        return
    value_types = [value.type for value in initial]
    inside = body.new_block([lower.type, *value_types])
    outside = Block(arg_types=value_types)
    if trips is None:
        some = body.emit(llvm.ICmpOp, (lower, upper), i1, _SIGNED_LESS)
        _branch(body, some, (inside, (lower, *initial)), (outside, initial))
    else:
        _jump(body, inside, (lower, *initial))
    body.block = inside
    vectors, loops = body.vectors, body.long_loops
    with body.scope():
        carried = _inline(body, block, inside.args)
        following = body.emit(llvm.AddOp, (inside.args[0], step), lower.type, {"overflowFlags": NSW})
        more = body.emit(llvm.ICmpOp, (following, upper), i1, _SIGNED_LESS)
        few = trips is not None and trips <= FEW_TRIPS
        as_it_is = body.long_loops > loops or body.vectors - vectors >= MANY_VECTORS * (1 + few)
        annotation = op.attributes.get("loop_annotation", _AS_IT_IS if as_it_is else None)
        attributes = {"loop_annotation": annotation} if annotation is not None else {}
        _branch(body, more, (inside, (following, *carried)), (outside, carried), attributes)
        body.long_loops += not few
    body.region.add_block(outside)
    body.block = outside
    _results(body, op, outside.args)


def _if(body: FunctionBody, op: Operation) -> None:
    (condition,) = body.lowered(op.operands)
    then, otherwise = op.regions
    known = body.known.get(condition)
    if known is not None:
        taken = then if known else otherwise
        if taken.blocks:
            _results(body, op, _inline(body, taken.block, ()))
        return
    then_block = body.new_block()
    has_otherwise = bool(otherwise.blocks) and otherwise.block.first_op is not otherwise.block.last_op
    has_otherwise = has_otherwise or bool(op.results)
    otherwise_block = body.new_block() if has_otherwise else None
    after = body.new_block([body.types.convert(result.type) for result in op.results])
    _branch(body, condition, (then_block, ()), (otherwise_block or after, ()))
    branches = [(then_block, then)]
    if otherwise_block is not None:
        branches.append((otherwise_block, otherwise))
    for block, region in branches:
        body.block = block
        with body.scope():
            values = _inline(body, region.block, ())
            _jump(body, after, values)
    body.block = after
    _results(body, op, after.args)


def _while(body: FunctionBody, op: Operation) -> None:
    initial = body.lowered(op.operands)
    before, after = (region.block for region in op.regions)
    test = body.new_block([value.type for value in initial])
    _jump(body, test, initial)
    body.block = test
    with body.scope():
        condition, *values = _inline(body, before, test.args)
        result_types = [value.type for value in values]
        inside, outside = body.new_block(result_types), body.new_block(result_types)
        _branch(body, condition, (inside, values), (outside, values))
        body.block = inside
        with body.scope():
            _jump(body, test, _inline(body, after, inside.args))
    body.block = outside
    _results(body, op, outside.args)


def _return_if(body: FunctionBody, op: Operation) -> None:
    (condition,) = body.lowered(op.operands)
    following = body.new_block()
    _branch(body, condition, (body.leaving_block(), ()), (following, ()))
    body.block = following


def _call(body: FunctionBody, op: Operation) -> None:
    operands = body.lowered(op.operands)
    if len(op.results) > 1:
        fail(op, "a function can have one result only")
    properties: dict[str, Attribute] = {
        "callee": cast(SymbolRefAttr, op.properties["callee"]),
        "fastmathFlags": NO_FAST_MATH,
        "CConv": CallingConventionAttr("ccc"),
        "TailCallKind": TailCallKindAttr(TailCallKind.NONE),
        "op_bundle_sizes": integer_list(()),
        "operandSegmentSizes": integer_list((len(operands), 0)),
    }
    if op.results:
        result_type = body.types.convert(op.results[0].type)
        body.values[op.results[0]] = body.emit(llvm.CallOp, operands, result_type, properties)
    else:
        body.append(llvm.CallOp, operands, properties)
    made = body.block.last_op
    assert made is not None
    made.location = op.location


HANDLERS: dict[str, Handler] = {
    "scf.for": _for,
    "scf.if": _if,
    "scf.while": _while,
    "func.call": _call,
    "kernel.return_if": _return_if,
}
