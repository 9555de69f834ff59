"""The records of a memory plan: tensors, buffers, caches, steps, what became of removed tensors, explanations.

Steps are calls of main, in order; lifetimes are half-open; sizes and offsets are bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Literal

Role = Literal["input", "output", "weight", "intermediate", "scratch", "view"]


def padded(nbytes: int, alignment: int) -> int:
    """Bytes that `nbytes` occupy in the arena: rounded up to the alignment."""
    return -(-nbytes // alignment) * alignment


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
    read_at: tuple[int, ...] = ()  # the steps that read it
    model_shape: tuple[int, ...] | None = None
    """The shape of the ONNX tensor of that name; `shape` is that of the bytes, whose axes may have another order. None
    for a tensor that is none of the model's, such as scratch, and where sizes are symbolic."""

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


Fate = Literal["fused", "constant", "same", "unused"]


@dataclass(frozen=True)
class RemovedRecord:
    """An ONNX tensor that has no bytes of its own, and what became of it.

    `fused`: the calls at `steps`, of `kernels`, compute what is left of it inside. `constant`: it was computed when the
    model was compiled, or became part of another weight, of the calls at `steps`. `same`: it is the tensor `into`.
    `unused`: no output of the model needs it.
    """

    name: str
    fate: Fate
    kernels: tuple[str, ...] = field(default=(), repr=False)
    steps: tuple[int, ...] = field(default=(), repr=False)
    into: str = ""

    @property
    def text(self) -> str:
        """What became of it, in words."""
        calls = [f"{kernel} (step {step})" for kernel, step in zip(self.kernels, self.steps, strict=True)]
        where = ", ".join(calls[:3]) + (f" and {len(calls) - 3} more" if len(calls) > 3 else "")
        match self.fate:
            case "fused":
                return f"inside of kernel {where}"
            case "constant":
                return f"folded into a constant{f' of {where}' if where else ''}"
            case "same":
                return f"the same as {self.into}"
            case "unused":
                return "removed: no output needs it"


@dataclass(frozen=True)
class StepRecord:
    """A step of the plan: `live` are the bytes of buffers at it, of which `made` begin there and `freed` end."""

    step: int
    kernel: str
    nodes: tuple[str, ...] = field(repr=False)
    live: int
    made: int
    freed: int
    scratch: int


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
class Explanation:
    """What a plan knows of a tensor's memory.

    For a tensor without bytes of its own `removed` tells what became of it, for one outside of the arena the rest is
    empty but `tensor`.
    """

    name: str
    tensor: TensorRecord | None = field(repr=False)
    removed: RemovedRecord | None = None
    last_step: int | None = None
    """The step that reads it last, or makes it where none does."""
    kept_by: tuple[str, ...] = field(default=(), repr=False)
    """The ONNX nodes computed at that step, or the kernel of a call without."""
    conflicts: tuple[TensorRecord, ...] = field(default=(), repr=False)
    """The tensors that are live at some step at which it is, by birth: none may have its bytes."""
    reused_by: tuple[str, ...] = field(default=(), repr=False)
    """The tensors of other buffers that have some of its bytes at other steps."""
    shared_with: tuple[str, ...] = field(default=(), repr=False)
    """The tensors of its own buffer that have some of its bytes: operands and results in place, wholes and parts."""
