"""What is left of engines that nobody holds any more: nothing to speak of."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from models.build import ModelBuilder

import mini_infer

TEST = Path(__file__).parents[2]
RESIDENT = """
import gc
from pathlib import Path
import numpy as np

def resident():
    gc.collect()
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon"))
"""
# Caches fill with the first engines; what each further one leaves behind is lost for good.
ENGINES = """
import mini_infer as mi
from models.build import ModelBuilder

builder = ModelBuilder("small")
x = builder.node("Relu", builder.node("Gemm", builder.input("x", [2, 8]), builder.weight(8, 8)))
model = builder.model([x])

def engines(count):
    for _ in range(count):
        mi.compile(model, threads=1)(np.zeros((2, 8), np.float32))

engines({warm})
before = resident()
engines({count})
print(resident() - before)
"""
# The high-water mark counts what is mapped of the model's file too.
PEAK = """
import mini_infer as mi
mi.compile({small!r}, threads=1)
before = resident()
Path("/proc/self/clear_refs").write_text("5")
engine = mi.compile({large!r}, threads=1)
lines = Path("/proc/self/status").read_text().splitlines()
print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) - before)
"""
# Of a model that was compiled before, weights are mapped from what was kept.
LOADED = """
import mini_infer as mi
mi.compile({small!r}, threads=1, cache={cache!r})
before = resident()
engine = mi.compile({large!r}, threads=1, cache={cache!r})
print(resident() - before)
"""
# Blocks of a size that glibc has learnt not to map one by one, freed below one that stays.
FREED = """
from mini_infer.runtime.limits import give_back_memory
np.ones(3 << 20)
blocks = [np.ones(1 << 17) for _ in range(100)]
stays = np.ones(1 << 17)
del blocks
before = resident()
give_back_memory()
print(before - resident())
"""


def kilobytes(script: str) -> int:
    """What a script prints, in a process of its own."""
    paths = os.pathsep.join([str(TEST), str(Path(mini_infer.__file__).parents[1])])
    environment = {**os.environ, "PYTHONPATH": paths}
    command = [sys.executable, "-c", RESIDENT + script]
    return int(subprocess.run(command, capture_output=True, text=True, env=environment, check=True).stdout)


def growth(warm: int, count: int) -> int:
    """Kilobytes that a process grows by when it makes and drops so many engines, after some others."""
    return kilobytes(ENGINES.replace("{warm}", str(warm)).replace("{count}", str(count)))


pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="asks the system for its memory")


def test_engines_leave_no_memory_behind() -> None:
    assert growth(20, 12) < 12 * 50


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_two_hundred_engines_leave_less_than_two_megabytes() -> None:
    assert growth(400, 200) < 2000  # the linker's own tables are full by then


@pytest.mark.skipif("glibc" not in platform.libc_ver()[0], reason="another C library")
def test_free_memory_is_returned_to_the_system() -> None:
    assert kilobytes(FREED) > 50_000


def write_model(path: Path, channels: int) -> int:
    """A model of two convolutions with batch norms and a dense layer behind them; the bytes of its weights."""
    builder = ModelBuilder("heavy")
    x = builder.input("x", [1, channels, 8, 8])
    for _ in range(2):
        x = builder.node("Conv", x, builder.weight(channels, channels, 3, 3), pads=[1, 1, 1, 1])
        x = builder.node(
            "Relu", builder.node("BatchNormalization", x, *(builder.uniform(0.5, 1.5, channels) for _ in range(4)))
        )
    x = builder.node("Gemm", builder.node("Flatten", x), builder.weight(channels, 64 * channels), transB=1)
    data = builder.model([x]).SerializeToString()
    path.write_bytes(data)
    return len(data)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="asks the system for its memory")
def test_a_compile_holds_its_weights_once(tmp_path: Path) -> None:
    """They are mapped, folded, reordered and packed on the way."""
    write_model(tmp_path / "small.onnx", 16)
    weights = write_model(tmp_path / "large.onnx", 640) >> 10
    peak = kilobytes(PEAK.format(small=str(tmp_path / "small.onnx"), large=str(tmp_path / "large.onnx")))
    assert weights > 100_000
    assert peak < 1.3 * weights + 150_000


def test_a_compiled_model_has_no_copy_of_its_weights(tmp_path: Path) -> None:
    write_model(tmp_path / "small.onnx", 16)
    weights = write_model(tmp_path / "large.onnx", 256) >> 10
    files = {name: str(tmp_path / f"{name}.onnx") for name in ("small", "large")}
    script = LOADED.format(cache=str(tmp_path / "cache"), **files)
    assert weights > 20_000
    for how in ("compiled, and kept", "found compiled"):
        assert kilobytes(script) < weights / 8, how
