"""Operators in front of a model: features scaled, filled in, encoded and put together."""

from __future__ import annotations

import numpy as np
from onnx import numpy_helper
from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import SSAValue

from ....dialects.graph.ops.conversion import CastOp
from ....dialects.graph.ops.elementwise import (
    DivOp,
    EqualOp,
    GreaterEqualOp,
    GreaterOp,
    MaxOp,
    MulOp,
    SubOp,
    WhereOp,
)
from ....dialects.graph.ops.indexing import GatherOp
from ....dialects.graph.ops.movement import ConcatOp, SliceOp
from ....dialects.graph.ops.reduction import ReduceMaxOp, ReduceSumOp
from ....dialects.graph.ops.unary import AbsOp, IsNanOp, SqrtOp
from ....dialects.graph.values import Array, element_type_of, element_type_of_value, is_float, numpy_dtype, shape_of
from ....dialects.sizes.sizes import pinned
from ..node import Handler, Node
from ..non_tensors import Held, Texts


def _of_columns(node: Node, name: str, like: SSAValue, default: float) -> SSAValue:
    """An attribute with a number for each column, or one for all, in the type of a value."""
    given = node.numbers(name) or [default]
    if len(given) > 1 and len(given) != (width := pinned(shape_of(like)[-1])):
        raise node.invalid(f"{len(given)} numbers {name} for {width} columns")
    return node.array(np.array(given, numpy_dtype(element_type_of_value(like))))


def _computed(node: Node) -> SSAValue:
    """The operand in the type that is computed in: f64 stays, everything else is f32."""
    x = node.operand()
    if not shape_of(x):
        raise node.invalid("a tensor of rank 0 has no columns")
    return x if element_type_of_value(x) == f64 else node.cast(x, f32)


def _scaler(node: Node) -> SSAValue:
    x = _computed(node)
    moved = node.emit(SubOp(x, _of_columns(node, "offset", x, 0.0)))
    return node.cast(node.emit(MulOp(moved, _of_columns(node, "scale", x, 1.0))), f32)


def _normalizer(node: Node) -> SSAValue:
    """Rows divided by their maximum, L1 norm or L2 norm, unless that is 0. The maximum is that of numbers, not NaN."""
    x, kind = _computed(node), node.text("norm", "MAX")
    axis = [len(shape_of(x)) - 1]
    match kind:
        case "MAX":
            numbers = node.emit(WhereOp(node.emit(IsNanOp(x)), node.scalar(float("-inf"), x), x))
            size = node.emit(ReduceMaxOp(numbers, axis, keepdims=True))
        case "L1":
            size = node.emit(ReduceSumOp(node.emit(AbsOp(x)), axis, keepdims=True))
        case "L2":
            size = node.emit(SqrtOp(node.emit(ReduceSumOp(node.emit(MulOp(x, x)), axis, keepdims=True))))
        case _:
            raise node.malformed(f"norm {kind} is unknown")
    one = node.scalar(1.0, size)
    zero = node.emit(EqualOp(size, node.scalar(0.0, size)))
    return node.cast(node.emit(DivOp(x, node.emit(WhereOp(zero, one, size)))), f32)


def _imputer(node: Node) -> SSAValue:
    x = node.operand()
    floats = is_float(element_type_of_value(x))
    numbers = node.numbers("imputed_value_floats"), node.integers("imputed_value_int64s")
    replaced = node.number("replaced_value_float", 0.0), node.integer("replaced_value_int64", 0)
    values, wanted = (numbers[0], replaced[0]) if floats else (numbers[1], replaced[1])
    if not values:
        raise node.malformed(f"imputed_value_{'floats' if floats else 'int64s'} is missing")
    if len(values) > 1 and len(values) != (width := pinned(shape_of(x)[-1]) if shape_of(x) else 1):
        raise node.invalid(f"{len(values)} imputed values for {width} columns")
    fill = node.array(np.array(values, numpy_dtype(element_type_of_value(x))))
    is_nan = floats and np.isnan(wanted)
    gone = node.emit(IsNanOp(x)) if is_nan else node.emit(EqualOp(x, node.scalar(wanted, x)))
    return node.emit(WhereOp(gone, fill, x))


def _binarizer(node: Node) -> SSAValue:
    x = node.operand()
    compared = x if element_type_of_value(x) == f64 else node.cast(x, f32)
    above = node.emit(GreaterOp(compared, node.scalar(node.number("threshold", 0.0), compared)))
    return node.cast(above, element_type_of_value(x))


def _extractor(node: Node) -> SSAValue:
    """Elements along the last axis by their places."""
    x, places = node.operand(0), node.cast(node.operand(1), i64)
    count = 1
    for size in shape_of(places):
        count *= size
    if not shape_of(x):
        raise node.invalid("a tensor of rank 0 has no columns")
    found = node.emit(GatherOp(x, node.reshape(places, (count,)), len(shape_of(x)) - 1))
    return node.reshape(found, (1, count)) if len(shape_of(x)) == 1 else found


