"""The memory plan as plain records, for reports, tools and the runtime. No IR here.

Steps are calls of main, in order; lifetimes are half-open; sizes and offsets are bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from math import prod
from typing import Literal

Role = Literal["input", "output", "weight", "intermediate", "scratch", "view"]


@dataclass(frozen=True)
class TensorRecord:
    """The place and lifetime of one tensor. A `view` is a removed copy: it aliases other tensors' bytes."""

    name: str
    bytes: int
    birth: int
    death: int
    persistent: bool  # in the caller's memory or the weights' segment, not in the arena
    role: Role
    offset: int | None  # in the arena; None where persistent
    pool: int | None = None
    overlapping: tuple[str, ...] = field(
        default=(), repr=False
    )  # tensors of the same buffer that share bytes with it, itself included
    inplace: bool = False  # whether it overwrites an operand of the call that computes it
    node: str = ""  # the ONNX node
    kernel: str = ""
    buffer: int | None = None  # the number of its BufferRecord
    extent: int = 0  # from its first byte to one past its last: more than `bytes` if it is strided
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()  # bytes
    dtype: str = "uint8"  # numpy's name of the element type
    consumers: tuple[str, ...] = ()  # who reads it, in order: ONNX nodes, or kernels of calls that stem from none

    @property
    def producer(self) -> str:
        """Who computes it: the ONNX node, or the kernel of a call that stems from none; "" for inputs and weights."""
        return self.node or self.kernel

    @property
    def shared_with(self) -> tuple[str, ...]:
        """The other tensors of the same buffer with which it shares bytes."""
        return tuple(name for name in self.overlapping if name != self.name)

    @property
    def end(self) -> int | None:
        """One past its last byte in the arena; None outside of it."""
        return None if self.offset is None else self.offset + (self.extent or self.bytes)


@dataclass(frozen=True)
class BufferRecord:
    """A buffer that the planner placed: one or several tensors that share bytes."""

    number: int
    name: str
    bytes: int
    offset: int
    birth: int
    death: int
    gaps: tuple[tuple[int, int], ...] = field(
        default=(), repr=False
    )  # steps [from, to) at which its bytes are free for others
    scratch: bool = False
    pool: int | None = None

    @property
    def end(self) -> int:
        """One past its last byte in the arena."""
        return self.offset + self.bytes

    def live_at(self, step: int) -> bool:
        """Whether its bytes are occupied at a step."""
        return self.birth <= step < self.death and not any(low <= step < high for low, high in self.gaps)


@dataclass(frozen=True)
class CacheRecord:
    """A cache, in memory of the caller: the shapes of an input, of an output, and of the buffer of both."""

    name: str
    output: str
    dtype: str  # numpy's name of the element type
    itemsize: int
    past: tuple[int, ...]
    present: tuple[int, ...]
    room: tuple[int, ...]
    axis: int | None = None
    """The axis along which the present is longer than the past, by tokens; None if they have one size."""

    @property
    def bytes(self) -> int:
        """Bytes of the present."""
        return prod(self.present) * self.itemsize

    @property
    def room_bytes(self) -> int:
        """Bytes of the buffer."""
        return prod(self.room) * self.itemsize

    @property
    def token_bytes(self) -> int:
        """Bytes of one token; 0 if the cache doesn't grow."""
        others = (size for axis, size in enumerate(self.room) if axis != self.axis)
        return 0 if self.axis is None else prod(others) * self.itemsize


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
    pools: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    """(offset, bytes) of each pool, for the pool strategies."""
    steps: tuple[str, ...] = field(default=(), repr=False)
    """The kernel called at each step."""
    buffers: tuple[BufferRecord, ...] = field(default=(), repr=False)
    """The buffers in the arena, by number."""
    caches: tuple[CacheRecord, ...] = field(default=(), repr=False)
    """The caches, outside of the arena."""

    @property
    def ratio(self) -> float:
        """The arena as a multiple of its lower bound."""
        return self.arena_bytes / self.lower_bound_bytes if self.lower_bound_bytes else 1.0

    @property
    def saved_bytes(self) -> int:
        """Bytes saved by sharing: the sum over all tensors minus the arena."""
        return self.total_bytes - self.arena_bytes

    @property
    def saving(self) -> float:
        """Bytes saved by sharing as a fraction of all tensors' bytes, in [0, 1)."""
        return self.saved_bytes / self.total_bytes if self.total_bytes else 0.0

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

    def live_bytes(self) -> list[int]:
        """Bytes of the arena occupied at each step, padded to the alignment as the planner counts them."""
        changes = [0] * (len(self.steps) + 1)
        for buffer in self.buffers:
            taken = -(-buffer.bytes // self.alignment) * self.alignment
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
            and other.name != tensor.name
            and other.name not in tensor.shared_with
            and tensor.offset < other.end
            and other.offset < tensor.end
        )
