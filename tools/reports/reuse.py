"""Reuse of a tensor's bytes: the tensors that occupy them before and after."""

from __future__ import annotations

from bisect import bisect_left

import numpy as np

from ...passes.memory.report.memory_plan import MemoryPlan
from ...passes.memory.report.memory_records import TensorRecord


def next_users(plan: MemoryPlan) -> dict[str, list[str]]:
    """For each tensor, those that occupy its bytes next: in place, or else those of other buffers of the arena.

    Each byte counts once: tensors that occupy it even later are not named. Views occupy no bytes, since these belong to
    tensors listed themselves.
    """
    inside = [tensor for tensor in plan.tensors if tensor.offset is not None and tensor.role != "view"]
    takers = sorted(inside, key=_birth)
    births = [tensor.birth for tensor in takers]
    written_over = {operand: result for result, operand in overwritten_by(plan).items()}
    users: dict[str, list[str]] = {}
    for tensor in plan.tensors:
        names = users[tensor.name] = [written_over[tensor.name]] if tensor.name in written_over else []
        if names or tensor.offset is None or tensor.end is None:
            continue
        left = [(tensor.offset, tensor.end)]
        for other in takers[bisect_left(births, tensor.death) :]:
            if not left:
                break
            if other.buffer != tensor.buffer:
                assert other.offset is not None and other.end is not None
                rest = _without(left, other.offset, other.end)
                if rest != left:
                    names.append(other.name)
                    left = rest
    return users


def reusers(plan: MemoryPlan) -> set[str]:
    """The tensors in bytes that a tensor of another buffer occupied before; in-place results are not among them."""
    inside = [tensor for tensor in plan.tensors if tensor.offset is not None and tensor.role != "view"]
    facts = np.array([(each.offset, each.end, each.birth, each.buffer) for each in inside], np.int64).reshape(-1, 4)
    low, high, birth, buffer = facts.T
    found: set[str] = set()
    for tensor, (start, end, born, own) in zip(inside, facts, strict=True):
        if not tensor.inplace and ((birth < born) & (low < end) & (start < high) & (buffer != own)).any():
            found.add(tensor.name)
    return found


def _without(ranges: list[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """The parts of the ranges outside of [start, end)."""
    parts = [part for low, high in ranges for part in ((low, min(high, start)), (max(low, end), high))]
    return [(low, high) for low, high in parts if low < high]


def overwritten_by(plan: MemoryPlan) -> dict[str, str]:
    """For each in-place tensor, the operand that it overwrites."""
    by_name = {tensor.name: tensor for tensor in plan.tensors}
    found: dict[str, str] = {}
    for tensor in plan.tensors:
        if tensor.inplace:
            before = [by_name[name] for name in tensor.shared_with if by_name[name].birth < tensor.birth]
            operands = [other for other in before if other.death == tensor.birth + 1 and other.role != "view"]
            found[tensor.name] = max(operands or before, key=_birth).name if before else ""
    return found


def _birth(tensor: TensorRecord) -> int:
    return tensor.birth
