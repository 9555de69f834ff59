"""Shared parts of the row schedules: number of passes, buffering in registers, cost."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import cast

from xdsl.dialects.builtin import FixedBitwidthType, i32
from xdsl.ir import Attribute

from .....dialects.graph.ops.indexing import GatherOp
from .....dialects.graph.ops.normalization import RmsNormOp
from .....dialects.graph.ops.reduction import ArgExtremumOp, CumulativeOp, ReduceOp
from .....dialects.graph.ops.structure import KernelOp
from .....dialects.graph.values import shape_of
from .....dialects.kernel.kernel_attributes import InterfaceAttr
from .....dialects.kernel.targets import GpuAttr
from .....dialects.sizes.sizes import bounds_of
from ...element_flow import same_place_pairs
from ...forms.rows import RowForm, row_form, the_row_form
from ...kernel_facts import all_operands, all_results, item_bytes
from ..scratch import ScratchLayout
from .cost import arithmetic_seconds, bytes_of, occupied, resident_blocks, stream_seconds
from .tuning import LATENCY, LAUNCH, ROWS_IN_FLIGHT, ROWS_KEPT_WORDS


def rows_for(kernel: KernelOp, *, along: bool) -> RowForm | None:
    """The form of a supported kernel, with rows along the innermost axis or across it; None for others."""
    form = row_form(kernel)
    return form if form is not None and form.along == along and form.rows > 0 else None


def reduced_types(form: RowForm) -> list[Attribute]:
    """The types of the values to which a row is reduced, for each reducing pass."""
    match form.root:
        case CumulativeOp():
            return []
        case ReduceOp() | RmsNormOp():
            return [form.number]
        case ArgExtremumOp():
            return [form.number, i32]
        case _:
            return [form.number, form.number]


def keeps_in_registers(form: RowForm, threads: int, vector: int = 1) -> bool:
    """Whether rows are read once: several passes need them, and `threads` have registers for them."""
    passes = len(reduced_types(form)) + form.keeps_shape
    words = max(1, cast("FixedBitwidthType", form.number).bitwidth // 32)
    return passes > 1 and -(-bounds_of(form.length)[1] // threads) * words * vector <= ROWS_KEPT_WORDS


def splits(form: RowForm, rows: int, threads: int, target: GpuAttr) -> Iterator[int]:
    """Numbers of parts into which rows may be split, each for a block of its own.

    Only if there are too few rows for all multiprocessors, and each part still has several elements per thread.
    """
    yield 1
    most = min(target.WARP, 4 * target.multiprocessors.data // rows, form.length // (4 * threads))
    parts = 2
    while parts <= most and reduced_types(form):
        yield parts
        parts *= 2


def partial_sums(form: RowForm, parts: int) -> ScratchLayout:
    """Scratch for the partial results of split rows, [parts of each row] for each pass; none for whole rows."""
    if parts == 1:
        return ScratchLayout()
    types = enumerate(reduced_types(form))
    return ScratchLayout.of(shared=[(f"pass{number}", type, (form.rows * parts,)) for number, type in types])


def interface_of(kernel: KernelOp, scratch: ScratchLayout) -> InterfaceAttr:
    """Any strides; in place over an operand of which each element is read at the position being written."""
    form = the_row_form(kernel)
    return InterfaceAttr.of(
        inplace=same_place_pairs(kernel, (form.root,) if form.keeps_shape else ()),
        strided_operands=all_operands(kernel),
        strided_results=all_results(kernel),
        scratch=scratch.together,
    )


def seconds(
    kernel: KernelOp,
    target: GpuAttr,
    *,
    blocks: int,
    block: int,
    threads: int,
    parts: int,
    exchange: float,
    vector: int = 1,
) -> float:
    """Time of a kernel in which groups of `vector` rows have `threads` threads, in `parts` blocks."""
    form = the_row_form(kernel)
    reductions = len(reduced_types(form))
    launches = reductions + 1 if parts > 1 else 1
    kept = parts == 1 and keeps_in_registers(form, threads, vector)
    again = 0 if kept else reductions + form.keeps_shape - 1
    size = item_bytes(form.root.x)
    # What is read again mostly comes from the second-level cache, at about twice the speed.
    x = prod(shape_of(form.root.x)) * size
    nbytes = bytes_of(kernel) + again * x / 2
    each = -(-form.length // (threads * parts)) * vector
    share = occupied(blocks, resident_blocks(block), target)
    work = max(
        stream_seconds(nbytes, x, blocks, block, min(ROWS_IN_FLIGHT, each * size), target),
        arithmetic_seconds(kernel, target, max(share, 1e-6)),
    )
    # Rows of a table are read once their numbers are.
    waits = again + any(isinstance(op, GatherOp) for op in kernel.body.block.ops)
    return launches * LAUNCH + work + waits * LATENCY + reductions * exchange
