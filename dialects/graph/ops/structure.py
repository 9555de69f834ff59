"""Weights, constants, and kernels: functions on tensors that `main` calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, cast

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import (
    BytesAttr,
    DenseIntOrFPElementsAttr,
    DictionaryAttr,
    FlatSymbolRefAttrConstr,
    FunctionType,
    LocationAttr,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
)
from xdsl.dialects.utils import parse_func_op_like, print_func_op_like
from xdsl.ir import Attribute, Block, BlockArgument, Operation, Region, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import IsolatedFromAbove, IsTerminator, Pure, SymbolOpInterface, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from ...symbols import symbol_named
from ..base import GraphOp
from ..blobs import BlobAttr
from ..values import AnyTensor, Array, element_type_of, is_float_dtype, nbytes_of, numpy_dtype, tensor

# In a dense list, xDSL prints NaN, infinities and some large floats as hexadecimal, but reads hexadecimal as
# integers. So a constant that holds such a float (as large as this, or none at all) is printed as bytes.
DECIMAL_LIMIT = 1e5


@irdl_op_definition
class WeightOp(GraphOp):
    """A weight: bytes outside of the IR, identified by a blob. A BlobStore provides its array."""

    name = "graph.weight"

    blob = prop_def(BlobAttr)
    result = result_def()

    def __init__(self, blob: BlobAttr, type: AnyTensor, location: LocationAttr | None = None):
        self._build((), location, [type], blob=blob)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        type = cast(AnyTensor, self.result.type)
        if nbytes_of(type) != self.blob.nbytes.data:
            raise VerifyException(f"a blob of {self.blob.nbytes.data} bytes can't be a {type}")
        return [type]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        raise VerifyException("a weight has no value without its BlobStore")

    @override
    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        printer.print_attribute(self.blob)
        printer.print_op_attributes(self.attributes)
        printer.print_string(" : ")
        printer.print_attribute(self.result.type)

    @classmethod
    @override
    def parse(cls, parser: Parser) -> WeightOp:
        blob = parser.parse_attribute()
        if not isinstance(blob, BlobAttr):
            parser.raise_error("expected a #graph.blob")
        attributes = parser.parse_optional_attr_dict()
        parser.parse_punctuation(":")
        type = parser.parse_type()
        return cls.create(result_types=[type], properties={"blob": blob}, attributes=attributes)


@lru_cache(maxsize=1024)
def _dense(type: AnyTensor, data: bytes) -> DenseIntOrFPElementsAttr:
    """`dense<...>`, memoised, as models repeat the same small numbers and shapes many times."""
    return DenseIntOrFPElementsAttr[Any].new([type, BytesAttr(data)])


@irdl_op_definition
class ConstantOp(GraphOp):
    """A small constant, stored in the IR."""

    name = "graph.constant"

    value = prop_def(DenseIntOrFPElementsAttr)
    result = result_def()

    def __init__(self, value: DenseIntOrFPElementsAttr, location: LocationAttr | None = None):
        self._build((), location, value=value)

    @classmethod
    def from_numpy(cls, array: Array, location: LocationAttr | None = None) -> ConstantOp:
        """A constant with the type, shape and values of `array`."""
        array = np.asarray(array)
        type = tensor(element_type_of(array.dtype), array.shape)
        return cls(_dense(type, array.tobytes()), location)

    def to_numpy(self) -> Array:
        """The constant as a read-only array."""
        type = cast(AnyTensor, self.result.type)
        return np.frombuffer(self.value.data.data, numpy_dtype(type.element_type)).reshape(type.get_shape())

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        return [cast(AnyTensor, self.value.type)]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        return (self.to_numpy(),)

    @override
    def print(self, printer: Printer) -> None:
        printer.print_string(" ")
        array = self.to_numpy()
        if is_float_dtype(array.dtype) and not np.all(np.abs(array.astype(np.float64)) < DECIMAL_LIMIT):
            data = self.value.data.data
            shown = data[: array.itemsize] if self.value.is_splat() else data
            printer.print_string(f'dense<"0x{shown.hex().upper()}"> : ')
            printer.print_attribute(self.result.type)
        else:
            printer.print_attribute(self.value)
        printer.print_op_attributes(self.attributes)

    @classmethod
    @override
    def parse(cls, parser: Parser) -> ConstantOp:
        value = parser.parse_attribute()
        if not isinstance(value, DenseIntOrFPElementsAttr):
            parser.raise_error("expected a dense<...> attribute")
        attributes = parser.parse_optional_attr_dict()
        properties = {"value": cast(Attribute, value)}
        result_type = cast(Attribute, value.type)  # pyright: ignore[reportUnknownMemberType]
        return cls.create(result_types=[result_type], properties=properties, attributes=attributes)


@irdl_op_definition
class YieldOp(IRDLOperation):
    """Terminates a kernel's body; its operands are the kernel's results."""

    name = "graph.yield"

    arguments = var_operand_def()
    traits = traits_def(IsTerminator(), Pure())
    assembly_format = "attr-dict ($arguments^ `:` type($arguments))?"

    def __init__(self, *values: SSAValue | Operation, location: LocationAttr | None = None):
        Operation.__init__(self, operands=[SSAValue.get(value) for value in values], location=location)


class SpeaksOfKernel(ABC):
    """An attribute of kernels that refers to operands and results by number."""

    @abstractmethod
    def verify_numbers(self, operands: int, results: int) -> None:
        """Raises VerifyException for numbers out of range."""


_TOLD = ("form", "schedule", "interface")  # properties of a kernel that are printed among its attributes


@irdl_op_definition
class KernelOp(IRDLOperation):
    """A group of ops compiled as one function: a symbol with a body on tensors.

    `form` is what it computes, `schedule` how, `interface` what it requires of its buffers (see the kernel dialect).
    """

    name = "graph.kernel"

    sym_name = prop_def(SymbolNameConstraint())
    function_type = prop_def(FunctionType)
    form = opt_prop_def(Attribute)
    schedule = opt_prop_def(Attribute)
    interface = opt_prop_def(Attribute)
    body = region_def("single_block")

    traits = traits_def(IsolatedFromAbove(), SymbolOpInterface())

    def __init__(
        self,
        name: str,
        operand_types: Sequence[Attribute],
        result_types: Sequence[Attribute],
        body: Region | None = None,
        location: LocationAttr | None = None,
    ):
        """A kernel, by default with an empty block whose arguments are the operands."""
        Operation.__init__(
            self,
            properties={
                "sym_name": StringAttr(name),
                "function_type": FunctionType.from_lists(operand_types, result_types),
            },
            regions=[body or Region(Block(arg_types=operand_types))],
            location=location,
        )

    @property
    def arguments(self) -> tuple[BlockArgument, ...]:
        """The block arguments: the operands inside the body."""
        return tuple(self.body.block.args)

    @property
    def terminator(self) -> YieldOp:
        """The op that yields the results."""
        last = self.body.block.last_op
        if not isinstance(last, YieldOp):
            raise VerifyException("a kernel's body must end in graph.yield")
        return last

    def refresh_type(self) -> None:
        """Updates `function_type` after a change of the body."""
        self.function_type = FunctionType.from_lists(
            [argument.type for argument in self.arguments], list(self.terminator.operand_types)
        )

    @override
    def verify_(self) -> None:
        if self.function_type.inputs.data != tuple(argument.type for argument in self.arguments):
            raise VerifyException("the body's arguments differ from the kernel's operands")
        if self.function_type.outputs.data != tuple(self.terminator.operand_types):
            raise VerifyException("graph.yield gives other types than the kernel's results")
        if isinstance(self.interface, SpeaksOfKernel):
            self.interface.verify_numbers(len(self.arguments), len(self.terminator.operands))

    @override
    def print(self, printer: Printer) -> None:
        extra = {name: value for name, value in self.properties.items() if name in _TOLD}
        print_func_op_like(
            printer,
            self.sym_name,
            self.function_type,
            self.body,
            {**extra, **self.attributes},
            reserved_attr_names=(),
        )

    @classmethod
    @override
    def parse(cls, parser: Parser) -> KernelOp:
        name, operand_types, result_types, body, extra, _, _ = parse_func_op_like(
            parser, reserved_attr_names=("sym_name", "function_type")
        )
        kernel = cls(name, operand_types, result_types, body)
        for key, value in (extra or DictionaryAttr({})).data.items():
            target = kernel.properties if key in _TOLD else kernel.attributes
            target[key] = value
        return kernel


class _CallSymbolUser(SymbolUserOpInterface):
    @override
    def verify(self, op: Operation) -> None:
        assert isinstance(op, CallOp)
        kernel = symbol_named(op, op.callee.string_value())
        if not isinstance(kernel, KernelOp):
            raise VerifyException(f"there is no kernel {op.callee}")
        if kernel.function_type.inputs.data != tuple(op.operand_types):
            raise VerifyException(f"the operands' types differ from those of kernel {op.callee}")
        if kernel.function_type.outputs.data != tuple(op.result_types):
            raise VerifyException(f"the results' types differ from those of kernel {op.callee}")


@irdl_op_definition
class CallOp(IRDLOperation):
    """Calls a kernel on tensors."""

    name = "graph.call"

    callee = prop_def(FlatSymbolRefAttrConstr)
    arguments = var_operand_def()
    res = var_result_def()

    traits = traits_def(Pure(), _CallSymbolUser())
    assembly_format = "$callee `(` $arguments `)` attr-dict `:` functional-type($arguments, $res)"

    def __init__(
        self,
        callee: str,
        arguments: Sequence[SSAValue | Operation],
        result_types: Sequence[Attribute],
        location: LocationAttr | None = None,
    ):
        Operation.__init__(
            self,
            operands=[SSAValue.get(argument) for argument in arguments],
            result_types=result_types,
            properties={"callee": SymbolRefAttr(callee)},
            location=location,
        )

    @property
    def kernel(self) -> KernelOp:
        """The called kernel, which the verifier ensures to exist."""
        kernel = symbol_named(self, self.callee.string_value())
        assert isinstance(kernel, KernelOp)
        return kernel
