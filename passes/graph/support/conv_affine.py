"""Scaling and shifting of a convolution's channels by modifying its weight and bias.

All arithmetic is in double precision; results are rounded once, to the weight's type.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.graph.blobs import digest_of
from ....dialects.graph.ops.contraction import ConvOp, ConvTransposeOp
from ....dialects.graph.ops.structure import ConstantOp, WeightOp
from ....dialects.graph.values import Array, element_type_of_value, numpy_dtype, shape_of, type_of
from ....dialects.graph.window_sizes import channel_axis
from .pattern_utils import Constants

AnyConv: TypeAlias = ConvOp | ConvTransposeOp


def channel_vector(constants: Constants, value: SSAValue, shape: tuple[int, ...], layout: str) -> Array | None:
    """A constant that varies only by channel of a tensor of this shape, as float64 [C], or None."""
    own = shape_of(value)
    axis = channel_axis(layout, len(shape))
    padded = (1,) * (len(shape) - len(own)) + own
    if len(own) > len(shape) or any(size != 1 for dim, size in enumerate(padded) if dim != axis):
        return None
    array = constants.array(value)
    if array is None or array.dtype.kind not in "fV":
        return None
    return np.broadcast_to(array.astype(np.float64).reshape(-1), (shape[axis],))


def _rounded_product(weight: Array, factors: Array) -> Array:
    """weight * factors, computed in double precision and rounded to the weight's type, without a wide temporary."""
    result = np.empty(weight.shape, weight.dtype)
    np.multiply(weight, factors, out=result, dtype=np.float64, casting="unsafe")
    return result


def _scaled(conv: AnyConv, grouped: Sequence[int], factors: Array, constants: Constants) -> ConstantOp | WeightOp:
    """The weight, in the shape `grouped`, times the factors."""
    type = type_of(conv.weight)

    def scaled(weight: Array) -> Array:
        return _rounded_product(weight.reshape(grouped), factors).reshape(type.get_shape())

    how = f"in groups {tuple(grouped)} times {factors.shape} {digest_of(factors)}"
    return constants.computed([conv.weight], type, how, scaled, conv.location)


def scale_outputs(conv: AnyConv, scale: Array, shift: Array, constants: Constants) -> list[Operation] | None:
    """conv * scale + shift (both float64 [Cout]) as weight, bias and conv ops; None for non-constant weights."""
    shape = shape_of(conv.weight)
    bias = np.zeros(1) if conv.bias is None else constants.array(conv.bias)
    if bias is None or not constants.is_constant(conv.weight):
        return None
    new_bias = bias.astype(np.float64) * scale + shift
    if (scale == 1).all():
        return with_weights(conv, None, new_bias, constants)
    ones = [1] * (len(shape) - 2)
    if isinstance(conv, ConvTransposeOp):
        groups = conv.groups.value.data
        grouped, factors = (groups, shape[0] // groups, *shape[1:]), scale.reshape(groups, 1, -1, *ones)
    else:
        grouped, factors = shape, scale.reshape(-1, 1, *ones)
    return with_weights(conv, _scaled(conv, grouped, factors, constants), new_bias, constants)


def scale_inputs(conv: ConvOp, scale: Array, shift: Array, constants: Constants) -> list[Operation] | None:
    """conv(x * scale + shift) (both float64 [Cin]) as a conv on x; valid only without padding."""
    weight = constants.array(conv.weight)
    bias = np.zeros(shape_of(conv.weight)[0]) if conv.bias is None else constants.array(conv.bias)
    if weight is None or bias is None or not constants.is_constant(conv.weight):
        return None
    groups = conv.groups.value.data
    ones = [1] * (weight.ndim - 2)
    grouped = weight.reshape(groups, -1, *weight.shape[1:])
    taps = grouped.sum(axis=tuple(range(3, grouped.ndim)), dtype=np.float64)
    shifted = np.einsum("goi,gi->go", taps, shift.reshape(groups, -1)).reshape(-1)
    factors = scale.reshape(groups, 1, -1, *ones)
    new_weight = _scaled(conv, grouped.shape, factors, constants)
    return with_weights(conv, new_weight, bias.astype(np.float64) + shifted, constants)


def with_weights(
    conv: AnyConv, new_weight: ConstantOp | WeightOp | None, bias: Array, constants: Constants
) -> list[Operation]:
    """The same convolution with other weights (None keeps them), as new ops in order."""
    location: LocationAttr = conv.location
    element_type = element_type_of_value(conv.x)
    new_bias = constants.make(bias.astype(numpy_dtype(element_type)), location)
    made: list[Operation] = [new_bias] if new_weight is None else [new_weight, new_bias]
    weight_value = conv.weight if new_weight is None else new_weight.results[0]
    properties: Mapping[str, Attribute] = dict(conv.properties)
    new: Any = type(conv).create(
        operands=[conv.x, weight_value, new_bias.results[0]],
        result_types=conv.result_types,
        properties=dict(properties),
        attributes=dict(conv.attributes),
        location=location,
    )
    return [*made, new]
