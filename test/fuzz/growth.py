"""Random ONNX graphs that are valid by construction: every node is evaluated, by ONNX's own reference, as it is added.

So each value's shape, type and numbers are known when the next node is chosen: indices are legal, divisors are not
near zero, and what would overflow, lose its digits or be too large is not added. Every node is evaluated twice, in
its own types and with float64 for every float; a value whose two versions differ much is no basis for a comparison.

Where a rounding error may change a result altogether (a comparison, a rounding, an index), only exact values are
read: those that every implementation must give bit by bit, such as inputs and what merely moves them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

import ml_dtypes
import numpy as np
from fuzz.reference import evaluate
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, defs, helper, numpy_helper

from mini_infer.dialects.graph.narrow_types import narrow_types
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.onnx_to_graph.model_description import with_inferred_shapes

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
FLOATS = (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.float16), BFLOAT16)
LARGEST = 4000  # elements of a value
OLDEST = 7  # opset
NEWEST = 24


class Misfit(Exception):
    """A node can't be added to the graph as it is."""


@dataclass(frozen=True, eq=False)
class Value:
    """A value of the graph: its array, the same with float64 for floats, and whether all must agree in every bit."""

    name: str
    array: Array
    wide: Array
    exact: bool

    @property
    def shape(self) -> tuple[int, ...]:
        return self.array.shape

    @property
    def rank(self) -> int:
        return self.array.ndim

    @property
    def is_float(self) -> bool:
        return self.array.dtype in FLOATS


@dataclass
class Case:
    """A model with inputs for it; where it has named dimensions, with their ranges and inputs of other shapes too."""

    model: ModelProto
    inputs: dict[str, Array]
    ranges: dict[str, tuple[int, int, int]] = field(default_factory=dict[str, "tuple[int, int, int]"])
    others: list[dict[str, Array]] = field(default_factory=list["dict[str, Array]"])
    is_fixed: bool = False  # what it holds hangs on its sizes
    caches: dict[str, str] = field(default_factory=dict[str, str])  # inputs with the outputs in their memory


Maker: TypeAlias = "Callable[[Growth], None]"  # adds a node, or a few; may raise Misfit


def onnx_type(dtype: np.dtype[Any]) -> int:
    """ONNX's number of an element type."""
    return helper.np_dtype_to_tensor_dtype(dtype)


def distance(found: Array, expected: Array) -> float:
    """max|found - expected| / max|expected|, in float64; equal infinities and NaNs don't differ."""
    found, expected = found.astype(np.float64), expected.astype(np.float64)
    with np.errstate(all="ignore"):
        same = (found == expected) | (np.isnan(found) & np.isnan(expected))
        off = np.where(same, 0.0, np.abs(found - expected))
    if not off.size or not off.any():
        return 0.0
    scale = np.max(np.abs(expected), where=np.isfinite(expected), initial=0.0)
    return float(np.max(off) / (scale or 1.0)) if np.isfinite(off).all() else float("inf")


WIDE = {TensorProto.FLOAT, TensorProto.FLOAT16, TensorProto.BFLOAT16}
TYPE_ATTRIBUTES = ("to", "dtype", "stash_type", "output_dtype", "output_datatype", "softmax_precision")


def widened(node: NodeProto) -> NodeProto:
    """A node that makes float64 where the given one makes another float."""
    wide = NodeProto()
    wide.CopyFrom(node)
    if node.op_type == "ConstantOfShape" and not node.attribute:
        wide.attribute.append(helper.make_attribute("value", numpy_helper.from_array(np.zeros(1))))
    for attribute in wide.attribute:
        if attribute.name in TYPE_ATTRIBUTES and attribute.i in WIDE:
            attribute.i = TensorProto.DOUBLE
        if attribute.HasField("t") and attribute.t.data_type in WIDE:
            array = numpy_helper.to_array(attribute.t)
            attribute.t.CopyFrom(numpy_helper.from_array(array.astype(np.float64), attribute.t.name))
        if attribute.HasField("g"):
            inner = [widened(each) for each in attribute.g.node]
            del attribute.g.node[:]
            attribute.g.node.extend(inner)
            for value in (*attribute.g.input, *attribute.g.output):
                if value.type.tensor_type.elem_type in WIDE:
                    value.type.tensor_type.elem_type = TensorProto.DOUBLE
    return wide


