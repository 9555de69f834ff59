"""narrow-caches: key-value caches of 16-bit floats, or of bytes with a scale for each token of a head.

before:  %k = graph.concat %past, %new        tensor<1x4x9x64xf32>      %past is a cache, %k what it becomes
         %y = graph.attention %q, %k, %v      func.return %y, %k
after:   %n = graph.cast %new {to = f16}
         %k = graph.concat %past, %n          tensor<1x4x9x64xf16>
         %w = graph.cast %k {to = f32}
         %y = graph.attention %q, %w, %v      func.return %y, %k

What is only moved into caches is rounded before it is, and what reads them widens it: form-kernels lets attention do so
as it reads. With "int8" an element is a multiple of the largest one of its token and head, over 127; these scales are a
cache of their own, "NAME.scale", of which "PRESENT.scale" is the output. Caches that are computed with, and those that
are narrow already, stay as they are.

Runs only where it is asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr, bf16, f16, i8
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue, Use
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ....dialects.arguments import check_choice
from ....dialects.errors import UnsupportedError
from ....dialects.graph.base import GraphOp, named_location
from ....dialects.graph.host import NAME, main_of
from ....dialects.graph.kv_cache_attributes import CACHE, CacheAttr, cache_of
from ....dialects.graph.ops.conversion import CastOp
from ....dialects.graph.ops.elementwise import MaxOp, MulOp
from ....dialects.graph.ops.indexing import ScatterNdOp
from ....dialects.graph.ops.movement import ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from ....dialects.graph.ops.quantization import DequantizeOp, QuantizeOp
from ....dialects.graph.ops.reduction import ReduceMaxOp
from ....dialects.graph.ops.structure import ConstantOp
from ....dialects.graph.ops.unary import AbsOp
from ....dialects.graph.values import (
    element_type_of_value,
    int_attr,
    ints,
    is_float,
    numpy_dtype,
    shape_of,
    tensor,
)
from ...statistics import count
from ..support.pattern_utils import with_operands

LARGEST = 127.0
LEAST_SCALE = 1e-30
"""Of a token whose elements are zeros."""
BYTES = {"f16": 2, "bf16": 2, "int8": 1}
_MOVES = (ConcatOp, ScatterNdOp, PadOp, ReshapeOp, SliceOp, TransposeOp)


@dataclass(frozen=True)
class NarrowCaches(ModulePass):
    """Key-value caches of 16-bit floats, or of bytes with a scale for each token of a head."""

    name = "narrow-caches"

    type: str = "f16"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_choice("type", self.type, tuple(BYTES))
        main, narrowed = main_of(op, self.name), 0
        for argument, attributes in zip(list(main.args), list(main.arg_attrs or ()), strict=False):
            cache = cache_of(attributes)
            if cache is not None and numpy_dtype(element_type_of_value(argument)).itemsize > BYTES[self.type]:
                narrowed += _Narrowing(main, argument, cache, self.type).done()
        main.update_function_type()
        count(ctx, self.name, "caches", narrowed)
        if not narrowed:
            raise UnsupportedError(
                f"cache_type: the model only moves values into no cache that is wider than {self.type}"
            )


def _path(value: SSAValue, past: SSAValue, by_rows: bool) -> list[GraphOp] | None:
    """The moves from a cache to a value, in order; None if there is anything else. `by_rows`: moves of whole rows."""
    if value is past:
        return []
    op = value.owner
    if not isinstance(op, _MOVES) or (by_rows and not _moves_rows(op)):
        return None
    for operand in op.inputs if isinstance(op, ConcatOp) else (op.x,):
        if (path := _path(operand, past, by_rows)) is not None:
            return [*path, op]
    return None


def _moves_rows(op: GraphOp) -> bool:
    """Whether rows along the last axis stay whole and in place."""
    last = len(shape_of(op.results[0])) - 1
    match op:
        case ConcatOp():
            return op.axis.value.data != last
        case ScatterNdOp():
            return shape_of(op.indices)[-1] <= last
        case PadOp():
            return ints(op.low)[last] == ints(op.high)[last] == 0
        case SliceOp():
            return op.counts[last] == shape_of(op.x)[last] and ints(op.steps)[last] > 0
        case TransposeOp():
            return ints(op.permutation)[last] == last
        case _:
            return False


Parts = tuple[SSAValue, ...]
"""A narrow value: halves; or bytes, and their scales."""


class _Narrowing:
    """Narrows one cache."""

    def __init__(self, main: FuncOp, past: BlockArgument, cache: CacheAttr, type: str) -> None:
        self.main, self.past, self.cache = main, past, cache
        self.in_bytes, self.wide = type == "int8", element_type_of_value(past)
        self.narrow = {"f16": f16, "bf16": bf16, "int8": i8}[type]
        self.place = InsertPoint.at_start(main.body.block)
        self.location = named_location(f"{self._name(past)}.{type}")

    def done(self) -> bool:
        """Narrows the cache if the model only moves it; returns whether it did."""
        end = self.main.body.block.last_op
        assert isinstance(end, ReturnOp)
        present = end.operands[self.cache.place]
        path = _path(present, self.past, self.in_bytes)
        if path is None or not is_float(self.wide):
            return False
        inside: set[Operation] = {end, *path}
        read = [[use for use in value.uses if use.operation not in inside] for value in (self.past, *_results(path))]
        value = self._argument(end)
        self._widen(value, read[0])
        moved: SSAValue = self.past
        for op, uses in zip(path, read[1:], strict=True):
            self.place = InsertPoint.before(op)
            value, moved = self._moved(op, {moved: value}), op.results[0]
            self._widen(value, uses)
        end.operands[self.cache.place] = value[0]
        if self.in_bytes:
            end.operands = [*end.operands, value[1]]
        for op in reversed(path):
            Rewriter.erase_op(op)
        return True

    def _emit(self, op: GraphOp | ConstantOp) -> SSAValue:
        op.location = self.location
        Rewriter.insert_op(op, self.place)
        return op.results[0]

    def _name(self, argument: BlockArgument) -> str:
        found = list(self.main.arg_attrs or ())[argument.index].data.get(NAME)
        return found.data if isinstance(found, StringAttr) else f"input{argument.index}"

    def _argument(self, end: ReturnOp) -> Parts:
        """The narrow cache as an argument, with one more for its scales."""
        name, number = self._name(self.past), self.past.index
        retyped = Rewriter.replace_value_with_new_type(self.past, tensor(self.narrow, shape_of(self.past)))
        assert isinstance(retyped, BlockArgument)
        self.past = retyped
        given = list(self.main.arg_attrs or ())
        given[number] = DictionaryAttr({**given[number].data, CACHE: _of_elements(self.cache, self.narrow)})
        parts: Parts = (self.past,)
        if self.in_bytes:
            output, place = f"{self.cache.output.data}.scale", len(end.operands)
            scales = _of_elements(self.cache, self.wide, output, place)
            parts += (self.main.body.block.insert_arg(scales.past, len(given)),)
            given.append(DictionaryAttr({NAME: StringAttr(f"{name}.scale"), CACHE: scales}))
            results = [*(self.main.res_attrs or ())] or [DictionaryAttr({})] * place
            self.main.res_attrs = ArrayAttr([*results, DictionaryAttr({NAME: StringAttr(output)})])
        self.main.arg_attrs = ArrayAttr(given)
        return parts

    def _moved(self, op: GraphOp, known: dict[SSAValue, Parts]) -> Parts:
        """The same move of narrow values; those that are not `known` are narrowed first."""
        for operand in op.operands:
            if element_type_of_value(operand) == self.wide and operand not in known:
                known[operand] = self._narrowed(operand)
        made: list[SSAValue] = []
        for part in range(1 + self.in_bytes):
            operands = [known[each][part] if each in known else each for each in op.operands]
            changed = op.resized(len(shape_of(op.results[0])) - 1, 1) if part else {}
            made.append(self._emit(with_operands(op, operands, **changed)))
        return tuple(made)

    def _narrowed(self, value: SSAValue) -> Parts:
        if not self.in_bytes:
            return (self._emit(CastOp(value, self.narrow)),)
        dtype = numpy_dtype(self.wide)
        last = len(shape_of(value)) - 1
        least, over = (
            self._emit(ConstantOp.from_numpy(np.array(number, dtype), self.location))
            for number in (LEAST_SCALE, 1 / LARGEST)
        )
        largest = self._emit(ReduceMaxOp(self._emit(AbsOp(value)), (last,), True))
        scale = self._emit(MaxOp(self._emit(MulOp(largest, over)), least))
        return self._emit(QuantizeOp(value, scale, None, i8)), scale

    def _widen(self, value: Parts, uses: Sequence[Use]) -> None:
        """Lets uses of the wide value read the narrow one, widened."""
        if uses:
            wide = self._emit(DequantizeOp(value[0], value[1]) if self.in_bytes else CastOp(value[0], self.wide))
            for use in uses:
                use.operation.operands[use.index] = wide


def _results(ops: Sequence[GraphOp]) -> list[SSAValue]:
    return [op.results[0] for op in ops]


def _of_elements(cache: CacheAttr, element: Attribute, output: str = "", place: int = 0) -> CacheAttr:
    """A cache of other elements; with an `output` that of one element for each row."""
    types = [cast("Sequence[int]", each.get_shape()) for each in (cache.past, cache.present, cache.room)]
    made = [tensor(element, (*shape[:-1], 1) if output else shape) for shape in types]
    name, number = (StringAttr(output), int_attr(place)) if output else (cache.output, cache.number)
    return CacheAttr(name, number, *made)
