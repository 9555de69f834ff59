"""Hostile models end in one clear error, in little time and memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzz.hostile import CASES, doubled_differently, file_of, lay_out, many_ranges
from fuzz.running import limited, outcome
from onnx import ModelProto

SLOW = (doubled_differently, many_ranges)  # both fold constants until there is too much of it
MAKERS = [pytest.param(make, marks=[pytest.mark.slow] * (make in SLOW), id=make.__name__) for make in CASES]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("make", MAKERS)
def test_hostile(make: Callable[[], ModelProto | bytes], tmp_path: Path) -> None:
    """From a file, with a cache: what identifies a model reads it before the import does."""
    path = tmp_path / "hostile.onnx"
    path.write_bytes(file_of(make()))
    lay_out(tmp_path)
    found = limited(lambda: outcome(str(path)))
    assert re.fullmatch(CASES[make], found), found


@pytest.mark.thinned(9)
@pytest.mark.parametrize("make", MAKERS)
def test_hostile_in_memory(make: Callable[[], ModelProto | bytes]) -> None:
    """Without a file to lie beside, external data is refused whatever its name."""
    found = limited(lambda: outcome(make()))
    assert re.fullmatch(CASES[make], found) or "import the model from its path" in found, found
