"""Products and convolutions on a GPU: each way of carrying them out agrees with float64, whatever the sizes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import ml_dtypes
import numpy as np
import pytest
from contraction_cases import GROUPS, conv
from gpu_models import check_launches, lowered, run_launches
from graph_runs import Case, Model, build
from kernel_runs import kernel_of
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from mini_infer.dialects.errors import CompileError
from mini_infer.dialects.graph.ops.activation import GeluOp
from mini_infer.dialects.graph.ops.block_weight import BlockWeightOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp
from mini_infer.dialects.graph.ops.movement import ReshapeOp, TransposeOp
from mini_infer.dialects.graph.ops.quantization import QuantizeOp
from mini_infer.dialects.graph.ops.unary import ReluOp
from mini_infer.dialects.graph.values import Array, element_type_of
from mini_infer.dialects.kernel.targets import GpuAttr
from mini_infer.lowering.pipelines import Phase, phases, run_passes, run_phases
from mini_infer.passes.kernels.choose_schedule import Choice, ChooseSchedule, choices_of, schedule_kernel
from mini_infer.passes.kernels.schedules import AnySchedule
from mini_infer.passes.kernels.schedules.cuda.mma import Mma
from mini_infer.passes.kernels.schedules.cuda.tiles import Tiles
from mini_infer.passes.kernels.schedules.cuda.vector_rows import VectorRows

SMALL, WIDE, SPLIT = Tiles(32, 32, 16, 4, 4), Tiles(64, 64, 16, 8, 4, stages=2), Tiles(16, 64, 16, 4, 4, splits=3)


def plain(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(70, 36), m.weight(36, 68)))


def odd(m: Model) -> SSAValue:
    """Nothing is a multiple of four; bias, activation and residual follow."""
    y = m(AddOp(m(MatmulOp(m.input(3, 11, 37), m.weight(37, 29))), m.weight(29)))
    return m(AddOp(m(GeluOp(y)), m.input(3, 11, 29)))


def residual(m: Model) -> SSAValue:
    y = m(AddOp(m(MatmulOp(m.input(33, 52), m.weight(52, 44))), m.weight(44)))
    return m(ReluOp(m(AddOp(y, m.input(33, 44)))))


def both_transposed(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(48, 40), m.input(36, 48), transpose_a=True, transpose_b=True))


def right_transposed(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(5, 100), m.weight(60, 100), transpose_b=True))


def batches_that_broadcast(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(3, 1, 20, 24), m.input(2, 24, 20)))


def shared_right_side(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(2, 4, 9, 20), m.input(1, 1, 20, 32)))


def through_views(m: Model) -> SSAValue:
    heads = m(TransposeOp(m(ReshapeOp(m.input(2, 12, 4 * 16), (2, 12, 4, 16))), (0, 2, 1, 3)))
    keys = m(TransposeOp(m(ReshapeOp(m.input(2, 12, 4 * 16), (2, 12, 4, 16))), (0, 2, 3, 1)))
    return m(MatmulOp(heads, keys))


def halves(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(20, 24, dtype=np.float16), m.input(24, 40, dtype=np.float16)))


def few_halves(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(2, 24, dtype=np.float16), m.input(24, 40, dtype=np.float16)))


def padded(m: Model) -> SSAValue:
    x = m(ConvOp(m.input(2, 7, 9, 8), m.weight(20, 8, 3, 3), m.weight(20), pads=(1, 1, 1, 1), layout="NHWC"))
    return m(ReluOp(m(AddOp(x, m.input(2, 7, 9, 20)))))


def strided(m: Model) -> SSAValue:
    x, w, bias = m.input(1, 11, 10, 4), m.weight(9, 4, 3, 3), m.weight(9)
    return m(ConvOp(x, w, bias, strides=(2, 1), pads=(0, 2, 1, 1), dilations=(1, 2), layout="NHWC"))


def first_layer(m: Model) -> SSAValue:
    x, w, bias = m.input(1, 18, 18, 3), m.weight(16, 3, 7, 7), m.weight(16)
    return m(ReluOp(m(ConvOp(x, w, bias, strides=(2, 2), pads=(3, 3, 3, 3), layout="NHWC"))))


def grouped(m: Model) -> SSAValue:
    return m(ConvOp(m.input(1, 6, 7, 12), m.weight(18, 4, 3, 3), groups=3, pads=(1, 1, 1, 1), layout="NHWC"))


def along_a_line(m: Model) -> SSAValue:
    return m(ConvOp(m.input(2, 30, 6), m.weight(10, 6, 5), m.weight(10), pads=(4, 0), strides=(2,), layout="NHWC"))


def pointwise(m: Model) -> SSAValue:
    return m(ConvOp(m.input(2, 5, 6, 20), m.weight(24, 20, 1, 1), m.weight(24), layout="NHWC"))


def pointwise_with_steps(m: Model) -> SSAValue:
    return m(ConvOp(m.input(1, 9, 8, 16), m.weight(8, 16, 1, 1), strides=(2, 2), layout="NHWC"))


PRODUCTS = (
    plain,
    odd,
    residual,
    both_transposed,
    right_transposed,
    batches_that_broadcast,
    shared_right_side,
    through_views,
)
CONVOLUTIONS = (padded, strided, first_layer, grouped, along_a_line, pointwise, pointwise_with_steps)
EXACT = 3e-6  # of the largest number: what sums of some hundreds of products in f32 are off by


@pytest.mark.thinned(7)
@pytest.mark.parametrize("schedule", [SMALL, SPLIT])
@pytest.mark.parametrize("case", [*PRODUCTS, *CONVOLUTIONS])
def test_tiles(case: Case, schedule: AnySchedule) -> None:
    check_launches(case, schedule, bound=EXACT)


@pytest.mark.parametrize("schedule", [WIDE])
@pytest.mark.parametrize("case", [odd, right_transposed, padded])
def test_wide_tiles(case: Case, schedule: AnySchedule) -> None:
    check_launches(case, schedule, bound=EXACT)


def whole_numbers(m: Model) -> SSAValue:
    """Exact in every precision."""
    x, w = (np.rint(m.random(*shape, scale=3)).astype(np.float32) for shape in ((40, 52), (52, 36)))
    return m(MatmulOp(m.input(data=x), m.weight(data=w)))


def few_whole_numbers(m: Model) -> SSAValue:
    x, w = (np.rint(m.random(*shape, scale=3)).astype(np.float32) for shape in ((3, 52), (52, 36)))
    return m(MatmulOp(m.input(data=x), m.weight(data=w)))


def few_whole_numbers_transposed(m: Model) -> SSAValue:
    x, w = (np.rint(m.random(*shape, scale=3)).astype(np.float32) for shape in ((3, 52), (36, 52)))
    return m(MatmulOp(m.input(data=x), m.weight(data=w), transpose_b=True))


def whole_filters(m: Model) -> SSAValue:
    x, w = (np.rint(m.random(*shape, scale=3)).astype(np.float32) for shape in ((1, 7, 6, 12), (20, 12, 3, 3)))
    return m(ConvOp(m.input(data=x), m.weight(data=w), pads=(1, 1, 1, 1), layout="NHWC"))


ROUNDED = {"tf32": 2e-3, "fp16": 2e-3, "bf16": 2e-2, "3xtf32": EXACT}
"""Of the largest number: what sums of products of rounded numbers are off by."""
WARPS = (Mma(32, 32, 32, 16, 16, 3), Mma(64, 32, 16, 32, 16, 2, splits=2))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("precision", ROUNDED)
@pytest.mark.parametrize("case", [whole_numbers, whole_filters])
def test_tensor_units_round_nothing_that_is_whole(case: Case, precision: str) -> None:
    for schedule in (WARPS[1], replace(WARPS[0], turned=True)):
        check_launches(case, schedule, target=GpuAttr.named("sm_80", precision), bound=1e-12)


def hard_to_round(m: Model, *shape: int) -> SSAValue:
    """Weights among which are ties, what overflows 16 bits, subnormal numbers, infinity and NaN."""
    data = m.random(*shape)
    data.ravel()[:8] = [1 + 2.0**-11, 1 + 3 * 2.0**-11, 1 + 2.0**-8, 65520, 3.4e38, 2.0**-25, np.inf, np.nan]
    return m.weight(data=np.random.default_rng(0).permuted(data, axis=0))


def matrix_to_round(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(20, 52), hard_to_round(m, 52, 36)))


def turned_matrix_to_round(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(20, 52), hard_to_round(m, 36, 52), transpose_b=True))


def filters_to_round(m: Model) -> SSAValue:
    return m(ConvOp(m.input(1, 7, 6, 24), hard_to_round(m, 20, 12, 3, 3), groups=2, pads=(1, 1, 1, 1), layout="NHWC"))


@pytest.mark.thinned(4)
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(("precision", "how"), [("fp16", "f16"), ("bf16", "bf16"), ("tf32", "tf32")])
@pytest.mark.parametrize("case", [matrix_to_round, turned_matrix_to_round, filters_to_round])
def test_constants_rounded_when_packed_give_the_same_bits(case: Case, precision: str, how: str, turned: bool) -> None:
    m, target = build([case]), GpuAttr.named("sm_80", precision)
    before, after = replace(WARPS[0], turned=turned), replace(WARPS[0], turned=turned, **{how: True})
    (expected,), (got,) = (run_launches(m, lowered(m, target, [each])) for each in (before, after))
    assert np.isnan(expected).any() and np.isfinite(expected).any()
    np.testing.assert_array_equal(got, expected)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("number", range(len(PRODUCTS) + len(CONVOLUTIONS)))
def test_tensor_units(number: int) -> None:
    case = (*PRODUCTS, *CONVOLUTIONS)[number]
    check_launches(case, WARPS[number % 2], target=GpuAttr.named("sm_80", "tf32"), bound=ROUNDED["tf32"])


@pytest.mark.thinned(5)
@pytest.mark.parametrize("precision", ["3xtf32", "fp16", "bf16"])
@pytest.mark.parametrize("case", [odd, both_transposed, first_layer, grouped])
def test_precisions_of_tensor_units(case: Case, precision: str) -> None:
    check_launches(case, WARPS[0], target=GpuAttr.named("sm_80", precision), bound=ROUNDED[precision])


def of_bytes(m: Model, *shape: int, signed: bool = True) -> Array:
    """All numbers of 8 bits."""
    numbers = (m.random(*shape, scale=200).astype(np.int64) % 256).astype(np.uint8)
    return numbers.view(np.int8) if signed else numbers


def bytes_by_weight(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(data=of_bytes(m, 2, 21, 80, signed=False)), m.weight(data=of_bytes(m, 80, 37))))


def bytes_transposed(m: Model) -> SSAValue:
    x, w = m.input(data=of_bytes(m, 40, 84)), m.input(data=of_bytes(m, 20, 84, signed=False))
    return m(MatmulOp(x, w, transpose_b=True))


def bytes_requantised(m: Model) -> SSAValue:
    x, w = m.input(data=of_bytes(m, 33, 70, signed=False)), m.weight(data=of_bytes(m, 70, 36))
    y = m(CastOp(m(AddOp(m(MatmulOp(x, w)), m.weight(36, dtype=np.int32))), f32))
    y = m(MulOp(y, m.weight(data=np.full(36, 2.0**-10, np.float32))))
    return m(QuantizeOp(y, m.constant(1.0), m.constant(100, np.uint8), element_type_of(np.dtype(np.uint8))))


def padded_bytes(m: Model) -> SSAValue:
    """Filled up with the zero point."""
    x, w = m.input(data=of_bytes(m, 2, 7, 9, 16, signed=False)), m.weight(data=of_bytes(m, 20, 16, 3, 3))
    bias = m.weight(20, dtype=np.int32)
    return m(ConvOp(x, w, bias, pads=(1, 1, 1, 1), strides=(2, 1), layout="NHWC", pad_value=200))


def first_layer_of_bytes(m: Model) -> SSAValue:
    x, w = m.input(data=of_bytes(m, 1, 18, 18, 3)), m.weight(data=of_bytes(m, 16, 3, 7, 7))
    return m(ConvOp(x, w, strides=(2, 2), pads=(3, 3, 3, 3), layout="NHWC", pad_value=-7))


def groups_of_bytes(m: Model) -> SSAValue:
    x, w = m.input(data=of_bytes(m, 1, 6, 7, 24)), m.weight(data=of_bytes(m, 18, 8, 3, 3))
    return m(ConvOp(x, w, groups=3, pads=(1, 1, 1, 1), layout="NHWC"))


def bytes_along_columns(m: Model) -> SSAValue:
    """Of a computed right-hand side: columns of several vectors, and a depth that is no whole number of tiles."""
    return m(MatmulOp(m.input(data=of_bytes(m, 3, 40, 84, signed=False)), m.input(data=of_bytes(m, 3, 84, 48))))


def odd_bytes_along_columns(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(data=of_bytes(m, 35, 50)), m.input(data=of_bytes(m, 50, 37, signed=False))))


def bytes_along_rows(m: Model) -> SSAValue:
    x, y = m.input(data=of_bytes(m, 96, 32)), m.input(data=of_bytes(m, 96, 64, signed=False))
    return m(MatmulOp(x, y, transpose_a=True))


BYTE_WARPS = (Mma(32, 32, 64, 16, 16, 3, turned=True), Mma(64, 32, 32, 32, 16, 2, splits=2, turned=True))


@pytest.mark.thinned(3)
@pytest.mark.parametrize("schedule", BYTE_WARPS)
@pytest.mark.parametrize(
    "case",
    [bytes_by_weight, bytes_transposed, bytes_requantised, padded_bytes, first_layer_of_bytes, groups_of_bytes],
)
def test_products_of_bytes_are_exact(case: Case, schedule: Mma) -> None:
    check_launches(case, schedule, target=GpuAttr.named("sm_80"), bound=1e-12)


@pytest.mark.parametrize("schedule", [Mma(32, 32, 64, 16, 16, 2), Mma(64, 32, 32, 32, 16, 2, splits=2)])
@pytest.mark.parametrize("case", [bytes_along_columns, odd_bytes_along_columns, bytes_along_rows])
def test_bytes_that_do_not_lie_along_the_depth(case: Case, schedule: Mma) -> None:
    check_launches(case, schedule, target=GpuAttr.named("sm_80"), bound=1e-12)


def test_computed_bytes_take_tensor_cores() -> None:
    """Of attention's size: `elements` would read each byte from memory by itself."""
    arrays = [np.zeros((12, 128, 128), np.uint8), np.zeros((12, 128, 64), np.int8)]
    kernel = kernel_of("contraction", lambda w: w(MatmulOp(w[0], w[1])), arrays)
    chosen = schedule_kernel(kernel, GpuAttr.named("sm_90a"))
    assert chosen.taken.name == "mma"


