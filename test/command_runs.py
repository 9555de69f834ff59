"""Runs of mini-infer: what it prints, and what it complains of."""

from __future__ import annotations

import os
import re
from pathlib import Path

from onnx import ModelProto
from typer.testing import CliRunner, Result

import mini_infer as mi
from mini_infer.tools.mini_infer import app

ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(mi.__file__).parents[1])}  # for processes of their own

HEADER = ("command", "version", "date", "cpu", "system", "packages", "options")
"""What the JSON of every command begins with."""


def cli(*arguments: str | Path) -> Result:
    """Runs mini-infer; whatever is no error of the user's is raised."""
    result = CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "160"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def told(*arguments: str | Path) -> str:
    """What a command prints; it must succeed and complain of nothing."""
    result = cli(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def complaint(*arguments: str | Path, status: int = 1) -> str:
    """What a command complains of: one line on standard error, nothing on standard output."""
    result = cli(*arguments)
    assert (result.exit_code, result.stdout) == (status, "")
    assert re.fullmatch(r"mini-infer: error: .+\n", result.stderr)
    return result.stderr.removeprefix("mini-infer: error: ").rstrip("\n")


def saved(model: ModelProto, folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path
