"""Small models of the usual architectures, built with seeded weights. `SMALL_MODELS` names them all."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import ModelProto

from .builder import ModelBuilder


def mlp(seed: int = 0, batch: int | str = 2) -> ModelProto:
    """Three matrix products with relu, tanh and gelu between them."""
    b = ModelBuilder("mlp", seed)
    x = b.input("x", [batch, 20])
    for index, (inputs, outputs) in enumerate(((20, 33), (33, 17), (17, 16))):
        x = b.node("Gemm", x, b.weight(outputs, inputs), b.weight(outputs), transB=1)
        x = b.node(("Relu", "Tanh", "Gelu")[index], x)
    x = b.node("Gemm", x, b.weight(16, 5), b.weight(5))
    return b.model([b.node("Softmax", x)])


def _conv(b: ModelBuilder, x: str, inputs: int, outputs: int, kernel: int = 3, **attributes: object) -> str:
    groups = attributes.get("group", 1)
    assert isinstance(groups, int)
    weight = b.weight(outputs, inputs // groups, kernel, kernel, gain=np.sqrt(2))
    pad = kernel // 2
    return b.node("Conv", x, weight, b.weight(outputs), kernel_shape=[kernel] * 2, pads=[pad] * 4, **attributes)


def _batch_norm(b: ModelBuilder, x: str, channels: int) -> str:
    scale, bias = b.uniform(0.6, 1.2, channels), b.uniform(-0.2, 0.2, channels)
    mean, variance = b.uniform(-0.2, 0.2, channels), b.uniform(0.6, 1.4, channels)
    return b.node("BatchNormalization", x, scale, bias, mean, variance)


def resnet(seed: int = 0, batch: int | str = 1) -> ModelProto:
    """Convolutions with batch norm, residual blocks of which one goes down, pooling, a classifier."""
    b = ModelBuilder("resnet", seed)
    x = b.input("x", [batch, 3, 30, 30])
    x = b.node("Relu", _batch_norm(b, _conv(b, x, 3, 16, 7, strides=[2, 2]), 16))
    x = b.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
    for inputs, outputs, stride in ((16, 16, 1), (16, 24, 2)):
        y = b.node("Relu", _batch_norm(b, _conv(b, x, inputs, outputs, strides=[stride] * 2), outputs))
        y = _batch_norm(b, _conv(b, y, outputs, outputs), outputs)
        shortcut = x if stride == 1 else _conv(b, x, inputs, outputs, 1, strides=[stride] * 2)
        x = b.node("Relu", b.node("Add", y, shortcut))
    x = b.node("Flatten", b.node("GlobalAveragePool", x))
    return b.model([b.node("Gemm", x, b.weight(10, 24), b.weight(10), transB=1)])


def mobilenet(seed: int = 0, batch: int | str = 1) -> ModelProto:
    """Inverted residuals: depthwise convolutions, squeeze and excite, hard-swish, relu6."""
    b = ModelBuilder("mobilenet", seed)
    x = b.node("HardSwish", _conv(b, b.input("x", [batch, 3, 28, 28]), 3, 16, strides=[2, 2]))
    for stride in (1, 2):
        y = b.node("Clip", _conv(b, x, 16, 48, 1), b.number(0), b.number(6))
        y = b.node("HardSwish", _conv(b, y, 48, 48, 3 + 2 * (stride - 1), group=48, strides=[stride] * 2))
        squeezed = b.node("Relu", _conv(b, b.node("ReduceMean", y, b.ints(2, 3)), 48, 8, 1))
        y = b.node("Mul", y, b.node("HardSigmoid", _conv(b, squeezed, 8, 48, 1)))
        y = _conv(b, y, 48, 16, 1)
        x = b.node("Add", x, y) if stride == 1 else y
    x = b.node("Reshape", b.node("ReduceMean", x, b.ints(-1, -2)), b.ints(0, -1))
    return b.model([b.node("Gemm", x, b.weight(10, 16), b.weight(10), transB=1)])


def unet(seed: int = 0, batch: int | str = 1) -> ModelProto:
    """Down with pools, up with a transposed convolution and with a resize, joined by concats."""
    b = ModelBuilder("unet", seed)
    first = b.node("LeakyRelu", _conv(b, b.input("x", [batch, 3, 24, 20]), 3, 8), alpha=0.1)
    x = b.node("MaxPool", first, kernel_shape=[2, 2], strides=[2, 2])
    second = b.node("Relu", _conv(b, x, 8, 16))
    x = b.node("AveragePool", second, kernel_shape=[2, 2], strides=[2, 2])
    x = b.node("Relu", _conv(b, x, 16, 16, dilations=[1, 1]))
    x = b.node("ConvTranspose", x, b.weight(16, 16, 2, 2), b.weight(16), strides=[2, 2])
    x = b.node("Relu", _conv(b, b.node("Concat", x, second, axis=1), 32, 8))
    scales = b.constant(np.array([1, 1, 2, 2], np.float32))
    x = b.node("Resize", x, "", scales, mode="linear")
    x = _conv(b, b.node("Concat", x, first, axis=1), 16, 1)
    return b.model([b.node("Sigmoid", x)])


def lstm(seed: int = 0, steps: int | str = 7) -> ModelProto:
    """Embedding, a bidirectional LSTM, one more that goes forward, a classifier of its last state."""
    b = ModelBuilder("lstm", seed)
    x = b.node("Gather", b.weight(8, 12), b.input("ids", [steps, 2], np.int64))
    hidden = 9
    weights = b.weight(2, 4 * hidden, 12), b.weight(2, 4 * hidden, hidden), b.weight(2, 8 * hidden)
    y = b.node("LSTM", x, *weights, hidden_size=hidden, direction="bidirectional")
    y = b.node("Reshape", b.node("Transpose", y, perm=[0, 2, 1, 3]), b.ints(0, 0, 2 * hidden))
    weights = b.weight(1, 4 * hidden, 2 * hidden), b.weight(1, 4 * hidden, hidden), b.weight(1, 8 * hidden)
    _, last = b.nodes("LSTM", 2, y, *weights, hidden_size=hidden)
    x = b.node("Squeeze", last, b.ints(0))
    return b.model([b.node("Gemm", x, b.weight(hidden, 4), b.weight(4))])


def wide_lstm(seed: int = 0, steps: int = 6, hidden: int = 448, direction: str = "forward") -> ModelProto:
    """An LSTM with more weights than a multiprocessor of a GPU holds, or eight do."""
    b = ModelBuilder("wide_lstm", seed)
    count = 2 if direction == "bidirectional" else 1
    weights = b.weight(count, 4 * hidden, 8), b.weight(count, 4 * hidden, hidden), b.weight(count, 8 * hidden)
    x = b.input("x", [steps, 2, 8])
    return b.model([b.node("LSTM", x, *weights, hidden_size=hidden, direction=direction)])


def _heads(b: ModelBuilder, x: str, size: int, heads: int, width: int) -> str:
    y = b.node("MatMul", x, b.weight(size, heads * width))
    y = b.node("Reshape", y, b.ints(0, 0, heads, width))
    return b.node("Transpose", y, perm=[0, 2, 1, 3])


def _layer_norm(b: ModelBuilder, x: str, size: int) -> str:
    return b.node("LayerNormalization", x, b.uniform(0.8, 1.2, size), b.uniform(-0.1, 0.1, size))


def transformer(seed: int = 0, batch: int | str = 1, tokens: int | str = 11) -> ModelProto:
    """An encoder in the style of BERT, its attention spelt out, with a mask over the tokens."""
    b = ModelBuilder("transformer", seed)
    size, heads, width = 32, 4, 8
    ids, mask = b.input("ids", [batch, tokens], np.int64), b.input("mask", [batch, tokens], np.bool_)
    x = _layer_norm(b, b.node("Gather", b.weight(8, size), ids), size)
    keep = b.node("Unsqueeze", mask, b.ints(1, 2))
    bias = b.node("Where", keep, b.number(0), b.number(-1e9))
    for _ in range(2):
        q, k, v = (_heads(b, x, size, heads, width) for _ in range(3))
        scores = b.node("MatMul", q, b.node("Transpose", k, perm=[0, 1, 3, 2]))
        scores = b.node("Div", scores, b.number(width**0.5))
        mixed = b.node("MatMul", b.node("Softmax", b.node("Add", scores, bias)), v)
        mixed = b.node("Reshape", b.node("Transpose", mixed, perm=[0, 2, 1, 3]), b.ints(0, 0, size))
        mixed = b.node("Add", b.node("MatMul", mixed, b.weight(size, size)), b.weight(size))
        x = _layer_norm(b, b.node("Add", x, mixed), size)
        y = b.node("Gelu", b.node("Add", b.node("MatMul", x, b.weight(size, 48)), b.weight(48)))
        y = b.node("Add", b.node("MatMul", y, b.weight(48, size)), b.weight(size))
        x = _layer_norm(b, b.node("Add", x, y), size)
    first = b.node("Gather", x, b.constant(np.array(0)), axis=1)
    return b.model([x, b.node("Tanh", b.node("Gemm", first, b.weight(size, size), b.weight(size)))])


def decoder(seed: int = 0, batch: int | str = 1, tokens: int | str = 9) -> ModelProto:
    """A decoder in the style of Llama: RMS norm, rotary embedding, causal grouped attention, a gated MLP."""
    b = ModelBuilder("decoder", seed, opset=23)
    size, heads, groups, width = 32, 4, 2, 8
    ids = b.input("ids", [batch, tokens], np.int64)
    positions = b.input("positions", [batch, tokens], np.int64)
    angles = np.arange(16)[:, None] / 100.0 ** (np.arange(width // 2) / (width // 2))
    cosines = b.constant(np.cos(angles).astype(np.float32))
    sines = b.constant(np.sin(angles).astype(np.float32))
    x = b.node("Gather", b.weight(8, size), ids)
    for _ in range(2):
        y = b.node("RMSNormalization", x, b.uniform(0.8, 1.2, size), epsilon=1e-6)
        q, k, v = (_heads(b, y, size, count, width) for count in (heads, groups, groups))
        q, k = (b.node("RotaryEmbedding", part, cosines, sines, positions) for part in (q, k))
        y = b.node("Attention", q, k, v, is_causal=1)
        y = b.node("Reshape", b.node("Transpose", y, perm=[0, 2, 1, 3]), b.ints(0, 0, size))
        x = b.node("Add", x, b.node("MatMul", y, b.weight(size, size)))
        y = b.node("RMSNormalization", x, b.uniform(0.8, 1.2, size), epsilon=1e-6)
        gate = b.node("MatMul", y, b.weight(size, 40))
        gate = b.node("Mul", gate, b.node("Sigmoid", gate))
        y = b.node("Mul", gate, b.node("MatMul", y, b.weight(size, 40)))
        x = b.node("Add", x, b.node("MatMul", y, b.weight(40, size)))
    return b.model([b.node("MatMul", x, b.weight(size, 8))])


SMALL_MODELS: dict[str, Callable[[], ModelProto]] = {
    model.__name__: model for model in (mlp, resnet, mobilenet, unet, lstm, transformer, decoder)
}
