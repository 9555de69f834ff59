"""Branches and loops, and what selects as many elements as turn out when the model runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

import numpy as np
from fuzz.growth import FLOATS, Growth, Maker, Misfit, Value, onnx_type
from onnx import GraphProto, NodeProto, TensorProto, helper, numpy_helper

Described: TypeAlias = Mapping[str, tuple[int, Sequence[int]] | None]
"""Names with types and shapes; None for those of the body's own."""

BODY = ("Relu", "Tanh", "Neg", "Sigmoid", "Identity", "Add", "Mul", "Sub", "Max")


class Body:
    """A graph within a node: a few ops on values of one shape and type, its own and some from outside."""

    def __init__(self, g: Growth, prefix: str, shape: Sequence[int], dtype: np.dtype[Any]) -> None:
        self.g, self.prefix, self.shape, self.dtype = g, prefix, shape, dtype
        self.nodes: list[NodeProto] = []

    def name(self) -> str:
        return f"{self.prefix}{len(self.nodes)}"

    def node(self, op_type: str, *operands: str, **attributes: Any) -> str:
        made = self.name()
        self.nodes.append(helper.make_node(op_type, list(operands), [made], made, **attributes))
        return made

    def grow(self, names: Sequence[str]) -> str:
        """Some ops on values; the last result, which is never a value of outside itself."""
        known = list(names)
        for _ in range(self.g.integer(1, 4)):
            op = self.g.choose(BODY)
            count = 2 if op in ("Add", "Mul", "Sub", "Max") else 1
            known.append(self.node(op, *(self.g.choose(known) for _ in range(count))))
        return self.node("Tanh", known[-1]) if self.g.chance(0.3) else known[-1]

    def contradiction(self, name: str) -> str:
        """A value with an element more than there are, in the shape that it had: nothing can be run that makes it."""
        count, shape = (
            self.node("Constant", value=numpy_helper.from_array(np.array(sizes, np.int64)))
            for sizes in ([prod(self.shape) + 1], self.shape)
        )
        return self.node("Reshape", self.node("Reshape", name, count), shape)

    def graph(self, inputs: Described, outputs: Described) -> GraphProto:
        """Inputs and outputs by name, each with (type, shape), or None for those of the body's own."""

        def described(given: Described) -> list[Any]:
            own: tuple[int, Sequence[int]] = (onnx_type(self.dtype), self.shape)
            kinds = {name: kind or own for name, kind in given.items()}
            return [helper.make_tensor_value_info(name, type, shape) for name, (type, shape) in kinds.items()]

        return helper.make_graph(self.nodes, self.prefix, described(inputs), described(outputs))


def _outside(g: Growth, x: Value) -> list[Value]:
    """Values like x that a body may read, x among them."""
    like = [value for value in g.values if value.shape == x.shape and value.array.dtype == x.array.dtype]
    return [x, *like[-2:]]


def branch(g: Growth) -> None:
    """If: both sides read what lies outside. The one that isn't taken may contradict itself."""
    x = g.floats()
    condition = g.input((), np.bool_)
    read = _outside(g, x)
    sides: dict[str, Any] = {}
    results = g.integer(1, 3)
    not_taken = "else_branch" if condition.array else "then_branch"
    contradicts = not_taken if g.chance(0.25) else ""
    for side in ("then_branch", "else_branch"):
        body = Body(g, f"{side}{len(g.nodes)}_", x.shape, x.array.dtype)
        made = [body.grow([value.name for value in read]) for _ in range(results)]
        if side == contradicts:
            made[-1] = body.contradiction(made[-1])
        if len(set(made)) < results:
            raise Misfit
        sides[side] = body.graph({}, dict.fromkeys(made))
    g.add("If", condition, reads=read, results=results, **sides)


