"""The persistent_grid schedule: one launch runs all steps, with the recurrent weights spread over all blocks.

The hidden state goes through memory, and a barrier of the grid ends a phase of a step (Diamos et al., Persistent RNNs:
Stashing Recurrent Weights On-Chip, 2016). The input's share of all steps is made before, as in the steps schedule.
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
from ...scratch import ScratchLayout
from ..tuning import GRID_LATENCY, GRID_MEETING, PER_MULTIPROCESSOR
from .spread import Spread, phases_of
from .steps import best_for_input, input_products


@dataclass(frozen=True)
class PersistentGrid(Spread):
    """All steps in one cooperative launch, with weights on chip and the hidden state in memory."""

    forms = ("recurrence",)

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
        yield from cls.over(root, target, of_direction, inputs)

    @override
    def exchanged(self, root: RecurrenceOp) -> int:
        return 0

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        """Two launches; each phase of a step waits for all blocks, for the state and for the cell."""
        root = the_root(kernel, RecurrenceOp)
        steps, _, batch, hidden = shape_of(root.y)
        phases, groups = phases_of(root), -(-batch // self.rows)
        fetched = phases * (GRID_LATENCY + self.rows * hidden * item_bytes(root.y) / PER_MULTIPROCESSOR)
        step = phases * GRID_MEETING + groups * (self.products_seconds(root, target) + fetched)
        return self.launch_seconds(root, target) + steps * step

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(scratch=self.scratch(kernel).together)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """The input products in the order of each direction's steps, h before and after a step, and what else is kept.

        The counter is that of the grid's barrier.
        """
        root = the_root(kernel, RecurrenceOp)
        _, directions, batch, hidden = shape_of(root.y)
        element, state = element_type_of_value(root.y), (directions, batch, hidden)
        others = [name for name in (*states_of(root), *between_phases(root)) if name != "h"]
        return ScratchLayout.of(
            shared=[
                input_products(root),
                ("h", element, (2, *state)),
                *((name, element, (1, *state)) for name in others),
                ("counter", i32, (1,)),
            ]
        )
