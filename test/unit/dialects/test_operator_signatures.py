"""The inputs and attributes of a user's operator, read from its function, and the registry's choice of versions."""

# Functions written in place, as users write them, have parameters of unknown types.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
# pyright: reportUnknownVariableType=false

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from mini_infer.dialects.errors import OperatorError
from mini_infer.dialects.operators.operator import Operator
from mini_infer.dialects.operators.operator_registry import BUILT_IN, Registry
from mini_infer.dialects.operators.signature import signature_of


def test_inputs_are_positional_and_attributes_keyword_only() -> None:
    def function(
        x: Any,
        y: Any = None,
        *more: Any,
        axis: int,
        alpha: float = 1.5,
        keep: bool = True,
        mode: str = "sum",
        sizes: list[int],
        weights: Sequence[float] = (1, 2),
        names: tuple[str, ...] = (),
        table: np.ndarray[Any, Any],
        limit: int | None = None,
        plain=3,  # pyright: ignore[reportMissingParameterType]
    ) -> None:
        """Of every kind."""

    found = signature_of(function, "it")
    assert (found.inputs, found.required, found.variadic) == (("x", "y"), 1, True)
    kinds = [(each.name, each.kind) for each in found.attributes]
    assert kinds == [
        ("axis", "int"),
        ("alpha", "float"),
        ("keep", "bool"),
        ("mode", "str"),
        ("sizes", "ints"),
        ("weights", "floats"),
        ("names", "strings"),
        ("table", "array"),
        ("limit", "int"),
        ("plain", "int"),
    ]
    assert [each.name for each in found.attributes if each.required] == ["axis", "sizes", "table"]
    assert found.refuses(0, []) == "input x is missing"
    assert found.refuses(5, [True] * 5) == ""


def test_too_many_inputs_are_refused() -> None:
    found = signature_of(lambda x, y=None: x, "it")  # pyright: ignore
    assert found.refuses(3, [True] * 3) == "3 inputs, but the operator has 1 to 2"


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x, **rest: x, r"it: \*\*rest has no meaning"),
        (lambda x=1: x, "it: input x has a default other than None"),
        (lambda x, *, alpha: x, "it: attribute alpha needs an annotation"),
        (lambda x, *, alpha=None: x, "it: attribute alpha needs an annotation"),
        (3, "it: its function has no readable signature"),
    ],
)
def test_parameters_without_a_meaning_are_refused(function: Callable[..., Any], message: str) -> None:
    with pytest.raises(OperatorError, match=message):
        signature_of(function, "it")


@pytest.mark.parametrize(
    ("kind", "default", "message"),
    [
        (int, "a", "is of kind int, but its default is 'a'"),
        (int, 1.5, "is of kind int, but its default is 1.5"),
        (float, "1", "is of kind float, but its default is '1'"),
        (bool, "no", "is of kind bool, but its default is 'no'"),
        (str, 1, "is of kind str, but its default is 1"),
        (list[int], 3, "is of kind ints, but its default is 3"),
        (list[int], [0.5], r"is of kind ints, but its default is \[0.5\]"),
        (list[str], "abc", "is of kind strings, but its default is 'abc'"),
    ],
)
def test_a_default_of_another_kind_is_refused(kind: Any, default: Any, message: str) -> None:
    def function(x: Any, *, alpha: Any = default) -> None:
        """With a default."""

    function.__annotations__["alpha"] = kind
    with pytest.raises(OperatorError, match=f"it: attribute alpha {message}"):
        signature_of(function, "it")


def test_defaults_are_converted_to_their_kind() -> None:
    spelled: dict[str, Any] = {"three": np.int64(3), "one": np.int32(1)}

    def function(
        x: Any,
        *,
        a: int = spelled["three"],
        b: float = 2,
        c: Sequence[float] = (1,),
        d: bool = spelled["one"],
        e: float | None = None,
    ) -> None:
        """With numbers spelled otherwise."""

    found = [each.default for each in signature_of(function, "it").attributes]
    assert found == [3, 2.0, (1.0,), True, None]
    assert [type(each) for each in found] == [int, float, tuple, bool, type(None)]


def test_a_type_that_no_attribute_has_is_refused() -> None:
    def function(x: Any, *, alpha: dict[str, int]) -> None:
        """An attribute that can't be."""

    with pytest.raises(OperatorError, match=r"it: attribute alpha has type dict\[str, int\]; it may be int, float"):
        signature_of(function, "it")


def test_an_annotation_that_is_not_there_is_refused() -> None:
    names: dict[str, Any] = {}
    exec("def function(x, *, alpha: Nowhere): pass", names)
    with pytest.raises(OperatorError, match="it: an annotation of its function can't be evaluated: name 'Nowhere'"):
        signature_of(names["function"], "it")


def operator(since: int, kind: str = "composed", **options: Any) -> Operator:
    return Operator(domain="d", name="Op", since=since, kind=kind, origin=f"since {since}", **options)


def test_a_node_gets_the_newest_version_that_its_model_imports() -> None:
    registry = Registry()
    for since in (2, 5):
        registry.add(operator(since))
    found = {version: registry.find("d", "Op", version) for version in (1, 2, 4, 5, 9)}
    assert [None if each is None else each.since for each in found.values()] == [None, 2, 2, 5, 5]
    assert registry.versions("d", "Op") == [2, 5]
    assert [each.since for each in registry.listed()] == [2, 5]


def test_a_second_operator_of_a_name_is_refused_unless_it_is_the_same_function() -> None:
    registry = Registry()

    def one() -> None:
        """The first."""

    registry.add(operator(1, function=one))
    registry.add(again := operator(1, function=one, depends=("new",)))
    assert registry.find("d", "Op", 1) is again
    with pytest.raises(OperatorError, match=r"operator d\.Op since 1 is registered twice: at since 1 and at since 1"):
        registry.add(operator(1, function=lambda: None))


def test_an_operator_of_this_package_is_replaced_on_request_only() -> None:
    registry = Registry()
    registry.add(operator(0, BUILT_IN))
    with pytest.raises(OperatorError, match=r"operator d\.Op: mini_infer has it; override=True"):
        registry.add(operator(1))
    registry.add(other := operator(1, override=True))
    assert registry.find("d", "Op", 1) is other
    registry.remove(other)
    found = registry.find("d", "Op", 1)
    assert found is not None and found.kind == BUILT_IN
