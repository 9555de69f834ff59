"""A call of a user's compiled function, which the compiler sees from outside only.

    %y = graph.external_call %x, %w {domain = "my.domain", operator = "ScaledAdd", since = 1,
           arguments = {scale = 2.0 : f64}, flops = 4096, inplace = array<i64: 0, 0>} : (...) -> tensor<4x8xf32>

The op has all that planning needs: result types, scratch, cost, and which operands may be overwritten. The function
itself is found in the registry of operators (dialects/operators/operator_registry.py) when it is compiled or evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DictionaryAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    LocationAttr,
    StringAttr,
    UnitAttr,
    f64,
    i1,
    i64,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import irdl_op_definition, opt_prop_def, prop_def, var_operand_def, var_result_def

from ...errors import OperatorError
from ...operators.operator import Operator
from ...operators.operator_registry import OPERATORS
from ..base import GraphOp, describe, require
from ..values import AnyTensor, Array, flag_attr, int_attr, ints, ints_attr, numpy_dtype, type_of

ABSENT = -1
"""In `inputs`: an optional input that the node doesn't give."""


@irdl_op_definition
class ExternalCallOp(GraphOp):
    """Calls the kernel of operator `domain`.`operator`, as registered since version `since`.

    `arguments` are its attributes, in the order of its C structure. `inputs` has, for each input of the operator, the
    number of the operand, or -1 if it is absent; without it they are the operands. `inplace` has pairs of an operand
    and a result that may be the same memory. `scratch` are bytes (with `threads`, for each thread), `flops` floating
    point operations. With `threads`, several threads call it, each for its share.
    """

    name = "graph.external_call"
    FORM: ClassVar[str] = "external"
    LINEAR: ClassVar[bool] = False

    given = var_operand_def()
    domain = prop_def(StringAttr)
    operator = prop_def(StringAttr)
    since = prop_def(IntegerAttr[IntegerType])
    attributes_given = opt_prop_def(DictionaryAttr, prop_name="arguments")
    inputs = opt_prop_def(DenseArrayBase)
    inplace = opt_prop_def(DenseArrayBase)
    scratch = opt_prop_def(IntegerAttr[IntegerType])
    flops = opt_prop_def(IntegerAttr[IntegerType])
    threads = opt_prop_def(UnitAttr)
    res = var_result_def()

    def __init__(
        self,
        operator: tuple[str, str, int],
        operands: Sequence[SSAValue],
        result_types: Sequence[AnyTensor],
        arguments: DictionaryAttr,
        *,
        inputs: Sequence[int] | None = None,
        inplace: Sequence[tuple[int, int]] = (),
        scratch: int = 0,
        flops: int = 0,
        threads: bool = False,
        location: LocationAttr | None = None,
    ):
        """`operator` is its domain, its name, and the version since which it is registered."""
        domain, name, since = operator
        pairs = [number for pair in inplace for number in pair]
        self._build(
            operands,
            location,
            result_types,
            domain=domain,
            operator=name,
            since=since,
            arguments=arguments if arguments.data else None,
            inputs=None if inputs is None or [*inputs] == [*range(len(operands))] else ints_attr(inputs),
            inplace=ints_attr(pairs) if pairs else None,
            scratch=None if type(scratch) is int and not scratch else int_attr(scratch),
            flops=None if type(flops) is int and not flops else int_attr(flops),
            threads=flag_attr(threads),
        )

    @property
    def full_name(self) -> str:
        """The operator's domain and name."""
        return f"{self.domain.data}.{self.operator.data}"

    @property
    def scratch_bytes(self) -> int:
        """Bytes of scratch of a call, or of each thread."""
        return 0 if self.scratch is None else self.scratch.value.data

    @property
    def input_operands(self) -> tuple[int, ...]:
        """For each input of the operator the operand's number, or ABSENT."""
        return tuple(range(len(self.operands))) if self.inputs is None else _ints(self.inputs)

    @property
    def inplace_pairs(self) -> list[tuple[int, int]]:
        """Pairs of an operand and a result that may be the same memory."""
        numbers = () if self.inplace is None else _ints(self.inplace)
        return list(zip(numbers[::2], numbers[1::2], strict=True))

    @property
    def values(self) -> dict[str, Any]:
        """The attributes as Python values, by name, in the order of the C structure."""
        if self.attributes_given is None:
            return {}
        given = cast("Mapping[str, Attribute]", self.attributes_given.data)
        return {name: plain(value) for name, value in given.items()}

    @property
    def definition(self) -> Operator:
        """The registered operator. Raises OperatorError if there is none, or one without a kernel."""
        since = self.since.value.data
        found = OPERATORS.exactly(self.domain.data, self.operator.data, since)
        if found is None or found.kernel is None:
            raise missing(describe(self), self.full_name, since)
        return found

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require(bool(self.operator.data), "the operator has no name")
        operands, results = len(self.operands), len(self.results)
        require(results > 0, "an operator has one result at least")
        known = [each for each in self.input_operands if each != ABSENT]
        require(known == list(range(operands)), f"inputs {list(self.input_operands)} of {operands} operands")
        if self.inplace is not None:
            require(len(_ints(self.inplace)) % 2 == 0, "inplace has an operand without a result")
            for operand, result in self.inplace_pairs:
                require(0 <= operand < operands and 0 <= result < results, f"inplace: no pair {operand}, {result}")
        require(self.scratch_bytes >= 0, f"scratch of {self.scratch_bytes} bytes")
        return [type_of(result) for result in self.results]

    @property
    @override
    def products(self) -> int:
        return 0 if self.flops is None else self.flops.value.data // 2

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        operator = self.definition
        kernel = operator.kernel
        assert kernel is not None
        types = [type_of(value) for value in self.operands]
        operands = [
            np.ascontiguousarray(array, numpy_dtype(type.element_type)).reshape(array.shape)
            for array, type in zip(arrays, types, strict=True)
        ]
        results = [type_of(result) for result in self.results]
        outputs = [
            np.empty([int(size) for size in each.get_shape()], numpy_dtype(each.element_type)) for each in results
        ]
        given = [None if each == ABSENT else operands[each] for each in self.input_operands]
        kernel.run(operator, given, outputs, int(self.scratch_bytes), list(self.values.values()))
        return tuple(outputs)


