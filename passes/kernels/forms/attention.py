"""The form "attention": its sizes, for any device."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Operation, SSAValue

from ....dialects.errors import CompileError
from ....dialects.graph.base import describe
from ....dialects.graph.ops.attention import AttentionOp
from ....dialects.graph.ops.conversion import CastOp
from ....dialects.graph.ops.quantization import DequantizeOp
from ....dialects.graph.ops.structure import KernelOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....dialects.sizes.sizes import equal_shapes
from ...geometry.strided_views import strided_view
from ..kernel_facts import the_root


@dataclass(frozen=True)
class AttentionSizes:
    """q [batch, heads, queries, depth], k [batch, key_heads, keys, depth], v [batch, key_heads, keys, width]."""

    batch: int
    heads: int
    key_heads: int
    queries: int
    keys: int
    depth: int
    width: int

    @property
    def group(self) -> int:
        """Number of query heads that share one key head."""
        return self.heads // max(1, self.key_heads)


def attention_sizes(op: AttentionOp) -> AttentionSizes:
    """The sizes of an attention op."""
    batch, heads, queries, depth = shape_of(op.query)
    key_heads, keys = shape_of(op.key)[1:3]
    return AttentionSizes(batch, heads, key_heads, queries, keys, depth, shape_of(op.value)[3])


def check_attention(op: AttentionOp) -> AttentionSizes:
    """The sizes of an attention op. Raises CompileError for unsupported element types."""
    element = element_type_of_value(op.result)
    if element not in (f32, f64):
        raise CompileError(f"{describe(op)}: attention on {element} is not supported; only f32 and f64 are")
    sizes = attention_sizes(op)
    if 0 in (sizes.keys, sizes.depth):
        raise CompileError(f"{describe(op)}: {sizes.keys} keys of {sizes.depth} elements leave nothing to attend to")
    return sizes


def in_memory(operand: SSAValue) -> SSAValue:
    """An operand as it is in memory: before the op that widens it, if the kernel has one."""
    return operand.owner.x if isinstance(operand.owner, CastOp | DequantizeOp) else operand


def scale_of(operand: SSAValue) -> SSAValue | None:
    """The scales of quantised keys or values, one for each row [batch, heads, rows, 1]."""
    return operand.owner.scale if isinstance(operand.owner, DequantizeOp) else None


def scales_rows(op: DequantizeOp) -> bool:
    """Whether an op multiplies each row of heads by a number of its own, which are neighbours in memory."""
    shape, scale = shape_of(op.x), shape_of(op.scale)
    by_rows = len(shape) == 4 and op.zero_point is None and equal_shapes(scale, (*shape[:3], 1))
    return by_rows and strided_view(op.scale).strides[2] == 1


def direct_operands(kernel: KernelOp) -> list[int]:
    """Operands that the attention op reads directly, or widens, not through views."""
    root = the_root(kernel, AttentionOp)
    readers: set[Operation] = {
        root,
        *(each.owner for each in root.operands if isinstance(each.owner, CastOp | DequantizeOp)),
    }
    return [i for i, each in enumerate(kernel.arguments) if all(use.operation in readers for use in each.uses)]