def long_sums(m: Model) -> SSAValue:
    """Of numbers of one sign: what tensor cores cut off all adds up."""
    x, w = (np.abs(m.random(*shape)) for shape in ((8, 3072), (3072, 16)))
    return m(MatmulOp(m.input(data=x), m.weight(data=w)))


def test_long_sums_of_split_numbers_are_as_exact_as_in_32_bits() -> None:
    check_launches(long_sums, WARPS[0], target=GpuAttr.named("sm_80", "3xtf32"), bound=1e-6)


def one_row(m: Model) -> SSAValue:
    y = m(AddOp(m(MatmulOp(m.input(1, 200), m.weight(200, 72))), m.weight(72)))
    return m(GeluOp(m(AddOp(y, m.input(1, 72)))))


def test_tiles_of_one_row() -> None:
    check_launches(one_row, SMALL, bound=EXACT)


def odd_row(m: Model) -> SSAValue:
    return m(AddOp(m(MatmulOp(m.input(1, 1, 77), m.weight(77, 37))), m.weight(37)))


def rows_by_weights_transposed(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(3, 132), m.weight(50, 132), transpose_b=True))


def odd_rows_by_weights_transposed(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(67, 2), m.weight(19, 67), transpose_a=True, transpose_b=True))


def one_pixel(m: Model) -> SSAValue:
    return m(ReluOp(m(ConvOp(m.input(2, 1, 1, 40), m.weight(24, 40, 1, 1), m.weight(24), layout="NHWC"))))


