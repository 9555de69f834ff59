"""Decision trees as arrays of nodes that all ask `x[feature] <= threshold`, whatever modes the model's nodes have.

    BRANCH_LT t     x <= the number before t
    BRANCH_GTE t    BRANCH_LT t with its children exchanged;  BRANCH_GT t likewise of BRANCH_LEQ
    BRANCH_EQ t     a set with one member;  BRANCH_NEQ t with its children exchanged
    BRANCH_MEMBER   a search among the set's members: nodes below the first lead to two common children

A NaN goes right of such a node, as it is not less; where it must go left, the node reads the second copy of its
feature, in which -inf stands for NaN.
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
        nodes = _MoreNodes(trees)
        for each in sets.tolist():
            true, false, missing = int(self.true[each]), int(self.false[each]), bool(self.missing_true[each])
            if self.mode[each] == NEQ:
                true, false, missing = false, true, False  # a NaN differs from all numbers
            members = self.members[each] if self.mode[each] == MEMBER else self.threshold[each : each + 1]
            members = np.unique(members.astype(self.threshold.dtype))
            if not len(members) or np.isnan(members).any():
                raise TreeError("a set is empty or has NaN in it")
            question = _Question(int(self.feature[each]), true, false, missing, int(self.tree[each]))
            nodes.search(question, members, True, each)
        return nodes.all()


@dataclass(frozen=True)
class _Question:
    """Whether a feature is in a set: where members go, and all else; whether NaN goes with the members; the tree."""

    feature: int
    true: int
    false: int
    missing: bool
    tree: int


@dataclass
class _MoreNodes:
    """Trees, and nodes that are added to them."""

    trees: Trees
    added: list[tuple[int, float, int, int, bool, int]] = field(
        default_factory=list[tuple[int, float, int, int, bool, int]]
    )

    def search(self, asked: _Question, members: Array, last: bool, place: int | None = None) -> int:
        """The node that leads members of a sorted part of the set on; `last`: it has the largest, and NaN comes by."""
        if len(members) == 1:
            lowest = np.array(-np.inf, members.dtype)
            before = np.nan if members[0] == lowest else float(np.nextafter(members[0], lowest))
            inner = self._add(None, asked, before, asked.false, asked.true)
            return self._add(place, asked, float(members[0]), inner, asked.false, last and asked.missing)
        half = len(members) // 2
        below, above = self.search(asked, members[:half], False), self.search(asked, members[half:], last)
        return self._add(place, asked, float(members[half - 1]), below, above)

    def _add(
        self, place: int | None, asked: _Question, threshold: float, left: int, right: int, nan_left: bool = False
    ) -> int:
        trees = self.trees
        if place is None:
            self.added.append((asked.feature, threshold, left, right, nan_left, asked.tree))
            return len(trees.feature) + len(self.added) - 1
        trees.threshold[place], trees.left[place], trees.right[place] = threshold, left, right
        trees.nan_left[place] = nan_left
        return place

    def all(self) -> Trees:
        """The trees with what was added."""
        trees = self.trees
        kept = (trees.feature, trees.threshold, trees.left, trees.right, trees.nan_left, trees.tree)
        columns = zip(kept, zip(*self.added, strict=True), strict=True)
        return Trees(trees.roots, *(np.concatenate([old, np.array(new, old.dtype)]) for old, new in columns))


def by_numbers(tree: Array, node: Array, wanted_tree: Array, wanted_node: Array, what: str) -> Array:
    """The places of nodes named by the numbers of tree and node. Raises TreeError unless there is one of each."""
    _, of_tree = np.unique(np.concatenate([tree, wanted_tree]), return_inverse=True)
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
    pending = (np.arange(len(roots)) * count + roots).tolist()
    sides, met = [side.tolist() for side in (true, false)], set[int](pending)
    while pending:
        tree, node = divmod(pending.pop(), count)
        below = {tree * count + side[node] for side in sides if side[node] >= 0} - met
        met |= below
        pending += below
    keys = np.array(sorted(met), np.int64)
    tree, node = keys // count, keys % count
    children = [
        np.where(side[node] < 0, -1, np.searchsorted(keys, tree * count + np.maximum(side[node], 0)))
        for side in (true, false)
    ]
    return tree, node, children[0], children[1], np.searchsorted(keys, np.arange(len(roots)) * count + roots)
