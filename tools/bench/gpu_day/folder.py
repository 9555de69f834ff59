"""What a day with a GPU is to measure, and the folder that keeps what was found."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ....dialects.atomic_file import atomic_file
from ....dialects.errors import ConfigError
from .hollow_models import SUFFIX, name_of

Result = dict[str, Any]


@dataclass(frozen=True)
class Day:
    """The options of all parts."""

    out: Path
    models: Sequence[Path] = ()
    precisions: Sequence[str] = ("fp32", "tf32", "3xtf32", "fp16")
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    products: Sequence[str] = ()
    runs: int = 40
    """Runs of a kernel in one CUDA graph."""
    jobs: int = 1
    """Processes side by side."""


def found_models(paths: Sequence[str]) -> list[Path]:
    """The files, and all models in the folders, hollow ones too. Raises ConfigError for a path without any."""
    found: list[Path] = []
    for each in map(Path, paths):
        inside = sorted([*each.rglob("*.onnx"), *each.rglob(f"*{SUFFIX}")]) if each.is_dir() else [each]
        if not inside or not inside[0].exists():
            raise ConfigError(f"{each}: there is no model")
        found += inside
    names = [name_of(each) for each in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"there are two models named {twice[0]}")
    return found


def write_result(file: Path, result: Result) -> None:
    """Keeps a result. Raises MiniInferError if it can't be written."""
    with atomic_file(file) as stream:
        stream.write(f"{json.dumps(result, indent=1, default=str)}\n".encode())


def read_result(file: Path) -> Result | None:
    """A result that was kept; None if there is none."""
    return json.loads(file.read_text()) if file.exists() else None


def read_results(folder: Path) -> list[Result]:
    """All results of a folder."""
    return [json.loads(file.read_text()) for file in sorted(folder.glob("*.json"))]
