"""Fused operators: activations with a bias, products, normalisations, embeddings."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from ....dialects.graph.ops.activation import ClipOp, EluOp, GeluOp, HardSigmoidOp, LeakyReluOp
from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.conversion import CastOp
from ....dialects.graph.ops.elementwise import AddOp, EqualOp, MulOp
from ....dialects.graph.ops.indexing import GatherOp
from ....dialects.graph.ops.movement import TransposeOp
from ....dialects.graph.ops.normalization import LayerNormOp, RmsNormOp
from ....dialects.graph.ops.reduction import ReduceSumOp, SoftmaxOp
from ....dialects.graph.ops.unary import NotOp, ReluOp, SigmoidOp, SiluOp, SoftplusOp, TanhOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....dialects.sizes.sizes import equal_shapes
from ..handlers.contraction import convolution, gemm
from ..handlers.movement import slice_axis
from ..node import Handler, Node


def biased(node: Node, value: SSAValue, index: int) -> SSAValue:
    """The value plus an optional operand."""
    bias = node.optional(index)
    return value if bias is None else node.emit(AddOp(value, bias))


def _gelu(approximate: str) -> Handler:
    """gelu of the operand plus an optional bias."""
    return lambda node: node.emit(GeluOp(biased(node, node.operand(0), 1), approximate))


def _quick_gelu(node: Node) -> SSAValue:
    x, alpha = node.operand(0), node.number("alpha", 1.702)
    if alpha == 1.0:
        return node.emit(SiluOp(x))
    return node.emit(MulOp(x, node.emit(SigmoidOp(node.emit(MulOp(x, node.scalar(alpha, x)))))))


def _bias_add(node: Node) -> SSAValue:
    return biased(node, biased(node, node.operand(0), 1), 2)


def _bias_softmax(node: Node) -> SSAValue:
    """softmax(x + bias) over the axes from `axis` on."""
    x, shape = node.operand(0), shape_of(node.operand(0))
    axis = node.axis(1, len(shape))
    node.ignore("is_inner_broadcast")  # states which axes broadcast
    total = biased(node, x, 1)
    if not equal_shapes(shape_of(total), shape) or len(shape_of(node.operand(1))) != len(shape):
        raise node.unsupported(f"a bias of shape {list(shape_of(node.operand(1)))} beside {list(shape)}")
    flat = node.reshape(total, (*shape[:axis], prod(shape[axis:])))
    return node.reshape(node.emit(SoftmaxOp(flat, axis)), shape)


def _fused_matmul(node: Node) -> SSAValue:
    """alpha * a' b'; with transBatch the batch axes but the first come after the rows."""
    operands: list[SSAValue] = []
    for index, name in enumerate("AB"):
        value = node.operand(index)
        rank = len(shape_of(value))
        if rank < 2:
            raise node.unsupported("operands of fewer than 2 dimensions")
        if node.flag(f"transBatch{name}") and rank > 2:
            value = node.emit(TransposeOp(value, (*range(1, rank - 1), 0, rank - 1)))
        operands.append(value)
    product = node.emit(MatmulOp(*operands, transpose_a=node.flag("transA"), transpose_b=node.flag("transB")))
    alpha = node.number("alpha", 1.0)
    return product if alpha == 1.0 else node.emit(MulOp(product, node.scalar(alpha, product)))


def _activated(node: Node, x: SSAValue, parameters: list[float]) -> SSAValue:
    """The activation named by an attribute, with its parameters; without one the value itself."""
    name = node.text("activation", "")
    default = {"LeakyRelu": [0.01], "Elu": [1.0], "HardSigmoid": [0.2, 0.5]}.get(name, [])
    first, second, *_ = [*parameters, *default[len(parameters) :], 0.0, 0.0]
    make: dict[str, Callable[[], SSAValue]] = {
        "": lambda: x,
        "Relu": lambda: node.emit(ReluOp(x)),
        "Sigmoid": lambda: node.emit(SigmoidOp(x)),
        "Tanh": lambda: node.emit(TanhOp(x)),
        "Softplus": lambda: node.emit(SoftplusOp(x)),
        "LeakyRelu": lambda: node.emit(LeakyReluOp(x, first)),
        "Elu": lambda: node.emit(EluOp(x, first)),
        "Clip": lambda: node.emit(ClipOp(x, first, second)),
        "HardSigmoid": lambda: node.emit(HardSigmoidOp(x, first, second)),
        "HardSwish": lambda: node.emit(MulOp(x, node.emit(HardSigmoidOp(x, 1 / 6, 0.5)))),
    }
    if name not in make:
        raise node.unsupported(f"activation {name}")
    return make[name]()


def _fused_gemm(node: Node) -> SSAValue:
    names = [f"activation_{name}" for name in ("alpha", "beta", "gamma")]
    return _activated(node, gemm(node), [node.number(name, 0.0) for name in names if node.has(name)])


def _fused_conv(node: Node) -> SSAValue:
    """A convolution plus an optional operand, with an activation."""
    result = biased(node, convolution(node, node.operand(0), node.operand(1), node.optional(2)), 3)
    return _activated(node, result, node.numbers("activation_params") or [])


def _layer_norm(node: Node, x: SSAValue, gamma: SSAValue, beta: SSAValue | None) -> SSAValue:
    axis = len(shape_of(x)) - 1
    return node.emit(LayerNormOp(x, gamma, beta, axis=axis, epsilon=node.number("epsilon", 1e-12)))


def _no_statistics(node: Node, *results: int) -> None:
    for index in results:
        if node.wants(index):
            raise node.unsupported(f"result {index} ({node.proto.output[index]}): statistics for training")


def _skip_layer_norm(node: Node) -> list[SSAValue | None]:
    """The normalised sum of an operand, a skip connection and a bias; the sum is a result, too."""
    _no_statistics(node, 1, 2)
    total = biased(node, biased(node, node.operand(0), 1), 4)
    return [_layer_norm(node, total, node.operand(2), node.optional(3)), None, None, total]


def _skip_simplified_layer_norm(node: Node) -> list[SSAValue | None]:
    _no_statistics(node, 1, 2)
    total = biased(node, biased(node, node.operand(0), 1), 3)
    epsilon = node.number("epsilon", 1e-12)
    normal = node.emit(RmsNormOp(total, node.operand(2), axis=len(shape_of(total)) - 1, epsilon=epsilon))
    return [normal, None, None, total]


def _simplified_layer_norm(node: Node) -> SSAValue:
    """RMSNormalization from before ONNX had it; ONNX Runtime emits it in ONNX's own domain."""
    _no_statistics(node, 1)
    x, scale = node.operand(0), node.operand(1)
    node.ignore("stash_type")  # kernels compute in float32 or wider
    axis = node.axis(-1, len(shape_of(x)))
    scale = node.cast(scale, element_type_of_value(x))
    return node.emit(RmsNormOp(x, scale, axis=axis, epsilon=node.number("epsilon", 1e-5)))