def some_pixels(m: Model) -> SSAValue:
    return m(ConvOp(m.input(1, 3, 3, 5), m.weight(8, 5, 3, 3), m.weight(8), pads=(1, 0, 1, 0), layout="NHWC"))


def rows_of_each_batch(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(3, 1, 40), m.input(3, 40, 24)))


@pytest.mark.parametrize("schedule", [VectorRows(8, 128), VectorRows(32, 256)])
@pytest.mark.parametrize("case", [one_row, odd_row, one_pixel, some_pixels, rows_of_each_batch])
def test_vector_rows(case: Case, schedule: AnySchedule) -> None:
    check_launches(case, schedule, bound=EXACT)


@pytest.mark.parametrize("how", ["f16", "bf16"])
@pytest.mark.parametrize("case", [few_whole_numbers, few_whole_numbers_transposed])
def test_vector_rows_of_narrow_weights(case: Case, how: str) -> None:
    check_launches(case, VectorRows(8, 128, **{how: True}), bound=1e-12)


@pytest.mark.parametrize("schedule", [VectorRows(4, 128), VectorRows(32, 256)])
@pytest.mark.parametrize("case", [rows_by_weights_transposed, odd_rows_by_weights_transposed])
def test_vector_rows_along_the_depth(case: Case, schedule: AnySchedule) -> None:
    check_launches(case, schedule, bound=EXACT)