def missing(where: str, full_name: str, since: int) -> OperatorError:
    """The error for an operator whose kernel is needed and not registered; `where` says for what."""
    return OperatorError(
        f"{where}: the kernel of operator {full_name} (since {since}) is not registered: import the module that does it"
    )


def argument_attr(value: Any) -> Attribute:
    """The attribute of a Python value: a truth value, number or text, or a list of integers or floats."""
    match value:
        case bool():
            return IntegerAttr(int(value), i1)
        case int():
            return IntegerAttr(value, i64)
        case float():
            return FloatAttr(value, f64)
        case str():
            return StringAttr(value)
        case _:
            items = list(value)
            floats = any(isinstance(each, float) for each in items)
            return DenseArrayBase.from_list(f64, items) if floats else ints_attr(items)


def plain(attribute: Attribute) -> Any:
    """The Python value of an attribute: the inverse of `argument_attr`."""
    match attribute:
        case IntegerAttr():
            number = cast("IntegerAttr[IntegerType]", attribute)
            return bool(number.value.data) if number.type == i1 else number.value.data
        case FloatAttr():
            return attribute.value.data
        case StringAttr():
            return attribute.data
        case DenseArrayBase():
            return list(cast("DenseArrayBase[Any]", attribute).get_values())
        case _:
            raise OperatorError(f"{attribute} is no value of an operator's attribute")


def _ints(attribute: DenseArrayBase[Any]) -> tuple[int, ...]:
    return ints(cast("DenseArrayBase[IntegerType]", attribute))