def wide_array(array: Array) -> Array:
    """The array with float64 for any float."""
    return array.astype(np.float64) if array.dtype in FLOATS else array


def evaluated(nodes: Sequence[NodeProto], opset: int, inputs: dict[str, Array], wide: bool = False) -> list[Array]:
    """The last node's results by onnx.reference; Misfit where their shapes are not those that ONNX infers.

    `wide`: nodes and inputs have float64 for every float, which not all operators may give.
    """
    graph = helper.make_graph(
        nodes,
        "one",
        [helper.make_tensor_value_info(name, onnx_type(array.dtype), array.shape) for name, array in inputs.items()],
        [helper.make_tensor_value_info(name, TensorProto.UNDEFINED, None) for name in nodes[-1].output if name],
    )
    model = _model(graph, opset)
    results = evaluate(model, inputs)
    if not as_inferred(model, results, wide):
        raise Misfit
    return results


def _model(graph: GraphProto, opset: int) -> ModelProto:
    domains = {node.domain: 1 for node in graph.node} | {"": opset}
    if "ai.onnx.ml" in domains:  # the latest one has TreeEnsemble in place of older operators
        domains["ai.onnx.ml"] = 5 if any(node.op_type == "TreeEnsemble" for node in graph.node) else 4
    imports = [helper.make_opsetid(domain, version) for domain, version in domains.items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=10)


def as_inferred(model: ModelProto, results: Sequence[Array], wide: bool = False) -> bool:
    """Whether results have the types and shapes that ONNX infers, or with `wide` float64 for another float.

    The reference has its own mind on windows that are rounded up beside padding on one side only, for example.
    """
    for value, array in zip(with_inferred_shapes(model).graph.output, results, strict=True):
        kind = value.type.tensor_type
        is_wide = wide and array.dtype == np.float64 and kind.elem_type in WIDE
        if kind.elem_type and kind.elem_type != onnx_type(array.dtype) and not is_wide:
            return False
        sizes = zip(kind.shape.dim, array.shape, strict=bool(kind.shape.dim))
        if any(dim.HasField("dim_value") and dim.dim_value != size for dim, size in sizes):
            return False
    return True


