"""Models by us and by other engines in alternation, with inputs and outputs on the GPU: see gpu_engines.py."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from onnx import ModelProto

from ....runtime.config import EngineConfig
from ..engine_process import Job
from ..gpu_engines import ENGINES
from ..models import Given, subjects
from ..report import Measured
from ..turns import OURS, PACKAGES, Alternation, Amount
from .each_model import each_model
from .folder import Day, Result
from .processes import gpu_alone

PRECISIONS = ("tf32", "fp16")
"""At which engines are compared, of those that are asked for."""
MOST_JOBS = 4
"""Models at a time: each has several engines, of which one takes all cores while it chooses its kernels."""


def peers(day: Day, deadline: float) -> Result:
    """Measures each model at each precision, by all engines that are installed."""
    installed = [each for each in ENGINES if all(find_spec(name) for name in PACKAGES[each])]
    precisions = [each for each in day.precisions if each in PRECISIONS]
    found = each_model(day, deadline, "peers", measured, precisions, min(day.jobs, MOST_JOBS), installed)
    missing = [each for each in ENGINES if each not in installed]
    return ({"why": f"not installed: {', '.join(missing)}"} if missing else {}) | found


def measured(model: Path | ModelProto, config: EngineConfig, folder: Path, engines: Sequence[str]) -> Result:
    """The times of those that ran, ours among them, and why others failed; `folder` is that of gpu_alone."""
    options: dict[str, Any] = {"device": "cuda", "device_id": 0, "precision": config.precision, "dims": config.dims}
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
    found = {name: asdict(Measured.of(each)) for name, each in outcome.engines.items()}
    return {"engines": found, "failed": outcome.failed}
