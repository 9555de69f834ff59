"""mini_infer.onnxruntime: its names have docstrings, and the page about it tells of all of them."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path
from typing import Any

import onnxruntime
import pytest

import mini_infer.onnxruntime as ours

PAGE = Path(__file__).resolve().parents[3] / "docs" / "onnxruntime.md"
NAMES = [name for name in ours.__all__ if not name.startswith("__")]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_and_its_methods_are_documented(name: str) -> None:
    value = getattr(ours, name)
    assert inspect.getdoc(value)
    for method, each in vars(value).items() if isinstance(value, type) else ():
        if inspect.isfunction(each) and not method.startswith("_"):
            assert each.__doc__, f"{name}.{method}"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "install"])
def test_a_name_is_one_of_onnx_runtimes(name: str) -> None:
    state = import_module("onnxruntime.capi.onnxruntime_pybind11_state")
    assert hasattr(onnxruntime, name) or hasattr(state, name)


def test_methods_that_the_page_names_are_there() -> None:
    rows = [line.split("|") for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    for _, names, methods, _ in rows:
        kinds: list[Any] = [getattr(ours, name.strip("` ")) for name in names.split(",")]
        if len(kinds) == 1 and isinstance(kinds[0], type) and kinds[0] is ours.InferenceSession:
            missing = [each for each in methods.split(",") if not hasattr(kinds[0], each.strip("` "))]
            assert missing == []
