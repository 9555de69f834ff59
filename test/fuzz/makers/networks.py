"""What networks are made of: products, convolutions, pools, norms, reductions, recurrences, attention."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from fuzz.growth import Growth, Maker, Misfit, Value

REDUCTIONS = (
    *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2", "ReduceSumSquare"),
    *("ReduceLogSumExp", "ReduceProd"),
)
EINSUMS = (
    *("ij,jk->ik", "bij,bjk->bik", "ij->ji", "ij->i", "bij->bj", "i,j->ij", "ij,ij->ij", "bhid,bhjd->bhij"),
    *("bchw,c->bchw", "ij,kj->ik", "abc->"),
)


def matmul(g: Growth) -> None:
    x = g.floats(least=1)
    depth, columns = x.shape[-1], g.choose([1, 2, 3, 5, 8, 16, 17])
    batch = g.broadcasting(x.shape[:-2]) if g.chance(0.5) else []
    if g.chance(0.15):
        g.add("MatMul", x, g.pick(lambda y: y.array.dtype == x.array.dtype and y.rank > 1 and y.shape[-2] == depth))
    elif g.chance(0.1):
        g.add("MatMul", x, g.weight([depth], x.array.dtype, scale=max(depth, 1) ** -0.5))
    else:
        g.add("MatMul", x, g.weight([*batch, depth, columns], x.array.dtype, scale=max(depth, 1) ** -0.5))


def gemm(g: Growth) -> None:
    x = g.floats(2)
    left, right = g.integer(0, 2), g.integer(0, 2)
    rows, depth = reversed(x.shape) if left else x.shape
    columns = g.choose([1, 3, 8, 17])
    weight = g.weight([columns, depth] if right else [depth, columns], x.array.dtype, scale=max(depth, 1) ** -0.5)
    shape = g.broadcasting([rows, columns], leading=False)
    bias = g.weight(shape, x.array.dtype) if g.chance(0.6) else None
    factors = {name: g.choose([0.5, 2.0]) for name in ("alpha", "beta") if g.chance(0.3)}
    if bias is None and g.opset < 11:
        raise Misfit
    g.add("Gemm", x, weight, bias, transA=left, transB=right, **factors)


def einsum(g: Growth) -> None:
    equation = g.choose(EINSUMS)
    first, *others = equation.split("->")[0].split(",")
    x = g.floats(len(first))
    if 0 in x.shape:  # ONNX Runtime dies of a sum over no elements
        raise Misfit
    sizes = dict(zip(first, x.shape, strict=True))
    shapes = [[sizes.setdefault(label, g.integer(1, 5)) for label in labels] for labels in others]
    g.add("Einsum", x, *(g.weight(shape, x.array.dtype) for shape in shapes), equation=equation)


def window(g: Growth, x: Value, kernel: Sequence[int], dilated: bool = True) -> dict[str, Any]:
    """Attributes of a window over an operand; Misfit where it is larger than that with its padding."""
    rank = x.rank - 2
    found: dict[str, Any] = {"kernel_shape": list(kernel)}
    if g.chance(0.5):
        found["strides"] = [g.integer(1, 4) for _ in range(rank)]
    dilations = [g.integer(1, 3) if dilated and g.chance(0.2) else 1 for _ in range(rank)]
    if max(dilations) > 1:
        found["dilations"] = dilations
    if g.chance(0.2):
        found["auto_pad"] = g.choose(["SAME_UPPER", "SAME_LOWER", "VALID"])
    elif g.chance(0.6):
        found["pads"] = [g.integer(0, max(size // 2, 1) + 1) if size > 1 else 0 for size in [*kernel, *kernel]]
    pads = found.get("pads", [0] * (2 * rank))
    for size, extent, dilation, low, high in zip(x.shape[2:], kernel, dilations, pads, pads[rank:], strict=False):
        if size + low + high < (extent - 1) * dilation + 1 or max(low, high) >= extent:
            raise Misfit
    return found


def image(g: Growth) -> Value:
    """A value with channels and space; 2-D mostly."""
    return g.floats(g.choose([3, 4, 4, 4, 4, 5]))


def convolution(g: Growth) -> None:
    x = image(g)
    if 0 in x.shape:
        raise Misfit
    channels = x.shape[1]
    groups = g.choose([count for count in (1, 1, 2, channels) if channels % count == 0])
    outputs = groups * g.choose([1, 2, 3, 8])
    kernel = [min(g.choose([1, 1, 2, 3, 3, 5]), size) for size in x.shape[2:]]
    scale = (channels // groups * np.prod(kernel)) ** -0.5
    weight = g.weight([outputs, channels // groups, *kernel], x.array.dtype, scale=float(scale))
    bias = g.weight([outputs], x.array.dtype) if g.chance(0.5) else None
    g.add("Conv", x, weight, bias, group=groups, **window(g, x, kernel))


def transposed(g: Growth) -> None:
    x = image(g)
    if 0 in x.shape:
        raise Misfit
    channels = x.shape[1]
    groups = g.choose([count for count in (1, 1, 2, channels) if channels % count == 0])
    kernel = [g.choose([1, 2, 3]) for _ in x.shape[2:]]
    weight = g.weight([channels, g.integer(1, 4), *kernel], x.array.dtype, scale=0.5)
    strides = [g.integer(1, 3) for _ in kernel]
    extra = [g.integer(0, stride) for stride in strides] if g.chance(0.3) else None
    pads = [g.integer(0, (size + 1) // 2) for size in [*kernel, *kernel]] if g.chance(0.4) else None
    # With groups, onnx.reference adds the bias of the first group to all.
    bias = g.weight([weight.shape[1]], x.array.dtype) if groups == 1 and g.chance(0.4) else None
    g.add("ConvTranspose", x, weight, bias, group=groups, strides=strides, output_padding=extra, pads=pads)


def pool(g: Growth) -> None:
    x = image(g)
    kernel = [min(g.integer(1, 4), size) for size in x.shape[2:]]
    if 0 in x.shape:
        raise Misfit
    op = g.choose(["MaxPool", "AveragePool", "LpPool"])
    given = window(g, x, kernel, dilated=g.has(op, "dilations") and op == "MaxPool")
    gaps = any(stride > size for stride, size in zip(given.get("strides", ()), kernel, strict=False))
    if gaps and "SAME" in given.get("auto_pad", ""):  # negative padding: all peers differ from each other
        raise Misfit
    if g.has(op, "ceil_mode") and op != "LpPool" and g.chance(0.25):
        given["ceil_mode"] = 1
    if op == "AveragePool" and g.chance(0.4):
        given["count_include_pad"] = 1
    if op == "LpPool":
        given["p"] = g.integer(1, 4)
    g.add(op, x, moves=op == "MaxPool", **given)


def global_pool(g: Growth) -> None:
    op = g.choose(["GlobalAveragePool", "GlobalMaxPool"])
    x = g.floats(4) if op == "GlobalMaxPool" else image(g)  # onnx.reference takes other maxima for other ranks
    g.add(op, x, moves=op == "GlobalMaxPool")


def neighbours(g: Growth) -> None:
    g.add("LRN", g.floats(4), size=g.choose([1, 3, 5]), alpha=0.1, beta=0.75, bias=1.0)


def resize(g: Growth) -> None:
    x = g.floats(4)
    if g.opset < 11:
        raise Misfit
    scales = [1.0, 1.0, *(g.choose([0.5, 1.0, 1.5, 2.0, 3.0]) for _ in range(2))]
    mode = g.choose(["nearest", "linear", "linear", "cubic"])
    if mode != "nearest" and x.array.dtype == np.float64:  # onnx.reference has positions in float32 only
        raise Misfit
    sizes = [int(np.floor(size * scale)) for size, scale in zip(x.shape, scales, strict=True)]
    if 0 in sizes:
        raise Misfit
    given: dict[str, Any] = {
        "mode": mode,
        "coordinate_transformation_mode": g.choose(["half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"]),
        "nearest_mode": g.choose(["round_prefer_floor", "floor", "ceil", "round_prefer_ceil"])
        if mode == "nearest"
        else None,
        "antialias": 1 if mode != "nearest" and g.has("Resize", "antialias") and g.chance(0.2) else None,
    }
    roi = None if g.opset >= 13 else g.constant(np.zeros(0, np.float32))
    if g.chance(0.7):
        g.add("Resize", x, roi, g.constant(np.array(scales, np.float32)), moves=mode == "nearest", **given)
    else:
        none = None if g.opset >= 13 else g.constant(np.zeros(0, np.float32))
        g.add("Resize", x, roi, none, g.constant(sizes), moves=mode == "nearest", **given)


def reduce(g: Growth) -> None:
    x = g.floats()
    op = g.choose(REDUCTIONS)
    axes = [axis for axis in range(x.rank) if g.chance(0.5)]
    if op in ("ReduceMax", "ReduceMin", "ReduceLogSumExp", "ReduceMean") and 0 in x.shape:
        raise Misfit
    keep, moves = g.integer(0, 2), op in ("ReduceMax", "ReduceMin")
    signed = [g.signed(axis, x.rank) for axis in axes] if g.opset >= 11 else axes
    if not axes:
        g.add(op, x, moves=moves, keepdims=keep)
    elif g.takes(op, "axes"):
        g.add(op, x, g.constant(signed), moves=moves, keepdims=keep)
    else:
        g.add(op, x, moves=moves, keepdims=keep, axes=signed)


def extremum(g: Growth) -> None:
    x = g.floats(least=1, exact=True)
    if 0 in x.shape:
        raise Misfit
    op = g.choose(["ArgMax", "ArgMin"])
    last = g.integer(0, 2) if g.has(op, "select_last_index") else None
    g.add(op, x, axis=g.axis(x), keepdims=g.integer(0, 2), select_last_index=last)


def top_k(g: Growth) -> None:
    x = g.floats(least=1, exact=True)
    axis = g.axis(x)
    if 0 in x.shape or g.opset < 10:
        raise Misfit
    largest = g.integer(0, 2) if g.has("TopK", "largest") else None
    k = g.constant([g.integer(1, x.shape[axis] + 1)])
    g.add("TopK", x, k, results=2, moves=True, axis=axis, largest=largest)


def cumulative(g: Growth) -> None:
    x = g.floats(least=1)
    axis = g.constant(np.array(g.signed(g.axis(x), x.rank)))
    g.add("CumSum", x, axis, exclusive=g.integer(0, 2), reverse=g.integer(0, 2))


def softmax(g: Growth) -> None:
    x = g.floats(least=1)
    op = g.choose(["Softmax", "Softmax", "LogSoftmax"])
    # Before opset 13 all axes from this one on are one, except for onnx.reference: the last one is alone anyway.
    g.add(op, x, axis=g.signed(g.axis(x), x.rank) if g.opset >= 13 else x.rank - 1)


def batch_norm(g: Growth) -> None:
    x = g.floats(least=2)
    channels = [x.shape[1]]
    scale, bias, mean = (g.weight(channels, x.array.dtype) for _ in range(3))
    variance = g.constant((0.5 + g.random.random(channels)).astype(x.array.dtype))
    # Before opset 14, onnx.reference takes another epsilon where none is given.
    g.add("BatchNormalization", x, scale, bias, mean, variance, epsilon=1e-3 if g.opset < 14 or g.chance(0.5) else None)


def layer_norm(g: Growth) -> None:
    x = g.floats(least=1)
    axis = g.axis(x)
    if np.prod(x.shape[axis:]) < 3:
        raise Misfit  # the variance of so few may be next to nothing
    scale = g.weight(g.broadcasting(x.shape[axis:], leading=False), x.array.dtype)
    op = g.choose(["LayerNormalization", "RMSNormalization"])
    bias = (
        g.weight(g.broadcasting(x.shape[axis:], leading=False), x.array.dtype)
        if op == "LayerNormalization" and g.chance(0.6)
        else None
    )
    g.add(op, x, scale, bias, axis=g.signed(axis, x.rank))


def other_norm(g: Growth) -> None:
    x = g.floats(least=3)
    if np.prod(x.shape[2:]) < 3:
        raise Misfit
    match g.integer(0, 3):
        case 0:
            scale, bias = (g.weight([x.shape[1]], x.array.dtype) for _ in range(2))
            g.add("InstanceNormalization", x, scale, bias)
        case 1:
            groups = g.choose([count for count in (1, 2, 4) if x.shape[1] % count == 0])
            sizes = [groups if g.opset < 21 else x.shape[1]]
            scale, bias = (g.weight(sizes, x.array.dtype) for _ in range(2))
            wide = 11 if g.opset >= 21 and x.array.dtype == np.float64 else None  # else it is computed in float32
            g.add("GroupNormalization", x, scale, bias, num_groups=groups, stash_type=wide)
        case _:
            g.add("LpNormalization", x, axis=g.axis(x), p=g.integer(1, 3))


def residual(g: Growth) -> None:
    """x + f(x), which may be done in place."""
    x = g.floats(least=2)
    y = g.add(
        g.choose(["Tanh", "Relu", "Sigmoid"]), g.add("MatMul", x, g.weight([x.shape[-1]] * 2, x.array.dtype, 0.3))
    )
    g.add("Add", x, y)


def attention(g: Growth) -> None:
    """Softmax of a product of queries and keys, times the values."""
    q = g.floats(g.choose([3, 4]))
    keys, depth = g.choose([1, 3, 8, 17]), q.shape[-1]
    k = g.weight([*q.shape[:-2], keys, depth], q.array.dtype)
    v = g.weight([*q.shape[:-2], keys, g.choose([1, 4, 8])], q.array.dtype)
    order = [*range(q.rank - 2), q.rank - 1, q.rank - 2]
    scores = g.add("MatMul", q, g.add("Transpose", k, perm=order, moves=True))
    scores = g.add("Mul", scores, g.operand(np.array(max(depth, 1) ** -0.5, q.array.dtype)))
    if g.chance(0.4):
        scores = g.add("Add", scores, g.weight(g.broadcasting(scores.shape, leading=False), q.array.dtype))
    g.add("MatMul", g.add("Softmax", scores, axis=-1 if g.opset >= 13 else q.rank - 1), v)


def attention_operator(g: Growth) -> None:
    """Attention as one operator: heads that share keys, a past or a cache with lengths, masks, capped scores."""
    q = g.floats(4)
    g.schema("Attention")
    if 0 in q.shape:
        raise Misfit
    batch, heads, rows, size = q.shape
    groups = g.choose([count for count in (1, 2, 3, heads) if heads % count == 0])
    keys, width, before = g.choose([1, 3, 8, 17]), g.choose([1, 4, 8]), g.choose([0, 0, 2])
    k, v = (g.weight([batch, groups, keys, each], q.array.dtype) for each in (size, width))
    past = [g.weight([batch, groups, before, each], q.array.dtype) if before else None for each in (size, width)]
    shape, mask = [*g.broadcasting([batch, heads, rows], leading=False), before + keys], None
    if g.chance(0.5):
        mask = g.constant(g.numbers(shape, np.bool_)) if g.chance(0.5) else g.weight(shape, q.array.dtype)
    operands = [q, k, v, mask, *past]
    if g.opset >= 24 and not before and g.chance(0.4):
        operands.append(g.constant(g.random.integers(0, keys + 1, batch).astype(np.int64)))
    # Of rows that share a mask, onnx.reference takes the first one's keys for all where lengths tell where rows are.
    cap, causal = g.choose([None, None, 1.5]), 0 if rows == 1 else g.integer(0, 2)
    g.add("Attention", *operands, results=3 if before else 1, softcap=cap, is_causal=causal)


def cache(g: Growth) -> None:
    """A cache of keys or values that a piece is written into, each batch entry's from a place of its own on."""
    x = g.floats(least=2)
    if 0 in x.shape:
        raise Misfit
    axis = g.integer(1, x.rank)
    count = g.integer(1, x.shape[axis] + 1)
    piece = g.weight([*x.shape[:axis], count, *x.shape[axis + 1 :]], x.array.dtype)
    mode = g.choose(["linear", "circular"])
    most = x.shape[axis] - count + 1 if mode == "linear" else 2 * x.shape[axis]
    first = g.constant(g.random.integers(0, most, x.shape[0]).astype(np.int64)) if g.chance(0.8) else None
    g.add("TensorScatter", x, piece, first, moves=True, axis=axis, mode=mode)


