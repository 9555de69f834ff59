"""Data movement: reshape, transpose, concat, split, slice, expand, tile, pad."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from ....dialects.graph.base import broadcasts_to
from ....dialects.graph.ops.elementwise import WhereOp
from ....dialects.graph.ops.movement import ConcatOp, PadOp, SliceOp, TransposeOp
from ....dialects.graph.values import shape_of
from ....dialects.sizes.sizes import equal, is_fixed, smaller
from ..node import Handler, Node


def _reshape(node: Node) -> SSAValue:
    x, shape = node.operand(0), node.ints_operand(1)
    if not node.flag("allowzero"):
        if not all(shape[len(shape_of(x)) :]):
            raise node.invalid(f"shape {shape} copies a dimension that the operand {shape_of(x)} doesn't have")
        shape = [size if size else shape_of(x)[axis] for axis, size in enumerate(shape)]
    return node.reshape(x, _inferred(node, shape, prod(shape_of(x))))


def _inferred(node: Node, shape: Sequence[int], elements: int) -> list[int]:
    """The shape with its -1 inferred from the number of elements."""
    known = prod(size for size in shape if size != -1)
    count = list(shape).count(-1)
    if count > 1 or any(size < -1 for size in shape):
        raise node.invalid(f"shape {list(shape)} is invalid: at most one -1, and no other negative size")
    if count == 0:
        result = list(shape)
    else:
        result = [(elements // known if known else 0) if size == -1 else size for size in shape]
    if not equal(prod(result), elements):
        raise node.invalid(f"{elements} elements can't take the shape {list(shape)}")
    return result


def _flatten(node: Node) -> SSAValue:
    x = node.operand()
    shape = shape_of(x)
    axis = node.integer("axis", 1)
    if not -len(shape) <= axis <= len(shape):
        raise node.invalid(f"axis {axis} is outside of a tensor of rank {len(shape)}")
    axis = axis + len(shape) if axis < 0 else axis
    return node.reshape(x, (prod(shape[:axis]), prod(shape[axis:])))


def _squeeze(node: Node) -> SSAValue:
    x = node.operand(0)
    shape = shape_of(x)
    axes = node.ints_attribute_or_operand("axes", 1)
    if axes is None:
        return node.reshape(x, [size for size in shape if not equal(size, 1)])
    dropped = {node.normal_axis(axis, len(shape)) for axis in axes}
    for axis in dropped:
        if not equal(shape[axis], 1):
            raise node.invalid(f"axis {axis} has {shape[axis]} elements and can't be dropped")
    return node.reshape(x, [size for axis, size in enumerate(shape) if axis not in dropped])


def _unsqueeze(node: Node) -> SSAValue:
    x = node.operand(0)
    axes = node.ints_attribute_or_operand("axes", 1)
    if axes is None:
        raise node.malformed("axes are missing")
    rank = len(shape_of(x)) + len(axes)
    added = {node.normal_axis(axis, rank) for axis in axes}
    if len(added) != len(axes):
        raise node.invalid(f"axes {axes} name a dimension twice")
    sizes = iter(shape_of(x))
    return node.reshape(x, [1 if axis in added else next(sizes) for axis in range(rank)])


def _transpose(node: Node) -> SSAValue:
    x = node.operand()
    rank = len(shape_of(x))
    permutation = node.integers("perm") or list(reversed(range(rank)))
    if permutation == list(range(rank)):
        return x
    return node.emit(TransposeOp(x, permutation))


def _concat(node: Node) -> SSAValue:
    parts = node.operands()
    axis = node.axis(1, len(shape_of(parts[0])))
    parts = [part for part in parts if shape_of(part)[axis : axis + 1] != (0,)] or parts[:1]
    if len(parts) == 1:
        return parts[0]
    return node.emit(ConcatOp(parts, axis))


def slice_axis(node: Node, x: SSAValue, axis: int, start: int, stop: int) -> SSAValue:
    """Elements [start, stop) along one axis; the value itself if that is all of it."""
    shape = shape_of(x)
    if (start, stop) == (0, shape[axis]):
        return x
    starts, stops = [0] * len(shape), list(shape)
    starts[axis], stops[axis] = start, stop
    return node.emit(SliceOp(x, starts, stops, [1] * len(shape)))


def _split(node: Node) -> list[SSAValue]:
    x, count = node.operand(0), len(node.proto.output)
    axis = node.axis(0, len(shape_of(x)))
    size = shape_of(x)[axis]
    lengths = node.ints_attribute_or_operand("split", 1)
    if lengths is None:
        if (stated := node.integer("num_outputs", count)) != count:
            raise node.malformed(f"num_outputs is {stated}, but there are {count} results")
        if node.opset < 18 and not equal(size % count, 0):
            raise node.invalid(f"can't split {size} elements into {count} equal parts")
        length = -(-size // count)
        lengths = [min(length, max(0, size - index * length)) for index in range(count)]
    if not equal(sum(lengths), size) or len(lengths) < len(node.proto.output):
        raise node.invalid(f"can't split {size} elements into {lengths} for {len(node.proto.output)} results")
    parts: list[SSAValue] = []
    start = 0
    for length in lengths:
        parts.append(slice_axis(node, x, axis, start, start + length))
        start += length
    return parts


def _slice(node: Node) -> SSAValue:
    if node.opset >= 10:
        return slice_by_operands(node)
    return _sliced(node, node.integers("starts") or [], node.integers("ends") or [], node.integers("axes"), None)


def slice_by_operands(node: Node) -> SSAValue:
    """Slice since opset 10, and ONNX Runtime's earlier DynamicSlice."""
    axes = node.ints_operand(3) if node.has_operand(3) else None
    steps = node.ints_operand(4) if node.has_operand(4) else None
    return _sliced(node, node.ints_operand(1), node.ints_operand(2), axes, steps)


