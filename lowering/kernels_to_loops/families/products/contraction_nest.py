"""The loop nest of a contraction: sizes, and the addressing of each buffer by right-hand side, pixel and column.

It is derived from shapes and strides alone, before code is built. Loop counts and strides are extents
(kernel_code/extents.py), so that kernels that differ only in them share a function.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from .....dialects.errors import CompileError
from .....dialects.graph.base import describe
from .....dialects.graph.ops.contraction import ConvOp, MatmulOp
from .....dialects.graph.values import shape_of
from .....dialects.sizes.sizes import pinned
from .....passes.kernels.forms.contraction import ContractionForm, conv_geometry
from ....kernel_code.extents import Extent, extents
from ....kernel_code.loop_builder import Index, memref_type, strides_of
from ....kernel_code.merged_axes import collapse, picture_strides
from ...kernel_instance import KernelInstance
from ...tiles.fused_ops import FusedOps
from ...tiles.tile_classes import TileClass, tile_classes

SCRATCH = -1  # the place after those of a kernel's buffers


@dataclass(frozen=True)
class Access:
    """Affine addressing of a buffer: offset + right-hand side index + pixel index + column, in elements.

    `buffer` is the number of a place: see KernelInstance.places.
    """

    buffer: int
    offset: Index
    outer: tuple[Index, ...]  # strides over right-hand sides
    pixels: tuple[Index, ...]  # strides over pixel dimensions, the last one tiled
    column: Index  # stride over columns (for a: over the contracted dimension)


@dataclass(frozen=True)
class FilterRows:
    """The vertical extent of a filter: `count` rows at `dilation`, `stride` input rows per output row."""

    count: Index
    stride: Index
    pad: Index
    dilation: Index
    height: Index  # rows of the image
    row: Index  # stride of image rows in elements
    clipped: bool  # whether some filter rows can fall outside of the image

    @classmethod
    def single(cls) -> FilterRows:
        """A filter with one row, always inside."""
        return cls(1, 1, 0, 1, 1, 0, False)


@dataclass(frozen=True)
class Nest:
    """The loop nest of a contraction.

    `taps` is the number of filter columns, and `side_by_side` whether a pixel's taps are contiguous in memory.
    `classes` are the tiles of a row of pixels.
    """

    outer: tuple[Index, ...]  # number of right-hand sides
    pixels: tuple[Index, ...]  # sizes of the pixel dimensions; the last is tiled
    columns: Index
    depth: Index  # total length of the contracted dimension
    run: Index  # length of its contiguous part
    taps: int
    tap_stride: Index
    side_by_side: bool
    rows: FilterRows
    classes: tuple[TileClass, ...]
    a: Access
    out: Access
    operands: tuple[Access, ...]
    bias: int | None  # the argument's position


def nest_of(k: KernelInstance, form: ContractionForm, epilogue: FusedOps, mr: int) -> Nest:
    """The nest of a kernel's root in tiles of at most `mr` rows; the target of its sums is the kernel's result."""
    if isinstance(form.root, ConvOp):
        return conv_nest(k, form, epilogue, form.root, mr)
    return matmul_nest(k, form, epilogue, form.root, mr)


def aligned_strides(k: KernelInstance, value: SSAValue, rank: int) -> list[int]:
    """Strides of a kernel argument broadcast to `rank` dimensions: 0 where it is repeated."""
    shape, strides = shape_of(value), strides_of(memref_type(argument_buffer(k, value)))
    own = [0 if size == 1 else stride for size, stride in zip(shape, strides, strict=True)]
    return [0] * (rank - len(own)) + own


def argument_buffer(k: KernelInstance, value: SSAValue) -> SSAValue:
    """The buffer of a kernel argument. Raises CompileError for a value computed in the body."""
    buffer = k.buffer_of(value)
    if buffer is None:
        raise CompileError(f"{describe(k.kernel)} @{k.name}: its code can't read a value computed in the body")
    return buffer


def access(
    k: KernelInstance, buffer: SSAValue, outer: Sequence[int], pixels: Sequence[int], column: int, offset: int = 0
) -> Access:
    """The addressing of one of the kernel's buffers, from strides in elements."""
    return Access(k.buffers.index(buffer), Extent(offset), extents(outer), extents(pixels), Extent(column))


