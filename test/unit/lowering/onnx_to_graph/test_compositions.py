"""Operators that users compose of graph values: what they compute, how they fuse, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
import pytest
from text_models import numbers
from user_operators import model_with, own_registry

import mini_infer as mi
from mini_infer import GraphValue, ops
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.onnx_to_graph import importer

Function = Callable[[Any], Any]
X = numbers(4, 6)


@pytest.fixture(autouse=True)
def _own_registry() -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    with own_registry():
        yield


def results_of(function: Callable[..., Any], *arrays: Array, **options: Any) -> list[Array]:
    """What an operator of that function makes of arrays, in a model of its own."""
    mi.operator("my.domain", "MyOp")(function)
    names = [f"x{index}" for index in range(len(arrays))]
    types = {"f": "float", "i": "int64", "b": "bool"}
    given = ", ".join(
        f"{types[each.dtype.kind]}{list(each.shape)} {name}" for each, name in zip(arrays, names, strict=True)
    )
    model = model_with(f"g ({given}) => (y) {{ y = my.domain.MyOp ({', '.join(names)}) }}")
    found = mi.compile(model, threads=1, **options)(*arrays)
    return [found] if isinstance(found, np.ndarray) else list(found)


CASES: dict[str, tuple[Function, Callable[[Array], Array]]] = {
    "operators": (lambda x: -(2 * x + 1) / (abs(x) + 3) - x**2, lambda x: -(2 * x + 1) / (abs(x) + 3) - x**2),
    "reflected": (lambda x: 2 ** (1 - x) + 1 / (x + 9), lambda x: 2 ** (1 - x) + 1 / (x + 9)),
    "product": (lambda x: x @ x.T, lambda x: x @ x.T),
    "floor division": (lambda x: x // 0.7 + x % 0.7, lambda x: x // np.float32(0.7) + x % np.float32(0.7)),
    "comparisons": (
        lambda x: ops.where((x > 0) & (x <= 1) | (x == -1) | ~(x != x), x, -1),
        lambda x: np.where((x > 0) & (x <= 1) | (x == -1) | ~(x != x), x, np.float32(-1)),
    ),
    "reflected logic": (
        lambda x: ops.where(np.array([True] * 5 + [False]) & (x > 0) ^ True, (6 & x.cast(np.int32)).cast("f"), x),
        lambda x: np.where(np.array([True] * 5 + [False]) & (x > 0) ^ True, (6 & x.astype(np.int32)).astype("f"), x),
    ),
    "indices": (
        lambda x: ops.concat([x[0], x[-1], x[:, 1], x[1:3, ::-1].reshape(-1), x[..., None, 2:4][3, 0]]),
        lambda x: np.concatenate([x[0], x[-1], x[:, 1], x[1:3, ::-1].reshape(-1), x[..., None, 2:4][3, 0]]),
    ),
    "reductions": (
        lambda x: ops.sum(x, 1, keepdims=True) + ops.mean(x) * ops.max(x, axes=[0]) - ops.min(x, [0, 1]) + ops.prod(x),
        lambda x: x.sum(1, keepdims=True) + x.mean() * x.max(0) - x.min() + x.prod(),
    ),
    "softmax": (lambda x: ops.softmax(x), lambda x: np.exp(x) / np.exp(x).sum(1, keepdims=True)),
    "shapes": (
        lambda x: ops.stack([*ops.split(x, [2, 4], 1)][:1] * 2, 1).transpose(2, 0, 1),
        lambda x: np.stack([x[:, :2]] * 2, 1).transpose(2, 0, 1),
    ),
    "constants": (
        lambda x: x + ops.full((6,), 2.0) * ops.constant([[1], [2], [3], [4]], np.float32) + np.ones(6, np.float32),
        lambda x: x + 2 * np.array([[1], [2], [3], [4]], np.float32) + 1,
    ),
    "types": (
        lambda x: (ops.cast(x, np.int32) // 2).cast("float32") + ops.take(x, [-1, 0, 1, 0]),
        lambda x: (x.astype(np.int32) // 2).astype("f") + x[[-1, 0, 1, 0]],
    ),
    "ONNX's names": (
        lambda x: ops.Gemm(x, np.ones((6, 3), np.float32), alpha=2) + ops.TopK(x, [3], axis=1, largest=0)[0],
        lambda x: 2 * x.sum(1, keepdims=True) + np.sort(x, 1)[:, :3],
    ),
    "another domain": (
        lambda x: ops.domain("com.microsoft").FusedMatMul(x, x, transB=1, alpha=0.5),
        lambda x: 0.5 * x @ x.T,
    ),
    "sizes": (
        lambda x: x * x.shape[1] + ops.arange(x.shape[1], np.float32),
        lambda x: x * 6 + np.arange(6, dtype=np.float32),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_a_composition_computes_what_numpy_does(name: str) -> None:
    function, reference = CASES[name]
    (found,) = results_of(function, X)
    np.testing.assert_allclose(found, reference(X), rtol=2e-5, atol=2e-6)


def test_integers_divide_like_pythons() -> None:
    x = np.array([-7, -6, -1, 0, 5, 9])

    def divided(x: GraphValue) -> GraphValue:
        return ops.stack([x // 4, x % 4, x // -4, 7 - x, x & 6, ~x])

    (found,) = results_of(divided, x)
    np.testing.assert_array_equal(found, [x // 4, x % 4, x // -4, 7 - x, x & 6, ~x])


def test_a_composition_is_fused_with_what_stands_around_it() -> None:
    @mi.operator("my.domain", "Swish")
    def swish(x: GraphValue, *, beta: float = 1.0) -> GraphValue:
        return x * ops.sigmoid(beta * x)

    text = "g (float[N, 6] x) => (float[N, 6] y) { a = Relu (x) b = my.domain.Swish <beta = 2.0> (a) y = Neg (b) }"
    positive = np.maximum(X, 0)
    wanted = -positive / (1 + np.exp(-2 * positive))
    for options in ({"dims": {"N": 4}}, {"profile": mi.OptimizationProfile(dims={"N": (1, 2, 8)})}):
        engine = mi.compile(model_with(text), threads=1, **options)  # pyright: ignore
        np.testing.assert_allclose(engine(X), wanted, rtol=1e-5, atol=1e-6)
        assert len(engine.plan.calls) == 1
    on_gpu = mi.compile(model_with(text), dims={"N": 4}, device="cuda-emulated")
    np.testing.assert_allclose(on_gpu(X), wanted, rtol=1e-5, atol=1e-6)
    assert swish.__doc__ is None and "beta" in str(swish.__wrapped__.__annotations__)  # pyright: ignore


def test_operators_call_each_other_and_choose_by_version() -> None:
    @mi.operator("my.domain", "Twice")
    def twice(x: GraphValue) -> GraphValue:
        return x * 2

    @mi.operator("my.domain", "Twice", since=3)
    def thrice(x: GraphValue) -> GraphValue:
        return x * 3

    @mi.operator("my.domain", "Both")
    def both(x: GraphValue, y: GraphValue | None = None) -> tuple[GraphValue, GraphValue]:
        assert y is None
        return ops.domain("my.domain").Twice(x), twice(x) + thrice(x)

    text = "g (float[4, 6] x) => (float[4, 6] a, float[4, 6] b) { a, b = my.domain.Both (x) }"
    for version, factor in ((1, 2), (2, 2), (3, 3), (9, 3)):
        a, b = mi.compile(model_with(text, version), threads=1)(X)
        np.testing.assert_allclose(a, factor * X)
        np.testing.assert_allclose(b, 2 * factor * X)


def test_attributes_come_as_python_values() -> None:
    seen: dict[str, object] = {}

    @mi.operator("my.domain", "Attributes")
    def attributes(
        x: GraphValue,
        *,
        number: int,
        ratio: float = 0.5,
        on: bool = False,
        word: str,
        several: list[int],
        floats: Sequence[float] = (1,),
        words: list[str],
        table: np.ndarray[Any, Any],
        none: int | None = None,
    ) -> GraphValue:
        seen.update(locals())
        return x

    given = 'number = 3, on = 1, word = "w", several = [1, 2], words = ["a", "b"], table = float[2] {1, 2}'
    text = f"g (float[2] x) => (float[2] y) {{ y = my.domain.Attributes <{given}> (x) }}"
    mi.import_onnx(model_with(text))
    assert seen.pop("x") is not None
    np.testing.assert_array_equal(seen.pop("table"), [1, 2])  # pyright: ignore
    expected = {"number": 3, "ratio": 0.5, "on": True, "word": "w", "several": [1, 2], "floats": [1.0]}
    assert {name: value for name, value in seen.items() if name != "seen"} == {
        **expected,
        "words": ["a", "b"],
        "none": None,
    }
    assert attributes is not None


KEPT: list[GraphValue] = []


def _keep(x: GraphValue) -> GraphValue:
    KEPT.append(x)
    return KEPT[0] + x


def _raises(x: GraphValue) -> GraphValue:
    raise KeyError("missing piece")


def _endless(x: GraphValue) -> GraphValue:
    while True:
        x = -x


REFUSED: dict[str, tuple[Function, type[mi.MiniInferError], str]] = {
    "exception": (
        _raises,
        mi.OperatorError,
        r"MyOp_0 \(my\.domain\.MyOp\): \S+test_compositions\.py:\d+: KeyError: .miss",
    ),
    "no value": (
        lambda x: 3,
        mi.OperatorError,
        r"MyOp_0 \(my\.domain\.MyOp\): .*returns a value of type int for result 0",
    ),
    "nothing": (lambda x: None, mi.OperatorError, "it returns None for result 0, which is no graph value"),
    "truth": (lambda x: x if x else -x, mi.OperatorError, "TypeError: the truth of a graph value is known when"),
    "loop": (lambda x: [*x], mi.OperatorError, "TypeError: a graph value can't be iterated over"),
    "numpy": (lambda x: np.exp(x), mi.OperatorError, r"test_compositions\.py:\d+: TypeError: "),
    "float": (lambda x: x * float(x), mi.OperatorError, "TypeError: the elements of a graph value are known when"),
    "index": (lambda x: x[4], mi.OperatorError, "IndexError: index 4 is outside of a dimension of 4"),
    "indices": (lambda x: x[0, 0, 0], mi.OperatorError, "IndexError: 3 indices for a value of rank 2"),
    "index's type": (lambda x: x[x], mi.OperatorError, "TypeError: a graph value can't be indexed by GraphValue"),
    "unknown": (lambda x: ops.Reluu(x), mi.OperatorError, r"py:\d+: there is no operator Reluu"),
    "unknown function": (
        lambda x: ops.reluu(x),
        mi.OperatorError,
        "AttributeError: mini_infer.ops has no function 'reluu'",
    ),
    "unknown domain": (
        lambda x: ops.domain("no.such").Relu(x),
        mi.OperatorError,
        r"py:\d+: there is no operator no\.such\.Relu",
    ),
    "unsupported": (
        lambda x: ops.StringNormalizer(x),
        mi.UnsupportedError,
        r"StringNormalizer .*; called at \S+py:\d+",
    ),
    "shapes": (
        lambda x: x @ x,
        mi.InvalidModelError,
        r"MyOp_0/MatMul \(MatMul\): .*; called at \S+test_compositions\.py:\d+",
    ),
    "operands": (lambda x: ops.Relu(x, x), mi.InvalidModelError, r"Relu.*: 2 operands, but the operator has 1; called"),
    "attribute": (
        lambda x: ops.Relu(x, alpha=1),
        mi.InvalidModelError,
        "the operator has no attribute alpha; called at",
    ),
    "attribute's type": (lambda x: ops.Softmax(x, axis="a"), mi.OperatorError, "Softmax: attribute axis can't be 'a'"),
    "integers": (lambda x: x.cast(np.int32) / 2, mi.OperatorError, "/ of integers has no element type here"),
    "lists": (lambda x: x * [[1], [2, 3]], mi.OperatorError, "no value: its lists differ in length"),
    "sequence": (lambda x: ops.SequenceConstruct(x), mi.OperatorError, "SequenceConstruct gives .*, which is no graph"),
    "objects in rows": (
        lambda x: x + np.full((2, 200), None),
        mi.OperatorError,
        r"\.\.\. is no value: expected a graph value",
    ),
    "text": (lambda x: x + "one", mi.OperatorError, "'one' is no value: expected a graph value, an array"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_mistake_in_a_function_is_one_line(name: str) -> None:
    function, kind, message = REFUSED[name]
    with pytest.raises(kind, match=message) as caught:
        results_of(function, X)
    assert "\n" not in str(caught.value)


def test_a_composition_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "MAX_NODES", 50)
    message = r"MyOp_0/Neg_50 \(Neg\): compositions have more than 50 nodes; called at \S+py:\d+"
    with pytest.raises(mi.UnsupportedError, match=message):
        results_of(_endless, X)


def test_a_value_of_another_graph_is_refused() -> None:
    KEPT.clear()
    results_of(_keep, X)
    with pytest.raises(mi.OperatorError, match=r"py:\d+: GraphValue\(float32\[4, 6\]\) is a value of another graph"):
        results_of(_keep, X)


def test_graph_values_need_a_graph() -> None:
    with pytest.raises(mi.OperatorError, match="graph values exist only while the function of an operator runs"):
        ops.relu(np.ones(3, np.float32))


NODES = {
    "(x) => y": ("y = my.domain.Checked <axis = 1> (x)", ""),
    "missing attribute": ("y = my.domain.Checked (x)", r"Checked_0 \(Checked\): attribute axis is missing"),
    "unknown attribute": (
        "y = my.domain.Checked <axis = 1, aksis = 2> (x)",
        r"Checked_0 \(Checked\): the operator has no attribute aksis; its attributes: axis",
    ),
    "attribute's type": ("y = my.domain.Checked <axis = 1.5> (x)", "attribute axis must be INT, got FLOAT"),
    "inputs": ("y = my.domain.Checked <axis = 1> (x, x, x)", "3 inputs, but the operator has 1 to 2"),
    "missing input": ("y = my.domain.Checked <axis = 1> (, x)", "input x is missing"),
    "outputs": ("y, z = my.domain.Checked <axis = 1> (x)", "2 outputs, but the operator has 1"),
}


@pytest.mark.parametrize("name", NODES)
def test_a_node_is_held_to_the_signature(name: str) -> None:
    @mi.operator("my.domain", "Checked")
    def checked(x: GraphValue, y: GraphValue | None = None, *, axis: int) -> GraphValue:
        return x if y is None else x + y + axis

    text, message = NODES[name]
    model = model_with(f"g (float[4, 6] x) => (float[4, 6] y) {{ {text} }}")
    if not message:
        np.testing.assert_array_equal(mi.compile(model, threads=1)(X), X)
        return
    with pytest.raises(mi.InvalidModelError, match=message):
        mi.import_onnx(model)
    assert checked is not None


def test_a_version_that_the_model_does_not_import_is_named() -> None:
    mi.operator("my.domain", "New", since=4)(lambda x: x)  # pyright: ignore
    model = model_with("g (float[2] x) => (float[2] y) { y = my.domain.New (x) }", 2)
    message = r"my\.domain\.New in version 2 of my\.domain; it is registered since 4 \(New_0\)"
    with pytest.raises(mi.UnsupportedError, match=message):
        mi.import_onnx(model)
    del model.opset_import[1]
    with pytest.raises(mi.UnsupportedError, match=r"my\.domain\.New, as the model imports no version of my\.domain"):
        mi.import_onnx(model)


def test_an_operator_of_onnx_is_replaced_on_request_only() -> None:
    with pytest.raises(mi.OperatorError, match=r"operator Relu: mini_infer has it; override=True replaces it"):
        mi.operator("", "Relu")(lambda x: x)  # pyright: ignore
    mi.operator("ai.onnx", "Relu", override=True)(lambda x: x + 1)  # pyright: ignore
    model = model_with("g (float[4, 6] x) => (float[4, 6] y) { y = Relu (x) }")
    np.testing.assert_array_equal(mi.compile(model, threads=1)(X), X + 1)
