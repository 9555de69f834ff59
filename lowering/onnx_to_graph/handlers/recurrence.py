"""RNN, GRU and LSTM: one graph op runs all steps; two ops if the directions have different activations."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ....dialects.graph.ops.cell_activations import NAMES, WITH_ALPHA, WITH_BETA, Activation
from ....dialects.graph.ops.elementwise import LessOp
from ....dialects.graph.ops.movement import ConcatOp, TransposeOp
from ....dialects.graph.ops.recurrence import DIRECTIONS, CellOptions, GruOp, LstmOp, RecurrenceOp, RnnOp
from ....dialects.graph.values import shape_of
from ....dialects.sizes.sizes import equal_shapes
from ..node import Handler, Node
from .indexing import positions
from .movement import slice_axis

_NAMES = {name.replace("_", ""): name for name in NAMES}
_ALPHA = {"elu": 1.0, "hard_sigmoid": 0.2, "leaky_relu": 0.01, "thresholded_relu": 1.0}
_BETA = {"hard_sigmoid": 0.5}
_LENGTHS, _INITIAL_H, _INITIAL_C, _PEEPHOLE = 4, 5, 6, 7

Weights = tuple[SSAValue, SSAValue, SSAValue]
Make = Callable[[Weights, Sequence[SSAValue | None], CellOptions], RecurrenceOp]


def _activations(node: Node, usual: Sequence[str], directions: int) -> list[list[Activation]]:
    """The activations of each direction; each consumes as many of the given parameters as it has."""
    count = len(usual)
    names = node.texts("activations") or [name.replace("_", "") for name in usual] * directions
    if len(names) != count * directions:
        raise node.invalid(f"{len(names)} activations instead of {count * directions}")
    alphas, betas = (iter(node.numbers(f"activation_{name}") or []) for name in ("alpha", "beta"))
    made: list[Activation] = []
    for text in names:
        name = _NAMES.get(text.lower())
        if name is None:
            raise node.malformed(f"activation {text} is unknown")
        alpha = next(alphas, _ALPHA.get(name)) if name in WITH_ALPHA else 0.0
        beta = next(betas, _BETA.get(name)) if name in WITH_BETA else 0.0
        if alpha is None or beta is None:
            raise node.malformed(f"activation {text} needs activation_alpha and activation_beta")
        made.append(Activation(name, alpha, beta))
    return [made[count * direction : count * (direction + 1)] for direction in range(directions)]


def _mask(node: Node, x: SSAValue) -> SSAValue | None:
    """[T, B]: whether a step lies within a batch element's sequence; None without sequence lengths."""
    if not node.has_operand(_LENGTHS):
        return None
    lengths, (steps, batch) = node.operand(_LENGTHS), shape_of(x)[:2]
    if not equal_shapes(shape_of(lengths), (batch,)):
        raise node.invalid(f"sequence_lens of shape {list(shape_of(lengths))} instead of [{batch}]")
    known = node.known(lengths)
    if known is not None and ((known < 0).any() or (known > steps).any()):
        raise node.invalid(f"sequence_lens {known.tolist()} of {steps} steps")
    if known is not None and (known == steps).all():
        return None
    places = node.reshape(positions(node, steps), (steps, 1))
    return node.emit(LessOp(places, node.reshape(node.cast(lengths, i64), (1, batch))))


def _layer(node: Node, usual: Sequence[str], more: Sequence[int], make: Make) -> list[SSAValue]:
    """y and the final states in the node's layout; `more` are the cell's operands besides the biases and initial h."""
    batch_first = node.flag("layout")

    def time_first(value: SSAValue | None) -> SSAValue | None:
        return value if value is None or not batch_first else node.emit(TransposeOp(value, (1, 0, 2)))

    x, direction = time_first(node.operand(0)), node.text("direction", "forward")
    assert x is not None
    if node.integer("hidden_size", 0) < 1:
        raise node.malformed("hidden_size is missing")
    options: CellOptions = {"hidden": node.integer("hidden_size", 0), "direction": direction}
    if node.has("clip"):
        options["clip"] = node.number("clip", 0.0)
    activations = _activations(node, usual, DIRECTIONS.get(direction, 1))
    further = [time_first(node.optional(index)) if index < _PEEPHOLE else node.optional(index) for index in more]
    sided = [node.operand(1), node.operand(2), node.optional(3), time_first(node.optional(_INITIAL_H)), *further]
    mask = _mask(node, x)

    def run(sided: Sequence[SSAValue | None], options: CellOptions) -> Sequence[SSAValue]:
        weight, recurrence, *rest = sided
        assert weight is not None and recurrence is not None
        return node.emit_all(make((x, weight, recurrence), [*rest, mask], options))

    if activations[0] == activations[-1]:
        results = run(sided, {**options, "activations": activations[0]})
    else:
        sides: list[Sequence[SSAValue]] = []
        for number, (side, functions) in enumerate(zip(("forward", "reverse"), activations, strict=True)):
            own = [None if value is None else slice_axis(node, value, 0, number, number + 1) for value in sided]
            sides.append(run(own, {**options, "direction": side, "activations": functions}))
        axes = (1, *[0] * (len(sides[0]) - 1))
        results = [node.emit(ConcatOp(pair, axis)) for pair, axis in zip(zip(*sides, strict=True), axes, strict=True)]
    if not batch_first:
        return list(results)
    y, *last = results
    return [node.emit(TransposeOp(y, (2, 0, 1, 3))), *(node.emit(TransposeOp(state, (1, 0, 2))) for state in last)]


def _lstm(node: Node) -> list[SSAValue]:
    forget = node.flag("input_forget")

    def make(weights: Weights, further: Sequence[SSAValue | None], options: CellOptions) -> LstmOp:
        return LstmOp(*weights, *further, input_forget=forget, **options)

    return _layer(node, LstmOp.ACTIVATIONS, (_INITIAL_C, _PEEPHOLE), make)


def _gru(node: Node) -> list[SSAValue]:
    linear = node.flag("linear_before_reset")

    def make(weights: Weights, further: Sequence[SSAValue | None], options: CellOptions) -> GruOp:
        return GruOp(*weights, *further, linear_before_reset=linear, **options)

    return _layer(node, GruOp.ACTIVATIONS, (), make)


def _rnn(node: Node) -> list[SSAValue]:
    return _layer(node, RnnOp.ACTIVATIONS, (), lambda weights, further, options: RnnOp(*weights, *further, **options))


HANDLERS: dict[str, Handler] = {"LSTM": _lstm, "GRU": _gru, "RNN": _rnn}
