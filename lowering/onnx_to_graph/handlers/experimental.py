"""Experimental operators from before opset 9, found in Windows ML models and supported by ONNX Runtime."""

from __future__ import annotations

import numpy as np
from xdsl.ir import SSAValue

from ....dialects.graph.ops.elementwise import AddOp, MulOp
from ....dialects.graph.ops.movement import SliceOp
from ....dialects.graph.ops.unary import SoftplusOp, TanhOp
from ....dialects.graph.values import element_type_of_value, numpy_dtype, shape_of
from ....dialects.sizes.sizes import equal
from ..node import Handler, Node, in_single
from .movement import slice_by_operands


def _times(node: Node, x: SSAValue, factor: float) -> SSAValue:
    return x if factor == 1.0 else node.emit(MulOp(x, node.scalar(factor, x)))


def _affine(node: Node, x: SSAValue) -> SSAValue:
    beta = node.number("beta", 0.0)
    scaled = _times(node, x, node.number("alpha", 1.0))
    return scaled if beta == 0.0 else node.emit(AddOp(scaled, node.scalar(beta, x)))


def _scale(node: Node, x: SSAValue) -> SSAValue:
    return _times(node, x, node.number("scale", 1.0))


def _required(node: Node, name: str) -> float:
    if not node.has(name):
        raise node.malformed(f"attribute {name} is missing")
    return node.number(name, 0.0)


def _scaled_tanh(node: Node, x: SSAValue) -> SSAValue:
    """alpha tanh(beta x)"""
    return _times(node, node.emit(TanhOp(_times(node, x, _required(node, "beta")))), _required(node, "alpha"))


def _parametric_softplus(node: Node, x: SSAValue) -> SSAValue:
    """alpha log(exp(beta x) + 1)"""
    return _times(node, node.emit(SoftplusOp(_times(node, x, _required(node, "beta")))), _required(node, "alpha"))


def _image_scaler(node: Node, x: SSAValue) -> SSAValue:
    """An image times a number, plus a number for each of its channels."""
    shape, bias = shape_of(x), node.numbers("bias") or []
    if len(shape) != 4 or (bias and not equal(shape[1], len(bias))):
        raise node.invalid(f"a bias for {len(bias)} channels doesn't fit an operand of shape {list(shape)}")
    scaled = _times(node, x, node.number("scale", 1.0))
    if not bias:
        return scaled
    numbers = np.array(bias, numpy_dtype(element_type_of_value(x))).reshape(-1, 1, 1)
    return node.emit(AddOp(scaled, node.array(numbers)))


def _crop(node: Node) -> SSAValue:
    """An image without its borders, or a window of a given size from the left and upper border on."""
    x = node.operand()
    shape, border, scale = shape_of(x), node.integers("border") or [], node.integers("scale") or []
    if len(shape) != 4 or len(border) != 4 or len(scale) not in (0, 2):
        raise node.invalid(f"border {border} and scale {scale} don't fit an operand of shape {list(shape)}")
    left, top, right, bottom = border
    rows, columns = scale or (shape[2] - top - bottom, shape[3] - left - right)
    starts, stops = [0, 0, top, left], [shape[0], shape[1], top + rows, left + columns]
    if not all(0 <= low <= high <= size for low, high, size in zip(starts, stops, shape, strict=True)):
        raise node.invalid(f"border {border} and scale {scale} leave the image of shape {list(shape)}")
    return node.emit(SliceOp(x, starts, stops))


HANDLERS: dict[str, Handler] = {
    "Affine": in_single(_affine),
    "Scale": in_single(_scale),
    "ScaledTanh": in_single(_scaled_tanh),
    "ParametricSoftplus": in_single(_parametric_softplus),
    "ImageScaler": in_single(_image_scaler),
    "Crop": _crop,
    "DynamicSlice": slice_by_operands,
}
