"""Memory checking: every inference is run on poisoned memory and compared with one without memory reuse.

An engine with `check_memory` runs each call four times: with its plan and with a plan without reuse, each on an arena
full of 0xFF (NaN in every float type, -1 in every integer) and on one full of another pattern; and a buffer's bytes are
filled with 0xFF when it dies, and in the gaps of its lifetime. A read of uninitialised or dead bytes, or of bytes
overwritten too early, changes the result. Arena and outputs are surrounded by guards; these and the inputs must be
unchanged afterwards, and no call may change bytes of the arena other than its own (see watched_plan.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from typing_extensions import override

from ....dialects.errors import InvalidInputError, PlanError
from ....passes.pass_counts import PassStatistics
from ...asynchronous.cancellation import RunControl
from ...config import EngineConfig
from ...device import Array
from ...engine import Engine
from ...inputs import checked
from ...memory.host_memory import aligned_bytes
from ...memory.kv_cache_memory import beginning
from ...plan import InferencePlan
from ..memory_frontier import fitting_changes
from ..module_to_plan import set_target
from ..plan_builder import Builder
from .watched_plan import WatchedPlan, WatchingContext

GUARD = 4096  # bytes before and behind what is guarded
PATTERNS = (0xFF, 0x55)  # 0x55555555 is a large float and a large integer


class CheckedEngine(Engine):
    """An engine whose every inference checks its memory plan, and raises PlanError if it is wrong."""

    def __init__(
        self, planned: WatchedPlan, config: EngineConfig, statistics: PassStatistics, without_reuse: WatchedPlan
    ) -> None:
        super().__init__(planned.plan, config, statistics)
        self.planned = planned
        self.without_reuse = without_reuse

    @classmethod
    def built(cls, builder: Builder) -> CheckedEngine:
        """Compiles the model as planned, and once more without any reuse of memory."""
        config = builder.config
        if config.memory is not None:
            module, ctx = builder.source.load(config)
            set_target(module, ctx, config)
            builder = replace(builder, changes=fitting_changes(module, ctx, config))
        planned, statistics = WatchedPlan.build(builder)
        apart = replace(
            config,
            enable_memory_planning=False,
            planner="auto",
            beam_width=None,
            prove_order=False,
            disable_inplace=(),
            max_workspace_size=None,
            memory=None,
        )
        without_reuse, _ = WatchedPlan.build(replace(builder, config=apart, progress=None, observer=None))
        return cls(planned, config, statistics, without_reuse)

    @override
    def _run(self, inputs: Sequence[Any], control: RunControl | None = None) -> tuple[InferencePlan, list[Array]]:
        checked_plan = self.plan
        given = [checked(spec, value) for spec, value in zip(checked_plan.inputs, inputs, strict=True)]
        expected: list[Array] | None = None
        for plan, what in ((self.without_reuse, "without reuse of memory"), (self.planned, "as planned")):
            for pattern in PATTERNS:
                if control is not None:
                    control.check()
                where = f"{what}, in an arena full of 0x{pattern:02X}"
                try:
                    found = run_poisoned(plan, given, pattern)
                except InvalidInputError as error:
                    if expected is None:  # by any plan, so the inputs are to blame
                        raise
                    raise PlanError(f"memory check: {error}, {where}") from None
                expected = expected or found
                for spec, one, other in zip(checked_plan.outputs, expected, found, strict=True):
                    if one.tobytes() != other.tobytes():
                        difference = _first_difference(one, other)
                        raise PlanError(f"memory check: output '{spec.name}' is another {where}: {difference}")
        assert expected is not None
        return checked_plan, expected


def run_poisoned(watched: WatchedPlan, inputs: Sequence[Array], pattern: int) -> list[Array]:
    """One inference on memory full of `pattern`. Raises PlanError for a write that isn't allowed."""
    plan = watched.plan
    arena = _Guarded(plan.arena_bytes, plan.alignment, pattern)
    whole = {cache.output: cache.room for cache in plan.caches}  # of what lies in caches
    specs = [whole.get(number, spec) for number, spec in enumerate(plan.outputs)]
    outputs = [_Guarded(spec.nbytes, 64, pattern) for spec in specs]
    arrays = [memory.inside.view(spec.dtype).reshape(spec.shape) for spec, memory in zip(specs, outputs, strict=True)]
    before = [array.tobytes() for array in inputs]
    context = WatchingContext(watched, arena.inside)
    for number, (name, array) in enumerate(zip(plan.input_names, inputs, strict=True)):
        cache = plan.cached.get(number)
        if cache is not None:
            beginning(arrays[cache.output], array.shape)[...] = array
        context.bind_input(name, array if cache is None else arrays[cache.output])
    for number, (spec, array) in enumerate(zip(specs, arrays, strict=True)):
        if number not in whole:
            context.bind_output(spec.name, array)
    context.execute()
    if not arena.is_guarded:
        raise PlanError("memory check: bytes outside of the arena were written")
    for spec, memory in zip(plan.outputs, outputs, strict=True):
        if not memory.is_guarded:
            raise PlanError(f"memory check: bytes outside of output '{spec.name}' were written")
    for name, array, bytes_before in zip(plan.input_names, inputs, before, strict=True):
        if array.tobytes() != bytes_before:
            raise PlanError(f"memory check: input '{name}' was changed")
    return [
        beginning(array, context.output_shape(spec.name)).copy()
        for spec, array in zip(plan.outputs, arrays, strict=True)
    ]


class _Guarded:
    """Bytes full of a pattern, between guards full of it."""

    def __init__(self, nbytes: int, alignment: int, pattern: int) -> None:
        guard = max(GUARD, alignment)
        self.whole = aligned_bytes(guard + nbytes + guard, alignment)
        self.whole[:] = pattern
        self.inside = self.whole[guard : guard + nbytes]
        self._guards = (self.whole[:guard], self.whole[guard + nbytes :])
        self._pattern = pattern

    @property
    def is_guarded(self) -> bool:
        """Whether the guards are unchanged."""
        return all(bool((guard == self._pattern).all()) for guard in self._guards)


def _first_difference(one: Array, other: Array) -> str:
    """The first position at which two arrays of one shape differ in their bits."""
    bits = [np.ascontiguousarray(each).reshape(-1).view(np.uint8).reshape(one.size, -1) for each in (one, other)]
    index = int((bits[0] != bits[1]).any(axis=1).argmax())
    place = [int(axis) for axis in np.unravel_index(index, one.shape)]
    return f"element {place} is {other.flat[index]} instead of {one.flat[index]}"
