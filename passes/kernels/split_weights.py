"""split-weights: a kernel whose weights exceed a budget becomes several, for parts of its result.

before:  %y = graph.call @matmul_relu_0(%x, %w, %b)             %w : tensor<4096x25088xf32>, 411 MB
after:   %0 = graph.call @matmul_relu_0_of_2048(%x, %w0, %b0)   %w0: tensor<2048x25088xf32>
         %1 = graph.call @matmul_relu_0_of_2048(%x, %w1, %b1)
         %y = graph.call @matmul_relu_0_concat_0(%0, %1)        views of one buffer, once elide-copies has run

The weights of a call are needed together, so a budget (bytes) must hold those of each. Cut is an axis of the result
along which the whole body computes each element by itself, such as the columns of a product or the channels of a
convolution. The parts have the schedule that was chosen for the whole, so that sums are added up in the same order: the
bits are the same. What can't be cut so stays, and advise-weights tells of it. Between choose-schedule, which says how
weights will be packed, and pack-weights.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.graph.axes import Kept, Repeated
from ...dialects.graph.base import GraphOp
from ...dialects.graph.blobs import BlobAttr, BlobStore, blob_store
from ...dialects.graph.host import kernels_of
from ...dialects.graph.ops.movement import ConcatOp, SliceOp
from ...dialects.graph.ops.structure import CallOp, ConstantOp, KernelOp, WeightOp, YieldOp
from ...dialects.graph.values import AnyTensor, Array, element_type_of_value, shape_of, tensor, type_of
from ...dialects.kernel.kernel_attributes import FormAttr
from ...dialects.kernel.targets import Target, target_of
from ...dialects.sizes.sizes import is_fixed
from ..statistics import count
from .choose_schedule import packed_bytes, schedule_kernel
from .schedules import schedule_of

GRAIN = 64
"""Elements: parts are multiples of it, and so of a panel's columns and of a block of channels."""
LEAST_MARGIN, MARGIN = 2**17, 8
"""Bytes, and share, of a budget that a part leaves: pages are mapped in blocks, which it shares with other weights."""


@dataclass(frozen=True)
class SplitWeights(ModulePass):
    """A kernel whose weights exceed a budget becomes several, for parts of its result."""

    name = "split-weights"

    budget: int = 0
    """Bytes of weights that may be resident; 0 for any number."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target, most = target_of(op), self.budget - max(LEAST_MARGIN, self.budget // MARGIN)
        calls = [each for each in op.walk() if isinstance(each, CallOp)]
        for name, kernel in kernels_of(op).items() if self.budget else ():
            if packed_bytes(kernel, schedule_of(kernel, target.device)) <= most:
                continue
            cut = next(_cuts(kernel, most, target), None)
            if cut is None:
                continue
            parts = _Parts(op, blob_store(ctx), target, cut)
            for call in [each for each in calls if each.callee.string_value() == name]:
                count(ctx, self.name, "parts of calls", parts.replace(call))
            kernel.detach()
            kernel.erase()


@dataclass(frozen=True)
class _Cut:
    """A kernel cut along an axis of its result, `step` elements at a time."""

    kernel: KernelOp
    axis: int
    along: dict[SSAValue, int | None]
    """For each value of the body, its axis that is cut with that of the result; None for one that is read whole."""
    step: int


def _cuts(kernel: KernelOp, most: int, target: Target) -> Iterator[_Cut]:
    """The ways to cut a kernel into parts with at most so many bytes of weights, along its last axes first."""
    if len(kernel.terminator.arguments) != 1:
        return
    shape = shape_of(kernel.terminator.arguments[0])
    for axis in reversed(range(len(shape))):
        along = _values_along(kernel, axis) if is_fixed(shape[axis]) else None
        if along is None:
            continue
        size = shape[axis]
        for number in range(2, -(-size // GRAIN) + 1):
            step = -(-size // (number * GRAIN)) * GRAIN
            part = _part(_Cut(kernel, axis, along, step), step, target)
            if packed_bytes(part, schedule_of(part, target.device)) <= most:
                yield _Cut(kernel, axis, along, step)
                break


def _values_along(kernel: KernelOp, axis: int) -> dict[SSAValue, int | None] | None:
    """`_Cut.along` for an axis of the result; None if the body doesn't compute each element along it by itself."""
    along: dict[SSAValue, int | None] = {kernel.terminator.arguments[0]: axis}
    for op in reversed(list(kernel.body.block.ops)):
        if isinstance(op, YieldOp):
            continue
        if not isinstance(op, GraphOp) or len(op.results) != 1:
            return None
        here = along.setdefault(op.results[0], None)
        if here is not None and isinstance(op, ConstantOp) and not op.value.is_splat():
            return None
        for operand, axes in zip(op.operands, op.operand_axes(), strict=True):
            meeting = {} if here is None else {place: each for place, each in enumerate(axes) if each.to == here}
            kept = [place for place, each in meeting.items() if isinstance(each, Kept)]
            if len(kept) > 1 or any(not isinstance(each, Kept | Repeated) for each in meeting.values()):
                return None
            wanted = kept[0] if kept else None
            if along.setdefault(operand, wanted) != wanted:
                return None
    return along


