"""LSTM layers: the input's share of the gates as one matrix product, then the steps one after the other.

    for (direction, batch element) in this thread's share:
        from_input[steps, 4 hidden] = x w^T + bias of w           register tiles over packed panels
        for each step, backwards where the direction is:
            gates = from_input[step] + bias of r + r h            a few panels at a time, sums in registers
            c, h  = cell(gates, c)                                vectors of hidden units

The recurrence is bound by reading r once per step, so what counts is that its panels are read in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects import func
from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.errors import CompileError
from ....dialects.graph import LstmOp, ReshapeOp, UnpackOp, describe, element_type_of_value, shape_of
from ....passes.kernels.kernel_facts import the_root
from ....passes.kernels.schedules.cpu.recurrence import Recurrence
from ..instance import KernelInstance
from ..tiles.epilogue import Epilogue
from ..tiles.microkernel import Tile, chains_of, tile_function
from ..tiles.tiles import TileClass, tile_classes
from ..writing.arithmetic import Arithmetic
from ..writing.builder import Index, LoopBuilder, memref_type, strides_of


def lower(k: KernelInstance) -> None:
    """Write the kernel's loops."""
    _Writer(k, the_root(k.kernel, LstmOp)).write()


@dataclass(frozen=True)
class _Scratch:
    """Windows on a thread's scratch: [steps, 4 hidden], [4 hidden], [hidden], [hidden]."""

    from_input: SSAValue
    gates: SSAValue
    h: SSAValue
    c: SSAValue


