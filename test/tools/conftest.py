"""Model files that commands are tried on."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_runs import saved
from engine_cases import MODELS
from models.dynamic import attention, dynamic_model


@pytest.fixture(autouse=True)
def _as_users_run_it(with_cache: Path) -> None:  # pyright: ignore[reportUnusedFunction]
    """Commands keep what they compile."""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A file with the perceptron, which has one input and one output."""
    return saved(MODELS["perceptron"](), tmp_path)


@pytest.fixture
def any_rows(tmp_path: Path) -> Path:
    """A file with attention over any number n of rows."""
    return saved(dynamic_model(attention), tmp_path)


@pytest.fixture
def lookup(tmp_path: Path) -> Path:
    """A file with the model of two inputs and two outputs."""
    return saved(MODELS["lookup"](), tmp_path)
