"""Addressing of a product's operands: the position in a buffer of (row, depth).

Columns of the right-hand side are called rows here, so that both operands have one interface. An operand is read in
vectors of `vector` elements along its depth or along its rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute, SSAValue

from .....dialects.errors import CompileError
from .....dialects.graph.base import describe
from .....dialects.graph.ops.contraction import ConvOp, MatmulOp
from .....dialects.graph.packing.packings import FilterPacking, MatrixPacking
from .....passes.kernels.forms.contraction import ContractionForm, ConvGeometry, conv_geometry
from .....passes.kernels.forms.product import never_leaves, product_shape
from ....kernel_code.arithmetic import bits_of, convert
from ....kernel_code.loop_builder import Index, memref_type, strides_of, vector_of
from ....kernel_code.merged_axes import collapse, picture_strides
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import ACCESS, ThreadBuilder

WIDEST = 4
"""The most elements in one load that are computed with."""


@dataclass(frozen=True)
class StridedDims:
    """A mixed-radix counter: dimensions with strides, indexed by one linear number."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], strides: Sequence[int]) -> StridedDims:
        """Merges adjacent dimensions that one stride covers."""
        merged, (steps,) = collapse(sizes, [strides])
        return cls(tuple(merged), tuple(steps))

    def offset(self, b: ThreadBuilder, number: Index) -> Index:
        """The offset for a linear number."""
        return b.linear(b.delinearize(number, self.sizes), self.strides)

    def runs(self, lanes: int) -> bool:
        """Whether aligned groups of `lanes` consecutive numbers are contiguous and cross no dimension."""
        return self.strides[-1] == 1 and self.sizes[-1] % lanes == 0 and self.keeps(lanes, but_last=True)

    def keeps(self, lanes: int, *, but_last: bool = False) -> bool:
        """Whether all offsets are multiples of `lanes`."""
        return all(stride % lanes == 0 for stride in (self.strides[:-1] if but_last else self.strides))


@dataclass(frozen=True)
class Operand(ABC):
    """One operand; `line` is its buffer in one dimension, `start` the first element of this thread's matrix."""

    line: SSAValue
    start: Index
    rows: int
    depth: int
    vector: int
    by_depth: bool
    """Whether adjacent elements lie along the depth."""

    facts: ClassVar[tuple[str, ...]] = ("place",)
    """What `row` returns, by name."""

    @property
    def element(self) -> Attribute:
        """The element type in memory."""
        return memref_type(self.line).element_type

    @property
    def fill(self) -> int:
        """The number that stands for elements that don't exist."""
        return 0

    @property
    def is_copied(self) -> bool:
        """Whether numbers are the elements in memory, and zero where these don't exist: what copies are."""
        return self.fill == 0

    def fetched(self) -> list[Attribute]:
        """The types of what `fetch` gives."""
        return [vector_of(self.element, self.vector)]

    def fetch(self, b: ThreadBuilder, at: Index) -> list[SSAValue]:
        """What is read from memory for `vector` elements from a position on."""
        return [b.vload(self.line, [at], self.vector)]

    def made(self, b: ThreadBuilder, fetched: Sequence[SSAValue], element: Attribute) -> list[SSAValue]:
        """The elements that were fetched, as vectors of a type one after the other."""
        return [convert(b, fetched[0], self.element, element)]

    @abstractmethod
    def row(self, b: ThreadBuilder, row: Index) -> tuple[Index, ...]:
        """The part of the address that depends on the row only."""

    @abstractmethod
    def tap(self, b: ThreadBuilder, depth: Index) -> tuple[Index, ...]:
        """The part of the address that depends on the depth only."""

    @abstractmethod
    def place(self, b: ThreadBuilder, row: tuple[Index, ...], tap: tuple[Index, ...]) -> tuple[Index, SSAValue | None]:
        """The element's position in the line, and the condition for it to exist (else it is `fill`)."""


@dataclass(frozen=True)
class Matrices:
    """Where a matrix starts in its buffer: at element `offset`, and for its `number` further on."""

    offset: int
    dims: StridedDims
    number: Index


@dataclass(frozen=True)
class MatrixOperand(Operand):
    """A matrix with a stride for each dimension of its rows, and one for its depth."""

    steps: StridedDims
    depth_stride: int
    matrices: Matrices | None = field(default=None, kw_only=True)

    @override
    def row(self, b: ThreadBuilder, row: Index) -> tuple[Index, ...]:
        return (b.add(self.start, self.steps.offset(b, row)),)

    @override
    def tap(self, b: ThreadBuilder, depth: Index) -> tuple[Index, ...]:
        return (b.mul(depth, self.depth_stride),)

    @override
    def place(self, b: ThreadBuilder, row: tuple[Index, ...], tap: tuple[Index, ...]) -> tuple[Index, SSAValue | None]:
        return b.add(row[0], tap[0]), None


