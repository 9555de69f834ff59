"""Gathers and scatters with an index out of range, and along dimensions without elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from graph_runs import guarded
from import_cases import Case, computed, one_node

import mini_infer as mi
from mini_infer.dialects.graph import Array

X = np.arange(12, dtype=np.float32).reshape(3, 4)
ONES = np.ones((2, 4), np.float32)


def case(operator: str, x: Array, indices: Any, attributes: dict[str, Any] | None = None) -> Case:
    """One of the five operators; updates are ones."""
    given = np.asarray(indices, np.int64)
    if operator == "ScatterND":
        updates = [np.ones((*given.shape[:-1], *x.shape[given.shape[-1] :]), np.float32)]
    else:
        updates = [np.ones(given.shape, np.float32)] if operator == "ScatterElements" else []
    return Case(operator, [x, given, *updates], 18, attributes or {})


OUTSIDE = [
    (case("Gather", X, [5]), "index 5 is outside of a dimension of 3 elements"),
    (case("Gather", X, -4), "index -4 is outside of a dimension of 3 elements"),
    (case("Gather", X, [[0, 2**40]], {"axis": 1}), "index 1099511627776 is outside of a dimension of 4 elements"),
    (case("Gather", X, np.full((9, 90), 3)), "index 3 is outside of a dimension of 3 elements"),  # a weight
    (case("GatherElements", X, [[0, 1, -4, 2]]), "index -4 is outside of a dimension of 3 elements"),
    (case("GatherND", X, [[0, 1], [2, 4]]), "index 4 is outside of a dimension of 4 elements"),
    (case("GatherND", X, [[0], [-9]]), "index -9 is outside of a dimension of 3 elements"),
    (case("ScatterND", X, [[0], [3]]), "index 3 is outside of a dimension of 3 elements"),
    (case("ScatterElements", X, [[0, 1, 2, -5]], {"axis": 1}), "index -5 is outside of a dimension of 4 elements"),
]
EMPTY = [
    case("Gather", X[:0], [0]),
    case("GatherElements", X[:0], [[0, 0, 0, 0]]),
    case("GatherND", X[:0], [[0]]),
    case("ScatterND", X[:0], [[0]]),
    case("ScatterElements", X[:0], [[0, 0, 0, 0]]),
]


def with_constant_indices(each: Case, *others: str) -> Any:
    """The model with the indices, and other operands, as initialisers."""
    from onnx import numpy_helper

    model, inputs = one_node(each)
    for name in ("x1", *others):
        model.graph.initializer.append(numpy_helper.from_array(inputs[name], name))
    kept = [value for value in model.graph.input if value.name not in ("x1", *others)]
    del model.graph.input[:]
    model.graph.input.extend(kept)
    return model


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("others", [(), ("x0",)], ids=["computed", "constant"])
@pytest.mark.parametrize(("each", "message"), OUTSIDE, ids=str)
def test_a_known_index_out_of_range_is_refused(
    each: Case, message: str, others: tuple[str, ...], optimize: bool
) -> None:
    with pytest.raises(mi.InvalidModelError, match=r"^the_node \(.*\): .*" + message):
        mi.compile(with_constant_indices(each, *others), threads=1, enable_graph_optimization=optimize)


@pytest.mark.parametrize("others", [(), ("x0",)], ids=["computed", "constant"])
def test_the_first_and_the_last_index_are_inside(others: tuple[str, ...]) -> None:
    each = case("Gather", X, [-3, 2])
    model = with_constant_indices(each, *others)
    inputs = {value.name: X for value in model.graph.input}
    (found,) = mi.compile(model, threads=1)(inputs).values()
    np.testing.assert_array_equal(found, X[[0, 2]])
    (found,) = computed(*one_node(each)).values()
    np.testing.assert_array_equal(found, X[[0, 2]])


@pytest.mark.parametrize("each", EMPTY, ids=str)
def test_no_index_fits_a_dimension_without_elements(each: Case) -> None:
    with pytest.raises(mi.InvalidModelError, match=r"the_node .*: indices name elements of a dimension that has none"):
        mi.compile(one_node(each)[0], threads=1)


@pytest.mark.parametrize(("each", "message"), OUTSIDE, ids=str)
def test_the_interpreter_refuses_an_index_out_of_range(each: Case, message: str) -> None:
    with pytest.raises(mi.InvalidInputError, match=rf"^the_node \(graph\.\w+\): {message}"):
        computed(*one_node(each))


@pytest.mark.parametrize("optimize", [True, False])
def test_compiled_code_takes_the_nearest_element(optimize: bool) -> None:
    """And touches nothing outside of its memory, whatever the index."""
    for operator, indices, expected in (
        ("Gather", [2**62, -(2**63), -3, -4], X[[2, 0, 0, 0]]),
        ("GatherElements", [[3, -9, 2**63 - 1, 1]], [[8, 1, 10, 7]]),
        ("GatherND", [[9, -9], [-1, 4]], [8, 11]),
        ("ScatterND", [[7], [-7]], np.stack([ONES[0], X[1], ONES[0]])),
    ):
        model, inputs = one_node(case(operator, X, indices))
        plan = mi.compile(model, threads=1, enable_graph_optimization=optimize).plan
        context = plan.create_execution_context(guarded(plan.arena_bytes, plan.alignment))
        kept: list[Array] = []
        for spec in (*plan.inputs, *plan.outputs):
            memory = guarded(int(np.prod(spec.shape)) * spec.dtype.itemsize, spec.dtype.itemsize)
            kept.append(memory.view(spec.dtype).reshape(spec.shape))
            if spec.name in inputs:
                kept[-1][...] = inputs[spec.name]
                context.bind_input(spec.name, kept[-1])
            else:
                context.bind_output(spec.name, kept[-1])
        context.execute()
        np.testing.assert_array_equal(kept[-1], expected, operator)
