"""onnx.reference, mended: test_judge.py shows what is wrong.

Before opset 14 its BatchNormalization moves the mean that it is given; its LRN sums over as many channels as there
are images; its LpNormalization sums x instead of |x|; in float64 its AffineGrid, its Erf, and the sixth of its
HardSwish are float32; its causal Attention makes a mask of one row of a mask that has one for all; its
TfIdfVectorizer needs weights; its OptionalGetElement leaves a list around what it gets; what its SequenceInsert puts
behind a sequence comes first; its DynamicQuantizeLinear of zeros has a scale of 1 / 255. It has no GlobalLpPool, no
MeanVarianceNormalization for float64, and nothing of com.microsoft, where ONNX Runtime is the peer that wrote them:
what has no definition here is computed by that, in float32 where float64 is wanted. On some CPUs its QLinearSoftmax
wraps 256 to 0, which saturates.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import onnxruntime as ort
from onnx import ModelProto, NodeProto, ValueInfoProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnx.reference.op_run import OpRun
from onnx.reference.ops.op_attention import Attention as OnnxAttention
from onnx.reference.ops.op_dynamic_quantize_linear import DynamicQuantizeLinear as OnnxDynamicQuantizeLinear
from onnx.reference.ops.op_max_pool import MaxPool as OnnxMaxPool
from typing_extensions import override

from mini_infer.dialects.graph.values import Array


class LRN(OpRun):
    op_domain = ""

    @override
    def _run(self, x: Array, alpha: float, beta: float, bias: float, size: int) -> tuple[Array]:
        below, above = (size - 1) // 2, size // 2
        squares = np.pad(x * x, ((0, 0), (below, above), *((0, 0),) * (x.ndim - 2)))
        sums = np.lib.stride_tricks.sliding_window_view(squares, size, axis=1).sum(-1)
        return ((x / (float(bias) + float(alpha) / size * sums) ** float(beta)).astype(x.dtype),)


class BatchNormalization(OpRun):
    op_domain = ""

    @override
    def _run(
        self, x: Array, scale: Array, bias: Array, mean: Array, variance: Array, epsilon: float = 1e-5, **_: Any
    ) -> tuple[Array]:
        shape = (-1, *[1] * (x.ndim - 2))
        scale, bias, mean, variance = (each.reshape(shape) for each in (scale, bias, mean, variance))
        return (((x - mean) / np.sqrt(variance + float(epsilon)) * scale + bias).astype(x.dtype),)


class Erf(OpRun):
    op_domain = ""

    @override
    def _run(self, x: Array) -> tuple[Array]:
        return (np.vectorize(math.erf, otypes=[np.float64])(x).astype(x.dtype),)


class MaxPool(OnnxMaxPool):
    """Steps of 1 with pads that differ are wrong, or out of range, in the way that onnx.reference goes for them."""

    @override
    def _run(
        self,
        x: Any,
        auto_pad: Any = None,
        ceil_mode: Any = None,
        dilations: Any = None,
        kernel_shape: Any = None,
        pads: Any = None,
        storage_order: Any = None,
        strides: Any = None,
    ) -> Any:
        own: Any = self
        usual: Any = super()
        if auto_pad in (None, "NOTSET") and all(step == 1 for step in strides or ()):
            return own._max_pool(x, auto_pad, 0, dilations, kernel_shape, pads, storage_order, strides)
        return usual._run(x, auto_pad, ceil_mode, dilations, kernel_shape, pads, storage_order, strides)


class Attention(OnnxAttention):
    """A causal mask has as many rows as the mask that is given, though one row stands for all."""

    _validate_attention25 = False  # this class stands for all versions

    @override
    def _run(self, Q: Any, K: Any, V: Any, attn_mask: Any = None, *others: Any, **attributes: Any) -> Any:
        if attn_mask is not None and attn_mask.ndim > 1 and attn_mask.shape[-2] == 1:
            attn_mask = np.repeat(attn_mask, Q.shape[-2], -2)
        usual: Any = super()
        return usual._run(Q, K, V, attn_mask, *others, **attributes)


class DynamicQuantizeLinear(OnnxDynamicQuantizeLinear):
    """Of zeros alone the scale is 1, as its own comment says, and as ONNX Runtime's is."""

    @override
    def _run(self, x: Any) -> Any:
        usual: Any = super()
        levels, scale, zero = usual._run(x)
        return levels, scale if np.any(x) else np.ones_like(scale), zero


