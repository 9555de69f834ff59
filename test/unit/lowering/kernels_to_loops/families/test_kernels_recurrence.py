"""Recurrent layers: directions, batches, sizes that fill no register, initial states, peepholes, unused results."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from graph_runs import EVERY, Case, Model, Target, check, spread
from kernel_runs import kernel_of
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from mini_infer.dialects.errors import CompileError
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.graph.ops.cell_activations import NAMES, WITH_ALPHA, Activation
from mini_infer.dialects.graph.ops.elementwise import MulOp
from mini_infer.dialects.graph.ops.movement import ReshapeOp, TransposeOp
from mini_infer.dialects.graph.ops.recurrence import GruOp, LstmOp, RnnOp
from mini_infer.dialects.graph.ops.unary import ReluOp, TanhOp
from mini_infer.dialects.graph.values import ints_attr
from mini_infer.passes.kernels.choose_schedule import ChooseSchedule

ALL = (0, 1, 2)


def recurrence(
    kind: Any = LstmOp,
    direction: str = "forward",
    *,
    steps: int = 7,
    batch: int = 1,
    inputs: int = 5,
    hidden: int = 9,
    bias: bool = True,
    states: str = "",
    peephole: bool = False,
    mask: bool = False,
    results: tuple[int, ...] = ALL,
    dtype: Any = np.float32,
    **properties: Any,
) -> Case:
    """`states` names the initial ones that are given; `results` are those of y, last h and last c that are used."""

    def case(m: Model) -> list[SSAValue]:
        count = 2 if direction == "bidirectional" else 1
        options: dict[str, Any] = {"dtype": dtype, "scale": 0.3}
        operands: list[Any] = [
            m.input(steps, batch, inputs, dtype=dtype),
            m.weight(count, kind.GATES * hidden, inputs, **options),
            m.weight(count, kind.GATES * hidden, hidden, **options),
            m.weight(count, 2 * kind.GATES * hidden, **options) if bias else None,
            m.input(count, batch, hidden, **options) if "h" in states else None,
        ]
        if kind is LstmOp:
            operands.append(m.input(count, batch, hidden, **options) if "c" in states else None)
            operands.append(m.weight(count, 3 * hidden, **options) if peephole else None)
        if mask:
            kept = np.arange(steps)[:, None] < (np.arange(batch) * 5 + steps // 2) % (steps + 1)
            properties["mask"] = m.input(steps, batch, data=kept)
        op = kind(*operands, hidden=hidden, direction=direction, **properties)
        m(op)
        return [op.results[index] for index in results if index < len(op.results)]

    return case


def layers(m: Model) -> list[SSAValue]:
    """Two layers, the second on the first's concatenated directions."""
    x = m(ReluOp(m.input(6, 3, 5)))
    first = LstmOp(x, m.weight(2, 24, 5, scale=0.3), m.weight(2, 24, 6, scale=0.3), hidden=6, direction="bidirectional")
    joined = m(ReshapeOp(m(TransposeOp(m(first), (0, 2, 1, 3))), (6, 3, 12)))
    second = LstmOp(joined, m.weight(1, 24, 12, scale=0.3), m.weight(1, 24, 6, scale=0.3), hidden=6)
    return [m(TanhOp(m(second))), m(MulOp(second.last_h, second.last_c))]


def same_weight_twice(m: Model) -> SSAValue:
    weight = m.weight(1, 20, 5, scale=0.3)
    return m(LstmOp(m.input(3, 1, 5), weight, weight, hidden=5))


def cases(direction: str) -> list[Case]:
    lstm = partial(recurrence, LstmOp, direction)
    return [
        lstm(),
        lstm(batch=3, states="hc"),
        lstm(batch=3, bias=False, peephole=True, hidden=33, inputs=17),
        lstm(steps=1, hidden=1, inputs=1),
        lstm(states="h", results=(1,)),
        lstm(states="c", results=(2,), peephole=True),
        lstm(steps=20, hidden=16, inputs=16, results=(0,)),
        lstm(batch=0),
        lstm(steps=0, states="hc"),
        lstm(inputs=0),
        lstm(batch=17, steps=3),
        lstm(batch=30, steps=2, states="hc"),
        lstm(batch=17, mask=True, states="hc", clip=0.5),
        lstm(batch=3, input_forget=True, peephole=True, mask=True, results=(1, 2)),
    ]


