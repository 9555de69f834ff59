"""The reference interpreter: a module's meaning, op by op in numpy, at graph level and at kernels level."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.traits import SymbolTable

from ..errors import InvalidInputError, InvalidModelError
from .activation import CastOp
from .base import GraphOp, describe
from .blobs import BlobStore
from .structure import CallOp, KernelOp, WeightOp, YieldOp
from .values import AnyTensor, Array, is_float, is_float_dtype, numpy_dtype, type_of

Observer: TypeAlias = Callable[[Operation, Sequence[Array]], None]


def main_of(module: ModuleOp) -> FuncOp:
    """The function @main; raises InvalidModelError where there is none."""
    main = SymbolTable.lookup_symbol(module, "main")
    if not isinstance(main, FuncOp) or main.is_declaration:
        raise InvalidModelError("the module has no function @main")
    return main


def _names(attributes: ArrayAttr[DictionaryAttr] | None, count: int, fallback: str) -> list[str]:
    names: list[str] = []
    for index in range(count):
        given = attributes.data[index].data.get("graph.name") if attributes is not None else None
        names.append(given.data if isinstance(given, StringAttr) else f"{fallback}{index}")
    return names


def input_names(main: FuncOp) -> list[str]:
    """The names of the function's arguments: `graph.name`, or input0, input1, ... where there is none."""
    return _names(main.arg_attrs, len(main.function_type.inputs), "input")


def output_names(main: FuncOp) -> list[str]:
    """The names of the function's results: `graph.name`, or output0, output1, ... where there is none."""
    return _names(main.res_attrs, len(main.function_type.outputs), "output")


def interpret(
    module: ModuleOp,
    inputs: Mapping[str, Array],
    store: BlobStore,
    precision: Any = None,
    on_value: Observer | None = None,
) -> dict[str, Array]:
    """Runs @main on named arrays and gives the named results.

    With a `precision` (a numpy float type) all floats are kept in it, whatever the module says: float64 makes
    the reference that results are judged by. `on_value` sees each op with the arrays it makes. Values are
    freed after their last use.
    """
    main = main_of(module)
    names = input_names(main)
    if unknown := sorted(set(inputs) - set(names)):
        raise InvalidInputError(f"there is no input {', '.join(unknown)}; inputs are {', '.join(names)}")
    arguments: list[Array] = []
    for name, argument in zip(names, main.args, strict=True):
        if name not in inputs:
            raise InvalidInputError(f"input {name} is missing")
        arguments.append(_checked(name, np.asarray(inputs[name]), type_of(argument), precision))
    run = _Run(store, None if precision is None else np.dtype(precision), on_value)
    results = run.block(main.body.block, arguments)
    return dict(zip(output_names(main), results, strict=True))


def _checked(name: str, array: Array, type: AnyTensor, precision: Any) -> Array:
    """The array, which must have the type's shape and element type (any float where a precision is set)."""
    dtype = numpy_dtype(type.element_type)
    if array.shape != type.get_shape():
        raise InvalidInputError(f"input {name} has shape {list(array.shape)} instead of {list(type.get_shape())}")
    if array.dtype != dtype and not (precision is not None and is_float_dtype(dtype) and is_float_dtype(array.dtype)):
        raise InvalidInputError(f"input {name} has type {array.dtype} instead of {dtype}")
    return array


class _Run:
    def __init__(self, store: BlobStore, precision: np.dtype[Any] | None, on_value: Observer | None):
        self.store = store
        self.precision = precision
        self.on_value = on_value

    def block(self, block: Block, arguments: Sequence[Array]) -> list[Array]:
        """The values that the block's terminator names."""
        uses = Counter(operand for op in block.ops for operand in op.operands)
        values: dict[SSAValue, Array] = {}
        for argument, array in zip(block.args, arguments, strict=True):
            values[argument] = self.promoted(array)
        for op in block.ops:
            if isinstance(op, (ReturnOp, YieldOp)):
                return [values[operand] for operand in op.operands]
            results = self.run(op, [values[operand] for operand in op.operands])
            if self.on_value is not None:
                self.on_value(op, results)
            values.update(zip(op.results, results, strict=True))
            for operand in op.operands:
                uses[operand] -= 1
                if not uses[operand]:
                    values.pop(operand, None)
        raise InvalidModelError("a function doesn't end in a return")

    def run(self, op: Operation, operands: list[Array]) -> list[Array]:
        """The results of one op."""
        match op:
            case WeightOp():
                results: Sequence[Array] = [self.store.read(op.blob, type_of(op.result))]
            case CallOp():
                kernel = SymbolTable.lookup_symbol(op, op.callee)
                if not isinstance(kernel, KernelOp):
                    raise InvalidModelError(f"{describe(op)}: there is no kernel {op.callee}")
                return self.block(kernel.body.block, operands)
            case CastOp() if self.precision is not None and is_float(op.to):
                results = [operands[0].astype(self.precision)]
            case GraphOp():
                results = op.evaluate(*operands)
            case _:
                raise InvalidModelError(f"{describe(op)}: the reference interpreter knows graph ops only")
        return [self.promoted(result) for result in results]

    def promoted(self, array: Array) -> Array:
        """The array in the run's precision, if it is one of floats."""
        if self.precision is None or not is_float_dtype(array.dtype):
            return array
        return array.astype(self.precision, copy=False)
