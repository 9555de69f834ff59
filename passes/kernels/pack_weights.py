"""pack-weights: lays weights out in the packing that their kernels' interfaces ask for.

before:  %w = graph.weight #graph.blob<...> : tensor<512x256xf32>
         %1 = graph.call @matmul_0(%x, %w)              (interface: packed = [1 : #kernel.packing<"panels", {nr = 32}>])
after:   %w = graph.weight #graph.blob<"", ...> : tensor<8x512x32xf32>
         %1 = graph.call @matmul_0(%x, %w)              (the kernel's body begins with graph.unpack)

The unpack in the body says what the panels mean, so the kernel still can be interpreted; code reads the panels as
they lie. A weight that kernels want in the same form is packed once. One that is computed is packed by a kernel
in front of its users.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.graph.blobs import blob_store
from ...dialects.graph.ops.structure import CallOp, KernelOp, WeightOp, YieldOp
from ...dialects.graph.packing.packings import Packing
from ...dialects.graph.packing.unpack import UnpackOp
from ...dialects.graph.values import AnyTensor, Array, tensor, type_of
from ...dialects.kernel.kernel_attributes import FormAttr, InterfaceAttr
from ...dialects.kernel.targets import target_of
from ..statistics import count
from .choose_schedule import schedule_kernel


@dataclass(frozen=True)
class PackWeights(ModulePass):
    """Lays weights out in the packing that their kernels' interfaces ask for."""

    name = "pack-weights"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        calls: dict[str, list[CallOp]] = {}
        for inner in op.walk():
            if isinstance(inner, CallOp):
                calls.setdefault(inner.callee.string_value(), []).append(inner)
        packer = _Packer(ctx, op)
        for kernel in list(op.body.block.ops):
            if not isinstance(kernel, KernelOp) or not isinstance(kernel.interface, InterfaceAttr):
                continue
            for position, packing in kernel.interface.packing.items():
                if any(isinstance(use.operation, UnpackOp) for use in kernel.arguments[position].uses):
                    continue  # it is packed already
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


def _pack(packing: Packing, arrays: Sequence[Array], out: Array) -> None:
    """Packs a weight, or some of its rows."""
    packing.pack(arrays[0], out)


class _Packer:
    """Packs the weights of `main`, each once per packing."""

    def __init__(self, ctx: Context, module: ModuleOp) -> None:
        self._store = blob_store(ctx)
        self._module = module
        self._packed: dict[tuple[SSAValue, Packing], SSAValue] = {}
        self._kernels: dict[tuple[Attribute, Packing], KernelOp] = {}

    def pack(self, value: SSAValue, packing: Packing) -> SSAValue:
        """The packed weight in `main`, defined before all its users."""
        if (value, packing) not in self._packed:
            owner = value.owner
            made = self._weight(owner, packing) if isinstance(owner, WeightOp) else self._call(value, packing)
            behind = InsertPoint.at_start(owner) if isinstance(owner, Block) else InsertPoint.after(owner)
            Rewriter.insert_op(made, behind)
            self._packed[value, packing] = made.results[0]
        return self._packed[value, packing]

    def _weight(self, weight: WeightOp, packing: Packing) -> WeightOp:
        type = type_of(weight.result)
        shape = type.get_shape()
        panels = tensor(packing.packed_type(type.element_type), packing.packed_shape(shape))
        make = partial(_pack, packing)
        blob = self._store.add_made(panels, [(weight.blob, type)], str(packing), make, packing.rows(shape))
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
        value = kernel.arguments[0]
        block.add_ops(ops := packing.ops(value))
        block.add_op(YieldOp(ops[-1].results[0] if ops else value))
        kernel.refresh_type()
        kernel.form = FormAttr.of("map")
        schedule_kernel(kernel, target_of(self._module))
        self._module.body.block.add_op(kernel)
        return kernel


def _unpack_in_body(kernel: KernelOp, position: int, packing: Packing, packed_type: Attribute) -> None:
    """Changes the argument to the packed weight and inserts an unpack at the start of the body."""
    argument = kernel.arguments[position]
    plain = type_of(argument)
    block = kernel.body.block
    first = block.first_op
    assert first is not None
    uses = list(argument.uses)
    new = Rewriter.replace_value_with_new_type(argument, packed_type)
    unpack = UnpackOp(new, packing, plain.get_shape())
    Rewriter.insert_op(unpack, InsertPoint.before(first))
    for use in uses:
        use.operation.operands[use.index] = unpack.result
    kernel.refresh_type()
