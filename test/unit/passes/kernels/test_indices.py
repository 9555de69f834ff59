"""Gathers and scatters with an index out of range, and along dimensions without elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from everything_shared import everything_shared
from graph_runs import Model, guarded
from import_cases import Case, computed, model_of, one_node, onnxruntime
from onnx import ModelProto, TensorProto, helper

import mini_infer as mi
from mini_infer.dialects.graph.ops.indexing import GatherOp
from mini_infer.dialects.graph.values import Array
from mini_infer.runtime.compile.module_to_plan import build_plan

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
    with pytest.raises(mi.InvalidModelError, match=r"the_node .*: indices into an empty dimension"):
        mi.compile(one_node(each)[0], threads=1)


@pytest.mark.parametrize(("each", "message"), OUTSIDE, ids=str)
def test_the_interpreter_refuses_an_index_out_of_range(each: Case, message: str) -> None:
    with pytest.raises(mi.InvalidInputError, match=rf"^the_node \(graph\.\w+\): {message}"):
        computed(*one_node(each))


def shared(model: ModelProto, threads: int, **options: Any) -> mi.Engine:
    """An engine that has every stage done by all of its threads."""
    with everything_shared():
        return mi.compile(model, threads=threads, **options)


@pytest.mark.parametrize(("threads", "optimize"), [(1, True), (2, False)])
@pytest.mark.parametrize(("each", "message"), OUTSIDE, ids=str)
def test_an_index_out_of_range_is_an_error_of_the_run(each: Case, message: str, threads: int, optimize: bool) -> None:
    """As the interpreter says it; and the next run knows nothing of it."""
    model, inputs = one_node(each)
    engine = shared(model, threads, enable_graph_optimization=optimize)
    right = {**inputs, "x1": np.zeros_like(inputs["x1"])}
    for _ in range(2):
        with pytest.raises(mi.InvalidInputError, match=rf"^the_node \(graph\.\w+\): {message}$"):
            engine(inputs)
        for found, expected in zip(engine(right).values(), computed(model, right).values(), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("each", "message"), OUTSIDE, ids=str)
def test_onnxruntime_refuses_the_same(each: Case, message: str) -> None:
    with pytest.raises(Exception, match=r"(?i)out of|invalid ind"):
        onnxruntime(*one_node(each))


MANY = np.random.default_rng(0)
RANGES: list[tuple[str, Array, Sequence[int]]] = [  # operator, indices in a 5 x 7 matrix, sizes that they count
    ("Gather", MANY.integers(-5, 5, 70), [5]),
    ("GatherElements", MANY.integers(-5, 5, (10, 7)), [5]),
    ("GatherND", MANY.integers(-5, 5, (35, 2)), [5, 7]),
    ("ScatterND", MANY.integers(-5, 5, (35, 2)), [5, 7]),
    ("ScatterElements", MANY.integers(-5, 5, (10, 7)), [5]),
]


@pytest.mark.parametrize(("threads", "type"), [(2, np.int64), (1, np.int32)])
@pytest.mark.parametrize(("operator", "indices", "sizes"), RANGES, ids=[operator for operator, _, _ in RANGES])
def test_both_ends_of_every_dimension(
    operator: str, indices: Array, sizes: Sequence[int], threads: int, type: Any
) -> None:
    """The first and the last legal index, and those beside them, wherever they stand among others."""
    x = np.arange(35, dtype=np.float32).reshape(5, 7)
    each = case(operator, x, indices)
    model, inputs = one_node(Case(operator, [x, indices.astype(type), *each.operands[2:]], 18))
    engine = shared(model, threads)
    for place in (0, indices.size // 2, indices.size - 2, indices.size - 1):
        size = sizes[place % len(sizes)]
        for index, inside in ((-size - 1, False), (-size, True), (size - 1, True), (size, False)):
            changed = indices.astype(type)
            changed.flat[place] = index
            given = {**inputs, "x1": changed}
            if inside:
                (found,), (expected,) = engine(given).values(), computed(model, given).values()
                np.testing.assert_array_equal(found, expected)
            else:
                with pytest.raises(mi.InvalidInputError, match=rf"index {index} is outside .* of {size} elements"):
                    engine(given)


def test_indices_of_every_integer_type() -> None:
    types = (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)
    m = Model()
    table, wide = m.input(3, data=np.array([5, 6, 7], np.float32)), m.input(300)
    m.outputs("y", [m(GatherOp(table, m.input(data=np.array([2, 0, 1], type)))) for type in types])
    m.outputs("wide", [m(GatherOp(wide, m.input(data=np.array([-128, 127], np.int8))))])
    m.finish()
    context = build_plan(m.module, m.ctx, mi.EngineConfig(threads=1)).create_execution_context()
    found = context.run(m.inputs)
    for number in range(len(types)):
        np.testing.assert_array_equal(found[f"y.{number}"], [7, 5, 6])
    np.testing.assert_array_equal(found["wide.0"], m.inputs["x1"][[172, 127]])
    for number, type in enumerate(types):
        limits = np.iinfo(type)
        for wrong in {limits.min, limits.max} - {0}:
            given = {**m.inputs, f"x{number + 2}": np.array([0, wrong, 1], type)}
            with pytest.raises(mi.InvalidInputError, match=rf"^node_{number + 1} \(graph.gather\): index "):
                context.run(given)


def two_gathers() -> ModelProto:
    """One kernel for two nodes, whose indices are computed, and a third without any."""
    nodes = [
        helper.make_node("Cast", ["i"], ["a"], to=TensorProto.INT64),
        helper.make_node("Cast", ["j"], ["b"], to=TensorProto.INT64),
        helper.make_node("Gather", ["x", "a"], ["y"], name="first"),
        helper.make_node("Gather", ["x", "b"], ["z"], name="second"),
        helper.make_node("Gather", ["x", "none"], ["e"], name="empty"),
    ]
    wholes = np.zeros(2, np.float32)
    given = {"x": X, "i": wholes, "j": wholes, "none": np.zeros(0, np.int64)}
    return model_of(nodes, given, {}, ["y", "z", "e"])


@pytest.mark.parametrize("options", [{}, {"check_memory": True}, {"enable_memory_planning": False}], ids=str)
@pytest.mark.parametrize("threads", [1, 2])
def test_the_error_names_the_node_and_not_its_kernel(threads: int, options: dict[str, Any]) -> None:
    engine = shared(two_gathers(), threads, **options)
    right, wrong = np.array([0, -3], np.float32), np.array([0, 3], np.float32)
    given = {"x": X, "none": np.zeros(0, np.int64)}
    for i, j, node in ((right, wrong, "second"), (wrong, right, "first"), (wrong, wrong, "first")):
        with pytest.raises(mi.InvalidInputError, match=rf"^{node} \(graph.gather\): index 3 is outside"):
            engine({**given, "i": i, "j": j})
    for found in list(engine({**given, "i": right, "j": right}).values())[:2]:
        np.testing.assert_array_equal(found, X[[0, 0]])
    assert len(engine.plan.checks) == 3


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("optimize", [True, False])
def test_nothing_outside_of_the_buffers_is_touched(optimize: bool, threads: int) -> None:
    """Whatever the index: the error comes when all is over."""
    for operator, wrong, right in (
        ("Gather", [2**62, -(2**63), -3, -4], [2, 0, -3, 1]),
        ("GatherElements", [[3, -9, 2**63 - 1, 1]], [[2, 0, -1, 1]]),
        ("GatherND", [[9, -9], [-1, 4]], [[2, 3], [-1, 0]]),
        ("ScatterND", [[7], [-7]], [[2], [-3]]),
        ("ScatterElements", [[2**32 + 1, -9, 2**63 - 1, 1]], [[2, 0, -1, 1]]),
    ):
        each = case(operator, X, right)
        model, inputs = one_node(each)
        plan = shared(model, threads, enable_graph_optimization=optimize).plan
        context = plan.create_execution_context(guarded(plan.arena_bytes, plan.alignment))
        kept: dict[str, Array] = {}
        for spec in (*plan.inputs, *plan.outputs):
            memory = guarded(spec.nbytes, spec.dtype.itemsize)
            kept[spec.name] = memory.view(spec.dtype).reshape(spec.shape)
            bind = context.bind_input if spec.name in inputs else context.bind_output
            bind(spec.name, kept[spec.name])
        for name, array in inputs.items():
            kept[name][...] = array
        kept["x1"][...] = np.asarray(wrong)
        with pytest.raises(mi.InvalidInputError, match=r"^the_node .* is outside of a dimension"):
            context.execute()
        kept["x1"][...] = np.asarray(right)
        context.execute()
        (expected,) = computed(model, inputs).values()
        np.testing.assert_array_equal(kept["y0"], expected, operator)
