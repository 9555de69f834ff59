"""3x3 convolutions by transforms: all sizes, borders, channels and epilogues, judged by float64 beside direct sums."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import cycle, product
from typing import Any

import numpy as np
import pytest
from graph_runs import Case, Model, Target, build, check, compiled, execute
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

import mini_infer as mi
from mini_infer.dialects.errors import CompileError
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.ops.activation import GeluOp
from mini_infer.dialects.graph.ops.contraction import ConvOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp
from mini_infer.dialects.graph.ops.structure import KernelOp
from mini_infer.dialects.graph.ops.unary import ReluOp, SigmoidOp
from mini_infer.dialects.graph.ops.windows import MaxPoolOp
from mini_infer.dialects.graph.packing.unpack import UnpackOp
from mini_infer.dialects.graph.packing.winograd_filters import POINTS, WinogradPacking
from mini_infer.dialects.graph.values import shape_of
from mini_infer.dialects.kernel.kernel_attributes import ScheduleAttr
from mini_infer.dialects.kernel.targets import cpu_of
from mini_infer.lowering import pipelines
from mini_infer.lowering.loops_to_llvm.emit_llvm_ir import emit_llvm_ir
from mini_infer.passes.kernels.schedules.cpu import winograd
from mini_infer.passes.kernels.schedules.cpu.winograd import Winograd
from mini_infer.passes.memory.analysis.buffers import interface_of
from mini_infer.runtime.compile.engine_phases import engine_phases
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.native.cpu_targets import machine_of, target_attribute
from mini_infer.runtime.native.llvmlite_calls import emit_assembly
from mini_infer.runtime.shapes.dynamic_engine import DynamicEngine

TARGETS = (Target(512, 1), Target(512, 2), Target(256, 2), Target(128, 1))
PADS = [(1, 1, 1, 1), (0, 0, 0, 0), (0, 1, 2, 1), (4, 0, 1, 3), (2, 2, 0, 5)]
CHANNELS = [(1, 3), (3, 16), (16, 20), (20, 64), (64, 70), (70, 1)]


def conv(m: Model, x: SSAValue, filters: int, pads: Sequence[int] = (1, 1, 1, 1), bias: bool = True) -> SSAValue:
    channels = shape_of(x)[-1]
    weight = m.weight(filters, channels, 3, 3, scale=(9 * channels) ** -0.5)
    return m(ConvOp(x, weight, m.weight(filters) if bias else None, pads=tuple(pads), layout="NHWC"))


def plain(shape: tuple[int, ...], filters: int, pads: Sequence[int] = (1, 1, 1, 1), bias: bool = True) -> Case:
    return lambda m: conv(m, m.input(*shape), filters, pads, bias)


def residual(m: Model) -> SSAValue:
    """The sum is written over the second input."""
    y = conv(m, m.input(2, 9, 10, 20), 36)
    return m(ReluOp(m(AddOp(y, m(ReluOp(m.input(2, 9, 10, 36)))))))


def broadcast(m: Model) -> SSAValue:
    """Operands with one element per channel, per row and per picture."""
    y = conv(m, m.input(2, 6, 7, 16), 20, bias=False)
    y = m(MulOp(y, m.input(1, 1, 1, 20)))
    return m(AddOp(m(MulOp(y, m.input(2, 1, 1, 1))), m.input(1, 6, 1, 1)))


def long(m: Model) -> SSAValue:
    """Too long an epilogue for registers."""
    y = conv(m, m.input(1, 11, 5, 16), 33)
    return m(MulOp(m(GeluOp(y)), m(SigmoidOp(y))))


def pooled(shape: tuple[int, ...], filters: int, activation: type[Any] = ReluOp) -> Case:
    """Tiles hold whole windows of the pool; a row or column that no window has is computed for nothing."""
    return lambda m: m(
        MaxPoolOp(m(activation(conv(m, m.input(*shape), filters))), (2, 2), strides=(2, 2), layout="NHWC")
    )


def pooled_residual(m: Model) -> SSAValue:
    """The epilogue reads an operand of more pixels than are stored."""
    y = m(AddOp(conv(m, m.input(2, 9, 10, 20), 36), m(ReluOp(m.input(2, 9, 10, 36)))))
    return m(MaxPoolOp(y, (2, 2), strides=(2, 2), layout="NHWC"))


def of_itself(m: Model) -> SSAValue:
    """What the convolution reads may not be written over."""
    x = m(ReluOp(m.input(1, 12, 12, 16)))
    return m(AddOp(conv(m, x, 16), x))


def sizes() -> Iterator[Case]:
    """Pictures of 1 to 17 rows and columns, with paddings and channels in turn."""
    others = cycle(product(PADS, CHANNELS, (1, 3)))
    for height in range(1, 18):
        for width in (height, 18 - height):
            pads, (channels, filters), batch = next(others)
            if height + pads[0] + pads[2] >= 3 and width + pads[1] + pads[3] >= 3:
                yield plain((batch, height, width, channels), filters, pads, bias=batch == 1)


POOLED = [pooled((2, 13, 8, 16), 20), pooled((1, 5, 7, 20), 64), pooled((1, 4, 6, 16), 16, GeluOp), pooled_residual]
CASES = [*sizes(), residual, broadcast, long, of_itself, plain((1, 5, 6, 1100), 8), plain((1, 2, 2, 64), 48), *POOLED]


WAYS = [*product(sorted(POINTS), (False, True))]
"""Tiles, and whether filters are transformed by rows alone."""


@pytest.fixture(params=WAYS, ids=["tile2", "tile2_half", "tile4", "tile4_half"])
def tile(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Every convolution that can be is transformed with this tile."""

    def cost(self: Winograd, *_: object) -> float:
        return 0.0 if (self.tile, self.half) == request.param else 1.0

    monkeypatch.setattr(Winograd, "cost", cost)
    return request.param[0]


