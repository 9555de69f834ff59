"""Mixtures of experts of com.microsoft, as ONNX Runtime computes them; what it has no code for, as numpy does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from microsoft_cases import Case, bytes_of, check

from mini_infer.dialects.graph.values import Array

Random = np.random.default_rng(3)
HIDDEN, INNER, EXPERTS = 32, 48, 5


def floats(*shape: int, scale: float = 1.0, dtype: Any = np.float32) -> Array:
    return (Random.standard_normal(shape) * scale).astype(dtype)


def tokens(count: int, dtype: Any = np.float32) -> list[Array | None]:
    """x and what the router says."""
    return [floats(count, HIDDEN, dtype=dtype), floats(count, EXPERTS, dtype=dtype)]


def plain(
    count: int = 5,
    kind: str = "relu",
    *,
    wide: bool = False,
    bias: bool = True,
    third: bool = False,
    dtype: Any = np.float32,
    note: str = "",
    **more: Any,
) -> Case:
    """A MoE; `wide` is FC1 with both halves of a gate."""
    rows = INNER * (2 if wide else 1)
    layers = [(rows, HIDDEN), (HIDDEN, INNER), *([(INNER, HIDDEN)] if third else [])]
    operands = tokens(count, dtype)
    for rows, depth in layers:
        operands += [
            floats(EXPERTS, rows, depth, scale=0.2, dtype=dtype),
            floats(EXPERTS, rows, dtype=dtype) if bias else None,
        ]
    while operands[-1] is None:
        operands.pop()
    attributes = {"k": 2, "activation_type": kind} | more
    return Case(
        "MoE",
        operands,
        attributes,
        range(2, 8),
        note=f"{count} {kind} {note}",
        tolerance=1e-5 if dtype == np.float32 else 5e-3,
    )


def quantised(
    count: int = 5,
    bits: int = 4,
    block: int = 16,
    *,
    wide: bool = True,
    zeros: bool = False,
    shares: bool = False,
    known: range = range(2, 14),
    note: str = "",
    tolerance: float = 1e-5,
    **more: Any,
) -> Case:
    operands: list[Array | None] = [*tokens(count), *[None] * 13]
    for number, (rows, depth) in enumerate([(INNER * (2 if wide else 1), HIDDEN), (HIDDEN, INNER)]):
        blocks = depth // block if block else 1
        numbers = Random.integers(0, 2**bits, (EXPERTS, rows, depth)).astype(np.uint8)
        scales = Random.uniform(0.01, 0.1, (EXPERTS, rows, blocks) if block else (EXPERTS, rows)).astype(np.float32)
        operands[2 + 3 * number] = bytes_of(numbers, bits)
        operands[3 + 3 * number] = scales / 2 ** (bits - 3)
        operands[4 + 3 * number] = floats(EXPERTS, rows)
        if zeros:
            operands[11 + number] = bytes_of(Random.integers(0, 2**bits, scales.shape).astype(np.uint8), bits)
    if shares:
        operands[14] = np.abs(floats(count, EXPERTS))
    while operands[-1] is None:
        operands.pop()
    attributes: dict[str, Any] = {"k": 2, "expert_weight_bits": bits, "weights_prepacked": 0}
    attributes |= {"activation_type": "swiglu", "swiglu_fusion": 1} if wide else {"activation_type": "silu"}
    attributes |= ({"block_size": block} if block else {}) | more
    return Case("QMoE", operands, attributes, known, note=f"{count} {bits} bits by {block} {note}", tolerance=tolerance)


GATED: dict[str, Any] = {"activation_alpha": 1.702, "activation_beta": 1.0, "swiglu_limit": 2.0}
CASES = [
    *(plain(kind=kind) for kind in ("relu", "gelu", "silu", "identity")),
    plain(kind="swiglu", wide=True, swiglu_fusion=1),
    plain(kind="swiglu", wide=True, swiglu_fusion=1, note="limited", **GATED),
    plain(count=1, bias=False, normalize_routing_weights=1, note="normalised"),
    plain(count=100, kind="silu", note="tiles"),
    plain(count=30, k=5, note="all experts"),
    plain(count=3, kind="gelu", dtype=np.float16),
    *(quantised(bits=bits) for bits in (2, 4)),
    quantised(bits=8, block=0, tolerance=1e-4),
    quantised(zeros=True, note="zero points"),
    quantised(block=0, zeros=True, note="zero points"),
    quantised(wide=False),
    quantised(count=1, k=1),
    quantised(count=70, zeros=True, note="tiles"),
    quantised(shares=True, note="shares"),
    quantised(shares=True, normalize_routing_weights=1, note="normalised shares"),
    quantised(known=range(0), note="weights that are inputs"),
    quantised(count=9, note="gated", **GATED),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=str)
def test_meaning(case: Case) -> None:
    check(case)


@pytest.mark.thinned(5)
@pytest.mark.parametrize("case", CASES, ids=str)
def test_compiled(case: Case) -> None:
    check(case, compiled=True)
