"""TreeEnsembleRegressor, TreeEnsembleClassifier, and TreeEnsemble, which replaces both from version 5 on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnx import numpy_helper
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from ....dialects.graph.ops.elementwise import AddOp, EqualOp, MulOp, WhereOp
from ....dialects.graph.ops.movement import ConcatOp, TransposeOp
from ....dialects.graph.ops.reduction import ReduceMaxOp, ReduceMinOp, ReduceOp, ReduceSumOp
from ....dialects.graph.ops.tree_ensemble import AGGREGATES, TreeEnsembleOp
from ....dialects.graph.ops.unary import IsNanOp
from ....dialects.graph.values import Array, element_type_of_value, numpy_dtype, shape_of
from ....dialects.sizes.sizes import pinned
from ..node import Handler, Node
from ..non_tensors import Held
from .class_labels import class_labels, decided
from .linear import rows_of
from .post_transforms import both_classes, transformed
from .tree_nodes import LEAF, MEMBER, MODES, RawNodes, TreeError, by_numbers, reached, same_lengths
from .tree_tables import build

_REDUCTIONS: dict[str, type[ReduceOp]] = {"sum": ReduceSumOp, "min": ReduceMinOp, "max": ReduceMaxOp}
_AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
_TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")


def _numbers(node: Node, name: str, dtype: np.dtype[np.generic]) -> Array | None:
    """An attribute of floats, or of doubles with `_as_tensor` behind its name."""
    given = node.numbers(name)
    wide = (
        numpy_helper.to_array(node.tensor(f"{name}_as_tensor")).reshape(-1) if node.has(f"{name}_as_tensor") else None
    )
    if given is not None and wide is not None:
        raise node.malformed(f"{name} and {name}_as_tensor are given")
    return wide.astype(dtype) if wide is not None else None if given is None else np.array(given, dtype)


def _required(node: Node, name: str) -> Array:
    given = node.integers(name)
    if given is None:
        raise node.malformed(f"attribute {name} is missing")
    return np.array(given, np.int64)


def _old_nodes(node: Node, dtype: np.dtype[np.generic]) -> tuple[RawNodes, Array, Array]:
    """The nodes, and each one's numbers of tree and node, of the operators for regression and classification."""
    tree, number = _required(node, "nodes_treeids"), _required(node, "nodes_nodeids")
    feature, values = _required(node, "nodes_featureids"), _numbers(node, "nodes_values", dtype)
    true, false = _required(node, "nodes_truenodeids"), _required(node, "nodes_falsenodeids")
    names, missing = node.texts("nodes_modes") or [], node.integers("nodes_missing_value_tracks_true")
    node.ignore("nodes_hitrates", "nodes_hitrates_as_tensor")
    values = np.zeros(0, dtype) if values is None else values
    tracks = np.array(missing or [0] * len(tree), bool)
    same_lengths(
        nodes_treeids=tree,
        nodes_nodeids=number,
        nodes_featureids=feature,
        nodes_values=values,
        nodes_modes=names,
        nodes_truenodeids=true,
        nodes_falsenodeids=false,
        nodes_missing_value_tracks_true=tracks,
    )
    modes = {name: code for code, name in enumerate(MODES) if code != MEMBER}
    if unknown := sorted({name for name in names if name not in modes}):
        raise TreeError(f"mode {unknown[0]} is unknown")
    mode = np.array([modes[name] for name in names], np.int64)
    inner = np.flatnonzero(mode != LEAF)
    children = np.full((2, len(tree)), -1)
    for side, wanted in zip(children, (true, false), strict=True):
        side[inner] = by_numbers(tree, number, tree[inner], wanted[inner], "node")
    _, first, of = np.unique(tree, return_index=True, return_inverse=True)
    return RawNodes(first, feature, values, mode, children[0], children[1], tracks, of.reshape(-1)), tree, number


