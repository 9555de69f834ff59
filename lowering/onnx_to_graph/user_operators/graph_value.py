"""GraphValue: a tensor of the graph under construction, with Python's operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias, cast

import numpy as np
from typing_extensions import override
from xdsl.ir import SSAValue

from ....dialects.arguments import shown
from ....dialects.errors import OperatorError
from ....dialects.graph.values import Array, element_type_of_value, is_float_dtype, numpy_dtype, shape_of
from ....dialects.sizes.sizes import is_fixed
from .basic_indices import basic_indices
from .operator_calls import Composition, current

Operand: TypeAlias = "GraphValue | Array | float | int | bool | Sequence[Any]"
"""What stands for a value: a graph value, an array, a number, or a (nested) list of numbers."""


class GraphValue:
    """A tensor of the graph: its shape and element type are known, and its elements when the model runs.

    `+ - * / // % ** @`, comparisons (`==` too) and `& | ^ ~` act element by element with numpy's broadcasting and make
    new values; a number beside a value becomes a constant of its element type. `x[...]` takes integers,
    slices, None and `...`. There is no truth value: ops.where selects.
    """

    __slots__ = ("_graph", "_value")
    __array_ufunc__ = None  # numpy leaves operators to this class

    def __init__(self, value: SSAValue, graph: Composition) -> None:
        """Not for users: values come from the operator's inputs and from functions on them."""
        self._value, self._graph = value, graph

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes; one that is known only at run time is an integer with a formula (see TensorType)."""
        return shape_of(self._value)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return numpy_dtype(element_type_of_value(self._value))

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @override
    def __repr__(self) -> str:
        return f"GraphValue({self.dtype}[{', '.join(map(str, self.shape))}])"

    # Operators.

    def __add__(self, other: Operand) -> GraphValue:
        return called("Add", self, other)

    def __radd__(self, other: Operand) -> GraphValue:
        return called("Add", other, self)

    def __sub__(self, other: Operand) -> GraphValue:
        return called("Sub", self, other)

    def __rsub__(self, other: Operand) -> GraphValue:
        return called("Sub", other, self)

    def __mul__(self, other: Operand) -> GraphValue:
        return called("Mul", self, other)

    def __rmul__(self, other: Operand) -> GraphValue:
        return called("Mul", other, self)

    def __truediv__(self, other: Operand) -> GraphValue:
        return _quotient(self, other)

    def __rtruediv__(self, other: Operand) -> GraphValue:
        return _quotient(other, self)

    def __floordiv__(self, other: Operand) -> GraphValue:
        return _floor_quotient(self, other)

    def __rfloordiv__(self, other: Operand) -> GraphValue:
        return _floor_quotient(other, self)

    def __mod__(self, other: Operand) -> GraphValue:
        return _remainder(self, other)

    def __rmod__(self, other: Operand) -> GraphValue:
        return _remainder(other, self)

    def __pow__(self, other: Operand) -> GraphValue:
        return called("Pow", self, other)

    def __rpow__(self, other: Operand) -> GraphValue:
        return called("Pow", other, self)

    def __matmul__(self, other: Operand) -> GraphValue:
        return called("MatMul", self, other)

    def __rmatmul__(self, other: Operand) -> GraphValue:
        return called("MatMul", other, self)

    def __neg__(self) -> GraphValue:
        return called("Neg", self)

    def __pos__(self) -> GraphValue:
        return self

    def __abs__(self) -> GraphValue:
        return called("Abs", self)

    def __lt__(self, other: Operand) -> GraphValue:
        return called("Less", self, other)

    def __le__(self, other: Operand) -> GraphValue:
        return called("LessOrEqual", self, other)

    def __gt__(self, other: Operand) -> GraphValue:
        return called("Greater", self, other)

    def __ge__(self, other: Operand) -> GraphValue:
        return called("GreaterOrEqual", self, other)

    @override
    def __eq__(self, other: Operand) -> GraphValue:  # pyright: ignore[reportIncompatibleMethodOverride]
        return called("Equal", self, other)

    @override
    def __ne__(self, other: Operand) -> GraphValue:  # pyright: ignore[reportIncompatibleMethodOverride]
        return called("Not", called("Equal", self, other))

    __hash__ = object.__hash__

    def __and__(self, other: Operand) -> GraphValue:
        return called(f"{self._bitwise()}And", self, other)

    def __rand__(self, other: Operand) -> GraphValue:
        return called(f"{self._bitwise()}And", other, self)

    def __or__(self, other: Operand) -> GraphValue:
        return called(f"{self._bitwise()}Or", self, other)

    def __ror__(self, other: Operand) -> GraphValue:
        return called(f"{self._bitwise()}Or", other, self)

    def __xor__(self, other: Operand) -> GraphValue:
        return called(f"{self._bitwise()}Xor", self, other)

    def __rxor__(self, other: Operand) -> GraphValue:
        return called(f"{self._bitwise()}Xor", other, self)

    def __invert__(self) -> GraphValue:
        return called(f"{self._bitwise()}Not", self)

    def _bitwise(self) -> str:
        return "" if self.dtype == np.bool_ else "Bitwise"

    def __getitem__(self, key: Any) -> GraphValue:
        return _indexed(self, cast("tuple[Any, ...]", key) if isinstance(key, tuple) else (key,))

    # What would need elements.

    def __bool__(self) -> NoReturn:
        raise TypeError("the truth of a graph value is known when the model runs: select with ops.where")

    def __iter__(self) -> NoReturn:
        raise TypeError("a graph value can't be iterated over: index it, or split it with ops.split")

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a graph value is no array: use the functions of mini_infer.ops instead of numpy's")

    def __float__(self) -> NoReturn:
        raise TypeError("the elements of a graph value are known when the model runs")

    __int__ = __index__ = __float__

    # Shape and type.

    @property
    def T(self) -> GraphValue:
        """The value with its axes in reverse order."""
        return self.transpose()

    def reshape(self, *shape: Any) -> GraphValue:
        """The elements in another shape, as integers or one sequence; one of them may be -1."""
        one = len(shape) == 1 and isinstance(shape[0], Sequence)
        sizes: list[int] = list(cast("Sequence[int]", shape[0] if one else shape))
        return called("Reshape", self, np.array(sizes, object), allowzero=int(0 in sizes and -1 not in sizes))

    def transpose(self, *axes: int) -> GraphValue:
        """The axes in another order, by default reversed."""
        return called("Transpose", self, perm=list(axes) or list(range(self.rank))[::-1])

    def cast(self, dtype: Any) -> GraphValue:
        """The elements converted to another type, which numpy takes for a dtype."""
        from onnx.helper import np_dtype_to_tensor_dtype

        return called("Cast", self, to=int(np_dtype_to_tensor_dtype(np.dtype(dtype))))


def raw(value: GraphValue) -> SSAValue:
    """The value in the IR: no attribute, which users would see. Raises OperatorError for another composition's."""
    if value._graph is not current():  # pyright: ignore[reportPrivateUsage]
        raise OperatorError(f"{value!r} is a value of another graph: an operator can't keep values from call to call")
    return value._value  # pyright: ignore[reportPrivateUsage]


