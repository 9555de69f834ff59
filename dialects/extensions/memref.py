"""memref.prefetch, which xDSL lacks."""

from collections.abc import Sequence
from typing import cast

from typing_extensions import override
from xdsl.dialects import memref
from xdsl.dialects.builtin import BoolAttr, IndexType, IntegerAttr, MemRefType, i1, i32
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import (
    IRDLOperation,
    irdl_op_definition,
    operand_def,
    prop_def,
    traits_def,
    var_operand_def,
)
from xdsl.irdl.declarative_assembly_format import AttributeVariable, irdl_custom_directive
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from .assembly import WordOf
from .replace import replace_operations


@irdl_custom_directive
class Access(WordOf):
    """What the cache line is asked for."""

    WORDS = ("read", "write")
    TYPE = i1
    attribute: AttributeVariable


@irdl_custom_directive
class Cache(WordOf):
    """Which cache the line should come to."""

    WORDS = ("instr", "data")
    TYPE = i1
    attribute: AttributeVariable


@irdl_op_definition
class PrefetchOp(IRDLOperation):
    """`memref.prefetch %m[%i, %j], read, locality<3>, data : memref<8x8xf32>`.

    Prefetches the cache line of one element; the address may lie outside the buffer. Locality goes from 0 (no reuse) to
    3 (keep in all caches). It has read and write effects, so it is neither erased nor moved.
    """

    name = "memref.prefetch"

    memref = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    is_write = prop_def(BoolAttr, prop_name="isWrite")
    locality_hint = prop_def(IntegerAttr.constr(i32), prop_name="localityHint")
    is_data_cache = prop_def(BoolAttr, prop_name="isDataCache")

    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    custom_directives = (Access, Cache)
    assembly_format = (
        "$memref `[` $indices `]` `,` custom<Access>($isWrite) `,` `locality` `` `<` $localityHint `>` `,` "
        "custom<Cache>($isDataCache) attr-dict `:` type($memref)"
    )

    def __init__(
        self,
        memref: SSAValue | Operation,
        indices: Sequence[SSAValue | Operation],
        *,
        write: bool = False,
        locality: int = 3,
    ):
        super().__init__(
            operands=[memref, indices],
            properties={
                "isWrite": BoolAttr.from_bool(write),
                "localityHint": IntegerAttr(locality, i32),
                "isDataCache": BoolAttr.from_bool(True),
            },
        )

    @override
    def verify_(self) -> None:
        rank = cast("MemRefType[Attribute]", self.memref.type).get_num_dims()
        if len(self.indices) != rank:
            raise VerifyException(f"expected {rank} indices, got {len(self.indices)}")
        if not 0 <= self.locality_hint.value.data <= 3:
            raise VerifyException("expected a locality from 0 to 3")


MemRef = replace_operations(memref.MemRef, [PrefetchOp])
