"""Classical machine learning, ai.onnx.ml: features that are prepared, linear models, trees, support vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from fuzz.growth import Growth, Maker, Misfit, Value
from onnx import TensorProto, helper, numpy_helper

DOMAIN = "ai.onnx.ml"
MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
MEMBER = 6  # the mode of a branch by a set of numbers


def matrix(g: Growth, exact: bool = False) -> Value:
    """Rows of features in float32; what has another rank is flattened."""
    x = g.pick(lambda value: value.array.dtype == np.float32 and value.rank > 0 and (value.exact or not exact))
    if 0 in x.shape:
        raise Misfit
    return x if x.rank == 2 else g.add("Flatten", x, moves=True, axis=max(x.rank - 1, 1))


def floats(g: Growth, count: int, scale: float = 1.0) -> list[float]:
    """Numbers that float32 holds."""
    return [float(each) for each in (g.numbers([count], np.float64) * scale).astype(np.float32)]


def quarters(g: Growth, count: int) -> list[float]:
    """Numbers whose sums nobody rounds."""
    return [float(each) / 4 for each in g.random.integers(-20, 21, count)]


def prepared(g: Growth) -> None:
    match g.integer(0, 3):
        case 0:
            x = matrix(g)
            # A number for each feature, or one for all.
            sizes = [g.choose([1, x.shape[1]]) for _ in range(2)]
            offset, scale = floats(g, sizes[0]), floats(g, sizes[1])
            g.add("Scaler", x, domain=DOMAIN, offset=offset, scale=scale)
        case 1:
            x = g.add("Tanh", matrix(g))
            x = g.add("Add", x, g.constant(np.array(1.5, np.float32)))
            g.add("Normalizer", x, domain=DOMAIN, norm=g.choose(["MAX", "L1", "L2"]))
        case _:
            g.add("Binarizer", matrix(g, exact=True), moves=True, domain=DOMAIN, threshold=g.choose([None, 0.0, 0.5]))


def with_gaps(g: Growth, x: Value) -> tuple[Any, list[Value]]:
    """A node, with what it takes, whose result `gaps` is x with NaN here and there."""
    where, missing = g.constant(g.random.random(x.shape[1:]) < 0.4), g.constant(np.array(np.nan, np.float32))
    return helper.make_node("Where", [where.name, missing.name, x.name], ["gaps"]), [where, missing, x]


def imputed(g: Growth) -> None:
    x = matrix(g, exact=True)
    values = floats(g, g.choose([1, x.shape[1]]))
    if g.chance(0.3):
        replaced = float(x.array.flat[0])
        g.add("Imputer", x, moves=True, domain=DOMAIN, imputed_value_floats=values, replaced_value_float=replaced)
        return
    gaps, taken = with_gaps(g, x)
    given: dict[str, Any] = {"imputed_value_floats": values, "replaced_value_float": float("nan")}
    g.chain([gaps, helper.make_node("Imputer", ["gaps"], ["y"], domain=DOMAIN, **given)], taken)


def features(g: Growth) -> None:
    x = matrix(g)
    if g.chance(0.5):
        places = g.operand(g.random.integers(0, x.shape[1], [1, g.integer(1, 6)]))
        g.add("ArrayFeatureExtractor", x, places, moves=True, domain=DOMAIN)
        return
    others = [g.weight([x.shape[0], g.integer(1, 5)], np.float32) for _ in range(g.integer(0, 3))]
    widths = [max(1, each.shape[1] + g.choose([0, 0, -1, 2])) for each in (x, *others)]
    g.add("FeatureVectorizer", x, *others, moves=True, domain=DOMAIN, inputdimensions=widths)


def one_hot(g: Growth) -> None:
    x = g.pick(lambda value: value.array.dtype == np.int64 and value.exact and value.rank in (1, 2))
    known = np.unique([*x.array.ravel(), 11, 12])
    categories = [int(each) for each in g.random.permutation(known)]
    if g.chance(0.5):
        categories = categories[: g.integer(1, len(categories) + 1)]
    node = helper.make_node("OneHotEncoder", [x.name], ["h"], domain=DOMAIN, cats_int64s=categories, zeros=1)
    g.chain([node, helper.make_node("Cast", ["h"], ["y"], to=TensorProto.FLOAT)], [x])


def encoded(g: Growth) -> None:
    """Numbers for numbers: those of keys that are given, another for the rest."""
    kinds = {np.dtype(np.float32): "floats", np.dtype(np.int64): "int64s"}
    x = g.pick(lambda value: value.exact and value.array.dtype in kinds and value.array.size > 0)
    keys = g.random.permutation(np.unique(x.array))[: g.integer(1, 20)]
    to = g.choose(["floats", "int64s"])
    values = quarters(g, len(keys)) if to == "floats" else [int(each) for each in g.random.integers(-9, 10, len(keys))]
    default = {"default_float": 0.5} if to == "floats" else {"default_int64": -3}
    if g.chance(0.3):
        dtype = np.float32 if to == "floats" else np.int64
        given: dict[str, Any] = {
            "keys_tensor": numpy_helper.from_array(keys),
            "values_tensor": numpy_helper.from_array(np.array(values, dtype)),
            "default_tensor": numpy_helper.from_array(np.array([*default.values()], dtype)),
        }
    else:
        given = {f"keys_{kinds[x.array.dtype]}": keys.tolist(), f"values_{to}": values, **default}
    node = helper.make_node("LabelEncoder", [x.name], ["labels"], domain=DOMAIN, **given)
    kind = TensorProto.FLOAT if to == "floats" else TensorProto.INT64
    g.chain([node, helper.make_node("Cast", ["labels"], ["y"], to=kind)], [x])


def linear(g: Growth) -> None:
    x = matrix(g)
    targets, size = g.integer(1, 5), x.shape[1]
    coefficients = floats(g, targets * size, scale=size**-0.5)
    g.add(
        "LinearRegressor",
        x,
        domain=DOMAIN,
        coefficients=coefficients,
        intercepts=floats(g, targets),
        targets=targets,
        post_transform="NONE",
    )


def linear_classes(g: Growth) -> None:
    x = matrix(g, exact=True)
    classes, size = g.integer(3, 6), x.shape[1]
    labels = [int(each) for each in g.random.permutation(20)[:classes]]
    g.add(
        "LinearClassifier",
        x,
        results=2,
        domain=DOMAIN,
        coefficients=[float(each) for each in g.random.standard_normal(classes * size) * 0.5 * size**-0.5],
        intercepts=[float(each) for each in g.random.standard_normal(classes) * 0.5],
        classlabels_ints=labels,
        multi_class=0,
        post_transform=g.choose(["NONE", "LOGISTIC", "SOFTMAX"]),
    )


def support_vectors(g: Growth) -> None:
    x = matrix(g)
    size, count = x.shape[1], g.integer(1, 6)
    kind = g.choose(["LINEAR", "POLY", "RBF", "SIGMOID"])
    vectors = g.chance(0.8)  # without them, a linear one has coefficients of the features
    given: dict[str, Any] = {}
    if vectors:
        given = {"n_supports": count, "support_vectors": floats(g, count * size, size**-0.5)}
    g.add(
        "SVMRegressor",
        x,
        domain=DOMAIN,
        kernel_type=kind if vectors else "LINEAR",
        kernel_params=[float(g.choose([0.25, 0.5])), float(g.choose([0.0, 0.5])), float(g.choose([1, 2, 3]))],
        coefficients=floats(g, count if vectors else size, 0.5),
        rho=floats(g, 1),
        one_class=0,
        post_transform="NONE",
        **given,
    )


@dataclass
class Trees:
    """Nodes of trees in the order of a walk that goes where a condition holds first."""

    g: Growth
    rows: Value
    nodes: list[dict[str, Any]] = field(default_factory=list["dict[str, Any]"])

    def plant(self, tree: int, depth: int, least: int = 0) -> int:
        """Adds a tree, or what is below a branch; the number of its first node in the tree."""
        number = sum(node["treeids"] == tree for node in self.nodes)
        node: dict[str, Any] = {"treeids": tree, "nodeids": number, "featureids": 0, "modes": "LEAF", "values": 0.0}
        node |= {"truenodeids": 0, "falsenodeids": 0, "missing_value_tracks_true": 0}
        self.nodes.append(node)
        if depth and (least or self.g.chance(0.8)):
            feature = self.g.integer(0, self.rows.shape[1])
            seen = self.g.choose(self.rows.array[:, feature].tolist())
            node["featureids"], node["modes"] = feature, self.g.choose(MODES)
            node["values"] = seen if self.g.chance(0.5) else floats(self.g, 1)[0]
            # A NaN that isn't tracked differs from all numbers in ONNX Runtime, and not in onnx.reference.
            node["missing_value_tracks_true"] = 1 if node["modes"] == "BRANCH_NEQ" else self.g.integer(0, 2)
            node["truenodeids"] = self.plant(tree, depth - 1)
            node["falsenodeids"] = self.plant(tree, depth - 1)
        return number

    def listed(self) -> dict[str, Any]:
        """Attributes nodes_*."""
        return {f"nodes_{name}": [node[name] for node in self.nodes] for name in self.nodes[0]}

    def weighed(self, prefix: str, targets: int, every: bool = False) -> dict[str, Any]:
        """Attributes of what leaves add to targets, or classes: one of them each, or some, or `every` one."""
        found: list[tuple[int, int, int]] = []
        for node in self.nodes:
            if node["modes"] == "LEAF":
                chosen = range(targets) if every or self.g.chance(0.2) else [self.g.integer(0, targets)]
                found += [(node["treeids"], node["nodeids"], target) for target in chosen]
        trees, numbers, ids = zip(*found, strict=True)
        weights = quarters(self.g, len(found))
        made = {"treeids": trees, "nodeids": numbers, "ids": ids, "weights": weights}
        return {f"{prefix}_{name}": list(values) for name, values in made.items()}


def grow(g: Growth, trees: Trees, node: Any, last: str) -> None:
    """Adds a node that takes `rows`, whose result `last` becomes a float, with gaps in its rows now and then."""
    before, taken = with_gaps(g, trees.rows) if g.chance(0.4) else (None, [trees.rows])
    node.input[0] = "gaps" if before else trees.rows.name
    cast = helper.make_node("Cast", [last], ["y"], to=TensorProto.FLOAT)
    g.chain([*([before] if before else []), node, cast], taken, moves=False)


def trees_of_numbers(g: Growth) -> None:
    trees, count, targets = Trees(g, matrix(g, exact=True)), g.integer(1, 6), g.integer(1, 4)
    for tree in range(count):
        trees.plant(tree, g.integer(0, 5))
    aggregate = g.choose(["SUM", "AVERAGE", "MIN", "MAX"])
    given: dict[str, Any] = {**trees.listed(), **trees.weighed("target", targets, aggregate in ("MIN", "MAX"))}
    if g.chance(0.5):
        given["base_values"] = quarters(g, targets)
    given |= {"n_targets": targets, "aggregate_function": aggregate, "post_transform": "NONE"}
    once(g, "TreeEnsemble")
    grow(g, trees, helper.make_node("TreeEnsembleRegressor", [""], ["sums"], domain=DOMAIN, **given), "sums")


def trees_of_classes(g: Growth) -> None:
    trees, count, classes = Trees(g, matrix(g, exact=True)), g.integer(1, 6), g.integer(3, 6)
    for tree in range(count):
        trees.plant(tree, g.integer(1, 5), least=1)  # onnx.reference forgets the weights of a tree of one leaf
    labels = [int(each) for each in g.random.permutation(20)[:classes]]
    given: dict[str, Any] = {**trees.listed(), **trees.weighed("class", classes), "classlabels_int64s": labels}
    if g.chance(0.5):
        given["base_values"] = quarters(g, classes)
    given["post_transform"] = g.choose(["NONE", "LOGISTIC", "SOFTMAX"])
    once(g, "TreeEnsemble")
    made = ["labels", "scores"]
    node = helper.make_node("TreeEnsembleClassifier", [""], made, domain=DOMAIN, **given)
    grow(g, trees, node, "scores")


def trees_by_tensors(g: Growth) -> None:
    """TreeEnsemble, whose branches tell leaves from branches, and may ask whether a number is among others."""
    trees, count, targets = Trees(g, matrix(g, exact=True)), g.integer(1, 6), g.integer(1, 4)
    roots: list[int] = []
    for tree in range(count):
        roots.append(sum(node["modes"] != "LEAF" for node in trees.nodes))
        trees.plant(tree, g.integer(1, 5), least=1)
    aggregate = g.integer(0, 4)
    if aggregate > 1:  # what no leaf is of has no least or largest
        targets = 1
    kinds = [node["modes"] != "LEAF" for node in trees.nodes]
    places = {
        (node["treeids"], node["nodeids"]): (is_branch, sum(kinds[:index]) if is_branch else index - sum(kinds[:index]))
        for index, (node, is_branch) in enumerate(zip(trees.nodes, kinds, strict=True))
    }
    branches = [node for node, is_branch in zip(trees.nodes, kinds, strict=True) if is_branch]
    leaves = len(kinds) - len(branches)
    modes = [MEMBER if g.chance(0.2) else MODES.index(node["modes"]) for node in branches]
    members: list[float] = []
    for node, mode in zip(branches, modes, strict=True):
        if mode == MEMBER:
            seen = {float(each) for each in trees.rows.array[:3, node["featureids"]]} | {1.0}
            members += [*sorted(seen - {0.0}), float("nan")]  # onnx.reference ends a set at 0 as well
    ends = {side: [places[node["treeids"], node[f"{side}nodeids"]] for node in branches] for side in ("true", "false")}
    tensors: dict[str, Any] = {
        "nodes_splits": np.array([node["values"] for node in branches], np.float32),
        "nodes_modes": np.array(modes, np.uint8),
        "leaf_weights": np.array(quarters(g, leaves), np.float32),
    }
    if members:
        tensors["membership_values"] = np.array(members, np.float32)
    given: dict[str, Any] = {name: numpy_helper.from_array(array) for name, array in tensors.items()}
    for side, found in ends.items():
        given[f"nodes_{side}nodeids"] = [number for _, number in found]
        given[f"nodes_{side}leafs"] = [int(not is_branch) for is_branch, _ in found]
    for name in ("featureids", "missing_value_tracks_true"):
        given[f"nodes_{name}"] = [node[name] for node in branches]
    given |= {"leaf_targetids": [g.integer(0, targets) for _ in range(leaves)], "tree_roots": roots}
    given |= {"n_targets": targets, "aggregate_function": aggregate, "post_transform": 0}
    once(g, "TreeEnsembleRegressor", "TreeEnsembleClassifier")
    grow(g, trees, helper.make_node("TreeEnsemble", [""], ["sums"], domain=DOMAIN, **given), "sums")


def once(g: Growth, *others: str) -> None:
    """Misfit where a graph holds an operator that is of another version of the domain."""
    if any(node.domain == DOMAIN and node.op_type in others for node in g.nodes):
        raise Misfit


MAKERS: Mapping[Maker, int] = {
    **dict.fromkeys((prepared, imputed, features, one_hot, encoded, linear, linear_classes, support_vectors), 1),
    **dict.fromkeys((trees_of_numbers, trees_of_classes, trees_by_tensors), 1),
}