def recurrence(g: Growth) -> None:
    x = g.floats(3)
    if 0 in x.shape:
        raise Misfit
    op, gates = g.choose([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    direction = g.choose(["forward", "forward", "reverse", "bidirectional"])
    ways, hidden = 1 + (direction == "bidirectional"), g.choose([1, 3, 4, 8])
    weights = g.weight([ways, gates * hidden, x.shape[2]], x.array.dtype, 0.3)
    recurrent = g.weight([ways, gates * hidden, hidden], x.array.dtype, 0.3)
    bias = g.weight([ways, 2 * gates * hidden], x.array.dtype, 0.3) if g.chance(0.6) else None
    linear = g.integer(0, 2) if op == "GRU" else None
    initial = g.weight([ways, x.shape[1], hidden], x.array.dtype) if g.chance(0.3) else None
    options: dict[str, Any] = {"hidden_size": hidden, "direction": direction, "linear_before_reset": linear}
    g.add(op, x, weights, recurrent, bias, None, initial, **options)


def quantized(g: Growth) -> None:
    x = g.floats(exact=True)
    if x.array.dtype != np.float32:
        raise Misfit
    axis = g.axis(x) if g.opset >= 13 and x.rank and g.chance(0.4) else None
    shape = () if axis is None else x.shape[axis]
    zero = g.operand(np.full(shape, g.integer(0, 5), g.choose([np.int8, np.uint8])))
    scale = g.operand(np.asarray(g.random.choice([0.25, 0.5, 2.0], shape)).astype(np.float32))
    levels = g.add("QuantizeLinear", x, scale, zero, moves=True, axis=axis)
    g.add("DequantizeLinear", levels, scale, zero, moves=True, axis=axis)


MAKERS: Mapping[Maker, int] = {
    matmul: 6,
    gemm: 3,
    einsum: 1,
    convolution: 6,
    transposed: 2,
    pool: 3,
    global_pool: 1,
    neighbours: 1,
    resize: 2,
    reduce: 5,
    top_k: 1,
    extremum: 1,
    cumulative: 1,
    softmax: 3,
    batch_norm: 2,
    layer_norm: 3,
    other_norm: 2,
    residual: 2,
    attention_operator: 2,
    cache: 1,
    attention: 2,
    recurrence: 1,
    quantized: 1,
}