def one_column(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(2, 4, 8, 8), m.input(2, 4, 8, 1), transpose_a=True))


@pytest.mark.parametrize("case", [one_column, conv((1, 2, 3, 17), 1, (1, 3))])
def test_a_single_column_has_code_for_what_is_chosen(case: Case) -> None:
    check_launches(case, bound=EXACT)


@pytest.mark.parametrize("schedule", [SMALL, SPLIT, *WARPS, VectorRows(8, 128)])
def test_halves_are_widened(schedule: AnySchedule) -> None:
    case = few_halves if isinstance(schedule, VectorRows) else halves
    check_launches(case, schedule, target=GpuAttr.named("sm_80", "tf32"), bound=1e-3)


THINNED = [case for group in GROUPS.values() for case in group]
WAYS = ((SMALL, "fp32"), (SPLIT, "fp32"), (WARPS[0], "3xtf32"), (WARPS[1], "3xtf32"), (None, "fp32"))


@pytest.mark.thinned(14)
@pytest.mark.parametrize("number", range(len(THINNED)))
def test_what_the_cpu_is_held_to(number: int) -> None:
    schedule, precision = WAYS[number % len(WAYS)]
    target = GpuAttr.of(multiprocessors=4, precision=precision)
    check_launches(THINNED[number], *([schedule] if schedule else []), target=target)


