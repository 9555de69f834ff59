"""Determinants, einsums that take diagonals, weights of mel spectra: as the import makes them, against numpy."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from import_cases import reference
from onnx import helper, numpy_helper

import mini_infer as mi
from mini_infer.dialects.graph.values import Array


def _model(op_type: str, arrays: list[Array], known: bool = False, **attributes: Any) -> Any:
    names = [f"x{index}" for index in range(len(arrays))]
    node = helper.make_node(op_type, names, ["y"], **attributes)
    element = helper.np_dtype_to_tensor_dtype(arrays[0].dtype)
    inputs = [helper.make_tensor_value_info(name, element, x.shape) for name, x in zip(names, arrays, strict=True)]
    weights = [numpy_helper.from_array(x, name) for name, x in zip(names, arrays, strict=True)]
    result = helper.make_tensor_value_info("y", element if not known else 1, None)
    graph = helper.make_graph([node], "g", [] if known else inputs, [result], weights if known else [])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)])


@pytest.mark.thinned(3)
@pytest.mark.parametrize("size", [0, 1, 2, 5])
def test_determinant(size: int) -> None:
    x = np.random.default_rng(2).standard_normal((2, 3, size, size)).astype(np.float32)
    x[0, 1] = np.eye(size)[::-1]  # every step swaps rows
    x[1, 0, :, :1] = 0
    exact = np.linalg.det(x.astype(np.float64))
    np.testing.assert_allclose(mi.compile(_model("Det", [x]))(x), exact, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("shape", "error", "fact"),
    [
        ((2, 3, 4), mi.InvalidModelError, "[2, 3, 4], whose matrices are not square"),
        ((3,), mi.InvalidModelError, "[3], whose matrices are not square"),
        ((65, 65), mi.UnsupportedError, "the determinant of 65 rows, which are more than 64"),
    ],
)
def test_no_determinant(shape: tuple[int, ...], error: type[Exception], fact: str) -> None:
    with pytest.raises(error, match=rf"\(Det\): .*{re.escape(fact)}"):
        mi.compile(_model("Det", [np.zeros(shape, np.float32)]))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ii->i", [(4, 4)]),
        ("iji", [(4, 3, 4)]),
        ("iii->i", [(3, 3, 3)]),
        ("iij,ij->j", [(3, 3, 5), (3, 5)]),
        ("iijjk->kij", [(2, 2, 3, 3, 4)]),
        ("b...ii,...i->b...", [(2, 5, 3, 3), (5, 3)]),
    ],
)
def test_diagonals(equation: str, shapes: list[tuple[int, ...]]) -> None:
    arrays = [np.random.default_rng(3).standard_normal(shape) for shape in shapes]
    got = mi.compile(_model("Einsum", arrays, equation=equation))(*arrays)
    np.testing.assert_allclose(got, np.einsum(equation, *arrays), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("bands", [(8, 16, 8192, 0, 4096), (3, 100, 8000, 20, 3000), (40, 400, 16000, 0, 8000)])
def test_mel_weights(bands: tuple[int, ...]) -> None:
    arrays = [np.array(each, np.int64 if at < 3 else np.float32) for at, each in enumerate(bands)]
    model = _model("MelWeightMatrix", arrays, known=True)
    (wanted,) = reference(model, {})
    np.testing.assert_allclose(mi.compile(model)(), wanted, atol=1e-7)


def test_bands_beyond_the_spectrum() -> None:
    arrays = [np.array(each, np.int64 if at < 3 else np.float32) for at, each in enumerate((8, 16, 8192, 0, 9000))]
    with pytest.raises(mi.InvalidModelError, match=r"\(MelWeightMatrix\): the bands reach beyond the spectrum"):
        mi.compile(_model("MelWeightMatrix", arrays, known=True))


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("op_type", "shapes", "attributes"),
    [
        ("Det", [(2, 3, 3), (5, 3, 3)], {}),
        ("DFT", [(2, 20, 1), (3, 70, 1)], {}),
        ("Einsum", [(2, 3, 3), (4, 5, 5)], {"equation": "bii->bi"}),
    ],
)
def test_at_shapes_of_run_time(op_type: str, shapes: list[tuple[int, ...]], attributes: dict[str, Any]) -> None:
    model = _model(op_type, [np.zeros(shapes[0], np.float32)], **attributes)
    for axis, name in ((0, "b"), (1, "n"), (2, "n"))[: 3 if op_type == "Einsum" else 2 if op_type == "DFT" else 1]:
        model.graph.input[0].type.tensor_type.shape.dim[axis].dim_param = name
    engine = mi.compile(model, enable_dynamic_shapes=True)
    for shape in shapes:
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        (wanted,) = reference(model, {"x0": x})
        np.testing.assert_allclose(engine(x), wanted, rtol=1e-4, atol=1e-4)
