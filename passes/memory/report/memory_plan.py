"""The memory plan of a model, from its records. No IR here.

Steps are calls of main, in order; lifetimes are half-open; sizes and offsets are bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate

from ....dialects.arguments import check_kind, nearest
from ....dialects.errors import ConfigError
from .interference import InterferenceGraph
from .memory_records import (
    BufferRecord,
    CacheRecord,
    Explanation,
    RemovedRecord,
    Role,
    StepRecord,
    TensorRecord,
    padded,
)


@dataclass(frozen=True)
class MemoryPlan:
    """The arena of a model with its certificate, tensors and buffers."""

    arena_bytes: int
    lower_bound_bytes: int
    tensors: tuple[TensorRecord, ...] = field(repr=False)
    strategy: str
    optimal: bool
    binding_step: int
    """The step at which the lower bound is reached."""
    method: str = ""
    alignment: int = 256
    total_bytes: int = 0
    """Tensors and scratch of the arena laid out one after the other: without in-place results, views or reuse."""
    original_bytes: int = 0
    """Buffers laid out one after the other: with in-place results and views, but no byte used twice."""
    proven_bound_bytes: int = 0
    """A lower bound of any plan of these buffers: `lower_bound`, or more where a search proved it."""
    exhausted: str = ""
    """What ended the planner's search before a definite answer: "budget", "time limit", or ""."""
    order_bound_bytes: int | None = None
    """A proven lower bound of the arena for all orders of the calls; None where `prove_order` was not asked for."""
    pools: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    """(offset, bytes) of each pool, for the pool strategies."""
    steps: tuple[str, ...] = field(default=(), repr=False)
    """The kernel called at each step."""
    buffers: tuple[BufferRecord, ...] = field(default=(), repr=False)
    """The buffers in the arena, by number."""
    caches: tuple[CacheRecord, ...] = field(default=(), repr=False)
    """The caches, outside of the arena."""
    step_nodes: tuple[tuple[str, ...], ...] = field(default=(), repr=False)
    """The ONNX nodes computed at each step."""
    removed: tuple[RemovedRecord, ...] = field(default=(), repr=False)
    """The ONNX tensors that have no bytes of their own."""
    loops: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    """The steps [first, after the last) of each loop."""
    model_weight_bytes: int = 0
    """Bytes of the initialisers and constants in the model; 0 if the module was written as text."""

    @property
    def ratio(self) -> float:
        """The arena as a multiple of its lower bound."""
        return self.arena_bytes / self.lower_bound_bytes if self.lower_bound_bytes else 1.0

    @property
    def order_gap(self) -> float | None:
        """By which fraction of `order_bound_bytes` the arena is larger: 0.0 where no order has a smaller one."""
        if self.order_bound_bytes is None:
            return None
        return self.arena_bytes / self.order_bound_bytes - 1 if self.order_bound_bytes else float(self.arena_bytes > 0)

    @property
    def saved_bytes(self) -> int:
        """Bytes saved by sharing: the sum over all tensors minus the arena."""
        return self.total_bytes - self.arena_bytes

    @property
    def saving(self) -> float:
        """Bytes saved by sharing as a fraction of all tensors' bytes, in [0, 1)."""
        return self.saved_bytes / self.total_bytes if self.total_bytes else 0.0

    @property
    def scratch_bytes(self) -> int:
        """Bytes of all scratch, laid out one after the other. Without a plan nobody would keep it beyond its call."""
        return sum(padded(each.bytes, self.alignment) for each in self.tensors if each.role == "scratch")

    @property
    def intermediate_bytes(self) -> int:
        """Tensors of the arena laid out one after the other, without scratch."""
        return self.total_bytes - self.scratch_bytes

    @property
    def intermediate_saving(self) -> float:
        """How much smaller the arena, scratch included, is than all intermediate tensors, as a fraction of these.

        Negative where scratch takes more than sharing saves.
        """
        return 1 - self.arena_bytes / self.intermediate_bytes if self.intermediate_bytes else 0.0

    @property
    def peak_without_scratch(self) -> int:
        """The most bytes of live tensors at any step; what an arena has beyond it is the price of scratch."""
        return max((each.live - each.scratch for each in self.step_records()), default=0)

    @cached_property
    def interference(self) -> InterferenceGraph:
        """Which tensors of the arena are live at the same step."""
        return InterferenceGraph(self.tensors, self.buffers, self.loops, len(self.steps))

    def find(self, name: str) -> tuple[TensorRecord | None, RemovedRecord | None]:
        """A tensor by its name, and what became of it where the plan has no bytes for it.

        Both for a tensor that is the same as another of the plan. Raises ConfigError for a name that is none of the
        model's.
        """
        check_kind("name", name, str)
        named = {each.name: each for each in self.tensors}
        gone = {each.name: each for each in self.removed}
        if name not in named and name not in gone:
            raise ConfigError(f"the plan has no tensor '{name}'{nearest(name, (*named, *gone))}")
        at = name
        while at not in named and at in gone and gone[at].into:
            at = gone[at].into
        return named.get(at), gone.get(name)

    def why(self, name: str) -> Explanation:
        """Why a tensor's bytes are not shared: who keeps it alive, and what is live with it.

        Raises ConfigError for a name that is none of the model's.
        """
        tensor, removed = self.find(name)
        graph = self.interference
        if tensor is None or tensor.name not in graph:
            return Explanation(name, tensor, removed)
        last = tensor.read_at[-1] if tensor.read_at else graph.life(tensor.name)[1] - 1
        named = {each.name: each for each in self.tensors}
        return Explanation(
            name,
            tensor,
            removed,
            last,
            (self.step_nodes[last] if self.step_nodes else ()) or (self.steps[last],),
            tuple(named[other] for other in graph.neighbours(tensor.name)),
            self.reused_by(tensor),
            tensor.shared_with,
        )

    def overwritten_by(self, name: str) -> tuple[str, ...]:
        """The tensors and scratch that are written to bytes of a tensor after it was computed, in order.

        None if the arena still holds the tensor after a run. (One in a branch or a loop is there only if the run came
        through it.) Raises ConfigError for a name that is none of the model's.
        """
        tensor, _ = self.find(name)
        if tensor is None:
            return ()
        sharing = {*tensor.shared_with, *self.reused_by(tensor)}
        later = (each for each in self.tensors if each.birth > tensor.birth and each.role != "view")
        return tuple(each.name for each in later if each.name in sharing)

    @property
    def cache_bytes(self) -> int:
        """Bytes of the presents of all caches."""
        return sum(cache.bytes for cache in self.caches)

    @property
    def token_bytes(self) -> int:
        """Bytes of one token in all caches that grow, for all sequences of a batch."""
        return sum(cache.token_bytes for cache in self.caches)

    @property
    def tokens(self) -> int:
        """The tokens for which all caches that grow have room; 0 without such caches."""
        return min((cache.room[cache.axis] for cache in self.caches if cache.axis is not None), default=0)

    def bytes_of(self, role: Role) -> int:
        """Total bytes of all tensors with a role."""
        return sum(tensor.bytes for tensor in self.tensors if tensor.role == role)

    def live_at(self, step: int) -> tuple[TensorRecord, ...]:
        """The tensors in the arena that are live at a step."""
        return tuple(each for each in self.tensors if not each.persistent and each.birth <= step < each.death)

    def step_records(self) -> list[StepRecord]:
        """What each step adds to the arena and leaves; bytes are those of whole buffers, padded as in `live_bytes`."""
        made, freed = [0] * (len(self.steps) + 1), [0] * (len(self.steps) + 1)
        for buffer in self.buffers:
            taken = padded(buffer.bytes, self.alignment)
            edges = [buffer.birth, *(step for gap in buffer.gaps for step in gap), buffer.death]
            for start, end in zip(edges[::2], edges[1::2], strict=True):
                made[start] += taken
                freed[end - 1] += taken
        scratch = [0] * len(self.steps)
        for each in self.tensors:
            if each.role == "scratch":
                scratch[each.birth] += padded(each.bytes, self.alignment)
        nodes = self.step_nodes or ((),) * len(self.steps)
        facts = zip(self.steps, nodes, self.live_bytes(), made, freed, scratch, strict=False)
        return [StepRecord(number, *fact) for number, fact in enumerate(facts)]

    def live_bytes(self) -> list[int]:
        """Bytes of the arena occupied at each step, padded to the alignment as the planner counts them."""
        changes = [0] * (len(self.steps) + 1)
        for buffer in self.buffers:
            taken = padded(buffer.bytes, self.alignment)
            edges = [buffer.birth, *(step for gap in buffer.gaps for step in gap), buffer.death]
            for index, step in enumerate(edges):
                changes[step] += -taken if index % 2 else taken
        return list(accumulate(changes))[: len(self.steps)]

    def reused_by(self, tensor: TensorRecord) -> tuple[str, ...]:
        """Tensors of other buffers that occupy the same bytes at another time."""
        if tensor.offset is None or tensor.end is None:
            return ()
        return tuple(
            other.name
            for other in self.tensors
            if other.offset is not None
            and other.end is not None
            and other.buffer != tensor.buffer
            and tensor.offset < other.end
            and other.offset < tensor.end
        )
