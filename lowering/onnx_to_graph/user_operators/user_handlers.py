"""Handlers of users' operators: a composition calls its function on graph values, a kernel is an external call."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from functools import partial
from math import isfinite
from typing import Any, cast

from onnx import numpy_helper
from xdsl.dialects.builtin import DictionaryAttr
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from ....dialects.errors import MiniInferError, OperatorError
from ....dialects.graph.narrow_types import is_narrow
from ....dialects.graph.ops.external import ABSENT, ExternalCallOp, argument_attr
from ....dialects.graph.values import (
    MAX_RANK,
    AnyTensor,
    element_type_of,
    element_type_of_value,
    nbytes_of,
    numpy_dtype,
    shape_of,
    tensor,
    type_of,
)
from ....dialects.operators.operator import Kernel, Operator
from ....dialects.operators.signature import AttributeSpec, OperatorSignature
from ....dialects.operators.tensor_type import TensorType
from ....dialects.sizes.guards import unguarded
from ....dialects.sizes.sizes import LostSizeError, equal
from ..node import Handler, Node, Result
from .graph_value import GraphValue, raw
from .operator_calls import composing

_ONE_ATTRIBUTE: dict[str, Callable[[Node, str], Any]] = {
    "int": lambda node, name: node.integer(name, 0),
    "bool": lambda node, name: node.flag(name),
    "float": lambda node, name: node.number(name, 0.0),
    "str": lambda node, name: node.text(name, ""),
    "ints": lambda node, name: node.integers(name),
    "floats": lambda node, name: node.numbers(name),
    "strings": lambda node, name: node.texts(name),
    "array": lambda node, name: numpy_helper.to_array(node.tensor(name)),
}


def user_handler(operator: Operator) -> Handler:
    """The handler of an operator that a user registered."""
    return partial(_composed if operator.kernel is None else _called, operator)


def _composed(operator: Operator, node: Node) -> Result:
    """The results of the operator's function for the node's inputs."""
    assert operator.function is not None and operator.signature is not None
    attributes = _attributes(node, operator)
    operands = _operands(node, operator.signature)
    with composing(node) as graph, _telling(node, operator):
        given = [None if each is None else GraphValue(each, graph) for each in operands]
        found: object = operator.function(*given, **attributes)
        values = list(cast("Sequence[object]", found)) if isinstance(found, tuple | list) else [found]
        for number, each in enumerate(values):
            if not isinstance(each, GraphValue):
                raise OperatorError(f"it returns {_shown(each)} for result {number}, which is no graph value")
        _check_count(node, len(values))
        return [raw(each) for each in values if isinstance(each, GraphValue)]


def _called(operator: Operator, node: Node) -> Result:
    """The results of the operator's kernel: an external call with the types of its rule."""
    kernel, signature = operator.kernel, operator.signature
    assert kernel is not None and signature is not None and operator.function is not None
    attributes = _attributes(node, operator)
    operands = _operands(node, signature)
    present = [each for each in operands if each is not None]
    for index, each in enumerate(operands):
        if each is not None and is_narrow(element_type_of_value(each)):
            raise node.unsupported(f"input {index} is {element_type_of_value(each)}, which kernels don't take: cast it")
    types = [None if each is None else _tensor_type(each) for each in operands]
    with _telling(node, operator):
        results = _results(operator.function(*types, **attributes))
        scratch = _count("scratch", kernel.scratch, types, attributes)
        with unguarded():  # an estimate is of use at other shapes, too
            flops = _count("cost", kernel.cost, types, attributes)
    _check_count(node, len(results))
    numbers = iter(range(len(present)))
    inputs = [ABSENT if each is None else next(numbers) for each in operands]
    op = ExternalCallOp(
        (operator.domain, operator.name, operator.since),
        present,
        results,
        DictionaryAttr({name: argument_attr(value) for name, value in attributes.items()}),
        inputs=inputs,
        inplace=_inplace(node, kernel, operands, inputs, results),
        scratch=scratch,
        flops=flops,
        threads=kernel.threads,
    )
    return list(node.emit_all(op))


def _inplace(
    node: Node, kernel: Kernel, operands: Sequence[SSAValue | None], inputs: Sequence[int], results: Sequence[AnyTensor]
) -> list[tuple[int, int]]:
    """The pairs of an operand and a result that may share memory: those of equal numbers of bytes."""
    found: list[tuple[int, int]] = []
    for operand, result in kernel.inplace:
        value = operands[operand] if operand < len(operands) else None
        if result >= len(results):
            raise node.malformed(f"inplace names result {result}, and the operator has {len(results)}")
        if value is not None and equal(nbytes_of(type_of(value)), nbytes_of(results[result])):
            found.append((inputs[operand], result))
    return found


