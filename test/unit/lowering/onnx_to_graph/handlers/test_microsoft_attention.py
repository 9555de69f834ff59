"""Attention of com.microsoft, as ONNX Runtime computes it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from import_cases import computed
from microsoft_cases import Case, check, model_of

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

RANDOM = np.random.default_rng(7)
HEADS = {"num_heads": 2}


def floats(*shape: int) -> Array:
    return RANDOM.uniform(-1, 1, shape).astype(np.float32)


def whole(*values: int) -> Array:
    return np.array(values, np.int32)


def angles(places: int, pairs: int) -> list[Array]:
    turns = RANDOM.uniform(0, 3, (places, pairs))
    return [np.cos(turns).astype(np.float32), np.sin(turns).astype(np.float32)]


Q, K, V = floats(2, 3, 8), floats(2, 5, 8), floats(2, 5, 8)
KEPT = np.array([[1, 1, 1, 0, 0], [1, 1, 0, 1, 1]], np.int32)
PAST = [floats(2, 2, 4, 4), floats(2, 2, 4, 4)]
WEIGHT, BIAS = floats(6, 24), floats(24)
X = floats(2, 3, 6)
SQUARE = np.array([[1, 1, 0], [0, 1, 1]], np.int32)
BYTES = RANDOM.integers(0, 256, (2, 3, 6)).astype(np.uint8)
ROUGH = RANDOM.integers(-63, 64, (6, 24)).astype(np.int8)
SCALES = [np.array(0.01, np.float32), np.array(0.02, np.float32)]


def grouped(
    rows: int, past: int, total: int, last: list[int], *, packed: bool = False, rotary: bool = False,
    bias: Array | None = None, note: str = "", **attributes: float,
) -> Case:  # fmt: skip
    """4 heads of 16 elements over 2 of keys and values, in a cache of `past` places."""
    batch = len(last)
    if packed:
        first: list[Array | None] = [floats(batch, rows, 128), None, None]
    else:
        first = [floats(batch, rows, 64), floats(batch, rows, 32), floats(batch, rows, 32)]
    caches = [floats(batch, 2, past, 16), floats(batch, 2, past, 16)]
    for cache in caches:  # ONNX Runtime makes zeros of what has no meaning
        for entry, at in zip(cache, last, strict=True):
            entry[:, at + 1 - rows :] = 0
    operands = [*first, *caches, whole(*last), np.array(total, np.int32)]
    operands += [*angles(32, 8)] if rotary else []
    if bias is not None:
        operands += [None] * (10 - len(operands)) + [bias]
    given = {"num_heads": 4, "kv_num_heads": 2, "do_rotary": int(rotary), **attributes}
    return Case("GroupQueryAttention", operands, given, known=(6,), results=(0, 1, 2), note=note)


def quantised(rows: int, past: int, total: int, last: list[int], kind: str) -> Case:
    """The same with a cache of int8, whose scales are one or those of channels."""
    plain = grouped(rows, past, total, last, rotary=True)
    operands: list[Array | None] = list(plain.operands)
    for at in (3, 4):
        cache = RANDOM.integers(-100, 100, (len(last), 2, past, 16)).astype(np.int8)
        for entry, end in zip(cache, last, strict=True):
            entry[:, end + 1 - rows :] = 0
        operands[at] = cache
    operands += [None] * (12 - len(operands))
    shape = (1, 2, 1, 16) if kind == "PER_CHANNEL" else (1,)
    operands += [RANDOM.uniform(0.01, 0.03, shape).astype(np.float32) for _ in range(2)]
    kinds = {"k_quant_type": kind, "v_quant_type": kind, "kv_cache_bit_width": 8}
    return replace(plain, operands=operands, attributes={**plain.attributes, **kinds}, note=f"{kind} {rows} {past}")


CASES = [
    Case("MultiHeadAttention", [Q, K, V], HEADS),
    Case("MultiHeadAttention", [Q, K, V, BIAS], {**HEADS, "scale": 0.3}, note="with a bias"),
    Case("MultiHeadAttention", [Q, K, V, None, KEPT], HEADS, note="with a mask"),
    Case("MultiHeadAttention", [Q, K, V, None, whole(3, 5)], HEADS, note="with lengths"),
    Case("MultiHeadAttention", [Q, K, V, None, None, floats(1, 2, 3, 5)], HEADS, note="biased scores"),
    Case("MultiHeadAttention", [Q, Q, Q, None, None, None, *PAST], {**HEADS, "unidirectional": 1}, results=(0, 1, 2),
         note="with a past"),
    Case("MultiHeadAttention", [Q, floats(2, 2, 5, 4), floats(2, 2, 5, 4)], HEADS, note="of another call"),
    Case("Attention", [X, WEIGHT, BIAS], HEADS),
    Case("Attention", [X, WEIGHT, BIAS, SQUARE], HEADS, note="with a mask"),
    Case("Attention", [X, WEIGHT, BIAS, whole(3, 2)], HEADS, note="with lengths"),
    Case("Attention", [X, WEIGHT, BIAS, whole(3, 2, 0, 1)], HEADS, note="with ends and beginnings"),
    Case("Attention", [X, WEIGHT, BIAS, np.tril(np.ones((2, 3, 3), np.int32))], HEADS, note="with a mask of scores"),
    Case("Attention", [X, WEIGHT, BIAS], {**HEADS, "unidirectional": 1}, note="causal"),
    Case("Attention", [X, WEIGHT, BIAS, None, np.stack(PAST)], {**HEADS, "unidirectional": 1}, results=(0, 1),
         note="with a past"),
    Case("Attention", [X, floats(6, 20), floats(20)], {**HEADS, "qkv_hidden_sizes": [8, 8, 4]}, note="of other sizes"),
    Case("QAttention", [BYTES, ROUGH, BIAS, *SCALES, None, np.array(99, np.uint8), np.array(0, np.int8)], HEADS,
         known=(1, 2, 3, 4, 6, 7)),
    Case("QAttention", [BYTES, ROUGH, BIAS, *SCALES, whole(3, 2), np.array(99, np.uint8), np.array(0, np.int8)],
         {**HEADS, "unidirectional": 1}, known=(1, 2, 3, 4, 6, 7), note="causal"),
    Case("RotaryEmbedding", [floats(2, 3, 16), np.array([[0, 1, 2], [4, 5, 6]]), *angles(8, 4)]),
    Case("RotaryEmbedding", [floats(2, 2, 3, 8), np.array([2]), *angles(8, 4)], {"interleaved": 1}, note="interleaved"),
    Case("RotaryEmbedding", [floats(2, 3, 16), np.array([2]), *angles(8, 2)],
         {"num_heads": 2, "rotary_embedding_dim": 4}, note="in part"),
    grouped(3, 0, 3, [2, 2], note="first call"),
    grouped(3, 0, 3, [2, 2], rotary=True, note="first call, rotary"),
    grouped(1, 4, 5, [4], note="next call"),
    grouped(1, 4, 5, [4, 4], rotary=True, packed=True, note="next call, all in one"),
    grouped(1, 8, 5, [4, 2], rotary=True, note="in a larger cache", rotary_interleaved=1),
    grouped(2, 4, 6, [5], note="two at once"),
    grouped(1, 8, 8, [7], note="with a window", local_window_size=3),
    grouped(4, 0, 4, [3], note="first call with a window", local_window_size=2),
    grouped(1, 4, 5, [4], note="softcap", softcap=2.0, scale=0.9),
    grouped(1, 4, 5, [4], note="biased scores", bias=floats(1, 1, 1, 5)),
    grouped(1, 8, 8, [7], note="in a window with room", local_window_size=4, sliding_window_cache=1),
    quantised(1, 4, 5, [4], "PER_TENSOR"),
    quantised(1, 8, 5, [4, 4], "PER_CHANNEL"),
    quantised(3, 4, 3, [2, 2], "PER_CHANNEL"),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_meaning(case: Case) -> None:
    check(case)


@pytest.mark.thinned(11)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_compiled(case: Case) -> None:
    check(case, compiled=True)


@pytest.mark.parametrize("case", [grouped(1, 8, 5, [4, 2], rotary=True), grouped(3, 8, 3, [2])], ids=["next", "first"])
def test_how_many_there_are_may_turn_out_in_a_run(case: Case) -> None:
    """Then caches must have room for all of them."""
    wanted = computed(*model_of(case))
    found = computed(*model_of(replace(case, known=())))
    for name, value in wanted.items():  # more keys are added up in another order
        np.testing.assert_allclose(found[name], value, rtol=1e-6, atol=1e-6)


def test_rows_may_be_padded_behind_those_that_are_valid() -> None:
    """Each entry has as many as it says, and gives what a call of these alone gives, with norms of heads and places."""
    whole_case = grouped(3, 8, 8, [5, 2], rotary=True)
    beside = [np.array([[4, 5, 6], [1, 2, 3]]), None, None, None, None, floats(16), floats(16)]
    together = replace(whole_case, operands=[*whole_case.operands, *beside, whole(2, 1)])
    found = computed(*model_of(together))["y0"]
    for entry, count in enumerate((2, 1)):
        own = [None if each is None else each[entry : entry + 1] for each in together.operands[:6]]
        own[:3] = [None if each is None else each[:, :count] for each in own[:3]]
        places = beside[0]
        assert places is not None
        given = [*own, *together.operands[6:9], places[entry : entry + 1, :count], *beside[1:]]
        alone = computed(*model_of(replace(together, operands=given)))["y0"]
        np.testing.assert_allclose(found[entry, :count], alone[0], rtol=1e-5, atol=1e-6)


def test_projections_in_one() -> None:
    """ONNX Runtime has no code for them on a CPU."""
    rows, keys, values = (floats(2, 3, 2, 4) for _ in range(3))
    apart = [each.reshape(2, 3, 8) for each in (rows, keys, values)]
    wanted = computed(*model_of(Case("MultiHeadAttention", apart, HEADS)))
    together = np.stack([rows, keys, values], 3)
    assert np.array_equal(computed(*model_of(Case("MultiHeadAttention", [together], HEADS)))["y0"], wanted["y0"])
    pair = Case("MultiHeadAttention", [apart[0], together[:, :, :, 1:]], HEADS)
    assert np.array_equal(computed(*model_of(pair))["y0"], wanted["y0"])


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (Case("MultiHeadAttention", [Q, K, V], {"num_heads": 3}), "can't be split into 3 heads"),
        (Case("MultiHeadAttention", [Q, K, V, None, whole(1, 2, 3)], HEADS), r"a mask of shape \[3\]"),
        (Case("Attention", [X, WEIGHT, BIAS], {**HEADS, "do_rotary": 1}), "attribute do_rotary"),
        (Case("Attention", [X, WEIGHT, BIAS], {**HEADS, "qkv_hidden_sizes": [8, 8]}), r"24 columns .* of \[8, 8\]"),
        (Case("RotaryEmbedding", [Q, np.array([0]), *angles(8, 5)], HEADS), "5 angles turn 10 elements"),
        (grouped(1, 4, 5, [4], smooth_softmax=1), "attribute smooth_softmax"),
        (grouped(1, 4, 5, [4], num_heads=3), "3 heads can't share 2"),
        (
            replace(
                quantised(1, 4, 5, [4], "PER_TENSOR"), operands=quantised(1, 4, 5, [4], "PER_TENSOR").operands[:12]
            ),
            "k_quant_type PER_TENSOR without k_scale",
        ),
        (quantised(1, 4, 5, [4], "PER_TOKEN"), "k_quant_type PER_TOKEN is unknown"),
        (
            replace(
                quantised(1, 4, 5, [4], "PER_TENSOR"),
                attributes={
                    **HEADS,
                    "num_heads": 4,
                    "kv_num_heads": 2,
                    "k_quant_type": "PER_TENSOR",
                    "kv_cache_bit_width": 4,
                },
            ),
            "a cache of 4 bits",
        ),
    ],
    ids=str,
)
def test_refused(case: Case, message: str) -> None:
    with pytest.raises((mi.UnsupportedError, mi.InvalidModelError), match=message):
        computed(*model_of(case))
