"""Recurrent layers: the input's share of the gates of all steps in one launch, then a launch for each step.

    from_input[step] = x w^T + bias of w; states = initial ones, or zeros
    for each step: for each phase of the cell:
        sums[gates, rows] of a unit = state r^T       parts of the depth in some lanes, added up by shuffles
        c, h, .. = cell(from_input[step], sums)       a lane for each row

All steps are one function, which is given the step's part of `from_input` and `y` and the states before and after it.
The input's share lies in the order of each direction's steps. Directions are blocks of one grid.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from typing_extensions import override
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, SSAValue

from ....dialects.graph.recurrence import LstmOp, RecurrenceOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....passes.kernels.forms.recurrence import between_phases, states_of
from ....passes.kernels.kernel_facts import argument_index, item_bytes, the_root
from ....passes.kernels.schedules.cuda.steps import BLOCK, Steps, blocks_of
from ...kernels_to_loops.families.recurrence_cells import CellPhase, Unit, phases_of
from ...kernels_to_loops.writing.arithmetic import Arithmetic
from ...kernels_to_loops.writing.builder import Index
from ..builder import ACCESS, ThreadBuilder
from ..instance import GpuKernel, Grid, Window, Written


def lower(k: GpuKernel) -> None:
    """Write the kernel's launches."""
    _Writer(k, the_root(k.kernel, RecurrenceOp)).write()


@dataclass(frozen=True)
class _Share:
    """What a thread does: some rows of one direction from `first` on, of the unit; `lane` of `lanes` do the same."""

    direction: Index
    first: Index
    unit: Index
    lane: Index
    lanes: int
    rows: int


