"""Plans for shapes of run time: the code of one compile, planned again for each shape in milliseconds.

A compile for ranges of shapes gives code that reads its sizes from a table, symbolic specs of inputs and outputs, and
the planning problem of the arena with symbolic sizes. A `ShapeFamily` holds these: given shapes it solves for the
symbols, checks the guards under which the code was made, plans the arena again and fills the table.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from ..dialects.errors import InvalidInputError
from ..dialects.symbolic.guards import Guards
from ..dialects.symbolic.polynomials import InputSymbol, Symbol
from ..dialects.symbolic.sizes import Size, bounds_of, symbols_of, value_at
from ..passes.planning import Plan, Problem, solve
from .specs import TensorSpec

if TYPE_CHECKING:
    from ..passes.memory.report.memory_plan import MemoryPlan
    from .plan import InferencePlan

T = TypeVar("T")

MOST_PLANS = 256  # that a family keeps; those used longest ago go
PLANNING_STEPS = 2000  # of the search for a plan that is no higher than that of the largest shapes

Shapes = tuple[tuple[int, ...], ...]


@dataclass(frozen=True)
class Arena:
    """The arena at all shapes: what is to be placed, and where each buffer's offset stands in the table."""

    problem: Problem
    symbols: tuple[Symbol, ...]  # of the table, those of the buffers' offsets last
    dims: tuple[Symbol, ...]


class ShapeFamily:
    """The plans that have the code of one compile in common."""

    def __init__(self, base: InferencePlan, guards: Guards, bounded: bool) -> None:
        """`base` has symbolic sizes. With `bounded`, contexts have room for the largest shapes."""
        self.base, self.guards = base, guards
        self.arena = base.arena or Arena(Problem(()), (), ())
        self.bounded = bounded
        self._plans: OrderedDict[Shapes, InferencePlan] = OrderedDict()
        self._lock = threading.Lock()

    @cached_property
    def largest(self) -> Plan | None:
        """A plan of the arena that does for all shapes, where there is an end to them: no buffer is larger at any.

        Most buffers are largest at the largest shapes, but not all: one of n - 1 - m rows is not, and not two at once.
        """
        if not self.bounded:
            return None
        return solve(settled(self.arena.problem, lambda size: bounds_of(size)[1]), "auto")

    @property
    def arena_bytes(self) -> int:
        """Bytes that a context needs for all shapes; 0 where there is no end to them."""
        return 0 if self.largest is None else self.largest.height

    def values_of(self, shapes: Shapes) -> dict[Symbol, int]:
        """What the symbols are where the inputs have these shapes.

        Raises InvalidInputError where no values of theirs give these shapes, or these are outside of the range.
        """
        specs = self.base.inputs
        values: dict[Symbol, int] = {}
        for spec, shape in zip(specs, shapes, strict=True):
            if len(shape) != len(spec.shape):
                raise InvalidInputError(f"input '{spec.name}' has shape {list(shape)} instead of {_text(spec)}")
            for axis, (size, given) in enumerate(zip(spec.shape, shape, strict=True)):
                for symbol in symbols_of(size):
                    if symbol in values or not isinstance(symbol, InputSymbol):
                        continue
                    low, high = symbol.span
                    if not low <= given <= high:
                        raise InvalidInputError(
                            f"input '{spec.name}': dimension {axis} is {given}, but must be from {low} to {high}"
                        )
                    values[symbol] = given // symbol.unit
        for spec, shape in zip(specs, shapes, strict=True):
            for axis, (size, given) in enumerate(zip(spec.shape, shape, strict=True)):
                wanted = value_at(size, values)
                if wanted != given and not any(
                    _unit(symbol) > 1 and given % _unit(symbol) for symbol in symbols_of(size)
                ):
                    of = f" ({size})" if isinstance(size, Size) else ""
                    raise InvalidInputError(f"input '{spec.name}': dimension {axis}{of} is {given} instead of {wanted}")
        return values

    def suits(self, shapes: Shapes) -> bool:
        """Whether the code is right for these shapes."""
        return not self.unmet(shapes)

    def unmet(self, shapes: Shapes) -> list[str]:
        """What the code takes for granted that doesn't hold for these shapes."""
        values = self.values_of(shapes)
        broken = [str(guard) for guard in self.guards.noted.values() if not guard.is_met(values)]
        for spec, shape in zip(self.base.inputs, shapes, strict=True):
            for size, given in zip(spec.shape, shape, strict=True):
                if value_at(size, values) != given:
                    broken += [f"{given} is a multiple of {_unit(symbol)}" for symbol in symbols_of(size)]
        return broken

    def plan_for(self, shapes: Shapes) -> InferencePlan:
        """The plan for these shapes of the inputs, in order; kept for the next time."""
        with self._lock:
            known = self._plans.get(shapes)
            if known is not None:
                self._plans.move_to_end(shapes)
                return known
        made = self._made(self.values_of(shapes))
        with self._lock:
            self._plans[shapes] = made
            if len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)
        return made

    def _made(self, values: dict[Symbol, int]) -> InferencePlan:
        plan = self._placed(values)
        offsets = [plan.offsets[buffer.id] for buffer in self.arena.problem.buffers]
        places = self.arena.symbols[len(self.arena.symbols) - len(offsets) :]
        values = {**values, **dict(zip(places, offsets, strict=True))}
        number = partial(value_at, values=values)
        base = self.base
        table = np.array([values[symbol] for symbol in self.arena.symbols], np.int64)
        return replace(
            base,
            inputs=settled(base.inputs, number),
            outputs=settled(base.outputs, number),
            checks=settled(base.checks, number),
            needed=(self.arena_bytes or plan.height) if base.arena else base.needed,
            report=partial(_report, base.report, plan, number) if base.arena else base.report,
            sizes=table if base.arena else None,
            family=self,
        )

    def _placed(self, values: Mapping[Symbol, int]) -> Plan:
        """The buffers' places: any that are no higher than those of the plan for all shapes will do."""
        largest = self.largest
        problem = settled(self.arena.problem, partial(value_at, values=values))
        if largest is None:
            return solve(problem, "auto")
        found = solve(problem, "auto", budget=PLANNING_STEPS, target=largest.height)
        # No buffer is larger than there, so that the same places will always do.
        return (
            found if found.height <= largest.height else replace(found, offsets=largest.offsets, height=largest.height)
        )


def settled(record: T, number: Callable[[int], int]) -> T:
    """A tree of dataclasses and tuples with numbers for its sizes."""
    if isinstance(record, Size):
        return cast("T", number(record))
    if isinstance(record, tuple):
        return cast("T", tuple(settled(each, number) for each in cast("tuple[Any, ...]", record)))
    if is_dataclass(record) and not isinstance(record, type):
        known = cast("Any", record)
        changed = {each.name: settled(getattr(known, each.name), number) for each in fields(known)}
        return cast("T", replace(known, **changed))
    return record


def _report(report: Callable[[], MemoryPlan], plan: Plan, number: Callable[[int], int]) -> MemoryPlan:
    """The memory plan at these shapes."""
    made = settled(report(), number)
    return replace(
        made,
        arena_bytes=plan.height,
        lower_bound_bytes=plan.lower_bound,
        proven_bound_bytes=plan.proven_bound,
        optimal=plan.optimal,
        method=plan.method,
        strategy=plan.strategy,
        binding_step=plan.bound.step,
        exhausted=plan.exhausted,
    )


def _unit(symbol: Symbol) -> int:
    return symbol.unit if isinstance(symbol, InputSymbol) else 1


def _text(spec: TensorSpec) -> str:
    return f"[{', '.join(map(str, spec.shape))}]"