def called_all(
    op_type: str, *operands: Operand | None, domain: str = "", outputs: int | None = None, **attributes: Any
) -> list[GraphValue | None]:
    """All results of an operator; None stands for an absent operand. Raises as the import of a node does."""
    graph = current()
    like = next((each.dtype for each in operands if isinstance(each, GraphValue)), None)
    given = [None if each is None else _as_value(each, like, graph) for each in operands]
    while given and given[-1] is None:
        given.pop()
    found: list[GraphValue | None] = []
    for each in graph.call(domain, op_type, given, attributes, outputs):
        if each is not None and not isinstance(each, SSAValue):
            raise OperatorError(f"{op_type} gives {each}, which is no graph value")
        found.append(None if each is None else GraphValue(each, graph))
    return found


def called(op_type: str, *operands: Operand | None, **attributes: Any) -> GraphValue:
    """The only, or the first, result of an operator of ONNX."""
    first = called_all(op_type, *operands, **attributes)[0]
    assert first is not None
    return first


def as_graph_value(value: Operand, like: np.dtype[Any] | None = None) -> GraphValue:
    """A value for what stands for one. Numbers take the element type `like`."""
    graph = current()
    return GraphValue(_as_value(value, like, graph), graph)


def _as_value(value: Any, like: np.dtype[Any] | None, graph: Composition) -> SSAValue:
    if isinstance(value, GraphValue):
        return raw(value)
    is_array = isinstance(value, np.ndarray | np.generic)
    items = cast("Array", np.asarray(cast("Any", value)) if is_array else np.array(value, object))
    if items.dtype != object:
        return graph.constant(items)
    if not is_fixed(*items.flat):
        constant = graph.constant(items)
        return (
            constant if like is None or like == np.int64 or items.ndim else raw(GraphValue(constant, graph).cast(like))
        )
    try:
        array = np.array(items.tolist())
    except ValueError:
        raise OperatorError(f"{shown(value)} is no value: its lists differ in length") from None
    if array.dtype.kind not in "biuf":
        raise OperatorError(
            f"{shown(value)} is no value: expected a graph value, an array, a number, or a list of numbers"
        )
    whole = array.dtype.kind != "f"
    if array.ndim == 0 and like is not None and (whole or is_float_dtype(like)) and array.dtype != np.bool_:
        return graph.constant(array.astype(like))
    floats = like if like is not None and is_float_dtype(like) else np.dtype(np.float32)
    return graph.constant(array if whole else array.astype(floats))


def _quotient(a: Operand, b: Operand) -> GraphValue:
    if any(isinstance(each, GraphValue) and each.dtype.kind in "biu" for each in (a, b)):
        raise OperatorError("/ of integers has no element type here: cast them to a float type, or divide by //")
    return called("Div", a, b)


def _floor_quotient(a: Operand, b: Operand) -> GraphValue:
    if _is_float(a, b):
        return called("Floor", called("Div", a, b))
    return called("Div", called("Sub", a, _remainder(a, b)), b)


def _remainder(a: Operand, b: Operand) -> GraphValue:
    """The remainder with the divisor's sign, as Python's."""
    if _is_float(a, b):
        return called("Sub", a, called("Mul", _floor_quotient(a, b), b))
    return called("Mod", a, b)


def _is_float(*operands: Operand) -> bool:
    return any(isinstance(each, GraphValue) and is_float_dtype(each.dtype) for each in operands)


def _indexed(value: GraphValue, key: tuple[Any, ...]) -> GraphValue:
    found = basic_indices(key, value.shape)
    if found.axes:
        lists = (found.starts, found.stops, found.axes, found.steps)
        value = called("Slice", value, *(np.array(each, object) for each in lists))
    if found.dropped:
        value = called("Squeeze", value, np.array(found.dropped, np.int64))
    return called("Unsqueeze", value, np.array(found.added, np.int64)) if found.added else value
