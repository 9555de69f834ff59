"""Hook points of a plan: read from the module when every kernel call of main has become a stage of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import cast

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import BlockArgument, Operation, SSAValue

from ...dialects.errors import CompileError
from ...dialects.graph.base import node_name
from ...dialects.graph.bounds import cuts_of
from ...dialects.graph.host import NAME, ROLE, argument_texts, attributes_of_arguments, kernels_of, main_of
from ...dialects.graph.model_nodes import computed_nodes, model_nodes, tensor_names, tensor_orders
from ...dialects.graph.ops.movement import TransposeOp
from ...dialects.graph.values import ints, numpy_dtype
from ...dialects.kernel.calls import WindowOp
from ...lowering.pipelines import Observer, PassRun
from ...passes.geometry.boxes import Box
from ...passes.geometry.shape_maps import reshape_groups
from ...passes.memory.analysis.buffers import Places, argument_with_role, constant_of, label, memref_type
from ...passes.memory.analysis.main_steps import calls_of
from ...passes.memory.share_threads import SHARE, STAGE, ShareThreads
from ..engine import CompiledModel
from ..hooks.hook_points import HookedBuffer, HookPoint, Offset
from .plan_builder import Builder

_OWN = 3
"""Arguments of a stage behind those: a share, the number of shares, a seat."""
_ARITHMETIC: dict[type[Operation], Callable[[int, int], int]] = {
    arith.AddiOp: lambda a, b: a + b,
    arith.SubiOp: lambda a, b: a - b,
    arith.MuliOp: lambda a, b: a * b,
    arith.RemSIOp: lambda a, b: a % b,  # of numbers of turns, which are not negative
}


def with_hook_points(builder: Builder) -> CompiledModel:
    """Compiles a model for a configuration whose calls are observed."""
    points = _Points(builder.observer)
    made = replace(builder, observer=points)()
    return replace(made, plan=replace(made.plan, hook_points=points.found))


@dataclass
class _Points:
    """An observer of passes that reads the hook points once there are stages, before another observer."""

    then: Observer | None
    found: dict[str, HookPoint] = field(default_factory=dict[str, HookPoint])

    def __call__(self, run: PassRun, module: ModuleOp) -> None:
        if run.name == ShareThreads.name:
            self.found.update(_hook_points(module))
        if self.then is not None:
            self.then(run, module)


def _hook_points(module: ModuleOp) -> dict[str, HookPoint]:
    main = main_of(module, ShareThreads.name)
    tensors = _ModelTensors(module, main)
    steps = [op for op in main.walk() if isinstance(op, memref.LoadOp) or _stage_of(op)]
    numbers = {_stage_of(op): number for number, op in enumerate(steps)}
    functions = [op for op in module.ops if isinstance(op, func.FuncOp) and op.sym_name.data.startswith(STAGE)]
    stages = {op.sym_name.data: _Stage(op, len(main.args) - 1, tensors) for op in functions}
    points = {name: stage.point(numbers[name]) for name, stage in stages.items()}
    outputs = _outputs(main)
    for output in outputs:
        wrote = [each.step for each in points.values() if _whole(each, outputs[output])]
        read = [points[name].step for name, stage in stages.items() if output in stage.reads]
        for name, point in points.items():
            if point.step in wrote and point.step >= min(max(wrote), max(read, default=0)):
                points[name] = _with_output(point, outputs[output])
    return points


def _whole(point: HookPoint, output: HookedBuffer) -> bool:
    """Whether a call writes all of an output."""
    return any(each.argument == output.argument and prod(each.shape) == prod(output.shape) for each in point.results)


def _with_output(point: HookPoint, output: HookedBuffer) -> HookPoint:
    """The call that makes an output, which lies in the model's order, whatever the kernel's view of it is."""

    def shown(each: HookedBuffer) -> HookedBuffer:
        if each.argument != output.argument or prod(each.shape) != prod(output.shape):
            return each
        is_named = each.order is None and each.model_shape == output.shape
        return replace(output, name=each.name) if is_named else output

    return replace(point, results=tuple(map(shown, point.results)))


def _outputs(main: func.FuncOp) -> dict[int, HookedBuffer]:
    """The model's outputs, by the numbers of main's arguments that they lie in."""
    found: dict[int, HookedBuffer] = {}
    names, roles = argument_texts(main, NAME), argument_texts(main, ROLE)
    for argument, name, role, attributes in zip(main.args, names, roles, attributes_of_arguments(main), strict=True):
        if role == "output" and not cuts_of(attributes):
            type = memref_type(argument)
            dtype, box = numpy_dtype(type.element_type), Box.dense(type.get_shape())
            strides = tuple(stride * dtype.itemsize for stride in box.strides)
            found[argument.index] = HookedBuffer(
                name, argument.index, _at_start, box.sizes, strides, dtype, model_shape=box.sizes
            )
    return found


def _at_start(_: Sequence[int]) -> int:
    return 0


def _stage_of(op: Operation) -> str:
    """The stage that an op of main calls, or ""."""
    return op.callee.string_value().removeprefix(SHARE) if isinstance(op, func.CallOp) else ""


class _ModelTensors:
    """The ONNX tensors of a module: their shapes, the orders in which their axes lie in memory, and the weights."""

    def __init__(self, module: ModuleOp, main: func.FuncOp) -> None:
        weights = argument_with_role(main, "weights")
        self.weights = None if weights is None else weights.index
        """The number of main's argument that weights lie in."""
        made = [(node.operator, tensor) for node in model_nodes(module) for tensor in node.outputs]
        self.operators = {tensor.name: operator for operator, tensor in made}
        self.shapes = {tensor.name: tensor.shape for _, tensor in made}
        self.orders = tensor_orders(module)
        self.kernels = kernels_of(module)


