"""What schedules share that spread the recurrent weights over blocks, each of which has some hidden units.

A block keeps the weights of its units for all steps: of the vectors that a thread multiplies along the depth, the first
ones in registers, the next ones in shared memory. Those for which there is no room are read in each step.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Self

from ......dialects.graph.ops.recurrence import RecurrenceOp
from ......dialects.graph.values import shape_of
from ......dialects.kernel.targets import GpuAttr
from ....forms.recurrence import between_phases
from ....kernel_facts import item_bytes
from ...schedule import Count, Schedule, TileSize
from ..cost import cached_seconds, memory_seconds
from ..tuning import LATENCY, LAUNCH, PER_MULTIPROCESSOR, SPREAD_REGISTERS
from .steps import product_seconds

LANES = (8, 16, 32)
ROWS = (1, 2, 4, 8)
MOST_REGISTERS = 255
"""Of a thread."""


@dataclass(frozen=True)
class Spread(Schedule[GpuAttr]):
    """All steps in one launch, with the weights of a direction on several blocks."""

    units: TileSize
    """Hidden units of a block."""
    lanes: TileSize
    """Threads that share a hidden unit."""
    rows: TileSize
    """Batch elements that are multiplied at once."""
    input_lanes: TileSize
    """Threads that share a hidden unit in the input's share of the gates."""
    input_rows: TileSize
    """Elements of batch and steps together that these have."""
    in_registers: Count = 0
    """Vectors of each gate's weights that a thread keeps in registers."""
    in_shared: Count = 0
    """Vectors of each gate's weights that a thread keeps in shared memory."""

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.units * self.lanes

    def of_direction(self, root: RecurrenceOp) -> int:
        """Blocks with all units of a direction."""
        return -(-root.hidden.value.data // self.units)

    def vectors(self, root: RecurrenceOp) -> int:
        """Vectors along the depth that a thread multiplies; the last one may lie beyond the end."""
        return -(-root.hidden.value.data // (self.lanes * _vector(root)))

    @abstractmethod
    def exchanged(self, root: RecurrenceOp) -> int:
        """Bytes of shared memory of what other blocks read."""

    def shared(self, root: RecurrenceOp) -> int:
        """Bytes of shared memory: weights, some rows of a state, and what other blocks read."""
        weights = self.in_shared * root.GATES * self.threads
        rows = self.rows * self.vectors(root) * self.lanes
        return (weights + rows) * _vector(root) * item_bytes(root.y) + self.exchanged(root)

    @classmethod
    def over(
        cls, root: RecurrenceOp, target: GpuAttr, blocks: int, inputs: tuple[int, int], together: int = 1
    ) -> Iterator[Self]:
        """With the units of a direction on so many blocks at most; a block has a multiple of `together` of them."""
        for lanes in LANES:
            least = max(together, GpuAttr.WARP // lanes)
            units = -(-root.hidden.value.data // blocks // least) * least
            if units * lanes > GpuAttr.BLOCK_THREADS:
                continue
            for rows in (each for each in ROWS if each <= lanes):
                for of_registers in (True, False):
                    made = cls(units, lanes, rows, *inputs).filled(root, target, of_registers)
                    if made is not None:
                        yield made

    def filled(self, root: RecurrenceOp, target: GpuAttr, of_registers: bool) -> Self | None:
        """The same with as many weights on chip as fit, some of them in registers; None if not even a state does."""
        words = _vector(root) * item_bytes(root.y) // 4
        fixed = SPREAD_REGISTERS + self.rows * (root.GATES * item_bytes(root.y) // 4 + words)
        free = max(0, _registers_of(self.threads, target) - fixed) if of_registers else 0
        in_registers = min(self.vectors(root), free // (root.GATES * words))
        room = target.shared.data - self.shared(root)
        if room < 0:
            return None
        each = root.GATES * self.threads * _vector(root) * item_bytes(root.y)
        if in_registers and in_registers + room // each < self.vectors(root):
            in_registers -= 1  # for those that are being read from memory
        in_shared = min(self.vectors(root) - in_registers, room // each)
        return replace(self, in_registers=in_registers, in_shared=in_shared)

    def launch_seconds(self, root: RecurrenceOp, target: GpuAttr) -> float:
        """Seconds of both launches besides the steps: the input products, and reading the weights."""
        first = LAUNCH + product_seconds(root, target, self.input_lanes, self.input_rows, of_input=True)
        weights = shape_of(root.y)[1] * root.GATES * root.hidden.value.data**2 * item_bytes(root.y)
        return first + LAUNCH + 3 * LATENCY + memory_seconds(weights, target)

    def products_seconds(self, root: RecurrenceOp, target: GpuAttr) -> float:
        """Seconds of a step of `rows` batch elements: all products and cells, without fetching states."""
        itemsize, gates, vector, vectors = item_bytes(root.y), root.GATES, _vector(root), self.vectors(root)
        cycles = target.gflops.data / (target.multiprocessors.data * 256)  # per nanosecond: 128 multiply-adds each
        warps, levels, sums = self.threads // GpuAttr.WARP, self.lanes.bit_length() - 1, gates * self.rows
        phases = phases_of(root)
        instructions = vectors * (sums * vector * itemsize // 4 + self.rows) + (vectors - self.in_registers) * gates
        instructions += phases * (sums * (2 * levels + 1) + 150)
        read = (self.in_shared * gates + vectors * self.rows) * self.threads * vector * itemsize
        waited = phases * (levels * 30 + 400)
        seconds = (max(instructions * warps / 4, read / GpuAttr.BANKS, instructions) + waited) / cycles * 1e-9
        rest = (vectors - self.in_registers - self.in_shared) * gates * self.threads * vector * itemsize
        if rest:
            everywhere = rest * self.of_direction(root) * shape_of(root.y)[1]
            seconds += max(cached_seconds(everywhere, everywhere, target), rest / PER_MULTIPROCESSOR) + LATENCY
        return seconds


def phases_of(root: RecurrenceOp) -> int:
    """Phases of a step."""
    return 2 if between_phases(root) else 1


def _registers_of(threads: int, target: GpuAttr) -> int:
    """Registers that a thread of a block may have: each of a multiprocessor's four schedulers has a quarter of all."""
    warps = -(-threads // (4 * GpuAttr.WARP))
    return min(MOST_REGISTERS, target.registers.data // (4 * warps * GpuAttr.WARP) // 8 * 8)


def _vector(root: RecurrenceOp) -> int:
    """Elements of a thread's access along the depth."""
    lanes = GpuAttr.ACCESS // item_bytes(root.y)
    return lanes if root.hidden.value.data % lanes == 0 else 1
