"""A batch of blocks of a launch that are run together, and its errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Any, NoReturn

import numpy as np
from xdsl.ir import Operation
from xdsl.printer import Printer

from ....dialects.errors import KernelError
from ....dialects.graph.base import node_name
from ...device import Array
from .thread_values import Mask, Value

Sizes = tuple[int, int, int]
_DIMENSIONS = "xyz"


@dataclass
class Traffic:
    """Bytes of global memory that the threads of a launch load and store, each access of each thread by itself.

    They are added up over the runs of a launch.
    """

    runs: int = 0
    loaded: int = 0
    stored: int = 0


@dataclass
class Batch:
    """Blocks `first` to `first + blocks` of a grid, numbered with x fastest, and their threads.

    `nodes` are the ONNX nodes that they compute. `cluster` adjacent ones form a cluster, all of which are there.
    """

    kernel: str
    grid: Sizes
    block: Sizes
    first: int
    blocks: int
    nodes: Sequence[str] = ()
    traffic: Traffic | None = None
    """Where accesses are counted, if they are."""
    cluster: int = 1
    _ids: dict[tuple[str, str], Value] = field(default_factory=dict[tuple[str, str], Value])

    @property
    def threads(self) -> int:
        """Threads per block."""
        x, y, z = self.block
        return x * y * z

    @property
    def shape(self) -> tuple[int, int]:
        """(blocks, threads per block)."""
        return self.blocks, self.threads

    @property
    def rows(self) -> Array:
        """The number of each block in the batch, as a value."""
        return np.arange(self.blocks)[:, None]

    def row_of(self, rank: Value) -> Array:
        """The number in the batch of the block of some rank in each one's cluster."""
        return self.rows // self.cluster * self.cluster + rank

    def count(self, mask: Mask) -> int:
        """The number of active threads."""
        return self.blocks * self.threads if mask is True else int(np.broadcast_to(mask, self.shape).sum())

    def id(self, kind: str, dimension: str) -> Value:
        """The value of `gpu.thread_id` or `gpu.block_id`, according to `kind`."""
        known = self._ids.get((kind, dimension))
        if known is None:
            known = self._ids[kind, dimension] = self._id(kind == "gpu.block_id", _DIMENSIONS.index(dimension))
        return known

    def _id(self, of_block: bool, axis: int) -> Value:
        sizes = self.grid if of_block else self.block
        flat = np.arange(self.first, self.first + self.blocks) if of_block else np.arange(self.threads)
        if sizes[axis] == 1:
            return 0
        ids = np.unravel_index(flat, sizes[::-1])[2 - axis].astype(np.int64)
        if ids.size == 1:
            return int(ids[0])
        return ids[:, None] if of_block else ids[None, :]

    def fail(self, op: Operation, fact: str, where: Mask = True, **numbers: Value) -> NoReturn:
        """Raises KernelError for the first thread of a mask; `fact` is a format string for that thread's numbers."""
        row, thread = (int(each) for each in np.argwhere(np.broadcast_to(where, self.shape))[0])
        block = np.unravel_index(self.first + row, self.grid[::-1])[::-1]
        place = np.unravel_index(thread, self.block[::-1])[::-1]
        own = {name: np.broadcast_to(value, self.shape)[row, thread] for name, value in numbers.items()}
        node = node_name(op) or ", ".join(self.nodes)
        raise KernelError(
            f"{self.kernel}: {op_text(op)}{f' ({node})' if node else ''}: {fact.format(**own)}; "
            f"block {_text(block)}, thread {_text(place)}"
        )


def op_text(op: Operation) -> str:
    """An op's text as in a module."""
    text = StringIO()
    Printer(text).print_op(op)
    return text.getvalue()


def _text(place: tuple[Any, ...]) -> str:
    return f"({', '.join(str(int(each)) for each in place)})"


def active(bad: Array, mask: Mask) -> Array | None:
    """The threads of a mask for which `bad` holds; None if there are none."""
    if mask is not True:
        bad = bad & mask
    return bad if bad.any() else None
