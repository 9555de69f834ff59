"""Sequences of tensors whose length is known, and optionals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from fuzz.growth import Growth, Maker, Value, onnx_type
from onnx import NodeProto, helper

MOVES = ("Identity", "Neg", "Abs", "Relu")  # elementwise, and nothing is rounded


def _like(g: Growth, x: Value) -> Value:
    return g.choose([value for value in g.values if value.shape == x.shape and value.array.dtype == x.array.dtype])


def sequence(g: Growth) -> None:
    """Parts in a sequence, and together again."""
    x = g.pick(lambda value: value.rank > 0 and value.array.size > 0)
    axis = g.axis(x)
    parts = [
        x,
        *(g.choose([v for v in g.values if v.shape == x.shape and v.array.dtype == x.array.dtype]) for _ in "ab"),
    ]
    g.chain(
        [
            helper.make_node("SequenceConstruct", [part.name for part in parts], ["s"]),
            helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=axis, new_axis=g.integer(0, 2)),
        ],
        parts,
    )


def taken(g: Growth) -> None:
    """One of the parts that a value is split into."""
    x = g.pick(lambda value: value.rank > 0 and value.array.size > 0)
    axis = g.axis(x)
    at = g.constant(np.array(g.integer(0, x.shape[axis])))
    g.chain(
        [
            helper.make_node("SplitToSequence", [x.name], ["s"], axis=axis, keepdims=g.integer(0, 2)),
            helper.make_node("SequenceAt", ["s", at.name], ["y"]),
        ],
        [x, at],
    )


def changed(g: Growth) -> None:
    """Parts put in and taken out one by one, before one of them, all, or their number is used."""
    x = g.pick(lambda value: value.rank > 0 and value.array.size > 0)
    taken: list[Value] = [x]
    nodes = [helper.make_node("SequenceConstruct", [x.name], ["s0"])]
    length = 1
    if g.chance(0.4):
        nodes = [helper.make_node("SequenceEmpty", [], ["s0"], dtype=onnx_type(x.array.dtype))]
        length = 0
    for _ in range(g.integer(1, 5)):
        before, after = nodes[-1].output[0], f"s{len(nodes)}"
        takes_out = length > 1 and g.chance(0.4)
        operands = [before] if takes_out else [before, _like(g, x).name]
        if g.chance(0.6):
            at = g.constant(np.array(g.integer(-length, length + (not takes_out)), g.choose([np.int32, np.int64])))
            operands.append(at.name)
            taken.append(at)
        nodes.append(helper.make_node("SequenceErase" if takes_out else "SequenceInsert", operands, [after]))
        length += -1 if takes_out else 1
    held = nodes[-1].output[0]
    if g.opset >= 17 and g.chance(0.3):
        nodes.append(_mapped(g, x, held))
        held = nodes[-1].output[0]
    match g.integer(0, 3):
        case 0:
            nodes.append(helper.make_node("SequenceLength", [held], ["y"]))
        case 1:
            at = g.constant(np.array(g.integer(-length, length)))
            taken.append(at)
            nodes.append(helper.make_node("SequenceAt", [held, at.name], ["y"]))
        case _:
            nodes.append(helper.make_node("ConcatFromSequence", [held], ["y"], axis=g.axis(x)))
    names = {name for node in nodes for name in node.input}
    g.chain(nodes, [x, *taken[1:], *(v for v in g.values if v.name in names and v is not x)])


def _mapped(g: Growth, x: Value, held: str) -> NodeProto:
    """Something done to each part of a sequence."""
    dtype: Any = onnx_type(x.array.dtype)
    op = g.choose(MOVES if x.is_float else MOVES[:1])
    body = helper.make_graph(
        [helper.make_node(op, ["part"], ["made"])],
        "each",
        [helper.make_tensor_value_info("part", dtype, x.shape)],
        [helper.make_tensor_value_info("made", dtype, x.shape)],
    )
    return helper.make_node("SequenceMap", [held], ["m"], body=body)


def optional(g: Growth) -> None:
    """A value that may be there, and is."""
    x = g.pick(lambda value: value.array.size > 0)
    nodes = [helper.make_node("Optional", [x.name], ["o"])]
    if g.chance(0.3):
        nodes.append(helper.make_node("OptionalHasElement", ["o"], ["y"]))
    else:
        nodes.append(helper.make_node("OptionalGetElement", ["o"], ["y"]))
    if g.opset >= 18 and g.chance(0.3):  # which take what is no optional, too
        nodes = [helper.make_node(nodes[-1].op_type, [x.name], ["y"])]
    g.chain(nodes, [x])


MAKERS: Mapping[Maker, int] = {sequence: 1, taken: 1, changed: 2, optional: 1}
