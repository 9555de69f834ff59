"""Operators that move elements: shapes, permutations, joining, cutting, gathering and scattering."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from fuzz.growth import Growth, Maker, Misfit, Value


def listed(g: Growth, op: str, x: Value, name: str, numbers: Sequence[int]) -> None:
    """Adds an operator whose integers are an attribute in old opsets and an operand in new ones."""
    if g.takes(op, name):
        g.add(op, x, g.constant(list(numbers)), moves=True)
    else:
        g.add(op, x, moves=True, **cast(Any, {name: list(numbers)}))


def reshape(g: Growth) -> None:
    x = g.pick()
    shape = list(x.shape)
    if x.array.size == 1:
        g.add("Reshape", x, g.constant(np.ones(g.integer(0, 5), np.int64)), moves=True)
        return
    at = g.integer(0, len(shape))
    if g.chance(0.4) and at + 1 < len(shape):
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    elif shape[at] % 2 == 0 and shape[at] and g.chance(0.6):
        shape[at : at + 1] = [2, shape[at] // 2] if g.chance(0.5) else [shape[at] // 2, 2]
    elif g.chance(0.5):
        shape.insert(at, 1)
    elif 1 in shape:
        shape.remove(1)
    else:
        shape = [x.array.size]
    if shape and 0 not in shape and g.chance(0.3):
        shape[g.integer(0, len(shape))] = -1
    g.add("Reshape", x, g.constant(shape), moves=True)


def flatten(g: Growth) -> None:
    x = g.pick(lambda value: value.rank > 0)
    g.add("Flatten", x, moves=True, axis=g.integer(0, x.rank + 1))


def squeeze(g: Growth) -> None:
    x = g.pick(lambda value: 1 in value.shape)
    axes = [axis for axis, size in enumerate(x.shape) if size == 1 and g.chance(0.7)]
    if not axes:
        raise Misfit
    listed(g, "Squeeze", x, "axes", axes)


def unsqueeze(g: Growth) -> None:
    x = g.pick()
    rank: int = x.rank + g.choose([1, 1, 2])
    axes = np.sort(g.random.permutation(rank)[x.rank :]).tolist()
    listed(g, "Unsqueeze", x, "axes", axes)


def transpose(g: Growth) -> None:
    x = g.pick(lambda value: value.rank > 0)
    permutation = [int(axis) for axis in g.random.permutation(x.rank)]
    g.add("Transpose", x, moves=True, perm=permutation if g.chance(0.9) else None)


def concat(g: Growth) -> None:
    x = g.pick(lambda value: value.rank > 0)
    axis = g.axis(x)
    others = {index: size for index, size in enumerate(x.shape) if index != axis}

    def fits(value: Value) -> bool:
        same = value.rank == x.rank and value.array.dtype == x.array.dtype
        return same and all(value.shape[index] == size for index, size in others.items())

    parts = [x, *(g.pick(fits) for _ in range(g.integer(0, 3)))]
    if g.chance(0.3):
        shape = list(x.shape)
        shape[axis] = g.integer(1, 5)
        parts.insert(g.integer(0, len(parts)), g.weight(shape, x.array.dtype))
    g.add("Concat", *parts, moves=True, axis=g.signed(axis, x.rank))


def split(g: Growth) -> None:
    x = g.pick(lambda value: any(size > 1 for size in value.shape))
    axis: int = g.choose([axis for axis, size in enumerate(x.shape) if size > 1])
    size = x.shape[axis]
    count = g.integer(2, min(size, 4) + 1)
    cuts = sorted(int(cut) for cut in g.random.integers(0, size + 1, count - 1))
    lengths = [high - low for low, high in zip([0, *cuts], [*cuts, size], strict=True)]
    if size % count == 0 and g.chance(0.4):
        counted = g.has("Split", "num_outputs")
        g.add("Split", x, results=count, moves=True, axis=axis, num_outputs=count if counted else None)
    elif g.takes("Split", "split"):
        g.add("Split", x, g.constant(lengths), results=count, moves=True, axis=axis)
    else:
        g.add("Split", x, results=count, moves=True, axis=axis, split=lengths)


def cut(g: Growth) -> None:
    x = g.pick(lambda value: value.rank > 0)
    axes = [axis for axis in range(x.rank) if g.chance(0.5)] or [0]
    starts, ends, steps = list[int](), list[int](), list[int]()
    for axis in axes:
        size = x.shape[axis]
        start = g.integer(0, max(size, 1))
        end = g.integer(start, size + 1)
        step = 1
        if g.takes("Slice", "steps") and g.chance(0.4):
            step = g.choose([2, 3, -1, -2])
            if step < 0:
                start, end = end, start - size - 1
        starts.append(start - size if g.chance(0.2) and step > 0 and start < size else start)
        ends.append(2**31 if g.chance(0.2) and step > 0 else end)
        steps.append(step)
    if g.takes("Slice", "starts"):
        g.add("Slice", x, g.constant(starts), g.constant(ends), g.constant(axes), g.constant(steps), moves=True)
    else:
        g.add("Slice", x, moves=True, starts=starts, ends=ends, axes=axes)


def expand(g: Growth) -> None:
    x = g.pick()
    shape = [g.integer(2, 4) if size == 1 and g.chance(0.5) else size for size in x.shape]
    target = [*g.choose([[], [], [1], [2], [3, 2]]), *shape]
    if g.chance(0.2):  # what x brings itself need not be told
        target = [1 if new == old else new for new, old in zip(target[::-1], x.shape[::-1], strict=False)][::-1]
    g.add("Expand", x, g.constant(np.array(target, np.int64)), moves=True)


def tile(g: Growth) -> None:
    x = g.pick(lambda value: value.rank > 0)
    g.add("Tile", x, g.constant([g.choose([1, 1, 2, 3]) for _ in x.shape]), moves=True)


def pad(g: Growth) -> None:
    x = g.pick(lambda value: value.rank > 0)
    mode = g.choose(["constant", "constant", "reflect", "edge"])
    if mode != "constant" and 0 in x.shape:
        raise Misfit
    most = [min(2, size - 1) if mode == "reflect" else 2 for size in x.shape]
    pads = [g.integer(0, high + 1) if g.chance(0.5) else 0 for high in [*most, *most]]
    if mode == "constant" and g.chance(0.15):
        pads[g.integer(0, len(pads))] = -1
    if g.takes("Pad", "pads"):
        value = g.operand(np.array(g.integer(0, 3), x.array.dtype)) if mode == "constant" and g.chance(0.5) else None
        g.add("Pad", x, g.constant(pads), value, moves=True, mode=mode)
    else:
        g.add("Pad", x, moves=True, pads=pads, mode=mode, value=float(g.integer(0, 3)) if mode == "constant" else None)


def block(g: Growth) -> None:
    x = g.floats(4)
    if any(size % 2 for size in x.shape[2:]) and x.shape[1] % 4:
        raise Misfit
    if x.shape[1] % 4:
        g.add("SpaceToDepth", x, moves=True, blocksize=2)
    else:
        mode = g.choose(["DCR", "CRD"]) if g.has("DepthToSpace", "mode") else None
        g.add("DepthToSpace", x, moves=True, blocksize=2, mode=mode)


def indices(g: Growth, size: int, shape: Sequence[int], negative: bool = True) -> Value:
    """Constant or given indices into so many elements."""
    if not size:
        raise Misfit
    return g.operand(np.asarray(g.random.integers(-size if negative else 0, size, shape), np.int64), given=0.3)


def gather(g: Growth) -> None:
    x = g.pick(lambda value: value.rank > 0)
    axis = g.axis(x)
    negative = g.opset >= 11
    size = x.shape[axis]
    if g.chance(0.2) and size:
        chosen = g.constant(np.arange(size)[g.integer(0, size) :])
    else:
        chosen = indices(g, size, g.choose([[], [], [1], [3], [2, 2], [1, 1, 2]]), negative)
    g.add("Gather", x, chosen, moves=True, axis=g.signed(axis, x.rank) if negative else axis)


def gather_elements(g: Growth) -> None:
    x = g.pick(lambda value: value.rank > 0)
    axis = g.axis(x)
    shape = [g.integer(1, 4) if index == axis else g.integer(1, size + 1) for index, size in enumerate(x.shape) if size]
    if len(shape) < x.rank:
        raise Misfit
    g.add("GatherElements", x, indices(g, x.shape[axis], shape), moves=True, axis=axis)


def places(g: Growth, x: Value, distinct: bool) -> list[list[int]]:
    """Indices of leading dimensions, as GatherND and ScatterND take them."""
    depth = g.integer(1, x.rank + 1)
    leading = x.shape[:depth]
    total = int(np.prod(leading))
    if not total:
        raise Misfit
    count = min(g.integer(1, 5), total)
    flat = g.random.choice(total, count, replace=not distinct)
    return [[int(each) for each in np.unravel_index(int(place), leading)] for place in flat]


def gather_nd(g: Growth) -> None:
    x = g.pick(lambda value: value.rank > 0)
    g.add("GatherND", x, g.constant(places(g, x, distinct=False)), moves=True)


def scatter_nd(g: Growth) -> None:
    x = g.pick(lambda value: value.rank > 0)
    where = places(g, x, distinct=True)
    updates = g.weight([len(where), *x.shape[len(where[0]) :]], x.array.dtype)
    reduction = g.choose([None, "add", "mul"]) if g.has("ScatterND", "reduction") and x.is_float else None
    g.add("ScatterND", x, g.constant(where), updates, moves=reduction is None, reduction=reduction)


def scatter_elements(g: Growth) -> None:
    x = g.pick(lambda value: value.rank > 0)
    axis = g.axis(x)
    size = x.shape[axis]
    shape = [min(g.integer(1, 3), size) if index == axis else size for index, size in enumerate(x.shape)]
    if 0 in shape:
        raise Misfit
    # Each line along the axis names different places, so that no order of writing matters.
    order = np.argsort(g.random.random(x.shape), axis=axis)
    where = np.take(order, np.arange(shape[axis]), axis=axis) - (size if g.chance(0.2) else 0)
    reduction = g.choose([None, "add"]) if g.has("ScatterElements", "reduction") and x.is_float else None
    updates = g.weight(shape, x.array.dtype)
    g.add("ScatterElements", x, g.constant(where), updates, moves=reduction is None, axis=axis, reduction=reduction)


def one_hot(g: Growth) -> None:
    depth = g.integer(2, 6)
    chosen = indices(g, depth, g.choose([[3], [2, 2]]))
    values = g.constant(g.numbers([2]))
    g.add("OneHot", chosen, g.constant(np.array(depth)), values, moves=True, axis=g.choose([-1, 0]))


def triangle(g: Growth) -> None:
    x = g.pick(lambda value: value.rank > 1 and 0 not in value.shape)
    k = g.constant(np.array(g.integer(-2, 3))) if g.chance(0.6) else None
    g.add("Trilu", x, k, moves=True, upper=g.integer(0, 2))


def from_shape(g: Growth) -> None:
    """What hangs on a shape alone: its numbers, a constant of it, ones on its diagonal."""
    x = g.pick(lambda value: value.rank > 0)
    match g.integer(0, 3):
        case 0:
            g.add("Shape", x, moves=True)
        case 1:
            g.add("ConstantOfShape", g.constant(list(x.shape)), moves=True)
        case _:
            square = g.pick(lambda value: value.rank == 2)
            g.add("EyeLike", square, moves=True, k=g.integer(-1, 2))


def compress(g: Growth) -> None:
    x = g.pick(lambda value: value.rank > 0)
    axis = g.axis(x)
    g.add("Compress", x, g.constant(g.numbers([x.shape[axis]], np.bool_)), moves=True, axis=axis)


def reverse_sequence(g: Growth) -> None:
    x = g.floats(least=2)
    if 0 in x.shape:
        raise Misfit
    lengths = g.constant(g.random.integers(1, x.shape[0] + 1, x.shape[1]).astype(np.int64))
    g.add("ReverseSequence", x, lengths, moves=True, time_axis=0, batch_axis=1)


MAKERS: Mapping[Maker, int] = {
    reshape: 5,
    flatten: 1,
    squeeze: 1,
    unsqueeze: 2,
    transpose: 5,
    concat: 4,
    split: 3,
    cut: 4,
    expand: 2,
    tile: 1,
    pad: 3,
    block: 1,
    gather: 3,
    gather_elements: 1,
    gather_nd: 1,
    scatter_nd: 1,
    scatter_elements: 1,
    one_hot: 1,
    triangle: 1,
    from_shape: 1,
    compress: 1,
    reverse_sequence: 1,
}
