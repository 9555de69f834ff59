"""Attention: sizes that fit no tile, causal rows, masks of every shape, shared key heads, rows that keep no key."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from graph_runs import EVERY, Case, Model, Target, build, check, compiled, execute, spread
from kernel_runs import kernel_of
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import SSAValue

from mini_infer.dialects.errors import CompileError
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.graph.ops.attention import AttentionOp
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.ops.elementwise import AddOp
from mini_infer.dialects.graph.ops.movement import ReshapeOp, SliceOp, TransposeOp
from mini_infer.dialects.graph.ops.quantization import DequantizeOp
from mini_infer.dialects.graph.ops.unary import ReluOp
from mini_infer.dialects.graph.values import Array
from mini_infer.passes.kernels.choose_schedule import ChooseSchedule


def attention(
    heads: tuple[int, int],
    queries: int,
    keys: int,
    depth: int,
    width: int,
    *,
    mask: Array | None = None,
    mask_shape: tuple[int, ...] | None = None,
    mask_type: Any = np.float32,
    causal: bool = False,
    softcap: float = 0.0,
    nan_rows: bool = False,
    dtype: Any = np.float32,
) -> Case:
    """[2, heads, rows, depth or width], with (query heads, key heads); the mask is random unless given."""

    def case(m: Model) -> SSAValue:
        given = None
        if mask is not None or mask_shape is not None:
            given = m.input(*(mask_shape or ()), data=mask, dtype=mask_type)
        q = m.input(2, heads[0], queries, depth, dtype=dtype)
        k, v = m.input(2, heads[1], keys, depth, dtype=dtype), m.input(2, heads[1], keys, width, dtype=dtype)
        return m(AttentionOp(q, k, v, given, scale=depth**-0.5, softcap=softcap, causal=causal, nan_rows=nan_rows))

    return case


def by_tokens(heads: tuple[int, int], tokens: int, size: int, causal: bool = False) -> Case:
    """The heads are cut out of [tokens, heads * size] and put back, all through views of one projection."""

    def case(m: Model) -> SSAValue:
        queries, keys = heads
        packed = m.input(2, tokens, (queries + 2 * keys) * size)
        start, parts = 0, list[SSAValue]()
        for count in (queries, keys, keys):
            end = start + count * size
            part = m(SliceOp(packed, (0, 0, start), (2, tokens, end), (1, 1, 1)))
            parts.append(m(TransposeOp(m(ReshapeOp(part, (2, tokens, count, size))), (0, 2, 1, 3))))
            start = end
        joined = m(TransposeOp(m(AttentionOp(*parts, scale=size**-0.5, causal=causal)), (0, 2, 1, 3)))
        return m(ReshapeOp(joined, (2, tokens, queries * size)))

    return case


SIZES = [
    (33, 33, 16, 16),
    (1, 7, 20, 20),
    (64, 64, 64, 64),
    (14, 15, 3, 5),
    (5, 100, 33, 47),
    (3, 1, 1, 1),
    (0, 2, 3, 3),
]
PLAIN = [attention((2, 2), *sizes) for sizes in SIZES]
CAUSAL = [attention((2, 1), *sizes, causal=True) for sizes in [*SIZES, (40, 20, 8, 8), (20, 40, 8, 8)]]
CAPPED = [attention((2, 1), *SIZES[number], softcap=0.7, causal=number % 2 == 0) for number in (0, 3, 4)]
MASKS = [
    *((37,), (20, 1), (20, 37), (1, 37), (1, 1, 1, 37), (2, 1, 1, 37), (1, 4, 20, 37)),
    *((2, 4, 20, 37), (4, 1, 1), (4, 20, 1), (2, 1, 20, 37), (1,), ()),
]
FLOAT_MASKS = [attention((4, 2), 20, 37, 8, 8, mask_shape=shape) for shape in MASKS]
BOOL_MASKS = [attention((4, 2), 20, 37, 8, 8, mask_shape=shape, mask_type=np.bool_, causal=True) for shape in MASKS]
HEADS = [by_tokens((6, keys), 20, size, causal) for keys, size, causal in ((1, 8, False), (2, 5, True), (6, 16, False))]
GROUPS = {
    "plain": PLAIN,
    "causal": CAUSAL,
    "float masks": FLOAT_MASKS,
    "bool masks": BOOL_MASKS,
    "heads": HEADS,
    "capped": CAPPED,
}


@pytest.mark.thinned(5)
@pytest.mark.parametrize("group", GROUPS)
def test_attention(group: str) -> None:
    for run in spread(GROUPS[group][::2]):
        assert set(run.schedules) == {"attention"}


@pytest.mark.slow
@pytest.mark.parametrize("target", EVERY, ids=str)
def test_attention_on_every_target(target: Target) -> None:
    for cases in GROUPS.values():
        check(cases, target)


HIDDEN = np.where(np.arange(37) < 33, -np.inf, 0)[None, None, None]  # the first blocks of keys
BLOCKS = [
    attention((2, 1), 33, 50, 16, 16, causal=True),
    attention((2, 2), 17, 40, 33, 21, softcap=0.7),
    attention((4, 2), 20, 37, 8, 8, mask_shape=(2, 4, 20, 37)),
    attention((4, 2), 20, 37, 8, 8, mask_shape=(2, 1, 20, 37), mask_type=np.bool_, causal=True),
    attention((2, 2), 20, 37, 8, 8, mask=HIDDEN.astype(np.float32)),
    by_tokens((6, 2), 40, 5, causal=True),
]


def test_blocks_of_keys() -> None:
    """Peaks, sums of weights and sums of weighted values go on from block to block."""
    for run in check(BLOCKS, Target(512, 1, l2=2048), Target(128, 2, l2=2048)):
        assert set(run.schedules) == {"attention_blocks"}


def test_rows_that_keep_no_key_are_zero() -> None:
    kept = np.random.default_rng(0).random((2, 1, 20, 37)) < 0.5
    kept[0, 0, 3] = False
    kept[1, 0, :, 0] = False  # a causal first row has only this key
    added = np.where(kept, 0, -np.inf).astype(np.float32)
    cases = [attention((2, 2), 20, 37, 8, 8, mask=m, causal=causal) for m in (kept, added) for causal in (False, True)]
    for run in check(cases, Target(512, 1), Target(128, 5), Target(128, 1, l2=2048)):
        for name, result in run.results.items():
            assert not result[0, :, 3].any()
            assert not result[1, :, 0].any() or name[5:6] in "02"
            assert result[0, :, 4].any()


@pytest.mark.parametrize("l2", [0, 2048])
def test_rows_that_keep_no_key_are_no_numbers_where_a_softmax_says_so(l2: int) -> None:
    kept = np.broadcast_to(np.arange(20)[:, None] != 3, (20, 37))
    m = build([attention((2, 2), 20, 37, 8, 8, mask=kept, nan_rows=True)])
    (result,) = execute(compiled(m, Target(128, l2=l2))[0], m.inputs).values()
    assert np.isnan(result[:, :, 3]).all()
    assert np.isfinite(result[:, :, 4:]).all()


def test_double_precision() -> None:
    cases = [
        attention((2, 2), 20, 37, 8, 8, causal=True, dtype=np.float64),
        attention((2, 1), 20, 37, 9, 5, mask_shape=(37,), mask_type=np.float64, dtype=np.float64),
    ]
    check(cases, Target(512, 2), Target(256, 1), Target(256, 1, l2=2048), bound=1e-14)


def test_what_stands_around() -> None:
    """Nothing elementwise joins attention; views do as far as they keep elements of a row side by side."""

    def followed(m: Model) -> SSAValue:
        q, k, v = (m.input(1, 2, 9, 8) for _ in range(3))
        return m(ReluOp(m(AddOp(m(AttentionOp(q, k, v, scale=0.3)), q))))

    def turned(m: Model) -> list[SSAValue]:
        values = m(TransposeOp(m.input(1, 2, 5, 8), (0, 1, 3, 2)))
        back = m(TransposeOp(values, (0, 1, 3, 2)))
        result = m(AttentionOp(m.input(1, 2, 7, 8), m.input(1, 2, 5, 8), back, scale=0.3))
        return [m(TransposeOp(result, (0, 2, 3, 1))), m(ReluOp(values))]

    (run,) = check([followed, turned], Target())
    assert sorted(run.schedules) == ["attention", "attention", *["elements"] * 5]
    names = {name for name in run.names if name.startswith("attention")}
    assert names == {"attention_0", "attention_1"}
    (run,) = check([HEADS[0]], Target())
    assert run.names == ["attention_transpose_0"]


FEW_QUERIES = [
    attention((6, 1), 1, 9, 13, 5),
    attention((8, 2), 2, 11, 8, 16, mask_shape=(2, 8, 2, 11)),
    attention((5, 1), 4, 8, 16, 16, mask_shape=(1, 1, 4, 8), mask_type=np.bool_),
    attention((4, 4), 3, 21, 33, 40, causal=True),
    attention((7, 1), 1, 1, 4, 4, softcap=0.7),
    attention((20, 2), 1, 37, 80, 80),
    attention((11, 1), 2, 19, 64, 144, causal=True),
]


def test_few_queries_read_keys_where_they_lie() -> None:
    """Without scratch for panels, which grows with the size of a key."""
    for run in check(FEW_QUERIES, *(Target(bits, 2) for bits in (512, 256, 128))):
        assert set(run.schedules) == {"attention"}
    (few,), (more,) = (check([attention((4, 1), queries, 64, 64, 64)], Target()) for queries in (4, 5))
    assert few.plan.arena_bytes < more.plan.arena_bytes


def narrow(queries: int, keys: int, size: int, dtype: Any, *, by_tokens: bool = False, scaled: bool = False) -> Case:
    """Keys and values of narrower elements than the queries, cut out of [tokens, heads * size] or of heads.

    `scaled` by a number for each, where a mask is added, too.
    """

    def case(m: Model) -> SSAValue:
        heads = list[SSAValue]()
        for _ in range(2):
            shape = (2, keys, 2 * size) if by_tokens else (2, 2, keys, size)
            data = (m.random(*shape) * 20).astype(dtype)
            part = m.input(*shape, data=data)
            if by_tokens:
                part = m(TransposeOp(m(ReshapeOp(part, (2, keys, 2, size))), (0, 2, 1, 3)))
            wide = DequantizeOp(part, m.input(2, 2, keys, 1)) if scaled else CastOp(part, f32)
            heads.append(m(wide))
        mask = m.input(6, queries, keys) if scaled else None
        query = m.input(2, 6, queries, size, scale=0.05)
        key, value = heads
        return m(AttentionOp(query, key, value, mask, scale=size**-0.5, softcap=0.7 if scaled and queries % 2 else 0.0))

    return case


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.int8])
def test_narrow_keys_are_widened_where_they_are_read(dtype: Any) -> None:
    """By few queries, in panels and by blocks: one kernel, without a wide copy."""
    sizes = [(1, 37, 24), (2, 5, 3), (20, 41, 21), (33, 50, 16)]
    cases = [narrow(*each, dtype, by_tokens=number % 2 == 1) for number, each in enumerate(sizes)]
    if dtype is np.int8:
        cases += [narrow(*each, dtype, by_tokens=number % 2 == 1, scaled=True) for number, each in enumerate(sizes)]
    for run in check(cases, Target(512, 2), Target(128, 1), Target(256, 2, l2=2048)):
        assert len(run.names) == len(cases) and all(name.startswith("attention") for name in run.names)


def test_scratch_does_not_grow_with_the_square_of_the_keys() -> None:
    (small,) = check([attention((1, 1), 64, 64, 8, 8)], Target())
    (large,) = check([attention((1, 1), 256, 256, 8, 8)], Target())
    assert small.plan.arena_bytes < large.plan.arena_bytes <= 4 * small.plan.arena_bytes


def test_only_floats_of_32_and_64_bits_have_code() -> None:
    arrays = [np.zeros((1, 1, 2, 4), np.float16) for _ in range(3)]
    kernel = kernel_of("attention", lambda w: w(AttentionOp(w[0], w[1], w[2], scale=1.0)), arrays)
    with pytest.raises(
        CompileError, match=r"^tested \(graph.attention\): attention on f16 is not supported; only f32 and f64"
    ):
        ChooseSchedule().apply(MiniContext(), ModuleOp([kernel]))
