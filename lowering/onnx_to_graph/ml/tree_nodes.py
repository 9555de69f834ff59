"""Decision trees as arrays of nodes that all ask `x[feature] <= threshold`, whatever modes the model's nodes have.

    BRANCH_LT t     x <= the number before t
    BRANCH_GTE t    BRANCH_LT t with its children exchanged;  BRANCH_GT t likewise of BRANCH_LEQ
    BRANCH_EQ t     a set with one member;  BRANCH_NEQ t with its children exchanged
    BRANCH_MEMBER   a search among the set's members: nodes below the first lead to two common children

A NaN goes right of such a node, as it is not less; where it must go left, the node reads the second copy of its feature,
in which -inf stands for NaN.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ....dialects.graph.values import Array

MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER", "LEAF")
"""ONNX's modes; those of the operator TreeEnsemble are numbered so but for LEAF."""
LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, LEAF = range(8)


class TreeError(ValueError):
    """What is wrong with a model's trees."""


@dataclass(frozen=True)
class Trees:
    """Nodes of all trees; a node's number is its place here. A leaf has no children (-1)."""

    roots: Array
    feature: Array
    threshold: Array
    left: Array
    right: Array
    nan_left: Array
    tree: Array
    """The number of the tree that each node is of."""

    @property
    def is_leaf(self) -> Array:
        """Which nodes are leaves."""
        return self.left < 0

    def depths(self) -> Array:
        """The number of inner nodes on the longest path of each tree. Raises TreeError for a cycle."""
        depths = np.zeros(len(self.roots), np.int64)
        level, reached = self.roots, 0
        while len(level := level[~self.is_leaf[level]]):
            reached += 1
            if reached > len(self.feature):
                raise TreeError("a node is below itself")
            depths[self.tree[level]] = reached
            level = np.unique(np.concatenate([self.left[level], self.right[level]]))
        return depths


@dataclass
class RawNodes:
    """A model's nodes: `mode` numbers MODES, children are places in these arrays, and -1 for those of leaves."""

    roots: Array
    feature: Array
    threshold: Array
    mode: Array
    true: Array
    false: Array
    missing_true: Array
    tree: Array
    members: Mapping[int, Array] = field(default_factory=dict[int, Array])
    """The sets of the nodes of mode BRANCH_MEMBER."""

    def normal(self) -> Trees:
        """The same trees with nodes of one kind. Raises TreeError."""
        if np.isnan(self.threshold[(self.mode != LEAF) & (self.mode != MEMBER)]).any():
            raise TreeError("a threshold is NaN")
        lowest = np.array(-np.inf, self.threshold.dtype)
        less, swap = np.isin(self.mode, (LT, GTE)), np.isin(self.mode, (GTE, GT))
        before = np.nextafter(self.threshold, lowest)
        never = less & (self.threshold == lowest)
        threshold = np.where(less, before, self.threshold)
        left, right = np.where(swap, self.false, self.true), np.where(swap, self.true, self.false)
        nan_left = self.missing_true ^ swap
        # No number is less than -inf: all go right, and a NaN by the question whether the feature is at most inf.
        turned = never & nan_left
        threshold[never] = np.nan
        threshold[turned] = np.inf
        left, right = np.where(turned, right, left), np.where(turned, left, right)
        nan_left = nan_left & ~turned
        trees = Trees(self.roots, self.feature, threshold, left, right, nan_left, self.tree)
        sets = np.flatnonzero(np.isin(self.mode, (EQ, NEQ, MEMBER)))
        return self._searched(trees, sets) if len(sets) else trees

    def _searched(self, trees: Trees, sets: Array) -> Trees:
        """Nodes that ask for sets replaced by searches; the first node of each stays where it was."""
        more: list[tuple[int, float, int, int, bool, int]] = []
        count = len(trees.feature)

        def add(place: int | None, node: tuple[int, float, int, int, bool, int]) -> int:
            if place is None:
                more.append(node)
                return count + len(more) - 1
            number, threshold, left, right, nan_left, _ = node
            trees.feature[place], trees.threshold[place] = number, threshold
            trees.left[place], trees.right[place], trees.nan_left[place] = left, right, nan_left
            return place

        for each in sets.tolist():
            mode, feature, tree = self.mode[each], int(self.feature[each]), int(self.tree[each])
            found, other = int(self.true[each]), int(self.false[each])
            missing = bool(self.missing_true[each])
            if mode == NEQ:
                found, other, missing = other, found, not missing
            members = np.unique(self.members[each] if mode == MEMBER else self.threshold[each : each + 1])
            if not len(members) or np.isnan(members).any():
                raise TreeError("a set is empty or has NaN in it")
            lowest = np.array(-np.inf, self.threshold.dtype)

            def search(some: Array, last: bool, place: int | None = None) -> int:
                """The node that leads members of a sorted part of the set to `found` and all else to `other`."""
                if len(some) == 1:
                    before = np.nextafter(some[0], lowest) if some[0] != lowest else np.nan
                    inner = add(None, (feature, float(before), other, found, False, tree))
                    return add(place, (feature, float(some[0]), inner, other, last and missing, tree))
                half = len(some) // 2
                below, above = search(some[:half], False), search(some[half:], last)
                return add(place, (feature, float(some[half - 1]), below, above, False, tree))

            search(members, True, each)
        columns = [np.array(column) for column in zip(*more, strict=True)]
        kept = (trees.feature, trees.threshold, trees.left, trees.right, trees.nan_left, trees.tree)
        return Trees(
            trees.roots,
            *(np.concatenate([old, new.astype(old.dtype)]) for old, new in zip(kept, columns, strict=True)),
        )


