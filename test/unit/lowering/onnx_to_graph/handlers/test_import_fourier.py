"""DFT and STFT as the import makes them, against numpy's transforms in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper, numpy_helper

import mini_infer as mi
from mini_infer.dialects.graph.values import Array


def _run(op_type: str, x: Array, constants: dict[str, Any], outputs: Any, opset: int = 20, **attributes: Any) -> Array:
    """One node on x and on operands that are known; empty names stand for absent ones."""
    names = ["x", *constants]
    weights = [
        numpy_helper.from_array(np.asarray(value), name) for name, value in constants.items() if value is not None
    ]
    node = helper.make_node(
        op_type, [name if name == "x" or constants[name] is not None else "" for name in names], ["y"], **attributes
    )
    element = helper.np_dtype_to_tensor_dtype(x.dtype)
    given = helper.make_tensor_value_info("x", element, x.shape)
    graph = helper.make_graph([node], "g", [given], [helper.make_tensor_value_info("y", element, outputs)], weights)
    return mi.compile(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))(x)


def _parts(z: Array) -> Array:
    return np.stack([np.real(z), np.imag(z)], axis=-1)


def _signal(*shape: int, dtype: Any = np.float32) -> Array:
    return np.random.default_rng(7).standard_normal(shape).astype(dtype)


@pytest.mark.thinned(7)
@pytest.mark.parametrize("size", [1, 7, 64, 67, 130, 1000])
@pytest.mark.parametrize("inverse", [0, 1])
def test_every_length(size: int, inverse: int) -> None:
    x = _signal(3, size, 2)
    exact = (np.fft.ifft if inverse else np.fft.fft)(x[..., 0].astype(np.float64) + 1j * x[..., 1], axis=1)
    got = _run("DFT", x, {}, (3, size, 2), inverse=inverse)
    np.testing.assert_allclose(got, _parts(exact), rtol=2e-7, atol=1e-7 * np.abs(exact).max())


@pytest.mark.parametrize("axis", [0, -2])
@pytest.mark.parametrize("length", [None, 5, 12])
def test_axes_and_lengths(axis: int, length: int | None) -> None:
    """A signal is cut off or filled up with zeros."""
    x = _signal(4, 9, 1, dtype=np.float64)
    exact = np.fft.fft(x[..., 0], n=length, axis=axis if axis >= 0 else axis + 1)
    got = _run("DFT", x, {"length": length, "axis": np.int64(axis)}, (*exact.shape, 2))
    np.testing.assert_allclose(got, _parts(exact), rtol=1e-12, atol=1e-12)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("length", [1, 9, 10])
def test_half_a_spectrum_of_real_numbers_and_back(length: int) -> None:
    x = _signal(2, length, 1, dtype=np.float64)
    half = _run("DFT", x, {}, (2, length // 2 + 1, 2), onesided=1)
    np.testing.assert_allclose(half, _parts(np.fft.rfft(x[..., 0], axis=1)), rtol=1e-12, atol=1e-12)
    back = _run("DFT", half, {"length": np.int64(length)}, (2, length, 1), onesided=1, inverse=1)
    np.testing.assert_allclose(back, x, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("size", [5, 130])
def test_one_signal_alone(size: int) -> None:
    x = _signal(size, 2, dtype=np.float64)
    exact = np.fft.fft(x[:, 0] + 1j * x[:, 1])
    got = _run("DFT", x, {"length": None, "axis": np.int64(0)}, (size, 2))
    np.testing.assert_allclose(got, _parts(exact), rtol=1e-12, atol=1e-12)


def test_the_axis_was_an_attribute() -> None:
    x = _signal(2, 4, 6, 1)
    got = _run("DFT", x, {}, (2, 4, 6, 2), opset=17, axis=2)
    np.testing.assert_allclose(got, _parts(np.fft.fft(x[..., 0], axis=2)), rtol=1e-5, atol=1e-6)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("onesided", [0, 1])
def test_frames(parts: int, onesided: int) -> None:
    x, window = _signal(2, 50, parts), np.hanning(16).astype(np.float32)
    z = x[..., 0].astype(np.float64) + (1j * x[..., 1] if parts == 2 else 0)
    frames = np.stack([z[:, start : start + 16] * window for start in range(0, 35, 6)], axis=1)
    exact = _parts(np.fft.fft(frames, axis=-1))[..., : 9 if onesided else 16, :]
    constants = {"step": np.int64(6), "window": window, "length": np.int64(16)}
    got = _run("STFT", x, constants, exact.shape, onesided=onesided)
    np.testing.assert_allclose(got, exact, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    ("shape", "constants", "attributes", "fact"),
    [
        ((2, 4, 3), {}, {}, "holds 1 or 2 parts of numbers, not 3"),
        ((2, 4, 1), {"length": None, "axis": np.int64(2)}, {}, "holds the parts of numbers, and can't be transformed"),
        ((2, 4, 1), {"length": np.int64(0)}, {}, "there is no transform of 0 elements"),
    ],
)
def test_what_can_not_be_transformed(shape: Any, constants: Any, attributes: Any, fact: str) -> None:
    with pytest.raises(mi.InvalidModelError, match=rf"\(DFT\): .*{fact}"):
        _run("DFT", _signal(*shape), constants, None, **attributes)


def test_frames_that_do_not_fit() -> None:
    with pytest.raises(mi.InvalidModelError, match=r"\(STFT\): there are no frames of 9 elements, 2 apart, in 8"):
        _run("STFT", _signal(1, 8, 1), {"step": np.int64(2), "window": None, "length": np.int64(9)}, None)
