"""Multi-stage copies of operand tiles to shared memory by all threads of a block.

A tile has its operand's orientation, [rows][depth] or [depth][rows], with padded lines that avoid bank conflicts.
Elements copied unchanged use asynchronous copies; converted ones go through registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Attribute, SSAValue

from .....dialects.extensions.replace import scalar_of, shaped_like
from .....dialects.sizes.sizes import is_fixed
from ....kernel_code.arithmetic import bits_of, signless, stored
from ....kernel_code.loop_builder import INDEX, Index
from ...thread_builder import ThreadBuilder
from .bulk_copies import BulkCopy
from .operands import Operand

_COPIED = (32, 64, 128)  # sizes in bits of asynchronous copies


@dataclass
class TileCopy:
    """The copies of one operand's tiles of `rows` x `depth` elements, from row `first` on, by `threads` threads.

    `element` is the type in shared memory; `pad` is the padding of lines in elements. `masked`: tiles may extend beyond
    the depth, where they are zero. `turns`: lines in shared memory run along the depth, even where the operand's don't.
    """

    b: ThreadBuilder
    operand: Operand
    element: Attribute
    rows: int
    depth: int
    stages: int
    pad: int
    threads: int
    thread: SSAValue
    first: Index
    masked: bool
    turns: bool
    name: str
    shared: SSAValue = field(init=False)
    _rows: list[Index] = field(init=False)
    _fetched: list[SSAValue] = field(init=False, default_factory=list[SSAValue])

    def __post_init__(self) -> None:
        b, operand = self.b, self.operand
        lines, line = (self.rows, self.depth) if self.by_depth else (self.depth, self.rows)
        self.shared = b.shared(self.element, (self.stages, lines, line + self.pad), f"{self.name}_tile")
        self._line = b.named(b.div(self.thread, self.per_line), f"{self.name}_line")
        self._at = b.named(b.mul(b.rem(self.thread, self.per_line), self.vector), f"{self.name}_at")
        if self.operand.by_depth:
            self._rows = self._states()
        else:
            row = self._clamped(b.add(self.first, self._at), self.vector)
            self._rows = list(operand.row(b, row))
        if not self.asynchronous:
            self._fetched = [b.private(type, [self.count], f"{self.name}_next") for type in operand.fetched()]

    @property
    def by_depth(self) -> bool:
        """Whether lines in shared memory run along the depth."""
        return self.operand.by_depth or self.turns

    @property
    def is_turned(self) -> bool:
        """Whether they run across those of the operand."""
        return self.by_depth != self.operand.by_depth

    @property
    def vector(self) -> int:
        """Elements of one copy."""
        return self.operand.vector

    @property
    def line(self) -> int:
        """Elements of a line of the operand."""
        return self.depth if self.operand.by_depth else self.rows

    @property
    def lines(self) -> int:
        """Lines of the operand in a tile."""
        return self.rows if self.operand.by_depth else self.depth

    @property
    def per_line(self) -> int:
        """Copies per line."""
        return self.line // self.vector

    @property
    def step(self) -> int:
        """Lines that all threads copy at once."""
        return max(1, self.threads // self.per_line)

    @property
    def count(self) -> int:
        """Copies per thread."""
        return -(-self.lines // self.step)

    @property
    def asynchronous(self) -> bool:
        """Whether copies are asynchronous, bypassing registers; these fill up with zeros."""
        same = self.operand.element == self.element and self.operand.is_copied
        return same and not self.is_turned and self.vector * bits_of(self.element) in _COPIED

    def begin(self, start: Index, stage: Index) -> None:
        """Starts copying the tile at depth `start` to a stage."""
        b, operand = self.b, self.operand
        own = b.named(b.add(start, self._at), "depth") if operand.by_depth else 0
        tap = operand.tap(b, own) if operand.by_depth else ()

        def copy(i: Index) -> None:
            line = b.add(self._line, b.mul(i, self.step))
            if operand.by_depth:
                depth, (at, valid) = own, operand.place(b, self._state(i), tap)
            else:
                depth = b.add(start, line)
                at, valid = operand.place(b, tuple(self._rows), operand.tap(b, depth))
            if self.masked:
                within = b.compare("slt", depth, operand.depth)
                valid = within if valid is None else b.conjunction(valid, within)
            self._copy(i, at, valid, [stage, line, self._at])

        self._each(copy)

    def finish(self, stage: Index) -> None:
        """Stores the elements that went through registers; a barrier makes them visible."""
        if not self._fetched:
            return
        b = self.b

        def put(i: Index) -> None:
            made = self.operand.made(b, [b.load(each, [i]) for each in self._fetched], self.element)
            line = b.add(self._line, b.mul(i, self.step))
            for number, value in enumerate(made):
                lanes = self.vector // len(made)
                at = b.add(self._at, number * lanes)
                if not self.is_turned:
                    b.vstore(value, self.shared, [stage, line, at])
                for lane in range(lanes if self.is_turned else 0):
                    b.store(b.extract(value, lane), self.shared, [stage, b.add(at, lane), line])

        self._each(put)

    def _each(self, body: Callable[[Index], None]) -> None:
        """body(i) for each line of this thread."""
        b, used = self.b, self.per_line * min(self.step, self.lines)
        if used == self.threads and self.lines % self.step == 0:
            b.unrolled(self.count, body)
            return

        def guarded(i: Index) -> None:
            line = b.add(self._line, b.mul(i, self.step))
            inside = b.compare("slt", line, self.lines)
            if self.per_line * self.step != self.threads:
                inside = b.conjunction(inside, b.compare("slt", self._line, self.step))
            b.when(inside, lambda: body(i))

        b.unrolled(self.count, guarded)

    def _copy(self, i: Index, at: Index, valid: SSAValue | None, to: Sequence[Index]) -> None:
        b, operand = self.b, self.operand
        if valid is not None:
            at = b.select(valid, b.index(at), b.index(0))
        if not self._fetched:
            some = None if valid is None else b.select(valid, b.index(self.vector), b.index(0))
            b.copy_async(operand.line, [at], self.shared, to, self.vector, some)
            return

        def read() -> list[SSAValue]:
            return operand.fetch(b, at)

        values = read() if valid is None else b.when(valid, read, self._filled)
        for value, fetched in zip(values, self._fetched, strict=True):
            b.store(value, fetched, [i])

    def _filled(self) -> list[SSAValue]:
        """What is fetched of elements that don't exist."""
        b, fill, found = self.b, self.operand.fill, list[SSAValue]()
        for type in self.operand.fetched():
            element = scalar_of(type)
            found.append(stored(b, b.constant(fill, shaped_like(signless(element), type)), element))
        return found

    def _clamped(self, row: Index, neighbours: int) -> Index:
        """The row, clamped to the last one: results of rows out of range are never stored."""
        if self.operand.rows % self.rows == 0:
            return row
        return self.b.min(row, self.operand.rows - neighbours)

    def _states(self) -> list[Index]:
        """The row-dependent address parts of this thread's rows: one value, or a private array for several rows."""
        b, arrays = self.b, list[SSAValue]()

        def one(i: Index) -> tuple[Index, ...]:
            row = b.add(self.first, b.add(self._line, b.mul(i, self.step)))
            return self.operand.row(b, self._clamped(row, 1))

        if self.count == 1:
            return list(one(0))
        for name in self.operand.facts:
            arrays.append(b.private(INDEX, [self.count], f"{self.name}_{name}"))

        def note(i: Index) -> None:
            for value, array in zip(one(i), arrays, strict=True):
                b.store(b.index(value), array, [i])

        b.unrolled(self.count, note)
        return list(arrays)

    def _state(self, i: Index) -> tuple[Index, ...]:
        if self.count == 1:
            return tuple(self._rows)
        return tuple(self.b.load(array, [i]) for array in self._rows if isinstance(array, SSAValue))


