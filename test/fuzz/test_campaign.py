"""A short campaign with fixed seeds, by the command that `make fuzz` runs; that makes longer ones."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def campaign(folder: Path, *options: str) -> None:
    """Runs a campaign of one process; the report of what failed is the error."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'test'}", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "fuzz", *options, "--jobs", "1", "--no-hostile", "--found", str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("seed", [0, pytest.param(4, marks=pytest.mark.slow)])
def test_graphs_and_files(seed: int, tmp_path: Path) -> None:
    campaign(tmp_path, "--graphs", "3", "--files", "8", "--sets", "2", "--seed", str(seed))


@pytest.mark.slow
def test_more(tmp_path: Path) -> None:
    campaign(tmp_path, "--graphs", "60", "--files", "200", "--seed", "100")
