"""Buffers of a module: kernels' interfaces, memref types, and the place of each memref value.

A value's place is a box in its root: an allocation, an argument of main, or a weight. Views (reinterpret_cast, subview,
collapse and expand_shape, cast, and memref.view at a constant offset) are resolved; a kernel.window may be anywhere in
its source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias, cast

from xdsl.dialects import arith, func, memref
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    MemRefType,
    StridedLayoutAttr,
    StringAttr,
)
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ....dialects.errors import ConfigError, PlanError
from ....dialects.graph.base import named_location, node_name
from ....dialects.graph.host import ROLE, argument_texts, attributes_of_arguments
from ....dialects.graph.ops.structure import KernelOp
from ....dialects.graph.values import ints, ints_attr, numpy_dtype
from ....dialects.kernel.calls import WindowOp
from ....dialects.kernel.kernel_attributes import InterfaceAttr
from ...geometry.boxes import Box, reshaped

AnyMemRef: TypeAlias = MemRefType[Attribute]
ALIGNMENT = 256  # bytes: the alignment of places in the arena, unless plan-arena is given another
INPLACE = "inplace"
SCRATCH = "kernel.scratch"
PLAN = "kernel.plan"
ORDER = "kernel.order"
WEIGHTS = "kernel.weights"
VIEWS = (
    memref.ReinterpretCastOp,
    memref.SubviewOp,
    memref.CollapseShapeOp,
    memref.ExpandShapeOp,
    memref.CastOp,
)


@dataclass(frozen=True)
class Place:
    """The root of a memref value and its box there, in elements of `itemsize` bytes from byte `shift` of the root."""

    root: SSAValue
    shift: int
    itemsize: int
    box: Box
    exact: bool = True
    """Whether it is all of the box; else a window that lies somewhere in it, which loops move."""

    @property
    def bytes(self) -> Box:
        """The box in bytes of the root."""
        return self.box.in_bytes(self.itemsize).moved(self.shift)


def interface_of(kernel: KernelOp) -> InterfaceAttr:
    """The kernel's interface; an empty one before choose-schedule."""
    return kernel.interface if isinstance(kernel.interface, InterfaceAttr) else InterfaceAttr.of()


@lru_cache(maxsize=4096)
def buffer_type(element_type: Attribute, shape: tuple[int, ...]) -> AnyMemRef:
    """A dense memref type, memoised since construction is slow."""
    return MemRefType(element_type, shape)


def is_memref(value: SSAValue) -> bool:
    """Whether the value is a buffer or a view of one."""
    return isinstance(value.type, MemRefType)


def memref_type(value: SSAValue) -> AnyMemRef:
    """The memref type of a buffer or view."""
    type: Attribute = value.type
    if not isinstance(type, MemRefType):
        raise PlanError(f"expected a buffer, got {type}")
    return cast(AnyMemRef, type)


def itemsize_of(type: AnyMemRef) -> int:
    """Bytes of one element."""
    return numpy_dtype(type.element_type).itemsize


def nbytes_of(type: AnyMemRef) -> int:
    """Bytes of a dense buffer of this type."""
    return Box.dense(type.get_shape()).count * itemsize_of(type)


def check_alignment(pass_name: str, alignment: int) -> None:
    """Raises ConfigError for an alignment smaller than that of some element type, or no power of two."""
    if alignment < 8 or alignment & (alignment - 1):
        raise ConfigError(f"{pass_name}: alignment is {alignment}; it must be a power of two of at least 8 bytes")