def narrow_weight(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(7, 84), m(CastOp(m.weight(84, 36, dtype=np.float16), f32))))


def narrow_filters(m: Model) -> SSAValue:
    w = m(CastOp(m.weight(20, 8, 3, 3, dtype=ml_dtypes.bfloat16), f32))
    return m(ConvOp(m.input(1, 5, 6, 8), w, pads=(1, 1, 1, 1), layout="NHWC"))


@pytest.mark.parametrize(
    ("case", "schedule", "precision"),
    [
        (narrow_weight, VectorRows(8, 128), "fp32"),
        (narrow_weight, SMALL, "fp32"),
        (narrow_weight, WARPS[0], "fp16"),
        (narrow_weight, WARPS[0], "tf32"),
        (narrow_filters, SMALL, "fp32"),
        (narrow_filters, replace(WARPS[0], turned=True), "bf16"),
    ],
)
def test_weights_of_16_bits_are_widened_in_registers(case: Case, schedule: AnySchedule, precision: str) -> None:
    target = GpuAttr.named("sm_80", precision)
    (launch,) = check_launches(case, schedule, target=target, bound=ROUNDED.get(precision, EXACT)).launches
    assert launch.kernel in ("matmul_0", "conv_0")


@dataclass(frozen=True)
class Blocks:
    """Few rows by a matrix of numbers of so many bits, with scales and zero points of these types per block."""

    rows: int
    columns: int
    depth: int
    bits: int
    block: int
    scales: type[np.generic] = np.float32
    zeros: type[np.generic] | None = None

    def __call__(self, m: Model) -> SSAValue:
        blocks = -(-self.depth // self.block)
        numbers = m.weight(data=of_bytes(m, self.columns, blocks * self.block * self.bits // 8, signed=False))
        scales = m.weight(data=(0.1 + np.abs(m.random(self.columns, blocks))).astype(self.scales))
        zeros = None if self.zeros is None else m.weight(data=m.random(self.columns, blocks).astype(self.zeros))
        middle = 0 if self.zeros else 1
        weight = m(
            BlockWeightOp(numbers, scales, zeros, bits=self.bits, block=self.block, depth=self.depth, middle=middle)
        )
        y = m(MatmulOp(m.input(self.rows, self.depth), weight, transpose_b=True))
        return m(ReluOp(m(AddOp(y, m.weight(self.columns)))))


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    "case",
    [
        Blocks(1, 64, 1024, 4, 32),
        Blocks(3, 37, 200, 4, 16, np.float16, np.uint8),
        Blocks(8, 20, 72, 8, 32, ml_dtypes.bfloat16, np.float32),
        Blocks(2, 12, 640, 2, 64, np.float32, np.uint8),
    ],
    ids=str,
)
def test_few_rows_by_blocks(case: Blocks) -> None:
    made = check_launches(case, VectorRows(16, 128), bound=EXACT)
    assert [each.kernel for each in made.launches] == ["matmul_relu_0"]  # which dequantises in registers


@pytest.mark.thinned(4)
@pytest.mark.parametrize(("schedule", "precision"), [(SMALL, "fp32"), (WARPS[0], "tf32"), (WARPS[1], "fp16")])
@pytest.mark.parametrize(
    "case",
    [
        Blocks(40, 24, 72, 4, 32),
        Blocks(35, 37, 208, 4, 16, np.float16, np.uint8),
        Blocks(33, 20, 96, 8, 4, ml_dtypes.bfloat16, np.float32),
        Blocks(50, 36, 80, 2, 32, np.float32, np.uint8),
    ],
    ids=str,
)
def test_many_rows_by_blocks(case: Blocks, schedule: AnySchedule, precision: str) -> None:
    bound = ROUNDED.get(precision, EXACT)
    made = check_launches(case, schedule, target=GpuAttr.named("sm_80", precision), bound=bound)
    assert made.launches[0].kernel == "matmul_relu_0"


def choice_of(case: Case, precision: str) -> Choice:
    """What is weighed for the one contraction of a case."""
    m = build([case])
    module = m.module.clone()
    module.attributes["kernel.target"] = GpuAttr.named("sm_90a", precision)
    run_phases(m.ctx, module, [Phase("kernels", "form-kernels,limit-threads,choose-schedule")])
    (choice,) = [each for each in choices_of(m.ctx) if each.form == "contraction"]
    return choice


def large(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(2048, 512), m.input(512, 512)))


def wide_row(m: Model) -> SSAValue:
    return m(MatmulOp(m.input(1, 768), m.weight(768, 3072)))


@pytest.mark.parametrize("precision", ["fp32", *ROUNDED])
def test_fp32_means_fp32(precision: str) -> None:
    names = {schedule.name for schedule, _ in choice_of(large, precision).candidates}
    assert ("mma" in names) == (precision != "fp32")
    assert "tiles" in names


@pytest.mark.parametrize(
    ("case", "precision", "expected"),
    [
        (large, "fp32", "tiles"),
        (large, "tf32", "mma"),
        (wide_row, "fp32", "vector_rows"),
        (wide_row, "bf16", "vector_rows"),
    ],
)
def test_the_cheapest_is(case: Case, precision: str, expected: str) -> None:
    assert choice_of(case, precision).taken.name == expected


@pytest.mark.parametrize("precision", ["fp32", "tf32", "3xtf32", "fp16", "bf16"])
@pytest.mark.parametrize("rows", [1, 8])
def test_few_rows_read_a_large_matrix_together(rows: int, precision: str) -> None:
    """Never each element by itself, whichever way the matrix lies, and even if it is no weight."""

    def plain_matrix(m: Model) -> SSAValue:
        return m(MatmulOp(m.input(rows, 1024), m.input(1024, 2048)))

    def transposed_weight(m: Model) -> SSAValue:
        return m(MatmulOp(m.input(rows, 1023), m.weight(2049, 1023), transpose_b=True))

    def turned_row(m: Model) -> SSAValue:
        return m(MatmulOp(m.input(1024, rows), m.weight(1024, 2048), transpose_a=True))

    for case in (plain_matrix, transposed_weight, turned_row):
        assert choice_of(case, precision).taken.name in ("vector_rows", "mma", "tiles")


def test_filters_are_packed_first() -> None:
    m = build([pointwise])
    module = m.module.clone()
    module.attributes["kernel.target"] = GpuAttr.named("sm_80")
    run_phases(m.ctx, module, [Phase("kernels", "form-kernels,limit-threads")])
    run_passes(m.ctx, module, [ChooseSchedule(pick=("conv_0:tiles",))])
    with pytest.raises(CompileError, match="its weight is not packed; run pack-weights first"):
        run_phases(m.ctx, module, phases(device="cuda")[3:])
