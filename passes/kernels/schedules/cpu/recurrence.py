"""The recurrence schedule: one thread per direction and batch element, weights in packed panels.

Scratch for each thread holds the input's share of all gates, [steps, 4 hidden], and one step's gates, output and cell.
"""

from __future__ import annotations

from xdsl.dialects.builtin import f32, f64

from .....dialects.errors import CompileError
from .....dialects.graph import KernelOp, LstmOp, describe, element_type_of_value, shape_of
from .....dialects.kernel import InterfaceAttr, ScheduleAttr, TargetAttr
from ...kernel_facts import argument_index

# Panels whose sums are kept in registers together: one panel of two registers would wait for each multiply-add,
# which takes four cycles at two per cycle on Zen 5.
PANELS_AT_ONCE = 4


def schedule(kernel: KernelOp, target: TargetAttr) -> tuple[ScheduleAttr, InterfaceAttr]:
    """Tile sizes from the target's registers; CompileError where there is no code."""
    root = next(op for op in kernel.body.block.ops if isinstance(op, LstmOp))
    element = element_type_of_value(root.y)
    if element not in (f32, f64):
        raise CompileError(f"{describe(root)}: an LSTM on {element} has no code; only f32 and f64 do")
    packed = [argument_index(kernel, value) for value in (root.weight, root.recurrence)]
    if 0 in shape_of(root.x)[::2]:
        steps, _, inputs = shape_of(root.x)
        raise CompileError(f"{describe(root)}: a sequence of {steps} steps of {inputs} elements leaves nothing to do")
    size = 4 if element == f32 else 8
    lanes = target.lanes(8 * size)
    hidden, steps = root.hidden.value.data, shape_of(root.x)[0]
    per_thread = -(-(steps * 4 * hidden + 6 * hidden + 4 * lanes) * size // 64) * 64
    options = {
        "mr": max(1, (target.registers.data - 3) // 2),
        "nr": 2 * lanes,
        "lanes": lanes,
        "panels": PANELS_AT_ONCE,
        "bytes": size,
    }
    return ScheduleAttr.of("recurrence", **options), InterfaceAttr.of(packed=packed, per_thread=per_thread)