def padded(nbytes: int, alignment: int) -> int:
    """Bytes that `nbytes` occupy in the arena: rounded up to the alignment."""
    return -(-nbytes // alignment) * alignment


def view_type(element_type: Attribute, box: Box) -> AnyMemRef:
    """The type of a view: without a layout where it is dense at offset 0, else strided."""
    if box.offset == 0 and box.is_dense:
        return buffer_type(element_type, box.sizes)
    return MemRefType(element_type, box.sizes, StridedLayoutAttr(box.strides, box.offset))


def cast_to(source: SSAValue, box: Box, name: str = "") -> memref.ReinterpretCastOp:
    """A view of a dense buffer by reinterpret_cast; `box` counts its elements."""
    element_type = memref_type(source).element_type
    type = view_type(element_type, box)
    numbers = ints_attr([box.offset]), ints_attr(box.sizes), ints_attr(box.strides)
    op = memref.ReinterpretCastOp(source, [], [], [], *numbers, type)
    if name:
        op.attributes["name"] = StringAttr(name)
        op.location = named_location(name)
    return op


def label(op: Operation) -> str:
    """The name by which reports and errors refer to an op's buffer."""
    name = op.attributes.get("name")
    return name.data if isinstance(name, StringAttr) else node_name(op)


def int_attribute(op: Operation, key: str) -> int | None:
    """An integer attribute of an op, None where it has none."""
    value = op.attributes.get(key)
    return value.value.data if isinstance(value, IntegerAttr) else None


def add_argument(
    function: func.FuncOp,
    type: AnyMemRef,
    role: str,
    more: Mapping[str, Attribute] | None = None,
    position: int | None = None,
) -> BlockArgument:
    """Adds an argument to main, or a stage, with the attribute `graph.role`, and the attributes `more`.

    It is the last one, or that of number `position`.
    """
    block = function.body.block
    place = len(block.args) if position is None else position
    attributes = attributes_of_arguments(function)
    attributes.insert(place, DictionaryAttr({ROLE: StringAttr(role), **(more or {})}))
    argument = block.insert_arg(type, place)
    function.function_type = FunctionType.from_lists([value.type for value in block.args], [])
    function.arg_attrs = ArrayAttr(attributes)
    argument.name_hint = role
    return argument


def drop_argument(function: func.FuncOp, argument: BlockArgument) -> None:
    """Erases an argument of main that nothing reads."""
    attributes = attributes_of_arguments(function)
    del attributes[argument.index]
    function.body.block.erase_arg(argument)
    function.function_type = FunctionType.from_lists([value.type for value in function.body.block.args], [])
    function.arg_attrs = ArrayAttr(attributes)


def give_role(function: func.FuncOp, number: int, role: str) -> None:
    """Sets the role of a function's argument."""
    before = attributes_of_arguments(function)
    given = [*before[:number], DictionaryAttr({ROLE: StringAttr(role)}), *before[number + 1 :]]
    function.arg_attrs = ArrayAttr(given)


def argument_with_role(main: func.FuncOp, role: str) -> BlockArgument | None:
    """The argument of main whose `graph.role` is `role`."""
    for argument, found in zip(main.args, argument_texts(main, ROLE), strict=True):
        if found == role:
            return argument
    return None


class Places:
    """Resolves memref values to places; memoised by value."""

    def __init__(self) -> None:
        self._known: dict[SSAValue, Place] = {}

    def __getitem__(self, value: SSAValue) -> Place:
        known = self._known.get(value)
        if known is None:
            known = self._known[value] = self._find(value)
        return known

    def _find(self, value: SSAValue) -> Place:
        type = memref_type(value)
        op = value.owner
        if isinstance(op, memref.ViewOp):
            base = self[op.source]
            start = base.bytes.offset + constant_of(op.byte_shift)
            return Place(base.root, start, itemsize_of(type), Box.dense(type.get_shape()))
        if isinstance(op, WindowOp):
            base = self[op.source]
            return Place(base.root, base.shift, base.itemsize, base.box, exact=False)
        if not isinstance(op, VIEWS):
            return Place(value, 0, itemsize_of(type), Box.dense(type.get_shape()))
        base = self[op.operands[0]]
        box = _window(op, base.box, type.get_shape())
        if box is None:
            raise PlanError(f"{label(op) or op.name}: {type} is not a view with constant strides")
        return Place(base.root, base.shift, base.itemsize, box, base.exact)


def _window(op: Operation, base: Box, shape: Sequence[int]) -> Box | None:
    """The box of a view's result, from the box of its source."""
    match op:
        case memref.ReinterpretCastOp() if not (op.offsets or op.sizes or op.strides):
            offset = ints(op.static_offsets)[0]
            return Box(offset, ints(op.static_sizes), ints(op.static_strides))
        case memref.SubviewOp() if not (op.offsets or op.sizes or op.strides):
            starts = zip(ints(op.static_offsets), base.strides, strict=True)
            steps = zip(ints(op.static_strides), base.strides, strict=True)
            offset = base.offset + sum(start * stride for start, stride in starts)
            sizes = ints(op.static_sizes)
            window = Box(offset, sizes, tuple(step * stride for step, stride in steps))
            return window if sizes == tuple(shape) else reshaped(window, shape)
        case memref.CollapseShapeOp() | memref.ExpandShapeOp():
            return reshaped(base, shape)
        case memref.CastOp():
            return base
        case _:
            return None


def constant_of(value: SSAValue) -> int:
    """The value of a constant index."""
    op = value.owner
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    raise PlanError(f"expected a constant index, got the result of {op.name if isinstance(op, Operation) else op}")


def insert_before(op: Operation, place: Operation) -> None:
    """Inserts an op directly before another."""
    block = place.parent
    assert block is not None
    block.insert_op_before(op, place)


class IndexConstants:
    """Index constants at the top of main, each created once."""

    def __init__(self, main: func.FuncOp) -> None:
        self.block = main.body.block
        self.made: dict[int, SSAValue] = {}

    def __getitem__(self, value: int) -> SSAValue:
        if value not in self.made:
            op = arith.ConstantOp(IntegerAttr(value, IndexType()))
            first = self.block.first_op
            assert first is not None
            self.block.insert_op_before(op, first)
            self.made[value] = op.result
        return self.made[value]
