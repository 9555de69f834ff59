"""Operators that move elements compute what ONNX says, in every opset that spells them differently."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph_cases import random
from import_cases import Case, check, computed, imported, kinds, one_node
from onnx import numpy_helper

from mini_infer.dialects.errors import InvalidModelError, UnsupportedError
from mini_infer.dialects.graph.values import Array

X = random(2, 3, 4)
THIN = random(2, 1, 3, 1)
FLAGS = np.array([True, False, True])
PLACES = np.array([[[0, 2]]])


def ints(*values: Any) -> Array:
    """An int64 array."""
    return np.array(values, np.int64)


@pytest.mark.parametrize(
    "case",
    [
        Case("Reshape", [X, ints(4, -1)], 5, known=[1]),
        Case("Reshape", [X, ints(0, -1)], 14, known=[1]),
        Case("Reshape", [random(0, 3), ints(3, 0)], 14, {"allowzero": 1}, known=[1]),
        Case("Flatten", [X], 9),
        Case("Flatten", [X], 11, {"axis": -1}),
        Case("Flatten", [X], 11, {"axis": 0}),
        Case("Squeeze", [THIN], 11),
        Case("Squeeze", [THIN], 11, {"axes": [1]}),
        Case("Squeeze", [THIN, ints(-1)], 13, known=[1]),
        Case("Unsqueeze", [X], 1, {"axes": [0, 3]}),
        Case("Unsqueeze", [X], 11, {"axes": [-1]}),
        Case("Unsqueeze", [X, ints(1, -1)], 13, known=[1]),
        Case("Transpose", [X], 1),
        Case("Transpose", [X], 13, {"perm": [1, 0, 2]}),
        Case("Concat", [X, random(2, 5, 4), X], 11, {"axis": -2}),
        Case("Concat", [X], 13, {"axis": 0}),
        Case("Identity", [X], 16),
        Case("Expand", [random(3, 1), ints(2, 1, 4)], 13, known=[1]),
        Case("Expand", [X, ints(1, 1)], 8, known=[1]),
        Case("Tile", [X, ints(2, 1, 3)], 13, known=[1]),
        Case("Tile", [X, ints(1, 1, 1)], 6, known=[1]),
        Case("DepthToSpace", [random(2, 8, 3, 2)], 13, {"blocksize": 2}),
        Case("DepthToSpace", [random(2, 8, 3, 2)], 11, {"blocksize": 2, "mode": "CRD"}),
        Case("SpaceToDepth", [random(2, 3, 4, 6)], 13, {"blocksize": 2}),
    ],
    ids=str,
)
def test_shape(case: Case) -> None:
    check(case)


@pytest.mark.parametrize(
    "case",
    [
        Case("Split", [X], 2, {"axis": 2}, results=2),
        Case("Split", [X], 11, {"axis": 2, "split": [1, 3]}, results=2),
        Case("Split", [X, ints(1, 3)], 13, {"axis": -1}, known=[1], results=2),
        Case("Split", [random(7, 2)], 18, {"num_outputs": 3}, results=3),
        Case("Slice", [X], 1, {"starts": [1, 0], "ends": [100, -1], "axes": [1, 2]}),
        Case("Slice", [X], 1, {"starts": [0, 1], "ends": [1, 3]}),
        Case("Slice", [X, ints(1), ints(3)], 10, known=[1, 2]),
        Case("Slice", [X, ints(-1), ints(-100), ints(2), ints(-2)], 13, known=[1, 2, 3, 4]),
        Case("Slice", [X, ints(-3), ints(100), ints(-1)], 11, known=[1, 2, 3]),
        Case("Slice", [X, ints(3), ints(1), ints(2)], 13, known=[1, 2, 3]),
        Case("Slice", [X, ints(-9), ints(-99), ints(1), ints(-1)], 13, known=[1, 2, 3, 4], runtime=True),
        Case("Slice", [X[:, :0], ints(-9), ints(-99), ints(1), ints(-1)], 13, known=[1, 2, 3, 4], runtime=True),
        Case("Pad", [X], 2, {"pads": [0, 1, 2, 1, 0, 0], "value": 1.5}),
        Case("Pad", [X, ints(0, 1, 2, 1, 0, 0), np.array(2.5, np.float32)], 11, known=[1, 2]),
        Case("Pad", [X, ints(0, 1, 1, 1, 0, 0), np.array(2.5, np.float32)], 11, known=[1]),
        Case("Pad", [X, ints(1, 2), np.array([2.5], np.float32), ints(-1)], 18, known=[1, 3]),
        Case("Pad", [FLAGS, ints(1, 1), np.array(True)], 21, known=[1]),
        Case("Pad", [X, ints(1, 2), np.array(2.5, np.float32), ints(-1)], 18, {"mode": "edge"}, known=[1, 3]),
        Case("Pad", [X, ints(0, 1, 2, 1, 2, 3)], 13, {"mode": "reflect"}, known=[1]),
        Case("Pad", [X, ints(0, 1, 2, 1, 0, 0)], 19, {"mode": "wrap"}, known=[1]),
    ],
    ids=str,
)
def test_parts(case: Case) -> None:
    check(case)


def test_negative_pads_take_away() -> None:
    model, inputs = one_node(Case("Pad", [X, ints(0, -1, 1, 0, 0, -2)], 13, known=[1]))
    np.testing.assert_array_equal(computed(model, inputs)["y0"], np.pad(X[:, 1:, :2], [(0, 0), (0, 0), (1, 0)]))


@pytest.mark.parametrize(
    "case",
    [
        Case("Reshape", [X, ints(2, 3, 4)], 14, known=[1]),
        Case("Transpose", [X], 13, {"perm": [0, 1, 2]}),
        Case("Slice", [X, ints(0), ints(100), ints(1)], 13, known=[1, 2, 3]),
        Case("Pad", [X, ints(0, 0, 0, 0, 0, 0)], 13, known=[1]),
        Case("Expand", [X, ints(3, 4)], 13, known=[1]),
        Case("Dropout", [X], 7, {"ratio": 0.3}),
        Case("Dropout", [X, np.array(0.3, np.float32), np.array(False)], 13, known=[1, 2]),
        Case("Cast", [X], 13, {"to": 1}),
    ],
    ids=str,
)
def test_what_changes_nothing_leaves_nothing(case: Case) -> None:
    model, inputs = one_node(case)
    assert kinds(imported(model)[0]) == []
    np.testing.assert_array_equal(computed(model, inputs)["y0"], X)


def test_dropout_mask() -> None:
    check(Case("Dropout", [X, np.array(0.3, np.float32), np.array(False)], 13, known=[1, 2], results=2))


@pytest.mark.parametrize(
    "case",
    [
        Case("Gather", [X, ints(0, -1)], 13, {"axis": 1}),
        Case("Gather", [X, np.array(1)], 11, {"axis": -1}, known=[1]),
        Case("GatherElements", [X, np.zeros((2, 3, 2), np.int64) - 1], 13, {"axis": 2}),
        Case("GatherND", [X, ints([0, 1], [1, 2])], 12),
        Case("GatherND", [X, ints([0], [2])], 12, {"batch_dims": 1}),
        Case("ScatterND", [X, ints([0, 1], [1, 2]), random(2, 4, seed=1)], 11),
        Case("ScatterND", [X, ints([0, 1], [0, 1]), random(2, 4, seed=1)], 18, {"reduction": "add"}),
        Case("ScatterElements", [X, PLACES, random(1, 1, 2, seed=1)], 11, {"axis": 2}),
        Case("Scatter", [X, PLACES, random(1, 1, 2, seed=1)], 9, {"axis": 2}, runtime=True),
        Case("ScatterElements", [X, np.array([[[1, 1]]]), random(1, 1, 2)], 18, {"axis": 2, "reduction": "mul"}),
        Case("OneHot", [ints(0, 2, -1, 7), np.array(3), random(2, seed=1)], 11, known=[1]),
        Case("OneHot", [ints([0, 2], [1, 1]), np.array(3), random(2, seed=1)], 9, {"axis": 1}, known=[1, 2]),
        Case("Trilu", [random(2, 4, 5)], 14, {"upper": 0}),
        Case("Trilu", [random(4, 5), np.array(1)], 14, known=[1]),
        Case("Trilu", [random(4, 5), np.array(-2)], 14, {"upper": 0}, known=[1]),
        Case("EyeLike", [random(3, 4)], 9, {"k": 1}),
        Case("EyeLike", [random(3, 4)], 22, {"dtype": 7}),
        Case("NonZero", [FLAGS], 13, known=[0]),
        Case("Compress", [X, FLAGS], 11, {"axis": 1}, known=[1]),
        Case("Compress", [X, FLAGS], 9, known=[1]),
        Case("ReverseSequence", [random(4, 3, 2), ints(1, 4, 2)], 10, {"time_axis": 0, "batch_axis": 1}),
        Case("ReverseSequence", [random(3, 4), ints(1, 4, 2)], 10, {"time_axis": 1, "batch_axis": 0}),
    ],
    ids=str,
)
def test_indices(case: Case) -> None:
    check(case)


def test_sequences_are_reversed_as_slices() -> None:
    """An index for each step of each sequence, not for each element of it."""
    x = random(4, 3, 50)
    found = kinds(imported(one_node(Case("ReverseSequence", [x, ints(1, 4, 2)], 10))[0])[0])
    assert "gather_nd" in found and "gather_elements" not in found
    check(Case("ReverseSequence", [x, ints(1, 4, 2)], 10))


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("Reshape", [X, ints(5, -1)], 14, known=[1]), r"24 elements can't take the shape"),
        (Case("Reshape", [X, ints(-1, -1)], 14, known=[1]), r"shape \[-1, -1\] is invalid"),
        (Case("Reshape", [X, ints(2, 3, 4, 0)], 14, known=[1]), "copies a dimension"),
        (Case("Reshape", [X, random(2)], 14, known=[1]), r"operand 1 \(x1\) must hold integers, got float32"),
        (Case("Squeeze", [X, ints(1)], 13, known=[1]), "axis 1 has 3 elements and can't be dropped"),
        (Case("Unsqueeze", [X, ints(1, 1)], 13, known=[1]), r"axes \[1, 1\] name a dimension twice"),
        (Case("Unsqueeze", [X], 11), "axes are missing"),
        (Case("Flatten", [X], 13, {"axis": 4}), "axis 4 is outside of a tensor of rank 3"),
        (Case("Transpose", [X], 13, {"perm": [0, 1]}), "is no permutation of 3 dimensions"),
        (Case("Concat", [X, random(2, 3)], 13, {"axis": 1}), "differ outside of axis 1"),
        (Case("Concat", [X, X], 13, {"axis": 3}), "axis 3 is outside of a tensor of rank 3"),
        (
            Case("Split", [X, ints(1, 1)], 13, {"axis": 2}, known=[1], results=2),
            r"can't split 4 elements into \[1, 1\]",
        ),
        (Case("Split", [random(7, 2)], 2, results=2), "can't split 7 elements into 2 equal parts"),
        (Case("Split", [random(7, 2)], 13, results=2), "can't split 7 elements into 2 equal parts"),
        (Case("Slice", [X, ints(0), ints(2), ints(0), ints(0)], 13, known=[1, 2, 3, 4]), "by step 0"),
        (Case("Slice", [X, ints(0, 1), ints(2)], 13, known=[1, 2]), "differ in length"),
        (
            Case("Slice", [X, ints(0, 1), ints(2, 2), ints(1, 1)], 13, known=[1, 2, 3]),
            r"axes \[1, 1\] name a dimension twice",
        ),
        (Case("Expand", [X, ints(2, 5, 4)], 13, known=[1]), r"can't be expanded to \[2, 5, 4\]"),
        (Case("Tile", [X, ints(2)], 13, known=[1]), r"repeats \[2\] don't fit an operand of rank 3"),
        (Case("Pad", [X, ints(1, 2)], 13, known=[1]), "need two entries for each of 3 axes"),
        (Case("DepthToSpace", [random(1, 3, 2, 2)], 13, {"blocksize": 2}), "does not divide 3"),
        (
            Case("SpaceToDepth", [random(1, 3, 3, 2)], 13, {"blocksize": 2}),
            "does not divide the sizes",
        ),
        (Case("Gather", [X, ints(0)], 13, {"axis": 5}), "axis 5 is outside"),
        (Case("Gather", [X, random(2)], 13), "indices must be integers"),
        (
            Case("ScatterND", [X, ints([0]), random(1, 3, 4)], 18, {"reduction": "sub"}),
            "reduction sub is unknown",
        ),
        (
            Case("Range", [np.array(0), np.array(3), np.array(0)], 11, known=[0, 1, 2]),
            "there is no range from 0 to 3 in steps of 0",
        ),
        (Case("EyeLike", [X], 9), "must have two dimensions, got 3"),
        (
            Case("Reshape", [X, ints(-1, -1)], 14, known=[1]),
            r"shape \[-1, -1\] is invalid: at most one -1, and no other negative size",
        ),
        (Case("Reshape", [X, ints(-2, -3)], 14, known=[1]), r"shape \[-2, -3\] is invalid"),
        (
            Case("ConstantOfShape", [ints(2)], 9, {"value": numpy_helper.from_array(np.zeros(2))}, known=[0]),
            r"the value must be one element, got shape \[2\]",
        ),
        (
            Case("ReverseSequence", [X, ints(1, 1)], 10, {"time_axis": 1, "batch_axis": 2}),
            "time_axis 1 and batch_axis 2 must be 0 and 1",
        ),
        (
            Case("Pad", [FLAGS, ints(1, 1), np.array([True, False])], 13, known=[1, 2]),
            r"operand 2 \(x2\) must hold one number, got 2",
        ),
    ],
)
def test_invalid(case: Case, message: str) -> None:
    with pytest.raises(InvalidModelError, match=rf"^the_node \({case.op_type}\): .*{message}"):
        imported(one_node(case)[0])


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("Reshape", [X, ints(4, -1)], 14), r"operand 1 \(x1\) must be known when the model is imported"),
        (Case("Constant", [], 13, {"value_string": "text"}), "a constant given as value_string"),
        (Case("Dropout", [X, np.array(0.3, np.float32), np.array(True)], 13, known=[1, 2]), "training mode"),
    ],
)
def test_unsupported(case: Case, message: str) -> None:
    with pytest.raises(UnsupportedError, match=rf"^the_node \({case.op_type}\): .*{message}"):
        imported(one_node(case)[0])
