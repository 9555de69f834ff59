"""What users may print fits a few lines, however large the model is."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from models.build import ModelBuilder
from models.small import SMALL_MODELS

import mini_infer as mi

LAYERS = 120
MOST = 480  # characters: four lines


@cache
def engine() -> mi.Engine:
    """Of a model with more layers than one wants to read about, in different buffers."""
    b = ModelBuilder("deep")
    x = b.input("x", [2, 8])
    for _ in range(LAYERS):
        x = b.node("Softmax", x)
    return mi.compile(b.model([x]), threads=1, tuned=False)


def planned() -> mi.Plan:
    """Buffers by the hundred, of which many are live at once."""
    buffers = [mi.Buffer(f"buffer {number}", 64, number, number + 50) for number in range(LAYERS)]
    return mi.allocate(buffers, strategy="pools")


NAMES = {f"a name of an input {number}": number for number in range(LAYERS)}
SHOWN = {
    "engine": engine,
    "plan": lambda: engine().plan,
    "record of a compile": lambda: mi.explore(SMALL_MODELS["mlp"](), threads=1, measure=False),
    "memory plan": lambda: engine().plan.memory,
    "tensor record": lambda: engine().plan.memory.tensors[-1],
    "buffer record": lambda: engine().plan.memory.buffers[-1],
    "cache record": lambda: mi.CacheRecord("past", "present", "float32", 4, (1, 2, 3), (1, 2, 4), (1, 2, 9), 2),
    "removed record": lambda: mi.RemovedRecord("conv", "fused", ("conv_relu_0",), (3,)),
    "step record": lambda: engine().plan.memory.step_records()[0],
    "explanation": lambda: engine().plan.memory.why(next(iter(engine().plan.memory.interference))),
    "interference graph": lambda: engine().plan.memory.interference,
    "memory frontier": lambda: frontier(),
    "memory point": lambda: frontier().points[0],
    "clique": lambda: engine().plan.memory.interference.largest_clique(),
    "context": lambda: engine().plan.create_execution_context(),
    "run in the background": lambda: engine().submit(np.ones((2, 8), np.float32)),
    "queue": lambda: engine().batched(),
    "pass statistics": lambda: engine().statistics,
    "configuration": lambda: mi.EngineConfig(dims=NAMES, specialize={"x": np.zeros((100, 100, 100))}),
    "configuration with a profile": lambda: mi.EngineConfig(profile=profile()),
    "profile": lambda: profile(),
    "storage": lambda: mi.Storage.allocate(1 << 20),
    "tensor": lambda: mi.Tensor.empty((64, 64, 64), np.float32),
    "allocation": planned,
    "pool": lambda: planned().pools[0],
    "bound": lambda: planned().bound,
}


@cache
def frontier() -> mi.MemoryFrontier:
    return mi.memory_frontier(SMALL_MODELS["mlp"](), threads=1, tuned=False)


def profile() -> mi.OptimizationProfile:
    return mi.OptimizationProfile(dims=dict.fromkeys(NAMES, (0, 1, 200)))


@pytest.mark.parametrize("kind", SHOWN)
def test_repr_fits_a_screen(kind: str) -> None:
    shown = SHOWN[kind]()
    assert repr(shown).startswith(f"{type(shown).__name__}("), "it says what it is"
    for text in (repr(shown), str(shown)):
        assert len(text) <= MOST
        assert text.count("\n") < 4


def test_every_public_class_is_tried() -> None:
    """Those of which there can be objects at all, and that are no plain records of a few numbers."""
    tried = {type(show()).__name__ for show in SHOWN.values()}
    classes = {name for name in mi.__all__ if isinstance(getattr(mi, name), type) and not name.endswith("Error")}
    assert classes - tried == {
        "Buffer",
        "CFiles",
        "CompileOptions",
        "Generator",
        "KernelRun",
        "KernelTime",
        "KernelTurn",
        "MiniInferBackend",
        "Progress",
    } | {
        "GraphValue",
        "QueueStatistics",
        "SymbolicSpec",
        "TensorSpec",
        "TensorType",
        "UserOperator",
    }


def test_reprs_say_what_matters() -> None:
    memory = engine().plan.memory
    assert f"arena_bytes={memory.arena_bytes}" in repr(memory)
    assert repr(mi.EngineConfig(threads=2, dims={"batch": 1})) == "EngineConfig(threads=2, dims={'batch': 1})"
    assert repr(mi.EngineConfig()) == "EngineConfig()"
    whole = mi.Tensor.empty((2, 3), np.int8)
    assert repr(whole) == "Tensor(int8[2, 3] at byte 0 of 256 on cpu)"
    assert repr(mi.Tensor(whole.storage, (2, 2), np.int8, 1, (3, 1))) == (
        "Tensor(int8[2, 2] at byte 1 of 256 on cpu, strides [3, 1])"
    )
    assert repr(whole.storage) == "Storage(256 bytes on cpu, owned)"