def write_pipeline(
    b: ThreadBuilder,
    copies: Sequence[TileCopy | BulkCopy],
    first: Index,
    tiles: int,
    compute: Callable[[Index], None],
    meanwhile: Callable[[], None] | None = None,
) -> None:
    """Software pipeline: compute(stage) for each of `tiles` tiles from depth `first` on, while later ones are copied.

    before:  start copying the first stages - 1 tiles; what is done `meanwhile`
    each:    wait for its tile; barrier (all threads have it, and none uses the previous tile); start copying the tile
      that replaces the previous one; compute; store what went through registers
    """
    stages, depth = copies[0].stages, copies[0].depth
    ahead = stages - 1
    waits = any(copy.asynchronous for copy in copies)

    def begin(tile: Index, stage: Index) -> None:
        for copy in copies:
            copy.begin(b.add(first, b.mul(tile, depth)), stage)

    def finish(stage: Index) -> None:
        for copy in copies:
            copy.finish(stage)

    def close() -> None:
        if waits:
            b.close_group()

    def start(tile: Index) -> None:
        there = None if is_fixed(tiles) else b.compare("slt", tile, tiles)
        b.where(there, lambda: begin(tile, tile))
        close()
        b.where(there, lambda: finish(tile))

    first_ones = min(ahead, tiles) if is_fixed(tiles) else ahead
    b.unrolled(first_ones, start)
    for _ in range(first_ones, ahead):
        close()
    if meanwhile is not None:
        meanwhile()

    def step(tile: Index, _: Sequence[SSAValue]) -> None:
        if waits:
            b.wait_groups(ahead - 1)
        for copy in copies:
            if isinstance(copy, BulkCopy):
                copy.wait(tile)
        b.barrier()
        following = b.named(b.add(tile, ahead), "following")
        stage = b.named(b.rem(following, stages), "free_stage")
        more = b.compare("slt", following, tiles)
        b.when(more, lambda: begin(following, stage))
        close()
        compute(b.named(b.rem(tile, stages), "stage"))
        if not all(copy.asynchronous for copy in copies):
            b.when(more, lambda: finish(stage))

    b.loop(0, tiles, step)


def in_pairs(b: ThreadBuilder, count: int, body: Callable[[Index], None]) -> None:
    """body(i) for i in [0, count), unrolled by two.

    Full unrolling takes the CUDA compiler nearly twice as long, and more registers in some kernels; other warps hide
    the loop overhead.
    """
    if count % 2:
        b.unrolled(count, body)
        return
    b.loop(0, count // 2, lambda pair, _: b.unrolled(2, lambda i: body(b.add(b.mul(pair, 2), i))))
