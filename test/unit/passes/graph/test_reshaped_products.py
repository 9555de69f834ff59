"""Products, sums and reductions between reshapes, with batch dims of size 1 on either side, beside ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from import_cases import onnxruntime
from onnx import ModelProto, NodeProto, TensorProto, ValueInfoProto, helper, numpy_helper
from text_models import model_of, numbers

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

PRODUCTS: dict[str, tuple[str, list[tuple[int, ...]]]] = {
    "squeezed": (
        """(float[3,4] x, float[1,4,5] z) => (float[3,5] y) {
        a = Constant<value_ints=[0]>() v = Unsqueeze(x, a) b = MatMul(v, z) y = Squeeze(b, a) }""",
        [(3, 4), (1, 4, 5)],
    ),
    "of a larger batch": (
        """(float[6,4] x, float[1,4,5] z) => (float[6,5] y) {
        s = Constant<value_ints=[2,3,4]>() v = Reshape(x, s) b = MatMul(v, z)
        t = Constant<value_ints=[6,5]>() y = Reshape(b, t) }""",
        [(6, 4), (1, 4, 5)],
    ),
    "of the other side": (
        """(float[4,5] x, float[1,3,4] z) => (float[3,5] y) {
        a = Constant<value_ints=[0]>() v = Unsqueeze(x, a) b = MatMul(z, v) y = Squeeze(b, a) }""",
        [(4, 5), (1, 3, 4)],
    ),
    "of four dims, relu after it": (
        """(float[6,4] x, float[1,1,4,5] z) => (float[6,5] y) {
        s = Constant<value_ints=[1,1,6,4]>() v = Reshape(x, s) b = MatMul(v, z)
        t = Constant<value_ints=[6,5]>() c = Reshape(b, t) y = Relu(c) }""",
        [(6, 4), (1, 1, 4, 5)],
    ),
    "transposed": (
        """(float[3,4] x, float[1,5,4] z) => (float[3,5] y) {
        a = Constant<value_ints=[0]>() v = Unsqueeze(x, a) u = Transpose<perm=[0,2,1]>(z) b = MatMul(v, u)
        y = Squeeze(b, a) }""",
        [(3, 4), (1, 5, 4)],
    ),
    "of one column and row": (
        """(float[3,1] x, float[1,1,5] z) => (float[3,5] y) {
        a = Constant<value_ints=[0]>() v = Unsqueeze(x, a) b = MatMul(v, z) y = Squeeze(b, a) }""",
        [(3, 1), (1, 1, 5)],
    ),
    "of lower rank on the left": (
        """(float[1,1,4] x, float[4,5] z) => (float[1,5] y) {
        s = Constant<value_ints=[1,1,4,5]>() v = Reshape(z, s) b = MatMul(x, v)
        t = Constant<value_ints=[1,5]>() y = Reshape(b, t) }""",
        [(1, 1, 4), (4, 5)],
    ),
    "with a sum": (
        """(float[3,4] x, float[1,4,5] z, float[1,1,5] c) => (float[3,5] y) {
        a = Constant<value_ints=[0]>() v = Unsqueeze(x, a) b = MatMul(v, z) d = Add(b, c) y = Squeeze(d, a) }""",
        [(3, 4), (1, 4, 5), (1, 1, 5)],
    ),
    "of rows of run time": (
        """(float[rows,4] x, float[1,4,5] z) => (float[rows,5] y) {
        a = Constant<value_ints=[0]>() v = Unsqueeze(x, a) b = MatMul(v, z) y = Squeeze(b, a) }""",
        [(3, 4), (1, 4, 5)],
    ),
    "of a batch of run time": (
        """(float[batch,3,4] x, float[1,4,5] z) => (float[rows,5] y) {
        s = Constant<value_ints=[-1,4]>() u = Reshape(x, s) a = Constant<value_ints=[0]>() v = Unsqueeze(u, a)
        b = MatMul(v, z) y = Squeeze(b, a) }""",
        [(2, 3, 4), (1, 4, 5)],
    ),
}


@pytest.mark.parametrize("text, shapes", PRODUCTS.values(), ids=PRODUCTS)
def test_products_between_reshapes(text: str, shapes: Sequence[Sequence[int]]) -> None:
    model = model_of(f"g {text}")
    feeds = {
        given.name: numbers(*shape, seed=place)
        for place, (given, shape) in enumerate(zip(model.graph.input, shapes, strict=True))
    }
    dynamic = any(size.dim_param for given in model.graph.input for size in given.type.tensor_type.shape.dim)
    compiled = mi.compile(model, enable_dynamic_shapes=dynamic)
    for repeats in (1, 2) if dynamic else (1,):
        fed = {name: np.repeat(x, repeats, 0) if name == "x" else x for name, x in feeds.items()}
        (expected,) = onnxruntime(model, fed)
        np.testing.assert_allclose(compiled(fed)["y"], expected, rtol=0, atol=1e-5)


ROWS = 7
"""A size that is of run time in models that have it: no other size is a multiple of it."""


class Reshaped:
    """Grows a model of moves of dims around products, sums and reductions, some with a dim of run time."""

    def __init__(self, seed: int, any_rows: bool = False) -> None:
        self.sizes = [1, 1, 2, 3, ROWS if any_rows else 4]
        self.random = np.random.default_rng(seed)
        self.nodes: list[NodeProto] = []
        self.weights: list[TensorProto] = []
        self.feeds: dict[str, Array] = {}
        self.values: dict[str, tuple[int, ...]] = {}
        self.given()

    def integer(self, low: int, high: int) -> int:
        """A number in [low, high)."""
        return int(self.random.integers(low, high))

    def chance(self, likely: float) -> bool:
        """True so often."""
        return bool(self.random.random() < likely)

    def given(self, shape: tuple[int, ...] | None = None) -> str:
        """An input, or now and then a weight."""
        if shape is None:
            shape = (*self.random.choice(self.sizes, self.integer(1, 4)).tolist(),)
        array = np.asarray(self.random.standard_normal(shape), np.float32)
        name = f"x{len(self.values)}"
        if self.values and all(size % ROWS for size in shape) and self.chance(0.25):
            self.weights.append(numpy_helper.from_array(array, name))
        else:
            self.feeds[name] = array
        self.values[name] = shape
        return name

    def pick(self) -> str:
        """A value, the latest ones most often."""
        names = list(self.values)
        return names[-1 - min(int(self.random.exponential(1.2)), len(names) - 1)]

    def add(
        self,
        op: str,
        operands: Sequence[str],
        shape: Sequence[int],
        numbers: Sequence[int] | None = None,
        **attributes: Any,
    ) -> str:
        """Adds a node; `numbers` are its last operand."""
        name = f"v{len(self.values)}"
        operands = list(operands)
        if numbers is not None:
            operands.append(f"{name}_numbers")
            self.weights.append(numpy_helper.from_array(np.array(numbers, np.int64), operands[-1]))
        self.nodes.append(helper.make_node(op, operands, [name], name, **attributes))
        self.values[name] = (*shape,)
        return name

    def grow(self, steps: int) -> ModelProto:
        """Adds so many nodes; the model's outputs are what nothing reads."""
        makers: list[Callable[[], None]] = [
            self.reshape,
            *[self.reshape_rows] * 4,
            self.unsqueeze,
            self.squeeze,
            self.transpose,
            self.expand,
        ]
        makers += [self.matmul, self.matmul, self.matmul, self.binary, self.binary, self.reduce, self.unary]
        while len(self.nodes) < steps:
            makers[self.integer(0, len(makers))]()
        read = {name for node in self.nodes for name in node.input}
        outputs = [name for name in self.values if name.startswith("v") and name not in read]

        def sizes(name: str) -> list[int | str]:
            return [
                "rows" if size == ROWS else f"rows_{size}" if size and size % ROWS == 0 else size
                for size in self.values[name]
            ]

        def infos(names: Sequence[str]) -> list[ValueInfoProto]:
            return [helper.make_tensor_value_info(name, TensorProto.FLOAT, sizes(name)) for name in names]

        graph = helper.make_graph(self.nodes, "reshaped", infos(list(self.feeds)), infos(outputs), self.weights)
        return helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 18)])

    def reshape(self) -> None:
        x = self.pick()
        self.to_shape(x, self.shape_of_elements(int(np.prod(self.values[x]))))

    def reshape_rows(self) -> None:
        """The last dim stays."""
        x = self.pick()
        if len(self.values[x]) > 1 and self.values[x][-1] % ROWS:
            self.to_shape(x, [*self.shape_of_elements(int(np.prod(self.values[x][:-1]))), self.values[x][-1]])

    def shape_of_elements(self, elements: int) -> list[int]:
        """A random shape, with dims of size 1 anywhere."""
        shape = list[int]()
        while elements > 1 and len(shape) < 4:
            divisors = [size for size in range(2, elements + 1) if elements % size == 0]
            size = divisors[self.integer(0, len(divisors))] if len(shape) < 3 else elements
            shape.append(size)
            elements //= size
        for _ in range(self.integer(0, 3)):
            shape.insert(self.integer(0, len(shape) + 1), 1)
        return shape

    def to_shape(self, x: str, shape: Sequence[int]) -> None:
        """Reshapes a value, unless two of its dims would be of run time."""
        if len(shape) < 5 and np.prod(shape, dtype=int) % ROWS**2:
            self.add("Reshape", [x], shape, [-1 if size % ROWS == 0 else size for size in shape])

    def unsqueeze(self) -> None:
        x = self.pick()
        shape = list(self.values[x])
        at = self.integer(0, len(shape) + 1)
        shape.insert(at, 1)
        if len(shape) < 5:
            self.add("Unsqueeze", [x], shape, [at])

    def squeeze(self) -> None:
        x = self.pick()
        ones = [axis for axis, size in enumerate(self.values[x]) if size == 1 and self.chance(0.7)]
        if ones:
            self.add("Squeeze", [x], [size for axis, size in enumerate(self.values[x]) if axis not in ones], ones)

    def transpose(self) -> None:
        x = self.pick()
        if not self.values[x]:
            return
        order = [int(axis) for axis in self.random.permutation(len(self.values[x]))]
        self.add("Transpose", [x], [self.values[x][axis] for axis in order], perm=order)

    def expand(self) -> None:
        x = self.pick()
        shape = [self.integer(1, 4) if size == 1 else size for size in self.values[x]]
        if len(shape) < 4 and self.chance(0.3):
            shape.insert(0, self.integer(1, 3))
        if np.prod(shape) < 500:
            self.add("Expand", [x], shape, [1 if size % ROWS == 0 else size for size in shape])

    def matmul(self) -> None:
        x = self.pick()
        shape = self.values[x]
        if len(shape) < 2:
            return
        batch = [1 if self.chance(0.5) else size for size in shape[:-2]][self.integer(0, len(shape) - 1) :]
        if self.chance(0.2) and len(shape) < 4:
            batch = [self.integer(1, 3)] * (len(shape) - 2 - len(batch) + 1) + batch
        left = self.chance(0.3)
        matrix = (self.integer(1, 5), shape[-2]) if left else (shape[-1], self.integer(1, 5))
        fitting = [
            name
            for name, other in self.values.items()
            if len(other) > 1 and other[-1 if left else -2] == shape[-2 if left else -1]
        ]
        other = (
            fitting[self.integer(0, len(fitting))] if fitting and self.chance(0.4) else self.given((*batch, *matrix))
        )
        pair = [other, x] if left else [x, other]
        try:
            result = np.matmul(*(np.zeros(self.values[name]) for name in pair)).shape
        except ValueError:
            return
        if np.prod(result) < 500:
            self.add("MatMul", pair, result)

    def binary(self) -> None:
        x = self.pick()
        shape = self.values[x]
        other = (
            self.pick()
            if self.chance(0.4)
            else self.given((*(1 if self.chance(0.5) else size for size in shape),)[self.integer(0, len(shape) + 1) :])
        )
        pair = [x, other] if self.chance(0.5) else [other, x]
        try:
            result = np.broadcast_shapes(shape, self.values[other])
        except ValueError:
            return
        if np.prod(result) < 500:
            self.add(["Add", "Mul", "Sub", "Max"][self.integer(0, 4)], pair, result)

    def reduce(self) -> None:
        x = self.pick()
        shape = self.values[x]
        axes = [axis for axis in range(len(shape)) if self.chance(0.4)]
        keep = self.chance(0.5)
        if axes:
            left = [1 if axis in axes else size for axis, size in enumerate(shape) if keep or axis not in axes]
            self.add(["ReduceSum", "ReduceMean", "ReduceMax"][self.integer(0, 3)], [x], left, axes, keepdims=int(keep))

    def unary(self) -> None:
        x = self.pick()
        if self.values[x] and self.chance(0.3):
            self.add("Softmax", [x], self.values[x], axis=self.integer(-1, len(self.values[x])))
        else:
            self.add(["Relu", "Tanh"][self.integer(0, 2)], [x], self.values[x])


@pytest.mark.thinned(10)
@pytest.mark.parametrize("seed", range(100))
def test_random_moves_around_products(seed: int) -> None:
    grown = Reshaped(seed, any_rows=seed % 2 == 1)
    model = grown.grow(10)
    compiled = mi.compile(model, enable_dynamic_shapes=True)
    for rows in (ROWS, 1, 4) if seed % 2 else (ROWS,):
        feeds = {name: at_rows(array, rows) for name, array in grown.feeds.items()}
        outputs = compiled(feeds)
        for output, expected in zip(model.graph.output, onnxruntime(model, feeds), strict=True):
            scale = max(1, float(np.abs(expected).max(initial=0)))
            np.testing.assert_allclose(outputs[output.name], expected, rtol=0, atol=2e-5 * scale, err_msg=output.name)


def at_rows(array: Array, rows: int) -> Array:
    """The array with another number of rows."""
    return array[(*(slice(size // ROWS * rows) if size % ROWS == 0 else slice(None) for size in array.shape), ...)]