def _sliced(
    node: Node, starts: Sequence[int], ends: Sequence[int], axes: Sequence[int] | None, steps: Sequence[int] | None
) -> SSAValue:
    x = node.operand(0)
    shape = shape_of(x)
    axes = list(range(len(starts))) if axes is None else [node.normal_axis(axis, len(shape)) for axis in axes]
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps):
        raise node.invalid(f"starts {starts}, ends {ends}, axes {axes} and steps {steps} differ in length")
    if len(set(axes)) < len(axes):
        raise node.invalid(f"axes {axes} name a dimension twice")
    full = [(0, size, 1) for size in shape]
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        if axis >= len(shape) or not step:
            raise node.invalid(f"can't slice axis {axis} of a tensor of rank {len(shape)} by step {step}")
        # ONNX's rule for slices is Python's: negative positions count from the end, and are clamped to the axis. But a
        # start before the axis is clamped to the first element even for negative steps.
        full[axis] = _clamped(start, end, step, shape[axis])
    if full == [(0, size, 1) for size in shape]:
        return x
    starts, stops, steps = zip(*full, strict=True)
    return node.emit(SliceOp(x, starts, stops, steps))


def _clamped(start: int, end: int, step: int, size: int) -> tuple[int, int, int]:
    """A slice clamped to an axis by Python's rule, except for a start before the axis."""
    if is_fixed(start, end, step, size):
        first, stop, step = slice(start, end, step).indices(size)
        return max(first, 0 if size else -1), stop, step
    low, high = (0, size) if step > 0 else (-1, size - 1)

    def clamped(at: int) -> int:
        at = at + size if at < 0 else at
        return low if at < low else smaller(at, high)

    first = clamped(start)
    return (first if first >= 0 else 0), clamped(end), step


def _expanded(size: int, wanted: int) -> int:
    """The broadcast of a size and a requested one."""
    if wanted == 1:
        return size
    free = size in (1, wanted) or is_fixed(wanted)
    return wanted if free or equal(size, wanted) or not equal(wanted, 1) else size


def _expand(node: Node) -> SSAValue:
    """Bidirectional broadcast: a 1 in the requested shape keeps the operand's size."""
    x, wanted = node.operand(0), node.ints_operand(1)
    have = list(shape_of(x))
    rank = max(len(have), len(wanted))
    have, wanted = [1] * (rank - len(have)) + have, [1] * (rank - len(wanted)) + wanted
    shape = [_expanded(size, other) for size, other in zip(have, wanted, strict=True)]
    if not broadcasts_to(have, shape):
        raise node.invalid(f"shape {list(shape_of(x))} can't be expanded to {wanted}")
    return node.broadcast(x, shape)


def _tile(node: Node) -> SSAValue:
    """[a, b] reshaped to [1, a, 1, b], broadcast to [r, a, s, b], and reshaped to [r * a, s * b]."""
    x, repeats = node.operand(0), node.ints_operand(1)
    shape = shape_of(x)
    if len(repeats) != len(shape) or min(repeats, default=0) < 0:
        raise node.invalid(f"repeats {repeats} don't fit an operand of rank {len(shape)}")
    if all(count == 1 for count in repeats):
        return x
    single = [size for pair in ((1, size) for size in shape) for size in pair]
    repeated = [size for pair in zip(repeats, shape, strict=True) for size in pair]
    spread = node.broadcast(node.reshape(x, single), repeated)
    return node.reshape(spread, [count * size for count, size in zip(repeats, shape, strict=True)])


