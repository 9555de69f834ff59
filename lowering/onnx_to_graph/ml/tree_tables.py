"""The tables of a graph.tree_ensemble from the trees of a model: trees in groups, complete or linked.

Small trees have a second table, of tests: each inner node with a mask of the leaves that its left side doesn't lead to.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ....dialects.graph.ops.tree_ensemble import AGGREGATES
from ....dialects.graph.values import Array
from .tree_nodes import TreeError, Trees

WALKS = 16
"""Groups have a multiple of so many trees, so that a row can walk down as many at once."""
GROUP_TREES = 64
"""Trees of a group: groups are what threads share where there are few rows, and each writes a number for each row."""
MOST_RESULTS = 256
"""Numbers that all groups together write for a row, if more than one group for each target is asked for."""
MOST_COMPLETE = 10
"""Depth up to which trees may be made complete."""
MOST_PADDING = 4
"""A complete tree may have so many times the leaves of the model's trees; else trees are linked."""
MOST_TESTED = 64
"""Leaves of a tree up to which there are tests: 1,000 rows take 0.35 of the time of walks down complete trees of 32
leaves, 0.5 with 64 leaves, and would take longer with 128, whose masks have four words (Zen 5)."""


@dataclass(frozen=True)
class Tables:
    """Operands and properties of the op; of its result [G, N, V] G is `parts` for each of the targets, if V is 1."""

    nodes: Array
    weights: Array
    roots: Array | None
    tests: Array | None
    trees: int
    depth: int
    parts: int


