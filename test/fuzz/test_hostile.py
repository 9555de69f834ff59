"""Hostile models end in one clear error, in little time and memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzz.hostile import CASES
from fuzz.running import limited, outcome
from onnx import ModelProto


@pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__)
def test_hostile(make: Callable[[], ModelProto], tmp_path: Path) -> None:
    path = tmp_path / "hostile.onnx"
    path.write_bytes(make().SerializeToString())
    found = limited(lambda: outcome(str(path)))
    assert re.fullmatch(CASES[make], found), found