def matmul_nest(k: KernelInstance, form: ContractionForm, epilogue: FusedOps, root: MatmulOp, mr: int) -> Nest:
    """The nest of a matrix product."""
    out_shape = shape_of(root.results[0])
    rank = len(out_shape)
    view = k.window(form.lhs)
    strides = [0 if size == 1 else stride for size, stride in zip(view.sizes, view.strides, strict=True)]
    depth_axis = -2 if root.transpose_a is not None else -1
    row_axis = -1 if root.transpose_a is not None else -2
    depth, depth_stride = view.sizes[depth_axis], view.strides[depth_axis]
    a = [0] * (rank - len(strides)) + strides[:-2] + [strides[row_axis]]
    # A right-hand side that is batched iterates in the outer loop; otherwise batch entries are further rows.
    packed = form.unpack is not None or form.blocks is not None
    batch = [0] * (rank - 2) if packed else rhs_batch_strides(k, root, rank)
    outer = [axis for axis in range(rank - 2) if batch[axis] != 0 and out_shape[axis] != 1]
    inner = [axis for axis in range(rank - 1) if axis not in outer]
    operands = epilogue.operands
    out_strides = list(strides_of(memref_type(k.results[0])))
    aligned = [aligned_strides(k, value, rank) for value in operands]
    pixel_strides = [[table[axis] for axis in inner] for table in (a, out_strides, *aligned)]
    pixels, merged = collapse([out_shape[axis] for axis in inner], pixel_strides)

    def at(buffer: SSAValue, table: Sequence[int], pixel: Sequence[int], column: int, offset: int = 0) -> Access:
        return access(k, buffer, [table[axis] for axis in outer], pixel, column, offset)

    return Nest(
        outer=extents([out_shape[axis] for axis in outer]),
        pixels=extents(pixels),
        columns=Extent(shape_of(form.stored)[-1]),
        depth=Extent(depth),
        run=Extent(depth),
        taps=1,
        tap_stride=0,
        side_by_side=True,
        rows=FilterRows.single(),
        classes=tuple(tile_classes(k.b, pixels[-1], mr)),
        a=at(view.base, a, merged[0], depth_stride, view.offset),
        out=at(k.results[0], out_strides, merged[1], 1),
        operands=tuple(
            at(argument_buffer(k, value), table, pixel, table[-1])
            for value, table, pixel in zip(operands, aligned, merged[2:], strict=True)
        ),
        bias=None,
    )


def rhs_batch_strides(k: KernelInstance, root: MatmulOp, rank: int) -> list[int]:
    """Strides of the right-hand side's batch dimensions, aligned to the result's."""
    view = k.window(root.rhs)
    own = [0 if size == 1 else stride for size, stride in zip(view.sizes, view.strides, strict=True)][:-2]
    return [0] * (rank - 2 - len(own)) + own


def conv_nest(
    k: KernelInstance,
    form: ContractionForm,
    epilogue: FusedOps,
    root: ConvOp,
    mr: int,
    into: Access | None = None,
    source: Access | None = None,
) -> Nest:
    """The nest of a convolution, with the kernel's result as target or, with its strides, the buffer `into`.

    A 1x1 convolution may read another `source` than the kernel's operand.
    """
    g = conv_geometry(root)
    channels, filters = g.channels // g.groups, g.filters // g.groups
    (sh, sw), (ph, pw), (dh, dw) = g.stride, g.pad, g.dilation
    kh, kw = map(pinned, g.kernel)
    image, row, column = (0, 0, 0) if source is not None else picture_strides(argument_buffer(k, form.lhs))
    a = [image, sh * row, sw * column]
    sizes = [g.batch, g.out_height, g.out_width]
    out = list(picture_strides(k.results[0])) if into is None else [0, 0, 0]
    rank = len(shape_of(root.results[0]))
    operands = epilogue.operands
    aligned = [aligned_strides(k, value, rank) for value in operands]
    tables = [[t[0], t[1] if rank == 4 else 0, *t[-2:]] for t in aligned]
    pixel_strides = [a, out, *(table[:3] for table in tables)]
    pixels, merged = (sizes, pixel_strides)
    if g.pointwise and into is None and source is None:
        pixels, merged = collapse(sizes, pixel_strides)
    grouped = g.groups > 1

    def at(buffer: SSAValue, step: int, pixel: Sequence[int], column: int, offset: int = 0) -> Access:
        return access(k, buffer, [step] if grouped else [], pixel, column, offset)

    last_row = (g.out_height - 1) * sh + (kh - 1) * dh - ph
    last_column = (g.out_width - 1) * sw + (kw - 1) * dw - pw
    width = None if pw == 0 and last_column < g.width else g.width
    return Nest(
        outer=extents([g.groups] if grouped else []),
        pixels=extents(pixels),
        columns=Extent(filters),
        depth=Extent(g.depth),
        run=Extent(channels),
        taps=kw,
        tap_stride=Extent(dw * column),
        side_by_side=dw * column == channels,
        rows=FilterRows(*extents([kh, sh, ph, dh, g.height, row]), clipped=ph > 0 or last_row >= g.height),
        classes=tuple(tile_classes(k.b, pixels[-1], mr, kw, sw, pw, dw, width)),
        a=source or at(argument_buffer(k, form.lhs), channels, merged[0], 1, -pw * column - ph * row),
        out=at(k.results[0], filters, merged[1], 1) if into is None else into,
        operands=tuple(
            at(argument_buffer(k, value), filters * table[-1], pixel, table[-1])
            for value, table, pixel in zip(operands, tables, merged[2:], strict=True)
        ),
        bias=None if form.bias is None else k.buffers.index(argument_buffer(k, form.bias)),
    )
