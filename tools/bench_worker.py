"""One engine in a process: loads a model, then runs as many inferences as each line of standard input says.

Answers are lines of JSON: {"load": seconds}, {"times": [seconds, ...]} or {"error": text}.
"""

from __future__ import annotations

import json
import pickle
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from . import bench_gpu

Runner = Callable[[], Any]


def _mini_infer(model: str, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> Runner:
    from ..runtime.compiling import compile
    from .arrays import in_place

    engine = compile(model, **options)
    if engine.plan.launches:
        return bench_gpu.bound(engine, inputs)
    if engine.config.caches:
        inputs = in_place(inputs, engine(inputs), engine.config.caches)
    return lambda: engine(inputs)


def _onnxruntime(model: str, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> Runner:
    runtime: Any = import_module("onnxruntime")
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads = options["threads"]
    settings.inter_op_num_threads = 1
    settings.log_severity_level = 4  # what goes wrong is raised
    session = runtime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, dict(inputs))


def _openvino(model: str, options: Mapping[str, Any], inputs: Mapping[str, Any]) -> Runner:
    openvino: Any = import_module("openvino")
    settings = {
        "INFERENCE_NUM_THREADS": options["threads"],
        "INFERENCE_PRECISION_HINT": "f32",  # it computes in bfloat16 where the CPU can, if not told otherwise
        "PERFORMANCE_HINT": "LATENCY",
    }
    loaded = openvino.Core().read_model(model)
    loaded.reshape({name: array.shape for name, array in inputs.items()})
    request = openvino.Core().compile_model(loaded, "CPU", settings).create_infer_request()
    return lambda: request.infer(dict(inputs))


ENGINES = {"mini_infer": _mini_infer, "onnxruntime": _onnxruntime, "openvino": _openvino, **bench_gpu.ENGINES}


def _say(**answer: Any) -> None:
    print(json.dumps(answer), flush=True)


def main() -> None:
    """Serves one engine until standard input ends."""
    engine, job = sys.argv[1], pickle.loads(Path(sys.argv[2]).read_bytes())
    inputs = job["inputs"]
    if ENGINES[engine] is not _mini_infer:  # others take as inputs what is a constant to us
        inputs |= {name: np.asarray(value) for name, value in job["options"]["specialize"].items()}
    start = time.perf_counter()
    try:
        run = ENGINES[engine](job["model"], job["options"], inputs)
        run()
    except Exception as error:
        _say(error=" ".join(f"{type(error).__name__}: {error}".split()))
        return
    _say(load=time.perf_counter() - start)
    for line in sys.stdin:
        times: list[float] = []
        for _ in range(int(line)):
            before = time.perf_counter()
            run()
            times.append(time.perf_counter() - before)
        _say(times=times)


if __name__ == "__main__":
    main()
