"""Tree ensembles of ai.onnx.ml, as ONNX Runtime computes them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from import_cases import computed
from microsoft_cases import Case, check, model_of, onnxruntime
from models.build import onnx_type
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from random_trees import RandomTrees

import mini_infer as mi
from mini_infer.dialects.errors import InvalidModelError, UnsupportedError
from mini_infer.dialects.graph.ops.tree_ensemble import TreeEnsembleOp
from mini_infer.lowering.onnx_to_graph import import_onnx

ALL_MODES = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")


def regression(
    seed: int, count: int = 5, depth: int = 4, full: float = 1.0, rows: int = 11, nan: float = 0.0, **facts: Any
) -> Case:
    """A regressor of some trees, with `attributes` among the facts."""
    attributes: dict[str, Any] = facts.pop("attributes", {})
    double: bool = facts.pop("double", False)
    trees = RandomTrees(seed, **facts)
    for tree in range(count):
        trees.grow(tree, depth, full)
    given = {**trees.attributes("target"), "n_targets": trees.targets, **attributes}
    x = trees.rows(rows, nan)
    return Case(
        "TreeEnsembleRegressor",
        [x.astype(np.float64) if double else x],
        given,
        domain="ai.onnx.ml",
        version=3,
        note=f"{seed} {facts} {attributes}",
    )


REGRESSIONS = [
    regression(0),
    regression(1, modes=("BRANCH_LT",)),
    regression(2, modes=ALL_MODES),
    regression(3, modes=ALL_MODES, missing=0.5, nan=0.3),
    regression(4, missing=1.0, nan=0.3),
    regression(5, full=0.7, depth=12, count=9),
    regression(6, full=0.7, depth=14, count=3, missing=0.5, nan=0.2, modes=ALL_MODES),
    regression(7, targets=3, count=9, attributes={"base_values": [0.5, -1.0, 2.0]}),
    regression(8, targets=3, one_target=False, count=9),
    regression(9, targets=3, one_target=False, attributes={"aggregate_function": "AVERAGE"}),
    regression(10, targets=2, one_target=False, attributes={"aggregate_function": "MIN"}),
    regression(11, targets=2, one_target=False, attributes={"aggregate_function": "MAX", "base_values": [1.0, 2.0]}),
    regression(12, attributes={"aggregate_function": "MIN"}, count=20),
    regression(13, attributes={"post_transform": "LOGISTIC"}),
    regression(14, targets=3, attributes={"post_transform": "LOGISTIC"}),
    regression(15, targets=3, attributes={"post_transform": "SOFTMAX"}),
    regression(16, targets=3, one_target=False, attributes={"post_transform": "SOFTMAX_ZERO"}),
    regression(17, lowest=0.01, count=1, attributes={"post_transform": "PROBIT"}),
    regression(18, double=True, count=70),
    regression(19, count=150, depth=2, rows=3),
    regression(20, count=1, depth=0),
    regression(21, count=4, depth=9, rows=140),
    regression(22, count=3, depth=11, rows=9),
    regression(23, modes=("BRANCH_EQ",), depth=2),
]


@pytest.mark.parametrize("case", REGRESSIONS, ids=str)
def test_a_regressor(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("number", [0, 3, 5, 7, 8, 10, 18, 20, 21, 22])
def test_a_compiled_regressor(number: int) -> None:
    check(REGRESSIONS[number], compiled=True)


def classification(seed: int, labels: int, targets: int, count: int = 5, rows: int = 11, **facts: Any) -> Case:
    """A classifier of some trees; `first` is added to the numbers of classes that leaves have weights for."""
    attributes: dict[str, Any] = facts.pop("attributes", {})
    first: int = facts.pop("first", 0)
    trees = RandomTrees(seed, targets=targets, **facts)
    for tree in range(count):
        trees.grow(tree, 4)
    given = {**trees.attributes("class"), "classlabels_int64s": list(range(labels)), **attributes}
    given["class_ids"] = [each + first for each in given["class_ids"]]
    note = f"{labels} {seed} {facts} {first} {attributes}"
    return Case(
        "TreeEnsembleClassifier",
        [trees.rows(rows)],
        given,
        results=(0, 1),
        domain="ai.onnx.ml",
        version=3,
        note=note,
    )


TRANSFORMS = [{"post_transform": each} for each in ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO")]
CLASSIFICATIONS = [
    classification(0, 3, 3),
    classification(1, 3, 3, one_target=False, attributes={"base_values": [0.1, 0.2, -0.3]}),
    classification(2, 3, 3, attributes={"classlabels_int64s": [7, -2, 5]}),
    *(classification(3, 3, 3, attributes=each) for each in TRANSFORMS),
    *(classification(4, 2, 1, attributes=each) for each in TRANSFORMS),
    *(classification(5, 2, 1, lowest=0.0, attributes=each) for each in TRANSFORMS),
    *(classification(8, 2, 1, first=1, attributes=each) for each in TRANSFORMS),
    classification(9, 2, 1, lowest=0.0, attributes={"base_values": [-0.5]}),
    classification(10, 2, 1, attributes={"base_values": [0.5]}),
    classification(11, 2, 1, attributes={"base_values": [0.5], "classlabels_int64s": [4, 9], **TRANSFORMS[2]}),
    classification(12, 1, 1, attributes={"classlabels_int64s": [5]}),
]


@pytest.mark.parametrize("case", CLASSIFICATIONS, ids=str)
def test_a_classifier(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("attributes", TRANSFORMS, ids=str)
def test_two_classes_with_a_score_each(attributes: dict[str, Any]) -> None:
    """Scores are ONNX Runtime's; its label is 1 wherever the second score is above 0, whatever the first one is."""
    model, inputs = model_of(classification(6, 2, 2, one_target=False, attributes=attributes), [TensorProto.INT64, 1])
    np.testing.assert_allclose(computed(model, inputs)["y1"], onnxruntime(model, inputs)[1], rtol=1e-5, atol=1e-6)


