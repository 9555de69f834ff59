"""The persistent_grid schedule: one launch runs all steps, with the recurrent weights spread over all blocks.

A block has some hidden units of a direction, whose weights it keeps for all steps: of the vectors that a thread
multiplies along the depth, the first ones in registers, the next ones in shared memory. Those for which there is no
room are read in each step. The hidden state goes through memory, and a barrier of the grid ends a phase of a step
(Diamos et al., Persistent RNNs: Stashing Recurrent Weights On-Chip, 2016). The input's share of all steps is made
before, as in the steps schedule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import i32

from ......dialects.graph.ops.recurrence import RecurrenceOp
from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.values import element_type_of_value, shape_of
from ......dialects.kernel.kernel_attributes import InterfaceAttr
from ......dialects.kernel.targets import GpuAttr
from ....forms.recurrence import between_phases, check_recurrence, states_of
from ....kernel_facts import item_bytes, the_root
from ...schedule import Count, Schedule, TileSize
from ...scratch import ScratchLayout
from ..cost import cached_seconds, memory_seconds
from ..tuning import GRID_LATENCY, GRID_MEETING, LATENCY, LAUNCH, PER_MULTIPROCESSOR, PERSISTENT_GRID_REGISTERS
from .steps import best_for_input, product_seconds

LANES = (8, 16, 32)
ROWS = (1, 2, 4, 8)
MOST_REGISTERS = 255
"""Of a thread."""


@dataclass(frozen=True)
class PersistentGrid(Schedule[GpuAttr]):
    """All steps in one cooperative launch, with weights on chip and the hidden state in memory."""

    forms = ("recurrence",)

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

    def blocks(self, root: RecurrenceOp) -> int:
        """Blocks of all directions, which are resident at once."""
        return shape_of(root.y)[1] * -(-root.hidden.value.data // self.units)

    def vectors(self, root: RecurrenceOp) -> int:
        """Vectors along the depth that a thread multiplies; the last one may lie beyond the end."""
        return -(-root.hidden.value.data // (self.lanes * _vector(root)))

    def shared(self, root: RecurrenceOp) -> int:
        """Bytes of shared memory: weights, and some rows of a state."""
        weights = self.in_shared * root.GATES * self.threads
        return (weights + self.rows * self.vectors(root) * self.lanes) * _vector(root) * item_bytes(root.y)

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        """With a block for each multiprocessor at most, and as much on chip as there is room for."""
        root = the_root(kernel, RecurrenceOp)
        check_recurrence(root)
        hidden, inputs = root.hidden.value.data, best_for_input(root, target)
        of_direction = target.multiprocessors.data // shape_of(root.y)[1]
        if not of_direction or not hidden:
            return
        for lanes in LANES:
            together = GpuAttr.WARP // lanes
            units = -(-hidden // of_direction // together) * together
            if units * lanes > GpuAttr.BLOCK_THREADS:
                continue
            for rows in (each for each in ROWS if each <= lanes):
                for of_registers in (True, False):
                    made = cls(units, lanes, rows, *inputs)._filled(root, target, of_registers)
                    if made is not None:
                        yield made

    def _filled(self, root: RecurrenceOp, target: GpuAttr, of_registers: bool) -> Self | None:
        """The same with as many weights on chip as fit, some of them in registers; None if not even a state does."""
        words = _vector(root) * item_bytes(root.y) // 4
        fixed = PERSISTENT_GRID_REGISTERS + self.rows * (root.GATES * item_bytes(root.y) // 4 + words)
        free = max(0, _registers_of(self.threads, target) - fixed) if of_registers else 0
        in_registers = min(self.vectors(root), free // (root.GATES * words))
        room = target.shared.data - self.shared(root)
        if room < 0:
            return None
        each = root.GATES * self.threads * _vector(root) * item_bytes(root.y)
        if in_registers and in_registers + room // each < self.vectors(root):
            in_registers -= 1  # for those that are being read from memory
        in_shared = min(self.vectors(root) - in_registers, room // each)
        inputs = self.input_lanes, self.input_rows
        return type(self)(self.units, self.lanes, self.rows, *inputs, in_registers, in_shared)

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        """Two launches; each phase of a step waits for the others, for the state and for the cell."""
        root = the_root(kernel, RecurrenceOp)
        steps, directions, batch, hidden = shape_of(root.y)
        itemsize, gates, vector = item_bytes(root.y), root.GATES, _vector(root)
        cycles = target.gflops.data / (target.multiprocessors.data * 256)  # per nanosecond: 128 multiply-adds each
        vectors, warps, groups = self.vectors(root), self.threads // GpuAttr.WARP, -(-batch // self.rows)
        phases, levels, sums = len(between_phases(root)) // 2 + 1, self.lanes.bit_length() - 1, gates * self.rows
        products = vectors * sums * vector * itemsize // 4
        instructions = products + (vectors - self.in_registers) * gates + vectors * self.rows
        instructions += phases * (sums * (2 * levels + 1) + 150)
        read = (self.in_shared * gates * self.threads + vectors * self.rows * self.threads) * vector * itemsize
        waited = phases * (levels * 30 + 400)
        group = (max(instructions * warps / 4, read / GpuAttr.BANKS, instructions) + waited) / cycles * 1e-9
        state = phases * (GRID_LATENCY + self.rows * hidden * itemsize / PER_MULTIPROCESSOR)
        rest = (vectors - self.in_registers - self.in_shared) * gates * self.threads * vector * itemsize
        everywhere = rest * self.blocks(root)
        if rest:
            group += max(cached_seconds(everywhere, everywhere, target), rest / PER_MULTIPROCESSOR) + LATENCY
        step = phases * GRID_MEETING + groups * (group + state)
        first = LAUNCH + product_seconds(root, target, self.input_lanes, self.input_rows, of_input=True)
        weights = memory_seconds(directions * gates * hidden * hidden * itemsize, target)
        return first + LAUNCH + 3 * LATENCY + weights + steps * step

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(scratch=self.scratch(kernel).together)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """The input products in the order of each direction's steps, h before and after a step, and what else is kept.

        The counter is that of the grid's barrier.
        """
        root = the_root(kernel, RecurrenceOp)
        steps, directions, batch, hidden = shape_of(root.y)
        element, state = element_type_of_value(root.y), (directions, batch, hidden)
        others = [name for name in (*states_of(root), *between_phases(root)) if name != "h"]
        return ScratchLayout.of(
            shared=[
                ("from_input", element, (steps, directions, batch, root.GATES * hidden)),
                ("h", element, (2, *state)),
                *((name, element, (1, *state)) for name in others),
                ("counter", i32, (1,)),
            ]
        )


def _registers_of(threads: int, target: GpuAttr) -> int:
    """Registers that a thread of a block may have: each of a multiprocessor's four schedulers has a quarter of all."""
    warps = -(-threads // (4 * GpuAttr.WARP))
    return min(MOST_REGISTERS, target.registers.data // (4 * warps * GpuAttr.WARP) // 8 * 8)


def _vector(root: RecurrenceOp) -> int:
    """Elements of a thread's access along the depth."""
    lanes = GpuAttr.ACCESS // item_bytes(root.y)
    return lanes if root.hidden.value.data % lanes == 0 else 1
