"""The attention schedule: register tiles as for a matrix product, one head per thread at a time.

Scratch for each thread holds one head's keys in panels and `mr` rows of scores, so it grows with the number of keys
and not with its square.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import f32, f64

from .....dialects.errors import CompileError
from .....dialects.graph import AttentionOp, KernelOp, describe, element_type_of_value, shape_of
from .....dialects.kernel import InterfaceAttr, ScheduleAttr, TargetAttr


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


def attention_sizes(op: AttentionOp) -> AttentionSizes:
    """The sizes of an attention op."""
    batch, heads, queries, depth = shape_of(op.query)
    key_heads, keys = shape_of(op.key)[1:3]
    return AttentionSizes(batch, heads, key_heads, queries, keys, depth, shape_of(op.value)[3])


def schedule(kernel: KernelOp, target: TargetAttr) -> tuple[ScheduleAttr, InterfaceAttr]:
    """Tile sizes from the target's registers; scratch for one head's keys and a block of scores per thread."""
    root = next(op for op in kernel.body.block.ops if isinstance(op, AttentionOp))
    element = element_type_of_value(root.result)
    if element not in (f32, f64):
        raise CompileError(f"{describe(root)}: attention on {element} has no code; only f32 and f64 do")
    sizes = attention_sizes(root)
    if 0 in (sizes.keys, sizes.depth):
        raise CompileError(f"{describe(root)}: {sizes.keys} keys of {sizes.depth} elements leave nothing to attend to")
    size = 4 if element == f32 else 8
    lanes = target.lanes(8 * size)
    nr = 2 * lanes
    mr = max(1, (target.registers.data - 3) // 2)
    padded = -(-sizes.keys // nr) * nr
    per_thread = -(-(padded * sizes.depth + mr * padded) * size // 64) * 64
    options = {"mr": mr, "nr": nr, "lanes": lanes, "bytes": size}
    return ScheduleAttr.of("attention", **options), InterfaceAttr.of(per_thread=per_thread)
