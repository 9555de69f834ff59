"""The recurrence schedule: one thread per direction and batch element, weights in packed panels.

Scratch for each thread holds the input's share of all gates, [steps, 4 hidden], and one step's gates, output and cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from typing_extensions import override
from xdsl.dialects.builtin import f32, f64

from .....dialects.errors import CompileError
from .....dialects.graph import KernelOp, LstmOp, describe, element_type_of_value, shape_of
from .....dialects.kernel import InterfaceAttr, TargetAttr
from ...kernel_facts import argument_index, item_bytes, the_root
from ..schedule import Schedule, TileSize
from ..scratch import ScratchLayout

# Panels whose sums are kept in registers together: one panel of two registers would wait for each multiply-add,
# which takes four cycles at two per cycle on Zen 5.
PANELS_AT_ONCE = 4


@dataclass(frozen=True)
class Recurrence(Schedule):
    """The input's share of all steps first, then one step after the other."""

    name = "recurrence"

    mr: TileSize
    """Rows of a tile of the input's product."""
    nr: TileSize
    """Columns of a panel of weights."""
    lanes: TileSize
    """Elements of one register."""
    at_once: TileSize
    """Panels whose sums are kept in registers together."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: TargetAttr) -> Iterator[Self]:
        """Tile sizes from the target's registers; CompileError where there is no code."""
        root = the_root(kernel, LstmOp)
        element = element_type_of_value(root.y)
        if element not in (f32, f64):
            raise CompileError(f"{describe(root)}: an LSTM on {element} has no code; only f32 and f64 do")
        if 0 in shape_of(root.x)[::2]:
            steps, _, inputs = shape_of(root.x)
            raise CompileError(
                f"{describe(root)}: a sequence of {steps} steps of {inputs} elements leaves nothing to do"
            )
        lanes = target.lanes(8 * item_bytes(root.y))
        yield cls(max(1, (target.registers.data - 3) // 2), 2 * lanes, lanes, PANELS_AT_ONCE)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        root = the_root(kernel, LstmOp)
        packed = [argument_index(kernel, value) for value in (root.weight, root.recurrence)]
        return InterfaceAttr.of(packed=packed, per_thread=self.scratch(kernel).per_thread)

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """The input's share of the gates of all steps; one step's gates, output and cell."""
        root = the_root(kernel, LstmOp)
        hidden, steps, element = root.hidden.value.data, shape_of(root.x)[0], element_type_of_value(root.y)
        shapes = {"from_input": (steps, 4 * hidden), "gates": (4 * hidden,), "h": (hidden,), "c": (hidden,)}
        return ScratchLayout.of((name, element, shape) for name, shape in shapes.items())
