"""Work on each model at each precision, in a process of its own, whose result is kept in a file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ....runtime.config import EngineConfig
from ..turns import OURS
from .folder import Day, Result, write_result
from .hollow_models import name_of, read_model
from .processes import in_processes

Work = Callable[..., Result]
"""Is given a model, a configuration, the folder of gpu_alone, and what the part gives it."""


def each_model(
    day: Day, deadline: float, part: str, work: Work, precisions: Sequence[str], jobs: int, *given: Any
) -> Result:
    """Keeps the results that the folder does not have yet, and why work failed; done if none is missing then."""
    if not day.models:
        return {"done": True, "why": "there are no models: see --models"}
    files = {
        file: (model, precision)
        for model in day.models
        for precision in precisions
        if not (file := day.out / part / f"{name_of(model)}.{precision}.json").exists()
    }
    tasks = [(file, *task, dict(day.dims), work, *given) for file, task in files.items()]
    for (file, *_), why in in_processes(keep_result, tasks, jobs, deadline):
        model, precision = files.pop(file)
        if why:
            _write(file, model, precision, {"failed": {OURS: why}})
    return {"done": not files, "left": len(files)}


def keep_result(file: Path, model: Path, precision: str, dims: Mapping[str, int], work: Work, *given: Any) -> None:
    """Writes the result of work on a model, or why it failed."""
    try:
        config = EngineConfig(device="cuda", precision=precision, dims=dims)
        result = work(read_model(model), config, file.parent, *given)
    except Exception as error:  # whatever it is, other models go on
        result: Result = {"failed": {OURS: f"{type(error).__name__}: {error}"}}
    _write(file, model, precision, result)


def _write(file: Path, model: Path, precision: str, result: Result) -> None:
    write_result(file, {"model": name_of(model), "precision": precision, **result})
