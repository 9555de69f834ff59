"""Tiles of rows as boxes of a tensor, copied by the tensor memory accelerator, and a warp's fragments of them.

A tile in shared memory is [depth / line][rows][line], a box for each run of `line` depths, 128 bytes where the tile
has so many; units of 16 bytes are swizzled, so that eight rows' units at one depth lie in different banks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.ir import Attribute, Operation, SSAValue

from .....dialects.gpu.tensor_maps import MOST_DIMENSIONS, SWIZZLES, UNIT, alignment_of
from .....dialects.sizes.sizes import is_fixed
from ....kernel_code.arithmetic import bits_of
from ....kernel_code.loop_builder import Index
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import ThreadBuilder
from .operands import MatrixOperand, Operand


def fit_boxes(k: GpuKernel, grid: Grid, operand: Operand) -> bool:
    """Whether an operand is a tensor of which boxes can be copied: rows in one stride, all at multiples of 16 bytes."""
    if not isinstance(operand, MatrixOperand) or (matrices := operand.matrices) is None:
        return False
    itemsize, aligned = bits_of(operand.element) // 8, k.aligned[k.operands[grid.operands.index(_buffer(operand))]]
    if operand.depth_stride != 1 or len(operand.steps.sizes) != 1 or 0 in operand.steps.strides:
        return False
    places = [matrices.offset, *operand.steps.strides, *(stride for _, stride in _outer(operand))]
    whole = aligned % UNIT == 0 and is_fixed(*places) and all(each * itemsize % UNIT == 0 for each in places)
    return whole and len(_outer(operand)) + 2 <= MOST_DIMENSIONS


def _buffer(operand: MatrixOperand) -> SSAValue:
    """The kernel's argument, of which the line is a view."""
    owner = operand.line.owner
    assert isinstance(owner, Operation), "a line is a view"
    return owner.operands[0]


def _outer(operand: MatrixOperand) -> list[tuple[int, int]]:
    """Sizes and strides of what matrices are numbered by, but for what is the same for all."""
    assert operand.matrices is not None
    dims = operand.matrices.dims
    return [each for each in zip(dims.sizes, dims.strides, strict=True) if each[0] != 1 and each[1] != 0]


@dataclass
class RowBoxes:
    """The copies of tiles of `rows` x `depth` elements, from row `first` on, which zeros fill up."""

    b: ThreadBuilder
    operand: MatrixOperand
    rows: int
    depth: int
    stages: int
    first: Index
    shared: SSAValue = field(init=False)
    nbytes: int = field(init=False)
    line: int = field(init=False)
    """Elements of a box along the depth."""

    def __post_init__(self) -> None:
        b, operand, matrices = self.b, self.operand, self.operand.matrices
        assert matrices is not None
        itemsize = bits_of(operand.element) // 8
        swizzle = max(each for each in SWIZZLES.values() if each and self.depth * itemsize % each == 0)
        self.line, self.swizzle = swizzle // itemsize, swizzle
        shape = (self.stages, self.depth // self.line, self.rows, self.line)
        self.shared = b.shared(operand.element, shape, "left_tile", alignment=alignment_of(swizzle))
        self.nbytes = self.depth * self.rows * itemsize
        outer = _outer(operand)
        sizes = [*(size for size, _ in outer), operand.rows, operand.depth]
        strides = [*(stride for _, stride in outer), *operand.steps.strides, 1]
        tensor = b.view(_buffer(operand), matrices.offset, sizes, strides)
        self._map = b.tensor_map(tensor, [*[1] * len(outer), self.rows, self.line], swizzle, "rows")
        number = b.delinearize(matrices.number, matrices.dims.sizes)
        kept = zip(number, matrices.dims.sizes, matrices.dims.strides, strict=True)
        self._outer = [at for at, size, stride in kept if size != 1 and stride != 0]

    @property
    def element(self) -> Attribute:
        """The element type, in memory and here."""
        return self.operand.element

    def copy(self, start: Index, stage: Index, barriers: SSAValue) -> None:
        """Starts copying the tile at depth `start` to a stage, for its barrier; by one thread."""
        b = self.b

        def one(chunk: Index) -> None:
            at = [*self._outer, self.first, b.add(start, b.mul(chunk, self.line))]
            b.copy_box(self._map, at, self.shared, [stage, chunk, 0, 0], barriers, stage)

        b.unrolled(self.depth // self.line, one)


@dataclass
class BoxUnits:
    """A warp's 16 rows of a tile, from `first` on, for one product after the other.

    One ldmatrix loads the units at two depths of 16 rows: a fragment of numbers of 16 bits, or of tf32. Of f32 that are
    rounded to 16 bits it takes two, and the numbers of a pair are four depths apart.
    """

    b: ThreadBuilder
    boxes: RowBoxes
    first: Index
    lane: Index
    units: int
    """Units of 16 bytes of a product's depth: two or four."""

    def __post_init__(self) -> None:
        b, boxes = self.b, self.boxes
        self._row = b.named(b.add(self.first, b.rem(self.lane, 16)), "lane_row")
        self._line = boxes.swizzle // UNIT
        # Of whole runs of 128 bytes, the last bits of a row's number; those before the row are multiples of that.
        run = b.rem(b.div(b.rem(self.lane, 8), 128 // boxes.swizzle), self._line)
        self._moved = b.named(self._exclusive(b.index(b.div(self.lane, 16)), b.index(run)), "lane_unit")

    def load(self, stage: Index, step: Index, part: int) -> SSAValue:
        """Two of the units of a step, from number 2 * `part` on."""
        b, each = self.b, UNIT * 8 // bits_of(self.boxes.operand.element)
        unit = b.add(b.mul(step, self.units), 2 * part)
        at = self._exclusive(b.index(b.rem(unit, self._line)), b.index(self._moved))
        return b.ldmatrix(self.boxes.shared, [stage, b.div(unit, self._line), self._row, b.mul(at, each)], 4)

    def _exclusive(self, x: SSAValue, y: SSAValue) -> SSAValue:
        return self.b.make(arith.XOrIOp, x, y)