@pytest.mark.thinned(7)
@pytest.mark.parametrize("part", range(4))
def test_every_size_border_and_epilogue(tile: int, part: int) -> None:
    for run in check(CASES[part::4], TARGETS[part], TARGETS[part - 1], bound=1e-5):
        assert "winograd" in run.schedules
        assert set(run.schedules) <= {"winograd", "elements"}


def test_a_pool_of_whole_windows_is_done_with_it(tile: int) -> None:
    del tile
    for run in check(POOLED, Target(512, 1), bound=1e-5):
        assert not [name for name in run.names if name.startswith("max_pool")]


def fits_none(_: object) -> bool:
    return False


@pytest.mark.thinned(5)
@pytest.mark.parametrize("channels", [16, 64, 512])
def test_the_error_is_at_most_four_times_that_of_direct_sums(tile: int, channels: int) -> None:
    def error(m: Model) -> float:
        plan, _ = compiled(m, Target(512, 1))
        (got,) = execute(plan, m.inputs).values()
        (wide,) = interpret(m.module, m.inputs, m.ctx.blobs, precision=np.float64).values()
        return float(np.abs(got - wide).max() / np.abs(wide).max())

    m = build([plain((1, 14, 14, channels), 64)])
    found = error(m)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(winograd, "fits", fits_none)
        direct = error(m)
    assert found <= 4 * max(direct, 5e-7)


def test_a_result_takes_the_place_of_a_residual_and_of_no_input(tile: int) -> None:
    def inplace(case: Case) -> dict[str, Any]:
        (run,) = check([case], Target(512, 1), bound=1e-5)
        kernels = [run.kernel(name) for name in run.names if name.startswith("conv")]
        return {kernel.sym_name.data: interface_of(kernel).inplace_pairs for kernel in kernels}

    assert inplace(residual) == {"conv_relu_0": [(3, 0)]}
    assert inplace(of_itself) == {"conv_add_0": []}


FILTERS = 36


