"""The memory plan as plain records: for reports, tools and the runtime. Knows no IR.

Steps are calls of main, in order; lifetimes are half-open; sizes and offsets are bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

Role = Literal["input", "output", "weight", "intermediate", "scratch", "view"]


@dataclass(frozen=True)
class TensorRecord:
    """Where one tensor lies, and when. A `view` is a copy that vanished: it is bytes of others."""

    name: str
    bytes: int
    birth: int
    death: int
    persistent: bool  # in the caller's memory or among the weights, outside of the arena
    role: Role
    offset: int | None  # in the arena; None where persistent
    pool: int | None = None
    overlapping: tuple[str, ...] = field(
        default=(), repr=False
    )  # tensors of the same buffer with bytes in common, this one included
    inplace: bool = False  # written over an operand of the call that makes it
    node: str = ""  # the ONNX node
    kernel: str = ""
    buffer: int | None = None  # the BufferRecord that it lies in
    extent: int = 0  # from its first byte to one past its last: more than `bytes` where others lie in between
    shape: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()  # bytes
    dtype: str = "uint8"  # numpy's name of the element type

    @property
    def shared_with(self) -> tuple[str, ...]:
        """The other tensors of the same buffer whose bytes it overlaps."""
        return tuple(name for name in self.overlapping if name != self.name)

    @property
    def end(self) -> int | None:
        """One past its last byte in the arena."""
        return None if self.offset is None else self.offset + (self.extent or self.bytes)


@dataclass(frozen=True)
class BufferRecord:
    """What the planner placed: one or several tensors that share bytes."""

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
        """Whether its bytes are taken at a step."""
        return self.birth <= step < self.death and not any(low <= step < high for low, high in self.gaps)


@dataclass(frozen=True)
class MemoryPlan:
    """The arena of a model, with its certificate."""

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
    """All tensors and all scratch of the arena one after the other: without in-place results, views or reuse."""
    original_bytes: int = 0
    """The buffers one after the other: in-place results and views as decided, but no byte used twice."""
    proven_bound_bytes: int = 0
    """No plan of these buffers is lower: the lower bound, or more where a search proved it."""
    exhausted: str = ""
    """What ended the planner's search before an answer: "budget", "time limit", or nothing."""
    pools: tuple[tuple[int, int], ...] = field(default=(), repr=False)
    """(offset, bytes) of each pool, for the pool strategies."""
    steps: tuple[str, ...] = field(default=(), repr=False)
    """The kernel called at each step."""
    buffers: tuple[BufferRecord, ...] = field(default=(), repr=False)
    """What the arena holds, by number."""

    @property
    def ratio(self) -> float:
        """The arena as a multiple of its lower bound."""
        return self.arena_bytes / self.lower_bound_bytes if self.lower_bound_bytes else 1.0

    @property
    def saved_bytes(self) -> int:
        """What sharing bytes saves: the arena is so much smaller than its tensors."""
        return self.total_bytes - self.arena_bytes

    @property
    def saving(self) -> float:
        """What sharing bytes saves, as a part of all tensors: 0.75 where a quarter of their bytes does."""
        return self.saved_bytes / self.total_bytes if self.total_bytes else 0.0

    def bytes_of(self, role: Role) -> int:
        """All tensors of a role together."""
        return sum(tensor.bytes for tensor in self.tensors if tensor.role == role)

    def live_at(self, step: int) -> tuple[TensorRecord, ...]:
        """The tensors in the arena that are live at a step."""
        return tuple(each for each in self.tensors if not each.persistent and each.birth <= step < each.death)

    def live_bytes(self) -> list[int]:
        """Bytes of the arena that are taken at each step, whole units of the alignment as the planner counts."""
        changes = [0] * (len(self.steps) + 1)
        for buffer in self.buffers:
            taken = -(-buffer.bytes // self.alignment) * self.alignment
            edges = [buffer.birth, *(step for gap in buffer.gaps for step in gap), buffer.death]
            for index, step in enumerate(edges):
                changes[step] += -taken if index % 2 else taken
        return list(accumulate(changes))[: len(self.steps)]

    def reused_by(self, tensor: TensorRecord) -> tuple[str, ...]:
        """Tensors of other buffers that lie in the same bytes at another time."""
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
