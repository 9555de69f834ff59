"""The tables of a graph.tree_ensemble from the trees of a model: trees in groups, complete or linked."""

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


@dataclass(frozen=True)
class Tables:
    """Operands and properties of the op; of its result [G, N, V] G is `parts` for each of the targets, if V is 1."""

    nodes: Array
    weights: Array
    roots: Array | None
    trees: int
    depth: int
    parts: int


def build(trees: Trees, leaves: Array, targets: Array, weights: Array, count: int, aggregate: str) -> Tables:
    """The tables of trees whose leaves have weights for some of `count` targets. Raises TreeError."""
    if not trees.is_leaf[leaves].all():
        raise TreeError("a node with a weight is not a leaf")
    if len(targets) and not 0 <= targets.min() <= targets.max() < count:
        raise TreeError(f"target {targets[(targets < 0) | (targets >= count)][0]} of {count}")
    nothing = AGGREGATES[aggregate]
    update = {"sum": np.add, "min": np.minimum, "max": np.maximum}[aggregate]
    groups, parts = _groups(trees, leaves, targets, count)
    apart = len(groups) > parts or count == 1
    held = np.full((len(trees.feature) + 1, 1 if apart else count), nothing, trees.threshold.dtype)
    update.at(held, (leaves, np.zeros_like(targets) if apart else targets), weights.astype(held.dtype))
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
    made = _complete(more, held, max(depth, 1)) if is_complete else _linked(more, held)
    return Tables(*made, longest, max(depth, 1) if is_complete else depth, parts)


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


def _linked(trees: Trees, held: Array) -> tuple[Array, Array, Array]:
    feature, bits = _words(trees.feature, trees.threshold)
    is_leaf = trees.is_leaf
    inner, leaves = np.flatnonzero(~is_leaf), np.flatnonzero(is_leaf)
    number = np.empty(len(is_leaf), feature.dtype)
    number[inner], number[leaves] = np.arange(len(inner)), len(inner) + np.arange(len(leaves))
    children = [np.where(is_leaf, number, number[side]) for side in (trees.left, trees.right)]
    order = np.concatenate([inner, leaves])
    words = (np.where(is_leaf, 0, feature), np.where(is_leaf, 0, bits), *children)
    nodes = np.stack([each[order] for each in words], axis=-1).astype(feature.dtype)
    return nodes, held[leaves], number[trees.roots]
