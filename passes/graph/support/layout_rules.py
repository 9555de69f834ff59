"""Rules to rebuild each op on operands held in another layout.

A rule gets the op and the held values, inserts what it makes, and says by `hold` in which permutation the
result is. It returns False for an op that has to see its operands as the graph says.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.graph.base import ElementwiseOp, GraphOp
from ....dialects.graph.ops.contraction import ConvOp, ConvTransposeOp
from ....dialects.graph.ops.movement import ConcatOp, ReshapeOp, TransposeOp
from ....dialects.graph.ops.normalization import BatchNormOp
from ....dialects.graph.ops.windows import LrnOp, MaxPoolIndexOp, PoolOp
from ....dialects.graph.values import int_attr, ints, shape_of, string_attr
from ....dialects.kernel.targets import CpuAttr, target_of
from ....dialects.sizes.sizes import is_fixed
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

LEADERS = (ConvOp, ConvTransposeOp, PoolOp, LrnOp, BatchNormOp)
"""Ops that ask for their layout, which others follow."""


def rebuild(op: GraphOp, held: HeldValues) -> bool:
    """Rebuilds an op in another layout if that is profitable; returns whether it did."""
    match op:
        case ElementwiseOp() | ConcatOp():
            return _of_any_layout(op, held)
        case _ if not isinstance(op, LEADERS) and not (op.operands and held.is_moved(op.operands[0])):
            return False
        case TransposeOp():
            return _transpose(op, held)
        case ReshapeOp():
            return _reshape(op, held)
        case _ if "layout" in op.properties and not isinstance(op, MaxPoolIndexOp):
            return _with_layout(op, held)
        case _:
            return len(op.operands) == 1 and _reordered(op, held)


def _with_layout(op: GraphOp, held: HeldValues) -> bool:
    """Convolutions and similar ops name their layout, which the other ops follow."""
    (x, *others), (result,) = op.operands, op.results
    rank = len(shape_of(x))
    if op.properties["layout"] != string_attr("NCHW") or rank < 3:
        return False
    turned, layout = _is_turned(op, held), channels_last(rank)
    changed: dict[str, Attribute] = {"layout": string_attr("NHWC")}
    if turned:
        layout = TURNED
        changed |= {name: _exchanged(op.properties[name]) for name in WINDOWS if name in op.properties}
    orders = [
        _EXCHANGED if turned and len(shape_of(each)) == rank else identity(len(shape_of(each))) for each in others
    ]
    operands = [held.get(x, layout), *map(held.get, others, orders)]
    held.hold(result, held.insert(with_operands(op, operands, **changed)), layout)
    return True


TURNED: Permutation = (0, 3, 2, 1)
"""From batch, channels, rows, columns to batch, columns, rows, channels: channels last, and pictures turned."""
_EXCHANGED: Permutation = (0, 1, 3, 2)
WINDOWS = ("kernel", "strides", "pads", "dilations")
"""Properties that have a number for each spatial axis, or two."""
NARROW = 7
"""Columns of results up to which pictures are turned, if they have at least twice as many rows.

Tiles of pixels lie along rows, and of short ones they don't hide the latency of multiply-adds: 5x5 filters over 64 x W
pixels of 160 channels take 0.52 of the time for W = 4, 0.76 for 6, 0.84 for 7, 0.92 for 8 (Zen 5).
"""


def _is_turned(op: GraphOp, held: HeldValues) -> bool:
    """Whether an op is computed on turned pictures: a convolution of narrow ones on a CPU, or what follows it."""
    x, result = op.operands[0], op.results[0]
    if len(shape_of(x)) != 4:
        return False
    if not isinstance(op, ConvOp):
        return isinstance(op, PoolOp | BatchNormOp) and held.home(x) == TURNED
    module = op.get_toplevel_object()
    on_cpu = isinstance(module, Operation) and isinstance(target_of(module), CpuAttr)
    height, width = shape_of(result)[2:]
    taps = shape_of(op.weight)[2:]
    if prod(taps) == 1 or op.groups.value.data != 1:
        return held.home(x) == TURNED
    return on_cpu and is_fixed(height, width) and width <= NARROW and 2 * width <= height


def _exchanged(numbers: Attribute) -> Attribute:
    """Those of rows for those of columns; pads are at the starts of both, then at the ends."""
    found = cast("DenseArrayBase[IntegerType]", numbers)
    given = ints(found)
    swapped = [given[index ^ 1] for index in range(len(given))]
    return DenseArrayBase.from_list(found.elt_type, swapped)


def _leading_permutation(operands: Sequence[SSAValue], rank: int, held: HeldValues) -> Permutation:
    """The permutation of most operand elements that are computed; a non-trivial one on a tie."""
    weights: dict[Permutation, int] = {}
    for operand in operands:
        if len(shape_of(operand)) == rank and not held.constants.is_constant(operand):
            home = held.home(operand)
            weights[home] = weights.get(home, 0) + prod(shape_of(operand))
    return max(weights, key=lambda home: (weights[home], not is_identity(home)), default=identity(rank))


def _of_any_layout(op: ElementwiseOp | ConcatOp, held: HeldValues) -> bool:
    """Any layout will do; operands of lower rank are spread to it."""
    (result,) = op.results
    permutation = _leading_permutation(op.operands, len(shape_of(result)), held)
    if is_identity(permutation):
        return False
    operands = [held.spread(operand, permutation) for operand in op.operands]
    held.hold(result, held.insert(with_operands(op, operands, **_properties(op, permutation))), permutation)
    return True


def _properties(op: GraphOp, permutation: Permutation) -> dict[str, Attribute]:
    """The properties that change if the axes of an op's first operand are permuted."""
    changed: dict[str, Attribute] = {}
    for name, value in op.properties.items():
        if name == "axis" and isinstance(value, IntegerAttr):
            changed[name] = int_attr(permutation.index(value.value.data))
        elif name == "axes" or name in op.PER_AXIS:
            numbers = cast("DenseArrayBase[IntegerType]", value)
            changed[name] = DenseArrayBase.from_list(numbers.elt_type, _moved(name, ints(numbers), permutation))
    return changed


def _moved(name: str, numbers: Sequence[int], permutation: Permutation) -> list[int]:
    if name == "axes":
        return sorted(map(permutation.index, numbers))
    return [numbers[first + axis] for first in range(0, len(numbers), len(permutation)) for axis in permutation]


def _reordered(op: GraphOp, held: HeldValues) -> bool:
    """Ops of one operand with attributes that name its axes, or have an entry for each."""
    (x,), (axes,) = op.operands, op.operand_axes()
    permutation = held.home(x)
    if op.PER_AXIS and len(axes) != len(shape_of(op.results[0])):
        return False
    changed = _properties(op, permutation)
    if not changed:
        return False
    new = held.insert(with_operands(op, [held.get(x, permutation)], **changed))
    _hold_or_replace(op, new, tuple(to for dim in permutation if (to := axes[dim].to) is not None), held)
    return True


def _hold_or_replace(op: GraphOp, new: SSAValue, permutation: Permutation, held: HeldValues) -> None:
    """Holds the result; if the permutation is the identity it replaces the result in the graph."""
    if is_identity(permutation):
        op.results[0].replace_all_uses_with(new)
    else:
        held.hold(op.results[0], new, permutation)


def _transpose(op: TransposeOp, held: HeldValues) -> bool:
    """Computes nothing: the same bytes under another permutation."""
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
