"""Attention on a GPU, by the interpreter: sizes that fit no tile, masks of every shape, shared heads, shared keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu_kernel_runs import SMALL, check, compiled
from kernel_runs import Body, Writer, compare, kernel_of, reference

from mini_infer.dialects.errors import CompileError
from mini_infer.dialects.gpu.nvgpu import AsyncCopyOp
from mini_infer.dialects.graph.ops.attention import AttentionOp
from mini_infer.dialects.graph.ops.movement import ReshapeOp, SliceOp, TransposeOp
from mini_infer.dialects.graph.values import Array
from mini_infer.dialects.kernel.targets import GpuAttr
from mini_infer.lowering.gpu_to_cuda.cuda_text import cuda_text
from mini_infer.passes.kernels.schedules.cuda.attention.flash import Flash
from mini_infer.passes.kernels.schedules.cuda.attention.flash_tensor import FlashTensor
from mini_infer.runtime.devices.cuda.nvrtc import nvrtc, resources_in

Random = np.random.default_rng(0)
Case = tuple[Body, list[Array]]

TILES = [Flash(8, 4, 2), Flash(2, 8, 4), Flash(4, 4, 1), Flash(1, 4, 1, 3), Flash(2, 4, 2, 2)]


def attention(
    heads: tuple[int, int],
    queries: int,
    keys: int,
    depth: int,
    width: int,
    *,
    mask: Array | None = None,
    dtype: Any = np.float32,
    **options: Any,
) -> Case:
    """[2, heads, rows, depth or width], with (query heads, key heads)."""
    shapes = ((2, heads[0], queries, depth), (2, heads[1], keys, depth), (2, heads[1], keys, width))
    arrays = [Random.standard_normal(shape).astype(dtype) for shape in shapes]

    def body(w: Writer) -> Any:
        return w(AttentionOp(w[0], w[1], w[2], None if mask is None else w[3], scale=depth**-0.5, **options))

    return body, [*arrays, *([] if mask is None else [mask])]


def by_tokens(heads: tuple[int, int], tokens: int, size: int, causal: bool = False) -> Case:
    """The heads are cut out of [tokens, heads * size] and put back, all through views of one projection."""
    queries, keys = heads

    def body(w: Writer) -> Any:
        start, parts = 0, list[Any]()
        for count in (queries, keys, keys):
            end = start + count * size
            part = w(SliceOp(w[0], (0, 0, start), (2, tokens, end), (1, 1, 1)))
            parts.append(w(TransposeOp(w(ReshapeOp(part, (2, tokens, count, size))), (0, 2, 1, 3))))
            start = end
        return w(TransposeOp(w(AttentionOp(*parts, scale=size**-0.5, causal=causal)), (0, 2, 1, 3)))

    return body, [Random.standard_normal((2, tokens, (queries + 2 * keys) * size)).astype(np.float32)]


SIZES = [
    attention((2, 2), 33, 33, 16, 16),
    attention((2, 1), 14, 15, 3, 5),
    attention((2, 2), 5, 100, 33, 47, causal=True),
    attention((3, 1), 20, 40, 8, 24, causal=True),
    attention((2, 2), 40, 20, 8, 8, causal=True),
    attention((2, 2), 16, 32, 8, 8, softcap=0.7),
    attention((4, 2), 5, 19, 12, 8, softcap=0.7, causal=True),
    by_tokens((6, 2), 20, 5, True),
    by_tokens((4, 4), 17, 16),
]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("number", range(len(TILES)))
def test_sizes(number: int) -> None:
    for body, arrays in SIZES[number % 2 :: 2]:
        check("attention", body, *arrays, given=TILES[number])


@pytest.mark.slow
@pytest.mark.parametrize("schedule", TILES, ids=str)
def test_all_sizes(schedule: Flash) -> None:
    for body, arrays in SIZES:
        check("attention", body, *arrays, given=schedule)


def test_the_cheapest() -> None:
    for body, arrays in (SIZES[2], attention((2, 2), 0, 2, 3, 3), attention((2, 2), 1, 300, 16, 16)):
        assert check("attention", body, *arrays).schedule == "flash"


MASKS = [(37,), (20, 1), (1, 1, 1, 37), (2, 4, 20, 37), (4, 1, 1), (2, 1, 20, 37), ()]


@pytest.mark.parametrize("kind", [np.float32, np.bool_])
def test_masks(kind: Any) -> None:
    for number, shape in enumerate(MASKS):
        mask = Random.random(shape) < 0.7 if kind is np.bool_ else Random.standard_normal(shape).astype(kind)
        body, arrays = attention((4, 2), 20, 37, 8, 8, mask=np.array(mask), causal=bool(number % 2))
        check("attention", body, *arrays, given=TILES[number % len(TILES)])


@pytest.mark.thinned(3)
@pytest.mark.parametrize("schedule", [Flash(2, 4, 1), Flash(1, 4, 1, 3)], ids=str)
@pytest.mark.parametrize("nan_rows", [False, True])
def test_rows_that_keep_no_key(schedule: Flash, nan_rows: bool) -> None:
    kept = Random.random((2, 1, 20, 37)) < 0.5
    kept[0, 0, 3] = False
    kept[1, 0, 5, :32] = False  # nothing of the first tiles
    kept[:, :, 6, 36] = True
    for mask in (kept, np.where(kept, 0, -np.inf).astype(np.float32)):
        body, arrays = attention((2, 2), 20, 37, 8, 8, mask=mask, nan_rows=nan_rows)
        (result,) = compiled("attention", body, arrays, given=schedule)(*arrays)
        empty = result[0, :, 3]
        assert np.isnan(empty).all() if nan_rows else not empty.any()
        arrays[3] = np.delete(mask, 3, axis=2)
        rest, others = attention((2, 2), 19, 37, 8, 8, mask=arrays[3])
        others[:3] = np.delete(arrays[0], 3, axis=2), arrays[1], arrays[2]
        expected = check("attention", rest, *others)(*others)[0]
        np.testing.assert_allclose(np.delete(result, 3, axis=2), expected, rtol=0, atol=2e-6)


def test_double_precision() -> None:
    for schedule in TILES[:4]:
        body, arrays = attention((2, 1), 20, 37, 9, 5, causal=True, dtype=np.float64)
        check("attention", body, *arrays, given=schedule, tolerance=1e-14)


ROUNDED = {"3xtf32": 4e-6, "tf32": 4e-3, "fp16": 4e-3, "bf16": 3e-2}
TENSOR_TILES = [FlashTensor(1, 1, 2), FlashTensor(2, 2, 4), FlashTensor(1, 4, 2)]


@pytest.mark.thinned(3)
@pytest.mark.parametrize("precision", ROUNDED)
def test_tensor_units(precision: str) -> None:
    target = GpuAttr.of(precision=precision)
    mask = np.where(Random.random((20, 37)) < 0.5, 0, -np.inf).astype(np.float32)
    mask[3] = -np.inf
    capped = attention((2, 2), 16, 32, 8, 8, softcap=0.7)
    cases = [*SIZES[::3], attention((4, 2), 20, 37, 8, 8, mask=mask), capped]
    for number, (body, arrays) in enumerate(cases):
        tiles = TENSOR_TILES[number % len(TENSOR_TILES)]
        check("attention", body, *arrays, given=tiles, target=target, tolerance=ROUNDED[precision])


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(TILES) + len(ROUNDED)))
def test_the_printed_text(number: int) -> None:
    body, arrays = SIZES[number % len(SIZES)]
    if number < len(TILES):
        kernel, bound = compiled("attention", body, arrays, given=TILES[number]), 2e-6
    else:
        precision, bound = list(ROUNDED.items())[number - len(TILES)]
        tiles, target = TENSOR_TILES[number % len(TENSOR_TILES)], GpuAttr.of(precision=precision)
        kernel = compiled("attention", body, arrays, given=tiles, target=target)
    compare(kernel.by_text(*arrays, seed=number), reference(body, arrays), bound)


def test_tensor_units_only_where_products_may_be_rounded() -> None:
    case = attention((8, 8), 512, 512, 64, 64)
    kernel = kernel_of("attention", *case)
    assert not list(FlashTensor.candidates(kernel, GpuAttr.named("sm_90a")))
    assert compiled("attention", *case, target=GpuAttr.named("sm_80", "tf32")).schedule == "flash_tensor"
    one = kernel_of("attention", *attention((8, 8), 1, 2048, 64, 64))
    h200 = GpuAttr.named("sm_90a", "tf32")
    best = [min(way.candidates(one, h200), key=lambda each: each.cost(one, h200)) for way in (Flash, FlashTensor)]
    assert best[0].cost(one, h200) < best[1].cost(one, h200)  # bytes, not products


def test_split_numbers_leave_registers_free() -> None:
    """Both parts of the queries are kept; whole ones beside them took all 255 registers, and some bytes of memory."""
    case, target = by_tokens((12, 12), 197, 64), GpuAttr.named("sm_90a", "3xtf32")
    kernel = compiled("attention", *case, given=FlashTensor(2, 4, 4), target=target)
    (needed,) = resources_in(nvrtc().compile(cuda_text(kernel.module), "sm_90a")[1])
    assert needed.registers < 224 and needed.spill_stores == 0


def test_the_first_tile_is_on_its_way_before_queries_are_read() -> None:
    case = attention((1, 1), 64, 64, 16, 16)
    for schedule, target in ((Flash(2, 4, 2), GpuAttr.of()), (FlashTensor(2, 1, 2), GpuAttr.of(precision="fp16"))):
        text = cuda_text(compiled("attention", *case, given=schedule, target=target).module)
        _, _, code = text.partition('extern "C"')
        assert 0 < code.index("copy_async<16>(&values[") < code.index("x[")


def test_rows_that_are_aligned_are_copied_asynchronously() -> None:
    def copies(case: Case) -> int:
        return sum(isinstance(op, AsyncCopyOp) for op in compiled("attention", *case).module.walk())

    assert copies(attention((1, 1), 16, 16, 8, 8))
    assert not copies(attention((1, 1), 16, 16, 7, 7))


def test_few_queries_share_their_keys_between_blocks() -> None:
    h200 = GpuAttr.named("sm_90a")
    kernels = [kernel_of("attention", *attention((8, 8), queries, 2048, 64, 64)) for queries in (1, 2048)]
    one, many = (min(Flash.candidates(k, h200), key=lambda each: each.cost(k, h200)) for k in kernels)
    assert one.splits > 1
    assert many.splits == 1
    assert many.tile_rows > one.tile_rows


@pytest.mark.parametrize(
    ("schedule", "queries", "cheaper"),
    [(Flash(4, 8, 2), 2048, True), (Flash(4, 8, 2, 2), 2048, False), (Flash(4, 8, 2), 1, False)],
)
def test_only_causal_attention_of_many_queries_leaves_keys_out(schedule: Flash, queries: int, cheaper: bool) -> None:
    """Blocks that share the keys of a tile have as many whether it is causal or not."""
    h200 = GpuAttr.named("sm_90a")
    sizes = ((8, 8), queries, 2048, 64, 64)
    whole, causal = (kernel_of("attention", *attention(*sizes, causal=causal)) for causal in (False, True))
    assert (schedule.cost(causal, h200) < schedule.cost(whole, h200)) == cheaper


def test_refused() -> None:
    with pytest.raises(CompileError, match="0 keys of 8 elements leave nothing to attend to"):
        compiled("attention", *attention((1, 1), 3, 0, 8, 8))
    with pytest.raises(CompileError, match="attention on f16 is not supported"):
        compiled("attention", *attention((1, 1), 3, 3, 8, 8, dtype=np.float16))
    with pytest.raises(CompileError, match="heads of 4000 elements are too large for shared memory"):
        compiled("attention", *attention((1, 1), 3, 3, 4000, 4000), target=SMALL)