def _scores(
    node: Node, raw: RawNodes, leaves: Array, targets: Array, weights: Array, count: int, aggregate: str
) -> SSAValue:
    """The aggregated weights [N, count] of the leaves that each row reaches, 0 where there is none."""
    x = rows_of(node, keep_f64=True)
    width = pinned(shape_of(x)[1])
    used = raw.feature[raw.mode != LEAF]
    if len(used) and not 0 <= used.min() <= used.max() < width:
        raise node.invalid(f"feature {used[(used < 0) | (used >= width)][0]} of {width}")
    if not len(raw.roots):
        raise TreeError("there are no trees")
    trees = raw.normal()
    if trees.nan_left.any():
        low = node.emit(WhereOp(node.emit(IsNanOp(x)), node.scalar(float("-inf"), x), x))
        x = low if trees.nan_left[~trees.is_leaf].all() else node.emit(ConcatOp([x, low], 1))
        if x is not low:
            trees.feature[trees.nan_left] += width
    kind = "sum" if aggregate == "AVERAGE" else aggregate.lower()
    if count < 1:
        raise node.malformed(f"{count} targets")
    node.reserve(len(trees.feature) * count)
    tables = build(trees, leaves, targets, weights, count, kind)
    nodes, held = node.array(tables.nodes), node.array(tables.weights)
    roots = None if tables.roots is None else node.array(tables.roots)
    tests = None if tables.tests is None else node.array(tables.tests)
    op = TreeEnsembleOp(x, nodes, held, roots, tests, trees=tables.trees, depth=tables.depth, aggregate=kind)
    y, rows = node.emit(op), shape_of(x)[0]
    if shape_of(y)[2] == 1:
        y = node.emit(_REDUCTIONS[kind](node.reshape(y, (count, tables.parts, rows)), [1]))
        y = node.reshape(y, (rows, 1)) if count == 1 else node.emit(TransposeOp(y, (1, 0)))
    else:
        y = node.emit(_REDUCTIONS[kind](y, [0]))
    y = node.cast(y, element_type_of_value(x))
    if kind != "sum":
        y = node.emit(WhereOp(node.emit(EqualOp(y, node.scalar(AGGREGATES[kind], y))), node.scalar(0.0, y), y))
    return node.emit(MulOp(y, node.scalar(1 / len(trees.roots), y))) if aggregate == "AVERAGE" else y


def _with_base(node: Node, scores: SSAValue, base: Array | None) -> SSAValue:
    if base is None or not len(base):
        return scores
    return node.emit(AddOp(scores, node.array(base.astype(numpy_dtype(element_type_of_value(scores))))))


def _aggregate(node: Node) -> str:
    name = node.text("aggregate_function", "SUM")
    if name not in _AGGREGATES:
        raise node.malformed(f"aggregate_function {name} is unknown")
    return name


def _regressor(node: Node) -> SSAValue:
    dtype = _dtype(node)
    count, base = node.integer("n_targets", 1), _numbers(node, "base_values", dtype)
    try:
        raw, tree, number = _old_nodes(node, dtype)
        leaves, targets, weights = _leaves(node, "target", tree, number, dtype)
        if count == 1:  # of several weights of a leaf ONNX Runtime takes the first; trees of scikit-learn have them
            _, first = np.unique(leaves, return_index=True)
            leaves, targets, weights = leaves[first], targets[first], weights[first]
        scores = _scores(node, raw, leaves, targets, weights, count, _aggregate(node))
    except TreeError as error:
        raise node.malformed(str(error)) from error
    if base is not None and len(base) not in (0, count):
        raise node.malformed(f"{len(base)} base_values for {count} targets")
    return node.cast(transformed(node, _with_base(node, scores, base)), f32)


def _leaves(
    node: Node, what: str, tree: Array, number: Array, dtype: np.dtype[np.generic]
) -> tuple[Array, Array, Array]:
    """The leaf, the target and the weight of each entry of the attributes `what`_..."""
    trees, nodes, targets = (_required(node, f"{what}_{each}") for each in ("treeids", "nodeids", "ids"))
    weights = _numbers(node, f"{what}_weights", dtype)
    weights = np.zeros(0, dtype) if weights is None else weights
    same_lengths(treeids=trees, nodeids=nodes, ids=targets, weights=weights)
    return by_numbers(tree, number, trees, nodes, "leaf"), targets, weights


def _dtype(node: Node) -> np.dtype[np.generic]:
    return np.dtype(np.float64 if element_type_of_value(node.operand()) == f64 else np.float32)


def _classifier(node: Node) -> Sequence[Held | None]:
    """Labels [N], and scores [N, classes].

    Of two classes, leaves may have weights for one only: for the first, as exporters write it, and then they are the
    second one's score.
    """
    dtype = _dtype(node)
    labels, base = class_labels(node), _numbers(node, "base_values", dtype)
    count, base = len(labels), np.zeros(0, dtype) if base is None else base
    try:
        raw, tree, number = _old_nodes(node, dtype)
        leaves, targets, weights = _leaves(node, "class", tree, number, dtype)
        single = count <= 2 and len(np.unique(targets)) <= 1
        held = np.zeros_like(targets) if single else targets
        scores = _scores(node, raw, leaves, held, weights, 1 if single else count, "SUM")
    except TreeError as error:
        raise node.malformed(str(error)) from error
    if len(base) not in (0, 1 if single else count):
        which = "of which one has a score" if single else "each with a score"
        raise node.unsupported(f"{len(base)} base_values for {count} classes, {which}")
    scores = _with_base(node, scores, base)
    if not single:
        return [decided(node, scores, None, labels), node.cast(transformed(node, scores), f32)]
    positive = not (weights < 0).any()
    place = decided(node, scores, 0.5 if positive and count == 2 else 0.0, labels)
    if count == 1:
        return [place, node.cast(transformed(node, scores), f32)]
    if (targets == 1).all() and len(targets):
        both = transformed(node, node.emit(ConcatOp([node.emit(MulOp(scores, node.scalar(0.0, scores))), scores], 1)))
        return [place, node.cast(both, f32)]
    return [place, node.cast(both_classes(node, scores, positive), f32)]


