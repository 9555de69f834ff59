"""Attention as ONNX Runtime's optimiser writes it: with projections, masks, caches and rotated pairs inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from fuzz.growth import Growth, Maker, Value
from fuzz.makers.microsoft import DOMAIN, NARROW, narrow, single
from fuzz.makers.microsoft_quantised import known, numbers

from mini_infer.dialects.graph.values import Array


def _mask(g: Growth, batch: int, rows: int, keys: int, causal: int) -> Value | None:
    """Which keys count: by their number, their ends and beginnings, one by one, for all rows or each.

    Every row keeps a key: where none is left, all are as good, but for what a large number beside them rounds away.
    """
    lengths = g.random.integers(1, keys + 1, batch)
    match g.integer(0, 5):
        case 0:
            found = lengths
        case 1:
            found = np.concatenate([lengths, lengths * 0 if causal else g.random.integers(0, lengths)])
        case 2:
            found = g.random.integers(0, 2, [batch, keys])
            found[:, 0] = 1
        case 3:
            found = g.random.integers(0, 2, [batch, rows, keys])
            found[:, :, 0] = 1
        case _:
            return None
    return g.constant(np.asarray(found, np.int32))


def _heads(g: Growth, size: int) -> int:
    return g.choose([count for count in (1, 2, 3, 4, size) if size % count == 0])


def many_heads(g: Growth) -> None:
    q = narrow(g, 3)
    batch, rows, width = q.shape
    dtype, heads = q.array.dtype, _heads(g, width)
    keys, before = g.choose([1, 3, 8, 17, rows, rows]), g.choose([0, 0, 1, 4])
    other = before or g.chance(0.2)  # where ONNX Runtime takes values of no other size than keys
    size = width // heads if other else g.choose([1, 4, 8])
    shapes = [batch, keys, width], [batch, keys, heads * size]
    if other and not before:  # of another attention, which has split them
        shapes = [batch, heads, keys, width // heads], [batch, heads, keys, size]
    k, v = (g.weight(shape, dtype) for shape in shapes)
    bias = g.weight([2 * width + heads * size], dtype) if k.rank == 3 and g.chance(0.4) else None
    past = [g.weight([batch, heads, before, each], dtype) if before else None for each in (width // heads, size)]
    total = before + keys
    scores = g.weight([g.choose([1, batch]), g.choose([1, heads]), rows, total], dtype) if g.chance(0.4) else None
    causal = g.integer(0, 2) if keys == rows else 0
    g.is_fixed |= bool(causal)  # with more or fewer keys than rows, ONNX Runtime's last row has all of them
    g.add(
        *("MultiHeadAttention", q, k, v, bias, _mask(g, batch, rows, total, causal), scores, *past),
        results=3 if before or (k.rank == 3 and g.chance(0.3)) else 1,
        domain=DOMAIN,
        num_heads=heads,
        scale=g.choose([None, None, 0.25]),
        unidirectional=causal,
        mask_filter_value=g.choose([None, -1000.0]),
    )


def self_attention(g: Growth) -> None:
    """With the products that make queries, keys and values of one operand."""
    x = single(g, 3)
    batch, rows, width = x.shape
    heads, size, own = g.integer(1, 4), g.choose([1, 2, 4, 8]), g.choose([1, 2, 4])
    sizes = [heads * size, heads * size, heads * (own if g.chance(0.4) else size)]
    before = g.choose([0, 0, 1, 4]) if sizes[0] == sizes[2] else 0
    weight, bias = g.weight([width, sum(sizes)], np.float32, scale=width**-0.5), g.weight([sum(sizes)], np.float32)
    past = g.weight([2, batch, heads, before, size], np.float32) if before else None
    keys = before + rows
    scores = g.weight([batch, heads, rows, keys], np.float32) if g.chance(0.3) else None
    options: dict[str, Any] = {"qkv_hidden_sizes": sizes if sizes[0] != sizes[2] or g.chance(0.3) else None}
    causal = g.integer(0, 2)
    options |= {"unidirectional": causal, "scale": g.choose([None, None, 0.25]), "num_heads": heads}
    operands = [x, weight, bias, _mask(g, batch, rows, keys, causal), past, scores]
    g.add("Attention", *operands, results=2 if before else 1, domain=DOMAIN, **options)


def quantised_attention(g: Growth) -> None:
    batch, rows, width = g.integer(1, 4), g.choose([1, 2, 5, 9]), g.choose([1, 4, 8])
    heads, size, kind = g.integer(1, 4), g.choose([1, 2, 4, 8]), g.choose([np.uint8, np.int8])
    x, weight = numbers(g, [batch, rows, width], np.uint8), known(g, [width, 3 * heads * size], kind)
    bias = g.weight([3 * heads * size], np.float32)
    scales = [g.constant(np.array(value, np.float32)) for value in (0.01, 0.02)]
    zeros = [g.constant(np.array(99, np.uint8)), g.constant(np.array(0, kind))] if g.chance(0.7) else []
    causal = g.integer(0, 2)
    mask = _mask(g, batch, rows, rows, causal)
    operands = [x, weight, bias, *scales, mask, *zeros]
    g.add("QAttention", *operands, domain=DOMAIN, num_heads=heads, unidirectional=causal)


def rotated(g: Growth) -> None:
    x = narrow(g, g.choose([3, 4]))
    batch, rows = x.shape[0], x.shape[-2]
    heads = g.choose([count for count in (1, 2, 3) if x.shape[2] % count == 0]) if x.rank == 3 else x.shape[1]
    size = x.shape[2] // heads if x.rank == 3 else x.shape[3]
    turned: int = g.choose([even for even in range(2, size + 1, 2) if even == size or g.chance(0.2)])
    tables = [
        g.constant(each(g.random.uniform(0, 3, [50, turned // 2])).astype(x.array.dtype)) for each in (np.cos, np.sin)
    ]
    places = g.random.integers(0, 50, [batch, rows]) if g.chance(0.6) else g.random.integers(0, 50 - rows, 1)
    options: dict[str, Any] = {"num_heads": heads, "rotary_embedding_dim": turned} if turned != size else {}
    if not options:
        g.is_fixed = True  # ONNX Runtime doesn't look whether tables fit heads of another size
        options = {"num_heads": heads} if x.rank == 3 and g.chance(0.5) else {}
    g.add("RotaryEmbedding", x, g.constant(places), *tables, domain=DOMAIN, interleaved=g.integer(0, 2), **options)


def _told(g: Growth, array: Array) -> Value:
    """Numbers that are known, or are given in a run."""
    if g.chance(0.5):
        return g.constant(array)
    value = g.input(array.shape, array.dtype)
    value.array[...] = array
    return value


def grouped(g: Growth) -> None:
    """Heads that share keys, in a cache that each batch entry has filled up to a place of its own."""
    dtype = g.dtype if g.dtype in NARROW else np.dtype(np.float32)
    batch, groups, size = g.integer(1, 4), g.integer(1, 4), g.choose([8, 16, 16])
    heads = groups * g.integer(1, 4)
    before = g.choose([0, 0, 1, 4, 9])
    rows = g.choose([1, 1, 2, 3]) if before else g.choose([1, 3, 8])
    if before and rows > 1:
        batch = 1  # ONNX Runtime adds many rows to one cache at a time
    room = before + rows + g.choose([0, 0, 3]) if before else 0
    last = np.full(batch, before + rows - 1)
    if rows == 1 and before:
        last -= g.random.integers(0, before + 1, batch)
        last[0] = before
    sizes = [heads * size, groups * size, groups * size]
    packed = g.chance(0.4)
    first = [g.weight([batch, rows, each], dtype) for each in ([sum(sizes)] if packed else sizes)]
    caches: list[Value] = []
    for _ in range(2):
        cache = g.numbers([batch, groups, room, size], dtype)
        for entry, at in zip(cache, last, strict=True):
            entry[:, at + 1 - rows :] = 0  # ONNX Runtime makes zeros of what has no meaning
        caches.append(g.constant(cache))
    turned = g.chance(0.5)
    angles = g.random.uniform(0, 3, [32, size // 2])
    tables = [g.constant(each(angles).astype(dtype)) for each in (np.cos, np.sin)] if turned else [None, None]
    scores = g.weight([1, 1, rows, before + rows], dtype) if room == before + rows and g.chance(0.2) else None
    lengths = [_told(g, last.astype(np.int32)), _told(g, np.array(before + rows, np.int32))]
    g.is_fixed = True  # lengths and places are those of these sizes
    g.add(
        *("GroupQueryAttention", first[0], *(first[1:] or [None, None]), *(caches if room else [None, None])),
        *(*lengths, *tables, None, scores),
        results=3,
        domain=DOMAIN,
        num_heads=heads,
        kv_num_heads=groups,
        do_rotary=int(turned),
        rotary_interleaved=g.integer(0, 2) if turned else None,
        local_window_size=g.choose([None, None, 1, 3]),
        softcap=g.choose([None, None, 2.0]),
        scale=g.choose([None, None, 0.3]),
    )


MAKERS: Mapping[Maker, int] = {
    many_heads: 2,
    self_attention: 2,
    quantised_attention: 1,
    rotated: 1,
    grouped: 2,
}