def build(trees: Trees, leaves: Array, targets: Array, weights: Array, count: int, aggregate: str) -> Tables:
    """The tables of trees whose leaves have weights for some of `count` targets. Raises TreeError.

    Weights to be added are f64: sums of votes that are equal, 10 times 0.05 say, are then equal to 0.5 once rounded.
    """
    if not trees.is_leaf[leaves].all():
        raise TreeError("a node with a weight is not a leaf")
    if len(targets) and not 0 <= targets.min() <= targets.max() < count:
        raise TreeError(f"target {targets[(targets < 0) | (targets >= count)][0]} of {count}")
    nothing = AGGREGATES[aggregate]
    update = {"sum": np.add, "min": np.minimum, "max": np.maximum}[aggregate]
    groups, parts = _groups(trees, leaves, targets, count)
    apart = len(groups) > parts or count == 1
    dtype = np.dtype(np.float64) if aggregate == "sum" else trees.threshold.dtype
    held = np.full((len(trees.feature) + 1, 1 if apart else count), nothing, dtype)
    update.at(held, (leaves, np.zeros_like(targets) if apart else targets), weights.astype(dtype))
    # The last leaf is that of the trees that are padding.
    padding = len(trees.feature)
    padded = -(-max(map(len, groups)) // WALKS) * WALKS
    roots = np.full((len(groups), padded), padding)
    for row, group in zip(roots, groups, strict=True):
        row[: len(group)] = trees.roots[group]
    longest, depths = max(map(len, groups)), trees.depths()
    depth = int(depths.max(initial=0))
    more = Trees(
        roots,
        np.append(trees.feature, 0),
        np.append(trees.threshold, np.zeros(1, trees.threshold.dtype)),
        np.append(trees.left, -1),
        np.append(trees.right, -1),
        np.append(trees.nan_left, False),
        np.append(trees.tree, len(trees.roots)),
    )
    is_complete = depth <= MOST_COMPLETE and len(trees.roots) << depth <= MOST_PADDING * int(trees.is_leaf.sum())
    depth = max(depth, 1) if is_complete else depth
    sides = _Sides.of(more, 1 << depth if is_complete else None)
    made = _complete(more, held, depth) if is_complete else _linked(more, held, sides)
    return Tables(*made, None if sides is None else _tests(more, sides), longest, depth, parts)


@dataclass(frozen=True)
class _Sides:
    """For each node of trees: the place of the first leaf that it leads to, of its tree's from left to right."""

    first: Array
    leaves: int
    """Places of each tree, with padding."""

    @classmethod
    def of(cls, trees: Trees, complete: int | None) -> _Sides | None:
        """With `complete` places a leaf that is nearer to the root takes as many as the tree of its depth has.

        None if trees have too many leaves for tests, or no other nodes, or if two nodes lead to the same one.
        """
        if trees.is_leaf.all():
            return None
        children = np.concatenate([trees.left, trees.right])
        if len(np.unique(children[children >= 0])) < np.count_nonzero(children >= 0):
            return None
        levels = [np.unique(trees.roots)]
        while len(inner := levels[-1][~trees.is_leaf[levels[-1]]]):
            levels.append(np.concatenate([trees.left[inner], trees.right[inner]]))
        size = np.ones(len(trees.feature), np.int64)
        for height, level in reversed([*enumerate(levels)]):
            inner = level[~trees.is_leaf[level]]
            if complete is None:
                size[inner] = size[trees.left[inner]] + size[trees.right[inner]]
            else:
                size[level] = complete >> height
        leaves = int(size[levels[0]].max())
        if leaves > MOST_TESTED:
            return None
        first = np.zeros(len(trees.feature), np.int64)
        for level in levels:
            inner = level[~trees.is_leaf[level]]
            left, right = trees.left[inner], trees.right[inner]
            first[left], first[right] = first[inner], first[inner] + size[left]
        return cls(first, leaves)


def _places(trees: Trees) -> Array:
    """The place of each tree among all of all groups; the last is that of padding, if there is any."""
    places = np.zeros(int(trees.tree.max()) + 1, np.int64)
    places[trees.tree[trees.roots.reshape(-1)]] = np.arange(trees.roots.size)
    return places


def _tests(trees: Trees, sides: _Sides) -> Array:
    """[G, P, K, 2 + M]: for each tree's inner nodes the feature, the threshold's bits, the mask's words (low first)."""
    feature, bits = _words(trees.feature, trees.threshold)
    word = feature.dtype.itemsize * 8
    inner = np.flatnonzero(~trees.is_leaf)
    inner = inner[np.argsort(trees.tree[inner], kind="stable")]
    _, start, counts = np.unique(trees.tree[inner], return_index=True, return_counts=True)
    number = np.arange(len(inner)) - np.repeat(start, counts)
    words = -(-sides.leaves // word)
    tests = np.zeros((trees.roots.size, max(1, int(counts.max(initial=0))), 2 + words), feature.dtype)
    tests[..., 2:] = -1
    low = sides.first[inner].astype(np.uint64)
    high = sides.first[trees.right[inner]].astype(np.uint64)
    one = np.uint64(1)
    masks = np.ascontiguousarray(~((one << high) - (one << low))).view(feature.dtype).reshape(len(inner), 64 // word)
    columns = (feature[inner, None], bits[inner, None], masks[:, :words])
    tests[_places(trees)[trees.tree[inner]], number] = np.concatenate(columns, axis=1)
    return tests.reshape(*trees.roots.shape, *tests.shape[1:])


def _groups(trees: Trees, leaves: Array, targets: Array, count: int) -> tuple[list[Array], int]:
    """The trees of each group, and the number of groups for each target, or for all."""
    every = np.arange(len(trees.roots))
    of = trees.tree[leaves]
    first = np.full(len(every), -1)
    first[of[::-1]] = targets[::-1]
    lists = [every]
    if count > 1 and (first[of] == targets).all():
        lists = [np.flatnonzero(first == target) for target in range(count)]
        lists[0] = np.concatenate([lists[0], np.flatnonzero(first < 0)])
        if count * max(map(len, lists)) > 2 * len(every) + WALKS * count:
            lists = [every]
    longest = max(map(len, lists))
    parts = max(1, min(-(-longest // GROUP_TREES), MOST_RESULTS // count))
    size = -(-longest // parts)
    size = -(-size // WALKS) * WALKS
    parts = max(1, -(-longest // size))
    return [each[part * size : (part + 1) * size] for each in lists for part in range(parts)], parts


def _words(feature: Array, threshold: Array) -> tuple[Array, Array]:
    """Features and thresholds as words."""
    word = np.int32 if threshold.dtype == np.float32 else np.int64
    return feature.astype(word), np.ascontiguousarray(threshold).view(word)


def _complete(trees: Trees, held: Array, depth: int) -> tuple[Array, Array, None]:
    feature, bits = _words(trees.feature, trees.threshold)
    is_leaf = trees.is_leaf
    level = trees.roots[..., None]
    nodes = np.zeros((*trees.roots.shape, 1 << depth, 2), feature.dtype)
    for height in range(depth):
        span = slice(1 << height, 2 << height)
        nodes[:, :, span, 0] = np.where(is_leaf[level], 0, feature[level])
        nodes[:, :, span, 1] = np.where(is_leaf[level], 0, bits[level])
        children = [np.where(is_leaf[level], level, side[level]) for side in (trees.left, trees.right)]
        level = np.stack(children, axis=-1).reshape(*trees.roots.shape, -1)
    return nodes, held[level], None


def _linked(trees: Trees, held: Array, sides: _Sides | None) -> tuple[Array, Array, Array]:
    """Leaves come last: with `sides`, as many for each tree, from left to right."""
    feature, bits = _words(trees.feature, trees.threshold)
    is_leaf = trees.is_leaf
    inner, leaves = np.flatnonzero(~is_leaf), np.flatnonzero(is_leaf)
    if sides is None:
        places, count = np.arange(len(leaves)), len(leaves)
    else:
        places = _places(trees)[trees.tree[leaves]] * sides.leaves + sides.first[leaves]
        count = trees.roots.size * sides.leaves
    number = np.empty(len(is_leaf), feature.dtype)
    number[inner], number[leaves] = np.arange(len(inner)), len(inner) + places
    nodes = np.zeros((len(inner) + count, 4), feature.dtype)
    nodes[:, 2:] = np.arange(len(nodes))[:, None]
    words = (feature, bits, number[trees.left], number[trees.right])
    nodes[: len(inner)] = np.stack([each[inner] for each in words], axis=-1)
    weights = np.full((count, held.shape[1]), held[-1, 0], held.dtype)
    weights[places] = held[leaves]
    return nodes, weights, number[trees.roots]
