"""Tiles of operands in shared memory: `stages` of them, each copied by all threads of a block while others are used.

A tile lies as its operand does: [rows][depth] or [depth][rows], with lines a few elements longer than they need be, so
that those that are read together lie in different banks. What shared memory holds as it lies in memory comes by
asynchronous copies; what is converted on the way comes through registers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xdsl.ir import Attribute, SSAValue

from ....kernel_code.arithmetic import bits_of, convert
from ....kernel_code.builder import INDEX, Index, vector_of
from ...builder import ThreadBuilder
from .operands import Operand

_COPIED = (32, 64, 128)  # bits that an asynchronous copy may have


@dataclass
class TileCopy:
    """The copies of one operand's tiles of `rows` x `depth` elements, from row `first` on, by `threads` threads.

    `element` is what shared memory holds; `pad` is by how much its lines are longer. `masked` says that tiles are asked
    for that end behind the depth, where all is zero.
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
    name: str
    shared: SSAValue = field(init=False)
    _rows: list[Index] = field(init=False)
    _fetched: SSAValue | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        b, operand = self.b, self.operand
        self.shared = b.shared(self.element, (self.stages, self.lines, self.line + self.pad))
        self.shared.name_hint = f"{self.name}_tile"
        self._line = b.named(b.div(self.thread, self.per_line), f"{self.name}_line")
        self._at = b.named(b.mul(b.rem(self.thread, self.per_line), self.vector), f"{self.name}_at")
        if self.by_depth:
            self._rows = self._states()
        else:
            row = self._clamped(b.add(self.first, self._at), self.vector)
            self._rows = list(operand.row(b, row))
        if not self.asynchronous:
            self._fetched = b.private(vector_of(operand.element, self.vector), [self.count])
            self._fetched.name_hint = f"{self.name}_next"

    @property
    def by_depth(self) -> bool:
        """Whether lines run along the depth."""
        return self.operand.by_depth

    @property
    def vector(self) -> int:
        """Elements of one copy."""
        return self.operand.vector

    @property
    def line(self) -> int:
        """Elements of a line."""
        return self.depth if self.by_depth else self.rows

    @property
    def lines(self) -> int:
        """Lines of a tile."""
        return self.rows if self.by_depth else self.depth

    @property
    def per_line(self) -> int:
        """Copies of a line."""
        return self.line // self.vector

    @property
    def step(self) -> int:
        """Lines that all threads copy at once."""
        return max(1, self.threads // self.per_line)

    @property
    def count(self) -> int:
        """Copies of each thread."""
        return -(-self.lines // self.step)

    @property
    def asynchronous(self) -> bool:
        """Whether the copies go past the registers."""
        same = self.operand.element == self.element
        return same and self.vector * bits_of(self.element) in _COPIED

    def begin(self, start: Index, stage: Index) -> None:
        """Begin to copy the tile at depth `start` to a stage."""
        b, operand = self.b, self.operand
        own = b.named(b.add(start, self._at), "depth") if self.by_depth else 0
        tap = operand.tap(b, own) if self.by_depth else ()

        def copy(i: Index) -> None:
            line = b.add(self._line, b.mul(i, self.step))
            if self.by_depth:
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
        """Put what has been fetched where it belongs; threads see it after a barrier."""
        if self._fetched is None:
            return
        b, fetched = self.b, self._fetched

        def put(i: Index) -> None:
            value = convert(b, b.load(fetched, [i]), self.operand.element, self.element)
            b.vstore(value, self.shared, [stage, b.add(self._line, b.mul(i, self.step)), self._at])

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
        if self._fetched is None:
            some = None if valid is None else b.select(valid, b.index(self.vector), b.index(0))
            b.copy_async(operand.line, [at], self.shared, to, self.vector, some)
            return
        kind = vector_of(operand.element, self.vector)

        def read() -> SSAValue:
            return b.vload(operand.line, [at], self.vector)

        value = read() if valid is None else b.when(valid, lambda: [read()], lambda: [b.constant(0, kind)])[0]
        b.store(value, self._fetched, [i])

    def _clamped(self, row: Index, neighbours: int) -> Index:
        """A row that there is: behind the last one that is read again, for results that nobody stores."""
        if self.operand.rows % self.rows == 0:
            return row
        return self.b.min(row, self.operand.rows - neighbours)

    def _states(self) -> list[Index]:
        """What is known of each of this thread's rows: a number, or a private array where there are several rows."""
        b, arrays = self.b, list[SSAValue]()

        def one(i: Index) -> tuple[Index, ...]:
            row = b.add(self.first, b.add(self._line, b.mul(i, self.step)))
            return self.operand.row(b, self._clamped(row, 1))

        if self.count == 1:
            return list(one(0))
        for name in self.operand.facts:
            arrays.append(b.private(INDEX, [self.count]))
            arrays[-1].name_hint = f"{self.name}_{name}"

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
    copies: Sequence[TileCopy],
    first: Index,
    tiles: int,
    compute: Callable[[Index], None],
) -> None:
    """compute(stage) for each of `tiles` tiles from depth `first` on, while the next ones are on their way.

    before:  begin the first stages - 1 tiles
    each:    wait for its tile; barrier: all have it, and none uses the one before; begin the tile that takes the
             place of that one; compute; put what came through registers into its place
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
        begin(tile, tile)
        close()
        finish(tile)

    b.unrolled(min(ahead, tiles), start)
    for _ in range(min(ahead, tiles), ahead):
        close()

    def step(tile: Index, _: Sequence[SSAValue]) -> None:
        if waits:
            b.wait_groups(ahead - 1)
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
    """body(i) for i in [0, count), two of them written out.

    All of them take the compiler nearly twice as long, and more registers in some kernels; other warps have work while
    one waits at a loop's end.
    """
    if count % 2:
        b.unrolled(count, body)
        return
    b.loop(0, count // 2, lambda pair, _: b.unrolled(2, lambda i: body(b.add(b.mul(pair, 2), i))))
