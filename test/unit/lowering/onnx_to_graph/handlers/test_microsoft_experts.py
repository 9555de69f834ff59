"""Mixtures of experts of com.microsoft, as ONNX Runtime computes them; what it has no code for, as numpy does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from import_cases import assert_close, computed, computed_of_any_size
from microsoft_cases import Case, bytes_of, check, model_of

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

Random = np.random.default_rng(3)
HIDDEN, INNER, EXPERTS = 32, 48, 5


def floats(*shape: int, scale: float = 1.0, dtype: Any = np.float32) -> Array:
    return (Random.standard_normal(shape) * scale).astype(dtype)


def whole(bits: int, *shape: int) -> Array:
    return Random.integers(0, 2**bits, shape).astype(np.uint8)


def without_end(operands: list[Array | None]) -> list[Array | None]:
    """Operands up to the last one that is given."""
    while operands[-1] is None:
        operands.pop()
    return operands


def plain(count: int = 5, note: str = "", *, bias: bool = True, dtype: Any = np.float32, **attributes: Any) -> Case:
    """A MoE; with swiglu FC1 has both parts of the gate."""
    rows = INNER * (2 if attributes.get("activation_type") == "swiglu" else 1)
    operands: list[Array | None] = [floats(count, HIDDEN, dtype=dtype), floats(count, EXPERTS, dtype=dtype)]
    for size in ((rows, HIDDEN), (HIDDEN, INNER)):
        operands.append(floats(EXPERTS, *size, scale=0.2, dtype=dtype))
        operands.append(floats(EXPERTS, size[0], dtype=dtype) if bias else None)
    note = f"{count} {attributes.get('activation_type', '')} {note}"
    tolerance = 1e-5 if dtype == np.float32 else 5e-3
    return Case("MoE", without_end(operands), {"k": 2} | attributes, range(2, 8), note=note, tolerance=tolerance)


def quantised(count: int = 5, note: str = "", *, bits: int = 4, block: int = 16, **more: Any) -> Case:
    """A QMoE, gated unless it has another activation. `zeros`, `shares` and `inputs` are optional operands of it."""
    zeros, shares, inputs = (more.pop(name, False) for name in ("zeros", "shares", "inputs"))
    rows = INNER * (1 if "activation_type" in more else 2)
    operands: list[Array | None] = [floats(count, HIDDEN), floats(count, EXPERTS), *[None] * 13]
    for number, (size, depth) in enumerate([(rows, HIDDEN), (HIDDEN, INNER)]):
        entries = (EXPERTS, size, depth // block) if block else (EXPERTS, size)
        operands[2 + 3 * number] = bytes_of(whole(bits, EXPERTS, size, depth), bits)
        operands[3 + 3 * number] = (Random.uniform(0.01, 0.1, entries) / 2 ** (bits - 3)).astype(np.float32)
        operands[4 + 3 * number] = floats(EXPERTS, size)
        operands[11 + number] = bytes_of(whole(bits, *entries), bits) if zeros else None
    operands[14] = np.abs(floats(count, EXPERTS)) if shares else None
    attributes: dict[str, Any] = {"k": 2, "expert_weight_bits": bits, "weights_prepacked": 0}
    gated = {} if "activation_type" in more else {"activation_type": "swiglu", "swiglu_fusion": 1}
    attributes |= {**gated, **({"block_size": block} if block else {}), **more}
    note, tolerance = f"{count}, {bits} bits by {block} {note}", 1e-4 if bits == 8 else 1e-5
    return Case(
        "QMoE",
        without_end(operands),
        attributes,
        range(0 if inputs else 2, 14 * (not inputs)),
        note=note,
        tolerance=tolerance,
    )


GATE: dict[str, Any] = {"activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 2.0}
CASES = [
    *(plain(activation_type=kind) for kind in ("relu", "gelu", "silu", "identity")),
    plain(activation_type="swiglu", swiglu_fusion=1),
    plain(note="limited", activation_type="swiglu", swiglu_fusion=1, **GATE),
    plain(count=1, note="normalised", bias=False, normalize_routing_weights=1),
    plain(count=100, note="tiles", activation_type="silu"),
    plain(count=30, note="all experts", k=5),
    plain(count=3, dtype=np.float16, activation_type="gelu"),
    quantised(bits=2),
    quantised(),
    quantised(bits=8, block=0),
    quantised(note="zero points", zeros=True),
    quantised(note="zero points", block=0, zeros=True),
    quantised(activation_type="silu"),
    quantised(count=1, k=1),
    quantised(count=70, note="tiles", zeros=True),
    quantised(note="shares", shares=True),
    quantised(note="normalised shares", shares=True, normalize_routing_weights=1),
    quantised(note="weights that are inputs", inputs=True),
    quantised(count=9, note="limited", **GATE),
]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_meaning(case: Case) -> None:
    check(case)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_compiled(case: Case) -> None:
    check(case, compiled=True)


Expert = Callable[[Array, int], Array]
"""What an expert makes of a row."""


def mixed(x: Array, shares: Array, expert: Expert) -> Array:
    """The sum of the results of each token's experts: those with a share."""
    rows = x.astype(np.float64)
    sums = [
        sum(share * expert(row, each) for each, share in enumerate(own) if share)
        for row, own in zip(rows, shares, strict=True)
    ]
    return np.stack(sums).astype(np.float32)


