"""Functions on graph values, for the operators that users compose: `mini_infer.ops`.

Every operator of ONNX that the import supports is a function by its name: `ops.Gemm(a, b, alpha=2.0)` takes operands
(None for an absent one) and attributes, and gives its result, or a tuple where it has several; `outputs=3` asks for
that many. `ops.domain("com.microsoft").FusedMatMul(a, b)` is one of another domain. The functions in lower case are the
usual ones with numpy's conventions. Beside a graph value, numbers become constants of its element type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .graph_value import GraphValue, Operand, as_graph_value, called, called_all

__all__ = [
    "arange",
    "argmax",
    "broadcast_to",
    "cast",
    "clip",
    "concat",
    "constant",
    "cumsum",
    "domain",
    "full",
    "gelu",
    "layer_norm",
    "log_softmax",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "prod",
    "reshape",
    "softmax",
    "split",
    "squeeze",
    "stack",
    "sum",
    "take",
    "transpose",
    "unsqueeze",
    "where",
]

Operation = Callable[..., Any]

_UNARY = {
    **{
        each.lower(): each
        for each in ("Relu", "Exp", "Log", "Sqrt", "Abs", "Neg", "Sin", "Cos", "Tan", "Tanh", "Sigmoid")
    },
    **{each.lower(): each for each in ("Erf", "Floor", "Ceil", "Round", "Sign", "Reciprocal", "Softplus", "Identity")},
    **{each.lower(): each for each in ("Asin", "Acos", "Atan", "Sinh", "Cosh")},
    "logical_not": "Not",
}
"""Functions of one value, element by element, and the operator that each is."""


class Domain:
    """The operators of a domain as functions: `ops.domain("com.microsoft").Gelu(x)`."""

    def __init__(self, domain: str) -> None:
        """`domain` is the name of operators' domain in ONNX; "" is ONNX's own."""
        self._domain = domain

    def __getattr__(self, name: str) -> Operation:
        if name.startswith("_"):
            raise AttributeError(name)

        def operation(*operands: Operand | None, outputs: int | None = None, **attributes: Any) -> Any:
            found = called_all(name, *operands, domain=self._domain, outputs=outputs, **attributes)
            return found[0] if len(found) == 1 else tuple(found)

        operation.__name__ = operation.__qualname__ = name
        return operation


def domain(name: str) -> Domain:
    """The operators of a domain, as functions."""
    return Domain(name)


def __getattr__(name: str) -> Operation:
    """An operator of ONNX (`Gemm`), or an elementwise function of one value (`relu`)."""
    if name in _UNARY:
        return getattr(Domain(""), _UNARY[name])
    if name[:1].isupper():
        return getattr(Domain(""), name)
    raise AttributeError(f"mini_infer.ops has no function {name!r}")


def __dir__() -> list[str]:
    return sorted([*_UNARY, *__all__])


def constant(value: Operand, dtype: Any = None) -> GraphValue:
    """A constant; `dtype` is by default float32 for floats and int64 for integers, and that of an array."""
    found = as_graph_value(value)
    return found if dtype is None or found.dtype == np.dtype(dtype) else found.cast(dtype)


def matmul(a: Operand, b: Operand) -> GraphValue:
    """The matrix product, with numpy's broadcasting of leading axes."""
    return called("MatMul", a, b)


def maximum(a: Operand, b: Operand) -> GraphValue:
    """The larger of two elements."""
    return called("Max", *_alike(a, b))


def minimum(a: Operand, b: Operand) -> GraphValue:
    """The smaller of two elements."""
    return called("Min", *_alike(a, b))


def where(condition: Operand, a: Operand, b: Operand) -> GraphValue:
    """a where the condition (of booleans) holds, else b."""
    return called("Where", condition, *_alike(a, b))


def clip(x: GraphValue, low: Operand | None = None, high: Operand | None = None) -> GraphValue:
    """Elements limited to [low, high]."""
    return called("Clip", x, low, high)


def softmax(x: GraphValue, axis: int = -1) -> GraphValue:
    """exp(x) divided by its sum along an axis."""
    return called("Softmax", x, axis=axis)


def log_softmax(x: GraphValue, axis: int = -1) -> GraphValue:
    """The logarithm of softmax."""
    return called("LogSoftmax", x, axis=axis)


def gelu(x: GraphValue, approximate: str = "none") -> GraphValue:
    """x times the normal distribution's probability up to x; "tanh" is the usual approximation."""
    return called("Gelu", x, approximate=approximate)


def layer_norm(
    x: GraphValue, scale: Operand, bias: Operand | None = None, axis: int = -1, epsilon: float = 1e-5
) -> GraphValue:
    """Rows over the axes from `axis` on with mean 0 and variance 1, times scale plus bias."""
    return called("LayerNormalization", x, scale, bias, axis=axis, epsilon=epsilon)