def _vectorizer(node: Node) -> SSAValue:
    """Columns of all operands beside each other, each operand with as many as `inputdimensions` says: cut, or zeros."""
    sizes = node.integers("inputdimensions") or []
    if len(sizes) != len(node.proto.input):
        raise node.malformed(f"{len(sizes)} inputdimensions for {len(node.proto.input)} operands")
    if min(sizes, default=0) < 0:
        raise node.malformed(f"inputdimensions of {min(sizes)}")
    parts: list[SSAValue] = []
    for x, wanted in zip(node.operands(), sizes, strict=True):
        shape = shape_of(x)
        rows = 1 if len(shape) <= 1 else shape[0]
        width = 1
        for size in shape[min(1, len(shape) - 1) :]:
            width *= size
        width, part = pinned(width), node.reshape(node.cast(x, f32), (rows, width))
        if wanted < width:
            part = node.emit(SliceOp(part, [0, 0], [rows, wanted]))
        elif wanted > width:
            part = node.emit(ConcatOp([part, node.zeros(f32, (rows, wanted - width))], 1))
        parts.append(part)
    return node.emit(ConcatOp(parts, 1))


def _one_hot(node: Node) -> SSAValue:
    """A 1 at the place of the element's category, and zeros."""
    if node.texts("cats_strings"):
        raise node.unsupported("cats_strings: categories that are texts")
    categories = node.integers("cats_int64s")
    if not categories:
        raise node.malformed("neither cats_int64s nor cats_strings is given")
    if not node.flag("zeros", True):
        raise node.unsupported("zeros = 0: an error for an unknown category")
    x = node.cast(node.operand(), i64)
    found = node.emit(EqualOp(node.reshape(x, (*shape_of(x), 1)), node.array(np.array(categories, np.int64))))
    return node.emit(CastOp(found, f32))


def _table(node: Node, side: str) -> Array:
    """The keys or the values of a label encoder."""
    if node.texts(f"{side}_strings") is not None:
        raise node.unsupported(f"{side}_strings: labels that are texts")
    if (integers := node.integers(f"{side}_int64s")) is not None:
        return np.array(integers, np.int64)
    if (floats := node.numbers(f"{side}_floats")) is not None:
        return np.array(floats, np.float32)
    if not node.has(f"{side}_tensor"):
        raise node.malformed(f"{side} are missing")
    array = numpy_helper.to_array(node.tensor(f"{side}_tensor"))
    if array.dtype.kind not in "if":
        raise node.unsupported(f"{side}_tensor: labels that are texts")
    return array.reshape(-1)


NAN_KEYS = 4
"""The version of LabelEncoder from which on NaN is found among the keys."""


def _label_encoder(node: Node) -> Held:
    """The value of each element's key, found among the sorted keys; or the default."""
    if node.texts("classes_strings") is not None:
        raise node.unsupported("classes_strings: labels that are texts")
    texts = node.texts("values_strings")
    if texts is None:
        values = _table(node, "values")
        return _encoded(node, _table(node, "keys"), values, _default(node, values))
    labels = (*texts, node.text("default_string", "_Unused"))
    node.ignore("default_int64", "default_float")
    return Texts(_encoded(node, _table(node, "keys"), np.arange(len(texts)), np.array(len(texts))), labels)


def _encoded(node: Node, keys: Array, values: Array, default: Array) -> SSAValue:
    if len(keys) != len(values):
        raise node.malformed(f"{len(keys)} keys and {len(values)} values")
    x = node.cast(node.operand(), element_type_of(keys.dtype))
    if not len(keys):
        return node.broadcast(node.array(default), shape_of(x))
    nans = np.isnan(keys) if keys.dtype.kind == "f" else np.zeros(len(keys), bool)
    sorted_keys, first = np.unique(keys[~nans], return_index=True)
    sorted_values = values[~nans][first]
    result = node.broadcast(node.array(default), shape_of(x))
    if len(sorted_keys):
        wide = node.reshape(x, (*shape_of(x), 1))
        reached = node.cast(node.emit(GreaterEqualOp(wide, node.array(sorted_keys))), i64)
        count = node.emit(ReduceSumOp(reached, [len(shape_of(x))]))
        place = node.emit(MaxOp(node.emit(SubOp(count, node.scalar(1, i64))), node.scalar(0, i64)))
        same = node.emit(EqualOp(node.emit(GatherOp(node.array(sorted_keys), place, 0)), x))
        result = node.emit(WhereOp(same, node.emit(GatherOp(node.array(sorted_values), place, 0)), result))
    if nans.any() and node.opset >= NAN_KEYS:
        of_nan = node.array(np.array(values[nans][0]))
        result = node.emit(WhereOp(node.emit(IsNanOp(x)), of_nan, result))
    return result


def _default(node: Node, values: Array) -> Array:
    """What elements that are no key become."""
    if node.has("default_tensor"):
        return numpy_helper.to_array(node.tensor("default_tensor")).astype(values.dtype).reshape(())
    integer, number = node.integer("default_int64", -1), node.number("default_float", -0.0)
    node.ignore("default_string")
    return np.array(number if values.dtype.kind == "f" else integer, values.dtype)


HANDLERS: dict[str, Handler] = {
    "ai.onnx.ml.Scaler": _scaler,
    "ai.onnx.ml.Normalizer": _normalizer,
    "ai.onnx.ml.Imputer": _imputer,
    "ai.onnx.ml.Binarizer": _binarizer,
    "ai.onnx.ml.ArrayFeatureExtractor": _extractor,
    "ai.onnx.ml.FeatureVectorizer": _vectorizer,
    "ai.onnx.ml.OneHotEncoder": _one_hot,
    "ai.onnx.ml.LabelEncoder": _label_encoder,
}
