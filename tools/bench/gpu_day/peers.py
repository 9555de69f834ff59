"""Models by us and by other engines in alternation, with inputs and outputs on the GPU: see gpu_engines.py."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from onnx import ModelProto

from ..engine_process import Job
from ..gpu_engines import ENGINES
from ..models import Given, subjects
from ..report import Measured
from ..turns import OURS, PACKAGES, Alternation, Amount
from .folder import NO_MODELS, Day, Result, write_result
from .hollow_models import name_of, read_model
from .processes import gpu_alone, in_processes

PRECISIONS = ("tf32", "fp16")
"""At which engines are compared, of those that are asked for."""
MOST_JOBS = 4
"""Models at a time: each has several engines, of which one takes all cores while it chooses its kernels."""


def peers(day: Day, deadline: float) -> Result:
    """Measures each model at each precision, in a process of its own."""
    if not day.models:
        return {"done": True, "why": NO_MODELS}
    folder = day.out / "peers"
    installed = [each for each in ENGINES if all(find_spec(name) for name in PACKAGES[each])]
    tasks = [
        (model, precision, dict(day.dims), installed, file)
        for model in day.models
        for precision in day.precisions
        if precision in PRECISIONS and not (file := folder / f"{name_of(model)}.{precision}.json").exists()
    ]
    left = {task[-1] for task in tasks}
    for (model, precision, *_, file), why in in_processes(measure_peers, tasks, min(day.jobs, MOST_JOBS), deadline):
        left.remove(file)
        if why:
            write_result(file, {**_nothing(model, precision), "failed": {OURS: why}})
    missing = [each for each in ENGINES if each not in installed]
    told = {"why": f"not installed: {', '.join(missing)}"} if missing else {}
    return {"done": not left, "left": len(left), **told}


def measure_peers(model: Path, precision: str, dims: Mapping[str, int], engines: Sequence[str], file: Path) -> None:
    """Writes the times of ours and of the others on a model, and why some failed."""
    result = _nothing(model, precision)
    try:
        result |= measured(read_model(model), precision, dims, engines, file.parent)
    except Exception as error:  # whatever it is, other models go on
        result["failed"] = {OURS: f"{type(error).__name__}: {error}"}
    write_result(file, result)


def _nothing(model: Path, precision: str) -> Result:
    return {"model": name_of(model), "precision": precision, "engines": {}, "failed": {}}


def measured(
    model: Path | ModelProto, precision: str, dims: Mapping[str, int], engines: Sequence[str], folder: Path
) -> Result:
    """The engines that ran and those that failed; `folder` is that of gpu_alone."""
    options: dict[str, Any] = {"device": "cuda", "device_id": 0, "precision": precision, "dims": dims}
    with tempfile.TemporaryDirectory() as beside:
        if isinstance(model, ModelProto):
            (path := Path(beside, "model.onnx")).write_bytes(model.SerializeToString())
        else:
            path = model.absolute()
        (subject,) = subjects(path, options, Given(seed=0))
        job = Path(beside, "job.pickle")
        job.write_bytes(pickle.dumps(Job(str(path), {**subject.options, "specialize": {}}, subject.inputs, (), beside)))
        turns = Alternation(job, 1, Amount(), lambda _: None, alone=gpu_alone(folder))
        outcome = turns.measure([OURS, *engines], limits=False)
    return {
        "engines": {name: asdict(Measured.of(each)) for name, each in outcome.engines.items()},
        "failed": dict(outcome.failed),
    }
