"""Multi-stage copies of packed tiles to shared memory: one bulk copy each, started by the block's first thread.

The packing is that in which tensor cores read shared memory (CoreMatrixPacking), so that a tile is one run of bytes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xdsl.ir import SSAValue

from .....dialects.errors import CompileError
from .....dialects.graph.base import describe
from .....dialects.graph.packing.core_matrices import CoreMatrixPacking
from .....passes.kernels.forms.contraction import ContractionForm
from ....kernel_code.arithmetic import bits_of
from ....kernel_code.loop_builder import Index, memref_type
from ...gpu_kernel import GpuKernel, Grid
from ...thread_builder import ACCESS, ThreadBuilder


@dataclass
class BulkCopy:
    """The copies of a panel's tiles of `depth` depths, from element `start` of the packed weight on.

    A tile in shared memory is [depth / chunk][columns][chunk], as it lies in memory. Each stage has a barrier.
    """

    b: ThreadBuilder
    line: SSAValue
    start: Index
    columns: int
    chunk: int
    depth: int
    stages: int
    thread: SSAValue
    shared: SSAValue = field(init=False)
    nbytes: int = field(init=False)
    asynchronous: bool = field(init=False, default=True)

    def __post_init__(self) -> None:
        b, element = self.b, memref_type(self.line).element_type
        shape = (self.stages, self.depth // self.chunk, self.columns, self.chunk)
        self.shared = b.shared(element, shape, "right_tile")
        self.nbytes = self.depth * self.columns * bits_of(element) // 8

    def prepare(self) -> None:
        """Makes barriers of its own, for copies by the block's first thread."""
        b = self.b
        self._barriers = b.mbarriers(self.stages, "copied")
        self._first = b.compare("eq", self.thread, 0)

        def prepare() -> None:
            b.unrolled(self.stages, lambda stage: b.mbarrier_init(self._barriers, stage, 1))
            b.mbarrier_fence()

        b.when(self._first, prepare)
        b.barrier()

    def begin(self, start: Index, stage: Index) -> None:
        """Starts copying the tile at depth `start` to a stage."""
        b = self.b

        def copy() -> None:
            b.mbarrier_expect(self._barriers, stage, self.nbytes)
            self.copy(start, stage, self._barriers)

        b.when(self._first, copy)

    def copy(self, start: Index, stage: Index, barriers: SSAValue) -> None:
        """The same by one thread, for the stage's barrier."""
        b, count = self.b, self.depth * self.columns
        at = b.add(self.start, b.mul(start, self.columns))
        b.copy_bulk(self.line, [at], self.shared, [stage, 0, 0, 0], barriers, stage, count)

    def finish(self, stage: Index) -> None:
        """Nothing goes through registers."""

    def wait(self, tile: Index) -> None:
        """Waits for a tile; every thread does. A stage's barrier goes through one phase for each tile."""
        b = self.b
        odd = b.compare("eq", b.rem(b.div(tile, self.stages), 2), 1)
        b.mbarrier_wait(self._barriers, b.rem(tile, self.stages), odd)


def bulk_copy(k: GpuKernel, grid: Grid, form: ContractionForm, panel: Index, depth: int, stages: int) -> BulkCopy:
    """The copies of a panel of the packed right-hand side; panels are numbered through all groups."""
    packing = form.unpack.packing.packing if form.unpack is not None else None
    if not isinstance(packing, CoreMatrixPacking):
        raise CompileError(f"{describe(form.root)}: its weight is not packed as core matrices; run pack-weights first")
    b, buffer = grid.b, grid.argument(form.rhs)
    assert k.aligned[k.operands[grid.operands.index(buffer)]] == ACCESS, "weights begin at cache lines"
    groups, panels, chunks, columns, chunk = memref_type(buffer).get_shape()
    size = chunks * columns * chunk
    return BulkCopy(
        b=b,
        line=b.view(buffer, 0, [groups * panels * size], [1]),
        start=b.named(b.mul(panel, size), "panel_start"),
        columns=columns,
        chunk=chunk,
        depth=depth,
        stages=stages,
        thread=grid.lane,
    )
