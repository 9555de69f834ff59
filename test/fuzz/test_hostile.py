"""Hostile models end in one clear error, in little time and memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzz.hostile import CASES, doubled_differently, lay_out, many_ranges
from fuzz.running import limited, outcome
from onnx import ModelProto

SLOW = (doubled_differently, many_ranges)  # both fold constants until there is too much of it
MAKERS = [pytest.param(make, marks=[pytest.mark.slow] * (make in SLOW), id=make.__name__) for make in CASES]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("make", MAKERS)
def test_hostile(make: Callable[[], ModelProto], tmp_path: Path) -> None:
    path = tmp_path / "hostile.onnx"
    path.write_bytes(make().SerializeToString())
    lay_out(tmp_path)
    found = limited(lambda: outcome(str(path)))
    assert re.fullmatch(CASES[make], found), found
