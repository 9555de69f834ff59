"""Times of a layer in several engines of one process, each on buffers that are bound once.

So nothing of Python but a call is measured. Engines take turns of some calls; before each turn there is a pause, as
threads of the engine before it look for work for a while.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from statistics import median
from time import perf_counter, sleep
from typing import Any, TypeAlias

import numpy as np
from onnx import ModelProto

from ....dialects.errors import MiniInferError
from ....dialects.graph.values import Array
from ....runtime.compile.entry import compile as compile_model
from ..turns import OURS
from .drawn_layer import Net
from .layer_kinds import Case

PAUSE, LONG_PAUSE, TURN = 0.005, 0.05, 0.01
"""Seconds: a pause with one thread and with several, and a turn."""
MOST_CALLS = 400
TOLERANCE = {"f": 2e-4, "half": 2e-2}

Results: TypeAlias = list[Array]
Engine: TypeAlias = tuple[Callable[[], object], Callable[[], Results]]
"""What runs it, and what reads its results then."""


@dataclass
class Measured:
    """A case: least and median microseconds by engine, why others failed, and errors against the first peer."""

    kind: str
    name: str
    threads: int
    least: dict[str, float] = field(default_factory=dict[str, float])
    medians: dict[str, float] = field(default_factory=dict[str, float])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    error: float | None = None
    wrong: bool = False

    @property
    def ratio(self) -> float | None:
        """The best peer's least time by ours; None where either is missing."""
        return _ratio(self.least)

    @property
    def ratio_of_medians(self) -> float | None:
        return _ratio(self.medians)


def _ratio(times: Mapping[str, float]) -> float | None:
    peers = [time for engine, time in times.items() if engine != OURS]
    return min(peers) / times[OURS] if peers and OURS in times else None


def _ours(model: ModelProto, inputs: Mapping[str, Array], threads: int) -> Engine:
    engine = compile_model(model, threads=threads, tuned=False, cache=False)
    context = engine.create_context()
    outputs = {spec.name: np.zeros(spec.shape, spec.dtype) for spec in engine.plan.outputs}
    for name, array in inputs.items():
        context.bind_input(name, array)
    for name, array in outputs.items():
        context.bind_output(name, array)

    def results() -> Results:
        return [
            array[tuple(slice(size) for size in context.output_shape(name))] if array.shape else array
            for name, array in outputs.items()
        ]

    return context.execute, results


def _onnxruntime(model: ModelProto, inputs: Mapping[str, Array], threads: int) -> Engine:
    runtime: Any = import_module("onnxruntime")  # has no usable types
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    for name, array in inputs.items():
        binding.bind_ortvalue_input(name, runtime.OrtValue.ortvalue_from_numpy(array))
    for each in session.get_outputs():
        if all(isinstance(size, int) for size in each.shape):
            kind = "float" if each.type == "tensor(float)" else each.type[len("tensor(") : -1]
            room = np.zeros(each.shape, {"float": np.float32, "double": np.float64}.get(kind, kind))
            binding.bind_ortvalue_output(each.name, runtime.OrtValue.ortvalue_from_numpy(room))
        else:
            binding.bind_output(each.name, "cpu")
    return lambda: session.run_with_iobinding(binding), binding.copy_outputs_to_cpu


def _openvino(model: ModelProto, inputs: Mapping[str, Array], threads: int) -> Engine:
    openvino: Any = import_module("openvino")
    settings = {
        "INFERENCE_NUM_THREADS": threads,
        "INFERENCE_PRECISION_HINT": "f32",
        "PERFORMANCE_HINT": "LATENCY",
    }
    core = openvino.Core()
    request = core.compile_model(core.read_model(model.SerializeToString()), "CPU", settings).create_infer_request()
    for name, array in inputs.items():
        request.set_tensor(name, openvino.Tensor(array, shared_memory=True))
    count = len(model.graph.output)
    return (
        lambda: request.infer(share_outputs=True),
        lambda: [np.array(request.get_output_tensor(index).data) for index in range(count)],
    )


ENGINES: Mapping[str, Callable[[ModelProto, Mapping[str, Array], int], Engine]] = {
    OURS: _ours,
    "onnxruntime": _onnxruntime,
    "openvino": _openvino,
}


def measure(case: Case, peers: Sequence[str], threads: int, seconds: float) -> Measured:
    """The case's times in ours and the peers, some `seconds` of each. Engines that fail are left out."""
    net = Net(getattr(case.layer, "dtype", "float32"))
    outputs = case.layer.build(net)
    model = net.model([outputs] if isinstance(outputs, str) else outputs)
    found = Measured(case.kind, case.name, threads)
    engines: dict[str, Callable[[], object]] = {}
    results: dict[str, Results] = {}
    for name in (OURS, *peers):
        try:
            run, read = ENGINES[name](model, net.inputs, threads)
            run()
            results[name] = read()
            engines[name] = run
        except Exception as error:  # of any library
            told = str(error) if isinstance(error, MiniInferError) else f"{type(error).__name__}: {error}"
            found.failed[name] = " ".join(told.split())[:300]
    first = next((peer for peer in peers if peer in results), None)
    if OURS in results and first is not None:
        half = any(array.dtype == np.float16 for array in net.inputs.values())
        found.error = error_of(results[OURS], results[first])
        found.wrong = not found.error <= TOLERANCE["half" if half else "f"]
    for name, times in _times(engines, seconds, PAUSE if threads == 1 else LONG_PAUSE).items():
        found.least[name], found.medians[name] = min(times) * 1e6, median(times) * 1e6
    return found


def error_of(ours: Results, theirs: Results) -> float:
    """max |ours - theirs| / max |theirs| of the worst result; of indices, the fraction that differs."""
    errors = [0.0]
    for our, their in zip(ours, theirs, strict=True):
        if our.shape != their.shape:
            return float("inf")
        if our.dtype.kind != "f":
            errors.append(np.count_nonzero(our != their) / max(1, our.size))
        elif our.size:
            wide, wanted = our.astype(np.float64), their.astype(np.float64)
            finite = np.isfinite(wanted)
            if not np.array_equal(wide[~finite], wanted[~finite], equal_nan=True):
                return float("inf")
            scale = float(np.max(np.abs(wanted[finite]), initial=1e-30))
            errors.append(float(np.max(np.abs(wide[finite] - wanted[finite]), initial=0)) / scale)
    return max(errors)


def _times(engines: Mapping[str, Callable[[], object]], seconds: float, pause: float) -> dict[str, list[float]]:
    """Seconds of calls by engine; the first of a turn isn't counted."""
    times: dict[str, list[float]] = {name: [] for name in engines}
    taken = 0.0
    while taken < seconds * len(engines) or any(len(found) < 4 for found in times.values()):
        for name, run in engines.items():
            sleep(pause)
            begun = perf_counter()
            run()
            ends, found = begun + TURN, times[name]
            for _ in range(MOST_CALLS):
                start = perf_counter()
                run()
                end = perf_counter()
                found.append(end - start)
                if end > ends:
                    break
            taken += perf_counter() - begun
    return times
