"""ShapeFamily: the code of one compile for ranges of shapes, with a plan for each shape.

A compile for ranges of shapes gives code that reads its sizes from a table, symbolic specs of inputs and outputs, and
the planning problem of the arena with symbolic sizes. For given shapes a `ShapeFamily` solves for the symbols, checks
the guards of the code, and fills the table. The arena is planned once per bucket of sizes (buckets.py), so that a shape
near an earlier one costs almost nothing: a language model's caches grow at every call.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, TypeVar

import numpy as np
from typing_extensions import override

from ...dialects.errors import InvalidInputError
from ...dialects.sizes.formulas import Formulas, formulas, shape_formulas
from ...dialects.sizes.guards import Guards
from ...dialects.sizes.polynomials import InputSymbol, Symbol
from ...dialects.sizes.sizes import Size, bounds_of, is_fixed, symbols_of, value_at
from ...passes.planning import Problem
from ..arena import Arena
from ..engine import CompiledModel
from ..forks import ForkSafeLock
from ..plan import ExecutionContext, InferencePlan, PlanFamily, Shapes
from ..specs import CacheSpec, SymbolicSpec, TensorSpec
from .buckets import BucketPlan, BucketPlans
from .cut_dimensions import cut_dimensions, overfull_sizes
from .settled_records import settled, settled_programs

if TYPE_CHECKING:
    from ...lowering.gpu_to_cuda.device_program import DeviceProgram
    from ...passes.memory.report.memory_plan import MemoryPlan
    from ..plan import ExecutionContext, InferencePlan

T = TypeVar("T")

MOST_PLANS = 256  # that a family keeps; those used longest ago go


class ShapeFamily(PlanFamily):
    """The plans that share the code of one compile."""

    def __init__(self, made: CompiledModel) -> None:
        """`base` has symbolic sizes. With `bounded`, contexts have an arena for the largest shapes."""
        base = self.base = made.plan
        self.guards = made.guards or Guards()
        self.arena = base.arena or Arena(Problem(()), ())
        self._sites = _sites(base.inputs)
        self._symbols: tuple[Symbol, ...] = tuple(symbol for _, _, symbol in self._sites)
        self._places = BucketPlans(self.arena.problem, self._symbols, bounded=not base.config.enable_dynamic_shapes)
        self._plans: OrderedDict[Shapes, InferencePlan] = OrderedDict()
        self._caches: dict[Shapes, tuple[CacheSpec, ...]] = {}
        self._lock = ForkSafeLock()
        self.idle: deque[ExecutionContext] = deque()
        """Contexts that no call uses: as many as there were calls at a time."""

    @property
    def arena_bytes(self) -> int:
        """Bytes of an arena for all shapes; 0 if they are unbounded."""
        return self._places.bytes_of_all

    @property
    def inputs(self) -> tuple[SymbolicSpec, ...]:
        """The inputs with symbolic shapes."""
        return tuple(map(_symbolic, self.base.inputs))

    @property
    def outputs(self) -> tuple[SymbolicSpec, ...]:
        """The outputs with symbolic shapes."""
        return tuple(map(_symbolic, self.base.outputs))

    @property
    def first_span(self) -> tuple[int, int] | None:
        """The least and the largest size of axis 0 of the inputs, where it is a dimension of its own; else None."""
        size = self.base.inputs[0].shape[0] if self.base.inputs and self.base.inputs[0].shape else 0
        symbol = _dimension(size)
        return symbol.span if symbol is not None and not isinstance(_size_text(size), int) else None

    @cached_property
    def _given(self) -> Callable[..., Shapes]:
        """The inputs' shapes, as a function of the symbols."""
        return shape_formulas([spec.shape for spec in self.base.inputs], self._symbols)

    @cached_property
    def _made_of(self) -> Callable[..., Shapes]:
        """The shapes of the outputs, then of the caches' buffers, as a function of the symbols."""
        specs = (*self.base.outputs, *(cache.room for cache in self.base.caches))
        return shape_formulas([spec.shape for spec in specs], self._symbols)

    @cached_property
    def _guarded(self) -> Formulas:
        """The polynomials of the guards."""
        return formulas((guard.terms for guard in self.guards.noted.values()), self._symbols)

    @cached_property
    def _table(self) -> Formulas:
        """The entries of the table before the buffers' offsets."""
        return formulas((frozenset({((each,), 1)}) for each in self.arena.dims), self._symbols)

    @cached_property
    def _programs(self) -> Callable[..., DeviceProgram]:
        """A GPU's program, as a function of the entries of the table."""
        return settled_programs(self.base.program, self.arena.symbols)

    @cached_property
    def _overfull(self) -> list[tuple[int, int]]:
        return [] if self.base.config.cache_memory is None else overfull_sizes(self.base)

    def _held(self) -> str:
        """What the caches hold, within `cache_memory`."""
        memory, config = self.base.memory, self.base.config
        sizes = {symbol for cache in memory.caches for size in cache.room for symbol in symbols_of(size)}
        most = "".join(f", {each} being up to {each.high}" for each in sorted(sizes, key=lambda each: each.number))
        taken = bounds_of(memory.token_bytes)[1]
        return f"cache_memory={config.cache_memory!r} holds {memory.tokens:,} tokens of {taken:,} bytes each{most}"

    @override
    def values_of(self, shapes: Shapes) -> dict[Symbol, int]:
        """The values of the symbols at these shapes of the inputs.

        Raises InvalidInputError if no values give these shapes, or if they are out of range.
        """
        return dict(zip(self._symbols, self._values(shapes), strict=True))

    def _values(self, shapes: Shapes) -> tuple[int, ...]:
        specs = self.base.inputs
        for spec, shape in zip(specs, shapes, strict=True):
            if len(shape) != len(spec.shape):
                raise InvalidInputError(f"input '{spec.name}' has shape {list(shape)} instead of {_text(spec)}")
        values: list[int] = []
        for index, axis, symbol in self._sites:
            given, (low, high) = shapes[index][axis], symbol.span
            if not low <= given <= high:
                is_cut = symbol.dimension in cut_dimensions(specs, self.base.config)
                why = f": {self._held()}" if is_cut else ""
                raise InvalidInputError(
                    f"input '{specs[index].name}': dimension {axis} is {given}, but must be from {low} to {high}{why}"
                )
            values.append(given // symbol.unit)
        if self._given(*values) != shapes:
            self._check_sizes(shapes, values)
        named: dict[Symbol, int] = dict(zip(self._symbols, values, strict=True)) if self._overfull else {}
        for size, room in self._overfull:
            if (tokens := value_at(size, named)) > room:
                raise InvalidInputError(f"{tokens:,} tokens in the caches ({size}) are too many: {self._held()}")
        return tuple(values)

    def _check_sizes(self, shapes: Shapes, values: list[int]) -> None:
        """Raises InvalidInputError for the first size that doesn't match.

        One that is no multiple of a unit, or non-zero where the code assumes 0, may be compiled separately.
        """
        named: dict[Symbol, int] = dict(zip(self._symbols, values, strict=True))
        sites = ((spec.shape, shape) for spec, shape in zip(self.base.inputs, shapes, strict=True))
        if any(is_fixed(size) and size == 0 < given for pair in sites for size, given in zip(*pair, strict=True)):
            return  # a size that is made of it would be another one
        for spec, shape in zip(self.base.inputs, shapes, strict=True):
            for axis, (size, given) in enumerate(zip(spec.shape, shape, strict=True)):
                wanted = value_at(size, named)
                if wanted == given or (is_fixed(size) and size == 0):
                    continue
                if not any(unit_of(symbol) > 1 and given % unit_of(symbol) for symbol in symbols_of(size)):
                    of = f" ({size})" if isinstance(size, Size) else ""
                    raise InvalidInputError(f"input '{spec.name}': dimension {axis}{of} is {given} instead of {wanted}")

    @override
    def suits(self, shapes: Shapes) -> bool:
        """Whether the code is valid for these shapes."""
        values = self._values(shapes)
        if self._given(*values) != shapes:
            return False
        try:
            sizes = self._guarded(*values)
        except ZeroDivisionError:  # then the guard of the divisor's own doesn't hold
            return False
        guards = self.guards.noted.values()
        return all(guard.allows(size) for guard, size in zip(guards, sizes, strict=True))

    def unmet(self, shapes: Shapes) -> list[str]:
        """The code's guards that don't hold for these shapes, as text."""
        values = self.values_of(shapes)
        broken = [str(guard) for guard in self.guards.noted.values() if not guard.is_met(values)]
        for spec, shape in zip(self.base.inputs, shapes, strict=True):
            for axis, (size, given) in enumerate(zip(spec.shape, shape, strict=True)):
                units = [unit_of(symbol) for symbol in symbols_of(size) if unit_of(symbol) > 1]
                if value_at(size, values) != given:
                    wanted = f"a multiple of {units[0]}" if units else str(size)
                    broken.append(f"dimension {axis} of '{spec.name}' is {wanted}")
        return broken

    @override
    def plan_for(self, shapes: Shapes) -> InferencePlan:
        """The plan for these shapes of the inputs, in order; memoised."""
        with self._lock:
            known = self._plans.get(shapes)
            if known is not None:
                self._plans.move_to_end(shapes)
                return known
        made = self._made(shapes, self._values(shapes))
        with self._lock:
            self._plans[shapes] = made
            if len(self._plans) > MOST_PLANS:
                self._plans.popitem(last=False)
        return made

    @cached_property
    def _settled_checks(self) -> bool:
        return is_fixed(*(each.size for each in self.base.checks if each.size is not None))

    @cached_property
    def _may_be_negative(self) -> bool:
        """Whether the bounds of symbols admit a negative size of an output."""
        return any(bounds_of(size)[0] < 0 for spec in self.base.outputs for size in spec.shape)

    def _made(self, shapes: Shapes, values: tuple[int, ...]) -> InferencePlan:
        base = self.base
        made, shown = self._made_of(*values), len(base.outputs)
        for spec, shape in zip(base.outputs if self._may_be_negative else (), made, strict=False):
            if min(shape, default=0) < 0:
                raise InvalidInputError(f"output '{spec.name}' can't have shape {list(shape)}: inputs are too small")
        inputs, outputs = _of_shapes(base.inputs, shapes), _of_shapes(base.outputs, made[:shown])
        caches = self._caches.get(made[shown:])
        if caches is None:  # the same for all lengths of a past
            rooms = _of_shapes(tuple(cache.room for cache in base.caches), made[shown:])
            caches = tuple(replace(cache, room=room) for cache, room in zip(base.caches, rooms, strict=True))
            self._caches = {made[shown:]: caches}
        checks = base.checks
        if not self._settled_checks:
            checks = settled(checks, partial(value_at, values=dict(zip(self._symbols, values, strict=True))))
        if base.arena is None:
            return replace(base, inputs=inputs, outputs=outputs, caches=caches, checks=checks, family=self)
        placed = self._places.at(values)
        return replace(
            base,
            inputs=inputs,
            outputs=outputs,
            caches=caches,
            checks=checks,
            needed=self.arena_bytes or placed.plan.height,
            report=partial(self._report, values, placed),
            sizes=(sizes := np.concatenate([np.array(self._table(*values), np.int64), placed.offsets])),
            program=self._programs(*sizes.tolist()) if base.launches else base.program,
            family=self,
        )

    def _report(self, values: tuple[int, ...], placed: BucketPlan) -> MemoryPlan:
        """The memory plan at these sizes."""
        plan, bound = placed.plan, self._places.bound(values)
        offsets = self.arena.symbols[len(self.arena.symbols) - len(placed.offsets) :]
        numbers: dict[Symbol, int] = dict(zip(offsets, placed.offsets.tolist(), strict=True))
        numbers.update(zip(self._symbols, values, strict=True))
        made = settled(self.base.report(), partial(value_at, values=numbers))
        return replace(
            made,
            arena_bytes=plan.height,
            lower_bound_bytes=bound.height,
            proven_bound_bytes=bound.height,
            optimal=plan.height == bound.height,
            method=plan.method,
            strategy=plan.strategy,
            binding_step=bound.step,
            exhausted=plan.exhausted,
            order_bound_bytes=None,  # of other sizes
        )


def _sites(specs: tuple[TensorSpec, ...]) -> list[tuple[int, int, InputSymbol]]:
    """Where each symbol can be read off: an input's number, and an axis whose size is just that dimension."""
    found: dict[InputSymbol, tuple[int, int]] = {}
    for index, spec in enumerate(specs):
        for axis, size in enumerate(spec.shape):
            if (symbol := _dimension(size)) is not None:
                found.setdefault(symbol, (index, axis))
    return [(index, axis, symbol) for symbol, (index, axis) in found.items()]


def _dimension(size: int) -> InputSymbol | None:
    """The input dimension of which a size is a constant multiple, and of nothing else."""
    if isinstance(size, Size) and len(size.terms) == 1:
        ((monomial, _),) = size.terms
        if len(monomial) == 1 and isinstance(monomial[0], InputSymbol):
            return monomial[0]
    return None


def _symbolic(spec: TensorSpec) -> SymbolicSpec:
    return SymbolicSpec(spec.name, tuple(map(_size_text, spec.shape)), spec.dtype, spec.bounded, spec.labels, spec.keys)


def _size_text(size: int) -> int | str:
    """A size as a number, or as a formula in dimensions."""
    if not isinstance(size, Size):
        return size
    symbol = _dimension(size)
    alone = symbol is not None and size.terms == frozenset({((symbol,), symbol.unit)})
    return symbol.dimension if symbol is not None and alone else str(size)


def _of_shapes(specs: tuple[TensorSpec, ...], shapes: Shapes) -> tuple[TensorSpec, ...]:
    """Specs with their shapes replaced: `dataclasses.replace` would take ten times as long."""
    return tuple(
        TensorSpec(spec.name, shape, spec.dtype, spec.bounded, spec.labels, spec.keys)
        for spec, shape in zip(specs, shapes, strict=True)
    )


def unit_of(symbol: Symbol) -> int:
    """The unit of which a dimension is a multiple."""
    return symbol.unit if isinstance(symbol, InputSymbol) else 1


def _text(spec: TensorSpec) -> str:
    return f"[{', '.join(map(str, spec.shape))}]"