def by_numbers(tree: Array, node: Array, wanted_tree: Array, wanted_node: Array, what: str) -> Array:
    """The places of nodes named by the numbers of tree and node. Raises TreeError if there is none, or there are two."""
    trees, of_tree = np.unique(np.concatenate([tree, wanted_tree]), return_inverse=True)
    numbers, of_node = np.unique(np.concatenate([node, wanted_node]), return_inverse=True)
    key = of_tree.reshape(-1) * len(numbers) + of_node.reshape(-1)
    known, wanted = key[: len(tree)], key[len(tree) :]
    order = np.argsort(known, kind="stable")
    known = known[order]
    if (known[1:] == known[:-1]).any():
        raise TreeError("two nodes have the same numbers")
    place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    found = np.where(known[place] == wanted, order[place], -1) if len(known) else np.full(len(wanted), -1)
    if (found < 0).any():
        lost = int(np.flatnonzero(found < 0)[0])
        raise TreeError(f"{what} {int(wanted_node[lost])} of tree {int(wanted_tree[lost])} doesn't exist")
    return found


def same_lengths(**arrays: Sequence[object] | Array) -> None:
    """Raises TreeError unless attributes are of one length."""
    counts = {name: len(array) for name, array in arrays.items()}
    if len(set(counts.values())) > 1:
        raise TreeError(f"attributes of different lengths: {', '.join(f'{key} {n}' for key, n in counts.items())}")


def reached(roots: Array, true: Array, false: Array) -> tuple[Array, Array, Array, Array, Array]:
    """The nodes that each tree reaches, as its own: tree, node, true and false child of each, and each tree's root.

    Children are -1 for leaves, and else places in the result.
    """
    count = len(true)
    keys = level = np.arange(len(roots)) * count + roots
    while len(level):
        tree, node = level // count, level % count
        inner = true[node] >= 0
        below = np.concatenate([tree[inner] * count + side[node[inner]] for side in (true, false)])
        level = np.setdiff1d(below, keys)
        keys = np.union1d(keys, level)
    tree, node = keys // count, keys % count
    children = [
        np.where(side[node] < 0, -1, np.searchsorted(keys, tree * count + np.maximum(side[node], 0)))
        for side in (true, false)
    ]
    return tree, node, children[0], children[1], np.searchsorted(keys, np.arange(len(roots)) * count + roots)
