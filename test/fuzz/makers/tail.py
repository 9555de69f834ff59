"""The long tail: what few networks have, integers of quantised products, losses, windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from fuzz.growth import FLOATS, Growth, Maker, Misfit, Value, onnx_type
from onnx import TensorProto, helper, numpy_helper


def like(g: Growth) -> None:
    x, y = g.floats(exact=True), g.pick(lambda value: value.array.dtype in (*FLOATS[:3], np.dtype(np.int32)))
    g.add("CastLike", x, y, moves=y.array.dtype.itemsize >= x.array.dtype.itemsize)


def bits(g: Growth) -> None:
    """The same bits as an integer, changed in the last places, and as a float again."""
    x = g.floats(exact=True)
    if x.array.dtype != np.float32:
        raise Misfit
    last = g.constant(np.array(1, np.int32))
    g.chain(
        [
            helper.make_node("BitCast", [x.name], ["i"], to=TensorProto.INT32),
            helper.make_node("BitwiseXor", ["i", last.name], ["j"]),
            helper.make_node("BitCast", ["j"], ["y"], to=TensorProto.FLOAT),
        ],
        [x, last],
    )


def dropped(g: Growth) -> None:
    """Dropout, which does nothing but tell so."""
    x = g.floats()
    g.add("Dropout", x, results=1, moves=True)


def running_product(g: Growth) -> None:
    x = g.add("Tanh", g.floats(least=1))
    axis = g.constant(np.array(g.signed(g.axis(x), x.rank)))
    g.add("CumProd", x, axis, exclusive=g.integer(0, 2), reverse=g.integer(0, 2))


def standardised(g: Growth) -> None:
    x = g.floats(4)
    axes: list[int] = g.choose([[0, 2, 3], [2, 3], [1]])
    if np.prod([x.shape[axis] for axis in axes]) < 3:
        raise Misfit
    g.add("MeanVarianceNormalization", x, axes=axes)


def log_sum(g: Growth) -> None:
    x = g.add("Add", g.add("Abs", g.floats(least=1), moves=True), g.constant(np.array(0.5, g.dtype)))
    if 0 in x.shape:
        raise Misfit
    axis = g.axis(x)
    if g.takes("ReduceLogSum", "axes"):
        g.add("ReduceLogSum", x, g.constant([axis]), keepdims=g.integer(0, 2))
    else:
        g.add("ReduceLogSum", x, axes=[axis], keepdims=g.integer(0, 2))


def norm_pool(g: Growth) -> None:
    g.add("GlobalLpPool", g.floats(4), p=g.integer(1, 4))


def window(g: Growth) -> None:
    """A window of known length that weighs the last dimension."""
    x = g.floats(least=1)
    size = g.constant(np.array(x.shape[-1]))
    kind = onnx_type(x.array.dtype)
    made = g.add(
        g.choose(["HannWindow", "HammingWindow", "BlackmanWindow"]),
        size,
        periodic=g.integer(0, 2),
        output_datatype=TensorProto.FLOAT,  # what ONNX defines it by, whatever it is rounded to
    )
    # Blackman's ends are 0 but for rounding: that is kept from what divides by it.
    made = g.add("Add", made, g.constant(np.array(1, np.float32)))
    g.add("Mul", x, made if made.array.dtype == x.array.dtype else g.add("Cast", made, to=kind))


def spectra(g: Growth) -> None:
    """Transforms of pieces of a signal."""
    x = g.floats(2)
    if 0 in x.shape or x.shape[1] < 4:
        raise Misfit
    length = g.integer(2, x.shape[1] + 1)
    signal = g.add("Unsqueeze", x, g.constant([2]), moves=True)
    weights = g.constant(g.random.random(length).astype(x.array.dtype)) if g.chance(0.5) else None
    frame = None if weights is not None else g.constant(np.array(length))
    g.add("STFT", signal, g.constant(np.array(g.integer(1, 4))), weights, frame, onesided=g.integer(0, 2))


def loss(g: Growth) -> None:
    x = g.floats(g.choose([2, 3, 4]))
    if 0 in x.shape:
        raise Misfit
    classes = x.shape[1]
    labels = g.constant(g.random.integers(0, classes, [x.shape[0], *x.shape[2:]]))
    weight = g.constant((0.5 + g.random.random(classes)).astype(x.array.dtype)) if g.chance(0.4) else None
    given: dict[str, Any] = {"reduction": g.choose(["none", "sum", "mean"])}
    if g.chance(0.3):
        given["ignore_index"] = int(labels.array.flat[0])
    g.add(g.choose(["NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss"]), x, labels, weight, **given)


def rotated(g: Growth) -> None:
    x = g.floats(4)
    if 0 in x.shape or x.shape[3] % 2:
        raise Misfit
    batch, _, rows, size = x.shape
    known = g.chance(0.5)
    shape = [9, size // 2] if known else [batch, rows, size // 2]
    tables = [g.weight(shape, x.array.dtype) for _ in range(2)]
    where = g.constant(g.random.integers(0, 9, [batch, rows])) if known else None
    g.add("RotaryEmbedding", x, *tables, where, interleaved=g.integer(0, 2))


def gated(g: Growth) -> None:
    """A product with a function of another."""
    x = g.floats()
    g.add("SwiGLU", x, g.weight(x.shape, x.array.dtype), alpha=g.choose([None, 0.5, 2.0]))


def linear_attention(g: Growth) -> None:
    x = g.floats(3)
    if 0 in x.shape or x.array.dtype != np.float32:
        raise Misfit
    batch, rows, _ = x.shape
    heads, size, width = g.integer(1, 3), g.choose([2, 4]), g.choose([2, 3])
    q, k = (g.weight([batch, rows, heads * size], x.array.dtype, scale=0.3) for _ in range(2))
    v = g.weight([batch, rows, heads * width], x.array.dtype)
    g.add("LinearAttention", q, k, v, results=2, q_num_heads=heads, kv_num_heads=heads, update_rule="linear")


def causal(g: Growth) -> None:
    x = g.floats(3)
    if 0 in x.shape:
        raise Misfit
    taps = g.integer(1, 5)
    weight = g.weight([x.shape[1], 1, taps], x.array.dtype, scale=0.5)
    bias = g.weight([x.shape[1]], x.array.dtype) if g.chance(0.5) else None
    past = g.weight([x.shape[0], x.shape[1], taps - 1], x.array.dtype) if taps > 1 and g.chance(0.5) else None
    g.add("CausalConvWithState", x, weight, bias, past, results=2, activation=g.choose(["none", "silu"]))


def integer_product(g: Growth) -> None:
    """Products of bytes, whose sums are exact."""
    signed = g.choose([np.int8, np.uint8])
    rows, depth, columns = (g.choose([1, 3, 8, 17]) for _ in range(3))
    a, b = g.input([*g.shape(g.integer(0, 2)), rows, depth], np.uint8), g.weight([depth, columns], signed)
    zeros = [g.constant(np.array(3, np.uint8)), g.constant(np.array(2, signed))] if g.chance(0.6) else []
    g.add("MatMulInteger", a, b, *zeros)


def integer_convolution(g: Growth) -> None:
    x = g.input([g.integer(1, 3), g.choose([1, 2, 4]), g.choose([4, 7]), g.choose([4, 9])], np.uint8)
    kernel = g.weight([g.choose([1, 3, 8]), x.shape[1], g.integer(1, 4), g.integer(1, 4)], np.uint8)
    zeros = [g.constant(np.array(3, np.uint8))] if g.chance(0.6) else []
    g.add("ConvInteger", x, kernel, *zeros, pads=g.choose([None, [0, 1, 1, 0]]))


def _scale(g: Growth, *shape: int) -> Value:
    """Powers of two, so that every implementation rounds the same number.

    Zero points of results are even, for onnx.reference rounds what they are part of already.
    """
    return g.constant(np.asarray(2.0 ** g.random.integers(-4, 1, shape)).astype(np.float32))


def quantised_product(g: Growth) -> None:
    kind = g.choose([np.uint8, np.int8])
    rows, depth, columns = (g.choose([1, 3, 8, 17]) for _ in range(3))
    a, b = g.input([rows, depth], kind), g.weight([depth, columns], kind)
    zero = [g.constant(np.array(g.choose([0, 2, 4]), kind)) for _ in range(3)]
    g.add("QLinearMatMul", a, _scale(g), zero[0], b, _scale(g), zero[1], _scale(g), zero[2])


def quantised_convolution(g: Growth) -> None:
    kind = g.choose([np.uint8, np.int8])
    x = g.input([1, g.choose([1, 2, 4]), g.choose([4, 7]), g.choose([4, 9])], kind)
    filters = g.choose([1, 3, 8])
    kernel = g.weight([filters, x.shape[1], g.integer(1, 4), g.integer(1, 4)], kind)
    bias = g.weight([filters], np.int32) if g.chance(0.5) else None
    each = (filters,) if g.chance(0.5) else ()
    zero = [g.constant(np.array(g.choose([0, 2, 4]), kind)) for _ in range(2)]
    none = g.constant(np.zeros(each, kind))
    g.add("QLinearConv", x, _scale(g), zero[0], kernel, _scale(g, *each), none, _scale(g), zero[1], bias)


def between_levels(g: Growth) -> None:
    """Products and functions between steps of quantisation, as quantisers write them."""
    x = g.floats(exact=True, least=2)
    if x.array.dtype != np.float32 or 0 in x.shape or g.opset < 13:
        raise Misfit
    zero, scale = g.constant(np.array(g.integer(0, 5), np.uint8)), g.constant(np.array(0.0625, np.float32))
    levels = g.add("QuantizeLinear", x, scale, zero, moves=True)
    found = g.add("DequantizeLinear", levels, scale, zero, moves=True)
    columns = g.choose([1, 3, 8, 17])
    weights = g.constant(g.numbers([x.shape[-1], columns], np.int8))
    each = (columns,) if g.chance(0.5) else ()
    axis = 1 if each else None
    kernel = g.add("DequantizeLinear", weights, _scale(g, *each), g.constant(np.zeros(each, np.int8)), axis=axis)
    made = g.add("MatMul", found, kernel)
    if g.chance(0.5):
        g.add("Relu", made)


def blocks(g: Growth) -> None:
    """Weights of 4 or 8 bits with a scale for each block."""
    if g.opset < 21:
        raise Misfit
    rows, columns, size = 2 * g.integer(1, 5), g.choose([3, 8]), 2
    kind = g.choose([TensorProto.INT4, TensorProto.UINT4, TensorProto.INT8])
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    low = 0 if kind == TensorProto.UINT4 else -7
    packed = g.constant(g.random.integers(low, 8, [rows, columns]).astype(dtype))
    scale = _scale(g, rows // size, columns)
    x = g.add("DequantizeLinear", packed, scale, axis=0, block_size=size)
    y = g.input([g.choose([1, 3, 8]), rows], np.float32)
    g.add("MatMul", y, x)


def own_range(g: Growth) -> None:
    """Bytes by the range of what is there, and the numbers that they stand for."""
    x = g.floats(exact=True)
    g.schema("DynamicQuantizeLinear")
    if x.array.dtype != np.float32 or not x.array.size:
        raise Misfit
    levels = g.add("DynamicQuantizeLinear", x, results=3)
    if g.chance(0.6):
        scale, zero = g.values[-2:]
        g.add("DequantizeLinear", levels, scale, zero)


def mel_scale(g: Growth) -> None:
    """A spectrum's bands as hearing has them."""
    if g.opset < 17:
        raise Misfit
    bands, length, rate = g.integer(1, 9), g.choose([8, 16, 31, 64]), g.choose([4000, 8000, 16000])
    low = g.choose([0.0, 20.0, 125.0])
    high = low + g.random.uniform(0.2, 0.9) * (rate / 2 - low)
    kinds = [g.choose([np.int32, np.int64])] * 3 + [np.float32] * 2
    given = zip((bands, length, rate, low, high), kinds, strict=True)
    operands = [g.constant(np.array(number, kind)) for number, kind in given]
    weights = g.add("MelWeightMatrix", *operands, output_datatype=onnx_type(g.dtype))
    rows = g.weight([*g.shape(g.integer(0, 2)), g.integer(1, 5), length // 2 + 1], weights.array.dtype)
    g.add("MatMul", rows, weights)


def counted_runs(g: Growth) -> None:
    """How often runs of numbers are in rows of numbers, with others between them."""
    if g.opset < 9:
        raise Misfit
    x = g.input([*g.shape(g.integer(0, 2))[:1], g.integer(3, 12)], g.choose([np.int32, np.int64]))
    x.array[...] = g.random.integers(0, 4, x.shape)
    longest = g.integer(1, 4)
    pool, starts, count = list[int](), list[int](), 0
    for length in range(1, longest + 1):
        runs = [divmod(int(each), 16) for each in g.random.choice(4**length, min(g.integer(1, 5), 4), replace=False)]
        starts.append(len(pool))
        pool += [int(digit) for high, low in runs for digit in np.base_repr(16 * high + low, 4).zfill(length)]
        count += len(runs)
    places = [int(each) for each in g.random.permutation(count + g.integer(0, 3))[:count]]
    weights = [g.integer(1, 9) / 4 for _ in range(count)] if g.chance(0.6) else None
    options: dict[str, Any] = {"max_gram_length": longest, "max_skip_count": g.integer(0, 4), "weights": weights}
    counter = helper.make_node(
        "TfIdfVectorizer",
        [x.name],
        ["t"],
        mode=g.choose(["TF", "IDF", "TFIDF"]),
        min_gram_length=g.integer(1, longest + 1),
        pool_int64s=pool,
        ngram_counts=starts,
        ngram_indexes=places,
        **{name: value for name, value in options.items() if value is not None},
    )
    g.chain([counter, helper.make_node("Cast", ["t"], ["y"], to=onnx_type(g.dtype))], [x])  # floats of the graph's kind


def flexible(g: Growth) -> None:
    """Attention with graphs of its own that change scores and weights."""
    q = g.floats(4)
    if 0 in q.shape or g.opset < 24:
        raise Misfit
    batch, heads, _, size = q.shape
    groups = g.choose([count for count in (1, 2, heads) if heads % count == 0])
    keys = g.choose([1, 3, 8, 17])
    k, v = (g.weight([batch, groups, keys, each], q.array.dtype) for each in (size, g.choose([1, 4, 8])))
    kind: Any = TensorProto.DOUBLE if q.array.dtype == np.float64 else TensorProto.FLOAT
    changes: dict[str, Any] = {}
    for name, ops in (("score_mod", ("Tanh", "Neg", "Sigmoid")), ("prob_mod", ("Sqrt", "Abs", "Tanh"))):
        if g.chance(0.5):
            inside, outside = (helper.make_tensor_value_info(each, kind, [None] * 4) for each in ("s", "t"))
            changes[name] = helper.make_graph(
                [helper.make_node(g.choose(ops), ["s"], ["t"])], name, [inside], [outside]
            )
    known = None if kind == TensorProto.FLOAT else 0.5  # onnx.reference makes one of its own in single precision
    scale = g.choose([known, known, 0.25])
    g.add("FlexAttention", q, k, v, domain="ai.onnx.preview", scale=scale, **changes)


def simplified_norm(g: Growth) -> None:
    """RMSNormalization before there was one, among ONNX's own operators."""
    x = g.floats(least=2)
    if x.array.dtype not in (FLOATS[0], FLOATS[2]) or 0 in x.shape or x.shape[-1] < 3:
        raise Misfit
    g.add("SimplifiedLayerNormalization", x, g.weight(x.shape[-1:], x.array.dtype), axis=-1, epsilon=1e-5)


def constant(g: Growth) -> None:
    x = g.floats()
    g.add(
        "Add", x, g.add("Constant", moves=True, value=numpy_helper.from_array(g.numbers(x.shape[-1:], x.array.dtype)))
    )


def enlarged(g: Growth) -> None:
    x = g.floats(4)
    if g.opset > 9 or 0 in x.shape:
        raise Misfit
    scales = [1.0, 1.0, *(float(g.integer(1, 4)) for _ in range(2))]
    mode = g.choose(["nearest", "linear"])
    if g.takes("Upsample", "scales"):
        g.add("Upsample", x, g.constant(np.array(scales, np.float32)), mode=mode, moves=mode == "nearest")
    else:
        g.add("Upsample", x, scales=scales, mode=mode, moves=mode == "nearest")


MAKERS: Mapping[Maker, int] = dict.fromkeys(
    (
        *(like, bits, dropped, running_product, standardised, log_sum, norm_pool, window, spectra, loss, rotated),
        *(gated, linear_attention, causal, integer_product, integer_convolution, quantised_product),
        *(quantised_convolution, between_levels, blocks, constant, enlarged, own_range, mel_scale, counted_runs),
        *(flexible, simplified_norm),
    ),
    1,
)
