"""nvgpu: asynchronous copies to shared memory, and matrix multiply-accumulate (mma) by a warp.

Barriers that count bytes, and bulk copies, are in mbarriers.py; copies of boxes of tensors in tensor_maps.py; products
by four warps in warpgroup.py; clusters of blocks in cluster.py; barriers of all blocks in grid_barrier.py.

Unlike MLIR's dialect, copies, groups and waits carry no tokens: as in PTX, they refer to each other by each thread's
program order. Fragments are vectors of one dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from typing_extensions import override
from xdsl.dialects.builtin import (
    BoolAttr,
    FixedBitwidthType,
    IndexType,
    IntegerAttr,
    MemRefType,
    VectorType,
    bf16,
    f16,
    f32,
    i1,
    i32,
)
from xdsl.ir import Attribute, Dialect, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    ParsePropInAttrDict,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ..graph.ops.contraction import BYTES
from .cluster import ClusterBarrierOp, ClusterLoadOp
from .grid_barrier import GridBarrierOp
from .mbarriers import (
    BulkCopyOp,
    MBarrierArriveOp,
    MBarrierCreateOp,
    MBarrierExpectOp,
    MBarrierFenceOp,
    MBarrierGroupType,
    MBarrierInitOp,
    MBarrierWaitOp,
)
from .memory_spaces import WORKGROUP, check_copy, check_indices
from .tensor_maps import TensorLoadOp, TensorMapOp, TensorMapType
from .warpgroup import (
    ProxyFenceOp,
    SetMaxRegisterOp,
    WarpgroupCommitOp,
    WarpgroupFenceOp,
    WarpgroupMmaOp,
    WarpgroupWaitOp,
)

COPY_BYTES = (4, 8, 16)  # sizes in bytes that one asynchronous copy may have


@irdl_op_definition
class AsyncCopyOp(IRDLOperation):
    """Starts copying `elements` adjacent elements from global to shared memory, without waiting.

        nvgpu.device_async_copy %x[%i, %j], %s[%k, %l], 4, %n : memref<64x64xf32> to memref<8x32xf32, #gpu...>

    With the optional operand `valid`, only the first `valid` elements are read and the rest are filled with zeros. The
    copies that a thread has started since its last group form its next group.
    """

    name = "nvgpu.device_async_copy"
    source = operand_def(MemRefType)
    source_indices = var_operand_def(IndexType)
    destination = operand_def(MemRefType)
    destination_indices = var_operand_def(IndexType)
    valid = opt_operand_def(IndexType)
    elements = prop_def(IntegerAttr.constr(i32))
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$source `[` $source_indices `]` `,` $destination `[` $destination_indices `]` `,` $elements (`,` $valid^)? "
        "attr-dict `:` type($source) `to` type($destination)"
    )

    def __init__(
        self,
        source: SSAValue,
        source_indices: Sequence[SSAValue],
        destination: SSAValue,
        destination_indices: Sequence[SSAValue],
        elements: int,
        valid: SSAValue | None = None,
    ) -> None:
        super().__init__(
            operands=[source, source_indices, destination, destination_indices, valid],
            properties={"elements": IntegerAttr(elements, i32)},
        )

    @override
    def verify_(self) -> None:
        source, destination = (cast("MemRefType[Attribute]", each.type) for each in (self.source, self.destination))
        check_copy("an asynchronous copy", source, destination)
        for type, indices in ((source, self.source_indices), (destination, self.destination_indices)):
            check_indices(type, indices)
        size = getattr(source.element_type, "size", 0) * self.elements.value.data
        if size not in COPY_BYTES:
            raise VerifyException(f"a copy of {size} bytes; it may have {', '.join(map(str, COPY_BYTES))}")


@irdl_op_definition
class AsyncGroupOp(IRDLOperation):
    """Closes a group (which may be empty): the copies that this thread started since its last group."""

    name = "nvgpu.device_async_create_group"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class AsyncWaitOp(IRDLOperation):
    """`nvgpu.device_async_wait 2`: waits until at most 2 of this thread's latest groups are still in flight.

    Other threads see the copied data only after a following barrier.
    """

    name = "nvgpu.device_async_wait"
    groups = prop_def(IntegerAttr.constr(i32))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$groups attr-dict"

    def __init__(self, groups: int) -> None:
        super().__init__(properties={"groups": IntegerAttr(groups, i32)})

    @override
    def verify_(self) -> None:
        if self.groups.value.data < 0:
            raise VerifyException(f"there can't be {self.groups.value.data} groups in flight")


@irdl_op_definition
class RoundToTf32Op(IRDLOperation):
    """`nvgpu.round_to_tf32 %x : f32`: rounds to 10 mantissa bits, to nearest with ties away from zero."""

    name = "nvgpu.round_to_tf32"
    value = operand_def(f32)
    result = result_def(f32)
    traits = traits_def(Pure())
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue) -> None:
        super().__init__(operands=[value], result_types=[f32])


MULTIPLIED = (f32, f16, bf16, *BYTES)
"""Element types of matrices that are multiplied; a thread holds 4 words of a, and 2 of b."""


@irdl_op_definition
class MmaOp(IRDLOperation):
    """`%d = nvgpu.mma.sync(%a, %b, %c) : (vector<4xf32>, vector<2xf32>, vector<4xf32>) -> ...`: d = a b + c

    a is 16 x K, b is K x 8, c and d are 16 x 8, and each thread of the warp holds parts of them: K is 8 for f32 (of
    which the first 19 bits are taken), 16 for f16 and bf16, 32 for bytes of either signedness, whose c and d are i32,
    with wrap-around. With g = lane / 4, t = lane % 4, and w numbers in a word of 4 bytes:
    c[i] is at row g + 8 * (i / 2), column 2 * t + i % 2; a[w * i + j] at row g + 8 * (i % 2), column
    w * t + j + 4 * w * (i / 2); b[w * i + j] at row w * t + j + 4 * w * i, column g.
    (PTX ISA: "Matrix Fragments for mma.m16n8k8", "m16n8k16" and "m16n8k32".)
    """

    name = "nvgpu.mma.sync"
    a = operand_def(VectorType)
    b = operand_def(VectorType)
    c = operand_def(VectorType)
    result = result_def(VectorType)
    traits = traits_def(Pure())
    assembly_format = (
        "`(` $a `,` $b `,` $c `)` attr-dict `:` `(` type($a) `,` type($b) `,` type($c) `)` `->` type($result)"
    )

    def __init__(self, a: SSAValue, b: SSAValue, c: SSAValue) -> None:
        super().__init__(operands=[a, b, c], result_types=[c.type])

    @override
    def verify_(self) -> None:
        left, right = (cast("VectorType[Attribute]", each.type).element_type for each in (self.a, self.b))
        if left not in MULTIPLIED:
            raise VerifyException(f"there is no product of {left}")
        sums, right = (i32, right if right in BYTES else BYTES[0]) if left in BYTES else (f32, left)
        word = 4 // cast("FixedBitwidthType", left).size
        for name, value, count, kind in (
            ("a", self.a, 4 * word, left),
            ("b", self.b, 2 * word, right),
            ("c", self.c, 4, sums),
            ("the result", self.result, 4, sums),
        ):
            if value.type != VectorType(kind, [count]):
                raise VerifyException(f"{name} is {value.type}; it must be {VectorType(kind, [count])}")


TILES = (1, 2, 4)  # matrices that one ldmatrix may load
LINE_BYTES = 16  # of a row of such a matrix, which has 8


@irdl_op_definition
class LdMatrixOp(IRDLOperation):
    """Loads `numTiles` matrices of 8 rows of 16 bytes from shared memory, spread over the lanes of a warp.

        %f = nvgpu.ldmatrix %s[%i, %j] {numTiles = 4 : i32, transpose = false} : memref<16x40xf16, #gpu...>
            -> vector<8xf16>

    Lane 8 * m + r gives the place of row r of matrix m; other lanes' indices are ignored. With g = lane / 4 and t =
    lane % 4, a lane gets 4 bytes of each matrix, one after the other: the elements of row g from byte 4 * t on; if
    transposed, which 16-bit elements can be, those of column g in rows 2 * t and 2 * t + 1. (PTX ISA: "ldmatrix".)
    """

    name = "nvgpu.ldmatrix"
    source = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    transpose = prop_def(BoolAttr)
    tiles = prop_def(IntegerAttr.constr(i32), prop_name="numTiles")
    result = result_def(VectorType)
    irdl_options = (ParsePropInAttrDict(),)
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$source `[` $indices `]` attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, indices: Sequence[SSAValue], tiles: int, *, transpose: bool = False) -> None:
        element = cast("MemRefType[Attribute]", source.type).element_type
        super().__init__(
            operands=[source, indices],
            properties={"numTiles": IntegerAttr(tiles, i32), "transpose": IntegerAttr(transpose, i1)},
            result_types=[VectorType(element, [tiles * 4 // cast("FixedBitwidthType", element).size])],
        )

    @override
    def verify_(self) -> None:
        source, tiles = cast("MemRefType[Attribute]", self.source.type), self.tiles.value.data
        size = getattr(source.element_type, "size", 0)
        if source.memory_space != WORKGROUP:
            raise VerifyException("matrices are loaded from shared memory")
        if size not in (1, 2, 4):
            raise VerifyException(f"matrices of {source.element_type}; elements may have 1, 2, 4 bytes")
        if self.transpose.value.data and size != 2:
            raise VerifyException(f"matrices of {source.element_type} can't be transposed; elements of 2 bytes can")
        if tiles not in TILES:
            raise VerifyException(f"{tiles} matrices; there may be {', '.join(map(str, TILES))}")
        check_indices(source, self.indices)
        expected = VectorType(source.element_type, [tiles * 4 // size])
        if self.result.type != expected:
            raise VerifyException(f"the result is {self.result.type}; it must be {expected}")


NvGpu = Dialect(
    "nvgpu",
    [
        AsyncCopyOp,
        AsyncGroupOp,
        AsyncWaitOp,
        BulkCopyOp,
        ClusterBarrierOp,
        ClusterLoadOp,
        GridBarrierOp,
        LdMatrixOp,
        MBarrierArriveOp,
        MBarrierCreateOp,
        MBarrierExpectOp,
        MBarrierFenceOp,
        MBarrierInitOp,
        MBarrierWaitOp,
        MmaOp,
        ProxyFenceOp,
        RoundToTf32Op,
        SetMaxRegisterOp,
        TensorLoadOp,
        TensorMapOp,
        WarpgroupCommitOp,
        WarpgroupFenceOp,
        WarpgroupMmaOp,
        WarpgroupWaitOp,
    ],
    [MBarrierGroupType, TensorMapType],
)
