"""How each op is rebuilt where its operands are held in another layout.

A rule gets the op and the held values, inserts what it makes, and says by `hold` in which permutation the
result is. It returns False for an op that has to see its operands as the graph says.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TypeAlias

from xdsl.ir import SSAValue

from ....dialects.graph.base import ElementwiseOp, GraphOp
from ....dialects.graph.ops.contraction import ConvOp, ConvTransposeOp
from ....dialects.graph.ops.movement import BroadcastToOp, ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from ....dialects.graph.ops.normalization import BatchNormOp
from ....dialects.graph.ops.picture_regions import RoiAlignOp, RoiPoolOp
from ....dialects.graph.ops.reduction import ArgMaxOp, ArgMinOp, CumulativeOp, LogSoftmaxOp, ReduceOp, SoftmaxOp
from ....dialects.graph.ops.resize import ResizeOp
from ....dialects.graph.ops.sampling import SampleOp
from ....dialects.graph.ops.windows import AvgPoolOp, LrnOp, MaxPoolOp
from ....dialects.graph.values import floats_attr, int_attr, ints, ints_attr, shape_of, string_attr
from ...geometry.shape_maps import (
    Group,
    Permutation,
    channels_last,
    compose,
    identity,
    inverse,
    is_identity,
    permuted,
    reshape_groups,
)
from .layouts import HeldValues
from .pattern_utils import with_operands

WithLayout: TypeAlias = (
    ConvOp | ConvTransposeOp | MaxPoolOp | AvgPoolOp | LrnOp | BatchNormOp | SampleOp | RoiAlignOp | RoiPoolOp
)
AlongAxis: TypeAlias = SoftmaxOp | LogSoftmaxOp | CumulativeOp


def rebuild(op: GraphOp, held: HeldValues) -> bool:
    """Rebuilds an op in another layout where that is of use; returns whether it did."""
    match op:
        case ConvOp() | ConvTransposeOp() | MaxPoolOp() | AvgPoolOp() | LrnOp() | BatchNormOp():
            return _with_layout(op, held)
        case ElementwiseOp():
            return _elementwise(op, held)
        case ConcatOp():
            return _concat(op, held)
        case _ if not op.operands or not held.is_moved(op.operands[0]):
            return False
        case TransposeOp():
            return _transpose(op, held)
        case ReshapeOp():
            return _reshape(op, held)
        case SampleOp() | RoiAlignOp() | RoiPoolOp():
            return _with_layout(op, held)
        case ReduceOp() | ArgMaxOp() | ArgMinOp():
            return _reduce(op, held)
        case SoftmaxOp() | LogSoftmaxOp() | CumulativeOp():
            return _along_axis(op, held)
        case SliceOp():
            return _dim_by_dim(op, held, "starts", "stops", "steps")
        case PadOp():
            return _dim_by_dim(op, held, "low", "high")
        case ResizeOp() if op.roi is None:
            return _resize(op, held)
        case BroadcastToOp() if len(shape_of(op.x)) == len(shape_of(op.result)):
            return _dim_by_dim(op, held, "shape")
        case _:
            return False


def _with_layout(op: WithLayout, held: HeldValues) -> bool:
    """Convolutions and their like name their layout: they are what everything else follows."""
    rank = len(shape_of(op.x))
    if op.layout.data != "NCHW" or rank < 3:
        return False
    permutation = channels_last(rank)
    others = [held.get(operand, identity(len(shape_of(operand)))) for operand in op.operands[1:]]
    new = with_operands(op, [held.get(op.x, permutation), *others], layout=string_attr("NHWC"))
    held.hold(op.result, held.insert(new), channels_last(len(shape_of(op.result))))
    return True


def _leading_permutation(operands: Sequence[SSAValue], rank: int, held: HeldValues) -> Permutation:
    """The permutation in which most elements of the operands are made; a moved one where that is a tie."""
    weights: dict[Permutation, int] = {}
    for operand in operands:
        if len(shape_of(operand)) == rank and not held.constants.is_constant(operand):
            home = held.home(operand)
            weights[home] = weights.get(home, 0) + prod(shape_of(operand))
    return max(weights, key=lambda home: (weights[home], not is_identity(home)), default=identity(rank))


def _elementwise(op: ElementwiseOp, held: HeldValues) -> bool:
    """Any layout will do; operands of lower rank are spread to it."""
    result = op.results[0]
    permutation = _leading_permutation(op.operands, len(shape_of(result)), held)
    if is_identity(permutation):
        return False
    new = with_operands(op, [held.spread(operand, permutation) for operand in op.operands])
    held.hold(result, held.insert(new), permutation)
    return True


def _concat(op: ConcatOp, held: HeldValues) -> bool:
    permutation = _leading_permutation(op.inputs, len(shape_of(op.result)), held)
    if is_identity(permutation):
        return False
    axis = int_attr(permutation.index(op.axis.value.data))
    new = with_operands(op, [held.get(operand, permutation) for operand in op.inputs], axis=axis)
    held.hold(op.result, held.insert(new), permutation)
    return True


def _dim_by_dim(op: SliceOp | PadOp | BroadcastToOp, held: HeldValues, *names: str) -> bool:
    """Ops whose attributes have an entry per dim."""
    permutation = held.home(op.x)
    changed = {name: ints_attr(permuted(ints(getattr(op, name)), permutation)) for name in names}
    held.hold(op.result, held.insert(with_operands(op, [held.get(op.x, permutation)], **changed)), permutation)
    return True


def _resize(op: ResizeOp, held: HeldValues) -> bool:
    permutation = held.home(op.x)
    scales = op.scales.get_values()
    changed = {
        "shape": ints_attr(permuted(ints(op.shape), permutation)),
        "scales": floats_attr([scales[dim] for dim in permutation]),
    }
    held.hold(op.result, held.insert(with_operands(op, [held.get(op.x, permutation)], **changed)), permutation)
    return True


def _along_axis(op: AlongAxis, held: HeldValues) -> bool:
    permutation = held.home(op.x)
    axis = int_attr(permutation.index(op.axis.value.data))
    held.hold(op.result, held.insert(with_operands(op, [held.get(op.x, permutation)], axis=axis)), permutation)
    return True


def _reduce(op: ReduceOp | ArgMaxOp | ArgMinOp, held: HeldValues) -> bool:
    permutation = held.home(op.x)
    copy = held.get(op.x, permutation)
    axes = ints(op.axes) if isinstance(op, ReduceOp) else (op.axis.value.data,)
    places = sorted(permutation.index(axis) for axis in axes)
    if isinstance(op, ReduceOp):
        new = held.insert(with_operands(op, [copy], axes=ints_attr(places)))
    else:
        new = held.insert(with_operands(op, [copy], axis=int_attr(places[0])))
    if op.keepdims is None:
        kept = [dim for dim in permutation if dim not in axes]
        permutation = tuple(sorted(kept).index(dim) for dim in kept)
    _hold_or_replace(op, new, permutation, held)
    return True


def _hold_or_replace(op: GraphOp, new: SSAValue, permutation: Permutation, held: HeldValues) -> None:
    """Holds the result; one that the graph sees the same way is simply replaced."""
    if is_identity(permutation):
        op.results[0].replace_all_uses_with(new)
    else:
        held.hold(op.results[0], new, permutation)


def _transpose(op: TransposeOp, held: HeldValues) -> bool:
    """Nothing is computed: the same bytes are seen in another way."""
    copy = held.get(op.x, held.home(op.x))
    permutation = compose(inverse(ints(op.permutation)), held.home(op.x))
    _hold_or_replace(op, copy, permutation, held)
    return True


def _reshape(op: ReshapeOp, held: HeldValues) -> bool:
    """Dims that are split or merged stay together, in their order; groups of them stay where they are."""
    groups = reshape_groups(shape_of(op.x), shape_of(op.result))
    if groups is None:
        return False
    ordered = _ordered_groups(groups, held.home(op.x), shape_of(op.x))
    wanted = tuple(dim for group in ordered for dim in group.source)
    permutation = tuple(dim for group in ordered for dim in group.target)
    shape = permuted(shape_of(op.result), permutation)
    new = held.insert(ReshapeOp(held.get(op.x, wanted), shape, location=op.location))
    _hold_or_replace(op, new, permutation, held)
    return True


def _ordered_groups(groups: Sequence[Group], home: Permutation, shape: Sequence[int]) -> list[Group]:
    """The groups in the order in which their first dim larger than 1 is held; new dims keep their place."""
    places: list[tuple[int, int]] = []
    place = -1
    for index, group in enumerate(groups):
        if group.source:
            first = next((dim for dim in group.source if shape[dim] != 1), group.source[0])
            place = home.index(first)
        places.append((place, index))
    return [groups[index] for _, index in sorted(places)]
