"""The builder of bufferize: emits calls, allocations and views, and tracks the value that each buffer holds.

    writer.assign(%a, %buffer)                               # %buffer holds %a now
    writer.copy(writer.read(op, %a), %other, %a)             # kernel.call @copy_0 ins(%buffer) outs(%other)

A buffer overwritten in place holds the new value; a later read of the old value raises PlanError.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, LocationAttr, StringAttr, UnitAttr
from xdsl.ir import Block, Operation, OpResult, SSAValue

from ....dialects.errors import PlanError
from ....dialects.graph.base import describe, named_location, node_name
from ....dialects.graph.model_nodes import of_result, tensor_names
from ....dialects.graph.ops.structure import CallOp
from ....dialects.graph.values import AnyTensor, shape_of, type_of
from ....dialects.kernel.calls import CallOp as BufferCallOp
from ....dialects.kernel.calls import WindowOp
from ...geometry.boxes import Box
from .buffers import SCRATCH, AnyMemRef, buffer_type, cast_to, label, memref_type
from .copy_kernels import CopyKernels


def buffer_for(type: AnyTensor) -> AnyMemRef:
    """The dense memref type for a tensor type."""
    return buffer_type(type.element_type, type.get_shape())


def memref_of(value: SSAValue) -> AnyMemRef:
    """The dense memref type for a tensor value."""
    return buffer_for(type_of(value))


class BufferWriter:
    """Inserts ops into a block and tracks the contents of buffers."""

    def __init__(self, copies: CopyKernels, block: Block) -> None:
        self.copies = copies
        self.block = block
        self.buffer: dict[SSAValue, SSAValue] = {}
        self.holds: dict[SSAValue, SSAValue] = {}  # the value that each buffer holds at this point
        self._dense: dict[tuple[SSAValue, Block], SSAValue] = {}  # dense copies of strided cache parts

    def add(self, op: Operation, location: LocationAttr | None) -> None:
        """Inserts an op."""
        if location is not None:
            op.location = location
        self.block.add_op(op)

    def assign(self, value: SSAValue, buffer: SSAValue) -> None:
        """Records that the buffer holds the value from here on."""
        self.buffer[value] = buffer
        self.holds[buffer] = value
        buffer.name_hint = buffer.name_hint or value.name_hint

    def read(self, op: Operation, value: SSAValue) -> SSAValue:
        """The buffer that holds an operand of `op`. Raises PlanError if it has been overwritten."""
        buffer = self.buffer[value]
        if self.holds[buffer] is not value:
            made = self.holds[buffer].owner
            name = describe(made) if isinstance(made, Operation) else "main"
            raise PlanError(f"{describe(op)}: reads what {name} has overwritten in place")
        return buffer

    def read_dense(self, op: Operation, value: SSAValue) -> SSAValue:
        """The buffer that holds an operand, or a dense copy where it is a strided part of a cache."""
        buffer = self.read(op, value)
        if buffer.type == memref_of(value):
            return buffer
        if (value, self.block) not in self._dense:
            self._dense[value, self.block] = made = self.alloc(memref_of(value), op, False, value)
            self.copy(buffer, made, value)
        return self._dense[value, self.block]

    def copy(self, source: SSAValue, target: SSAValue, value: SSAValue) -> None:
        """Emits a call that copies `value` from `source` to `target`."""
        name = self.copies.get(type_of(value), type_of(value))
        location = of_result(value.owner, value.index) if isinstance(value, OpResult) else None
        self.add(BufferCallOp(name, [source], [target]), location)

    def alloc(self, type: AnyMemRef, op: Operation, scratch: bool, value: SSAValue | None = None) -> SSAValue:
        """A new buffer, for `value` or as `scratch`, named after its ONNX tensor, or the ONNX node of `op`."""
        kernel = op.callee.string_value() if isinstance(op, CallOp) else op.name
        name = node_name(op) or (value.name_hint if value is not None else "") or kernel
        names = tensor_names(value.op) if isinstance(value, OpResult) else None
        if isinstance(value, OpResult) and names is not None:
            name = names[value.index] or f"{name} temporary"
        elif isinstance(value, OpResult) and value.index:
            name = f"{name}:{value.index}"
        alloc = memref.AllocOp([], [], type)
        if scratch:
            alloc.attributes[SCRATCH] = UnitAttr()
        alloc.attributes["name"] = StringAttr(name)
        alloc.memref.name_hint = value.name_hint if value is not None else None
        self.add(alloc, named_location(name))
        return alloc.memref

    def rows(self, value: SSAValue, source: SSAValue, row: SSAValue, axis: int) -> SSAValue:
        """The window of a buffer that has the shape of `value`, which is its rows from number `row` on."""
        count = arith.ConstantOp(IntegerAttr(prod(shape_of(value)[axis + 1 :]), IndexType()))
        ops: list[Operation] = [count, arith.MuliOp(row, count.result)]
        if isinstance(outer := source.owner, WindowOp):
            source = outer.source
            ops.append(arith.AddiOp(outer.offset, ops[-1].results[0]))
        window = WindowOp(source, ops[-1].results[0], memref_of(value))
        name = label(source.owner) if isinstance(source.owner, Operation) else source.name_hint
        if name:
            window.attributes["name"] = StringAttr(name)
        self.block.add_ops([*ops, window])
        return window.result

    def window(self, root: SSAValue, box: Box) -> SSAValue:
        """A subview of a buffer."""
        if box == Box.dense(memref_type(root).get_shape()):
            return root
        view = cast_to(root, box, root.name_hint or "")
        self.block.add_op(view)
        return view.result
