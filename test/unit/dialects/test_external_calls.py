"""graph.external_call: what makes it ill-formed, its attributes as Python values, and code that names no operator."""

from __future__ import annotations

from typing import Any

import pytest
from xdsl.dialects.builtin import DictionaryAttr, f32
from xdsl.ir import Block
from xdsl.parser import Parser
from xdsl.utils.exceptions import VerifyException

from mini_infer.dialects.errors import CompileError, OperatorError
from mini_infer.dialects.graph.ops.external import ExternalCallOp, argument_attr, plain
from mini_infer.dialects.graph.values import tensor
from mini_infer.lowering.module_text import module_context
from mini_infer.runtime.native.user_objects import declared_kernels

X = tensor(f32, (2, 3))


def external(operator: tuple[str, str, int] = ("d", "Op", 1), results: int = 1, **options: Any) -> ExternalCallOp:
    """A call with one operand."""
    return ExternalCallOp(operator, list(Block(arg_types=[X]).args), [X] * results, DictionaryAttr({}), **options)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "name": ({"operator": ("d", "", 1)}, "the operator has no name"),
    "results": ({"results": 0}, "an operator has one result at least"),
    "inputs": ({"inputs": [-1, 1]}, r"inputs \[-1, 1\] of 1 operands"),
    "operand": ({"inplace": [(1, 0)]}, "inplace: no pair 1, 0"),
    "result": ({"inplace": [(0, 1)]}, "inplace: no pair 0, 1"),
    "scratch": ({"scratch": -8}, "scratch of -8 bytes"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_call_that_is_ill_formed(name: str) -> None:
    options, message = WRONG[name]
    with pytest.raises(VerifyException, match=message):
        external(**options).verify()


def test_an_operand_in_place_of_nothing() -> None:
    op = external(inplace=[(0, 0)])
    op.properties["inplace"] = argument_attr([0])
    with pytest.raises(VerifyException, match="inplace has an operand without a result"):
        op.verify()


@pytest.mark.parametrize("value", [True, -3, 0.1, "text", [1, 2], [0.5], []])
def test_attributes_are_python_values(value: Any) -> None:
    found = plain(argument_attr(value))
    assert (found, type(found)) == (value, type(value))


def test_an_attribute_that_is_no_value() -> None:
    with pytest.raises(OperatorError, match="f32 is no value of an operator's attribute"):
        plain(f32)


def test_a_call_without_its_operator_has_no_value() -> None:
    message = r"graph\.external_call: the kernel of operator d\.Op \(since 1\) is not registered: import the module"
    with pytest.raises(OperatorError, match=message):
        external().evaluate()


def test_a_declaration_that_names_no_operator() -> None:
    text = 'func.func private @f() attributes {kernel.operator = {domain = "d"}}'
    module = Parser(module_context(), text).parse_module()
    with pytest.raises(CompileError, match=r"@f: kernel\.operator names no operator"):
        declared_kernels(module.ops)
