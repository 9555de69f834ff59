"""The order of a block's tasks as a problem of passes/ordering, and the proof of its peak.

    result = prove_order(program)
    result.bound, result.peak, result.is_optimal, result.gap

Live bytes are those of `aliasing.share`. What it merges with memory of the caller takes none of the arena: results that
a chain of in-place pairs may take there are values of that memory's slot.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import itemgetter

from ...ordering.calls_and_values import Call, InPlace, OrderProblem, OrderProof, Slot, Value
from ...ordering.prove import STEPS, improve, prove
from ...ordering.slots import slots_of
from .aliasing import Program, share
from .order_search import BUDGET, better_order

EXHAUSTIVE = 200_000
"""Steps of the exhaustive search for an order in a compile: seconds, for wide graphs; most need hardly any."""


@dataclass(frozen=True)
class ProvenOrder:
    """The best order found for a program, its peak and a proven bound of all orders, in bytes."""

    order: tuple[int, ...]
    peak: int
    proof: OrderProof
    steps: int  # that the search took

    @property
    def bound(self) -> int:
        """No order has a lower peak."""
        return self.proof.bound

    @property
    def is_optimal(self) -> bool:
        """Whether no order has a lower peak than this one."""
        return self.peak == self.bound

    @property
    def gap(self) -> float:
        """By which fraction of the bound the peak may be too high."""
        return self.peak / self.bound - 1 if self.bound else float(self.peak > 0)


def order_problem(program: Program) -> OrderProblem:
    """The problem of a program: call i is task i, its value i is storage i where that lies in the arena."""
    number: dict[int, int] = {}
    values: list[Value] = []
    owned: list[list[int]] = []  # by slot: values that lie in it
    rooms: list[int] = []
    for storage, nbytes in enumerate(program.nbytes):
        if program.maker[storage] >= 0 and not program.fixed[storage]:
            number[storage] = len(values)
            kept = program.output[storage]
            values.append(Value(nbytes, program.maker[storage], tuple(program.readers[storage]), kept))
            if kept:
                owned.append([number[storage]])
                rooms.append(nbytes)
    pairs: list[tuple[int, int]] = []  # values: an operand, and a result that may lie in its bytes
    lent: dict[int, list[int]] = {}  # memory that is not fixed, but has been there before: results that may lie in it
    calls: list[Call] = []
    for task in program.tasks:
        inplace: list[InPlace] = []
        for operand, result in task.inplace:
            source, target = program.storage[task.operands[operand]], program.storage[task.results[result]]
            if target not in number or program.fixed[source]:
                continue
            if source in number:
                pairs.append((number[source], number[target]))
                inplace.append(InPlace(result, program.nbytes[target], (number[source],)))
            else:
                lent.setdefault(source, []).append(number[target])
        calls.append(Call(task.after, task.scratch, tuple(inplace)))
    for storage, results in lent.items():
        owned.append(results)
        rooms.append(program.nbytes[storage])
    slot_of, slots = slots_of(len(values), pairs, owned, rooms, forward=range(len(rooms) - len(lent), len(rooms)))
    placed = tuple(Value(v.bytes, v.maker, v.readers, v.kept, slot_of.get(i)) for i, v in enumerate(values))
    return OrderProblem(tuple(calls), placed, tuple(map(Slot, slots)))


def prove_order(program: Program, budget: int = STEPS) -> ProvenOrder:
    """Bounds the peak of all orders of a program's tasks, and orders them as well as the search can.

    budget: steps that the search may try, about 10 us each. The program needs no IR: tasks, storages and what is said
    of these will do.
    """
    peak, best = _beam_order(program, BUDGET)
    result = prove(order_problem(program), best, budget)
    if (other := share(program, result.order).peak) < peak:
        peak, best = other, result.order
    return ProvenOrder(best, peak, result.proof, result.steps)


def best_order(program: Program, budget: int = BUDGET, exhaustive: int = EXHAUSTIVE) -> tuple[int, ...]:
    """The best order that a beam search finds, which tries so many tasks, and an exhaustive search of so many steps."""
    peak, best = _beam_order(program, budget)
    found = improve(order_problem(program), best, exhaustive)
    return found if share(program, found).peak < peak else best


def _beam_order(program: Program, budget: int) -> tuple[int, tuple[int, ...]]:
    """The better one of the given order and the one that a beam search finds, with its peak."""
    orders = [tuple(range(len(program.tasks)))]
    if (found := better_order(program, budget)) is not None:
        orders.append(tuple(found))
    return min(((share(program, order).peak, order) for order in orders), key=itemgetter(0))