class _Writer:
    def __init__(self, k: KernelInstance, root: LstmOp) -> None:
        self.k, self.b, self.root = k, k.b, root
        self.steps, self.batch, self.inputs = shape_of(root.x)
        self.hidden = root.hidden.value.data
        self.directions = shape_of(root.weight)[0]
        self.element = element_type_of_value(root.y)
        options = k.schedule_as(Recurrence)
        self.mr, self.nr, self.lanes, self.at_once = options.mr, options.nr, options.lanes, options.at_once
        self.panels = -(-4 * self.hidden // self.nr)
        self.tail = 4 * self.hidden - (self.panels - 1) * self.nr
        self.weight, self.recurrence = self._packed(root.weight), self._packed(root.recurrence)
        self.functions: dict[object, func.FuncOp] = {}

    def _packed(self, value: SSAValue) -> SSAValue:
        """The buffer of panels behind a weight: [directions, panels, depth, nr]."""
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
        b, k = self.b, self.k
        scratch = _Scratch(*map(k.scratch_part, ("from_input", "gates", "h", "c")))
        bias = self._optional(self.root.bias)

        def sequence(item: Index) -> None:
            direction, element = b.delinearize(item, [self.directions, self.batch])
            self._input_product(direction, element, bias, scratch)
            self._start(self._optional(self.root.initial_h), direction, element, scratch.h)
            self._start(self._optional(self.root.initial_c), direction, element, scratch.c)

            def step(t: Index, _: Sequence[SSAValue]) -> None:
                time = self._time(t, direction)
                self._recurrent_product(direction, time, bias, scratch)
                self._cell(direction, element, time, scratch)

            b.loop(0, self.steps, step)
            self._finish(self.root.last_h, direction, element, scratch.h)
            self._finish(self.root.last_c, direction, element, scratch.c)

        k.items(self.directions * self.batch, sequence)

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

    def _input_product(self, direction: Index, element: Index, bias: SSAValue | None, scratch: _Scratch) -> None:
        b, four, size = self.b, 4 * self.hidden, self.inputs * self.nr
        x = self.k.buffer_of(self.root.x)
        assert x is not None
        strides = strides_of(memref_type(x))
        plain = Epilogue(self.root.y, self.root.y, (), (), True)

        def panel(index: Index, valid: int) -> None:
            at = b.add(b.mul(direction, self.panels * size), b.mul(index, size))
            weights = b.view(self.weight, at, [1, self.inputs, self.nr], [size, self.nr, 1])
            column = b.mul(index, self.nr)
            start = None
            if bias is not None:
                start = b.view(bias, b.add(b.mul(direction, 2 * four), column), [valid], [1])
            for block in tile_classes(self.steps, self.mr):

                def rows(i: Index, _: Sequence[SSAValue], block: TileClass = block) -> None:
                    first = b.add(b.mul(i, block.rows), block.start)
                    a_at = b.linear([first, element], strides[:2])
                    a = b.view(x, a_at, [1, block.rows, 1, self.inputs], [0, strides[0], 0, strides[2]])
                    out_at = b.add(b.mul(first, four), column)
                    out = b.view(scratch.from_input, out_at, [block.rows, valid], [four, 1])
                    lanes = -(-valid // self.lanes) * self.lanes
                    tile = Tile(
                        block.rows, lanes, valid, ((0, block.rows),), self.inputs, 1, chains=chains_of(self.steps)
                    )
                    if tile not in self.functions:
                        bias_type = None if start is None else start.type
                        self.functions[tile] = tile_function(
                            self.k, tile, a.type, weights.type, bias_type, [], out.type, plain, "input_"
                        )
                    b.call(self.functions[tile], [a, weights, 1, *([] if start is None else [start]), out])

                b.loop(0, block.count, rows)

        whole = self.panels if self.tail == self.nr else self.panels - 1
        b.loop(0, whole, lambda index, _: panel(index, self.nr))
        if whole < self.panels:
            panel(whole, self.tail)

    def _start(self, initial: SSAValue | None, direction: Index, element: Index, state: SSAValue) -> None:
        """The state before the first step."""

        def unit(channel: Index, valid: Index | None, lanes: int) -> None:
            b = self.b
            if initial is None:
                value = b.constant(0.0, VectorType(self.element, [lanes]))
            else:
                value = b.vload(initial, [direction, element, channel], lanes, valid)
            b.vstore(value, state, [channel], valid)

        self._units(self.b, unit)

    def _finish(self, result: SSAValue, direction: Index, element: Index, state: SSAValue) -> None:
        """The state after the last step, where it is asked for."""
        for yielded, buffer in zip(self.k.yielded, self.k.results, strict=True):
            if yielded is result:

                def unit(channel: Index, valid: Index | None, lanes: int, buffer: SSAValue = buffer) -> None:
                    value = self.b.vload(state, [channel], lanes, valid)
                    self.b.vstore(value, buffer, [direction, element, channel], valid)

                self._units(self.b, unit)

    def _units(self, b: LoopBuilder, body: Callable[[Index, Index | None, int], None]) -> None:
        """`body(first unit, how many of the vector's lanes exist, lanes)` over the hidden units."""
        whole = self.hidden // self.nr * self.nr
        b.loop(0, whole, lambda channel, _: body(channel, None, self.nr), step=self.nr)
        if whole < self.hidden:
            body(whole, self.hidden - whole, self.nr)

    def _recurrent_product(self, direction: Index, time: Index, bias: SSAValue | None, scratch: _Scratch) -> None:
        """gates = from_input[time] + bias of r + r h"""
        b, four, size = self.b, 4 * self.hidden, self.hidden * self.nr
        panels_at = b.mul(direction, self.panels * size)
        panels = b.view(self.recurrence, panels_at, [self.panels, self.hidden, self.nr], [size, self.nr, 1])
        row = b.view(scratch.from_input, b.mul(time, four), [four], [1])
        start = None if bias is None else b.view(bias, b.add(b.mul(direction, 2 * four), four), [four], [1])
        given = [panels, row, scratch.h, scratch.gates, *([] if start is None else [start])]
        if "recurrent" not in self.functions:
            self.functions["recurrent"] = self._recurrent_function([value.type for value in given])
        b.call(self.functions["recurrent"], given)

    def _recurrent_function(self, types: Sequence[Attribute]) -> func.FuncOp:
        function, b = self.k.helper("recurrent_product", types)
        arguments = list(function.body.block.args)
        panels, row, h, gates = arguments[:4]
        start = arguments[4] if len(arguments) > 4 else None
        vector = VectorType(self.element, [self.nr])
        m = Arithmetic(b, vector)

        def group(first: Index, count: int, last_valid: int) -> None:
            columns = [b.mul(b.add(first, i), self.nr) for i in range(count)]
            valid = [self.nr] * (count - 1) + [last_valid]
            sums = [b.vload(row, [column], self.nr, lanes) for column, lanes in zip(columns, valid, strict=True)]
            if start is not None:
                loaded = [b.vload(start, [column], self.nr, n) for column, n in zip(columns, valid, strict=True)]
                sums = [m.add(x, y) for x, y in zip(sums, loaded, strict=True)]

            def unit(u: Index, carried: Sequence[SSAValue]) -> Sequence[SSAValue]:
                value = b.splat(b.load(h, [u]), self.nr)
                return [
                    b.fma(value, b.vload(panels, [b.add(first, i), u, 0], self.nr), total)
                    for i, total in enumerate(carried)
                ]

            for column, lanes, total in zip(columns, valid, b.loop(0, self.hidden, unit, carried=sums), strict=True):
                b.vstore(total, gates, [column], lanes)

        whole = self.panels if self.tail == self.nr else self.panels - 1
        grouped = whole // self.at_once * self.at_once
        b.loop(0, grouped, lambda i, _: group(i, self.at_once, self.nr), step=self.at_once)
        if grouped < self.panels:
            group(grouped, self.panels - grouped, self.tail)
        b.ret()
        return function

    def _cell(self, direction: Index, element: Index, time: Index, scratch: _Scratch) -> None:
        b = self.b
        outputs = [buffer for value, buffer in zip(self.k.yielded, self.k.results, strict=True) if value is self.root.y]
        given = [scratch.gates, scratch.h, scratch.c]
        for buffer in outputs:
            at = b.linear([time, direction, element], strides_of(memref_type(buffer))[:3])
            given.append(b.view(buffer, at, [self.hidden], [1]))
        peephole = self._optional(self.root.peephole)
        if peephole is not None:
            given.append(b.view(peephole, b.mul(direction, 3 * self.hidden), [3 * self.hidden], [1]))
        if "cell" not in self.functions:
            types = [value.type for value in given]
            self.functions["cell"] = self._cell_function(types, len(outputs), peephole is not None)
        b.call(self.functions["cell"], given)

    def _cell_function(self, types: Sequence[Attribute], outputs: int, peephole: bool) -> func.FuncOp:
        """(gates, h, c, [where y goes], [peepholes]): one step of the cell; gates are in ONNX's order i, o, f, c."""
        function, b = self.k.helper("cell", types)
        arguments = list(function.body.block.args)
        gates, h, c = arguments[:3]
        stores = [h, *arguments[3 : 3 + outputs]]
        weights = arguments[-1] if peephole else None
        m = Arithmetic(b, VectorType(self.element, [self.nr]))

        def sigmoid(x: SSAValue) -> SSAValue:
            one = m.constant(1.0)
            return m.div(one, m.add(one, m.unary("exp", m.neg(x))))

        def unit(channel: Index, valid: Index | None, lanes: int) -> None:
            def gate(which: int) -> SSAValue:
                return b.vload(gates, [b.add(channel, which * self.hidden)], lanes, valid)

            def with_peephole(value: SSAValue, which: int, cell: SSAValue) -> SSAValue:
                if weights is None:
                    return value
                loaded = b.vload(weights, [b.add(channel, which * self.hidden)], lanes, valid)
                return m.add(value, m.mul(loaded, cell))

            before = b.vload(c, [channel], lanes, valid)
            keep = sigmoid(with_peephole(gate(2), 2, before))
            enter = sigmoid(with_peephole(gate(0), 0, before))
            cell = m.add(m.mul(keep, before), m.mul(enter, m.unary("tanh", gate(3))))
            leave = sigmoid(with_peephole(gate(1), 1, cell))
            value = m.mul(leave, m.unary("tanh", cell))
            b.vstore(cell, c, [channel], valid)
            for target in stores:
                b.vstore(value, target, [channel], valid)

        self._units(b, unit)
        b.ret()
        return function
