"""The steps schedule: a launch for the input products of all steps, then a launch for each step.

Some lanes share a hidden unit: each has a part of the products' depth for all gates and a few rows (of the batch, or of
batch and steps), and shuffles add the parts up. Weights are read as they lie, along their rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override
from xdsl.ir import Attribute

from ......dialects.graph.ops.recurrence import RecurrenceOp
from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.values import element_type_of_value, shape_of
from ......dialects.kernel.kernel_attributes import InterfaceAttr
from ......dialects.kernel.targets import GpuAttr
from ....forms.recurrence import between_phases, check_recurrence, states_of
from ....kernel_facts import item_bytes, the_root
from ...schedule import Schedule, TileSize
from ...scratch import ScratchLayout
from ..cost import bytes_of, cached_seconds, memory_seconds
from ..tuning import LATENCY, LAUNCH

BLOCK = 128
"""Threads of a block: few, as every step wants all multiprocessors."""
ROWS = (1, 2, 4, 8)
LANES = (4, 8, 16, 32)
SHAPES = [(lanes, rows) for lanes in LANES for rows in ROWS if rows <= lanes]


@dataclass(frozen=True)
class Steps(Schedule[GpuAttr]):
    """Launches in sequence, with states in memory."""

    forms = ("recurrence",)

    lanes: TileSize
    """Threads that share a hidden unit."""
    rows: TileSize
    """Batch elements of a thread in a step."""
    input_lanes: TileSize
    """The same for the input's share of the gates."""
    input_rows: TileSize
    """Elements of batch and steps together."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: GpuAttr) -> Iterator[Self]:
        """The best numbers of lanes and rows for either product. Raises CompileError for unsupported types."""
        root = the_root(kernel, RecurrenceOp)
        check_recurrence(root)
        inputs = best_for_input(root, target)
        for lanes, rows in SHAPES:
            yield cls(lanes, rows, *inputs)

    @override
    def cost(self, kernel: KernelOp, target: GpuAttr) -> float:
        """A launch for each step, and each product separately."""
        root = the_root(kernel, RecurrenceOp)
        phases = 2 if between_phases(root) else 1
        step = phases * LAUNCH + product_seconds(root, target, self.lanes, self.rows, of_input=False)
        first = LAUNCH + product_seconds(root, target, self.input_lanes, self.input_rows, of_input=True)
        return max(first + shape_of(root.x)[0] * step, memory_seconds(bytes_of(kernel), target))

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        return InterfaceAttr.of(scratch=self.scratch(kernel).together)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """The input products in the order of each direction's steps, states around a step, and temporaries."""
        root = the_root(kernel, RecurrenceOp)
        _, directions, batch, hidden = shape_of(root.y)
        element, states = element_type_of_value(root.y), (directions, batch, hidden)
        return ScratchLayout.of(
            shared=[
                input_products(root),
                *((name, element, (2, *states)) for name in states_of(root)),
                *((name, element, (1, *states)) for name in between_phases(root)),
            ]
        )


def blocks_of(units: int, lanes: int, of_rows: int, rows: int) -> int:
    """Number of blocks for all units and rows of one direction."""
    return -(-units * lanes // BLOCK) * -(-of_rows // rows)


def input_products(root: RecurrenceOp) -> tuple[str, Attribute, tuple[int, ...]]:
    """The part of the scratch with the input's share of all gates, in the order of each direction's steps."""
    steps, directions, batch, hidden = shape_of(root.y)
    return "from_input", element_type_of_value(root.y), (steps, directions, batch, root.GATES * hidden)


def best_for_input(root: RecurrenceOp, target: GpuAttr) -> tuple[int, int]:
    """Lanes and rows for the input products."""
    return min(SHAPES, key=lambda each: product_seconds(root, target, *each, of_input=True))


def product_seconds(root: RecurrenceOp, target: GpuAttr, lanes: int, rows: int, *, of_input: bool) -> float:
    """Seconds of the input products of all steps, or of one step's state products, without the launch."""
    steps, batch, inputs = shape_of(root.x)
    directions, hidden = shape_of(root.weight)[0], root.hidden.value.data
    depth, of_rows = (inputs, steps * batch) if of_input else (hidden, batch)
    vector = GpuAttr.ACCESS // item_bytes(root.y)
    vector = vector if depth % vector == 0 else 1
    rounds = -(-depth // (lanes * vector))
    levels = lanes.bit_length() - 1
    sums = root.GATES * rows
    blocks = max(1, directions * blocks_of(hidden, lanes, of_rows, rows))
    each = target.multiprocessors.data
    held = min(GpuAttr.THREADS // BLOCK, -(-blocks // each))
    cycles = target.gflops.data / (each * 256)  # per nanosecond: 128 multiply-adds each
    instructions = rounds * (sums * vector + 2 * (root.GATES + rows)) + sums * (2 * levels + 1) + 120
    issued = instructions * (BLOCK // 32) * held / 4
    waited = rounds * 150 + levels * 30 + 400  # of one warp: half of a wait for the second-level cache each round
    waves = -(-blocks // (held * each))
    weights = directions * root.GATES * hidden * depth * item_bytes(root.y)
    cached = cached_seconds(weights * -(-of_rows // rows), weights, target)
    return 2 * LATENCY + max(waves * max(issued, waited) / cycles * 1e-9, cached)
