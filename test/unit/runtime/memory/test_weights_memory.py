"""Weights under a budget: the same bits, with no more weights mapped than allowed."""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models.builder import ModelBuilder, rng
from onnx import ModelProto

import mini_infer as mi
from mini_infer.runtime.memory.mapped_file import resident_bytes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="advice about pages is Linux's")
BUDGET = 2**18 + 2**16  # bytes: five blocks
Array = np.ndarray[Any, np.dtype[Any]]


def layers(columns: int = 320) -> ModelProto:
    """A table of 1 MB, of which rows are read, a convolution, and products, the largest with 400 KB of weights."""
    b = ModelBuilder("layers")
    x = b.input("x", [2, 64, 6, 6])
    rows = b.input("rows", [2], np.int64)
    y = b.node("Conv", x, b.weight(256, 64, 3, 3), b.weight(256), kernel_shape=[3, 3], pads=[1] * 4)
    y = b.node("GlobalAveragePool", b.node("Relu", y))
    y = b.node("Flatten", y)
    y = b.node("Add", b.node("Gather", b.weight(1024, 256), rows), y)
    for inputs, outputs in ((256, 320), (320, columns), (columns, 64)):
        y = b.node("Relu", b.node("Gemm", y, b.weight(outputs, inputs), b.weight(outputs), transB=1))
    return b.model([y])


def inputs() -> dict[str, Array]:
    return {"x": rng("x").normal(size=(2, 64, 6, 6)).astype(np.float32), "rows": np.array([3, 900])}


@pytest.mark.parametrize("threads", [1, 2])
def test_results_have_the_same_bits_and_weights_are_given_back(threads: int) -> None:
    options: dict[str, Any] = {"threads": threads, "winograd": "off"}
    whole, paged = mi.compile(layers(), **options), mi.compile(layers(), **options, weights_memory=BUDGET)
    expected = whole(inputs())
    assert len(paged.plan.calls) > len(whole.plan.calls)  # the large ones in parts
    for _ in range(2):
        found = paged(inputs())
        for name, array in expected.items():
            assert array.tobytes() == found[name].tobytes()
    data = paged.plan.weights.host
    assert data is not None and data.nbytes > 5 * BUDGET
    assert 0 < resident_bytes(data) <= BUDGET
    data.sum()
    assert resident_bytes(data) >= data.nbytes  # what is measured is what this process has mapped
    paged(inputs())
    assert 0 < resident_bytes(data) <= BUDGET


@pytest.mark.usefixtures("with_cache")
def test_weights_are_mapped_from_the_cache_and_from_files(tmp_path: Path) -> None:
    first, second = (
        mi.compile(layers(), weights_memory="1M", winograd="off", cache=tmp_path / "cache") for _ in range(2)
    )
    assert len(list((tmp_path / "cache" / "models").glob("*.entry"))) == 1
    mi.build(layers(), tmp_path / "m.mi", cpus=["native"], winograd="off", weights_memory="1M")
    loaded = mi.load(tmp_path / "m.mi")
    expected = first(inputs())
    for engine in (second, loaded):
        for name, array in engine(inputs()).items():
            assert array.tobytes() == expected[name].tobytes()
        data = engine.plan.weights.host
        assert data is not None and 0 < resident_bytes(data) <= 10**6


def test_contexts_take_turns() -> None:
    paged = mi.compile(layers(), threads=1, winograd="off", weights_memory=BUDGET)
    expected = paged(inputs())
    wrong: list[str] = []

    def run() -> None:
        with paged.plan.create_context() as context:
            for _ in range(20):
                found = context.run(inputs())
                wrong.extend(name for name in found if found[name].tobytes() != expected[name].tobytes())

    threads = [threading.Thread(target=run) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    data = paged.plan.weights.host
    assert not wrong and data is not None and 0 < resident_bytes(data) <= BUDGET


def test_what_fits_is_left_alone() -> None:
    engine = mi.compile(layers(), weights_memory="1G")
    assert not engine.plan.pages_weights


def test_a_kernel_that_needs_more_is_refused_by_name() -> None:
    b = ModelBuilder("column")
    x = b.input("x", [1, 2**18])
    y = b.node("MatMul", x, b.weight(2**18, 1))
    needed = r"needs \d+ bytes of weights at once, in whole blocks of 65536; weights_memory allows 300000"
    with pytest.raises(mi.PlanError, match=rf"^column/matmul_0 .*: its kernel @matmul_0 {needed}$"):
        mi.compile(b.model([y]), weights_memory=300_000)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("much", r"^weights_memory is a number of bytes such as 500M or 20G, not 'much'$"),
        (1000, r"^weights_memory is 1000 bytes; it must be at least 262144, as pages are mapped in blocks$"),
    ],
)
def test_other_budgets_are_refused(given: object, message: str) -> None:
    with pytest.raises(mi.ConfigError, match=message):
        mi.EngineConfig(weights_memory=given)  # pyright: ignore[reportArgumentType]


def test_a_gpu_has_no_such_budget() -> None:
    with pytest.raises(mi.ConfigError, match=r"^weights_memory does nothing on the device 'cuda-emulated'$"):
        mi.EngineConfig(device="cuda-emulated", weights_memory="1M")
