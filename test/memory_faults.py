"""Faults in planned arenas, which verify-arena must refuse."""

from __future__ import annotations

from random import Random

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, ModuleOp, i64
from xdsl.ir import Operation

from mini_infer.dialects.graph.host import main_of
from mini_infer.dialects.kernel.calls import CallOp
from mini_infer.passes.memory.analysis.buffers import int_attribute


def shorten_a_lifetime(module: ModuleOp, random: Random) -> bool:
    """Says of a buffer that it is born a step later, or dies a step earlier; False if none lives longer than a step."""
    views = [view for view in arena_views(module) if number(view, "death") - number(view, "birth") > 1]
    if not views:
        return False
    chosen = random.choice(views)
    key, change = random.choice([("birth", 1), ("death", -1)])
    for view in arena_views(module):
        if number(view, "buffer") == number(chosen, "buffer"):
            view.attributes[key] = IntegerAttr(number(view, key) + change, i64)
    return True


def move_a_buffer(module: ModuleOp, random: Random) -> bool:
    """Puts a buffer on one that it lives together with; False if there are no two such."""
    views = arena_views(module)
    pairs = [
        (a, b)
        for a in views
        for b in views
        if number(a, "buffer") != number(b, "buffer")
        and max(number(a, "birth"), number(b, "birth")) < min(number(a, "death"), number(b, "death"))
    ]
    if not pairs:
        return False
    a, b = random.choice(pairs)
    constant = arith.ConstantOp(IntegerAttr(_offset_of(b), IndexType()))
    block = a.parent
    assert block is not None
    block.insert_op_before(constant, a)
    a.operands[1] = constant.result
    return True


def arena_views(module: ModuleOp) -> list[memref.ViewOp]:
    """The views of the arena that calls use, scratch included."""
    views = [op for op in main_of(module, "test").body.walk() if isinstance(op, memref.ViewOp)]
    return [op for op in views if any(isinstance(use.operation, CallOp) for use in op.result.uses)]


def _offset_of(view: memref.ViewOp) -> int:
    constant = view.byte_shift.owner
    assert isinstance(constant, arith.ConstantOp) and isinstance(constant.value, IntegerAttr)
    return constant.value.value.data


def number(op: Operation, key: str) -> int:
    """A number that an op of a planned main bears."""
    found = int_attribute(op, key)
    assert found is not None
    return found
