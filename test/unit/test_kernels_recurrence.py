"""LSTMs: directions, batches, hidden sizes that fill no register, initial states, peepholes, unused results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph_runs import EVERY, Case, Model, Target, check, spread
from kernel_runs import kernel_of
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from mini_infer.dialects.errors import CompileError
from mini_infer.dialects.graph import LstmOp, MiniContext, MulOp, ReluOp, ReshapeOp, TanhOp, TransposeOp, ints_attr
from mini_infer.passes.kernels.choose_schedule import ChooseSchedule

ALL = (0, 1, 2)


def lstm(
    direction: str = "forward",
    *,
    steps: int = 7,
    batch: int = 1,
    inputs: int = 5,
    hidden: int = 9,
    bias: bool = True,
    states: str = "",
    peephole: bool = False,
    results: tuple[int, ...] = ALL,
    dtype: Any = np.float32,
) -> Case:
    """`states` names the initial ones that are given; `results` are those of y, last h and last c that are used."""

    def case(m: Model) -> list[SSAValue]:
        count = 2 if direction == "bidirectional" else 1
        options: dict[str, Any] = {"dtype": dtype, "scale": 0.3}
        op = LstmOp(
            m.input(steps, batch, inputs, dtype=dtype),
            m.weight(count, 4 * hidden, inputs, **options),
            m.weight(count, 4 * hidden, hidden, **options),
            m.weight(count, 8 * hidden, **options) if bias else None,
            m.input(count, batch, hidden, **options) if "h" in states else None,
            m.input(count, batch, hidden, **options) if "c" in states else None,
            m.weight(count, 3 * hidden, **options) if peephole else None,
            hidden=hidden,
            direction=direction,
        )
        m(op)
        return [op.results[index] for index in results]

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
    return [
        lstm(direction),
        lstm(direction, batch=3, states="hc"),
        lstm(direction, batch=3, bias=False, peephole=True, hidden=33, inputs=17),
        lstm(direction, steps=1, hidden=1, inputs=1),
        lstm(direction, states="h", results=(1,)),
        lstm(direction, states="c", results=(2,), peephole=True),
        lstm(direction, steps=20, hidden=16, inputs=16, results=(0,)),
        lstm(direction, batch=0),
    ]


DIRECTIONS = ("forward", "reverse", "bidirectional")


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_lstm(direction: str) -> None:
    for run in spread(cases(direction)):
        assert set(run.schedules) == {"recurrence"}


@pytest.mark.slow
@pytest.mark.parametrize("target", EVERY, ids=str)
def test_lstm_on_every_target(target: Target) -> None:
    check([case for direction in DIRECTIONS for case in cases(direction)], target)


def test_layers_and_shared_weights() -> None:
    check([layers, same_weight_twice], Target(512, 2), Target(256, 1))


def test_double_precision() -> None:
    double = lstm("bidirectional", batch=2, peephole=True, states="h", dtype=np.float64)
    check([double], Target(512, 1), Target(128, 2), bound=1e-14)


@pytest.mark.parametrize(
    ("dtype", "steps", "fact"),
    [
        (np.float16, 3, "an LSTM on f16 has no code; only f32 and f64 do"),
        (np.float32, 0, "a sequence of 0 steps of 4 elements leaves nothing to do"),
    ],
)
def test_what_has_no_code(dtype: Any, steps: int, fact: str) -> None:
    arrays = [np.zeros(shape, dtype) for shape in ((steps, 1, 4), (1, 20, 4), (1, 20, 5))]
    kernel = kernel_of("recurrence", lambda w: w(LstmOp(w[0], w[1], w[2], hidden=5)), arrays)
    kernel.attributes["constant_operands"] = ints_attr((1, 2))
    with pytest.raises(CompileError, match=rf"^tested \(graph.lstm\): {fact}"):
        ChooseSchedule().apply(MiniContext(), ModuleOp([kernel]))