def _tensor_type(value: SSAValue) -> TensorType:
    return TensorType(numpy_dtype(element_type_of_value(value)), shape_of(value))


def _results(found: object) -> list[AnyTensor]:
    """The types that a rule returns. Raises OperatorError for anything else."""
    values = list(cast("Sequence[object]", found)) if isinstance(found, tuple | list) else [found]
    types: list[AnyTensor] = []
    for number, each in enumerate(values):
        if not isinstance(each, TensorType):
            raise OperatorError(f"its rule returns {_shown(each)} for result {number}, which is no TensorType")
        what = f"its rule returns the shape {list(each.shape)} for result {number}"
        if each.rank > MAX_RANK:
            raise OperatorError(f"{what}: a rank of {each.rank}, and at most {MAX_RANK} is possible")
        for size in each.shape:
            if not isinstance(cast("object", size), int) or isinstance(size, bool):
                raise OperatorError(f"{what}: {size!r} is no integer")
            if size < 0:
                raise OperatorError(f"{what}: {size} is negative")
        try:
            element = element_type_of(each.dtype)
            if is_narrow(element):
                raise OperatorError(
                    f"its rule returns elements of {element} for result {number}: no kernel makes these"
                )
            types.append(tensor(element, each.shape))
        except VerifyException as error:
            raise OperatorError(f"its rule returns {each.dtype} for result {number}: {error}") from None
    if not types:
        raise OperatorError("its rule returns no result")
    return types


def _count(
    what: str, rule: Callable[..., float] | float | None, types: Sequence[TensorType | None], attributes: dict[str, Any]
) -> int:
    """Bytes of scratch, or floating point operations; the rule takes what the operator's does."""
    found: Any = rule(*types, **attributes) if callable(rule) else rule or 0
    if isinstance(found, float) and isfinite(found):
        found = round(found)
    if not isinstance(found, int):
        raise OperatorError(f"{what} is {_shown(found)}, which is no number")
    if found < 0:
        raise OperatorError(f"{what} is {found}, which is negative")
    return found


def _operands(node: Node, signature: OperatorSignature) -> list[SSAValue | None]:
    """The node's inputs, None for absent ones, as many as the function has. Raises InvalidModelError."""
    count = len(node.proto.input)
    if why := signature.refuses(count, [node.has_operand(index) for index in range(count)]):
        raise node.malformed(why)
    return [node.optional(index) for index in range(max(count, len(signature.inputs)))]


def _attributes(node: Node, operator: Operator) -> dict[str, Any]:
    """The node's attributes by name, in the order of the signature. Raises InvalidModelError."""
    signature = operator.signature
    assert signature is not None
    found = {each.name: _attribute(node, each) for each in signature.attributes}
    if unread := node.unread():
        known = ", ".join(found) or "none"
        raise node.malformed(f"the operator has no attribute {unread[0].name}; its attributes: {known}")
    return found


def _attribute(node: Node, spec: AttributeSpec) -> Any:
    if node.has(spec.name):
        return _ONE_ATTRIBUTE[spec.kind](node, spec.name)
    if spec.required:
        raise node.malformed(f"attribute {spec.name} is missing")
    is_list = isinstance(spec.default, tuple)
    return list(cast("tuple[Any, ...]", spec.default)) if is_list else spec.default


def _check_count(node: Node, count: int) -> None:
    wanted = len(node.proto.output)
    if wanted > count:
        raise node.malformed(f"{wanted} outputs, but the operator has {count}")


def _shown(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


@contextmanager
def _telling(node: Node, operator: Operator) -> Generator[None]:
    """Any error of the user's function as one that names the node, the operator, and the line of the function."""
    where = f"{node.name} ({operator.full_name})"
    try:
        yield
    except LostSizeError as error:
        raise OperatorError(f"{where}: {_line(error, operator)}: {error}") from error
    except OperatorError as error:
        place = _line(error, operator)
        raise OperatorError(str(error) if str(error).startswith(where) else f"{where}: {place}: {error}") from error
    except MiniInferError as error:
        error.args = (f"{error}; called at {_line(error, operator)}", *error.args[1:])
        raise
    except Exception as error:  # the user's function may raise anything
        raise OperatorError(f"{where}: {_line(error, operator)}: {type(error).__name__}: {error}") from error


def _line(error: BaseException, operator: Operator) -> str:
    """file:line of the innermost call in the file of the operator's function; where it is defined, if there is none."""
    code = getattr(operator.function, "__code__", None)
    place, trace = operator.origin, error.__traceback__
    while trace is not None:
        if code is not None and trace.tb_frame.f_code.co_filename == code.co_filename:
            place = f"{code.co_filename}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place