def test_a_single_label_that_is_a_text() -> None:
    """ONNX Runtime reads a second label, which there is not."""
    case = classification(12, 1, 1)
    texts = {name: each for name, each in case.attributes.items() if name != "classlabels_int64s"}
    model, inputs = model_of(replace(case, attributes={**texts, "classlabels_strings": ["only"]}))
    labels, scores = mi.compile(model, threads=1)(inputs).values()
    assert labels.tolist() == np.where(scores[:, 0] > 0, "1", "0").tolist()
    assert set(labels.tolist()) == {"0", "1"}


def test_the_label_of_the_larger_score_of_two() -> None:
    case = classification(7, 2, 2, one_target=False, attributes={"classlabels_int64s": [4, 9]})
    model, inputs = model_of(case)
    labels, scores = computed(model, inputs).values()
    assert labels.tolist() == np.where(scores[:, 0] >= scores[:, 1], 4, 9).tolist()
    assert set(labels.tolist()) == {4, 9}


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (classification(13, 2, 1, attributes={"base_values": [0.5, -0.5]}), "2 base_values for 2 classes, of which"),
        (
            classification(14, 2, 1, attributes={"post_transform": "PROBIT"}),
            "post_transform PROBIT of one score for two classes",
        ),
        (classification(14, 3, 3, attributes={"post_transform": "ROOT"}), "post_transform ROOT is unknown"),
        (regression(0, attributes={"nodes_treeids": [0]}), "attributes of different lengths: nodes_treeids 1"),
        (regression(0, attributes={"target_ids": [1] * 80}), "target 1 of 1"),
        (regression(0, attributes={"aggregate_function": "MEAN"}), "aggregate_function MEAN is unknown"),
        (regression(0, attributes={"target_nodeids": [99] * 80}), "leaf 99 of tree 0 doesn't exist"),
        (regression(0, attributes={"target_nodeids": [0] * 80}), "a node with a weight is not a leaf"),
        (regression(0, attributes={"nodes_truenodeids": [0] * 155}), "a node is below itself"),
        (regression(0, attributes={"nodes_nodeids": [0] * 155}), "two nodes have the same numbers"),
        (regression(0, attributes={"nodes_featureids": [5] * 155}), "feature 5 of 5"),
        (regression(0, attributes={"nodes_values": [float("nan")] * 155}), "a threshold is NaN"),
        (regression(0, attributes={"nodes_modes": ["BRANCH_LEQ"] * 154 + ["LEAVES"]}), "mode LEAVES is unknown"),
        (regression(0, attributes={"base_values": [1.0, 2.0]}), "2 base_values for 1 targets"),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_what_is_refused(case: Case, message: str) -> None:
    with pytest.raises((InvalidModelError, UnsupportedError), match=rf"the_node \({case.op_type}\): {message}"):
        import_onnx(model_of(case)[0])