@dataclass
class Growth:
    """A graph that grows node by node."""

    seed: int
    values: list[Value] = field(default_factory=list[Value])
    nodes: list[NodeProto] = field(default_factory=list[NodeProto])
    weights: dict[str, Array] = field(default_factory=dict[str, Array])
    inputs: dict[str, Array] = field(default_factory=dict[str, Array])
    is_fixed: bool = False  # whether numbers that it was given hang on its sizes
    caches: dict[str, str] = field(default_factory=dict[str, str])  # inputs with the values that update them

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)
        self.opset = self.integer(OLDEST, NEWEST + 1) if self.chance(0.6) else self.integer(17, NEWEST + 1)
        if self.chance(0.1):
            self.opset = self.integer(NEWEST + 1, defs.onnx_opset_version() + 1)  # which ONNX Runtime doesn't know yet
        self.dtype = FLOATS[int(self.random.choice(len(FLOATS), p=[0.76, 0.1, 0.08, 0.06]))]
        if self.dtype == BFLOAT16:
            self.opset = max(self.opset, 13)  # hardly an operator took it before
        self._names = 0
        self._read: set[str] = set()
        self._known: dict[str, Value] = {}

    # Numbers.

    def integer(self, low: int, high: int) -> int:
        """A number in [low, high)."""
        return int(self.random.integers(low, high))

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def choose(self, items: Sequence[Any]) -> Any:
        """One of the items; Misfit where there are none."""
        if not items:
            raise Misfit
        return items[self.integer(0, len(items))]

    def shape(self, rank: int | None = None) -> list[int]:
        """Small sizes, 1 more often than others, 0 now and then."""
        count: int = self.choose([0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4, 5]) if rank is None else rank
        sizes = [int(self.random.choice([1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33])) for _ in range(count)]
        sizes = [1 if self.chance(0.15) else size for size in sizes]
        while np.prod(sizes) > LARGEST:
            sizes[int(np.argmax(sizes))] //= 2
        if sizes and self.chance(0.015):
            sizes[self.integer(0, count)] = 0
        return sizes

    def broadcasting(self, shape: Sequence[int], leading: bool = True) -> list[int]:
        """A shape that broadcasts to another one: of any rank from 0 on, and with `leading` ones in front of it too."""
        sizes = [size if self.chance(0.6) else 1 for size in shape]
        if leading and self.chance(0.1):
            return [*[1] * self.integer(1, 3), *sizes]
        return sizes[self.choose([0, len(sizes), self.integer(0, len(sizes) + 1)]) :]

    def numbers(self, shape: Sequence[int], dtype: Any = None) -> Array:
        """Normal floats, small integers, truth values."""
        dtype = np.dtype(dtype or self.dtype)
        if dtype == np.bool_:
            return self.random.random(shape) < 0.5
        if dtype.kind in "iu":
            return self.random.integers(0 if dtype.kind == "u" else -9, 10, shape).astype(dtype)
        floats = self.random.standard_normal(shape)
        if self.chance(0.1):
            floats = np.round(floats * 2) / 2  # ties and zeros
        return np.asarray(floats).astype(dtype)

    # Values.

    def input(self, shape: Sequence[int], dtype: Any = None) -> Value:
        """A new input of the graph."""
        name = f"x{len(self.inputs)}"
        self.inputs[name] = self.numbers(shape, dtype)
        return self._given(name, self.inputs[name])

    def constant(self, array: Any, dtype: Any = np.int64) -> Value:
        """A new initialiser: an array as it is, or numbers of a type."""
        made = cast(Array, array) if isinstance(array, np.ndarray) else np.array(array, dtype)
        name = f"w{len(self.weights)}"
        self.weights[name] = made
        value = Value(name, made, wide_array(made), True)
        self._known[name] = value
        return value

    def weight(self, shape: Sequence[int], dtype: Any = None, scale: float = 1.0) -> Value:
        """A random initialiser; sometimes an input instead, sometimes one number for all elements."""
        dtype = dtype or self.dtype
        if self.chance(0.1):
            return self.input(shape, dtype)
        array = self.numbers(shape, dtype)
        if self.chance(0.1) and array.size:
            array = np.full(shape, array.flat[0], array.dtype)
        if np.dtype(dtype) in FLOATS and scale != 1.0:
            array = (array.astype(np.float64) * scale).astype(dtype)
        return self.constant(np.asarray(array))

    def operand(self, array: Any, dtype: Any = np.int64, given: float = 0.2) -> Value:
        """Certain numbers: an initialiser, or with the probability `given` an input."""
        if not self.chance(given):
            return self.constant(array, dtype)
        made = cast(Array, array) if isinstance(array, np.ndarray) else np.array(array, dtype)
        name = f"x{len(self.inputs)}"
        self.inputs[name] = made
        return self._given(name, made)

    def _given(self, name: str, array: Array) -> Value:
        value = Value(name, array, wide_array(array), True)
        self.values.append(value)
        self._known[name] = value
        return value

    def pick(self, fits: Callable[[Value], bool] = lambda value: True) -> Value:
        """A value that fits, the latest ones most often."""
        fitting = [value for value in self.values if fits(value)]
        if not fitting:
            raise Misfit
        return fitting[-1 - min(int(self.random.exponential(3)), len(fitting) - 1)]

    def floats(self, rank: int | None = None, least: int = 0, exact: bool = False) -> Value:
        """A value of a float type."""
        return self.pick(
            lambda value: (
                value.is_float
                and value.rank >= least
                and (rank is None or value.rank == rank)
                and (value.exact or not exact)
            )
        )

    def axis(self, value: Value) -> int:
        """One of its dimensions."""
        if not value.rank:
            raise Misfit
        return self.integer(0, value.rank)

    def signed(self, axis: int, rank: int) -> int:
        """The axis, sometimes counted from the end."""
        return axis - rank if self.chance(0.3) else axis

    # Nodes.

    def takes(self, op_type: str, operand: str) -> bool:
        """Whether the operator, in this opset, has such an operand: older ones have an attribute instead."""
        return any(formal.name == operand for formal in self.schema(op_type).inputs)

    def has(self, op_type: str, attribute: str) -> bool:
        """Whether the operator, in this opset, has such an attribute."""
        return attribute in self.schema(op_type).attributes

    def schema(self, op_type: str) -> Any:
        """ONNX's definition of an operator in this opset; Misfit where there is none."""
        try:
            schema = defs.get_schema(op_type, self.opset, "")
        except defs.SchemaError:
            raise Misfit from None
        if schema.deprecated:
            raise Misfit
        return schema

    def add(
        self,
        op_type: str,
        *operands: Value | None,
        results: int | Sequence[int] = 1,
        moves: bool = False,
        reads: Sequence[Value] = (),
        domain: str = "",
        **given: Any,
    ) -> Value:
        """Adds a node and gives its first result. `results`: how many are wanted, or which. `moves`: it computes
        nothing, or nothing that is rounded. `reads`: what its graphs take from outside.

        Attributes that are None are left out.
        """
        if not domain and defs.has(op_type):
            self._check_types(op_type, operands)
        names = ["" if value is None else value.name for value in operands]
        while names and not names[-1]:
            names.pop()
        wanted = range(results) if isinstance(results, int) else results
        made = [f"v{self._names + index}" if index in wanted else "" for index in range(max(wanted) + 1)]
        attributes = {key: value for key, value in given.items() if value is not None}
        node = helper.make_node(op_type, names, made, f"{op_type}_{len(self.nodes)}", domain=domain, **attributes)
        taken = [value for value in (*operands, *reads) if value is not None]
        exact = all(value.exact for value in taken)
        found = self._evaluated(node, taken)
        values = [
            Value(name, array, wide, exact and (moves or array.dtype not in FLOATS))
            for name, (array, wide) in zip(filter(None, made), found, strict=True)
        ]
        for value in values:
            self._check(value, exact)
        self._keep([node], values, taken)
        return values[0]

    def chain(self, nodes: Sequence[NodeProto], taken: Sequence[Value], moves: bool = True) -> Value:
        """Adds nodes whose last one makes a tensor of what is taken, by way of what is none, or no basis for others.

        `moves`: they compute nothing, or nothing that is rounded.
        """
        names = {name: f"{name}_{len(self.nodes)}" for node in nodes for name in node.output}
        last = nodes[-1].output[0]
        names[last] = f"v{self._names}"
        for node in nodes:
            if not node.domain:
                self.schema(node.op_type)
            for listed in (node.input, node.output):
                listed[:] = [names.get(name, name) for name in listed]
            node.name = f"{node.op_type}_{len(self.nodes)}_{node.output[0]}"
        found: list[Array] = []
        for wide in (False, True):
            made = [widened(node) for node in nodes] if wide else nodes
            arrays = {value.name: value.wide if wide else value.array for value in taken}
            try:
                found.append(evaluated(made, self.opset, arrays, wide)[0])
            except Exception as error:
                raise Misfit from error
        exact = all(each.exact for each in taken) and (moves or found[0].dtype not in FLOATS)
        value = Value(names[last], found[0], found[1], exact)
        self._check(value, value.exact)
        self._keep(nodes, [value], taken)
        return value

    def _keep(self, nodes: Sequence[NodeProto], values: Sequence[Value], taken: Sequence[Value]) -> None:
        self.nodes += nodes
        self._names += sum(len(node.output) for node in nodes)
        self._read.update(value.name for value in taken)
        self.values += values
        self._known.update({value.name: value for value in values})

    def _check_types(self, op_type: str, operands: Sequence[Value | None]) -> None:
        """Misfit unless the operator takes operands of these types."""
        schema = self.schema(op_type)
        chosen: dict[str, np.dtype[Any]] = {}
        for index, value in enumerate(operands):
            if value is None:
                continue
            formal = schema.inputs[min(index, len(schema.inputs) - 1)]
            dtype = value.array.dtype
            if f"tensor({_type_name(dtype)})" not in formal.types:
                raise Misfit
            if chosen.setdefault(formal.type_str, dtype) != dtype and formal.is_homogeneous:
                raise Misfit

    def _evaluated(self, node: NodeProto, operands: Sequence[Value]) -> list[tuple[Array, Array]]:
        try:
            narrow = evaluated([node], self.opset, {value.name: value.array for value in operands})
            wide = evaluated([widened(node)], self.opset, {value.name: value.wide for value in operands}, wide=True)
        except Exception as error:  # whatever the reference can't do is left out
            raise Misfit from error
        if [each.shape for each in narrow] != [each.shape for each in wide]:
            raise Misfit
        return list(zip(narrow, wide, strict=True))

    def _check(self, value: Value, exact: bool) -> None:
        """Misfit for a result that is no basis for what follows."""
        array, wide = value.array, value.wide
        if array.dtype.kind not in "fiub" and array.dtype != BFLOAT16 and not (exact and array.dtype in narrow_types()):
            raise Misfit
        if array.size > LARGEST or array.ndim > 6:
            raise Misfit
        if not value.is_float:
            if not exact or (array.dtype.kind in "iu" and array.size and np.abs(array.astype(np.float64)).max() > 1e6):
                raise Misfit
            return
        limit = 1e2 if array.dtype in FLOATS[2:] else 1e4
        if wide.dtype != np.float64 or not np.isfinite(wide).all():
            raise Misfit
        largest = np.abs(wide).max(initial=0)
        if largest > limit or 0 < largest < 1e-9:  # so little is what rounding left of numbers that cancel
            raise Misfit
        if distance(array, wide) > {2: 3e-2, 4: 1e-4, 8: 1e-10}[array.dtype.itemsize]:
            raise Misfit

    def case(self) -> Case:
        """The model: its outputs are what nothing reads, and some other values."""
        made = {name for node in self.nodes for name in node.output}
        kept = self.caches.values()
        outputs = [
            value
            for value in self.values
            if value.name in made and (value.name not in self._read or value.name in kept or self.chance(0.1))
        ]
        weights = [numpy_helper.from_array(array, name) for name, array in self.weights.items()]
        as_nodes = {tensor.name for tensor in weights if self.chance(0.1)}
        constants = [
            helper.make_node("Constant", [], [tensor.name], f"Constant_{tensor.name}", value=tensor)
            for tensor in weights
            if tensor.name in as_nodes
        ]
        graph = helper.make_graph(
            [*constants, *self.nodes],
            f"seed{self.seed}",
            [_described(name, array) for name, array in self.inputs.items()],
            [_described(value.name, value.array) for value in outputs],
            [tensor for tensor in weights if tensor.name not in as_nodes],
        )
        return Case(_model(graph, self.opset), dict(self.inputs), is_fixed=self.is_fixed, caches=self.caches)


def _described(name: str, array: Array) -> Any:
    return helper.make_tensor_value_info(name, onnx_type(array.dtype), array.shape)


def _type_name(dtype: np.dtype[Any]) -> str:
    known = {"float32": "float", "float64": "double"}
    return known.get(dtype.name, dtype.name.replace("_", ""))
