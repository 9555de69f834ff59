"""Which values may lie in memory of the caller, instead of in the arena."""

from __future__ import annotations

from collections.abc import Collection, Sequence


def slots_of(
    count: int,
    pairs: Sequence[tuple[int, int]],
    owned: Sequence[Sequence[int]],
    rooms: Sequence[int],
    forward: Collection[int] = (),
) -> tuple[dict[int, int], tuple[int, ...]]:
    """The slot of each of `count` values that may lie in memory of the caller, and the bytes of each slot.

    pairs: an operand, and a result that may lie in its bytes or consists of them.
    owned: for each memory, values that lie in it; rooms: its bytes.
    forward: memories that hold something from the start, over which results may be written, and others over these.

    What becomes an owned value by pairs may lie where that does. Memories that have values in common become one slot.
    """
    sources: dict[int, list[int]] = {}
    targets: dict[int, list[int]] = {}
    for source, target in pairs:
        sources.setdefault(target, []).append(source)
        targets.setdefault(source, []).append(target)
    above = list(range(len(rooms)))
    memory_of: dict[int, int] = {}

    def root(memory: int) -> int:
        while above[memory] != memory:
            memory = above[memory]
        return memory

    for memory, values in enumerate(owned):
        steps = (sources, targets) if memory in forward else (sources,)
        left, met = list(values), set(values)
        while left:
            value = left.pop()
            above[root(memory_of.setdefault(value, memory))] = root(memory)
            for step in steps:
                new = [each for each in step.get(value, ()) if each not in met]
                met.update(new)
                left += new
    roots = sorted({root(memory) for memory in memory_of.values()})
    number = {memory: slot for slot, memory in enumerate(roots)}
    slots = [0] * len(roots)
    for memory, room in enumerate(rooms):
        if root(memory) in number:
            slots[number[root(memory)]] += room
    return {value: number[root(memory)] for value, memory in memory_of.items() if value < count}, tuple(slots)