class _Stage:
    """Reads the one call of a stage; `pointers` of its arguments are main's, then come numbers of turns."""

    def __init__(self, stage: func.FuncOp, pointers: int, tensors: _ModelTensors) -> None:
        (self._call,) = calls_of(stage)
        self._arguments, self._pointers, self._tensors = stage.body.block.args, pointers, tensors
        self._places = Places()

    @property
    def reads(self) -> set[int]:
        """The numbers of main's arguments whose memory the call reads."""
        return {self._argument_of(value) for value in self._call.ins}

    def point(self, step: int) -> HookPoint:
        """The hook point of the call."""
        call = self._call
        results: dict[str, HookedBuffer] = {}
        for number, value in enumerate(call.outs):
            found = self._result(number, value)
            name = f"{found.name}#{number + 1}" if found.name in results else found.name
            results[name] = replace(found, name=name)
        return HookPoint(
            step,
            call.callee.string_value(),
            computed_nodes(call) or ((node_name(call),) if node_name(call) else ()),
            tuple(results.values()),
            tuple(self._buffer(value, _label(value) or "a weight") for value in call.ins if self._is_weight(value)),
            len(self._arguments) - self._pointers - _OWN,
        )

    def _result(self, number: int, value: SSAValue) -> HookedBuffer:
        call, stored = self._call, tuple(memref_type(value).get_shape())
        names = tensor_names(call) or ()
        name = names[number] if number < len(names) else ""
        shape = self._tensors.shapes.get(name)
        for order in () if shape is None else self._orders(number, name, stored, shape):
            if shape is not None and _follows(stored, shape if order is None else _permuted(shape, order)):
                return replace(self._buffer(value, name), model_shape=shape, order=order)
        return self._buffer(value, f"{node_name(call) or call.callee.string_value()} temporary")

    def _orders(
        self, number: int, name: str, stored: tuple[int, ...], shape: tuple[int, ...]
    ) -> tuple[tuple[int, ...] | None, ...]:
        """The orders in which axes of a tensor may lie in a result, the likelier one first."""
        order, turn = self._tensors.orders.get(name), self._turn(number, name)
        if turn is None or stored != shape or _permuted(shape, turn) != shape:
            return (order, None)
        # Sizes don't tell: the kernel turns axes back to the model's order, or away from it, as a reader asks.
        return () if order is None else (None,)

    def _turn(self, number: int, name: str) -> tuple[int, ...] | None:
        """The permutation with which the kernel ends, unless it is the model's own."""
        last = self._tensors.kernels[self._call.callee.string_value()].body.block.last_op
        made = None if last is None else last.operands[number].owner
        if not isinstance(made, TransposeOp) or self._tensors.operators[name] == "Transpose":
            return None
        return ints(made.permutation)

    def _argument_of(self, value: SSAValue) -> int:
        root = self._places[value].root
        if not isinstance(root, BlockArgument) or root not in self._arguments[: self._pointers]:
            raise CompileError(f"hook points: a buffer of {self._call.callee.string_value()} is no part of main's")
        return root.index

    def _is_weight(self, value: SSAValue) -> bool:
        return self._argument_of(value) == self._tensors.weights

    def _buffer(self, value: SSAValue, name: str) -> HookedBuffer:
        place, type = self._places[value], memref_type(value)
        box = place.box if place.exact else Box.dense(type.get_shape())
        dtype = numpy_dtype(type.element_type)
        strides = tuple(stride * place.itemsize for stride in box.strides)
        return HookedBuffer(name, self._argument_of(value), self._offset(value), box.sizes, strides, dtype)

    def _offset(self, value: SSAValue) -> Offset:
        """Bytes from the start of the argument to the buffer."""
        windows: list[tuple[SSAValue, int]] = []
        while not self._places[value].exact:
            window = value.owner
            if not isinstance(window, WindowOp):
                raise CompileError(f"hook points: a view of a window in {self._call.callee.string_value()}")
            windows.append((window.offset, self._places[value].itemsize))
            value = window.source
        start = self._places[value].bytes.offset
        terms = [(self._number(offset), itemsize) for offset, itemsize in windows]
        return lambda turns: start + sum(number(turns) * itemsize for number, itemsize in terms)

    def _number(self, value: SSAValue) -> Offset:
        """The value of an index, from the numbers of turns."""
        if isinstance(value, BlockArgument):
            place = value.index - self._pointers
            return lambda turns: turns[place]
        op = cast("Operation", value.owner)
        if isinstance(op, arith.ConstantOp):
            number = constant_of(value)
            return lambda _: number
        if (compute := _ARITHMETIC.get(type(op))) is None:
            raise CompileError(f"hook points: a place depends on {op.name}")
        left, right = map(self._number, op.operands)
        return lambda turns: compute(left(turns), right(turns))


def _permuted(shape: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(shape[axis] for axis in order) if len(order) == len(shape) else ()


def _follows(stored: Sequence[int], shape: Sequence[int]) -> bool:
    """Whether dims in memory are those of a shape, of which some may be merged or split: then their order is known."""
    if prod(stored) != prod(shape):
        return False
    groups = reshape_groups(stored, shape)
    return groups is None or all(min(len(each.source), len(each.target)) <= 1 for each in groups)


def _label(value: SSAValue) -> str:
    return label(value.owner) if isinstance(value.owner, Operation) else ""