def _part(cut: _Cut, size: int, target: Target) -> KernelOp:
    """The kernel for `size` elements of the axis, with the whole's schedule."""
    kernel, along = cut.kernel, cut.along
    types = [
        argument.type if (axis := along.get(argument)) is None else _resized(argument, axis, size)
        for argument in kernel.arguments
    ]
    part = KernelOp(f"{kernel.sym_name.data}_of_{size}", types, [], location=kernel.location)
    part.attributes.update(kernel.attributes)
    values: dict[SSAValue, SSAValue] = dict(zip(kernel.arguments, part.arguments, strict=True))
    for op in kernel.body.block.ops:
        if isinstance(op, YieldOp):
            part.body.block.add_op(YieldOp(*(values[each] for each in op.operands)))
            continue
        assert isinstance(op, GraphOp)
        axis = along[op.results[0]]
        made = op.clone(values) if axis is None else _resized_op(op, axis, size, [values[each] for each in op.operands])
        part.body.block.add_op(made)
        values[op.results[0]] = made.results[0]
    part.refresh_type()
    part.form, part.schedule = kernel.form, kernel.schedule
    part.interface = schedule_of(part, target.device).interface(part)
    return part


def _resized(value: SSAValue, axis: int, size: int) -> AnyTensor:
    shape = shape_of(value)
    return tensor(element_type_of_value(value), (*shape[:axis], size, *shape[axis + 1 :]))


def _resized_op(op: GraphOp, axis: int, size: int, operands: Sequence[SSAValue]) -> Operation:
    """The op for `size` elements of an axis of its result; a constant is a splat."""
    type = _resized(op.results[0], axis, size)
    if isinstance(op, ConstantOp):
        return ConstantOp.from_numpy(np.broadcast_to(op.to_numpy().flat[0], type.get_shape()), op.location)
    return op.__class__.create(
        operands=operands,
        result_types=[type],
        properties={**op.properties, **op.resized(axis, size)},
        attributes=dict(op.attributes),
        location=op.location,
    )


class _Parts:
    """Replaces calls of a kernel by calls of its parts."""

    def __init__(self, module: ModuleOp, store: BlobStore, target: Target, cut: _Cut) -> None:
        self._module, self._store, self._target, self._cut = module, store, target, cut
        self._parts: dict[int, KernelOp] = {}
        self._moves: dict[str, KernelOp] = {}

    def replace(self, call: CallOp) -> int:
        """Replaces one call; returns the number of parts."""
        cut, here = self._cut, InsertPoint.before(call)
        size = shape_of(call.results[0])[cut.axis]
        results: list[SSAValue] = []
        for start in range(0, size, cut.step):
            length = min(cut.step, size - start)
            operands = [
                operand
                if (axis := cut.along.get(argument)) is None
                else self._slice(operand, axis, start, length, here)
                for argument, operand in zip(cut.kernel.arguments, call.operands, strict=True)
            ]
            part = self._part(length)
            made = CallOp(part.sym_name.data, operands, part.function_type.outputs.data, location=call.location)
            Rewriter.insert_op(made, here)
            results.append(made.results[0])
        whole = self._move(results, lambda parts: ConcatOp(parts, cut.axis), here)
        whole.name_hint = call.results[0].name_hint
        Rewriter.replace_op(call, [], [whole])
        return len(results)

    def _part(self, length: int) -> KernelOp:
        if length not in self._parts:
            self._parts[length] = _part(self._cut, length, self._target)
            self._module.body.block.add_op(self._parts[length])
        return self._parts[length]

    def _slice(self, value: SSAValue, axis: int, start: int, length: int, here: InsertPoint) -> SSAValue:
        """A part of an operand: of a weight another weight, of a computed one a call that moves it."""
        weight, shape = value.owner, shape_of(value)
        if isinstance(weight, WeightOp):
            part = WeightOp(self._blob(weight, axis, start, length), _resized(value, axis, length), weight.location)
            Rewriter.insert_op(part, InsertPoint.before(weight))
            return part.result
        starts = [start if each == axis else 0 for each in range(len(shape))]
        stops = [start + length if each == axis else size for each, size in enumerate(shape)]
        return self._move([value], lambda whole: SliceOp(whole[0], starts, stops), here)

    def _blob(self, weight: WeightOp, axis: int, start: int, length: int) -> BlobAttr:
        """The bytes of a part of a weight."""
        blob, shape = weight.blob, shape_of(weight.result)
        if axis == 0 and blob.file.data:
            row = blob.nbytes.data // shape[0]
            return self._store.add_file(blob.file.data, blob.offset.data + start * row, length * row)
        take = partial(_take, axis, start, length)
        part = _resized(weight.result, axis, length)
        return self._store.add_made(part, [(blob, type_of(weight.result))], f"part {axis} {start} {length}", take)

    def _move(
        self, operands: Sequence[SSAValue], make: Callable[[Sequence[SSAValue]], ConcatOp | SliceOp], here: InsertPoint
    ) -> SSAValue:
        """The result of a call of a kernel with one op that moves operands."""
        kernel = KernelOp("", [each.type for each in operands], [], location=self._cut.kernel.location)
        op = make(kernel.arguments)
        kernel.body.block.add_ops([op, YieldOp(op.result)])
        kernel.refresh_type()
        known = self._moves.setdefault(str(kernel), kernel)
        if known is kernel:
            kind = op.name.removeprefix("graph.")
            kernel.sym_name = StringAttr(f"{self._cut.kernel.sym_name.data}_{kind}_{len(self._moves) - 1}")
            kernel.form = FormAttr.of(op.FORM)
            schedule_kernel(kernel, self._target)
            self._module.body.block.add_op(kernel)
        call = CallOp(known.sym_name.data, operands, known.function_type.outputs.data, location=kernel.location)
        Rewriter.insert_op(call, here)
        return call.results[0]


def _take(axis: int, start: int, length: int, arrays: Sequence[Array], out: Array) -> None:
    """Copies a part of an array."""
    out[...] = arrays[0][(*[slice(None)] * axis, slice(start, start + length))]
