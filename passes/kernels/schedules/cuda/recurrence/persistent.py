"""The persistent schedule: one block runs all steps of a direction for a few batch elements.

The recurrent weights of the direction lie in shared memory all the time, so the hidden states must be few; then a step
takes two barriers instead of a launch. The input's share of all steps is made before, as in the steps schedule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override

from ......dialects.graph.ops.recurrence import RecurrenceOp
from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.values import shape_of
from ......dialects.kernel.kernel_attributes import InterfaceAttr
from ......dialects.kernel.targets import GpuAttr
from ....forms.recurrence import between_phases, check_recurrence
from ....kernel_facts import item_bytes, the_root
from ...schedule import Schedule, TileSize
from ...scratch import ScratchLayout
from ..tuning import LATENCY, LAUNCH
from .steps import best_for_input, input_products, product_seconds

LANES = (8, 16, 32)
ROWS = (1, 2, 4, 8)


@dataclass(frozen=True)
class Persistent(Schedule[GpuAttr]):
    """All steps in one launch, with states and weights in shared memory."""

    forms = ("recurrence",)

    lanes: TileSize
    """Threads that share a hidden unit."""
    rows: TileSize
    """Batch elements of a block."""
    input_lanes: TileSize
    """Threads that share a hidden unit in the input's share of the gates."""
    input_rows: TileSize
    """Elements of batch and steps together that these have."""

    def threads(self, root: RecurrenceOp) -> int:
        """Threads of a block: whole warps for all hidden units."""
        return -(-root.hidden.value.data * self.lanes // 32) * 32

    def shared(self, root: RecurrenceOp) -> int:
        """Bytes of shared memory: the weights, h before and after a step, and h multiplied by the reset gate."""
        hidden, itemsize = root.hidden.value.data, item_bytes(root.y)
        states = (3 if between_phases(root) else 2) * self.rows * hidden
        return (root.GATES * hidden * hidden + states) * itemsize + 3 * GpuAttr.ACCESS

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        """If a direction's weights fit shared memory, and its units a block."""
        root = the_root(kernel, RecurrenceOp)
        check_recurrence(root)
        inputs, wide = best_for_input(root, target), item_bytes(root.y) // 4
        for lanes in LANES:
            for rows in ROWS:
                made = cls(lanes, rows, *inputs)
                threads = made.threads(root)
                registers = (40 + (root.GATES + GpuAttr.ACCESS // item_bytes(root.y)) * rows * wide) * threads
                fits = made.shared(root) <= target.shared.data and threads <= GpuAttr.BLOCK_THREADS
                if fits and rows <= lanes and registers <= target.registers.data:
                    yield made

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        """Two launches; each step waits for shared memory, barriers, and the cell."""
        root = the_root(kernel, RecurrenceOp)
        steps, directions, batch, hidden = shape_of(root.y)
        itemsize, phases = item_bytes(root.y), 2 if between_phases(root) else 1
        vector = GpuAttr.ACCESS // itemsize if hidden % (GpuAttr.ACCESS // itemsize) == 0 else 1
        cycles = target.gflops.data / (target.multiprocessors.data * 256)  # per nanosecond: 128 multiply-adds each
        rounds = -(-hidden // (self.lanes * vector))
        warps, sums = -(-self.threads(root) // 32), root.GATES * self.rows
        levels = self.lanes.bit_length() - 1
        instructions = rounds * (sums * vector + 2 * (root.GATES + self.rows)) + sums * (2 * levels + 1) + 150
        read = root.GATES * hidden * hidden * itemsize / GpuAttr.BANKS
        waited = rounds * 40 + levels * 30 + phases * 150 + 250
        step = max(instructions * warps / 4, read, instructions) + waited
        waves = -(-directions * -(-batch // self.rows) // target.multiprocessors.data)
        first = LAUNCH + product_seconds(root, target, self.input_lanes, self.input_rows, of_input=True)
        return first + LAUNCH + 3 * LATENCY + waves * steps * step / cycles * 1e-9

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(scratch=self.scratch(kernel).together)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """The input products, in the order of each direction's steps."""
        return ScratchLayout.of(shared=[input_products(the_root(kernel, RecurrenceOp))])
