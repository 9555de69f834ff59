"""The contraction schedule: register tiles of `mr` rows by `nr` columns.

The right-hand side lies in panels of `nr` columns: packed ahead by pack-weights where it is a weight or a filter, by
the kernel itself into scratch, a panel at a time, where it is a matrix that is computed. A tile holds mr x nr sums in
registers over the whole inner sum; `nr` is two vector registers, and mr the most that leaves room for the panel's row
and one broadcast: 14 x 32 for 32 registers of 512 bits, 6 x 16 for 16 of 256. Both reach 95-100 % of the FMA peak
(measured on Zen 5, K >= 64), so nothing is blocked further.
"""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import f32

from .....dialects.graph import (
    AbsOp,
    AddOp,
    ClipOp,
    ConvOp,
    HardSigmoidOp,
    KernelOp,
    LeakyReluOp,
    MatmulOp,
    MaxOp,
    MaxPoolOp,
    MinOp,
    MulOp,
    NegOp,
    ReluOp,
    SubOp,
    element_type_of_value,
    ints,
    shape_of,
)
from .....dialects.kernel import InterfaceAttr, ScheduleAttr, TargetAttr
from ...element_flow import same_place_pairs
from ...forms.contraction import ContractionForm, contraction_form
from ...kernel_facts import argument_index, constant_operands, plain_operands

# Epilogues of more operations than this run in a second pass over the tile instead of once per register: code
# size and compile time grow with rows x operations (14 x 9 of them took LLVM 0.4 s on Zen 5). Ops that are not one
# instruction count as many.
INLINE_EPILOGUE = 6
CACHE_LINE = 64  # bytes
BLOCK_TILES = 4  # tiles of a left-hand side that is computed: the panels are read once for all of them
CHEAP = (AddOp, SubOp, MulOp, NegOp, ReluOp, ClipOp, MaxOp, MinOp, AbsOp, HardSigmoidOp, LeakyReluOp)


def schedule(kernel: KernelOp, target: TargetAttr) -> tuple[ScheduleAttr, InterfaceAttr]:
    """Tile sizes from the target's registers; scratch for one panel per thread where nothing is packed ahead."""
    form = contraction_form(kernel)
    element = element_type_of_value(form.root.results[0])
    size = 4 if element == f32 else 8
    lanes = target.lanes(8 * size)
    nr = 2 * lanes
    mr = max(1, (target.registers.data - 3) // 2)
    packed = _packed_operands(kernel, form)
    per_thread = 0 if packed else _panel_bytes(form.root, nr, size)
    extra: dict[str, int] = {}
    if form.pool is not None:
        extra["band"], per_thread = _band(form, form.pool, size, target)
    elif form.prologue:
        *rows, depth = shape_of(form.lhs)
        fitting = target.l2.data // 2 // (depth * size)
        extra["block"] = max(1, min(BLOCK_TILES * mr, prod(rows), fitting))
        per_thread = -(-extra["block"] * depth * size // CACHE_LINE) * CACHE_LINE
    inline = runs_inline(form)
    # Rows are addressed by their own strides on both sides; a packed panel copies those of a computed one.
    readers = [form.root, *form.prologue, *form.epilogue]
    interface = InterfaceAttr.of(
        strided_operands=[operand for operand in plain_operands(kernel, readers) if operand not in packed],
        strided_results=[0],
        inplace=same_place_pairs(kernel) if inline else [],
        packed=packed,
        per_thread=per_thread,
    )
    # While a packed panel is used, the next one is asked for, a cache line of elements at a time: with weights that
    # are not in the cache this took MobileNet-v2 from 3.01 to 2.83 ms, and ResNet-50 a few percent down, on Zen 5.
    prefetch = CACHE_LINE // size if packed else 0
    options = {"mr": mr, "nr": nr, "lanes": lanes, "inline": int(inline), "prefetch": prefetch, **extra}
    return ScheduleAttr.of("contraction", **options), interface


def _band(form: ContractionForm, pool: MaxPoolOp, size: int, target: TargetAttr) -> tuple[int, int]:
    """How many pooled rows are made at a time, and the bytes of the rows of the convolution that they need.

    As many as a quarter of the second-level cache holds, because a band computes the rows it shares with the next
    one again; but every thread should get a band.
    """
    _, _, width, channels = shape_of(pool.x)
    images, height = shape_of(pool.result)[:2]
    window, stride = ints(pool.kernel)[0], ints(pool.strides)[0]
    row = width * channels * size
    fitting = (target.l2.data // 4 // row - window) // stride + 1
    band = max(1, min(fitting, height, -(-images * height // target.threads.data)))
    return band, -(-((band - 1) * stride + window) * row // CACHE_LINE) * CACHE_LINE


def runs_inline(form: ContractionForm) -> bool:
    """Whether the epilogue is short enough to run on the sums in registers."""
    return sum(1 if isinstance(op, CHEAP) else INLINE_EPILOGUE + 1 for op in form.epilogue) <= INLINE_EPILOGUE


def _packed_operands(kernel: KernelOp, form: ContractionForm) -> list[int]:
    """A filter, and a right-hand side that is a weight and one matrix, not seen through a view."""
    if isinstance(form.root, MatmulOp):
        weights = [kernel.arguments[position] for position in constant_operands(kernel)]
        if len(shape_of(form.root.rhs)) != 2 or form.rhs not in weights:
            return []
    return [argument_index(kernel, form.rhs)]


def _panel_bytes(root: MatmulOp | ConvOp, nr: int, size: int) -> int:
    """One panel of a right-hand side that is computed, in whole cache lines."""
    assert isinstance(root, MatmulOp)  # a convolution's filter is always packed in front of it
    depth = shape_of(root.lhs)[-2 if root.transpose_a is not None else -1]
    return -(-depth * nr * size // CACHE_LINE) * CACHE_LINE
