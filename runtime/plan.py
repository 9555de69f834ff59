"""InferencePlan: everything that is decided before the first inference, immutable and shared by threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from ..dialects.arguments import check_kind
from ..dialects.cuts import Cut
from ..dialects.errors import InvalidInputError
from ..passes.memory.report.memory_plan import MemoryPlan
from .context import ExecutionContext
from .device import Array, Code, Memory, Session, device_named
from .reprs import html_table, one_line
from .specs import CacheSpec, KernelCall, RunCheck, Stationary, TensorSpec, ordered

if TYPE_CHECKING:
    from ..lowering.gpu_to_cuda.launch_list import Launch
    from .config import EngineConfig
    from .shapes.shape_family import Arena, ShapeFamily


@dataclass(frozen=True, eq=False, repr=False)
class InferencePlan(Stationary):
    """Code, weights and memory plan of a model for given shapes and options.

    `memory` says where every intermediate lies (`arena_bytes`, `lower_bound_bytes`, `tensors`). Contexts made from a
    plan are independent of each other; the plan itself never changes, so any number of threads may use it.
    """

    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    counts: tuple[TensorSpec, ...]
    """Further outputs of the code, behind the model's: how much of the model's there is."""
    caches: tuple[CacheSpec, ...]
    """Inputs that have their memory in common with an output."""
    cuts: tuple[tuple[Cut, ...], ...]
    """For each count, the outputs and axes that it cuts."""
    config: EngineConfig
    report: Callable[[], MemoryPlan]
    """Makes `memory`."""
    needed: int
    """`arena_bytes`."""
    alignment: int
    threads: int
    calls: tuple[KernelCall, ...]
    profiled: bool
    checks: tuple[RunCheck, ...]
    weights: Memory
    code: Code
    sizes: Array | None = None
    """What code is told of the shapes, where these are not one and the same always."""
    arena: Arena | None = None
    """What is planned again for each shape."""
    family: ShapeFamily | None = None
    """The plans for other shapes that have this one's code, too."""
    launches: tuple[Launch, ...] = ()
    """What a GPU does for an inference, in order; a CPU is called once."""

    @override
    def __repr__(self) -> str:
        return one_line(self, type(self).__name__)

    def _repr_html_(self) -> str:
        return html_table(self)

    @cached_property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs, in the model's order."""
        return tuple(spec.name for spec in self.inputs)

    @cached_property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs, in the model's order."""
        return tuple(spec.name for spec in self.outputs)

    @cached_property
    def memory(self) -> MemoryPlan:
        """Where every intermediate lies."""
        return self.report()

    @cached_property
    def cached(self) -> dict[int, CacheSpec]:
        """The caches by the numbers of their inputs."""
        return {cache.input: cache for cache in self.caches}

    @cached_property
    def written(self) -> tuple[TensorSpec, ...]:
        """What code writes to memory of its own: the outputs that lie in no cache, and the counts."""
        kept = {cache.output for cache in self.caches}
        return (*(spec for number, spec in enumerate(self.outputs) if number not in kept), *self.counts)

    def room(self, name: str) -> TensorSpec:
        """The memory that a cache takes, by its input's name; raises InvalidInputError where that is none."""
        check_kind("name", name, str, InvalidInputError)
        for cache in self.caches:
            if cache.room.name == name:
                return cache.room
        known = ", ".join(f"'{cache.room.name}'" for cache in self.caches) or "none"
        raise InvalidInputError(f"'{name}' is no cache; the caches are {known}")

    @property
    def arena_bytes(self) -> int:
        """Bytes of memory that one context needs: for the largest shapes of a profile."""
        return self.needed

    def session(self, arena: Memory) -> Session:
        """What runs the code with that arena."""
        return device_named(self.config.place).session(self, arena)

    def ordered(self, inputs: Mapping[str, Any]) -> list[Any]:
        """The inputs' values in the model's order; raises InvalidInputError naming what is missing or unknown."""
        return ordered(self.input_names, inputs)

    def create_execution_context(self, arena: object | None = None) -> ExecutionContext:
        """A context with an arena of its own, or over `arena`: the caller's Storage, numpy or DLPack memory.

        Raises InvalidInputError where that memory is read-only, on another device, smaller than `arena_bytes` or not
        aligned to `alignment`.
        """
        return ExecutionContext(self, arena)
