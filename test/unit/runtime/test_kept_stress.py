"""Processes that build and read one kept model, and are killed, in a process that does nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest
from command_runs import ENVIRONMENT


@pytest.mark.parametrize("rounds", [10, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.timeout(3000)])])
def test_no_result_is_ever_wrong(rounds: int) -> None:
    environment = ENVIRONMENT | {"PYTHONPATH": f"{ENVIRONMENT['PYTHONPATH']}:{ENVIRONMENT['PYTHONPATH']}/test"}
    command = [sys.executable, "-m", "kept_stress", str(rounds)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert "'found': " in done.stdout and "'killed': " in done.stdout
    assert "'wrong'" not in done.stdout and not done.stderr
