"""What may happen to a model from anywhere: it is compiled and run in a process with little time and memory."""

from __future__ import annotations

import gc
import resource
import signal
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np
from isolated import isolated
from onnx import ModelProto

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

SECONDS = 20  # of processor time, for one model
MEMORY = 4 << 30  # bytes of address space, libraries included
RUN_BYTES = 256 << 20  # a compiled model that needs more is not run
PATIENCE = 10  # a machine that does other work too takes so many times longer

T = TypeVar("T")


def limited(function: Callable[[], T], seconds: int = SECONDS) -> T:
    """What `function` returns, in a process of its own under the limits. Raises isolated.Died where it is lost."""

    def within_limits() -> T:
        gc.disable()
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        signal.signal(signal.SIGPROF, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function()

    return isolated(within_limits, PATIENCE * seconds)


def outcome(model: ModelProto | bytes | str, **options: Any) -> str:
    """How compiling and running a model ends: "answered", "compiled" (too large to be run here), or the refusal.

    Anything else than a MiniInferError is raised.
    """
    try:
        engine = mi.compile(model, threads=1, **options)
        plan = engine.plan
        if plan.arena_bytes + sum(spec.nbytes for spec in (*plan.inputs, *plan.outputs)) > RUN_BYTES:
            return "compiled"
        inputs: Mapping[str, Array] = {spec.name: np.ones(spec.shape, spec.dtype) for spec in plan.inputs}
        outputs: Mapping[str, Array] = engine(inputs)
        for spec in plan.outputs:
            found = outputs[spec.name]
            assert found.dtype == spec.dtype and found.ndim == len(spec.shape)
            assert all(size <= most for size, most in zip(found.shape, spec.shape, strict=True))  # bounded ones are cut
        return "answered"
    except mi.MiniInferError as error:
        return f"{type(error).__name__}: {error}"
