"""CacheContext: a context of a language model's plan whose caches are bound; they stay on the plan's device."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...passes.graph.language_models.choose_token import TOKEN
from ..device import Array, device_named
from ..memory.kv_cache_memory import leading
from ..memory.tensor import Tensor
from ..plan import InferencePlan
from ..specs import TensorSpec


class CacheContext:
    """Runs plans of one family with what is bound, so that nothing is bound twice.

    The CPU's code reads inputs, and writes tokens, where they are. A GPU's are copied by the run.
    """

    def __init__(self, plan: InferencePlan) -> None:
        self._context = plan.create_execution_context()
        self._is_remote = self._context.arena.memory.host is None
        self._aligned = device_named(plan.config.place).access_bytes
        self._arrays: dict[str, Array] = {}
        self._caches: tuple[int, int | None] | None = None
        self._apart: dict[str, Tensor] = {}
        self._tokens = np.zeros((0, 1), np.int64)

    def run(
        self, plan: InferencePlan, inputs: Mapping[str, Array], caches: Mapping[str, Tensor], sequence: int | None
    ) -> Array:
        """One inference of all sequences or of one; the array of tokens is overwritten by the next one."""
        context, batch = self._context, next(iter(caches.values())).shape[0]
        if context.plan is not plan:
            context.use(plan)
            self._arrays = {}
        if self._caches != (batch, sequence) or self._apart:
            self._bind_caches(plan, caches)
            self._caches = batch, sequence
        if self._is_remote:
            self._tokens = context.run(inputs)[TOKEN]
        else:
            self._bind(plan, inputs)
            context.execute()
        for cache in plan.caches:
            if (own := self._apart.get(cache.room.name)) is not None:
                shape = plan.outputs[cache.output].shape
                leading(caches[cache.room.name], shape).copy_from(leading(own, shape))
        return self._tokens

    def _bind(self, plan: InferencePlan, inputs: Mapping[str, Array]) -> None:
        """Binds inputs, and arrays for what is written."""
        for name, array in inputs.items():
            if self._arrays.get(name) is not array:
                self._context.bind_input(name, array)
        if not self._arrays:
            for spec in plan.written:
                array = np.zeros(spec.shape, spec.dtype)
                self._context.bind_output(spec.name, array)
                if spec.name == TOKEN:
                    self._tokens = array
        self._arrays = dict(inputs)

    def _bind_caches(self, plan: InferencePlan, caches: Mapping[str, Tensor]) -> None:
        """Binds caches, or copies of those that code can't update where they are."""
        self._apart = {}
        for cache in plan.caches:
            name, memory = cache.room.name, caches[cache.room.name]
            if not self._fits(memory, cache.room):
                past = plan.inputs[cache.input].shape
                own = self._apart[name] = Tensor.empty(cache.room.shape, cache.room.dtype, device=memory.device)
                leading(own, past).copy_from(leading(memory, past))
                memory = own
            self._context.bind_input(name, memory)

    def _fits(self, memory: Tensor, room: TensorSpec) -> bool:
        """Not where code for an empty past has room for what it writes alone, or a sequence's part is misaligned."""
        return memory.shape == room.shape and memory.address % self._aligned == 0


def of_sequence(cache: Tensor, number: int) -> Tensor:
    """The part of a cache that is one sequence's, of several."""
    shape = (1, *cache.shape[1:])
    return Tensor(cache.storage, shape, cache.dtype, cache.offset + number * cache.strides[0], cache.strides)
