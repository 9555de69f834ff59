"""Recurrent operators: LSTM is one graph op; GRU and RNN are unrolled, step by step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ...dialects.graph.base import GraphOp
from ...dialects.graph.contraction import MatmulOp
from ...dialects.graph.elementwise import AddOp, MulOp, SubOp
from ...dialects.graph.movement import ConcatOp, TransposeOp
from ...dialects.graph.recurrence import LstmOp
from ...dialects.graph.unary import ReluOp, SigmoidOp, TanhOp
from ...dialects.graph.values import element_type_of_value, shape_of
from .movement import slice_axis
from .node import Handler, Node

_ACTIVATIONS: dict[str, Callable[[SSAValue], GraphOp]] = {
    "Sigmoid": SigmoidOp,
    "Tanh": TanhOp,
    "Relu": ReluOp,
}

Step = Callable[[SSAValue, SSAValue], SSAValue]  # (what the inputs give to a step, the state before it) -> after it


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


def _lstm(node: Node) -> list[SSAValue]:
    x = node.operand(0)
    _check(node, x, ("Sigmoid", "Tanh", "Tanh") * _directions(node))
    if node.flag("input_forget"):
        raise node.unsupported("input_forget: the input gate and the forget gate are one")
    y, last_h, last_c = node.emit_all(
        LstmOp(
            _time_first(node, x) or x,
            node.operand(1),
            node.operand(2),
            node.optional(3),
            _time_first(node, node.optional(5)),
            _time_first(node, node.optional(6)),
            node.optional(7),
            hidden=node.integer("hidden_size", 0),
            direction=node.text("direction", "forward"),
        )
    )
    return _results(node, y, (last_h, last_c))


@dataclass(frozen=True)
class _Cell:
    """The weights of one direction: w [gates * H, I], r [gates * H, H], and their biases [gates * H]."""

    w: SSAValue
    r: SSAValue
    w_bias: SSAValue
    r_bias: SSAValue


def _part(node: Node, value: SSAValue, direction: int) -> SSAValue:
    """One direction's part of an operand, without the dimension of directions."""
    return node.reshape(slice_axis(node, value, 0, direction, direction + 1), shape_of(value)[1:])


def _cell(node: Node, direction: int) -> _Cell:
    w, r = _part(node, node.operand(1), direction), _part(node, node.operand(2), direction)
    rows = shape_of(w)[0]
    bias = node.optional(3)
    if bias is None:
        zero = node.broadcast(node.scalar(0, w), (rows,))
        return _Cell(w, r, zero, zero)
    both = _part(node, bias, direction)
    return _Cell(w, r, slice_axis(node, both, 0, 0, rows), slice_axis(node, both, 0, rows, 2 * rows))


def _unrolled(node: Node, make_step: Callable[[_Cell], Step]) -> list[SSAValue]:
    """Runs the steps of each direction one after the other and puts their states together."""
    x = _time_first(node, node.operand(0))
    assert x is not None
    (steps, batch, _), hidden = shape_of(x), node.integer("hidden_size", 0)
    initial = _time_first(node, node.optional(5))
    directions, kind = _directions(node), node.text("direction", "forward")
    outputs: list[SSAValue] = []
    finals: list[SSAValue] = []
    for direction in range(directions):
        cell = _cell(node, direction)
        step = make_step(cell)
        inputs = node.emit(AddOp(node.emit(MatmulOp(x, cell.w, transpose_b=True)), cell.w_bias))
        if initial is None:
            state = node.broadcast(node.scalar(0, element_type_of_value(x)), (batch, hidden))
        else:
            state = _part(node, initial, direction)
        states: dict[int, SSAValue] = {}
        for time in reversed(range(steps)) if kind == "reverse" or direction == 1 else range(steps):
            state = step(node.reshape(slice_axis(node, inputs, 0, time, time + 1), shape_of(inputs)[1:]), state)
            states[time] = state
        rows = [node.reshape(states[time], (1, 1, batch, hidden)) for time in range(steps)]
        if not rows:
            rows = [node.broadcast(node.scalar(0, x), (0, 1, batch, hidden))]
        outputs.append(rows[0] if len(rows) == 1 else node.emit(ConcatOp(rows, 0)))
        finals.append(node.reshape(state, (1, batch, hidden)))
    if directions == 1:
        return _results(node, outputs[0], finals)
    return _results(node, node.emit(ConcatOp(outputs, 1)), [node.emit(ConcatOp(finals, 0))])


def _gates(node: Node, value: SSAValue, count: int) -> list[SSAValue]:
    """[B, count * H] as `count` values [B, H]."""
    size = shape_of(value)[-1] // count
    axis = len(shape_of(value)) - 1
    return [slice_axis(node, value, axis, index * size, (index + 1) * size) for index in range(count)]


def _gru(node: Node) -> list[SSAValue]:
    """n = tanh(x_n + (r * h) R_n), or x_n + r * (h R_n) with `linear_before_reset`; h = n + z * (h - n)."""
    _check(node, node.operand(0), ("Sigmoid", "Tanh") * _directions(node))
    reset_after = node.flag("linear_before_reset")

    def make_step(cell: _Cell) -> Step:
        hidden = shape_of(cell.r)[1]
        r_gates, r_new = (
            slice_axis(node, cell.r, 0, 0, 2 * hidden),
            slice_axis(node, cell.r, 0, 2 * hidden, 3 * hidden),
        )
        bias_gates = slice_axis(node, cell.r_bias, 0, 0, 2 * hidden)
        bias_new = slice_axis(node, cell.r_bias, 0, 2 * hidden, 3 * hidden)

        def linear(state: SSAValue, weight: SSAValue, bias: SSAValue) -> SSAValue:
            return node.emit(AddOp(node.emit(MatmulOp(state, weight, transpose_b=True)), bias))

        def step(inputs: SSAValue, state: SSAValue) -> SSAValue:
            x_z, x_r, x_n = _gates(node, inputs, 3)
            h_z, h_r = _gates(node, linear(state, r_gates, bias_gates), 2)
            update = node.emit(SigmoidOp(node.emit(AddOp(x_z, h_z))))
            reset = node.emit(SigmoidOp(node.emit(AddOp(x_r, h_r))))
            if reset_after:
                recurrent = node.emit(MulOp(reset, linear(state, r_new, bias_new)))
            else:
                recurrent = linear(node.emit(MulOp(reset, state)), r_new, bias_new)
            new = node.emit(TanhOp(node.emit(AddOp(x_n, recurrent))))
            return node.emit(AddOp(new, node.emit(MulOp(update, node.emit(SubOp(state, new))))))

        return step

    return _unrolled(node, make_step)


def _rnn(node: Node) -> list[SSAValue]:
    """h = activation(x W + h R + biases)"""
    names = node.texts("activations") or ["Tanh"] * _directions(node)
    _check(node, node.operand(0), names)
    unknown = set(names) - set(_ACTIVATIONS)
    if unknown or len(set(names)) != 1:
        raise node.unsupported(f"activations {', '.join(names)}")

    def make_step(cell: _Cell) -> Step:
        def step(inputs: SSAValue, state: SSAValue) -> SSAValue:
            recurrent = node.emit(AddOp(node.emit(MatmulOp(state, cell.r, transpose_b=True)), cell.r_bias))
            return node.emit(_ACTIVATIONS[names[0]](node.emit(AddOp(inputs, recurrent))))

        return step

    return _unrolled(node, make_step)


HANDLERS: dict[str, Handler] = {"LSTM": _lstm, "GRU": _gru, "RNN": _rnn}
