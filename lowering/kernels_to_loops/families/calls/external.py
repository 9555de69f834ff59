"""A call of a user's compiled function.

    const void *inputs[] = {x, NULL, w};      void *outputs[] = {y};
    int64_t numbers[] = {2, 4, 8,  0,  2, 8, 8,  2, 4, 8};      each rank, then its sizes
    const int64_t *sizes[] = {numbers + 1, numbers + 4, ...};
    int64_t attributes[] = {...};             each 8 bytes: an integer, a float, or a pointer and a count
    function(inputs, outputs, scratch, sizes, attributes, thread, threads);

The tables are on the stack. A function that takes no shares is called by the thread with the first one.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from xdsl.dialects import memref
from xdsl.dialects.builtin import DictionaryAttr, i64
from xdsl.ir import SSAValue

from .....dialects.extensions.arith import IndexCastOp
from .....dialects.graph.ops.external import ABSENT, ExternalCallOp
from .....dialects.graph.values import shape_of
from .....dialects.kernel.calls import OPERATOR
from .....dialects.operators.attribute_words import WORD, packed
from .....passes.kernels.kernel_facts import the_root
from .....passes.kernels.schedules.cpu.external import BYTE, unread
from ....kernel_code.loop_builder import INDEX, Index, LoopBuilder
from ...kernel_instance import KernelInstance


def lower(k: KernelInstance) -> None:
    """Builds the call."""
    op = the_root(k.kernel, ExternalCallOp)
    if op.threads is not None:
        _call(k, op, k.thread, k.threads)
        return
    if isinstance(k.thread, int):
        _call(k, op, 0, 1)
        return
    k.b.when(k.b.compare("eq", k.thread, 0), lambda: _call(k, op, 0, 1))


def function_name(op: ExternalCallOp) -> str:
    """The name of the operator's function in code: `operator_my_domain_MyOp_1`."""
    parts = ("operator", op.domain.data, op.operator.data, str(op.since.value.data))
    return "_".join("".join(each if each.isalnum() and each.isascii() else "_" for each in part) for part in parts)


def _call(k: KernelInstance, op: ExternalCallOp, thread: Index, threads: Index) -> None:
    b = k.b
    operands = [k.buffer_of(value) for value in op.operands]
    outputs = [_output(k, op, number) for number in range(len(op.results))]
    inputs = [None if each == ABSENT else operands[each] for each in op.input_operands]
    nothing = b.constant(0, i64)
    shapes = [() if each == ABSENT else shape_of(op.operands[each]) for each in op.input_operands]
    shapes += [shape_of(result) for result in op.results]
    numbers: list[SSAValue] = []
    starts: list[int] = []
    for shape in shapes:
        numbers.append(b.constant(len(shape), i64))
        starts.append(len(numbers))
        numbers += [b.constant(size, i64) for size in shape]
    sizes = _table(b, numbers)
    scratch = k.scratch_part("scratch") if op.scratch is not None else b.alloca(BYTE, [1])
    arguments = [
        _table(b, [nothing if each is None else _address(b, each) for each in inputs]),
        _table(b, [_address(b, each) for each in outputs]),
        scratch,
        _table(b, [_address(b, sizes, WORD * start) for start in starts]),
        _attributes(b, op.values),
    ]
    places = [b.place(each, 0) for each in arguments]
    identity = DictionaryAttr({"domain": op.domain, "name": op.operator, "since": op.since})
    types = [*(each.type for each in places), INDEX, INDEX]
    b.call(k.common.declared(function_name(op), types, {OPERATOR: identity}), [*places, thread, threads])


def _output(k: KernelInstance, op: ExternalCallOp, number: int) -> SSAValue:
    result = op.results[number]
    return k.results[k.yielded.index(result)] if result in k.yielded else k.scratch_part(unread(number))


def _table(b: LoopBuilder, words: Sequence[SSAValue]) -> SSAValue:
    """A table of words on the stack."""
    table = b.alloca(i64, [max(1, len(words))])
    for index, word in enumerate(words):
        b.store(word, table, [index])
    return table


def _address(b: LoopBuilder, buffer: SSAValue, more: int = 0) -> SSAValue:
    """The address of a buffer's first element, plus some bytes, as a word."""
    at = b.insert(memref.ExtractAlignedPointerAsIndexOp.get(b.place(buffer, 0)))
    return b.insert(IndexCastOp(b.index(b.add(at, more)), i64))


def _attributes(b: LoopBuilder, values: dict[str, Any]) -> SSAValue:
    """The structure of attributes: a word for a number, and a pointer and a count for a text or a list."""
    words: list[SSAValue] = []
    for value in values.values():
        if isinstance(value, str | list):
            data, count = packed(value)
            items = struct.unpack(f"<{len(data) // WORD}q", data)
            words += [_address(b, _table(b, [b.constant(each, i64) for each in items])), b.constant(count, i64)]
        else:
            (word,) = struct.unpack("<q", packed(value)[0])
            words.append(b.constant(word, i64))
    return _table(b, words)