# x0 in a set ? (x1 <= 0.5 ? leaf 0 : leaf 1) : (x1 != 2 ? leaf 2 : leaf 3); and a tree of one question: x1 in a set
MEMBERS = {
    "tree_roots": [0, 3],
    "nodes_featureids": [0, 1, 1, 1],
    "nodes_modes": helper.make_tensor("m", TensorProto.UINT8, [4], [6, 0, 5, 6]),
    "nodes_truenodeids": [1, 0, 2, 3],
    "nodes_falsenodeids": [2, 1, 3, 0],
    "nodes_trueleafs": [0, 1, 1, 1],
    "nodes_falseleafs": [0, 1, 1, 1],
    "leaf_targetids": [0, 1, 0, 1],
    "n_targets": 2,
}
NAN = float("nan")
PLACES = (0, 0.5, 0.6, 1, 2, 2.5, 3, 4, 5, 7, -3, NAN)


def members(sets: list[float], missing: list[int], kind: type[np.floating[Any]], **more: Any) -> Case:
    """A case of the operator of version 5 with questions for members."""

    def tensor(numbers: list[float]) -> TensorProto:
        return numpy_helper.from_array(np.array(numbers, kind))

    attributes = {
        **MEMBERS,
        "nodes_splits": tensor([0.0, 0.5, 2.0, 0.0]),
        "membership_values": tensor(sets),
        "leaf_weights": tensor([1.0, 2.0, 4.0, 8.0]),
        "nodes_missing_value_tracks_true": missing,
        **more,
    }
    x = np.array([[a, b] for a in PLACES for b in PLACES], kind)
    return Case("TreeEnsemble", [x], attributes, domain="ai.onnx.ml", version=5, opset=21)


@pytest.mark.parametrize("kind", [np.float32, np.float64], ids=str)
@pytest.mark.parametrize("missing", [[0, 0, 0, 0], [1, 0, 1, 1]], ids=str)
@pytest.mark.parametrize("transform", range(4))
def test_the_operator_of_version_5(kind: type[np.floating[Any]], missing: list[int], transform: int) -> None:
    """ONNX Runtime has the numbers of SOFTMAX and LOGISTIC exchanged."""
    model, inputs = model_of(members([1, 4, 7, NAN, 2, 5], missing, kind, post_transform=transform))
    theirs = members([1, 4, 7, NAN, 2, 5], missing, kind, post_transform=[0, 2, 1, 3][transform])
    expected = onnxruntime(model_of(theirs, [onnx_type(np.dtype(kind))])[0], inputs)
    np.testing.assert_allclose(computed(model, inputs)["y0"], expected[0], rtol=1e-6)


def test_the_result_has_the_type_of_the_features() -> None:
    """ONNX Runtime has no trees of float16."""
    case = members([1, 4, 7, NAN, 2, 5, NAN], [0, 0, 0, 0], np.float16)
    model, inputs = model_of(case, [TensorProto.FLOAT16])
    evaluator: Any = ReferenceEvaluator(model)  # has no usable types
    found, expected = computed(model, inputs)["y0"], evaluator.run(None, inputs)[0]
    assert found.dtype == expected.dtype == np.float16
    np.testing.assert_array_equal(found, expected)


def test_an_ensemble_without_trees_is_refused() -> None:
    case = members([1, 4, 7, NAN, 2, 5], [0, 0, 0, 0], np.float32)
    model, _ = model_of(case)
    (roots,) = (each for each in model.graph.node[0].attribute if each.name == "tree_roots")
    del roots.ints[:]
    with pytest.raises(InvalidModelError, match=r"the_node \(TreeEnsemble\): there are no trees"):
        import_onnx(model)


def test_members_that_are_no_whole_numbers() -> None:
    """ONNX Runtime takes whole numbers only."""
    model, inputs = model_of(members([2.5, -3.0, 0.5, NAN, 0.5, NAN], [0, 0, 0, 1], np.float32))
    evaluator: Any = ReferenceEvaluator(model)  # has no usable types
    np.testing.assert_array_equal(computed(model, inputs)["y0"], evaluator.run(None, inputs)[0])


@pytest.mark.parametrize("number", [3, 6, 8, 10])
def test_a_regressor_on_an_emulated_gpu(number: int) -> None:
    model, inputs = model_of(REGRESSIONS[number], [TensorProto.FLOAT])
    found = mi.compile(model, device="cuda-emulated")(inputs)["y0"]
    np.testing.assert_allclose(found, onnxruntime(model, inputs)[0], rtol=1e-5, atol=1e-6)


