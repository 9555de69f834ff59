"""nvgpu: clusters, groups of blocks that run together and can read each other's shared memory.

    gpu.func @k(...) kernel attributes {gpu.known_cluster_size = array<i32: 4, 1, 1>, ...} {
      memref.store %sum, %tile[%i, %j] : ...
      nvgpu.cluster_barrier
      %v = nvgpu.cluster_load %tile[%i, %j] of %rank : memref<16x72xf32, #gpu...<workgroup>> -> vector<4xf32>
      nvgpu.cluster_barrier
      gpu.return

A cluster is of adjacent blocks along x; the rank of one is its index modulo the cluster's size. A block must not end
while another one may read its memory; a thread has read once it has stored what it computes of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from typing_extensions import override
from xdsl.dialects.builtin import IndexType, MemRefType, VectorType, f32, i32
from xdsl.ir import Attribute, SSAValue
from xdsl.irdl import IRDLOperation, irdl_op_definition, operand_def, result_def, traits_def, var_operand_def
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect
from xdsl.utils.exceptions import VerifyException

from .memory_spaces import WORKGROUP, check_indices

MOST_BLOCKS_OF_A_CLUSTER = 8
"""Of a cluster that every GPU with clusters can run."""


@irdl_op_definition
class ClusterBarrierOp(IRDLOperation):
    """Waits until every thread of the cluster arrives, which sees what was written to shared memory before.

    MLIR's `nvvm.cluster.arrive.relaxed` and `nvvm.cluster.wait`, behind a fence for shared memory.
    """

    name = "nvgpu.cluster_barrier"
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = "attr-dict"


@irdl_op_definition
class ClusterLoadOp(IRDLOperation):
    """Loads an element, or 2 or 4 adjacent ones, at the same place in the shared memory of a block of the cluster.

    `rank` is that of the block, which may be the thread's own. (PTX: mapa and ld.shared::cluster.)
    """

    name = "nvgpu.cluster_load"
    source = operand_def(MemRefType)
    indices = var_operand_def(IndexType)
    rank = operand_def(IndexType)
    result = result_def()
    traits = traits_def(MemoryReadEffect())
    assembly_format = "$source `[` $indices `]` `of` $rank attr-dict `:` type($source) `->` type($result)"

    def __init__(self, source: SSAValue, indices: Sequence[SSAValue], rank: SSAValue, result: Attribute) -> None:
        super().__init__(operands=[source, indices, rank], result_types=[result])

    @override
    def verify_(self) -> None:
        source = cast("MemRefType[Attribute]", self.source.type)
        if source.memory_space != WORKGROUP:
            raise VerifyException("blocks of a cluster read each other's shared memory, no other")
        if source.element_type not in (f32, i32):
            raise VerifyException(f"elements are f32 or i32, not {source.element_type}")
        check_indices(source, self.indices)
        result: Attribute = self.result.type
        element = source.element_type
        if result not in (element, VectorType(element, [2]), VectorType(element, [4])):
            raise VerifyException(f"the result is {result}; it must be one, 2 or 4 of {source.element_type}")