def of_any(
    sizes: Sequence[int | str], pooled: bool, channels: int = 20, pads: Sequence[int] = (1, 1, 1, 1)
) -> tuple[Any, Any, Any]:
    """An ONNX model of pictures "x" of `sizes` (number, height, width), its weight and its bias."""
    import onnx
    from onnx import TensorProto, helper

    random, (number, height, width) = np.random.default_rng(0), sizes
    weight = (random.standard_normal((FILTERS, channels, 3, 3)) / 13).astype(np.float32)
    bias = random.standard_normal(FILTERS).astype(np.float32)
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=pads, name="conv"),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
    ]
    graph = helper.make_graph(
        nodes if pooled else nodes[:2],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [number, channels, height, width])],
        [helper.make_tensor_value_info("p" if pooled else "r", TensorProto.FLOAT, None)],
        [onnx.numpy_helper.from_array(weight, "w"), onnx.numpy_helper.from_array(bias, "b")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    return model, weight, bias


def in_float64(x: Any, weight: Any, bias: Any, pooled: bool, pads: Sequence[int] = (1, 1, 1, 1)) -> Any:
    """What the model computes."""
    top, left, bottom, right = pads
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (top, bottom), (left, right)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(2, 3))
    sums = np.einsum("nchwij,fcij->nfhw", windows, weight.astype(np.float64), optimize=True)
    result = np.maximum(sums + bias[:, None, None], 0)
    if not pooled:
        return result
    height, width = (each // 2 for each in result.shape[2:])
    return result[:, :, : 2 * height, : 2 * width].reshape(len(x), FILTERS, height, 2, width, 2).max((3, 5))


@pytest.mark.thinned(17)
@pytest.mark.parametrize(("best", "threads", "bits"), [(64, 1, 512), (5, 2, 512), (64, 3, 256)])
@pytest.mark.parametrize(
    ("size", "pooled"),
    [((7, 7), False), ((14, 14), False), ((5, 9), False), ((4, 2), False), ((14, 14), True), ((5, 9), True)],
)
def test_batches_of_run_time(
    tile: int, size: tuple[int, int], pooled: bool, best: int, threads: int, bits: Any
) -> None:
    """Any number of pictures, with register tiles of parts of a picture and of several."""
    del tile
    model, weight, bias = of_any(("n", *size), pooled)
    profile = mi.OptimizationProfile(dims={"n": (1, best, 64)})
    engine = mi.compile(model, threads=threads, vector_bits=bits, profile=profile)
    assert isinstance(engine, DynamicEngine)
    assert any(call.kernel.startswith("conv") for call in engine.plan.calls)
    random = np.random.default_rng(1)
    for batch in (*range(1, 10), 15, 29, 64):
        x = random.standard_normal((batch, 20, *size)).astype(np.float32)
        (got,) = engine({"x": x}).values()
        wanted = in_float64(x, weight, bias, pooled)
        assert np.abs(got - wanted).max() <= 1e-5 * np.abs(wanted).max()
        if batch == 7:
            (fixed,) = mi.compile(model, threads, vector_bits=bits, dims={"n": batch})({"x": x}).values()
            assert np.abs(got - fixed).max() <= 1e-5 * np.abs(wanted).max()
    assert engine.compiles == 1


@pytest.mark.thinned(9)
@pytest.mark.parametrize(
    ("best", "threads", "bits"), [((1, 14, 14), 1, 512), ((2, 5, 30), 2, 512), ((1, 9, 9), 3, 256)]
)
@pytest.mark.parametrize(
    ("pads", "pooled"), [((1, 1, 1, 1), False), ((1, 1, 1, 1), True), ((0, 1, 2, 1), False), ((2, 2, 0, 5), False)]
)
def test_pictures_of_run_time(
    tile: int, pads: Sequence[int], pooled: bool, best: Sequence[int], threads: int, bits: Any
) -> None:
    """Any number of rows and columns, of which tiles at the far borders have any part; the code for all is one."""
    del tile
    model, weight, bias = of_any(("n", "h", "w"), pooled, pads=pads)
    spans = {name: (low, size, high) for name, low, size, high in zip("nhw", (1, 3, 3), best, (3, 40, 40), strict=True)}
    engine = mi.compile(model, threads=threads, vector_bits=bits, profile=mi.OptimizationProfile(dims=spans))
    assert isinstance(engine, DynamicEngine)
    assert any(call.kernel.startswith("conv") for call in engine.plan.calls)
    random = np.random.default_rng(1)
    for shape in (best, (1, 3, 3), (1, 3, 40), (2, 40, 3), (3, 4, 5), (1, 6, 7), (2, 17, 18), (1, 33, 39), (3, 40, 40)):
        number, height, width = shape
        x = random.standard_normal((number, 20, height, width)).astype(np.float32)
        (got,) = engine({"x": x}).values()
        wanted = in_float64(x, weight, bias, pooled, pads)
        assert np.abs(got - wanted).max() <= 1e-5 * np.abs(wanted).max()
        if shape == best:
            fixed = mi.compile(model, threads, vector_bits=bits, dims=dict(zip("nhw", shape, strict=True)))
            np.testing.assert_array_equal(got, *fixed({"x": x}).values())
    assert engine.compiles == 1


CPUS = ["x86_64-linux-gnu:znver5", "x86_64-linux-gnu:x86-64-v3", "aarch64-linux-gnu:neoverse-n1"]
FUNCTION = re.compile(r"^(winograd_\d_(?:in|out|filters)\w*):[^\n]*\n(.*?)^\.Lfunc_end", re.MULTILINE | re.DOTALL)
SPILLED = re.compile(r"-byte Folded (?:Spill|Reload)|-byte (?:Spill|Reload)")
VECTOR = re.compile(r"%[xyz]mm|\b[qv]\d+\b")


@pytest.mark.thinned(5)
@pytest.mark.parametrize("cpu", CPUS)
def test_hardly_a_vector_is_spilled(tile: int, cpu: str) -> None:
    """What a transform keeps on the stack is its square alone, and two registers at a border."""
    m = build([plain((1, 14, 14, 64), 64), plain((1, 14, 14, 20), 20)])
    m.module.attributes["kernel.target"] = target_attribute(EngineConfig(threads=1), cpu)
    pipelines.run_phases(m.ctx, m.module, pipelines.phases())
    text = emit_assembly(emit_llvm_ir(m.module), machine_of(cpu_of(m.module)))
    functions = dict(FUNCTION.findall(text))
    assert {name[:13] for name in functions} >= {f"winograd_{tile}_in", f"winograd_{tile}_ou"}
    for name, body in functions.items():
        spills = [line for line in body.splitlines() if SPILLED.search(line) and VECTOR.search(line)]
        assert len(spills) <= 2, f"{name}: {spills}"


def test_no_sums_of_many_small_pictures_are_spilled(tile: int) -> None:
    """One picture's few rows would be summed in several chains."""
    m = build([plain((14, tile, tile, 64), 64)])
    m.module.attributes["kernel.target"] = target_attribute(EngineConfig(threads=1), CPUS[0])
    pipelines.run_phases(m.ctx, m.module, pipelines.phases())
    text = emit_assembly(emit_llvm_ir(m.module), machine_of(cpu_of(m.module)))
    (body,) = re.findall(r"^tile_14x32:[^\n]*\n(.*?)^\.Lfunc_end", text, re.MULTILINE | re.DOTALL)
    assert not [line for line in body.splitlines() if "%zmm" in line and "(%rsp)" in line]


@pytest.mark.parametrize(("tile", "half"), WAYS)
@pytest.mark.parametrize("shape", [(6, 3), (33, 5), (16, 1), (70, 64)])
def test_packed_filters_mean_what_they_were(tile: int, half: bool, shape: tuple[int, int]) -> None:
    packing = WinogradPacking(8, tile, 2, half)
    weight = np.random.default_rng(0).standard_normal((*shape, 3, 3)).astype(np.float32)
    packed = packing.pack(weight)
    assert packed.shape == packing.packed_shape(weight.shape)
    np.testing.assert_array_equal(packing.pack(weight, np.full_like(packed, np.nan)), packed)
    np.testing.assert_allclose(packing.unpack(packed, weight.shape), weight, rtol=0, atol=4e-7 * np.abs(weight).max())
    step = packing.rows(weight.shape)
    parts = [packing.pack(weight[at : at + step]) for at in range(0, len(weight), step)]
    np.testing.assert_array_equal(np.concatenate(parts), packed)
    m = Model()
    unpack = UnpackOp(m.input(*packed.shape), packing, weight.shape)
    assert unpack.packing.packing == packing
    assert shape_of(unpack.result) == weight.shape


def test_what_there_is_no_packing_or_schedule_for() -> None:
    with pytest.raises(VerifyException, match=r"transformed filters are 3x3, not of shape \[4, 4, 5, 5\]"):
        WinogradPacking(8, 2, 1).packed_shape((4, 4, 5, 5))
    with pytest.raises(VerifyException, match="tiles of 3; there are 2 and 4"):
        WinogradPacking(8, 3, 1).packed_shape((4, 4, 3, 3))
    with pytest.raises(CompileError, match="only constant filters can be transformed"):
        WinogradPacking(8, 2, 1).ops(Model().input(4, 4, 3, 3))
    options = {"tile": 3, "block": 4, "mr": 2, "nr": 8, "panels": 1, "lanes": 4, "inline": 1}
    with pytest.raises(CompileError, match="the schedule 'winograd' has tile = 3; it must be 2 or 4"):
        Winograd.of(ScheduleAttr.of("winograd", **options))


def chosen(pixels: int, channels: int, **options: Any) -> tuple[str, int, int]:
    """The schedule of a convolution with as many filters as channels, its tile, and whether half transformed."""
    m = build([plain((1, pixels, pixels, channels), channels)])
    m.module.attributes["kernel.target"] = target_attribute(EngineConfig(threads=1), "x86_64-linux-gnu:znver5")
    down = [phase for phase in engine_phases(EngineConfig(**options)) if phase.level == "kernels"]
    pipelines.run_phases(m.ctx, m.module, down)
    (kernel,) = [op for op in m.module.ops if isinstance(op, KernelOp)]
    assert isinstance(kernel.schedule, ScheduleAttr)
    numbers = kernel.schedule.numbers()
    return kernel.schedule.kind.data, numbers.get("tile", 0), numbers.get("half", 0)


@pytest.mark.parametrize(
    ("pixels", "channels", "auto", "compact"),
    [
        (224, 3, (0, 0), (0, 0)),
        (56, 64, (4, 0), (4, 1)),
        (28, 128, (4, 0), (4, 1)),
        (28, 512, (4, 1), (4, 1)),
        (14, 256, (4, 1), (2, 1)),
        (14, 512, (4, 1), (2, 1)),
        (7, 512, (2, 1), (0, 0)),
    ],
)
def test_where_it_is_taken(pixels: int, channels: int, auto: tuple[int, int], compact: tuple[int, int]) -> None:
    assert chosen(pixels, channels) == ("winograd" if auto[0] else "panels", *auto)
    assert chosen(pixels, channels, winograd="compact") == ("winograd" if compact[0] else "panels", *compact)
    assert chosen(pixels, channels, winograd="off") == ("panels", 0, 0)
