"""Code doesn't grow with windows, axes and constants: a few steps are written out, many are a loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from import_cases import onnxruntime
from models.build import ModelBuilder
from xdsl.dialects.func import FuncOp

import mini_infer as mi
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.lowering import pipelines
from mini_infer.lowering.onnx_to_graph import import_onnx
from mini_infer.runtime.compile.engine_phases import engine_phases
from mini_infer.runtime.native.cpu_targets import target_attribute

Build = Callable[[ModelBuilder, int], str]


def pool(op_type: str, rank: int) -> Build:
    def build(b: ModelBuilder, k: int) -> str:
        return b.node(op_type, b.input("x", [1, 3] + [2 * k] * rank), kernel_shape=[k] * rank, pads=[k // 2] * 2 * rank)

    return build


def conv(*, channels: int = 4, filters: int = 16, groups: int = 1, line: bool = False, **options: Any) -> Build:
    """A convolution with k x k taps, or of rank 1 with k."""

    def build(b: ModelBuilder, k: int) -> str:
        rank = 1 if line else 2
        x, weight = b.input("x", [1, channels] + [2 * k] * rank), b.weight(filters, channels // groups, *[k] * rank)
        return b.node("Conv", x, weight, group=groups, pads=[k // 2] * 2 * rank, **options)

    return build


def depthwise(b: ModelBuilder, k: int) -> str:
    return b.node("Conv", b.input("x", [1, 32, 40, 40]), b.weight(32, 1, k, k), group=32, pads=[k // 2] * 4)


def pooled(b: ModelBuilder, k: int) -> str:
    """A pool on a convolution's large result, band by band."""
    x = b.node("Conv", b.input("x", [1, 3, 224, 224]), b.weight(64, 3, 3, 3), pads=[1] * 4)
    return b.node("MaxPool", x, kernel_shape=[k] * 2, strides=[2] * 2, pads=[k // 2] * 4)


def transposed(stride: int) -> Build:
    def build(b: ModelBuilder, k: int) -> str:
        return b.node("ConvTranspose", b.input("x", [1, 4, 9, 7]), b.weight(4, 3, k, k), strides=[stride] * 2)

    return build


def resize(mode: str) -> Build:
    """To 1 / k of the size on two axes."""

    def build(b: ModelBuilder, k: int) -> str:
        x = b.input("x", [1, 2, 3 * k, 4 * k])
        return b.node("Resize", x, "", "", b.ints(1, 2, 3, 4), mode=mode, antialias=1)

    return build


def lrn(b: ModelBuilder, k: int) -> str:
    return b.node("LRN", b.input("x", [1, 2 * k, 3, 3]), size=k)


def cumsum(b: ModelBuilder, k: int) -> str:
    return b.node("CumSum", b.input("x", [3, k]), b.constant(np.array(1)))


def pad(b: ModelBuilder, k: int) -> str:
    return b.node("Pad", b.input("x", [3, 2 * k]), b.ints(0, k, 1, k), mode="reflect")


def tile(b: ModelBuilder, k: int) -> str:
    return b.node("Tile", b.input("x", [3, 4]), b.ints(k, k))


def gather(b: ModelBuilder, k: int) -> str:
    return b.node("Gather", b.input("x", [600, 4]), b.constant(np.arange(k) ** 2 % 600))


def recurrence(op_type: str, gates: int, **options: Any) -> Build:
    """Of k steps."""

    def build(b: ModelBuilder, k: int) -> str:
        weights = b.weight(1, gates * 5, 3), b.weight(1, gates * 5, 5)
        return b.node(op_type, b.input("x", [k, 2, 3]), *weights, hidden_size=5, **options)

    return build


# For each the window's two sizes, both beyond what is written out.
CASES: dict[str, tuple[Build, int, int]] = {
    "max_pool 1-D": (pool("MaxPool", 1), 20, 200),
    "average_pool 2-D": (pool("AveragePool", 2), 20, 100),
    "max_pool 3-D": (pool("MaxPool", 3), 10, 30),
    "conv": (conv(), 33, 99),
    "conv with few filters": (conv(filters=3), 50, 99),
    "conv, strided and dilated": (conv(strides=[2, 2], dilations=[1, 3]), 33, 99),
    "conv 1-D": (conv(line=True), 99, 999),
    "conv in groups": (conv(groups=2), 33, 99),
    "conv of single channels": (conv(channels=8, filters=8, groups=8), 33, 99),
    "depthwise": (depthwise, 33, 99),
    "pool of a convolution": (pooled, 9, 31),
    "conv_transpose": (transposed(1), 5, 33),
    "conv_transpose, strided": (transposed(3), 5, 63),
    "linear resize": (resize("linear"), 8, 64),
    "cubic resize": (resize("cubic"), 8, 64),
    "lrn": (lrn, 11, 101),
    "cumsum": (cumsum, 20, 2000),
    "pad": (pad, 64, 512),
    "tile": (tile, 64, 512),
    "gather": (gather, 64, 512),
    # the small ones too have blocks of several registers, single ones and a part of one, whatever the width is
    "lstm": (recurrence("LSTM", 4), 76, 300),
    "gru": (recurrence("GRU", 3), 76, 300),
    "gru, linear before reset": (recurrence("GRU", 3, linear_before_reset=1), 76, 300),
    "rnn": (recurrence("RNN", 1), 76, 300),
}


def size_of_code(build: Build, k: int, *, optimize: bool) -> int:
    """Operations on the level of loops."""
    b, ctx = ModelBuilder("g"), MiniContext()
    module = import_onnx(b.model([build(b, k)]), ctx=ctx)
    module.attributes["kernel.target"] = target_attribute(mi.EngineConfig(threads=1))
    phases = pipelines.phases(optimize=optimize)
    pipelines.run_phases(ctx, module, pipelines.remaining_phases(module, "loops", phases), verify=False)
    return sum(1 for _ in module.walk())


@pytest.mark.thinned(3)
@pytest.mark.parametrize("optimize", [True, False], ids=["optimised", "plain"])
@pytest.mark.parametrize("name", CASES)
def test_code_does_not_grow(name: str, optimize: bool) -> None:
    build, small, large = CASES[name]
    before, after = (size_of_code(build, k, optimize=optimize) for k in (small, large))
    assert after <= 1.2 * before + 20


@pytest.mark.thinned(5)
@pytest.mark.parametrize("name", ["average_pool 2-D", "max_pool 2-D", "conv", "conv in groups", "depthwise", "lrn"])
def test_no_window_costs_much_more_than_one_of_7(name: str) -> None:
    build = pool("MaxPool", 2) if name == "max_pool 2-D" else CASES[name][0]
    common = size_of_code(build, 7, optimize=True)
    assert max(size_of_code(build, k, optimize=True) for k in (9, 16, 31)) <= 4 * common


# Around where writing out ends: 16 columns of a filter, 4 or 9 taps of a transposed one, 8 taps of a pool.
BORDERS: list[tuple[str, int]] = [
    *[(name, k) for name in ("conv, strided and dilated", "conv 1-D", "conv in groups") for k in (16, 17, 20)],
    *[("conv_transpose, strided", k) for k in (2, 3, 4, 5)],
    *[("pool of a convolution", k) for k in (8, 9)],
    *[(name, k) for name in ("average_pool 2-D", "max_pool 1-D") for k in (8, 9)],
    *[("lrn", k) for k in (7, 9)],
]


@pytest.mark.thinned(5)
@pytest.mark.parametrize(("name", "k"), BORDERS)
def test_results_stay_right(name: str, k: int) -> None:
    b = ModelBuilder("g")
    model = b.model([CASES[name][0](b, k)])
    engine = mi.compile(model, threads=1)
    x = np.random.default_rng(0).standard_normal(engine.plan.inputs[0].shape).astype(np.float32)
    np.testing.assert_allclose(engine(x), onnxruntime(model, {"x": x})[0], rtol=2e-5, atol=2e-5)


def functions_of(channels: Sequence[int]) -> set[str]:
    """Functions that the convolutions of a chain with so many channels have in common, and their tiles."""
    b, ctx = ModelBuilder("g"), MiniContext()
    x = b.input("x", [1, channels[0], 14, 14])
    for inputs, outputs in pairwise(channels):
        x = b.node("Relu", b.node("Conv", x, b.weight(outputs, inputs, 3, 3), b.weight(outputs), pads=[1] * 4))
    module = import_onnx(b.model([x]), ctx=ctx)
    config = mi.EngineConfig(threads=1, winograd="off")
    module.attributes["kernel.target"] = target_attribute(config)
    phases = pipelines.remaining_phases(module, "loops", engine_phases(config))
    pipelines.run_phases(ctx, module, phases, verify=False)
    names = {op.sym_name.data for op in module.ops if isinstance(op, FuncOp)}
    return {name for name in names if name.startswith(("panels", "tile"))}


def test_kernels_that_differ_in_sizes_only_are_one_function() -> None:
    few, many = functions_of([64, 96, 128]), functions_of([64, 96, 128, 160, 192, 224])
    assert few == many
    # Inner sums are cut into parts of two rows of the filter where channels are few, and of one where they are many.
    assert len([name for name in few if name.startswith("panels")]) == 2
