"""The recurrence schedule: one thread per direction and block of batch elements, weights in packed panels.

A block's elements share each panel of the recurrent weights that is read, so they are as many as two register tiles
have rows, but no more than leave work for all threads.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import Self

from typing_extensions import override

from .....dialects.graph.ops.recurrence import RecurrenceOp
from .....dialects.graph.ops.structure import KernelOp
from .....dialects.graph.packing.packings import PanelPacking
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import CpuAttr
from .....dialects.sizes.sizes import now
from ....cost_model import bytes_of, moving_seconds, seconds
from ...forms.recurrence import between_phases, check_recurrence, states_of
from ...kernel_facts import argument_index, item_bytes, the_root
from ..schedule import Schedule, TileSize
from ..scratch import ScratchLayout
from .products.tiled_product import beside_float_sums
from .tuning import RECURRENCE_PANELS_AT_ONCE, RECURRENCE_TILES_AT_ONCE


@dataclass(frozen=True)
class Recurrence(Schedule[CpuAttr]):
    """The input products of all steps first, then step by step."""

    forms = ("recurrence",)

    mr: TileSize
    """Rows of a register tile."""
    nr: TileSize
    """Columns of a panel of weights."""
    lanes: TileSize
    """Elements of one register."""
    at_once: TileSize
    """Panels whose sums are kept in registers together."""
    rows: TileSize = 1
    """Batch elements of a block."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """Tile sizes from the target's registers. Raises CompileError for unsupported types."""
        root = the_root(kernel, RecurrenceOp)
        check_recurrence(root)
        lanes = target.lanes(8 * item_bytes(root.y))
        mr = max(1, (target.registers.data - beside_float_sums(target)) // 2)
        directions, batch = shape_of(root.y)[1:3]
        share = max(1, -(-directions * batch // target.threads.data))
        most = min(RECURRENCE_TILES_AT_ONCE * mr, share)
        blocks = max(1, -(-batch // most))
        rows = max(1, -(-batch // blocks))
        yield cls(mr, 2 * lanes, lanes, min(RECURRENCE_PANELS_AT_ONCE, max(1, mr // rows)), rows)

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        """The input products; and per step and block the larger of loading and multiplying the recurrent weights."""
        root = the_root(kernel, RecurrenceOp)
        directions, batch = map(now, shape_of(root.y)[1:3])
        steps = directions * now(shape_of(root.x)[0])
        weights = bytes_of(root.recurrence) // directions
        recurrent = 2 * batch * prod(shape_of(root.recurrence)[1:]) / target.gflops.data * 1e-9
        waiting = moving_seconds(weights, target, -(-batch // self.rows)) - recurrent
        return seconds(kernel, target) + steps * max(0.0, waiting)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        root = the_root(kernel, RecurrenceOp)
        packing = PanelPacking(self.nr, transposed=True)
        packed = {argument_index(kernel, value): packing for value in (root.weight, root.recurrence)}
        return InterfaceAttr.of(packed=packed, per_thread=self.scratch(kernel).per_thread)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """One step's products, the input products of all steps, and the cell's states."""
        root = the_root(kernel, RecurrenceOp)
        hidden, steps, element = root.hidden.value.data, shape_of(root.x)[0], element_type_of_value(root.y)
        width = root.GATES * hidden
        kept = (*states_of(root), *between_phases(root))
        shapes = {
            "products": (self.rows, -(-width // self.nr) * self.nr),
            "from_input": (steps, self.rows, width),
            **dict.fromkeys(kept, (self.rows, hidden)),
        }
        return ScratchLayout.of((name, element, shape) for name, shape in shapes.items())