class HardSwish(OpRun):
    op_domain = ""

    @override
    def _run(self, x: Array) -> tuple[Array]:
        return ((x * np.clip(x / 6 + 0.5, 0, 1)).astype(x.dtype),)


class LpNormalization(OpRun):
    op_domain = ""

    @override
    def _run(self, x: Array, axis: int = -1, p: int = 2) -> tuple[Array]:
        norms = (np.abs(x) ** p).sum(axis=axis, keepdims=True) ** (1 / p)
        return (np.where(norms == 0, 0, x / norms).astype(x.dtype),)


class MeanVarianceNormalization(OpRun):
    op_domain = ""

    @override
    def _run(self, x: Array, axes: tuple[int, ...] = (0, 2, 3)) -> tuple[Array]:
        mean, deviation = (each(x, axis=tuple(axes), keepdims=True) for each in (np.mean, np.std))
        return (((x - mean) / (deviation + 1e-9)).astype(x.dtype),)


class GlobalLpPool(OpRun):
    op_domain = ""

    @override
    def _run(self, x: Array, p: int = 2) -> tuple[Array]:
        axes = tuple(range(2, x.ndim))
        return (((np.abs(x) ** p).sum(axis=axes, keepdims=True) ** (1 / p)).astype(x.dtype),)


class Gelu(OpRun):
    op_domain = "com.microsoft"

    @override
    def _run(self, x: Array, **_: Any) -> tuple[Array]:  # onnx.reference adds attributes of ONNX's own
        return (_gelu(x).astype(x.dtype),)


class BiasGelu(OpRun):
    op_domain = "com.microsoft"

    @override
    def _run(self, x: Array, bias: Array) -> tuple[Array]:
        return (_gelu(x + bias).astype(x.dtype),)


class QuickGelu(OpRun):
    op_domain = "com.microsoft"

    @override
    def _run(self, x: Array, alpha: float = 1.702) -> tuple[Array]:
        return ((x / (1 + np.exp(-float(alpha) * x))).astype(x.dtype),)


class FusedMatMul(OpRun):
    op_domain = "com.microsoft"

    @override
    def _run(self, a: Array, b: Array, alpha: float = 1.0, transA: int = 0, transB: int = 0) -> tuple[Array]:
        a, b = (np.swapaxes(x, -1, -2) if swapped else x for x, swapped in ((a, transA), (b, transB)))
        return ((a @ b * np.asarray(alpha, a.dtype)).astype(a.dtype),)


class SkipLayerNormalization(OpRun):
    op_domain = "com.microsoft"

    @override
    def _run(
        self, x: Array, skip: Array, scale: Array, beta: Array, bias: Array | None = None, epsilon: float = 1e-5
    ) -> tuple[Array]:
        total = x + skip + (0 if bias is None else bias)
        mean, variance = total.mean(-1, keepdims=True), total.var(-1, keepdims=True)
        return (((total - mean) / np.sqrt(variance + float(epsilon)) * scale + beta).astype(x.dtype),)


class SkipSimplifiedLayerNormalization(OpRun):
    op_domain = "com.microsoft"

    @override
    def _run(self, x: Array, skip: Array, scale: Array, epsilon: float = 1e-5) -> tuple[Array]:
        total = x + skip
        squares = np.square(total).mean(-1, keepdims=True)
        return ((total / np.sqrt(squares + float(epsilon)) * scale).astype(x.dtype),)


class QLinearAdd(OpRun):
    op_domain = "com.microsoft"

    @override
    def _run(
        self, a: Array, sa: Array, za: Array, b: Array, sb: Array, zb: Array, sy: Array, zy: Array
    ) -> tuple[Array]:
        return (_levels(_numbers(a, sa, za) + _numbers(b, sb, zb), sy, zy),)


class QLinearMul(OpRun):
    op_domain = "com.microsoft"

    @override
    def _run(
        self, a: Array, sa: Array, za: Array, b: Array, sb: Array, zb: Array, sy: Array, zy: Array
    ) -> tuple[Array]:
        return (_levels(_numbers(a, sa, za) * _numbers(b, sb, zb), sy, zy),)