def loop(g: Growth) -> None:
    """Loop: a trip count that is known or not, a condition or none, values that are collected or not."""
    x = g.floats()
    turns, read = g.integer(0, 5), _outside(g, x)
    count = g.constant(np.array(turns, np.int64)) if g.chance(0.7) else _scalar(g, turns)
    carried, collects = g.integer(1, 3), g.chance(0.4)
    body = Body(g, f"loop{len(g.nodes)}_", x.shape, x.array.dtype)
    own = [f"{body.prefix}c{index}" for index in range(carried)]
    number, going = f"{body.prefix}i", f"{body.prefix}on"
    if g.chance(0.5):
        last = g.constant(np.array(g.integer(0, 4), np.int64))
        read = [*read, last]
        go = body.node("Less", number, last.name)
    else:
        go = body.node("Identity", going)
    names = [*own, *(value.name for value in read if value.array.dtype in FLOATS)]
    made = [body.grow(names) for _ in range(carried + collects)]
    if len(set(made)) < len(made):
        raise Misfit
    inputs: Described = {number: (TensorProto.INT64, ()), going: (TensorProto.BOOL, ()), **dict.fromkeys(own)}
    outputs: Described = {go: (TensorProto.BOOL, ()), **dict.fromkeys(made)}
    begin = [g.choose(_outside(g, x)) for _ in own]
    # The reference takes no condition for one that doesn't hold.
    graph = body.graph(inputs, outputs)
    g.add("Loop", count, g.constant(np.array(True)), *begin, reads=read, results=carried + collects, body=graph)


def _scalar(g: Growth, number: int) -> Value:
    """An input that is an integer, which must be a small one."""
    value = g.input((), np.int64)
    value.array[...] = number
    value.wide[...] = number
    return value


def scan(g: Growth) -> None:
    """Scan since opset 9, along any axes and in both directions."""
    if g.opset < 9:
        raise Misfit
    x = g.floats(least=1)
    axis = g.axis(x)
    shape = [*x.shape[:axis], *x.shape[axis + 1 :]]
    if 0 in x.shape:
        raise Misfit
    state = g.weight(shape, x.array.dtype)
    body = Body(g, f"scan{len(g.nodes)}_", shape, x.array.dtype)
    own = [f"{body.prefix}state", f"{body.prefix}part"]
    made = [body.grow(own), body.grow(own)]
    if made[0] == made[1]:
        raise Misfit
    g.add(
        "Scan",
        state,
        x,
        results=2,
        body=body.graph(dict.fromkeys(own), dict.fromkeys(made)),
        num_scan_inputs=1,
        scan_input_axes=[axis],
        scan_input_directions=[g.integer(0, 2)],
        scan_output_axes=[g.integer(0, len(shape) + 1)],
        scan_output_directions=[g.integer(0, 2)],
    )


def non_zero(g: Growth) -> None:
    x = g.pick(lambda value: value.exact and value.rank > 0)
    found = g.add("NonZero", x, moves=True)
    if g.chance(0.5):
        g.add("GatherND", x, g.add("Transpose", found, perm=[1, 0], moves=True), moves=True)


def compress(g: Growth) -> None:
    x = g.pick(lambda value: value.rank > 0)
    axis = g.axis(x) if g.chance(0.7) else None
    size = x.array.size if axis is None else x.shape[axis]
    condition = g.input([g.integer(1, size + 1)] if size else [0], np.bool_)
    found = g.add("Compress", x, condition, axis=axis, moves=True)
    if found.is_float and g.chance(0.5):
        g.add("Sigmoid", found)


def unique(g: Growth) -> None:
    x = g.pick(lambda value: value.exact and value.rank > 0 and value.array.size > 0)
    axis = g.axis(x) if g.chance(0.4) else None
    # The reference forgets the order where one result is asked for, and to make a row of what has no axis.
    in_place = x.rank == 1 and g.chance(0.5)
    results = 4 if in_place else g.choose([1, 4])
    g.add("Unique", x, results=results, axis=axis, sorted=int(not in_place), moves=True)


def suppression(g: Growth) -> None:
    batch, classes, count = g.integer(1, 3), g.integer(1, 3), g.integer(1, 9)
    boxes = g.input((batch, count, 4), np.float32)
    scores = g.input((batch, classes, count), np.float32)
    most = g.constant(np.array([g.integer(0, 6)]))
    overlap = g.constant(np.array([g.choose([0.1, 0.4, 0.7])], np.float32))
    least = g.constant(np.array([g.choose([-0.3, 0.2])], np.float32)) if g.chance(0.6) else None
    g.add("NonMaxSuppression", boxes, scores, most, overlap, least, moves=True)


MAKERS: dict[Maker, int] = {
    branch: 2,
    loop: 3,
    scan: 2,
    non_zero: 1,
    compress: 1,
    unique: 1,
    suppression: 1,
}