def best(router: Array, *, normalised: bool) -> Array:
    """The shares of the two best experts of each token; the others have none."""
    shares = np.exp(router.astype(np.float64))
    shares /= shares.sum(-1, keepdims=True)
    shares[router < np.sort(router, -1)[:, -2:-1]] = 0
    return shares / shares.sum(-1, keepdims=True) if normalised else shares


def silu(x: Array) -> Array:
    return x / (1 + np.exp(-x))


def gelu(x: Array) -> Array:
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def limited(x: Array) -> Array:
    return np.minimum(silu(x), 0.5)


GATES = {"swiglu": silu, "geglu": gelu, "limited": limited}


@pytest.mark.parametrize(
    ("kind", "activation", "third"),
    [*((kind, each, third) for third in (False, True) for kind, each in GATES.items()), ("silu", silu, True)],
)
def test_gates_that_onnxruntime_has_no_code_for(kind: str, activation: Callable[[Array], Array], third: bool) -> None:
    """FC1 has both parts one after the other, or FC3 has the other one."""
    x, router = floats(6, HIDDEN), floats(6, EXPERTS)
    gate, linear = (floats(EXPERTS, INNER, HIDDEN, scale=0.2) for _ in range(2))
    down = floats(EXPERTS, HIDDEN, INNER, scale=0.2)
    first = gate if third else np.concatenate([gate, linear], 1)
    limit = {"swiglu_limit": 0.5, "swiglu_limit_after_activation": 1} if kind == "limited" else {}
    attributes = {"k": 2, "activation_type": "swiglu" if limit else kind, "swiglu_fusion": 0 if third else 2, **limit}
    operands = without_end([x, router, first, None, down, None, linear if third else None])

    def expert(row: Array, number: int) -> Array:
        beside = linear[number] @ row
        return down[number] @ (activation(gate[number] @ row) * (np.clip(beside, -0.5, 0.5) if limit else beside))

    model, inputs = model_of(Case("MoE", operands, attributes, range(2, 8)))
    wanted = mixed(x, best(router, normalised=False), expert)
    for found in (computed(model, inputs), computed_of_any_size(model, inputs), mi.compile(model, threads=1)(inputs)):
        assert_close(found["y0"], wanted)