class QLinearLeakyRelu(OpRun):
    op_domain = "com.microsoft"

    @override
    def _run(self, x: Array, sx: Array, zx: Array, sy: Array, zy: Array, alpha: float = 0.01) -> tuple[Array]:
        number = _numbers(x, sx, zx)
        return (_levels(np.where(number < 0, number * float(alpha), number), sy, zy),)


class QLinearSoftmax(OpRun):
    op_domain = "com.microsoft"

    @override
    def _run(
        self, x: Array, sx: Array, zx: Array, sy: Array, zy: Array, axis: int = -1, opset: int = 13
    ) -> tuple[Array]:
        numbers = _numbers(x, sx, zx)
        axes = tuple(range(axis % x.ndim, x.ndim)) if opset < 13 else axis
        powers = np.exp(numbers - numbers.max(axes, keepdims=True, initial=-np.inf))
        return (_levels(powers / powers.sum(axes, keepdims=True), sy, zy),)


class AffineGrid(OpRun):
    op_domain = ""

    @override
    def _run(self, theta: Array, size: Array, align_corners: int = 0) -> tuple[Array]:
        axes: list[Array] = []
        for extent in (int(each) for each in size[2:]):
            step = 2 / max(extent - 1, 1) if align_corners else 2 / extent
            axes.append(np.arange(extent) * step - 1 + (0 if align_corners else step / 2))
        places = np.meshgrid(*axes, indexing="ij")[::-1]
        given = np.stack([*places, np.ones_like(places[0])], -1)
        found = np.einsum("nij,...j->n...i", theta.astype(np.float64), given)
        return (found.astype(theta.dtype),)


class BitCast(OpRun):
    """Of float32 only, whose bits float64 stands for where a graph is evaluated with that."""

    op_domain = ""

    @override
    def _run(self, x: Array, to: int) -> tuple[Array]:
        if x.dtype.kind == "f":
            return (x.astype(np.float32).view(np.int32),)
        return (x.view(np.float32).astype(helper.tensor_dtype_to_np_dtype(to)),)


class OptionalGetElement(OpRun):
    op_domain = ""

    @override
    def _run(self, x: Any) -> tuple[Array]:
        return (cast(Array, x[0] if isinstance(x, list) else x),)


class SequenceInsert(OpRun):
    op_domain = ""

    @override
    def _run(self, sequence: list[Array], x: Array, position: Array | None = None) -> tuple[list[Array]]:
        found = list(sequence)
        found.insert(len(found) if position is None else int(position), x)
        return (found,)


class BiasAdd(OpRun):
    op_domain = "com.microsoft"

    @override
    def _run(self, x: Array, bias: Array, skip: Array) -> tuple[Array]:
        return (x + bias + skip,)


class BiasSoftmax(OpRun):
    op_domain = "com.microsoft"

    @override
    def _run(self, x: Array, bias: Array, axis: int = 1, is_inner_broadcast: int = 0) -> tuple[Array]:
        axes = tuple(range(axis % x.ndim, x.ndim))
        scores = (x + bias).astype(np.float64)
        weights = np.exp(scores - scores.max(axes, keepdims=True, initial=-np.inf))
        return ((weights / weights.sum(axes, keepdims=True)).astype(x.dtype),)


class ByRuntime(OpRun):
    """An operator of ONNX Runtime's, of which there is no other definition; mostly it has no float64."""

    of_opset = 17  # operators that it has are the same in later ones

    @override
    def _run(self, *operands: Array | None, **_: Any) -> tuple[Array, ...]:
        is_wide = any(each is not None and each.dtype == np.float64 for each in operands)
        node = NodeProto()
        node.CopyFrom(self.onnx_node)
        node.input[:] = ["" if each is None else f"x{index}" for index, each in enumerate(operands)]
        given = {f"x{index}": each for index, each in enumerate(operands) if each is not None}
        made = [name for name in node.output if name]
        graph = helper.make_graph(
            [node],
            "one",
            [],
            [ValueInfoProto(name=name) for name in made],
            [numpy_helper.from_array(_single(array), name) for name, array in given.items()],
        )
        opsets = {**self.run_params["opsets"], "": self.of_opset}
        imports = [helper.make_opsetid(domain, version) for domain, version in opsets.items()]
        model = helper.make_model(graph, opset_imports=imports, ir_version=10)
        found: dict[str, Array] = dict(zip(made, runtime_of(model).run(made, {}), strict=True))
        wide = {
            name: each.astype(np.float64) if is_wide and each.dtype.kind == "f" else each
            for name, each in found.items()
        }
        return tuple(cast(Array, wide.get(name)) for name in node.output)  # None for one that is not wanted

    @override
    def _check_and_fix_outputs(self, res: tuple[Array, ...]) -> tuple[Array, ...]:
        return res