def _embed_layer_norm(node: Node) -> list[SSAValue | None]:
    """The normalised sum of word, position and segment embeddings; and the number of unmasked words."""
    words = node.operand(0)
    if len(shape_of(words)) != 2:
        raise node.invalid(f"input_ids of shape {list(shape_of(words))} instead of [batch, words]")
    batch, count = shape_of(words)
    total = node.emit(GatherOp(node.operand(2), words, 0))
    places = node.optional(8)
    table = node.operand(3)
    if places is not None:
        total = node.emit(AddOp(total, node.emit(GatherOp(table, places, 0))))
    else:
        total = node.emit(AddOp(total, slice_axis(node, table, 0, 0, count)))
    if node.has_operand(1) != node.has_operand(4):
        raise node.malformed("segment_ids and segment_embedding belong together")
    if node.has_operand(1):
        total = node.emit(AddOp(total, node.emit(GatherOp(node.operand(4), node.operand(1), 0))))
    node.ignore("mask_index_type")  # states the result's type, for shape inference
    mask = node.optional(7)
    if mask is None:
        kept = node.zeros(i32, (batch,))
    else:
        nothing = node.emit(EqualOp(mask, node.scalar(0, mask)))
        kept = node.emit(ReduceSumOp(node.emit(CastOp(node.emit(NotOp(nothing)), i32)), [1]))
    return [_layer_norm(node, total, node.operand(5), node.operand(6)), kept, total]


HANDLERS: dict[str, Handler] = {
    "com.microsoft.Gelu": _gelu("none"),
    "com.microsoft.BiasGelu": _gelu("none"),
    "com.microsoft.FastGelu": _gelu("tanh"),
    "com.microsoft.QuickGelu": _quick_gelu,
    "com.microsoft.BiasAdd": _bias_add,
    "com.microsoft.BiasSoftmax": _bias_softmax,
    "com.microsoft.FusedMatMul": _fused_matmul,
    "com.microsoft.TransposeMatMul": _fused_matmul,
    "com.microsoft.FusedGemm": _fused_gemm,
    "com.microsoft.FusedConv": _fused_conv,
    "com.microsoft.SkipLayerNormalization": _skip_layer_norm,
    "com.microsoft.SkipSimplifiedLayerNormalization": _skip_simplified_layer_norm,
    "com.microsoft.EmbedLayerNormalization": _embed_layer_norm,
    "SimplifiedLayerNormalization": _simplified_layer_norm,
}
