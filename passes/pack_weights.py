"""pack-weights: weights are laid out in the panels that their kernels read.

before:  %w = graph.weight #graph.blob<...> : tensor<512x256xf32>
         %1 = graph.call @matmul_0(%x, %w)              (interface: packed = [1], schedule: nr = 32)
after:   %w = graph.weight #graph.blob<"", ...> : tensor<8x512x32xf32>
         %1 = graph.call @matmul_0(%x, %w)              (the kernel's body begins with graph.unpack)

The unpack in the body says what the panels mean, so the kernel still can be interpreted; code reads the panels as
they lie. A weight that kernels want in the same form is packed once.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..dialects.errors import CompileError
from ..dialects.graph import (
    CallOp,
    ConvOp,
    KernelOp,
    LstmOp,
    MatmulOp,
    ReshapeOp,
    UnpackOp,
    WeightOp,
    blob_store,
    describe,
    pack_conv_panels,
    pack_depthwise,
    pack_panels,
    tensor,
    type_of,
)
from ..dialects.kernel import InterfaceAttr, ScheduleAttr
from .statistics import count


@dataclass(frozen=True)
class Packing:
    """How a kernel wants one of its weights: arguments of UnpackOp and of the packing function beside it."""

    kind: str
    nr: int
    groups: int
    transposed: bool


@dataclass(frozen=True)
class PackWeights(ModulePass):
    """Weights are laid out in the panels that their kernels read."""

    name = "pack-weights"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        calls: dict[str, list[CallOp]] = {}
        for inner in op.walk():
            if isinstance(inner, CallOp):
                calls.setdefault(inner.callee.string_value(), []).append(inner)
        packed: dict[tuple[SSAValue, Packing], SSAValue] = {}
        for kernel in op.body.block.ops:
            if not isinstance(kernel, KernelOp) or not isinstance(kernel.interface, InterfaceAttr):
                continue
            for attribute in kernel.interface.packed:
                position = attribute.data
                packing = _packing(kernel, position)
                if packing is None:
                    continue
                panels: SSAValue | None = None
                for call in calls.get(kernel.sym_name.data, []):
                    panels = _pack(ctx, call, position, packing, packed)
                    call.operands[position] = panels
                if panels is not None:
                    count(ctx, self.name, packing.kind)
                    _unpack_in_body(kernel, position, packing, panels.type)
        for weight in [inner for inner in op.walk() if isinstance(inner, WeightOp)]:
            if not any(True for _ in weight.result.uses):
                Rewriter.erase_op(weight)


def _packing(kernel: KernelOp, position: int) -> Packing | None:
    """What the kernel's schedule asks for; None where the operand is packed already."""
    argument = kernel.arguments[position]
    users = [use.operation for use in argument.uses]
    if any(isinstance(user, UnpackOp) for user in users):
        return None
    schedule = kernel.schedule
    assert isinstance(schedule, ScheduleAttr)
    nr = schedule.get("nr")
    match users:
        case [MatmulOp() as root]:
            return Packing("panels", nr, 1, root.transpose_b is not None)
        case [LstmOp()]:
            return Packing("conv_panels", nr, type_of(argument).get_shape()[0], False)
        case [ConvOp() as root] if schedule.family.data == "depthwise":
            return Packing("depthwise", nr, 1, False)
        case [ConvOp() as root]:
            return Packing("conv_panels", nr, root.groups.value.data, False)
        case _:
            raise CompileError(f"{describe(kernel)} @{kernel.sym_name.data}: operand {position} can't be packed")


def _pack(
    ctx: Context,
    call: CallOp,
    position: int,
    packing: Packing,
    packed: dict[tuple[SSAValue, Packing], SSAValue],
) -> SSAValue:
    """The packed weight in `main`, made once for each weight and form."""
    value = call.operands[position]
    if (value, packing) in packed:
        return packed[value, packing]
    weight = value.owner
    if not isinstance(weight, WeightOp):
        raise CompileError(f"{describe(call)}: operand {position} is packed ahead of time, so it must be a weight")
    store = blob_store(ctx)
    array = store.read(weight.blob, type_of(value))
    match packing.kind:
        case "panels":
            panels = pack_panels(array, packing.nr, packing.transposed)
        case "conv_panels":
            recurrent = any(isinstance(use.operation, LstmOp) for use in call.kernel.arguments[position].uses)
            weight_array = array.reshape(-1, array.shape[2], 1) if recurrent else array
            panels = pack_conv_panels(weight_array, packing.groups, packing.nr)
        case _:
            panels = pack_depthwise(array, packing.nr)
    new = WeightOp(store.add(panels), tensor(type_of(value).element_type, panels.shape), weight.location)
    Rewriter.insert_op(new, InsertPoint.after(weight))
    packed[value, packing] = new.result
    return new.result


def _unpack_in_body(kernel: KernelOp, position: int, packing: Packing, packed_type: Attribute) -> None:
    """The argument becomes the panels, and an unpack in front of the body gives the weight back."""
    argument = kernel.arguments[position]
    plain = type_of(argument)
    block = kernel.body.block
    first = block.first_op
    assert first is not None
    uses = list(argument.uses)
    new = Rewriter.replace_value_with_new_type(argument, packed_type)
    shape = plain.get_shape()
    recurrent = any(isinstance(use.operation, LstmOp) for use in uses)
    as_filter = (shape[0] * shape[1], shape[2], 1) if recurrent else shape
    unpack = UnpackOp(new, packing.kind, as_filter, transposed=packing.transposed)
    ops: list[Operation] = [unpack, ReshapeOp(unpack.results[0], shape)] if recurrent else [unpack]
    Rewriter.insert_op(ops, InsertPoint.before(first))
    for use in uses:
        use.operation.operands[use.index] = ops[-1].results[0]
    kernel.refresh_type()