@dataclass(frozen=True)
class PictureOperand(Operand):
    """An image read as a matrix (im2col).

    Row (n, y, x) at depth (ky, kx, c) is channel c of the pixel (n, y * stride + ky * dilation - pad, ...), and
    `outside`, mostly 0, outside of the image.
    """

    geometry: ConvGeometry
    strides: tuple[int, int, int]  # strides of image, row and column
    inside: tuple[bool, bool]  # whether all taps are in range, along height and width
    outside: int = 0
    facts: ClassVar[tuple[str, ...]] = ("place", "top", "left")

    @property
    @override
    def fill(self) -> int:
        return 0 if all(self.inside) else self.outside

    @override
    def row(self, b: ThreadBuilder, row: Index) -> tuple[Index, ...]:
        g = self.geometry
        image, y, x = b.delinearize(row, (g.batch, g.out_height, g.out_width))
        top, left = (b.add(b.mul(at, g.stride[i]), -g.pad[i]) for i, at in enumerate((y, x)))
        return b.add(self.start, b.linear((image, top, left), self.strides)), top, left

    @override
    def tap(self, b: ThreadBuilder, depth: Index) -> tuple[Index, ...]:
        g = self.geometry
        down, right, channel = b.delinearize(depth, (g.kernel[0], g.kernel[1], g.channels // g.groups))
        down, right = (b.mul(at, g.dilation[i]) for i, at in enumerate((down, right)))
        return b.linear((down, right, channel), (*self.strides[1:], 1)), down, right

    @override
    def place(self, b: ThreadBuilder, row: tuple[Index, ...], tap: tuple[Index, ...]) -> tuple[Index, SSAValue | None]:
        g, condition = self.geometry, None
        for inside, start, step, size in zip(self.inside, row[1:], tap[1:], (g.height, g.width), strict=True):
            if not inside:  # one unsigned comparison, which also rejects negative numbers
                within = b.compare("ult", b.add(start, step), size)
                condition = within if condition is None else b.conjunction(condition, within)
        return b.add(row[0], tap[0]), condition


def left_operand(k: GpuKernel, grid: Grid, form: ContractionForm, batch: Index, widest: int = WIDEST) -> Operand:
    """The left-hand side, or the image, of the batch's product, read in at most `widest` elements."""
    b, root, shape = grid.b, form.root, product_shape(form.root)
    if isinstance(root, MatmulOp):
        view = grid.window(form.rows)
        strides = _aligned(view.sizes, view.strides, len(shape.outer) + len(shape.inner) + 1)
        if root.transpose_a is not None:
            strides[-1], strides[-2] = strides[-2], strides[-1]
        outer = StridedDims(shape.outer_sizes, tuple(strides[axis] for axis in shape.outer))
        rows = StridedDims.of(shape.inner_sizes, [strides[axis] for axis in shape.inner])
        sizes = shape.rows, shape.depth
        return _matrix(k, grid, view.base, view.offset, outer, batch, rows, sizes, strides[-1], widest)
    g, buffer = conv_geometry(root), _buffer(grid, form.lhs)
    image, row, column = picture_strides(buffer)
    groups = StridedDims((g.groups,), (g.channels // g.groups,))
    if g.pointwise:
        rows = StridedDims.of((g.batch, g.out_height, g.out_width), (image, row * g.stride[0], column * g.stride[1]))
        return _matrix(k, grid, buffer, 0, groups, batch, rows, (shape.rows, shape.depth), 1, widest)
    strides = (image, row, column)
    lanes = _lanes(k, grid, buffer, widest)
    while lanes > 1 and any(step % lanes != 0 for step in (g.channels // g.groups, *strides)):
        lanes //= 2
    start = groups.offset(b, batch)
    sizes, inside = (shape.rows, shape.depth), never_leaves(root)
    return PictureOperand(_line(grid, buffer), start, *sizes, lanes, True, g, strides, inside, root.padding)


def right_operand(k: GpuKernel, grid: Grid, form: ContractionForm, batch: Index, widest: int = WIDEST) -> Operand:
    """The right-hand side, or the packed filters, of the batch's product, read in at most `widest` elements."""
    root, shape = form.root, product_shape(form.root)
    sizes = shape.columns, shape.depth
    packing = None if form.unpack is None else form.unpack.packing.packing
    turned = isinstance(packing, FilterPacking | MatrixPacking) and packing.transposed
    if isinstance(root, ConvOp):
        if form.unpack is None:
            raise CompileError(f"{describe(root)}: its weight is not packed; run pack-weights first")
        buffer = _buffer(grid, form.rhs)
        group, first, second = strides_of(memref_type(buffer))
        depth, column = (second, first) if turned else (first, second)
        outer, rows = StridedDims(shape.outer_sizes, (group,)), StridedDims((shape.columns,), (column,))
        return _matrix(k, grid, buffer, 0, outer, batch, rows, sizes, depth, widest)
    view = grid.window(form.rhs)
    strides = _aligned(view.sizes, view.strides, len(shape.outer) + len(shape.inner) + 1)
    if turned != (root.transpose_b is not None):
        strides[-1], strides[-2] = strides[-2], strides[-1]
    outer = StridedDims(shape.outer_sizes, tuple(strides[axis] for axis in shape.outer))
    rows = StridedDims((shape.columns,), (strides[-1],))
    return _matrix(k, grid, view.base, view.offset, outer, batch, rows, sizes, strides[-2], widest)


def _aligned(sizes: Sequence[int], strides: Sequence[int], rank: int) -> list[int]:
    """Strides for `rank` dimensions; 0 where the operand is broadcast."""
    own = [0 if size == 1 else stride for size, stride in zip(sizes, strides, strict=True)]
    return [0] * (rank - len(own)) + own


def _matrix(
    k: GpuKernel,
    grid: Grid,
    buffer: SSAValue,
    offset: int,
    outer: StridedDims,
    batch: Index,
    rows: StridedDims,
    sizes: tuple[int, int],
    depth_stride: int,
    widest: int,
) -> MatrixOperand:
    """A matrix operand, read in the widest vectors that its layout allows."""
    lanes = _lanes(k, grid, buffer, widest)
    by_depth = depth_stride == 1 or rows.strides[-1] != 1
    while lanes > 1 and not (
        outer.keeps(lanes)
        and offset % lanes == 0
        and (
            (depth_stride == 1 and sizes[1] % lanes == 0 and rows.keeps(lanes))
            if by_depth
            else (rows.runs(lanes) and depth_stride % lanes == 0)
        )
    ):
        lanes //= 2
    start = grid.b.add(offset, outer.offset(grid.b, batch))
    matrices, line = Matrices(offset, outer, batch), _line(grid, buffer)
    return MatrixOperand(line, start, *sizes, lanes, by_depth, rows, depth_stride, matrices=matrices)


def _lanes(k: GpuKernel, grid: Grid, buffer: SSAValue, widest: int) -> int:
    """The most elements of a buffer that one load can have, up to `widest`."""
    type = memref_type(buffer)
    aligned = k.aligned[k.operands[grid.operands.index(buffer)]]
    return max(1, min(widest, min(aligned, ACCESS) * 8 // bits_of(type.element_type)))


def _line(grid: Grid, buffer: SSAValue) -> SSAValue:
    type = memref_type(buffer)
    strides = strides_of(type)
    extent = 1 + sum((size - 1) * stride for size, stride in zip(type.get_shape(), strides, strict=True))
    return grid.b.view(buffer, 0, [extent], [1])


def line_of(grid: Grid, value: SSAValue) -> SSAValue:
    """The buffer of a kernel's argument in one dimension."""
    return _line(grid, _buffer(grid, value))


def _buffer(grid: Grid, value: SSAValue) -> SSAValue:
    buffer = grid.buffer_of(value)
    assert buffer is not None
    return buffer


def read_numbers(
    b: ThreadBuilder, operand: Operand, row: tuple[Index, ...], tap: tuple[Index, ...], lanes: int
) -> SSAValue:
    """Adjacent elements of an operand as f32 (a scalar for one lane); zeros out of range."""
    place, valid = operand.place(b, row, tap)

    def load(at: Index) -> SSAValue:
        return b.load(operand.line, [at]) if lanes == 1 else b.vload(operand.line, [at], lanes)

    if valid is None:
        value = load(place)
    else:
        kind = operand.element if lanes == 1 else vector_of(operand.element, lanes)
        value = b.when(valid, lambda: [load(place)], lambda: [b.constant(0.0, kind)])[0]
    return convert(b, value, operand.element, f32)