def _ensemble(node: Node) -> SSAValue:
    """The operator of version 5, where nodes and leaves are numbered apart, over all trees."""
    dtype = _dtype(node)

    def table(name: str) -> Array:
        return numpy_helper.to_array(node.tensor(name)).reshape(-1)

    roots, feature = _required(node, "tree_roots"), _required(node, "nodes_featureids")
    modes, splits = table("nodes_modes").astype(np.int64), table("nodes_splits").astype(dtype)
    true, false = _required(node, "nodes_truenodeids"), _required(node, "nodes_falsenodeids")
    true_leaf, false_leaf = _required(node, "nodes_trueleafs"), _required(node, "nodes_falseleafs")
    tracks = np.array(node.integers("nodes_missing_value_tracks_true") or [0] * len(feature), bool)
    targets, weights = _required(node, "leaf_targetids"), table("leaf_weights").astype(dtype)
    count = node.integer("n_targets", 1)
    node.ignore("nodes_hitrates")
    aggregate, transform = node.integer("aggregate_function", 1), node.integer("post_transform", 0)
    if not 0 <= aggregate < len(_AGGREGATES) or not 0 <= transform < len(_TRANSFORMS):
        raise node.malformed(f"aggregate_function {aggregate} or post_transform {transform} is unknown")
    try:
        same_lengths(
            nodes_featureids=feature,
            nodes_modes=modes,
            nodes_splits=splits,
            nodes_truenodeids=true,
            nodes_falsenodeids=false,
            nodes_trueleafs=true_leaf,
            nodes_falseleafs=false_leaf,
            nodes_missing_value_tracks_true=tracks,
        )
        same_lengths(leaf_targetids=targets, leaf_weights=weights)
        inner, sides = len(feature), ((true, true_leaf), (false, false_leaf))
        for places, are_leaves in sides:
            if ((places < 0) | (places >= np.where(are_leaves, len(weights), inner))).any():
                raise TreeError("a child doesn't exist")
        if ((roots < 0) | (roots >= inner)).any():
            raise TreeError("a root doesn't exist")
        if ((modes < 0) | (modes > MEMBER)).any():
            raise TreeError(f"mode {modes[(modes < 0) | (modes > MEMBER)][0]} is unknown")
        none = np.full(len(weights), -1)
        below = [np.append(places + inner * (are_leaves != 0), none) for places, are_leaves in sides]
        tree, number, true, false, first = reached(roots, below[0], below[1])
        sets = _sets(table("membership_values") if node.has("membership_values") else np.zeros(0), modes, dtype)
        raw = RawNodes(
            first,
            np.append(feature, none * 0)[number],
            np.append(splits, np.zeros(len(weights), dtype))[number],
            np.append(modes, none * 0 + LEAF)[number],
            true,
            false,
            np.append(tracks, none == 0)[number],
            tree,
            {place: sets[each] for place, each in enumerate(number.tolist()) if each in sets},
        )
        leaves = np.flatnonzero(number >= inner)
        ends = number[leaves] - inner
        scores = _scores(node, raw, leaves, targets[ends], weights[ends], count, _AGGREGATES[aggregate])
    except TreeError as error:
        raise node.malformed(str(error)) from error
    return node.cast(transformed(node, scores, _TRANSFORMS[transform]), element_type_of_value(node.operand()))


def _sets(values: Array, modes: Array, dtype: np.dtype[np.generic]) -> dict[int, Array]:
    """The sets of the nodes that ask for members, which are separated by NaN. Raises TreeError."""
    values, asking = values.astype(dtype), np.flatnonzero(modes == MEMBER).tolist()
    parts = np.split(values, np.flatnonzero(np.isnan(values)) + 1) if len(values) else []
    sets = [part[~np.isnan(part)] for part in parts]
    while len(sets) > len(asking) and not len(sets[-1]):
        sets.pop()
    if len(sets) != len(asking):
        raise TreeError(f"{len(sets)} sets of members for {len(asking)} nodes")
    return dict(zip(asking, sets, strict=True))


HANDLERS: dict[str, Handler] = {
    "ai.onnx.ml.TreeEnsembleRegressor": _regressor,
    "ai.onnx.ml.TreeEnsembleClassifier": _classifier,
    "ai.onnx.ml.TreeEnsemble": _ensemble,
}
