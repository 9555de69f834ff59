"""nvgpu: asynchronous matrix products by warpgroups, the groups of 128 adjacent threads of a block (wgmma).

    nvgpu.warpgroup.fence
    nvgpu.warpgroup.mma %a, %s[%stage, %k, %zero, %zero], %sums : ...        any number, on the same sums or others
    nvgpu.warpgroup.commit
    nvgpu.warpgroup.wait 0

Products are in flight until a wait: meanwhile their sums may not be accessed, nor what they read in shared memory be
written. There they read what bulk copies have written, and what ordinary stores have before nvgpu.proxy_fence and a
barrier. Whole warpgroups of the block take part, all or some, and each multiplies by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from typing_extensions import override
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    IndexType,
    IntegerAttr,
    MemRefType,
    StringAttr,
    VectorType,
    f32,
    i32,
)
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, prop_def, traits_def, var_operand_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from ..extensions.assembly import Word
from .memory_spaces import PRIVATE, WORKGROUP, check_indices

WARPGROUP = 128  # threads
ROWS = 64  # of a product
MOST_COLUMNS = 256
HELD: dict[type[Attribute], int] = {type(f32): 4, Float16Type: 8, BFloat16Type: 8}
"""Elements of a that each thread holds, by their type: as many as lie side by side of a column of b, in 16 bytes."""


@irdl_op_definition
class WarpgroupFenceOp(IRDLOperation):
    """Orders accesses of registers before the products that follow; needed before the first product of a group."""

    name = "nvgpu.warpgroup.fence"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class ProxyFenceOp(IRDLOperation):
    """Shows what this thread has stored in shared memory to products by warpgroups behind the block's next barrier.

    They see memory through another "proxy" than loads and stores do. MLIR's `nvvm.fence.proxy {kind =
    #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}`. (PTX: fence.proxy.async.)
    """

    name = "nvgpu.proxy_fence"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class WarpgroupCommitOp(IRDLOperation):
    """Closes a group: the products that this warpgroup has started since its last one."""

    name = "nvgpu.warpgroup.commit"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class WarpgroupWaitOp(IRDLOperation):
    """`nvgpu.warpgroup.wait 1`: waits until at most one of this warpgroup's latest groups is still in flight.

        nvgpu.warpgroup.wait 0 behind %x : memref<2xf32, #gpu.address_space<private>>

    CUDA's assembler moves a wait up before all that doesn't depend on products, and so what a thread is to do meanwhile
    behind it: not what the numbers in the arrays `behind` which it waits depend on.
    """

    name = "nvgpu.warpgroup.wait"
    groups = prop_def(IntegerAttr.constr(i32))
    behind = var_operand_def(MemRefType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$groups (`behind` $behind^ `:` type($behind))? attr-dict"

    def __init__(self, groups: int, behind: Sequence[SSAValue] = ()) -> None:
        super().__init__(operands=[behind], properties={"groups": IntegerAttr(groups, i32)})

    @override
    def verify_(self) -> None:
        if self.groups.value.data < 0:
            raise VerifyException(f"there can't be {self.groups.value.data} groups in flight")
        for each in self.behind:
            array = cast("MemRefType[Attribute]", each.type)
            if array.memory_space != PRIVATE or array.element_type != f32 or array.get_num_dims() != 1:
                raise VerifyException(f"a wait behind {array}; it must be a private array of f32 with one dimension")


@irdl_op_definition
class SetMaxRegisterOp(IRDLOperation):
    """`nvgpu.setmaxregister increase 240`: this warpgroup's threads have so many registers from here on.

    MLIR's `nvvm.setmaxregister`. Those that one group gives back another one gets, which waits for them.
    """

    name = "nvgpu.setmaxregister"
    action = prop_def(StringAttr)
    count = prop_def(IntegerAttr.constr(i32))
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    custom_directives = (Word,)
    assembly_format = "custom<Word>($action) $count attr-dict"

    def __init__(self, action: str, count: int) -> None:
        super().__init__(properties={"action": StringAttr(action), "count": IntegerAttr(count, i32)})

    @override
    def verify_(self) -> None:
        if self.action.data not in ("increase", "decrease"):
            raise VerifyException(f"registers '{self.action.data}'; they may increase or decrease")
        if not 24 <= self.count.value.data <= 256 or self.count.value.data % 8:
            raise VerifyException(f"{self.count.value.data} registers; there may be 24, 32, ..., 256")


@irdl_op_definition
class WarpgroupMmaOp(IRDLOperation):
    """Starts sums += a b, of 64 x K by K x N elements: a in registers, b in shared memory, the sums in registers.

        nvgpu.warpgroup.mma %a, %s[%i, %k, %zero, %zero], %sums
          : vector<4xf32>, memref<3x8x64x4xf32, #gpu...<workgroup>>, memref<8x4xf32, #gpu...<private>>

    K is 8 for f32 (of which the first 19 bits are taken), 16 for f16 and bf16. b is N columns, from an index on, of two
    chunks: K / 2 elements for each column, those of chunk i at depth (K / 2) * i and on (core matrices without
    swizzle). Warp w of the warpgroup has rows 16 w to 16 w + 15, of which a thread holds the same as of nvgpu.mma.sync:
    a as there, and as sums[j][i] what is c[i] there of columns 8 j to 8 j + 7. (PTX ISA: "Register Fragments for
    wgmma.mma_async.m64nNk8" and "m64nNk16", "Shared Memory Matrix Layout".)
    """

    name = "nvgpu.warpgroup.mma"
    a = operand_def(VectorType)
    b = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    sums = operand_def(MemRefType)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "$a `,` $b `[` $indices `]` `,` $sums attr-dict `:` type($a) `,` type($b) `,` type($sums)"

    def __init__(self, a: SSAValue, b: SSAValue, indices: Sequence[SSAValue], sums: SSAValue) -> None:
        super().__init__(operands=[a, b, indices, sums])

    @property
    def columns(self) -> int:
        """N"""
        return 8 * cast("MemRefType[Attribute]", self.sums.type).get_shape()[0]

    @property
    def line(self) -> int:
        """Columns of a chunk in shared memory, of which the product takes N."""
        return cast("MemRefType[Attribute]", self.b.type).get_shape()[-2]

    @override
    def verify_(self) -> None:
        a, b, sums = (cast("MemRefType[Attribute]", each.type) for each in (self.a, self.b, self.sums))
        held = HELD.get(type(a.element_type))
        if held is None:
            raise VerifyException(f"there is no product of {a.element_type}")
        if a.get_shape() != (held,):
            raise VerifyException(f"a is {a}; it must be {VectorType(a.element_type, [held])}")
        shape = b.get_shape()
        if b.memory_space != WORKGROUP or b.element_type != a.element_type:
            raise VerifyException(f"b is {b}; it must be {a.element_type} in shared memory")
        if len(shape) < 3 or shape[-1] != held or shape[-3] < 2:
            raise VerifyException(f"b is {b}; its last dimensions must be chunks, columns and {held}")
        check_indices(b, self.indices)
        if (
            sums.memory_space != PRIVATE
            or sums.element_type != f32
            or len(sums.get_shape()) != 2
            or sums.get_shape()[1] != 4
        ):
            raise VerifyException(f"the sums are {sums}; they must be a private array of columns / 8 x 4 f32")
        if not 8 <= self.columns <= min(MOST_COLUMNS, self.line):
            raise VerifyException(f"{self.columns} columns; there must be 8, 16, ..., {min(MOST_COLUMNS, self.line)}")
