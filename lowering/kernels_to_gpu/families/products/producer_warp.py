"""Products whose operands one warp copies while others multiply: a ring of stages with two barriers each.

the last warp:   for each tile: wait until its stage is free; announce the bytes; copy boxes of rows, and a panel's tile
all others:      for each tile: wait for its bytes; multiply; free its stage

Nobody meets all others in between, so that warpgroups get as far apart as there are stages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from .....dialects.gpu.warpgroup import WARPGROUP
from .....passes.kernels.schedules.cuda.wgmma import REGISTERS, Wgmma
from ....kernel_code.loop_builder import Index
from ...thread_builder import WARP, ThreadBuilder
from .bulk_copies import BulkCopy
from .row_boxes import RowBoxes


@dataclass
class Ring:
    """Stages for `tiles` tiles from depth `first` on, which a block's threads behind the multiplying ones copy."""

    b: ThreadBuilder
    thread: SSAValue
    schedule: Wgmma
    copies: tuple[RowBoxes, BulkCopy]
    first: Index
    tiles: int

    def __post_init__(self) -> None:
        stages = self.copies[0].stages
        self._copied, self._free = self.b.mbarriers(stages, "copied"), self.b.mbarriers(stages, "free")

    def prepare(self, share: Callable[[], None]) -> None:
        """Makes the barriers and what all threads share(), which all threads see behind this."""
        b = self.b

        def one(stage: Index) -> None:
            b.mbarrier_init(self._copied, stage, 1)
            b.mbarrier_init(self._free, stage, self.schedule.threads // WARP)

        def all_of_them() -> None:
            b.unrolled(self.copies[0].stages, one)
            b.mbarrier_fence()

        b.when(b.compare("eq", self.thread, 0), all_of_them)
        share()
        b.barrier()

    def write(
        self,
        compute: Callable[[Index], None],
        begin: Callable[[], object] | None,
        finish: Callable[[], object] | None,
    ) -> SSAValue:
        """begin(), compute(stage) for each tile, and finish(), by the threads that multiply; copies by the last warp.

        compute must end with a wait for its products. Returns whether the thread is one of those that multiply. A whole
        warpgroup that copies gives registers to them; so it must not run what needs many behind this.
        """
        b, others, gives = self.b, self.schedule.threads, self.schedule.copying == WARPGROUP

        def multiply(tile: Index, _: Sequence[SSAValue]) -> None:
            stage = b.named(b.rem(tile, self.copies[0].stages), "stage")
            b.mbarrier_wait(self._copied, stage, self._phase(tile, 1))
            compute(stage)
            b.when(b.compare("eq", b.rem(self.thread, WARP), 0), lambda: b.mbarrier_arrive(self._free, stage))

        def consume() -> None:
            if gives:
                b.set_registers("increase", REGISTERS[0])
            if begin is not None:
                begin()
            b.loop(0, self.tiles, multiply)
            if finish is not None:
                finish()

        def produce() -> None:
            if gives:
                b.set_registers("decrease", REGISTERS[1])
            b.when(b.compare("eq", self.thread, others), lambda: b.loop(0, self.tiles, self._copy))

        is_other = b.compare("slt", self.thread, others)
        b.when(is_other, consume, produce)
        return is_other

    def _copy(self, tile: Index, _: Sequence[SSAValue]) -> None:
        b = self.b
        stage = b.named(b.rem(tile, self.copies[0].stages), "stage")
        b.mbarrier_wait(self._free, stage, self._phase(tile, 0))
        b.mbarrier_expect(self._copied, stage, sum(each.nbytes for each in self.copies))
        for each in self.copies:
            each.copy(b.add(self.first, b.mul(tile, self.copies[0].depth)), stage, self._copied)

    def _phase(self, tile: Index, parity: int) -> SSAValue:
        """That of the barriers for a tile. A wait for the phase before the first one is none."""
        b = self.b
        return b.compare("eq", b.rem(b.div(tile, self.copies[0].stages), 2), parity)