def cases_of_other_cells(direction: str) -> list[Case]:
    """Gates end within a panel of weights where the hidden units fill none."""
    cells = [
        partial(recurrence, GruOp, direction),
        partial(recurrence, GruOp, direction, linear_before_reset=True),
        partial(recurrence, RnnOp, direction),
        partial(recurrence, RnnOp, direction, activations=[Activation("relu")]),
        partial(recurrence, RnnOp, direction, activations=[Activation("sigmoid")]),
    ]
    sizes = {"forward": (1, 3), "reverse": (13,), "bidirectional": (33,)}[direction]
    return [
        *(cell(states="h", batch=3) for cell in cells),
        *(cell(batch=5, mask=True, clip=0.4) for cell in cells[:3]),
        *(cell(hidden=hidden, bias=False, results=(0,)) for cell in cells[:3] for hidden in sizes),
        *(cell(hidden=16, inputs=17, results=(1,), batch=17) for cell in cells[:3]),
        cells[0](steps=0, states="h"),
        cells[1](inputs=0),
        cells[0](batch=0),
    ]


def cases_of_activations() -> list[Case]:
    parameters = {"affine": (1.5, 0.25), "hard_sigmoid": (0.3, 0.4), "scaled_tanh": (0.8, 1.3)}
    functions = [Activation(name, *parameters.get(name, (0.2,) if name in WITH_ALPHA else ())) for name in NAMES]
    rotated = [functions[i:] + functions[:i] for i in range(len(functions))]
    return [
        *(recurrence(RnnOp, activations=each[:1], dtype=np.float64) for each in rotated),
        *(recurrence(LstmOp, activations=each[:3], batch=2, steps=2) for each in rotated[::3]),
        *(recurrence(GruOp, activations=each[:2], batch=2, steps=2) for each in rotated[1::3]),
    ]


DIRECTIONS = ("forward", "reverse", "bidirectional")


@pytest.mark.thinned(5)
@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("made", [cases, cases_of_other_cells])
def test_recurrence(made: Callable[[str], list[Case]], direction: str) -> None:
    for run in spread(made(direction)):
        assert set(run.schedules) == {"recurrence"}


def test_activations() -> None:
    spread(cases_of_activations())


@pytest.mark.slow
@pytest.mark.parametrize("target", EVERY, ids=str)
def test_recurrence_on_every_target(target: Target) -> None:
    check(
        [case for direction in DIRECTIONS for made in (cases, cases_of_other_cells) for case in made(direction)], target
    )


def test_layers_and_shared_weights() -> None:
    check([layers, same_weight_twice], Target(512, 2), Target(256, 1))


def test_double_precision() -> None:
    options: dict[str, Any] = {"batch": 2, "states": "h", "dtype": np.float64}
    check(
        [
            recurrence(LstmOp, "bidirectional", peephole=True, **options),
            recurrence(GruOp, "bidirectional", **options),
            recurrence(RnnOp, "bidirectional", **options),
        ],
        Target(512, 1),
        Target(128, 2),
        bound=1e-14,
    )


@pytest.mark.parametrize(("kind", "name"), [(LstmOp, "lstm"), (GruOp, "gru"), (RnnOp, "rnn")])
def test_what_has_no_code(kind: Any, name: str) -> None:
    rows = kind.GATES * 5
    arrays = [np.zeros(shape, np.float16) for shape in ((3, 1, 4), (1, rows, 4), (1, rows, 5))]
    kernel = kernel_of("recurrence", lambda w: w(kind(w[0], w[1], w[2], hidden=5)), arrays)
    kernel.attributes["constant_operands"] = ints_attr((1, 2))
    fact = "a recurrence on f16 is not supported; only f32 and f64 are"
    with pytest.raises(CompileError, match=rf"^tested \(graph.{name}\): {fact}"):
        ChooseSchedule().apply(MiniContext(), ModuleOp([kernel]))
