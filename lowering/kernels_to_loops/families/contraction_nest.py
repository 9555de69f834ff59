"""A contraction as loops see it: sizes, and how each buffer is addressed by right-hand side, pixel and column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ....dialects.errors import CompileError
from ....dialects.graph import ConvOp, MatmulOp, describe, shape_of
from ....passes.geometry.boxes import row_major
from ....passes.kernels.forms.contraction import ContractionForm, conv_geometry
from ..instance import KernelInstance
from ..tiles.epilogue import Epilogue
from ..tiles.tiles import collapse
from ..writing.builder import Index, memref_type, strides_of


@dataclass(frozen=True)
class Access:
    """How a buffer is addressed: offset + right-hand side index + pixel index + column, in elements."""

    buffer: SSAValue
    offset: Index
    outer: tuple[int, ...]  # strides over right-hand sides
    pixels: tuple[int, ...]  # strides over pixel dimensions, the last one tiled
    column: int  # stride over columns (for a: over the inner sum)


@dataclass(frozen=True)
class FilterRows:
    """The vertical extent of a filter: `count` rows at `dilation`, `stride` input rows per pixel row."""

    count: int
    stride: int
    pad: int
    dilation: int
    height: int  # rows of the picture
    row: int  # elements from one picture row to the next
    clipped: bool  # whether some rows of the filter fall outside of the picture

    @classmethod
    def single(cls) -> FilterRows:
        """One row that is always inside."""
        return cls(1, 1, 0, 1, 1, 0, False)


@dataclass(frozen=True)
class Nest:
    """A contraction as the loops see it."""

    outer: tuple[int, ...]  # sizes: how many right-hand sides
    pixels: tuple[int, ...]  # sizes; the last dimension is cut into tiles
    columns: int
    depth: int  # length of the whole inner sum
    run: int  # contiguous part of it
    taps: tuple[int, int, int, int]  # filter columns, stride, pad, dilation
    tap_stride: int
    width: int | None  # of the picture's rows; None where no tap can fall outside
    rows: FilterRows
    a: Access
    out: Access
    operands: tuple[Access, ...]


def nest_of(k: KernelInstance, form: ContractionForm, epilogue: Epilogue) -> Nest:
    """The nest of a kernel's root, which writes its sums where the kernel's result is."""
    if isinstance(form.root, ConvOp):
        return conv_nest(k, form, epilogue, form.root)
    return matmul_nest(k, form, epilogue, form.root)


def aligned_strides(k: KernelInstance, value: SSAValue, rank: int) -> list[int]:
    """Strides of a kernel argument broadcast to `rank` dimensions: 0 where it is repeated."""
    shape, strides = shape_of(value), strides_of(memref_type(argument_buffer(k, value)))
    own = [0 if size == 1 else stride for size, stride in zip(shape, strides, strict=True)]
    return [0] * (rank - len(own)) + own


def argument_buffer(k: KernelInstance, value: SSAValue) -> SSAValue:
    """The buffer of a kernel argument; CompileError where the value is computed in the body."""
    buffer = k.buffer_of(value)
    if buffer is None:
        raise CompileError(f"{describe(k.kernel)} @{k.name}: its code can't read a value computed in the body")
    return buffer


def matmul_nest(k: KernelInstance, form: ContractionForm, epilogue: Epilogue, root: MatmulOp) -> Nest:
    out_shape = shape_of(root.results[0])
    rank, columns = len(out_shape), out_shape[-1]
    view = k.window(form.lhs)
    strides = [0 if size == 1 else stride for size, stride in zip(view.sizes, view.strides, strict=True)]
    depth_axis = -2 if root.transpose_a is not None else -1
    row_axis = -1 if root.transpose_a is not None else -2
    depth, depth_stride = view.sizes[depth_axis], view.strides[depth_axis]
    a = [0] * (rank - len(strides)) + strides[:-2] + [strides[row_axis]]
    # A right-hand side with matrices of its own per batch is walked in the outer loop, else batches are rows.
    batch = rhs_batch_strides(k, form, root, rank)
    outer = [axis for axis in range(rank - 2) if batch[axis] != 0 and out_shape[axis] != 1]
    inner = [axis for axis in range(rank - 1) if axis not in outer]
    operands = epilogue.operands
    out_strides = list(strides_of(memref_type(k.results[0])))
    aligned = [aligned_strides(k, value, rank) for value in operands]
    pixel_strides = [[table[axis] for axis in inner] for table in (a, out_strides, *aligned)]
    pixels, merged = collapse([out_shape[axis] for axis in inner], pixel_strides)

    def access(buffer: SSAValue, table: Sequence[int], pixel: Sequence[int], column: int, offset: int = 0) -> Access:
        return Access(buffer, offset, tuple(table[axis] for axis in outer), tuple(pixel), column)

    return Nest(
        outer=tuple(out_shape[axis] for axis in outer),
        pixels=tuple(pixels),
        columns=columns,
        depth=depth,
        run=depth,
        taps=(1, 1, 0, 1),
        tap_stride=0,
        width=None,
        rows=FilterRows.single(),
        a=access(view.base, a, merged[0], depth_stride, view.offset),
        out=access(k.results[0], out_strides, merged[1], 1),
        operands=tuple(
            access(argument_buffer(k, value), table, pixel, table[-1])
            for value, table, pixel in zip(operands, aligned, merged[2:], strict=True)
        ),
    )


def rhs_batch_strides(k: KernelInstance, form: ContractionForm, root: MatmulOp, rank: int) -> list[int]:
    """Strides of the right-hand side's batch dimensions, aligned to the result's."""
    if form.unpack is not None:
        return [0] * (rank - 2)
    view = k.window(root.rhs)
    own = [0 if size == 1 else stride for size, stride in zip(view.sizes, view.strides, strict=True)][:-2]
    return [0] * (rank - 2 - len(own)) + own


def conv_nest(
    k: KernelInstance, form: ContractionForm, epilogue: Epilogue, root: ConvOp, into: Access | None = None
) -> Nest:
    """The nest of a convolution, which writes to the kernel's result or, with its strides, `into` another buffer."""
    g = conv_geometry(root)
    channels, filters = g.channels // g.groups, g.filters // g.groups
    buffer = argument_buffer(k, form.lhs)
    (kh, kw), (sh, sw), (ph, pw), (dh, dw) = g.kernel, g.stride, g.pad, g.dilation
    image, row, column = _picture_strides(buffer)
    a = [image, sh * row, sw * column]
    sizes = [g.batch, g.out_height, g.out_width]
    out = list(into.pixels if into is not None else _picture_strides(k.results[0]))
    rank = len(shape_of(root.results[0]))
    operands = epilogue.operands
    aligned = [aligned_strides(k, value, rank) for value in operands]
    tables = [[t[0], t[1] if rank == 4 else 0, *t[-2:]] for t in aligned]
    pixel_strides = [a, out, *(table[:3] for table in tables)]
    pixels, merged = collapse(sizes, pixel_strides) if g.pointwise and into is None else (sizes, pixel_strides)
    grouped = g.groups > 1
    outer = (g.groups,) if grouped else ()

    def access(buffer: SSAValue, step: int, pixel: Sequence[int], column: int, offset: int = 0) -> Access:
        return Access(buffer, offset, (step,) if grouped else (), tuple(pixel), column)

    last_row = (g.out_height - 1) * sh + (kh - 1) * dh - ph
    last_column = (g.out_width - 1) * sw + (kw - 1) * dw - pw
    return Nest(
        outer=outer,
        pixels=tuple(pixels),
        columns=filters,
        depth=g.depth,
        run=channels,
        taps=(kw, sw, pw, dw),
        tap_stride=dw * column,
        width=None if pw == 0 and last_column < g.width else g.width,
        rows=FilterRows(kh, sh, ph, dh, g.height, row, ph > 0 or last_row >= g.height),
        a=access(buffer, channels, merged[0], 1, -pw * column - ph * row),
        out=access(k.results[0] if into is None else into.buffer, filters, merged[1], 1),
        operands=tuple(
            access(argument_buffer(k, value), filters * table[-1], pixel, table[-1])
            for value, table, pixel in zip(operands, tables, merged[2:], strict=True)
        ),
    )


def _picture_strides(buffer: SSAValue) -> tuple[int, int, int]:
    """Strides of [image, row, column] of a channels-last buffer; a 1-D one has a single row."""
    strides = strides_of(memref_type(buffer))
    return (strides[0], strides[1], strides[2]) if len(strides) == 4 else (strides[0], 0, strides[1])


def product(sizes: Sequence[int]) -> int:
    result = 1
    for size in sizes:
        result *= size
    return result


def outer_steps(sizes: Sequence[int], step: int) -> list[int]:
    """Row-major strides over `sizes` of blocks of `step` elements."""
    return [stride * step for stride in row_major(sizes)] if sizes else []