def votes(rows: np.ndarray[Any, np.dtype[np.float32]]) -> Case:
    """Each feature above 0 is a vote of 0.05 for the second of two classes, written as exporters do."""
    trees = range(rows.shape[1])
    nodes = {
        "nodes_treeids": [tree for tree in trees for _ in range(3)],
        "nodes_nodeids": [0, 1, 2] * len(trees),
        "nodes_featureids": [tree for tree in trees for _ in range(3)],
        "nodes_values": [0.0] * 3 * len(trees),
        "nodes_modes": ["BRANCH_LEQ", "LEAF", "LEAF"] * len(trees),
        "nodes_truenodeids": [1, 0, 0] * len(trees),
        "nodes_falsenodeids": [2, 0, 0] * len(trees),
    }
    weights = {"treeids": [*trees, *trees], "nodeids": [2] * len(trees) + [1] * len(trees), "ids": [0] * 2 * len(trees)}
    held: dict[str, Any] = {f"class_{name}": column for name, column in weights.items()}
    held["class_weights"] = [0.05] * len(trees) + [0.0] * len(trees)
    given = {**nodes, **held, "classlabels_int64s": [0, 1]}
    return Case("TreeEnsembleClassifier", [rows], given, results=(0, 1), domain="ai.onnx.ml", version=3)


@pytest.mark.parametrize("rows", [1, 40])
def test_half_of_the_votes_are_no_majority(rows: int) -> None:
    """Ten times 0.05 is 0.50000006 if each sum is rounded to float32."""
    x = np.random.default_rng(0).permuted(np.tile(np.array([-1.0, 1.0], np.float32), (rows, 10)), axis=1)
    model, inputs = model_of(votes(x))
    found = mi.compile(model)(inputs)
    np.testing.assert_array_equal(found["y0"], np.zeros(rows))
    np.testing.assert_array_equal(found["y1"], np.full((rows, 2), 0.5, np.float32))


def test_a_leaf_with_several_weights_for_the_only_target_has_the_first() -> None:
    """As ONNX Runtime has it, which skl2onnx counts on."""
    case = regression(30)
    given = dict(case.attributes)
    count = len(given["target_weights"])
    for name in ("target_treeids", "target_nodeids", "target_ids"):
        given[name] = [*given[name], *given[name]]
    given["target_weights"] = [*given["target_weights"], *[7.0] * count]
    check(replace(case, attributes=given))


@pytest.mark.parametrize(
    ("facts", "tested"),
    [
        ({"depth": 5}, True),
        pytest.param({"depth": 6}, True, marks=pytest.mark.slow),
        pytest.param({"depth": 7}, False, marks=pytest.mark.slow),
        pytest.param({"depth": 8, "full": 0.5}, True, marks=pytest.mark.slow),
        ({"depth": 9, "full": 0.5, "targets": 3, "missing": 0.5, "nan": 0.2}, True),
        ({"depth": 12, "full": 0.8}, False),
        pytest.param({"depth": 5, "double": True}, True, marks=pytest.mark.slow),
        pytest.param({"depth": 5, "targets": 2, "one_target": False}, True, marks=pytest.mark.slow),
        pytest.param({"depth": 3, "modes": ("BRANCH_EQ",)}, False, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_rows_of_any_number_on_any_number_of_threads(facts: dict[str, Any], tested: bool) -> None:
    """Results are the same bits however many rows and threads there are, by tests of trees or by walks."""
    case = regression(24, count=70, rows=300, **facts)
    model, inputs = model_of(case, [TensorProto.FLOAT])
    made = next(op for op in mi.import_onnx(model).walk() if isinstance(op, TreeEnsembleOp))
    assert (made.tests is not None) is tested
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "rows"
    ranges = mi.OptimizationProfile(dims={"rows": (1, 16, 512)})
    engines = [mi.compile(model, profile=ranges, threads=threads) for threads in (1, 3)]
    x, expected = inputs["x0"], onnxruntime(model, inputs)[0]
    whole = engines[0](x)
    np.testing.assert_allclose(whole, expected, rtol=1e-5, atol=1e-5)
    for rows in (1, 3, 7, 8, 9, 16, 17, 20, 63, 64, 67, 130, 300):
        for engine in engines:
            np.testing.assert_array_equal(engine(x[:rows]), whole[:rows])