def _single(array: Array) -> Array:
    return array.astype(np.float32) if array.dtype == np.float64 else array


def runtime_of(model: ModelProto) -> Any:
    """A session of ONNX Runtime, which takes every node as it is."""
    options = cast(Any, ort).SessionOptions()
    options.graph_optimization_level = cast(Any, ort).GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    return cast(Any, ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"]))


def _gelu(x: Array) -> Array:
    return x * 0.5 * (1 + np.vectorize(math.erf, otypes=[np.float64])(x / math.sqrt(2)))


def _numbers(levels: Array, scale: Array, zero: Array) -> Array:
    return (levels.astype(np.float64) - zero) * scale


def _levels(numbers: Array, scale: Array, zero: Array) -> Array:
    limits = np.iinfo(zero.dtype)
    return np.clip(np.rint(numbers / scale) + zero, limits.min, limits.max).astype(zero.dtype)


DEFINED: tuple[type[OpRun], ...] = (
    *(
        AffineGrid,
        Attention,
        BatchNormalization,
        BitCast,
        DynamicQuantizeLinear,
        Erf,
        GlobalLpPool,
        HardSwish,
        LRN,
        LpNormalization,
    ),
    *(MaxPool, MeanVarianceNormalization, OptionalGetElement, SequenceInsert),
    *(Gelu, BiasGelu, QuickGelu, FusedMatMul, SkipLayerNormalization, SkipSimplifiedLayerNormalization),
    *(QLinearAdd, QLinearMul, QLinearLeakyRelu, QLinearSoftmax, BiasAdd, BiasSoftmax),
)
BY_RUNTIME = ("MaxRoiPool", "SimplifiedLayerNormalization", "TfIdfVectorizer")
OF_TRIAL = ("Affine", "Crop", "DynamicSlice", "ImageScaler", "ParametricSoftplus", "Scale", "ScaledTanh")
BY_RUNTIME_OF_MICROSOFT = (
    *("CDist", "CausalConvWithState", "ExpandDims", "GatedAdd", "GatedRMSNorm", "GatherND", "GridSample"),
    *("LinearAttention", "LinearAttentionGate", "NhwcMaxPool", "Pad", "Range", "ScaledSiLU", "Trilu", "UnfoldTensor"),
    *(
        "Unique",
        "Attention",
        "DequantizeLinear",
        "DynamicQuantizeMatMul",
        "EmbedLayerNormalization",
        "FastGelu",
        "FusedConv",
    ),
    *("FusedGemm", "GatherBlockQuantized", "GroupQueryAttention", "MatMulIntegerToFloat", "MatMulNBits"),
    *("MoE", "MultiHeadAttention", "QAttention", "QGemm", "QLinearAveragePool", "QLinearConcat", "QLinearConv", "QMoE"),
    *("QLinearGlobalAveragePool", "QLinearSigmoid", "QLinearWhere", "QuantizeLinear"),
    *("RotaryEmbedding", "TransposeMatMul"),
)
MENDED = [
    *DEFINED,
    *(type(name, (ByRuntime,), {"op_domain": "com.microsoft"}) for name in BY_RUNTIME_OF_MICROSOFT),
    *(type(name, (ByRuntime,), {"op_domain": ""}) for name in BY_RUNTIME),
    *(type(name, (ByRuntime,), {"op_domain": "", "of_opset": 7}) for name in OF_TRIAL),
]


def evaluate(model: ModelProto, inputs: Mapping[str, Array]) -> list[Array]:
    """The model's outputs, in order."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        evaluator = cast(Any, ReferenceEvaluator)(model, new_ops=MENDED)
        return [np.asarray(each) for each in evaluator.run(None, dict(inputs))]