class _Writer:
    def __init__(self, k: GpuKernel, root: RecurrenceOp) -> None:
        self.k, self.root = k, root
        self.options = k.schedule_as(Steps)
        self.steps, self.directions, self.batch, self.hidden = shape_of(root.y)
        self.inputs = shape_of(root.x)[2]
        self.width = root.GATES * self.hidden
        self.element = element_type_of_value(root.y)
        self.states, self.between = states_of(root), between_phases(root)

    def write(self) -> None:
        if self.directions * self.batch * self.hidden == 0:
            return
        k, o = self.k, self.options
        initial = [self._state(name, 0) for name in self.states]
        rows = max(1, self.steps * self.batch)
        blocks = self.directions * blocks_of(self.hidden, o.input_lanes, rows, o.input_rows)
        k.launch(blocks, BLOCK, self._begin, part="inputs", windows=initial)
        phases = phases_of(self.root)
        written: list[Written] = []
        for step in range(self.steps):
            windows = list(self._windows(step).values())
            for number, phase in enumerate(phases):
                if step:
                    k.repeat(written[number], windows)
                    continue
                blocks = self.directions * blocks_of(self.hidden, o.lanes, self.batch, o.rows)
                part = "step" if len(phases) == 1 else f"step_{number}"
                written.append(k.launch(blocks, BLOCK, partial(self._step, phase=phase), part=part, windows=windows))

    # where things are

    def _result(self, value: SSAValue) -> int | None:
        """The buffer of one of the recurrence's results, if it is asked for."""
        for yielded, buffer in zip(self.k.kernel.terminator.operands, self.k.results, strict=True):
            if yielded is value:
                return buffer
        return None

    def _state(self, name: str, step: int) -> Window:
        """A state before a step; behind the last one it is a result where that is asked for."""
        result = self._result(self.root.results[1 + self.states.index(name)])
        if step == self.steps and result is not None:
            return Window(result, 0, self.element, (self.directions, self.batch, self.hidden))
        return self.k.scratch_window(name, step % 2)

    def _windows(self, step: int) -> dict[str, Window]:
        """What a step is given, by name."""
        windows = {"from_input": self.k.scratch_window("from_input", step)}
        for name in self.states:
            windows[name], windows[f"next_{name}"] = self._state(name, step), self._state(name, step + 1)
        for name in self.between:
            windows[name] = self.k.scratch_window(name, 0)
        y = self._result(self.root.y)
        if y is not None:
            piece = self.batch * self.hidden
            for direction in range(self.directions):
                at = (self._time(step, direction) * self.directions + direction) * piece
                windows[f"y{direction}"] = Window(y, at, self.element, (self.batch, self.hidden))
        return windows

    def _is_backwards(self, direction: int) -> bool:
        return direction == 1 or self.root.direction.data == "reverse"

    def _time(self, step: int, direction: int) -> int:
        """The position in the sequence of a direction's step."""
        return self.steps - 1 - step if self._is_backwards(direction) else step

    # the parts of both kinds of launches

    def _share(self, grid: Grid, lanes: int, rows: int) -> _Share:
        b = grid.b
        units = -(-self.hidden * lanes // BLOCK)
        item, units_of = b.delinearize(b.block_id(), [grid.blocks[0] // units, units])
        direction, part = b.delinearize(item, [self.directions, grid.blocks[0] // units // self.directions])
        unit = b.add(b.mul(units_of, BLOCK // lanes), b.div(grid.lane, lanes))
        return _Share(direction, b.mul(part, rows), unit, b.rem(grid.lane, lanes), lanes, rows)

    def _lanes(self, depth: int, *buffers: int) -> int:
        """Elements that are read at once along the depth."""
        vector = ACCESS // item_bytes(self.root.y)
        return vector if depth % vector == 0 and all(self.k.aligned[each] == ACCESS for each in buffers) else 1

    def _sums(
        self,
        b: ThreadBuilder,
        share: _Share,
        gates: range,
        depth: int,
        vector: int,
        weights: SSAValue,
        row_of: Callable[[Index], tuple[SSAValue, Sequence[Index]]],
    ) -> list[SSAValue]:
        """The products of this lane's row with the weights [gates * hidden, depth] of the unit's gates.

        `row_of(i)` says where row i of the share lies.
        """
        m = Arithmetic(b, self.element)
        kind: Attribute = VectorType(self.element, [vector]) if vector > 1 else self.element
        sums, near = b.private(self.element, [len(gates), share.rows]), b.private(kind, [share.rows])
        sums.name_hint, near.name_hint = "sums", "states"
        b.unrolled(len(gates), lambda g: b.unrolled(share.rows, lambda i: b.store(m.constant(0.0), sums, [g, i])))

        def load(buffer: SSAValue, index: Sequence[Index]) -> SSAValue:
            return b.vload(buffer, index, vector) if vector > 1 else b.load(buffer, index)

        unit = b.min(share.unit, self.hidden - 1)

        def round(at: Index, _: Sequence[SSAValue]) -> None:
            def state(i: Index) -> None:
                buffer, place = row_of(i)
                b.store(load(buffer, [*place, at]), near, [i])

            def gate(g: Index) -> None:
                row = b.add(b.mul(b.add(g, gates.start), self.hidden), unit)
                weight = load(weights, [row, at])

                def product(i: Index) -> None:
                    value, total = b.load(near, [i]), b.load(sums, [g, i])
                    pairs = [(value, weight)]
                    if vector > 1:
                        pairs = [(b.extract(value, e), b.extract(weight, e)) for e in range(vector)]
                    for x, y in pairs:
                        total = m.add(m.mul(x, y), total)
                    b.store(total, sums, [g, i])

                b.unrolled(share.rows, product)

            b.unrolled(share.rows, state)
            b.unrolled(len(gates), gate)

        b.loop(b.mul(share.lane, vector), depth, round, step=share.lanes * vector)
        return [self._total(b, m, share, sums, g) for g in range(len(gates))]

    def _total(self, b: ThreadBuilder, m: Arithmetic, share: _Share, sums: SSAValue, gate: int) -> SSAValue:
        """The sum over all lanes of the row that is this lane's."""

        def row(i: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
            total = b.load(sums, [gate, i])
            offset = share.lanes // 2
            while offset:
                total = m.add(total, b.from_lane(total, offset, width=share.lanes))
                offset //= 2
            return [b.select(b.compare("eq", share.lane, i), total, carried[0])]

        return b.folded(share.rows, [m.constant(0.0)], row)[0]

    def _own_row(self, b: ThreadBuilder, share: _Share, count: int, body: Callable[[Index], None]) -> None:
        """`body(row)` in the lanes that have a row of the `count` there are."""
        row = b.add(share.first, share.lane)
        exists = b.conjunction(b.compare("slt", share.unit, self.hidden), b.compare("slt", row, count))
        if share.rows < share.lanes:
            exists = b.conjunction(exists, b.compare("slt", share.lane, share.rows))
        b.when(exists, lambda: body(row))

    # the input's share

    def _begin(self, grid: Grid) -> None:
        """from_input = x w^T + bias, and the states before the first step."""
        b, o = grid.b, self.options
        for name, initial, window in zip(self.states, self.root.states, grid.windows, strict=True):
            window.name_hint = name
            self._start(grid, None if initial is None else grid.buffer_of(initial), window)
        count = self.steps * self.batch
        if count == 0:
            return
        share = self._share(grid, o.input_lanes, o.input_rows)
        x, weights = grid.buffer_of(self.root.x), grid.buffer_of(self.root.weight)
        assert x is not None and weights is not None
        size = self.width * self.inputs
        vector = self._lanes(self.inputs, *(self._operand(each) for each in (self.root.x, self.root.weight)))
        rows = b.view(x, 0, [count, self.inputs], [self.inputs, 1])
        own = b.view(weights, b.mul(share.direction, size), [self.width, self.inputs], [self.inputs, 1])

        def row_of(i: Index) -> tuple[SSAValue, Sequence[Index]]:
            return rows, [b.min(b.add(share.first, i), count - 1)]

        sums = self._sums(b, share, range(self.root.GATES), self.inputs, vector, own, row_of)
        m, bias = Arithmetic(b, self.element), None if self.root.bias is None else grid.buffer_of(self.root.bias)
        target = grid.scratch_part("from_input")

        def store(row: Index) -> None:
            time, element = b.delinearize(row, [self.steps, self.batch])
            step: Index = time
            if self.directions == 2:
                last = b.index(b.sub(self.steps - 1, time))
                step = b.select(b.compare("eq", share.direction, 1), last, b.index(time))
            elif self._is_backwards(0):
                step = b.sub(self.steps - 1, time)
            for gate, total in enumerate(sums):
                column = b.add(gate * self.hidden, share.unit)
                value = total
                if bias is not None:
                    value = m.add(value, b.load(bias, [share.direction, column]))
                b.store(value, target, [step, share.direction, element, column])

        self._own_row(b, share, count, store)

    def _operand(self, value: SSAValue) -> int:
        return self.k.operands[argument_index(self.k.kernel, value)]

    def _start(self, grid: Grid, initial: SSAValue | None, state: SSAValue) -> None:
        b = grid.b

        def element(item: Index) -> None:
            index = b.delinearize(item, [self.directions, self.batch, self.hidden])
            value = b.constant(0.0, self.element) if initial is None else b.load(initial, index)
            b.store(value, state, index)

        grid.items(self.directions * self.batch * self.hidden, element)

    # a step

    def _step(self, grid: Grid, phase: CellPhase) -> None:
        b, o = grid.b, self.options
        windows = dict(zip(self._windows(0), grid.windows, strict=True))
        for name, window in windows.items():
            window.name_hint = name
        share = self._share(grid, o.lanes, o.rows)
        weights, scratch = grid.buffer_of(self.root.recurrence), self.k.scratch
        assert weights is not None and scratch is not None
        size = self.width * self.hidden
        own = b.view(weights, b.mul(share.direction, size), [self.width, self.hidden], [self.hidden, 1])
        source = windows[phase.source]
        vector = self._lanes(self.hidden, self._operand(self.root.recurrence), scratch)

        def row_of(i: Index) -> tuple[SSAValue, Sequence[Index]]:
            return source, [share.direction, b.min(b.add(share.first, i), self.batch - 1)]

        sums = self._sums(b, share, phase.gates, self.hidden, vector, own, row_of)
        peephole = self.root.peephole if isinstance(self.root, LstmOp) else None

        def cell(row: Index) -> None:
            place = [share.direction, row, share.unit]
            bias, weights = (None if each is None else grid.buffer_of(each) for each in (self.root.bias, peephole))
            m = Arithmetic(b, self.element)
            products = dict(zip(phase.gates, sums, strict=True))
            unit = _GridUnit(m, b, windows, self.hidden, self.root.GATES, place, bias, weights, products)
            for name, value in phase.cell(unit).items():
                b.store(value, windows[f"next_{name}" if name in self.states else name], place)
                if name == "h":
                    self._store_y(b, windows, place, value)

        self._own_row(b, share, self.batch, cell)

    def _store_y(self, b: ThreadBuilder, windows: dict[str, SSAValue], place: Sequence[Index], value: SSAValue) -> None:
        """h of a step is y at the step's place in the sequence, which each direction has another of."""
        if "y1" in windows:
            stores = [lambda name=name: b.store(value, windows[name], place[1:]) for name in ("y0", "y1")]
            b.when(b.compare("eq", place[0], 0), stores[0], stores[1])
        elif "y0" in windows:
            b.store(value, windows["y0"], place[1:])


@dataclass(frozen=True)
class _GridUnit(Unit):
    """The hidden unit of a batch element that a lane makes."""

    b: ThreadBuilder
    windows: dict[str, SSAValue]
    hidden: int
    gates: int
    place: Sequence[Index]
    bias: SSAValue | None
    weights: SSAValue | None
    sums: dict[int, SSAValue]

    def _column(self, gate: int) -> Index:
        return self.b.add(gate * self.hidden, self.place[-1])

    @override
    def from_input(self, gate: int) -> SSAValue:
        return self.b.load(self.windows["from_input"], [*self.place[:-1], self._column(gate)])

    @override
    def from_state(self, gate: int) -> SSAValue:
        if self.bias is None:
            return self.sums[gate]
        column = self.b.add(self.gates * self.hidden, self._column(gate))
        return self.m.add(self.sums[gate], self.b.load(self.bias, [self.place[0], column]))

    @override
    def state(self, name: str) -> SSAValue:
        return self.b.load(self.windows[name], self.place)

    @override
    def peephole(self, which: int) -> SSAValue | None:
        if self.weights is None:
            return None
        return self.b.load(self.weights, [self.place[0], self._column(which)])
