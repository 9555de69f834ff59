"""The reference interpreter: evaluates a module at the graph or kernels level op by op in numpy.

Loops and branches in `main`, and the scalars that control them, are executed as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.utils.exceptions import InterpretationError

from ..bounded_crops import trimmed
from ..errors import InvalidInputError, InvalidModelError
from ..symbols import symbol_named
from .base import GraphOp, describe
from .blobs import BlobStore
from .bounds import cuts_of
from .host import NAME, argument_texts, attributes_of_results, is_scalar, is_shaped, main_of, read_by, result_texts
from .ops.conversion import CastOp
from .ops.structure import CallOp, KernelOp, WeightOp, YieldOp
from .values import AnyTensor, Array, is_float, is_float_dtype, numpy_dtype, type_of

if TYPE_CHECKING:
    from xdsl.interpreter import Interpreter

Observer: TypeAlias = Callable[[Operation, Sequence[Array]], Sequence[Array] | None]
"""Observes an op and its result arrays; returned arrays replace them."""
Scalar: TypeAlias = "int | float | bool"


def input_names(main: FuncOp) -> list[str]:
    """The names of the function's arguments: `graph.name`, or input0, input1, ... where there is none."""
    return _or_numbered(argument_texts(main, NAME), "input")


def output_names(main: FuncOp) -> list[str]:
    """The names of the function's results: `graph.name`, or output0, output1, ... where there is none."""
    return _or_numbered(result_texts(main, NAME), "output")


def _or_numbered(names: list[str], fallback: str) -> list[str]:
    return [name or f"{fallback}{index}" for index, name in enumerate(names)]


def interpret(
    module: ModuleOp,
    inputs: Mapping[str, Array],
    store: BlobStore,
    precision: Any = None,
    on_value: Observer | None = None,
) -> dict[str, Array]:
    """Runs @main on named arrays and returns the named results.

    With a `precision` (a numpy float type) all floats are computed in it, whatever their declared types: float64 gives
    the reference for judging results. `on_value` observes each op with its result arrays, and may replace them. Values
    are freed after their last use.
    """
    main = main_of(module)
    names = input_names(main)
    if unknown := sorted(set(inputs) - set(names)):
        raise InvalidInputError(f"there is no input {', '.join(unknown)}; inputs are {', '.join(names)}")
    arguments: list[Array | Scalar] = []
    for name, argument in zip(names, main.args, strict=True):
        if name not in inputs:
            raise InvalidInputError(f"input {name} is missing")
        if not is_shaped(argument):
            arguments.append(np.asarray(inputs[name]).item())
            continue
        arguments.append(_checked(name, np.asarray(inputs[name]), type_of(argument), precision))
    run = _Run(store, None if precision is None else np.dtype(precision), on_value)
    results = [np.asarray(result) for result in run.block(main.body.block, arguments)]
    cuts = [*map(cuts_of, attributes_of_results(main))]
    counts = [int(result) for result, cut in zip(results, cuts, strict=True) if cut]
    names, cuts = output_names(main), [cut for cut in cuts if cut]
    shown = len(results) - len(cuts)
    return dict(zip(names[:shown], trimmed(results[:shown], cuts, counts), strict=True))


def evaluate_kernel(kernel: KernelOp, arrays: Sequence[Array]) -> list[Array]:
    """The results of a kernel on arrays."""
    return cast("list[Array]", _Run(BlobStore(), None, None).block(kernel.body.block, arrays))


