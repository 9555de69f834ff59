"""C++ for scf loops and branches; loop-carried values become variables.

before:  %r = scf.for %i = %c0 to %c64 step %c1 iter_args(%sum = %zero) -> (f32) { ... scf.yield %next }
after:   float sum = 0.0f;
         for (int i = 0; i < 64; ++i) { ... sum = next; }

The attribute `unroll` of scf.for, alone or with a number, emits `#pragma unroll`; `loop_annotation` with `unroll = 1`,
as for LLVM, disables unrolling.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, UnitAttr
from xdsl.ir import Block, Operation, SSAValue

from ..op_facts import fail
from .expressions import Expression, unary
from .kernel_text import Handler, KernelText

_COUNTERS = ("i", "j", "k", "l", "m", "n")


def _carry(kernel: KernelText, op: Operation, initial: Sequence[SSAValue], inside: Sequence[SSAValue]) -> list[str]:
    """A variable for each loop-carried value; after the loop it is the loop's result."""
    names: list[str] = []
    last = op.regions[0].block.last_op
    assert last is not None
    for before, argument, result, after in zip(initial, inside, op.results, last.operands, strict=True):
        named = next((each for each in (argument, result, after) if each.name_hint), after)
        name = kernel.name(named, "carried")
        kernel.declare(name, before.type, kernel.value(before), op=op)
        kernel.variable(argument, name, changes=True)
        names.append(name)
    return names


def _set(kernel: KernelText, names: Sequence[str], values: Sequence[SSAValue]) -> None:
    """Assigns all variables in parallel: old values that another assignment needs are saved first."""
    given = [kernel.value(value) for value in values]
    for position, value in enumerate(values):
        if any(f"={name}" in given[position].depends for name in names[:position]):
            aside = kernel.names.take(f"next_{names[position]}")
            kernel.declare(aside, value.type, given[position], constant=True)
            given[position] = Expression(aside)
    for name, value, text in zip(names, values, given, strict=True):
        kernel.assign(name, value.type, text)


def _finish(kernel: KernelText, op: Operation, names: Sequence[str]) -> None:
    for result, name in zip(op.results, names, strict=True):
        kernel.variable(result, name)


def _unrolling(op: Operation) -> str | None:
    """The unroll pragma that a loop asks for, if any."""
    unroll = op.attributes.get("unroll")
    if isinstance(unroll, UnitAttr):
        return "#pragma unroll"
    if isinstance(unroll, IntegerAttr):
        return f"#pragma unroll {unroll.value.data}"
    annotation = op.attributes.get("loop_annotation")
    if isinstance(annotation, DictionaryAttr) and isinstance(annotation.data.get("unroll"), IntegerAttr):
        return f"#pragma unroll {cast('IntegerAttr', annotation.data['unroll']).value.data}"
    return None


def _for(kernel: KernelText, op: Operation) -> None:
    lower, upper, step, *initial = op.operands
    block = op.regions[0].block
    counter, *inside = block.args
    bounds = [kernel.scalar_atom(each) for each in (lower, upper, step)]
    names = _carry(kernel, op, initial, inside)
    kernel.changed()
    pragma = _unrolling(op)
    if pragma is not None:
        kernel.line(pragma, op)
    with kernel.names.scope():
        name = kernel.names.take_first((counter.name_hint,) if counter.name_hint else _COUNTERS)
        first, last, stride = bounds
        kind = kernel.types.spelled(counter.type)
        onward = f"++{name}" if stride.number == 1 else f"{name} += {stride.text}"
        with kernel.braces(f"for ({kind} {name} = {first.text}; {name} < {last.text}; {onward})", op):
            kernel.variable(counter, name)
            _set(kernel, names, kernel.block(block).operands)
    _finish(kernel, op, names)


def _if(kernel: KernelText, op: Operation) -> None:
    (condition,) = op.operands
    given = kernel.scalar(condition)
    names = [kernel.name(result) for result in op.results]
    for name, result in zip(names, op.results, strict=True):
        kernel.declare(name, result.type, None, op=op)
    kernel.changed()
    then, otherwise = op.regions
    with kernel.braces(f"if ({given.text})", op):
        _set(kernel, names, _yielded(kernel, then.block))
    if otherwise.blocks and (op.results or otherwise.block.first_op is not otherwise.block.last_op):
        with kernel.otherwise():
            _set(kernel, names, _yielded(kernel, otherwise.block))
    _finish(kernel, op, names)


def _yielded(kernel: KernelText, block: Block) -> Sequence[SSAValue]:
    return kernel.block(block).operands if block.ops else ()


def _while(kernel: KernelText, op: Operation) -> None:
    """Emits `for (;;)` with a break after the condition's region."""
    before, after = (region.block for region in op.regions)
    if len(before.args) != len(op.operands):
        fail(op, "a loop needs as many values as its first block takes")
    carried: list[str] = []
    for value, argument in zip(op.operands, before.args, strict=True):
        carried.append(kernel.name(argument, "carried"))
        kernel.declare(carried[-1], value.type, kernel.value(value), op=op)
        kernel.variable(argument, carried[-1], changes=True)
    results = [kernel.name(result) for result in op.results]
    for name, result in zip(results, op.results, strict=True):
        kernel.declare(name, result.type, None, op=op)
    kernel.changed()
    with kernel.braces("while (true)", op):
        condition, *forwarded = kernel.block(before).operands
        holds = kernel.scalar_atom(condition) if forwarded else kernel.scalar(condition)
        _set(kernel, results, forwarded)
        kernel.line(f"if ({unary('!', holds).text}) break;")
        for name, argument in zip(results, after.args, strict=True):
            kernel.variable(argument, name, changes=True)
        _set(kernel, carried, kernel.block(after).operands)
    _finish(kernel, op, results)


HANDLERS: dict[str, Handler] = {"scf.for": _for, "scf.if": _if, "scf.while": _while}