def test_squares_of_what_is_positive() -> None:
    """ONNX Runtime has no code for it."""
    x, router = floats(6, HIDDEN), floats(6, EXPERTS)
    up, down = floats(EXPERTS, INNER, HIDDEN, scale=0.2), floats(EXPERTS, HIDDEN, INNER, scale=0.2)
    operands: list[Array | None] = [x, router, up, None, down]
    attributes = {"k": 2, "activation_type": "relu2", "normalize_routing_weights": 1}
    model, inputs = model_of(Case("MoE", operands, attributes, range(2, 8)))
    wanted = mixed(
        x, best(router, normalised=True), lambda row, number: down[number] @ np.maximum(up[number] @ row, 0) ** 2
    )
    for found in (computed(model, inputs), mi.compile(model, threads=1)(inputs)):
        assert_close(found["y0"], wanted)


@pytest.mark.parametrize("rounded", [False, True])
def test_matrices_of_whole_panels(rounded: bool) -> None:
    """They are read where they lie in the stack. FC1 has 8 bits and zero points, FC2 has 3 bits."""
    hidden, inner, block = 64, 128, 32
    x, router = floats(40, hidden), floats(40, EXPERTS)
    one, two = whole(8, EXPERTS, inner, hidden), whole(3, EXPERTS, hidden, inner)
    zero = whole(8, EXPERTS, inner, hidden // block)
    scales = [Random.uniform(0.001, 0.01, (*each.shape[:2], each.shape[2] // block)) for each in (one, two)]
    first_scale, second_scale = (each.astype(np.float32) for each in scales)
    operands = [x, router, one, first_scale, None, bytes_of(two, 3), second_scale, *[None] * 4, zero]
    attributes = {"k": 2, "expert_weight_bits": 3, "fc1_expert_weight_bits": 8, "block_size": block}
    attributes |= {"activation_type": "silu", "accuracy_level": 4 if rounded else 0}
    model, inputs = model_of(Case("QMoE", operands, attributes, range(2, 12)))
    first = (one.astype(np.float64) - np.repeat(zero, block, -1)) * np.repeat(first_scale, block, -1)
    second = (two.astype(np.float64) - 4) * np.repeat(second_scale, block, -1)
    wanted = mixed(x, best(router, normalised=True), lambda row, number: second[number] @ silu(first[number] @ row))
    assert_close(computed(model, inputs)["y0"], wanted)
    for threads in (1, 2):
        found = mi.compile(model, threads=threads)(inputs)["y0"]
        assert_close(found, wanted, 0.02 if rounded else 1e-5)


def test_a_range_of_tokens() -> None:
    """One compile for one token, and for tiles of them."""
    model, inputs = model_of(quantised(count=100, zeros=True))
    every = computed(model, inputs)["y0"]
    for value in model.graph.input:
        value.type.tensor_type.shape.dim[0].dim_param = "tokens"
    engine = mi.compile(model, threads=1, profile=mi.OptimizationProfile(dims={"tokens": (1, 1, 100)}))
    for count in (1, 3, 20, 100):
        assert_close(engine({name: array[:count] for name, array in inputs.items()})["y0"], every[:count])


@pytest.mark.parametrize(
    ("case", "message"),
    [
        (plain(activation_type="tanh"), "activation_type tanh"),
        (plain(use_sparse_mixer=1), "use_sparse_mixer"),
        (plain(activation_type="swiglu"), "swiglu with swiglu_fusion=0 without FC3"),
        (plain(k=6), "there are no 6 elements along a dimension of 5"),
        (quantised(weights_prepacked=1), r"packed for another machine \(weights_prepacked\)"),
        (quantised(quant_type="fp4"), "quant_type fp4"),
        (quantised(expert_weight_bits=5), "FC1 of 5 bits"),
        (quantised(block_size=32), r"FC1: scales of shape \[5, 96, 2\] for \[5, 96, 32\]"),
    ],
    ids=str,
)
def test_refused(case: Case, message: str) -> None:
    with pytest.raises((mi.UnsupportedError, mi.InvalidModelError), match=message):
        computed(*model_of(case))
