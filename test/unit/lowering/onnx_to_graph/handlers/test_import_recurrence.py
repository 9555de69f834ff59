"""Recurrent networks in all their modes compute what onnxruntime does."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import pytest
from graph_cases import random
from import_cases import Case, check, imported, one_node

from mini_infer.dialects.errors import InvalidModelError
from mini_infer.dialects.graph.values import Array

CELLS = {"LSTM": 4, "GRU": 3, "RNN": 1}
FUNCTIONS = {"LSTM": 3, "GRU": 2, "RNN": 1}
STEPS, BATCH, INPUTS, HIDDEN = 4, 3, 3, 5


def case(
    op: str, given: str = "", lengths: Array | None = None, known: Sequence[int] = (1, 2), **attributes: Any
) -> Case:
    """`given` names optional operands: b(ias), h, c, p(eephole)."""
    ways, rows = 1 + (attributes.get("direction") == "bidirectional"), CELLS[op] * HIDDEN
    state = (ways, BATCH, HIDDEN)
    operands = [
        random(STEPS, BATCH, INPUTS),
        random(ways, rows, INPUTS, seed=1) * np.float32(0.3),
        random(ways, rows, HIDDEN, seed=2) * np.float32(0.3),
        random(ways, 2 * rows, seed=3) if "b" in given else None,
        lengths,
        random(*state, seed=4) if "h" in given else None,
    ]
    if op == "LSTM":
        operands.append(random(*state, seed=5) if "c" in given else None)
        operands.append(random(ways, 3 * HIDDEN, seed=6) if "p" in given else None)
    return Case(op, operands, 14, {"hidden_size": HIDDEN, **attributes}, known, 3 if op == "LSTM" else 2, runtime=True)


@pytest.mark.parametrize(("op", "direction"), list(product(CELLS, ["forward", "reverse", "bidirectional"])))
@pytest.mark.parametrize("lengths", [[4, 1, 3], [2, 2, 2], [4, 4, 4]])
def test_sequences_of_other_lengths(op: str, direction: str, lengths: list[int]) -> None:
    for known in (1, 2), (1, 2, 4):
        check(case(op, "bhc", np.array(lengths, np.int32), known, direction=direction))


ACTIVATIONS = {
    "Affine": (1.5, 0.25),
    "Elu": (0.7,),
    "HardSigmoid": (0.3, 0.4),
    "LeakyRelu": (0.1,),
    "Relu": (),
    "ScaledTanh": (0.8, 1.3),
    "Sigmoid": (),
    "Softplus": (),
    "Softsign": (),
    "Tanh": (),
    "ThresholdedRelu": (0.2,),
}


@pytest.mark.parametrize(("op", "name"), list(product(CELLS, ACTIVATIONS)))
def test_activations(op: str, name: str) -> None:
    numbers = ACTIVATIONS[name]
    attributes: dict[str, Any] = {"activations": [name] * FUNCTIONS[op]}
    for attribute, number in zip(("activation_alpha", "activation_beta"), numbers, strict=False):
        attributes[attribute] = [number] * FUNCTIONS[op]
    check(case(op, "b", **attributes))


@pytest.mark.parametrize("op", CELLS)
def test_parameters_are_taken_in_order_and_have_defaults(op: str) -> None:
    names = ["HardSigmoid", "LeakyRelu", "Elu", "Softsign", "Tanh", "HardSigmoid"][: 2 * FUNCTIONS[op]]
    check(case(op, "b", activations=names, direction="bidirectional"))
    check(case(op, "b", activations=names, direction="bidirectional", activation_alpha=[0.3], activation_beta=[0.6]))


def test_the_threshold_is_that_of_the_operator() -> None:
    """ONNX Runtime has a default of its own."""
    given = (
        case("RNN", activations=["ThresholdedRelu"]),
        case("RNN", activations=["ThresholdedRelu"], activation_alpha=[1.0]),
    )
    usual, stated = (str(imported(one_node(each)[0])[0]) for each in given)
    assert usual == stated


@pytest.mark.parametrize("op", CELLS)
def test_directions_with_other_activations(op: str) -> None:
    names = ["Sigmoid", "Tanh", "Tanh", "Sigmoid", "Softsign", "Relu"]
    names = names[: FUNCTIONS[op]] + names[3 : 3 + FUNCTIONS[op]]
    lengths = np.array([4, 1, 2], np.int32)
    check(case(op, "bhcp", lengths, activations=names, direction="bidirectional"))


@pytest.mark.parametrize("op", CELLS)
@pytest.mark.parametrize("clip", [0.05, 0.4])
def test_clip(op: str, clip: float) -> None:
    check(case(op, "bhc", clip=clip))
    if op == "GRU":
        check(case(op, "bh", clip=clip, linear_before_reset=1))


@pytest.mark.parametrize("given", ["b", "bhc", "bp"])
def test_input_forget(given: str) -> None:
    check(case("LSTM", given, input_forget=1))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"activations": ["Tanh"]}, "1 activations instead of 3"),
        ({"activations": ["Tanh", "Tanh", "Cosine"]}, "activation Cosine is unknown"),
        ({"activations": ["Tanh", "Tanh", "ScaledTanh"]}, "activation ScaledTanh needs activation_alpha"),
        ({"activations": ["Affine", "Tanh", "Tanh"]}, "activation Affine needs activation_alpha"),
        ({"direction": "sideways"}, "direction is one of forward, reverse, bidirectional"),
        ({"lengths": np.array([4, 5, 0], np.int32), "known": (1, 2, 4)}, r"sequence_lens \[4, 5, 0\] of 4 steps"),
        ({"lengths": np.array([4, 5], np.int32)}, r"sequence_lens of shape \[2\] instead of \[3\]"),
        ({"hidden_size": 0}, "hidden_size is missing"),
    ],
)
def test_what_is_no_recurrence(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidModelError, match=rf"the_node \(LSTM\): .*{message}"):
        imported(one_node(case("LSTM", **given))[0])
