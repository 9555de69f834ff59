"""Recurrent operators: each is one graph op, which runs all steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from xdsl.ir import SSAValue

from ...dialects.graph.movement import TransposeOp
from ...dialects.graph.recurrence import ACTIVATIONS, GruOp, LstmOp, RnnOp
from ...dialects.graph.values import shape_of
from .node import Handler, Node


class _Options(TypedDict):
    hidden: int
    direction: str


def _check(node: Node, x: SSAValue, defaults: Sequence[str]) -> None:
    """Refuses what no recurrent operator is imported with."""
    if node.has("clip"):
        raise node.unsupported("clip")
    if node.integer("hidden_size", 0) < 1:
        raise node.invalid("hidden_size is missing")
    steps = shape_of(x)[1 if node.flag("layout") else 0]
    if node.has_operand(4) and any(length != steps for length in node.ints_operand(4)):
        raise node.unsupported(f"sequences of different lengths: {node.ints_operand(4)} of {steps} steps")
    given = node.texts("activations")
    if given is not None and [name.lower() for name in given] != [name.lower() for name in defaults]:
        raise node.unsupported(f"activations {', '.join(given)} instead of {', '.join(defaults)}")


def _directions(node: Node) -> int:
    return 2 if node.text("direction", "forward") == "bidirectional" else 1


def _time_first(node: Node, value: SSAValue | None) -> SSAValue | None:
    """An operand with the batch in its second dimension, where `layout` 1 has it in the first."""
    if value is None or not node.flag("layout"):
        return value
    return node.emit(TransposeOp(value, (1, 0, 2)))


def _results(node: Node, y: SSAValue, states: Sequence[SSAValue]) -> list[SSAValue]:
    """y [T, D, B, H] and states [D, B, H] in the node's layout."""
    if not node.flag("layout"):
        return [y, *states]
    return [
        node.emit(TransposeOp(y, (2, 0, 1, 3))),
        *(node.emit(TransposeOp(state, (1, 0, 2))) for state in states),
    ]


def _operands(node: Node) -> tuple[SSAValue, SSAValue, SSAValue, SSAValue | None, SSAValue | None]:
    """What all cells take: the sequence, the weights, the biases and the initial h."""
    x = _time_first(node, node.operand(0))
    assert x is not None
    return x, node.operand(1), node.operand(2), node.optional(3), _time_first(node, node.optional(5))


def _options(node: Node) -> _Options:
    return {"hidden": node.integer("hidden_size", 0), "direction": node.text("direction", "forward")}


def _lstm(node: Node) -> list[SSAValue]:
    x = node.operand(0)
    _check(node, x, ("Sigmoid", "Tanh", "Tanh") * _directions(node))
    if node.flag("input_forget"):
        raise node.unsupported("input_forget: the input gate and the forget gate are one")
    initial_c = _time_first(node, node.optional(6))
    y, last_h, last_c = node.emit_all(LstmOp(*_operands(node), initial_c, node.optional(7), **_options(node)))
    return _results(node, y, (last_h, last_c))


def _gru(node: Node) -> list[SSAValue]:
    _check(node, node.operand(0), ("Sigmoid", "Tanh") * _directions(node))
    y, last = node.emit_all(
        GruOp(*_operands(node), **_options(node), linear_before_reset=node.flag("linear_before_reset"))
    )
    return _results(node, y, [last])


def _rnn(node: Node) -> list[SSAValue]:
    names = node.texts("activations") or ["Tanh"] * _directions(node)
    _check(node, node.operand(0), names)
    if len(set(names)) != 1 or names[0].lower() not in ACTIVATIONS:
        raise node.unsupported(f"activations {', '.join(names)}")
    y, last = node.emit_all(RnnOp(*_operands(node), **_options(node), activation=names[0].lower()))
    return _results(node, y, [last])


HANDLERS: dict[str, Handler] = {"LSTM": _lstm, "GRU": _gru, "RNN": _rnn}
