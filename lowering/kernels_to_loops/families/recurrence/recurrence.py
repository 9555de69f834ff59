"""Recurrent layers: the input products of all steps as one matrix product, then the steps in sequence.

    for (direction, block of batch elements) in this thread's share:
        from_input[steps, rows, gates] = x w^T + bias of w      register tiles over packed panels
        for each step, backwards where the direction is:
            for each phase of the cell:
                products = r h                                  a few panels at a time, sums in registers
                c, h, .. = cell(from_input[step], products)     vectors of hidden units

Performance is bound by reading r in each step. Odd steps traverse its panels in reverse order, so that the part of r
still in the cache is used first; in one fixed order an LRU cache smaller than r would always miss.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from typing_extensions import override
from xdsl.dialects import func
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from .....dialects.errors import CompileError
from .....dialects.graph.base import describe
from .....dialects.graph.ops.movement import ReshapeOp
from .....dialects.graph.ops.recurrence import LstmOp, RecurrenceOp
from .....dialects.graph.packing.unpack import UnpackOp
from .....dialects.graph.values import element_type_of_value, shape_of
from .....dialects.sizes.sizes import is_fixed, now
from .....passes.kernels.kernel_facts import the_root
from .....passes.kernels.schedules.cpu.recurrence import Recurrence
from ....kernel_code.arithmetic import Arithmetic
from ....kernel_code.loop_builder import Index, LoopBuilder, memref_type, strides_of
from ....kernel_code.recurrence_cells import CellPhase, Unit, phases_of
from ...kernel_instance import KernelInstance
from ...tiles.fused_ops import FusedOps
from ...tiles.inner_steps import MultiplyAdd
from ...tiles.microkernel import Strip, Tile, call_tiles
from ...tiles.split_sums import chains_of
from ...tiles.tile_classes import TileClass, by_class, halving_classes, tile_classes
from ...tiles.tile_results import MemoryRows


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    _Writer(k, the_root(k.kernel, RecurrenceOp)).write()


@dataclass(frozen=True)
class _BatchBlock:
    """A block of batch elements that a thread processes together, from `first` on, in one direction."""

    direction: Index
    first: Index
    rows: int


@dataclass(frozen=True)
class _Runs:
    """The rows of an input product as `count` runs of `rows`, each with one distance.

    `x` and `out` are distances in elements, between runs and between the rows of one.
    """

    count: Index
    rows: int
    x: tuple[int, int]
    out: tuple[int, int]


@dataclass(frozen=True)
class _BufferUnit(Unit):
    """A vector of hidden units from `channel` on of batch element `row`; `valid` of its `lanes` exist."""

    b: LoopBuilder
    buffers: Mapping[str, SSAValue]
    hidden: int
    row: Index
    channel: Index
    valid: Index | None
    lanes: int

    def _gate(self, name: str, gate: int) -> SSAValue:
        return self.b.vload(self.buffers[name], [self.row, self._column(gate)], self.lanes, self.valid)

    def _column(self, gate: int) -> Index:
        return self.b.add(self.channel, gate * self.hidden)

    @override
    def from_input(self, gate: int) -> SSAValue:
        return self._gate("from_input", gate)

    @override
    def from_state(self, gate: int) -> SSAValue:
        product = self._gate("products", gate)
        if "bias" not in self.buffers:
            return product
        bias = self.b.vload(self.buffers["bias"], [self._column(gate)], self.lanes, self.valid)
        return self.m.add(product, bias)

    @override
    def state(self, name: str) -> SSAValue:
        return self.b.vload(self.buffers[name], [self.row, self.channel], self.lanes, self.valid)

    @override
    def peephole(self, which: int) -> SSAValue | None:
        if "peephole" not in self.buffers:
            return None
        return self.b.vload(self.buffers["peephole"], [self._column(which)], self.lanes, self.valid)


class _Writer:
    def __init__(self, k: KernelInstance, root: RecurrenceOp) -> None:
        self.k, self.b, self.root = k, k.b, root
        self.steps, self.batch, self.inputs = shape_of(root.x)
        self.hidden = root.hidden.value.data
        self.width = root.GATES * self.hidden
        self.directions = shape_of(root.weight)[0]
        self.element = element_type_of_value(root.y)
        options = k.schedule_as(Recurrence)
        self.mr, self.nr, self.lanes, self.rows = options.mr, options.nr, options.lanes, options.rows
        self.at_once = options.at_once
        self.panels = -(-self.width // self.nr)
        self.weight, self.recurrence = self._packed(root.weight), self._packed(root.recurrence)
        self.bias = self._optional(root.bias)
        self.phases = phases_of(root)
        self.functions: dict[object, func.FuncOp] = {}
        self.scratch = {part.name: k.scratch_part(part.name) for part in options.scratch(k.kernel).own}

    def _packed(self, value: SSAValue) -> SSAValue:
        """The packed buffer of a weight: [directions, panels, depth, nr]."""
        source = value
        while isinstance(source.owner, Operation) and isinstance(source.owner, ReshapeOp | UnpackOp):
            source = source.owner.operands[0]
        buffer = self.k.buffer_of(source)
        if buffer is None or source is value:
            raise CompileError(f"{describe(self.root)}: its weights are not packed; run pack-weights first")
        return buffer

    def _optional(self, value: SSAValue | None) -> SSAValue | None:
        return None if value is None else self.k.buffer_of(value)

    def write(self) -> None:
        b = self.b
        # One size of blocks, or two that differ by one; for a symbolic batch also halves of blocks.
        classes = halving_classes(b, self.batch, self.rows)
        blocks = b.sum(block.count for block in classes)

        def block_of(item: Index) -> None:
            direction, index = b.delinearize(item, [self.directions, blocks])

            def some(block: TileClass) -> None:
                first = b.add(b.mul(b.sub(index, block.first), block.rows), block.start)
                self._sequence(_BatchBlock(direction, first, block.rows))

            by_class(b, classes, index, some)

        if blocks != 0:
            self.k.items(b.mul(self.directions, blocks), block_of)

    def _sequence(self, block: _BatchBlock) -> None:
        b = self.b
        names = "hc"[: len(self.root.states)]
        self._input_product(block)
        for name, initial in zip(names, self.root.states, strict=True):
            self._start(self._optional(initial), block, self.scratch[name])

        def step(t: Index, _: Sequence[SSAValue]) -> None:
            time = self._time(t, block.direction)
            for phase in self.phases:
                self._recurrent_product(phase, block, t)
                self._cell(phase, block, time)

        b.loop(0, self.steps, step)
        for name, result in zip(names, self.root.results[1:], strict=True):
            self._finish(result, block, self.scratch[name])

    def _time(self, t: Index, direction: Index) -> Index:
        """The position in the sequence of a direction's step `t`."""
        b, last = self.b, self.steps - 1
        match self.root.direction.data:
            case "forward":
                return t
            case "reverse":
                return b.sub(last, t)
            case _:
                return b.add(t, b.mul(direction, b.sub(last, b.mul(t, 2))))

    def _input_product(self, batch: _BatchBlock) -> None:
        """from_input[steps, rows] = x w^T + bias of w, panel by panel."""
        b, size = self.b, self.inputs * self.nr
        x = self.k.buffer_of(self.root.x)
        assert x is not None
        strides = strides_of(memref_type(x))
        plain = FusedOps(self.root.y, self.root.y, (), (), True)
        runs = self._runs(batch, strides)
        # Independent of blocks, which depend on the number of threads.
        rows = max(now(self.steps), now(self.batch))

        def panel(index: Index, valid: int) -> None:
            at = b.add(b.mul(batch.direction, self.panels * size), b.mul(index, size))
            weights = b.place(self.weight, at)
            column = b.mul(index, self.nr)
            start = None
            if self.bias is not None:
                start = b.place(self.bias, b.add(b.mul(batch.direction, 2 * self.width), column))

            def run(number: Index, _: Sequence[SSAValue]) -> None:
                for block in tile_classes(self.b, runs.rows, self.mr):
                    tile = Tile(
                        step=MultiplyAdd(self.element),
                        rows=block.rows,
                        lanes=-(-valid // self.lanes) * self.lanes,
                        valid=valid,
                        taps=((0, block.rows),),
                        result=self.element,
                        has_bias=start is not None,
                        neighbours=strides[2] == 1,
                        chains=chains_of(rows, self.inputs, self.k.target),
                    )
                    a_at = b.linear([batch.first, number, block.start], [strides[1], runs.x[0], runs.x[1]])
                    out_at = b.linear([number, block.start, column], [*runs.out, 1])
                    strip = Strip(
                        tiles=block.count,
                        depth=self.inputs,
                        a=MemoryRows(b.place(x, a_at), runs.x[1]),
                        panel=weights,
                        panel_row=self.nr,
                        out=MemoryRows(b.place(self.scratch["from_input"], out_at), runs.out[1]),
                        bias=start,
                        a_step=strides[2],
                    )

                    def call(tile: Tile = tile, strip: Strip = strip) -> None:
                        call_tiles(self.k, tile, plain, strip)

                    if isinstance(block.count, int):
                        call()
                    else:
                        b.when(b.compare("sgt", block.count, 0), call)

            b.loop(0, runs.count, run)

        tail = self.width - (self.panels - 1) * self.nr
        whole = self.panels if tail == self.nr else self.panels - 1
        b.loop(0, whole, lambda index, _: panel(index, self.nr))
        if whole < self.panels:
            panel(whole, tail)

    def _runs(self, block: _BatchBlock, x: Sequence[int]) -> _Runs:
        """All rows of a block in one run, if their distances are equal; else its steps, or its elements, by the height
        of the tiles that they are cut into.
        """
        step, rows = self.rows * self.width, block.rows
        if is_fixed(self.batch, self.steps) and rows == self.rows == self.batch and x[0] == rows * x[1]:
            return _Runs(1, self.steps * rows, (0, x[1]), (0, self.width))
        heights = [now(count) / max(1, -(-now(count) // self.mr)) for count in (self.steps, rows)]
        if heights[0] >= heights[1]:
            return _Runs(rows, self.steps, (x[1], x[0]), (self.width, step))
        return _Runs(self.steps, rows, (x[0], x[1]), (step, self.width))

    def _start(self, initial: SSAValue | None, block: _BatchBlock, state: SSAValue) -> None:
        """Initialises the state before the first step."""

        def unit(row: Index, channel: Index, valid: Index | None) -> None:
            b = self.b
            if initial is None:
                value = b.constant(0.0, VectorType(self.element, [self.nr]))
            else:
                value = b.vload(initial, [block.direction, b.add(block.first, row), channel], self.nr, valid)
            b.vstore(value, state, [row, channel], valid)

        self._units(self.b, block.rows, unit)

    def _finish(self, result: SSAValue, block: _BatchBlock, state: SSAValue) -> None:
        """Stores the state after the last step, if it is used."""
        for buffer in self._buffers_of(result):

            def unit(row: Index, channel: Index, valid: Index | None, buffer: SSAValue = buffer) -> None:
                b = self.b
                value = b.vload(state, [row, channel], self.nr, valid)
                b.vstore(value, buffer, [block.direction, b.add(block.first, row), channel], valid)

            self._units(self.b, block.rows, unit)

    def _buffers_of(self, result: SSAValue) -> list[SSAValue]:
        pairs = zip(self.k.yielded, self.k.results, strict=True)
        return [buffer for value, buffer in pairs if value is result]

    def _units(self, b: LoopBuilder, rows: int, body: Callable[[Index, Index, Index | None], None]) -> None:
        """`body(row, first hidden unit, number of valid lanes)` over a block's hidden units."""
        whole = self.hidden // self.nr * self.nr

        def element(row: Index, _: Sequence[SSAValue]) -> None:
            b.loop(0, whole, lambda channel, _: body(row, channel, None), step=self.nr)
            if whole < self.hidden:
                body(row, whole, self.hidden - whole)

        b.loop(0, rows, element)

    def _recurrent_product(self, phase: CellPhase, block: _BatchBlock, t: Index) -> None:
        """products = r state in step `t`, for the panels of the phase's gates."""
        b, size = self.b, self.hidden * self.nr
        at = b.mul(block.direction, self.panels * size)
        panels = b.view(self.recurrence, at, [self.panels, self.hidden, self.nr], [size, self.nr, 1])
        first = phase.gates.start * self.hidden // self.nr
        last = -(-phase.gates.stop * self.hidden // self.nr)
        given = [panels, self.scratch[phase.source], self.scratch["products"], b.index(b.rem(t, 2))]
        key = ("recurrent_product", block.rows, phase.gates.start)
        if key not in self.functions:
            name = f"recurrent_product_{block.rows}_{phase.gates.start}"
            types = [value.type for value in given]
            self.functions[key] = self._product_function(name, types, block.rows, first, last)
        self.k.call_helper(self.functions[key], given)

    def _product_function(self, name: str, types: Sequence[Attribute], rows: int, first: int, last: int) -> func.FuncOp:
        """A function (panels, state, products, back) over panels [first, last), in reverse order if `back` is 1."""
        function, b = self.k.helper(name, types)
        panels, state, products, back = function.body.block.args[:4]
        vector = VectorType(self.element, [self.nr])

        def tile(panel: Index, count: int, start: Index, height: int) -> None:
            def unit(u: Index, sums: Sequence[SSAValue]) -> Sequence[SSAValue]:
                loaded = [b.vload(panels, [b.add(panel, i), u, 0], self.nr) for i in range(count)]
                values = [b.splat(b.load(state, [b.add(start, row), u]), self.nr) for row in range(height)]
                pairs = [(value, weights) for value in values for weights in loaded]
                return [b.fma(value, weights, total) for (value, weights), total in zip(pairs, sums, strict=True)]

            zeros = [b.constant(0.0, vector)] * (height * count)
            sums = iter(b.loop(0, self.hidden, unit, carried=zeros))
            for row in range(height):
                for i in range(count):
                    b.vstore(next(sums), products, [b.add(start, row), b.mul(b.add(panel, i), self.nr)])

        def group(panel: Index, count: int) -> None:
            for some in tile_classes(self.b, rows, self.mr):
                b.loop(
                    some.start,
                    b.add(some.start, b.mul(some.count, some.rows)),
                    lambda start, _, height=some.rows: tile(panel, count, start, height),
                    step=some.rows,
                )

        groups = (last - first) // self.at_once
        grouped = first + groups * self.at_once
        turned = b.mul(back, groups - 1)

        def whole(number: Index, _: Sequence[SSAValue]) -> None:
            index = b.add(b.mul(number, b.sub(1, b.mul(back, 2))), turned)
            group(b.add(b.mul(index, self.at_once), first), self.at_once)

        b.loop(0, groups, whole)
        if grouped < last:
            group(grouped, last - grouped)
        b.ret()
        return function

    def _cell(self, phase: CellPhase, block: _BatchBlock, time: Index) -> None:
        """Applies the cell to one step's products: new states, and y from h."""
        b = self.b
        row = [self.width, 1]
        given = {**self.scratch}
        at = b.mul(time, self.rows * self.width)
        given["from_input"] = b.view(self.scratch["from_input"], at, [block.rows, self.width], row)
        if self.bias is not None:
            at = b.add(b.mul(block.direction, 2 * self.width), self.width)
            given["bias"] = b.view(self.bias, at, [self.width], [1])
        peephole = self._optional(self.root.peephole) if isinstance(self.root, LstmOp) else None
        if peephole is not None:
            given["peephole"] = b.view(peephole, b.mul(block.direction, 3 * self.hidden), [3 * self.hidden], [1])
        mask = self._optional(self.root.mask)
        if mask is not None:
            given["mask"] = b.view(mask, b.add(b.mul(time, self.batch), block.first), [block.rows], [1])
        outputs: list[SSAValue] = []
        for buffer in self._buffers_of(self.root.y):
            strides = strides_of(memref_type(buffer))
            at = b.linear([time, block.direction, block.first], strides[:3])
            outputs.append(b.view(buffer, at, [block.rows, self.hidden], strides[2:]))
        key = ("cell", block.rows, phase.gates.start)
        values = [*given.values(), *outputs]
        if key not in self.functions:
            name = f"cell_{block.rows}_{phase.gates.start}"
            self.functions[key] = self._cell_function(name, phase, block.rows, list(given), values)
        self.k.call_helper(self.functions[key], values)

    def _cell_function(
        self, name: str, phase: CellPhase, rows: int, names: Sequence[str], values: Sequence[SSAValue]
    ) -> func.FuncOp:
        """A function for one phase of a step; its arguments are called `names`, the further ones address y."""
        function, b = self.k.helper(name, [value.type for value in values])
        arguments = list(function.body.block.args)
        buffers = dict(zip(names, arguments, strict=False))
        outputs = arguments[len(names) : len(values)]
        m = Arithmetic(b, VectorType(self.element, [self.nr]))

        def unit(row: Index, channel: Index, valid: Index | None) -> None:
            def step() -> None:
                made = phase.cell(_BufferUnit(m, b, buffers, self.hidden, row, channel, valid, self.nr))
                for part, value in made.items():
                    for target in [buffers[part], *(outputs if part == "h" else [])]:
                        b.vstore(value, target, [row, channel], valid)

            def rest() -> None:
                for target in outputs:
                    b.vstore(m.constant(0.0), target, [row, channel], valid)

            if "mask" in buffers:
                b.when(b.load(buffers["mask"], [row]), step, rest)
            else:
                step()

        self._units(b, rows, unit)
        b.ret()
        return function
