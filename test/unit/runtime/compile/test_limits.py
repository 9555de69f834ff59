"""More memory than there is: an error that says how much, when a model is compiled or when memory is asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from engine_cases import perceptron
from import_cases import model_of
from onnx import ModelProto, helper

import mini_infer as mi
from mini_infer.runtime import device, limits
from mini_infer.runtime.compile.source import Source
from mini_infer.runtime.memory.storage import Storage

FAR = 2**55  # bytes: more than any machine can name


def far_model() -> ModelProto:
    """x, repeated until no machine can hold it."""
    repeats = np.array([FAR // 4])
    node = helper.make_node("Tile", ["x", "repeats"], ["y"])
    return model_of([node], {"x": np.ones(1, np.float32)}, {"repeats": repeats}, ["y"])


def test_a_plan_is_held_against_the_machines_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run needs the arena and, beside it, what goes in and what comes out."""
    arena = mi.plan_memory(perceptron(), threads=1).arena_bytes
    needed = arena + 4 * (4 * 24 + 4 * 8)
    monkeypatch.setattr(device, "memory_bytes", lambda: needed)
    mi.compile(perceptron(), threads=1)
    monkeypatch.setattr(device, "memory_bytes", lambda: needed - 1)
    with pytest.raises(
        mi.OutOfMemoryError, match=r"^a run needs 0.00 GB \(arena 0.00 GB, inputs 0.00 GB, outputs 0.00"
    ):
        mi.compile(perceptron(), threads=1)
    mi.compile(perceptron(), threads=1, max_workspace_size=arena)


def test_a_plan_of_any_size_is_a_plan() -> None:
    assert mi.plan_memory(far_model(), threads=1).arena_bytes == 0


def test_memory_is_what_the_container_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "memory_limit", lambda: None)
    machine = limits.memory_bytes()
    assert machine > 2**28
    monkeypatch.setattr(limits, "memory_limit", lambda: 4096)
    assert limits.memory_bytes() == 4096
    monkeypatch.setattr(limits, "memory_limit", lambda: 2**60)
    assert limits.memory_bytes() == machine


def test_outputs_that_there_is_no_memory_for() -> None:
    engine = mi.compile(far_model(), threads=1, max_workspace_size=0)
    with pytest.raises(mi.OutOfMemoryError, match=f"^there is no memory for {FAR} bytes of outputs$"):
        engine(np.ones(1, np.float32))


def test_storage_that_there_is_no_memory_for() -> None:
    with pytest.raises(mi.OutOfMemoryError, match=f"^there is no memory for a storage of {FAR} bytes$"):
        Storage.allocate(FAR)


@pytest.mark.parametrize(("function", "doing"), [(mi.compile, "compiling"), (mi.plan_memory, "planning")])
def test_memory_that_runs_out_meanwhile(
    function: Callable[..., object], doing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def greedy(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(Source, "load", greedy)
    with pytest.raises(mi.OutOfMemoryError, match=f"^there is no memory for {doing} the model$"):
        function(perceptron(), threads=1)