def padded(node: Node) -> SSAValue:
    x, mode = node.operand(0), node.text("mode", "constant")
    rank = len(shape_of(x))
    if node.has_operand(1):
        pads, value = node.ints_operand(1), _filling(node, mode)
        axes = node.ints_operand(3) if node.has_operand(3) else None
    else:  # before opset 11
        pads, value, axes = node.integers("pads") or [], node.number("value", 0.0), None
    axes = list(range(rank)) if axes is None else [node.normal_axis(axis, rank) for axis in axes]
    if len(pads) != 2 * len(axes):
        raise node.invalid(f"pads {pads} need two entries for each of {len(axes)} axes")
    low, high = [0] * rank, [0] * rank
    for index, axis in enumerate(axes):
        low[axis], high[axis] = pads[index], pads[len(axes) + index]
    x = _crop(node, x, low, high)
    low, high = [max(0, amount) for amount in low], [max(0, amount) for amount in high]
    if not any(low) and not any(high):
        return x
    if not isinstance(value, SSAValue):
        return node.emit(PadOp(x, low, high, mode=mode, value=value))
    inside = node.emit(PadOp(node.broadcast(node.scalar(True, i1), shape_of(x)), low, high))
    return node.emit(WhereOp(inside, node.emit(PadOp(x, low, high)), value))


def _filling(node: Node, mode: str) -> float | SSAValue:
    """The padding value of mode constant: a number if it is known, else a value."""
    value = node.optional(2)
    if value is None or mode != "constant":
        return 0
    if not equal(prod(shape_of(value)), 1):
        raise node.invalid(f"operand 2 ({node.proto.input[2]}) must hold one number, got {prod(shape_of(value))}")
    known = node.known(value)
    if known is None or (known.dtype.kind in "iu" and int(float(known.item())) != known.item()):
        return node.reshape(value, ())  # the attribute of graph.pad is a float
    return float(known.item())


def _crop(node: Node, x: SSAValue, low: Sequence[int], high: Sequence[int]) -> SSAValue:
    """Applies negative padding, which crops."""
    for axis, (before, after) in enumerate(zip(low, high, strict=True)):
        x = slice_axis(node, x, axis, max(0, -before), shape_of(x)[axis] - max(0, -after))
    return x


def _depth_to_space(node: Node) -> SSAValue:
    x = node.operand()
    batch, channels, *spatial = shape_of(x)
    block = node.integer("blocksize", 0)
    rank = len(spatial)
    if block < 1 or channels % block**rank:
        raise node.invalid(f"blocksize {block} does not divide {channels} channels")
    depth = channels // block**rank
    blocks = list(range(1, rank + 1))
    if node.text("mode", "DCR") == "DCR":
        split, blocks, channel = [batch, *[block] * rank, depth, *spatial], blocks, rank + 1
    else:
        split, blocks, channel = [batch, depth, *[block] * rank, *spatial], [axis + 1 for axis in blocks], 1
    moved = [axis for index in range(rank) for axis in (rank + 2 + index, blocks[index])]
    value = node.emit(TransposeOp(node.reshape(x, split), [0, channel, *moved]))
    return node.reshape(value, [batch, depth, *(size * block for size in spatial)])


def _space_to_depth(node: Node) -> SSAValue:
    x = node.operand()
    batch, channels, *spatial = shape_of(x)
    block = node.integer("blocksize", 0)
    rank = len(spatial)
    if block < 1 or any(size % block for size in spatial):
        raise node.invalid(f"blocksize {block} does not divide the sizes {spatial}")
    split = [batch, channels, *(part for size in spatial for part in (size // block, block))]
    outer, inner = [2 + 2 * index for index in range(rank)], [3 + 2 * index for index in range(rank)]
    channel = [1, *inner] if node.text("mode", "DCR") == "CRD" else [*inner, 1]
    value = node.emit(TransposeOp(node.reshape(x, split), [0, *channel, *outer]))
    return node.reshape(value, [batch, channels * block**rank, *(size // block for size in spatial)])


def _dropout(node: Node) -> list[SSAValue]:
    """The identity, as dropout does nothing in inference; the mask, if used, is all ones."""
    x = node.operand(0)
    node.ignore("ratio", "seed", "is_test")
    if node.has_operand(2) and node.constant(2).any() and node.scalar_operand(1, 0.5) != 0:
        raise node.unsupported("training mode")
    if not node.wants(1):
        return [x]
    return [x, node.broadcast(node.scalar(True, i1 if node.opset >= 10 else x), shape_of(x))]


HANDLERS: dict[str, Handler] = {
    "Identity": lambda node: node.held(0),
    "Reshape": _reshape,
    "Flatten": _flatten,
    "Squeeze": _squeeze,
    "Unsqueeze": _unsqueeze,
    "Transpose": _transpose,
    "Concat": _concat,
    "Split": _split,
    "Slice": _slice,
    "Expand": _expand,
    "Tile": _tile,
    "Pad": padded,
    "DepthToSpace": _depth_to_space,
    "SpaceToDepth": _space_to_depth,
    "Dropout": _dropout,
}
