"""Short campaigns with fixed seeds, and with others for each commit, by the command that `make fuzz` runs."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from fuzz.__main__ import text_of
from fuzz.campaign import Finding, Trial

ROOT = Path(__file__).parents[2]
FRESH = 20  # graphs of each part: half a minute
COMMITTER = ("-c", "user.name=nobody", "-c", "user.email=nobody@localhost")
WITHOUT_GIT = 77_000_000  # the first seed where no commit chooses it


def first_seed(folder: Path) -> int:
    """The seed that the commit of a folder begins with, by its hash; says so where there is none."""
    try:
        told = subprocess.run(["git", "rev-parse", "HEAD"], cwd=folder, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        warnings.warn(f"no commit to take fresh seeds from: fuzzing begins with {WITHOUT_GIT}", stacklevel=2)
        return WITHOUT_GIT
    return int(told.stdout[:7], 16)


def campaign(folder: Path, *options: str) -> None:
    """Runs a campaign of one process; the report of what failed is the error."""
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'test'}", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "fuzz", *options, "--jobs", "1", "--no-hostile", "--found", str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("seed", [0, pytest.param(4, marks=pytest.mark.slow)])
def test_graphs_and_files(seed: int, tmp_path: Path) -> None:
    campaign(tmp_path, "--graphs", "3", "--files", "8", "--sets", "2", "--seed", str(seed))


@pytest.mark.parametrize("part", range(2))
def test_graphs_of_fresh_seeds(part: int, tmp_path: Path) -> None:
    seed = first_seed(ROOT) + part * FRESH
    campaign(tmp_path, "--graphs", str(FRESH), "--files", "0", "--sets", "2", "--seed", str(seed))


def test_seeds_are_those_of_the_commit(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="no commit to take fresh seeds from: fuzzing begins with 77000000"):
        assert first_seed(tmp_path) == WITHOUT_GIT
    for command in (["init", "--quiet"], [*COMMITTER, "commit", "--quiet", "--allow-empty", "--message", "first"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    (reference,) = (tmp_path / ".git" / "refs" / "heads").iterdir()
    assert f"{first_seed(tmp_path):07x}" == reference.read_text()[:7]


def test_what_fails_is_told_with_the_command_that_repeats_it(tmp_path: Path) -> None:
    trial = Trial("graph", 17, tmp_path, 2, ("Relu",))
    command = "PYTHONPATH=.:test .venv/bin/python -m fuzz --sets 2 --operator Relu --again graph 17"
    assert text_of(Finding(trial, "answered", "y: 1 elements differ")) == f"graph 17: y: 1 elements differ\n  {command}"
    assert text_of(Finding(trial, "answered")) == "graph 17: answered"


@pytest.mark.slow
def test_more(tmp_path: Path) -> None:
    campaign(tmp_path, "--graphs", "60", "--files", "200", "--seed", "100")
