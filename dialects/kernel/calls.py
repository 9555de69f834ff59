"""Operations of `main` at the buffers level: calls of kernels on memrefs, weights and barriers.

    %b = memref.alloc() {name = "conv1"} : memref<1x56x56x64xf32>
    kernel.call @conv_0 ins(%x, %w : memref<1x56x56x64xf32>, memref<2x64x32xf32>) outs(%b : memref<1x56x56x64xf32>)
    kernel.barrier
    kernel.return_if %stopped

A buffer in both `ins` and `outs` of one call is updated in place. A kernel's symbol carries its `#kernel.form` (what it
computes), its `#kernel.schedule` (how) and its `#kernel.interface` (what it requires of its buffers); the last two are
chosen for one `kernel.target`, a `#kernel.cpu` or `#kernel.gpu` (targets.py). Of a kernel the memory passes read only
the interface.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from typing_extensions import override
from xdsl.dialects.builtin import (
    FlatSymbolRefAttrConstr,
    IndexType,
    MemRefType,
    SymbolRefAttr,
    TensorType,
    i1,
)
from xdsl.ir import Attribute, Dialect, Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import Pure, SymbolUserOpInterface
from xdsl.utils.exceptions import VerifyException

from ..bf16_dot import Bf16DotOp
from ..byte_dot import DotOp
from ..graph.blobs import BlobAttr
from ..graph.ops.structure import KernelOp
from ..sizes.size_attributes import BuffersAttr, GuardsAttr, SymbolsAttr
from ..symbols import symbol_named
from .kernel_attributes import FormAttr, InterfaceAttr, MoveAttr, PackingAttr, ScheduleAttr
from .targets import CpuAttr, GpuAttr

AS_WRITTEN = "kernel.as_written"
"""On a function of loops: they are written as they should run, in vectors, and LLVM has little left to find out."""

OPERATOR = "kernel.operator"
"""On a declared function of loops: the user's operator that defines it, by `domain`, `name` and `since`."""


class _CallSymbolUser(SymbolUserOpInterface):
    @override
    def verify(self, op: Operation) -> None:
        assert isinstance(op, CallOp)
        name = f"@{op.callee.string_value()}"
        kernel = symbol_named(op, op.callee.string_value())
        if not isinstance(kernel, KernelOp):
            raise VerifyException(f"{name} is not a kernel of this module")
        if not op.outs:
            raise VerifyException(f"the call of {name} writes no buffer")
        types = kernel.function_type
        for what, buffers, tensors in (("operand", op.ins, types.inputs), ("result", op.outs, types.outputs)):
            if len(buffers) != len(tensors):
                raise VerifyException(f"{len(buffers)} {what} buffers for the {len(tensors)} {what}s of {name}")
            for number, (buffer, tensor) in enumerate(zip(buffers.types, tensors, strict=True)):
                if not _holds(buffer, tensor):
                    raise VerifyException(f"{what} {number} of {name} is {tensor}, and {buffer} can't hold it")


def _holds(buffer: Attribute, tensor: Attribute) -> bool:
    """Whether a buffer has the shape and element type of a tensor; strides may be any."""
    if not isinstance(buffer, MemRefType) or not isinstance(tensor, TensorType):
        return False
    memory, value = cast("MemRefType[Attribute]", buffer), cast("TensorType[Attribute]", tensor)
    return memory.get_shape() == value.get_shape() and memory.element_type == value.element_type


@irdl_op_definition
class CallOp(IRDLOperation):
    """`kernel.call @k ins(%a : T) outs(%b : U) scratch(%s : V) status(%n : W)`: runs kernel @k on buffers.

    Reads `ins` and writes all of `outs`; the contents of `scratch` are undefined before and after. Run-time errors,
    such as an index out of range, are recorded in `status` (see insert-checks).
    """

    name = "kernel.call"
    callee = prop_def(FlatSymbolRefAttrConstr)
    ins = var_operand_def(MemRefType)
    outs = var_operand_def(MemRefType)
    scratch = var_operand_def(MemRefType)
    status = var_operand_def(MemRefType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(_CallSymbolUser())
    assembly_format = (
        "$callee (`ins` `` `(` $ins^ `:` type($ins) `)`)? (`outs` `` `(` $outs^ `:` type($outs) `)`)? "
        "(`scratch` `` `(` $scratch^ `:` type($scratch) `)`)? "
        "(`status` `` `(` $status^ `:` type($status) `)`)? attr-dict"
    )

    def __init__(
        self,
        callee: str | SymbolRefAttr,
        ins: Sequence[SSAValue],
        outs: Sequence[SSAValue],
        scratch: Sequence[SSAValue] = (),
        status: Sequence[SSAValue] = (),
        attributes: Mapping[str, Attribute | None] | None = None,
    ) -> None:
        symbol = SymbolRefAttr(callee) if isinstance(callee, str) else callee
        groups = [ins, outs, scratch, status]
        super().__init__(operands=groups, properties={"callee": symbol}, attributes=attributes or {})


@irdl_op_definition
class WeightOp(IRDLOperation):
    """`%w = kernel.weight #graph.blob<...> : memref<64x64xf32>`: a read-only buffer with the bytes of a blob."""

    name = "kernel.weight"
    blob = prop_def(BlobAttr)
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "qualified($blob) attr-dict `:` type($result)"

    def __init__(self, blob: BlobAttr, type: MemRefType[Attribute]) -> None:
        super().__init__(properties={"blob": blob}, result_types=[type])


@irdl_op_definition
class WindowOp(IRDLOperation):
    """`%w = kernel.window %b[%offset] : memref<1x64x8xf32> to memref<1x4x8xf32>`: a part of a dense buffer.

    It is dense, too, and begins `offset` elements behind the first one. The offset may depend on the turns of loops
    with constant bounds, so that each turn reads or writes another part.
    """

    name = "kernel.window"
    source = operand_def(MemRefType)
    offset = operand_def(IndexType)
    result = result_def(MemRefType)
    traits = traits_def(Pure())
    assembly_format = "$source `[` $offset `]` attr-dict `:` type($source) `to` type($result)"

    def __init__(self, source: SSAValue, offset: SSAValue, type: MemRefType[Attribute]) -> None:
        super().__init__(operands=[source, offset], result_types=[type])

    @override
    def verify_(self) -> None:
        types = [cast("MemRefType[Attribute]", value.type) for value in (self.source, self.result)]
        if types[0].element_type != types[1].element_type:
            raise VerifyException(f"a window of {types[1].element_type} in a buffer of {types[0].element_type}")


@irdl_op_definition
class BarrierOp(IRDLOperation):
    """Waits until every thread arrives; writes before it are visible to reads after it."""

    name = "kernel.barrier"
    assembly_format = "attr-dict"


@irdl_op_definition
class ReturnIfOp(IRDLOperation):
    """Returns from the function, from within a loop or a branch too, where the condition holds."""

    name = "kernel.return_if"
    condition = operand_def(i1)
    assembly_format = "$condition attr-dict"

    def __init__(self, condition: SSAValue) -> None:
        super().__init__(operands=[condition])


Kernel = Dialect(
    "kernel",
    [CallOp, WeightOp, WindowOp, BarrierOp, ReturnIfOp, DotOp, Bf16DotOp],
    [
        CpuAttr,
        GpuAttr,
        FormAttr,
        ScheduleAttr,
        PackingAttr,
        MoveAttr,
        InterfaceAttr,
        SymbolsAttr,
        GuardsAttr,
        BuffersAttr,
    ],
)