def sum(x: GraphValue, axes: int | Sequence[int] | None = None, keepdims: bool = False) -> GraphValue:
    """The sum along axes, by default all."""
    return _reduced("ReduceSum", x, axes, keepdims)


def mean(x: GraphValue, axes: int | Sequence[int] | None = None, keepdims: bool = False) -> GraphValue:
    """The mean along axes, by default all."""
    return _reduced("ReduceMean", x, axes, keepdims)


def max(x: GraphValue, axes: int | Sequence[int] | None = None, keepdims: bool = False) -> GraphValue:
    """The largest element along axes, by default all."""
    return _reduced("ReduceMax", x, axes, keepdims)


def min(x: GraphValue, axes: int | Sequence[int] | None = None, keepdims: bool = False) -> GraphValue:
    """The smallest element along axes, by default all."""
    return _reduced("ReduceMin", x, axes, keepdims)


def prod(x: GraphValue, axes: int | Sequence[int] | None = None, keepdims: bool = False) -> GraphValue:
    """The product along axes, by default all."""
    return _reduced("ReduceProd", x, axes, keepdims)


def argmax(x: GraphValue, axis: int = -1, keepdims: bool = False) -> GraphValue:
    """The index (int64) of the largest element along an axis; of equal ones, the first."""
    return called("ArgMax", x, axis=axis, keepdims=int(keepdims))


def cumsum(x: GraphValue, axis: int = -1) -> GraphValue:
    """The sum of all elements up to each along an axis."""
    return called("CumSum", x, np.array(axis, np.int64))


def reshape(x: GraphValue, shape: Sequence[int]) -> GraphValue:
    """The elements in another shape, of which one size may be -1."""
    return x.reshape(shape)


def transpose(x: GraphValue, axes: Sequence[int] = ()) -> GraphValue:
    """The axes in another order, by default reversed."""
    return x.transpose(*axes)


def squeeze(x: GraphValue, axes: int | Sequence[int]) -> GraphValue:
    """Without axes of size 1."""
    return called("Squeeze", x, _axes(axes))


def unsqueeze(x: GraphValue, axes: int | Sequence[int]) -> GraphValue:
    """With further axes of size 1, by their places in the result."""
    return called("Unsqueeze", x, _axes(axes))


def broadcast_to(x: GraphValue, shape: Sequence[int]) -> GraphValue:
    """The value repeated along axes of size 1, and further axes in front."""
    return called("Expand", x, np.array(list(shape), object))


def concat(values: Sequence[Operand], axis: int = 0) -> GraphValue:
    """Values one after another along an axis."""
    return called("Concat", *values, axis=axis)


def stack(values: Sequence[GraphValue], axis: int = 0) -> GraphValue:
    """Values of one shape along a new axis."""
    return concat([unsqueeze(each, axis) for each in values], axis)


def split(x: GraphValue, sizes: Sequence[int], axis: int = 0) -> tuple[GraphValue, ...]:
    """Parts of these sizes along an axis."""
    found = called_all("Split", x, np.array(list(sizes), object), outputs=len(sizes), axis=axis)
    return tuple(each for each in found if each is not None)


def take(x: GraphValue, indices: Operand, axis: int = 0) -> GraphValue:
    """The elements with these indices (integers) along an axis; negative ones count from the end."""
    return called("Gather", x, indices, axis=axis)


def cast(x: GraphValue, dtype: Any) -> GraphValue:
    """The elements converted to another type, which numpy takes for a dtype."""
    return x.cast(dtype)


def full(shape: Sequence[int], value: float, dtype: Any = np.float32) -> GraphValue:
    """A value of that shape with the same number everywhere."""
    return broadcast_to(constant(np.array(value, dtype)), shape)


def arange(stop: int, dtype: Any = np.int64) -> GraphValue:
    """0, 1, ... below `stop`, which may be a size of run time."""
    return called("Range", constant(0), as_graph_value(stop, np.dtype(np.int64)), constant(1)).cast(dtype)


def _reduced(op_type: str, x: GraphValue, axes: int | Sequence[int] | None, keepdims: bool) -> GraphValue:
    return called(op_type, x, None if axes is None else _axes(axes), keepdims=int(keepdims))


def _axes(axes: int | Sequence[int]) -> Any:
    return np.array([axes] if isinstance(axes, int) else list(axes), np.int64)


def _alike(a: Operand, b: Operand) -> tuple[GraphValue, GraphValue]:
    """Both as values of one element type, where one of them is a number."""
    like = next((each.dtype for each in (a, b) if isinstance(each, GraphValue)), None)
    return as_graph_value(a, like), as_graph_value(b, like)
