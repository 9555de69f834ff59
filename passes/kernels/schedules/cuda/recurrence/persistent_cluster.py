"""The persistent_cluster schedule: one launch runs all steps, with the weights spread over a cluster's blocks.

The hidden state goes through the shared memory of the cluster, whose barrier ends a phase of a step: from architecture
9.0 on, for weights that eight multiprocessors hold. Batch elements are on clusters of their own. The input's share of
all steps is made before, as in the steps schedule.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import f32

from ......dialects.gpu.cluster import MOST_BLOCKS_OF_A_CLUSTER
from ......dialects.graph.ops.recurrence import RecurrenceOp
from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.values import element_type_of_value, shape_of
from ......dialects.kernel.kernel_attributes import InterfaceAttr
from ......dialects.kernel.targets import GpuAttr
from ....forms.recurrence import check_recurrence
from ....kernel_facts import item_bytes, the_root
from ...scratch import ScratchLayout
from ..tuning import CLUSTER_LATENCY, CLUSTER_MEETING, CLUSTER_READS
from .spread import Spread, phases_of
from .steps import best_for_input, input_products

CLUSTERS = (2, 4, MOST_BLOCKS_OF_A_CLUSTER)
MOST_LANES = 4
"""Elements that a thread reads at once of another block's shared memory."""


@dataclass(frozen=True)
class PersistentCluster(Spread):
    """All steps in one launch, with weights and the hidden state on the chip."""

    forms = ("recurrence",)

    def cluster(self, root: RecurrenceOp) -> int:
        """Blocks of a cluster, which have all units of a direction."""
        return self.of_direction(root)

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        """With clusters that hold all weights of a direction; f32 only, which blocks can read of each other."""
        root = the_root(kernel, RecurrenceOp)
        check_recurrence(root)
        hidden, inputs = root.hidden.value.data, best_for_input(root, target)
        if not target.has_clusters or element_type_of_value(root.y) != f32 or not hidden:
            return
        for blocks in CLUSTERS:
            for made in cls.over(root, target, blocks, inputs, MOST_LANES):
                held = made.in_registers + made.in_shared == made.vectors(root)
                if held and made.cluster(root) > 1:
                    yield made

    @override
    def exchanged(self, root: RecurrenceOp) -> int:
        """h before and after a step, and h multiplied by the reset gate."""
        return (phases_of(root) + 1) * self.rows * self.units * item_bytes(root.y) + 3 * GpuAttr.ACCESS

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        """Two launches; each phase of a step waits for the cluster, for the state and for the cell."""
        root = the_root(kernel, RecurrenceOp)
        steps, directions, batch, hidden = shape_of(root.y)
        nbytes = self.rows * hidden * item_bytes(root.y)
        fetched = CLUSTER_LATENCY + nbytes / CLUSTER_READS * 1e-9
        step = phases_of(root) * (CLUSTER_MEETING + fetched) + self.products_seconds(root, target)
        clusters = directions * -(-batch // self.rows)
        waves = -(-clusters // max(1, target.multiprocessors.data // self.cluster(root)))
        return self.launch_seconds(root, target) + waves * steps * step

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(scratch=self.scratch(kernel).together)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """The input products, in the order of each direction's steps."""
        return ScratchLayout.of(shared=[input_products(the_root(kernel, RecurrenceOp))])
