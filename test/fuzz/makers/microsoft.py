"""Operators that ONNX Runtime's optimiser writes: several of ONNX's in one, and products with packed weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from fuzz.growth import FLOATS, Growth, Maker, Misfit, Value

DOMAIN = "com.microsoft"
NARROW = (FLOATS[0], FLOATS[2])  # float32 and float16
ACTIVATIONS = ("Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSigmoid")


def single(g: Growth, rank: int | None = None) -> Value:
    """What is of 32 bits, as these operators mostly take."""
    x = g.floats(rank, least=1)
    if x.array.dtype != np.float32 or 0 in x.shape:
        raise Misfit
    return x


def narrow(g: Growth, rank: int | None = None) -> Value:
    """What is of 32 bits or 16, as some take."""
    x = g.floats(rank, least=1)
    if x.array.dtype not in NARROW or 0 in x.shape:
        raise Misfit
    return x


def gelu(g: Growth) -> None:
    x = single(g)
    match g.integer(0, 4):
        case 0:
            g.add("Gelu", x, domain=DOMAIN)
        case 1:
            g.add("QuickGelu", x, domain=DOMAIN, alpha=g.choose([1.0, 1.702]))
        case 2:
            bias = g.weight(x.shape[-1:], np.float32) if g.chance(0.5) else None
            g.add("FastGelu", x, bias, domain=DOMAIN)
        case _:
            g.add("BiasGelu", x, g.weight(x.shape[-1:], np.float32), domain=DOMAIN)


def with_bias(g: Growth) -> None:
    """A sum of three, and a softmax of a sum."""
    x = g.floats(least=2)
    if 0 in x.shape:
        raise Misfit
    if x.rank == 3 and g.chance(0.5):
        g.add("BiasAdd", x, g.weight(x.shape[-1:], x.array.dtype), g.weight(x.shape, x.array.dtype), domain=DOMAIN)
        return
    axis = g.axis(x)
    inner = g.integer(0, 2)
    from_axis = g.integer(0, axis + 1)
    shared = range(from_axis, axis) if inner else range(from_axis)
    bias = g.weight([1 if index in shared else size for index, size in enumerate(x.shape)], x.array.dtype)
    g.add("BiasSoftmax", x, bias, domain=DOMAIN, axis=g.signed(axis, x.rank), is_inner_broadcast=inner)


def product(g: Growth) -> None:
    x = single(g)
    if x.rank < 2:
        raise Misfit
    left, right = g.integer(0, 2), g.integer(0, 2)
    depth, columns = x.shape[-2 if left else -1], g.choose([1, 3, 8])
    y = g.weight([columns, depth] if right else [depth, columns], np.float32, scale=depth**-0.5)
    op = g.choose(["FusedMatMul", "FusedMatMul", "TransposeMatMul"])
    g.add(op, x, y, domain=DOMAIN, transA=left, transB=right, alpha=g.choose([1.0, 0.5]))


def _activation(g: Growth) -> tuple[str, list[float]]:
    name: str = g.choose(ACTIVATIONS)
    return name, {"LeakyRelu": [0.25], "HardSigmoid": [0.25, 0.5]}.get(name, [])


def activated_product(g: Growth) -> None:
    x = single(g, 2)
    left, right = g.integer(0, 2), g.integer(0, 2)
    rows, depth = reversed(x.shape) if left else x.shape
    columns = g.choose([1, 3, 8, 17])
    y = g.weight([columns, depth] if right else [depth, columns], np.float32, scale=depth**-0.5)
    bias = g.weight(g.choose([[columns], [rows, 1], [rows, columns], [1]]), np.float32) if g.chance(0.7) else None
    name, parameters = _activation(g)
    given: dict[str, Any] = dict(zip(("activation_alpha", "activation_beta"), parameters, strict=False))
    given |= {each: g.choose([0.5, 2.0]) for each in ("alpha", "beta") if g.chance(0.3)}
    g.add("FusedGemm", x, y, bias, domain=DOMAIN, activation=name, transA=left, transB=right, **given)


def activated_convolution(g: Growth) -> None:
    x = single(g, 4)
    kernel = [min(g.choose([1, 2, 3]), size) for size in x.shape[2:]]
    groups = g.choose([count for count in (1, 1, 2, x.shape[1]) if x.shape[1] % count == 0])
    filters = groups * g.choose([1, 2, 3])
    scale = (x.shape[1] // groups * np.prod(kernel)) ** -0.5
    weight = g.weight([filters, x.shape[1] // groups, *kernel], np.float32, scale=float(scale))
    beside = g.chance(0.4)
    bias = g.weight([filters], np.float32) if beside or g.chance(0.5) else None
    strides = [g.integer(1, 3) for _ in kernel]
    pads = [g.integer(0, size) for size in [*kernel, *kernel]]
    name, parameters = ("Relu", []) if beside else _activation(g)
    given: dict[str, Any] = {"strides": strides, "pads": pads, "group": groups, "activation": name}
    other = None
    if beside:
        sizes = zip(x.shape[2:], kernel, strides, pads[:2], pads[2:], strict=True)
        space = [(size + low + high - extent) // stride + 1 for size, extent, stride, low, high in sizes]
        other = g.weight([x.shape[0], filters, *space], np.float32)
    g.add("FusedConv", x, weight, bias, other, domain=DOMAIN, activation_params=parameters or None, **given)


def skipped(g: Growth) -> None:
    x = narrow(g, 3)
    if x.shape[-1] < 3:
        raise Misfit
    dtype = x.array.dtype
    skip, rows = g.weight(x.shape, dtype), [g.weight(x.shape[-1:], dtype) for _ in range(3)]
    if g.chance(0.4):
        g.add("SkipSimplifiedLayerNormalization", x, skip, rows[0], domain=DOMAIN, epsilon=1e-5)
    else:
        g.add("SkipLayerNormalization", x, skip, *rows[: g.integer(2, 4)], domain=DOMAIN, epsilon=1e-5)


def embedded(g: Growth) -> None:
    """Words, their places and segments as a normalised sum, and how many of them count."""
    batch, count, size = g.integer(1, 4), g.choose([1, 2, 5, 17]), g.choose([3, 4, 8, 17])
    words, segments = (g.input([batch, count], np.int32) for _ in range(2))
    words.array[...] = np.abs(words.array)
    segments.array[...] = np.abs(segments.array) % 3
    # Sums whose elements are all the same have no variance to speak of.
    tables = [g.constant(g.numbers([rows, size], np.float32)) for rows in (10, 40, 3)]
    rows = [g.weight([size], np.float32) for _ in range(2)]
    has_segments = g.chance(0.6)
    mask = g.constant(g.random.integers(0, 2, [batch, count]).astype(np.int32)) if g.chance(0.5) else None
    places = g.constant(g.random.integers(0, 40, [g.choose([1, batch]), count]).astype(np.int32))
    g.add(
        "EmbedLayerNormalization",
        words,
        segments if has_segments else None,
        *tables[:2],
        tables[2] if has_segments else None,
        *rows,
        mask,
        places if g.chance(0.4) else None,
        results=g.choose([(0, 1), (0, 1, 2)]),
        domain=DOMAIN,
        epsilon=1e-5,
    )


def _packed(g: Growth, bits: int, *shape: int) -> Value:
    """Bytes that numbers of so many bits stand in; the last size is in numbers."""
    return g.constant(g.random.integers(0, 256, [*shape[:-1], -(-shape[-1] * bits // 8)]).astype(np.uint8))


def packed_product(g: Growth) -> None:
    x = narrow(g)
    bits, block, depth = g.choose([4, 8, 2]), g.choose([16, 16, 32, 64, 128]), x.shape[-1]
    columns = g.choose([1, 3, 8, 17, 40])
    dtype, blocks = x.array.dtype, -(-depth // block)
    scales = g.constant((g.random.uniform(0.25, 1, [columns, blocks]) * 2.0**-bits).astype(dtype))
    zero = None
    if g.chance(0.5):
        floats = g.constant(g.random.uniform(0, 2**bits, [columns, blocks]).astype(dtype))
        zero = floats if g.chance(0.3) else _packed(g, bits, columns, blocks)
    bias = g.weight([columns], dtype) if g.chance(0.4) else None
    weights = _packed(g, bits, columns, blocks, block)
    places = None
    # All that ONNX Runtime has beside g_idx.
    if blocks and bits == 4 and dtype == np.float32 and zero is None and g.chance(0.2):
        places = g.constant(g.random.integers(0, blocks, [depth]).astype(np.int32))
    g.add(
        *("MatMulNBits", x, weights, scales, zero, places, bias),
        domain=DOMAIN,
        bits=bits,
        block_size=block,
        K=depth,
        N=columns,
        accuracy_level=g.choose([None, 0, 1, 4, 4]),
    )


def packed_rows(g: Growth) -> None:
    bits, block, rows, blocks = g.choose([4, 4, 8]), g.choose([16, 32]), g.integer(1, 12), g.integer(1, 4)
    scales = g.constant(g.random.uniform(0.01, 0.1, [rows, blocks]).astype(g.choose([np.float32, np.float16])))
    zero = _packed(g, bits, rows, blocks) if g.chance(0.5) else None
    places = g.input(g.shape(g.integer(0, 3)), g.choose([np.int32, np.int64]))
    places.array[...] = g.random.integers(-rows, rows, places.shape)
    table = _packed(g, bits, rows, blocks * block)
    g.add("GatherBlockQuantized", table, places, scales, zero, domain=DOMAIN, bits=bits, block_size=block)


def mixture(g: Growth) -> None:
    """MoE or QMoE, of as many experts as fit a router of its own."""
    tokens, hidden = g.integer(1, 40), g.choose([16, 32, 64])
    x = g.input([tokens, hidden], np.float32)
    experts, inner = g.integer(2, 5), g.choose([16, 64])
    router = g.input([tokens, experts], np.float32)
    router.array[...] = g.random.standard_normal(router.shape)  # of equal ones ONNX Runtime takes the last
    router.wide[...] = router.array
    kind = g.choose(["relu", "gelu", "silu", "swiglu"])
    sizes = [(inner * (1 + (kind == "swiglu")), hidden), (hidden, inner)]
    fusion = {"swiglu_fusion": 1} if kind == "swiglu" else {}
    attributes: dict[str, Any] = {"k": g.integer(1, experts), "activation_type": kind, **fusion}
    if g.chance(0.5):
        layers = [
            (
                _packed(g, 4, experts, rows, depth),
                g.constant(g.random.uniform(0.01, 0.1, [experts, rows, depth // 16]).astype(np.float32)),
                None,
            )
            for rows, depth in sizes
        ]
        attributes |= {"expert_weight_bits": 4, "block_size": 16, "weights_prepacked": 0}
        g.add("QMoE", x, router, *layers[0], *layers[1], domain=DOMAIN, **attributes)
        return
    weights = [
        (g.weight([experts, *size], np.float32, scale=size[1] ** -0.5), g.weight([experts, size[0]], np.float32))
        for size in sizes
    ]
    g.add("MoE", x, router, *weights[0], *weights[1], domain=DOMAIN, **attributes)


MAKERS: Mapping[Maker, int] = {
    gelu: 1,
    with_bias: 1,
    product: 1,
    activated_product: 1,
    activated_convolution: 1,
    skipped: 1,
    embedded: 1,
    packed_product: 1,
    packed_rows: 1,
    mixture: 1,
}
