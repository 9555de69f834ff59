"""Copies rows of a matrix in global memory to shared memory tile by tile, by all threads of a block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import MemRefType
from xdsl.ir import SSAValue

from .....dialects.graph.values import numpy_dtype
from .....dialects.sizes.sizes import is_fixed
from ....kernel_code.arithmetic import Arithmetic, convert, loaded, scalar_of
from ....kernel_code.loop_builder import Index, memref_type
from ....kernel_code.operand_windows import OperandWindow
from ...gpu_kernel import GpuKernel, Grid

MOST_UNROLLED = 16  # copies of a thread whose code is written out, so that all of them start at once


def is_aligned(k: GpuKernel, grid: Grid, window: OperandWindow, lanes: int) -> bool:
    """Whether every row of a window is contiguous and aligned to so many elements."""
    type = memref_type(window.buffer)
    assert isinstance(type, MemRefType)
    itemsize = numpy_dtype(type.element_type).itemsize
    numbers = [*k.operands, *k.results]
    address = k.aligned[numbers[[*grid.operands, *grid.results].index(window.buffer)]]
    steps = [each * itemsize for each in (window.offset, *window.strides[:-1])]
    return window.strides[-1] == 1 and all(each % (lanes * itemsize) == 0 for each in (address, *steps))


@dataclass(frozen=True)
class SharedRows:
    """Tiles of `tile` rows out of `rows` rows of `size` elements.

    Shared memory holds `columns` elements of each row, a multiple of `lanes`: zero-padded after a row's last element
    and after the last row. `aligned` rows are copied asynchronously, `lanes` elements at a time. Elements narrower than
    those of shared memory are widened on their way, and multiplied by the `scale` of their row, [rows, 1].
    """

    grid: Grid
    source: SSAValue
    rows: int
    size: int
    destination: SSAValue
    tile: int
    columns: int
    lanes: int
    aligned: bool
    scale: SSAValue | None = None

    def copy(self, first: Index, to: Index) -> None:
        """Copies rows from `first` on to rows of shared memory from `to` on."""
        b, block = self.grid.b, self.grid.block
        step = self.lanes if self.aligned else 1
        count = self.columns // step
        turns = self.tile * count // block

        def one(i: Index, column: Index) -> None:
            self._one(b.add(first, i), b.mul(column, step), b.add(to, i))

        def item(number: Index, _: Sequence[SSAValue]) -> None:
            one(*b.delinearize(number, [self.tile, count]))

        if not is_fixed(count) or block % count or self.tile * count % block or turns > MOST_UNROLLED:
            b.loop(self.grid.lane, self.tile * count, item, step=block)
            return
        line, column = b.delinearize(self.grid.lane, [block // count, count])
        b.unrolled(turns, lambda turn: one(b.add(line, b.mul(turn, block // count)), column))

    def _one(self, row: Index, column: Index, to: Index) -> None:
        b = self.grid.b
        ragged_rows, ragged = self.rows % self.tile != 0, self.columns != self.size
        here = b.min(row, self.rows - 1) if ragged_rows else row
        within = b.min(column, self.size - (self.lanes if self.aligned else 1)) if ragged else column
        exists = b.compare("slt", row, self.rows) if ragged_rows else None
        if ragged:
            inside = b.compare("slt", column, self.size)
            exists = inside if exists is None else b.conjunction(exists, inside)
        wide = memref_type(self.destination).element_type
        if self.aligned and memref_type(self.source).element_type == wide:
            valid = None if exists is None else b.select(exists, b.index(self.lanes), b.index(0))
            b.copy_async(self.source, [here, within], self.destination, [to, column], self.lanes, valid)
            return
        lanes = self.lanes if self.aligned else 1
        value = b.vload(self.source, [here, within], lanes) if self.aligned else b.load(self.source, [here, within])
        value = convert(b, loaded(b, value), scalar_of(value.type), wide)
        if self.scale is not None:
            factor = b.load(self.scale, [here, 0])
            value = Arithmetic(b, value.type).mul(value, b.splat(factor, lanes) if self.aligned else factor)
        if exists is not None:
            value = b.select(exists, value, b.constant(0.0, value.type))
        if self.aligned:
            b.vstore(value, self.destination, [to, column])
        else:
            b.store(value, self.destination, [to, column])