def _checked(name: str, array: Array, type: AnyTensor, precision: Any) -> Array:
    """The array, checked against the type's shape and element type (any float type if a precision is set)."""
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

    @cached_property
    def scalars(self) -> Interpreter:
        """The interpreter of host scalars."""
        # Few modules compute with host scalars, and their interpreter is slow to import.
        from xdsl.interpreter import Interpreter
        from xdsl.interpreters.arith import ArithFunctions

        interpreter = Interpreter(ModuleOp([]))
        interpreter.register_implementations(ArithFunctions())
        return interpreter

    def block(
        self,
        block: Block,
        arguments: Sequence[Array | Scalar],
        around: Mapping[SSAValue, Array | Scalar] | None = None,
    ) -> list[Array | Scalar]:
        """The operands of the block's terminator; `around` holds values from outside of the block."""
        reads = {op: read_by(op) for op in block.ops}
        uses = Counter(value for values in reads.values() for value in values)
        values: dict[SSAValue, Array | Scalar] = dict(around or {})
        for argument, value in zip(block.args, arguments, strict=True):
            values[argument] = self._taken(value)
        for op, read in reads.items():
            if isinstance(op, ReturnOp | YieldOp | scf.YieldOp | scf.ConditionOp):
                return [values[operand] for operand in op.operands]
            results = self.run(op, [values[operand] for operand in op.operands], values)
            if self.on_value is not None and any(map(is_shaped, op.results)):
                given = self.on_value(op, cast("Sequence[Array]", results))
                results = results if given is None else [*map(self._taken, given)]
            values.update(zip(op.results, results, strict=True))
            for value in read:
                uses[value] -= 1
                if not uses[value]:
                    values.pop(value, None)
        raise InvalidModelError("a function doesn't end in a return")

    def run(
        self, op: Operation, given: Sequence[Array | Scalar], around: Mapping[SSAValue, Array | Scalar]
    ) -> Sequence[Array | Scalar]:
        """The results of one op."""
        if is_scalar(op):
            return self.scalar(op, given)
        if isinstance(op, scf.IfOp):
            taken = op.true_region if given[0] else op.false_region
            return self.block(taken.block, (), around) if taken.blocks else ()
        if isinstance(op, scf.ForOp):
            first, end, step = (int(bound) for bound in given[:3])
            carried = list(given[3:])
            for number in range(first, end, step):
                carried = self.block(op.body.block, [number, *carried], around)
            return carried
        if isinstance(op, scf.WhileOp):
            carried = list(given)
            while True:
                go, *carried = self.block(op.before_region.block, carried, around)
                if not go:
                    return carried
                carried = self.block(op.after_region.block, carried, around)
        operands = cast("list[Array]", given)
        match op:
            case WeightOp():
                results: Sequence[Array] = [self.store.read(op.blob, type_of(op.result))]
            case CallOp():
                kernel = symbol_named(op, op.callee.string_value())
                if not isinstance(kernel, KernelOp):
                    raise InvalidModelError(f"{describe(op)}: there is no kernel {op.callee}")
                return self.block(kernel.body.block, operands)
            case CastOp() if self.precision is not None and is_float(op.to):
                results = [operands[0].astype(self.precision)]
            case GraphOp():
                results = op.evaluate(*operands)
            case _:
                raise InvalidModelError(
                    f"{describe(op)}: the reference interpreter knows graph ops, loops, branches and scalars only"
                )
        return [self.promoted(result) for result in results]

    def scalar(self, op: Operation, given: Sequence[Array | Scalar]) -> Sequence[Scalar]:
        """The result of an op on scalars, or of one that reads a scalar from a tensor."""
        if op.name == "tensor.extract":
            array, *position = given
            return [cast("Array", array)[tuple(int(each) for each in position)].item()]
        try:
            return self.scalars.run_op(op, tuple(given))
        except InterpretationError as error:
            raise InvalidModelError(f"{describe(op)}: {error}") from error

    def _taken(self, value: Array | Scalar) -> Array | Scalar:
        return self.promoted(value) if isinstance(value, np.ndarray) else value

    def promoted(self, array: Array) -> Array:
        """The array converted to the run's precision, if it holds floats."""
        if self.precision is None or not is_float_dtype(array.dtype):
            return array
        return array.astype(self.precision, copy=False)
