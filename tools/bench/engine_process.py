"""One engine in a process: loads a model, then runs as many inferences as each line of standard input requests.

    python -m mini_infer.tools.bench.engine_process ENGINE JOB

The job is a pickled Job. Answers are lines of JSON: the cost of loading, {"times": [seconds, ...]} or {"error": text}.
The engine "limits" measures the machine instead, once for each line: {"gflops": ..., "gbytes": ...}. Modules of
mini_infer are imported late, so that the memory an engine adds to the process is its own.
"""

from __future__ import annotations

import json
import os
import pickle
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

import numpy as np

Runner = Callable[[], Any]
LIMITS = "limits"


@dataclass(frozen=True)
class Job:
    """The job of every engine: a model's path, EngineConfig's options, inputs by name, and cores to pin to.

    `results` is a folder for the outputs of each engine; cores are () if the system can't pin.
    """

    model: str
    options: Mapping[str, Any]
    inputs: Mapping[str, Any]
    cores: tuple[int, ...]
    results: str


def _mini_infer(model: str, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> Runner:
    from ...runtime.compile.entry import compile
    from ...runtime.kept.artifact import load
    from ..arrays import in_place

    engine = load(model) if model.endswith(".mi") else compile(model, **options)
    if engine.plan.launches:
        from .gpu_engines import bound

        return bound(engine, inputs)
    if engine.config.caches:
        inputs = in_place(inputs, engine(inputs), engine.config.caches)
    return lambda: engine(inputs)


def _onnxruntime(model: str, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> Runner:
    runtime: Any = import_module("onnxruntime")
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads = options["threads"]
    settings.inter_op_num_threads = 1
    settings.log_severity_level = 4  # every error is raised
    session = runtime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, dict(inputs))


def _openvino(model: str, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> Runner:
    openvino: Any = import_module("openvino")
    settings = {
        "INFERENCE_NUM_THREADS": options["threads"],
        # By default it computes in bfloat16 where the CPU can.
        "INFERENCE_PRECISION_HINT": "bf16" if options["precision"] == "bf16" else "f32",
        "PERFORMANCE_HINT": "LATENCY",
    }
    loaded = openvino.Core().read_model(model)
    loaded.reshape({name: array.shape for name, array in inputs.items()})
    request = openvino.Core().compile_model(loaded, "CPU", settings).create_infer_request()
    return lambda: request.infer(dict(inputs))


def _on_gpu(name: str) -> Callable[..., Runner]:
    """A peer engine of gpu_engines.py."""
    return lambda *given: import_module(".gpu_engines", __package__).ENGINES[name](*given)


ENGINES: Mapping[str, Callable[..., Runner]] = {
    "mini_infer": _mini_infer,
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
    **{name: _on_gpu(name) for name in ("torch", "torch-compile", "onnxruntime-cuda")},
}
IMPORTED = {
    "mini_infer": "mini_infer.runtime.compile.plan_builder",
    "torch-compile": "torch",
    "onnxruntime-cuda": "onnxruntime",
}
"""Module imported before an engine's load is timed, where it isn't named like the engine."""


def main() -> None:
    """Serves one engine until standard input ends."""
    warnings.simplefilter("ignore")  # the parent process has imported the model and shown its warnings
    engine, job = sys.argv[1], cast("Job", pickle.loads(Path(sys.argv[2]).read_bytes()))
    if job.cores:
        os.sched_setaffinity(0, job.cores)
    if engine == LIMITS:
        _serve_limits(job)
        return
    inputs = dict(job.inputs)
    if engine != "mini_infer":  # constants for us are inputs of others
        inputs |= {name: np.asarray(value) for name, value in job.options["specialize"].items()}
    before = memory_now()
    try:
        start = time.perf_counter()
        import_module(IMPORTED.get(engine, engine))
        imported = time.perf_counter()
        run = ENGINES[engine](job.model, job.options, inputs)
        outputs = run()
        loaded = time.perf_counter()
        _keep(Path(job.results, f"{engine}.npz"), outputs)
    except Exception as error:
        _say(error=" ".join(f"{type(error).__name__}: {error}".split()))
        return
    memory = {name: size - before[name] for name, size in memory_now().items()}
    _say(load=loaded - imported, imports=imported - start, memory=memory)
    del outputs
    for line in sys.stdin:
        times: list[float] = []
        for _ in range(int(line)):
            before_run = time.perf_counter()
            run()
            times.append(time.perf_counter() - before_run)
        _say(times=times)


def _serve_limits(job: Job) -> None:
    from ...runtime.devices.cpu.machine_limits import LimitProbe

    probe = LimitProbe(job.options["threads"])
    _say(load=0.0, imports=0.0, memory={})
    for _ in sys.stdin:
        found = probe.measure()
        _say(gflops=found.gflops, gbytes=found.gbytes)


def memory_now() -> dict[str, int]:
    """Resident bytes of this process, and their peak; empty if the system doesn't report them."""
    try:
        text = Path("/proc/self/status").read_text()
    except OSError:
        return {}
    found = {name: int(size) * 1024 for name, size in re.findall(r"^(VmRSS|VmHWM):\s+(\d+) kB", text, re.MULTILINE)}
    return {"resident": found["VmRSS"], "peak": found["VmHWM"]}


def _keep(file: Path, outputs: Any) -> None:
    """Writes an engine's outputs of numbers, in order, if they are host arrays."""
    values = list(_arrays(outputs))
    if values:
        cast("Any", np.savez)(file, *values)


def _arrays(outputs: Any) -> Iterator[np.ndarray[Any, np.dtype[Any]]]:
    found: Any = outputs.values() if hasattr(outputs, "values") else outputs or ()
    arrays = map(np.asarray, found)
    return (each for each in arrays if each.dtype != object)  # texts and maps, which aren't compared


def _say(**answer: Any) -> None:
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
