"""DynamicEngine: an engine for many shapes, which compiles again where its code is not valid for a shape."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from typing_extensions import override

from ...dialects.errors import InvalidInputError
from ...dialects.sizes.sizes import now
from ..config import EngineConfig
from ..device import Array
from ..engine import Build, Engine
from ..forks import ForkSafeLock
from ..plan import ExecutionContext, InferencePlan, Shapes
from ..progress import LOG
from ..specs import SymbolicSpec, ordered_shapes
from .settled_records import settled
from .shape_family import MOST_PLANS, ShapeFamily

if TYPE_CHECKING:
    from ..asynchronous.batch_axis import BatchAxis

MOST_FAMILIES = 64  # compiles that an engine keeps the code, the plans and the arenas of


class DynamicEngine(Engine):
    """An engine whose inputs may have any shape of a profile.

    `plan` is the one for the profile's `opt` shapes, or of the first call if there is no profile. Shapes for which the
    code's guards don't hold, such as a size of 1 where it assumes more, cause another compile, once: the logger
    "mini_infer" tells why. The code of a limited number of compiles is kept; the oldest is dropped.
    """

    compiles: int
    """How often code was made so far."""

    def __init__(
        self, config: EngineConfig, build: Build, names: Callable[[], tuple[str, ...]], compiled_once: bool = False
    ) -> None:
        """See `start_engine`."""
        self.config, self.compiles = config, 0
        self._build, self._compiled_once = build, compiled_once
        self._plan: InferencePlan | None = None
        self._is_closed = False
        self._families: list[ShapeFamily] = []
        self._family = lru_cache(MOST_PLANS)(self._suiting)
        self._used: dict[Shapes, tuple[InferencePlan, deque[ExecutionContext]]] = {}  # by calls
        self._lock = ForkSafeLock()
        if config.enable_dynamic_shapes:
            self._names = names()
        else:
            family = self._compiled({})
            self._names = family.base.input_names
            self._plan = family.plan_for(tuple(tuple(settled(spec.shape, now)) for spec in family.base.inputs))

    def _compiled(self, best: Mapping[str, Sequence[int]]) -> ShapeFamily:
        made = self._build(best)
        self.statistics = made.statistics
        family = ShapeFamily(made)
        self._families.append(family)
        self.compiles += 1
        if len(self._families) > MOST_FAMILIES:
            del self._families[1]  # the first is for the shapes that the model is made for
            self._family.cache_clear()
            self._used = {}
        return family

    @override
    def close(self) -> None:
        self._close_background()
        with self._lock:  # nothing is compiled meanwhile
            if self._is_closed:
                return
            families, self._families = self._families, []
            self._is_closed, self._plan, self.asked_model = True, None, None
            del self._build  # and the model with it
            self._family.cache_clear()
            self._used = {}
        for family in families:
            self._release(family.idle)

    @override
    def __repr__(self) -> str:
        if self._plan is None and not self._is_closed:
            return f"{type(self).__name__}({', '.join(self._names)}; not compiled before the first call)"
        return super().__repr__()

    @property
    @override
    def input_names(self) -> tuple[str, ...]:
        return self._names

    @property
    @override
    def inputs(self) -> tuple[SymbolicSpec, ...]:
        return self._base_family().inputs

    @property
    @override
    def outputs(self) -> tuple[SymbolicSpec, ...]:
        return self._base_family().outputs

    def _base_family(self) -> ShapeFamily:
        return cast("ShapeFamily", self.plan.family)

    @override
    def _batch_axis(self) -> BatchAxis:
        from ..asynchronous.batch_axis import BatchAxis

        family = self._base_family()
        return BatchAxis.of(family.base, family.first_span, family.values_of)

    @override
    def plan_for(self, shapes: Mapping[str, Sequence[int]]) -> InferencePlan:
        self._check_open()
        wanted = ordered_shapes(self._names, shapes)
        return self._family(wanted).plan_for(wanted)

    def suits(self, shapes: Shapes) -> bool:
        """Whether there is code for these shapes of the inputs, in order, so that a call compiles nothing."""
        self._check_open()
        return any(family.suits(shapes) for family in self._families)

    def _suiting(self, shapes: Shapes) -> ShapeFamily:
        """The plans whose code is valid for these shapes; compiles if there are none."""
        with self._lock:
            self._check_open()
            found = next((family for family in self._families if family.suits(shapes)), None)
            if found is None:
                if self._families:
                    why = " and ".join(self._families[-1].unmet(shapes))
                    if self._compiled_once:
                        raise InvalidInputError(
                            f"the code is not for shapes {[*map(list, shapes)]}: it counts on {why}"
                        )
                    LOG.info("shapes %s: compiled anew, for it doesn't hold that %s", list(map(list, shapes)), why)
                found = self._compiled(dict(zip(self._names, shapes, strict=True)))
            if self._plan is None:
                self._plan = found.plan_for(shapes)
            return found

    @override
    def run_ready(self, inputs: Mapping[str, Any]) -> list[Array] | None:
        try:
            arrays = [inputs[name] for name in self._names]
            if len(inputs) != len(arrays):
                return None
            plan, idle = self._used[tuple([each.shape for each in arrays])]
            context = idle.pop()
        except (KeyError, TypeError, AttributeError, IndexError):  # or no call had these shapes yet
            return None
        try:
            if context.plan is not plan:
                context.use(plan)
            return context.run_ready(arrays)
        finally:
            self._put_back(context, idle)

    @override
    def _chosen(self, inputs: Sequence[Any]) -> tuple[InferencePlan, deque[ExecutionContext]]:
        self._check_open()
        if len(inputs) != len(self._names):
            raise InvalidInputError(f"{len(inputs)} inputs are given; the model has {len(self._names)}")
        for name, each in zip(self._names, inputs, strict=True):
            if each is None:
                raise InvalidInputError(f"input '{name}' is None; it takes an array")
        shapes = tuple(tuple(each.shape) if hasattr(each, "shape") else np.shape(each) for each in inputs)
        family = self._family(shapes)
        found = family.plan_for(shapes), family.idle
        if len(self._used) >= MOST_PLANS:
            self._used = {}
        self._used[shapes] = found
        return found
