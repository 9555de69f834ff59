"""pack-weights: weights are laid out in the panels that their kernels read.

before:  %w = graph.weight #graph.blob<...> : tensor<512x256xf32>
         %1 = graph.call @matmul_0(%x, %w)              (interface: packed = [1], schedule: nr = 32)
after:   %w = graph.weight #graph.blob<"", ...> : tensor<8x512x32xf32>
         %1 = graph.call @matmul_0(%x, %w)              (the kernel's body begins with graph.unpack)

The unpack in the body says what the panels mean, so the kernel still can be interpreted; code reads the panels as
they lie. A weight that kernels want in the same form is packed once. One that is computed is packed by a kernel
(packing_ops.py) in front of its users.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.errors import CompileError
from ...dialects.graph import (
    AnyTensor,
    Array,
    CallOp,
    ConvOp,
    KernelOp,
    MatmulOp,
    RecurrenceOp,
    ReshapeOp,
    UnpackOp,
    WeightOp,
    YieldOp,
    blob_store,
    describe,
    pack_conv_panels,
    pack_depthwise,
    pack_panels,
    packed_shape,
    tensor,
    type_of,
)
from ...dialects.kernel import FormAttr, InterfaceAttr, target_of
from ..statistics import count
from .choose_schedule import schedule_kernel
from .packing_ops import packing_ops
from .schedules import schedule_of
from .schedules.cpu.depthwise import Depthwise
from .schedules.cpu.panels import Panels
from .schedules.cpu.recurrence import Recurrence


@dataclass(frozen=True)
class Packing:
    """How a kernel wants one of its weights: arguments of UnpackOp and of the packing function beside it."""

    kind: str
    nr: int
    groups: int
    transposed: bool
    shape: tuple[int, ...] | None = None  # that it is packed as, where that isn't its own

    def packed_shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the panels of a weight of that shape."""
        return packed_shape(self.kind, self.shape or shape, self.nr, self.groups, self.transposed)

    @property
    def rows(self) -> int:
        """Of how many rows of the weight each of the panels is made; 0 where it is made of parts of all."""
        return self.nr if self.kind == "panels" and self.transposed else 0

    def pack(self, arrays: Sequence[Array], out: Array) -> None:
        """Writes the panels of a weight that is known, or of some of its rows, to `out`."""
        (array,) = arrays if self.shape is None else (arrays[0].reshape(self.shape),)
        match self.kind:
            case "panels":
                pack_panels(array, self.nr, self.transposed, out)
            case "conv_panels":
                pack_conv_panels(array, self.groups, self.nr, out)
            case _:
                pack_depthwise(array, self.nr, out)

    def pack_in(self, block: Block, value: SSAValue) -> SSAValue:
        """The panels of a weight that is computed, made by ops at the end of a block."""
        ops: list[Operation] = [] if self.shape is None else [ReshapeOp(value, self.shape)]
        plain = ops[0].results[0] if ops else value
        ops += packing_ops(plain, self.kind, self.nr, self.groups, self.transposed)
        block.add_ops(ops)
        return ops[-1].results[0] if ops else value


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
        packer, device = _Packer(ctx, op), target_of(op).device.data
        for kernel in list(op.body.block.ops):
            if not isinstance(kernel, KernelOp) or not isinstance(kernel.interface, InterfaceAttr):
                continue
            for attribute in kernel.interface.packed:
                position = attribute.data
                packing = _packing(kernel, position, device)
                if packing is None:
                    continue
                panels: SSAValue | None = None
                for call in calls.get(kernel.sym_name.data, []):
                    panels = packer.pack(call.operands[position], packing)
                    call.operands[position] = panels
                if panels is not None:
                    count(ctx, self.name, packing.kind)
                    _unpack_in_body(kernel, position, packing, panels.type)
        for weight in [inner for inner in op.walk() if isinstance(inner, WeightOp)]:
            if not any(True for _ in weight.result.uses):
                Rewriter.erase_op(weight)


def _packing(kernel: KernelOp, position: int, device: str) -> Packing | None:
    """What the kernel's schedule asks for; None where the operand is packed already."""
    argument = kernel.arguments[position]
    users = [use.operation for use in argument.uses]
    if any(isinstance(user, UnpackOp) for user in users):
        return None
    schedule = schedule_of(kernel, device)
    nr = schedule.lanes if isinstance(schedule, Depthwise) else cast("Panels | Recurrence", schedule).nr
    match users:
        case [MatmulOp() as root]:
            return Packing("panels", nr, 1, root.transpose_b is not None)
        case [RecurrenceOp()]:
            shape = type_of(argument).get_shape()
            return Packing("conv_panels", nr, shape[0], False, (shape[0] * shape[1], shape[2], 1))
        case [ConvOp() as root] if isinstance(schedule, Depthwise):
            return Packing("depthwise", nr, 1, False)
        case [ConvOp() as root]:
            return Packing("conv_panels", nr, root.groups.value.data, False)
        case _:
            raise CompileError(f"{describe(kernel)} @{kernel.sym_name.data}: operand {position} can't be packed")


class _Packer:
    """Packs the weights of `main`, each once for every form that is asked for."""

    def __init__(self, ctx: Context, module: ModuleOp) -> None:
        self._store = blob_store(ctx)
        self._module = module
        self._packed: dict[tuple[SSAValue, Packing], SSAValue] = {}
        self._kernels: dict[tuple[Attribute, Packing], KernelOp] = {}

    def pack(self, value: SSAValue, packing: Packing) -> SSAValue:
        """The panels in `main`, in front of everything that reads them."""
        if (value, packing) not in self._packed:
            owner = value.owner
            made = self._weight(owner, packing) if isinstance(owner, WeightOp) else self._call(value, packing)
            behind = InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
            Rewriter.insert_op(made, behind)
            self._packed[value, packing] = made.results[0]
        return self._packed[value, packing]

    def _weight(self, weight: WeightOp, packing: Packing) -> WeightOp:
        type = type_of(weight.result)
        panels = tensor(type.element_type, packing.packed_shape(type.get_shape()))
        blob = self._store.add_made(panels, [(weight.blob, type)], str(packing), packing.pack, packing.rows)
        return WeightOp(blob, panels, weight.location)

    def _call(self, value: SSAValue, packing: Packing) -> CallOp:
        kernel = self._kernels.get((value.type, packing))
        if kernel is None:
            kernel = self._kernels[value.type, packing] = self._kernel(type_of(value), packing)
        location = value.owner.location if isinstance(value.owner, Operation) else None
        return CallOp(kernel.sym_name.data, [value], kernel.function_type.outputs.data, location=location)

    def _kernel(self, type: AnyTensor, packing: Packing) -> KernelOp:
        kernel = KernelOp(f"pack_{packing.kind}_{len(self._kernels)}", [type], [])
        block = kernel.body.block
        block.add_op(YieldOp(packing.pack_in(block, kernel.arguments[0])))
        kernel.refresh_type()
        kernel.form = FormAttr.of("map")
        schedule_kernel(kernel, target_of(self._module))
        self._module.body.block.add_op(kernel)
        return kernel


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
    unpack = UnpackOp(new, packing.kind, packing.shape or shape, transposed=packing.transposed)
    ops: list[Operation] = [unpack, ReshapeOp(unpack.results[0], shape)] if packing.shape else [unpack]
    Rewriter.insert_op(ops, InsertPoint.before(first))
    for use in uses:
        use.operation.operands[use.index] = ops[-1].results[0]
    kernel.refresh_type()
