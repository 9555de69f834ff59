"""bufferize: main on tensors becomes main on buffers, each value in a buffer of its own.

before:  func.func @main(%x: tensor<8xf32>) -> (tensor<8xf32> {graph.name = "y"}) {
           %w = graph.weight #graph.blob<...> : tensor<8x8xf32>
           %a = graph.call @matmul_0(%x, %w)
           %b = graph.call @relu_0(%a) {inplace = [[0, 0]]}
           %c = graph.call @softmax_0(%b)
           func.return %c }
after:   func.func @main(%x: memref<8xf32> {graph.role = "input"},
                         %y: memref<8xf32> {graph.name = "y", graph.role = "output"}) {
           %w = kernel.weight #graph.blob<...> : memref<8x8xf32>
           %a = memref.alloc() {name = "matmul"} : memref<8xf32>
           kernel.call @matmul_0 ins(%x, %w) outs(%a)
           kernel.call @relu_0 ins(%a) outs(%a)
           %s = memref.alloc() {kernel.scratch, name = "softmax"} : memref<4096xi8>
           kernel.call @softmax_0 ins(%a) outs(%y) scratch(%s)
           func.return }

- A result marked in place (mark-inplace) takes its operand's buffer; `bufferize{inplace=false}` ignores the marks.
- Scratch has the size that the kernel's interface states, for the target's number of threads.
- A value that main returns is written directly to the caller's memory, along with all values that it overwrites in
  place. Inputs, weights and values returned twice are copied there at the end.
- A cache (dialects/graph/kv_cache_attributes.py) is one argument with the role "cache"; its past and present are views
  of it. Where a kernel only appends to the past, just the appended elements are copied there, and kernels that accept
  its strides may go on in place; a present computed otherwise, and not in place over the past, is copied at the end.
- graph.reshape becomes a call of a copy kernel, which elide-copies can remove.
- The results of an scf.if lie in buffers that both branches write. A value carried by an scf.for lies in one buffer for
  the whole loop: the initial value is copied into it before the loop, and the yielded value is computed there directly
  if the old value has no later reader, else copied at the end of the iteration (through a temporary where iterations
  swap values).
- tensor.extract becomes a memref.load; other scalar ops stay.
- graph.extract_rows becomes a kernel.window of the value's buffer, and graph.insert_rows one that what makes the rows
  writes to; a copy only where these lie elsewhere, as those of an input do.

In-place marks that would overwrite a live value are refused: the contents of each buffer are tracked throughout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import cast

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import func, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FunctionType,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    i8,
)
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.passes import ModulePass

from ...dialects.errors import InvalidModelError, PlanError
from ...dialects.graph.base import describe
from ...dialects.graph.host import (
    NAME,
    ROLE,
    Loop,
    attributes_of_arguments,
    attributes_of_results,
    blocks_of,
    caches_of,
    handed_on,
    initial_of,
    is_scalar,
    is_shaped,
    main_of,
    result_texts,
    state_level,
    turn_of,
    users_in,
)
from ...dialects.graph.kv_cache_attributes import CACHE
from ...dialects.graph.ops.movement import ReshapeOp
from ...dialects.graph.ops.rows import EmptyOp, ExtractRowsOp, InsertRowsOp
from ...dialects.graph.ops.structure import CallOp, WeightOp
from ...dialects.graph.values import shape_of, tensor, type_of
from ...dialects.kernel.calls import CallOp as BufferCallOp
from ...dialects.kernel.calls import WeightOp as BufferWeightOp
from ...dialects.kernel.kernel_attributes import InterfaceAttr
from ...dialects.kernel.targets import target_of
from ..geometry.boxes import Box
from .analysis.buffer_writer import BufferWriter, buffer_for, memref_of
from .analysis.buffers import INPLACE, Places, buffer_type, interface_of, memref_type
from .analysis.copy_kernels import CopyKernels
from .analysis.inserted_rows import replaces_read_rows
from .analysis.kv_cache_buffers import appended_to, part_of
from .analysis.main_steps import moves_of

_MAKERS = CallOp | ReshapeOp | EmptyOp | InsertRowsOp | scf.IfOp | Loop


@dataclass(frozen=True)
class Bufferize(ModulePass):
    """Main on tensors becomes main on buffers, each value in a buffer of its own."""

    name = "bufferize"
    inplace: bool = True
    """Whether the marks of mark-inplace are carried out."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_of(op, self.name)
        blocks_of(main, self.name)
        builder = _Bufferizer(op, main, self.inplace)
        attributes = builder.argument_attributes()
        old = main.body.block
        builder.convert_block(old)
        main.body.detach_block(old)
        main.body.add_block(builder.block)
        old.erase(safe_erase=False)
        main.function_type = FunctionType.from_lists([value.type for value in builder.block.args], [])
        main.arg_attrs = attributes
        main.res_attrs = None
        state_level(op, "buffers")


def inplace_pairs(call: CallOp) -> Iterator[tuple[int, int]]:
    """The (operand, result) positions that mark-inplace marked on a call."""
    marks = cast("ArrayAttr[ArrayAttr[IntegerAttr]]", call.attributes.get(INPLACE, ArrayAttr([])))
    for mark in marks:
        numbers = [number.value.data for number in mark]
        if len(numbers) != 2 or numbers[0] >= len(call.arguments) or numbers[1] >= len(call.res):
            raise PlanError(f"{describe(call)}: {mark} is not [operand, result]")
        yield numbers[0], numbers[1]


class _Bufferizer(BufferWriter):
    """Builds the new body of main op by op."""

    def __init__(self, module: ModuleOp, main: func.FuncOp, inplace: bool) -> None:
        self.main = main
        self.inplace = inplace
        self.threads = target_of(module).threads.data
        self.places = Places()
        self.returned = _returned(main)
        self.unused = _unused_reshapes(main.body.block)
        caches = caches_of(main)
        names = result_texts(main, NAME)
        kept = {cache.place for cache in caches if cache is not None}  # outputs that are parts of caches
        inputs = [
            (memref_of(value) if is_shaped(value) else value.type) if cache is None else buffer_for(cache.room)
            for value, cache in zip(main.args, caches, strict=True)
        ]
        written = [memref_of(value) for number, value in enumerate(self.returned) if number not in kept]
        super().__init__(CopyKernels(module), Block(arg_types=[*inputs, *written]))
        self.inputs = len(inputs)
        self.scalars: dict[SSAValue, SSAValue] = {}
        self.home: dict[SSAValue, SSAValue] = {}  # target buffers of yielded values
        self.inserted: dict[SSAValue, InsertRowsOp] = {}  # values that are made in the place of rows of another
        self.places_of_rows: dict[InsertRowsOp, SSAValue] = {}
        cached: dict[int, SSAValue] = {}  # boxes of outputs in caches
        self.parts: set[SSAValue] = set()  # past and present as views of a cache's buffer
        self.extended: dict[SSAValue, SSAValue] = {}  # presents in which what extends the past is changed in place
        for old, new, cache in zip(main.args, self.block.args, caches, strict=False):
            new.name_hint = old.name_hint
            if not is_shaped(old):
                self.scalars[old] = new
            elif cache is None:
                self.assign(old, new)
            else:
                past, present = (self.window(new, part_of(cache, type)) for type in (cache.past, cache.present))
                self.assign(old, past)
                cached[cache.place] = present
                if cache.grows:
                    self.parts |= {past, present}
        own = iter(self.block.args[len(inputs) :])
        self.outputs = [cached[number] if number in kept else next(own) for number in range(len(names))]
        self.rooms = {new for new, cache in zip(self.block.args, caches, strict=False) if cache is not None}
        for name, new in zip(names, self.outputs, strict=True):
            if new not in self.rooms:
                new.name_hint = name if name.isidentifier() else None
        self.find_homes(main.body.block, self.outputs)

    def argument_attributes(self) -> ArrayAttr[DictionaryAttr]:
        """The attributes of main's arguments: the names as before, and the roles."""
        own = self.block.args[self.inputs :]
        results = zip(attributes_of_results(self.main), self.outputs, strict=True)
        given = [(each, "cache" if CACHE in each.data else "input") for each in attributes_of_arguments(self.main)]
        given += [(each, "output") for each, output in results if output in own]
        return ArrayAttr([DictionaryAttr({**old.data, ROLE: StringAttr(role)}) for old, role in given])

    def pairs(self, call: CallOp) -> dict[int, int]:
        """Result position -> position of the operand whose buffer it takes."""
        return {result: operand for operand, result in inplace_pairs(call)} if self.inplace else {}

    def find_homes(self, block: Block, targets: Sequence[SSAValue]) -> None:
        """Assigns buffers to yielded values: `targets`, and the same for all that they overwrite in place.

        A loop-carried buffer holds the value of the iteration's start until its last read, so a yielded value is
        computed there only where no such read follows.
        """
        over: dict[SSAValue, SSAValue] = {}
        for op in block.ops:
            if isinstance(op, CallOp):
                for result, operand in self.pairs(op).items():
                    over[op.res[result]] = op.arguments[operand]
            elif isinstance(op, InsertRowsOp):
                over[op.result] = op.into

        def made_for(value: SSAValue) -> list[SSAValue] | None:
            """A value and those that it overwrites, the last one first; None where they have a place already."""
            chain = [value]
            while chain[-1] in over:
                chain.append(over[chain[-1]])
            made_here = all(isinstance(v.owner, _MAKERS) and v.owner.parent is block for v in chain)
            return None if not made_here or any(v in self.home or v in self.inserted for v in chain) else chain

        for value, target in zip(filter(is_shaped, handed_on(block)), targets, strict=True):
            chain = made_for(value)
            if chain is None:
                continue
            if target in self.parts:
                if len(chain) > 1 and self.may_change(chain[:-1], target):
                    self.extended[chain[-1]] = target
                continue
            held = self.holds.get(target)
            residents = [held] if held is not None and held in block.args else []
            for result, operand in over.items():
                if operand in residents:
                    residents.append(result)
            maker = cast("Operation", chain[-1].owner)
            if all(user.is_before_in_block(maker) for v in residents for user in users_in(block, v)):
                self.home.update(dict.fromkeys(chain, target))
        for op in block.ops:
            if isinstance(op, InsertRowsOp) and (chain := made_for(op.new)) is not None:
                self.inserted.update(dict.fromkeys(chain, op))

    def may_change(self, chain: Sequence[SSAValue], present: SSAValue) -> bool:
        """Whether calls may work in place, one after the other, on a present, in which the past still lies.

        All readers of the past must come before, and the calls must accept the strides of the cache's buffer.
        """
        calls = [value.owner for value in chain]
        past = self.block.args.index(self.places[present].root)
        readers = users_in(self.main.body.block, self.main.args[past])
        return all(reader.is_before_in_block(cast("Operation", calls[-1])) for reader in readers) and all(
            isinstance(call, CallOp) and self.accepts_strides(call, call.res.index(value))
            for call, value in zip(calls, chain, strict=True)
        )

    def accepts_strides(self, call: CallOp, result: int) -> bool:
        """Whether a call that works in place does so on strided memory."""
        interface = interface_of(self.copies.kernels[call.callee.string_value()])
        return self.pairs(call)[result] in {number.data for number in interface.strided_operands} and result in {
            number.data for number in interface.strided_results
        }

    def convert_block(self, block: Block) -> None:
        """Converts the ops of a block."""
        for op in block.ops:
            if op not in self.unused:
                self.convert(op)

    def convert(self, op: Operation) -> None:
        """Emits the buffer-level ops for `op`."""
        match op:
            case WeightOp():
                if op.result.uses:
                    weight = BufferWeightOp(op.blob, memref_of(op.result))
                    self.add(weight, op.location)
                    self.assign(op.result, weight.result)
            case CallOp():
                self.call(op)
            case ReshapeOp():
                name = self.copies.get(type_of(op.x), type_of(op.result), op.location)
                source, target = self.read(op, op.x), self.new_buffer(op, op.result)
                self.add(BufferCallOp(name, [source], [target]), op.location)
                self.assign(op.result, target)
            case EmptyOp():
                if all(isinstance(use.operation, Loop) for use in op.result.uses):
                    return  # nothing is carried into the first turn
                self.assign(op.result, self.new_buffer(op, op.result))
            case ExtractRowsOp():
                rows = self.rows(op.result, self.read_dense(op, op.x), self.scalar(op.row), op.axis.value.data)
                self.assign(op.result, rows)
            case InsertRowsOp():
                self.insert_rows(op)
            case scf.ForOp() | scf.WhileOp():
                self.loop(op)
            case scf.IfOp():
                self.branches(op)
            case func.ReturnOp():
                self.hand_on(op, self.outputs)
                self.add(func.ReturnOp(), op.location)
            case scf.YieldOp():
                self.add(scf.YieldOp(*[self.scalars[v] for v in op.operands if not is_shaped(v)]), op.location)
            case _ if op.name == "tensor.extract":
                source, *position = op.operands
                load = memref.LoadOp.get(self.read(op, source), [self.scalars[each] for each in position])
                self.add(load, op.location)
                self.scalars[op.results[0]] = load.res
            case _ if is_scalar(op):
                if op.results[0] in self.scalars:
                    return  # the place of rows that are made before
                copy = op.clone(self.scalars)
                self.add(copy, op.location)
                self.scalars.update(zip(op.results, copy.results, strict=True))
            case _:
                raise InvalidModelError(
                    f"{describe(op)}: bufferize takes calls, reshapes, weights, loops, branches and scalars only"
                )

    def loop(self, op: Loop) -> None:
        """Converts a loop: each carried tensor becomes one buffer, carried scalars stay."""
        block, values = turn_of(op), [result for result in op.results if is_shaped(result)]
        inits = [value for value in initial_of(op) if is_shaped(value)]
        carried = [argument for argument in block.args if is_shaped(argument)]
        buffers = [self.new_buffer(op, value) for value in values]
        for init, buffer in zip(inits, buffers, strict=True):
            if not isinstance(init.owner, EmptyOp):
                self.copy(self.read(op, init), buffer, init)
        scalars = [self.scalars[value] for value in initial_of(op) if not is_shaped(value)]
        kept = [argument for argument in block.args if not is_shaped(argument)]
        body = Block(arg_types=[argument.type for argument in kept])
        self.scalars.update(zip(kept, body.args, strict=True))
        before = dict(self.holds)
        for value, buffer in zip(carried, buffers, strict=True):
            self.assign(value, buffer)
        self.fill(body, block, buffers)
        self.holds = before
        if isinstance(op, scf.WhileOp):
            new = scf.WhileOp(scalars, [value.type for value in scalars], [self.test(op.before_region.block)], [body])
        else:
            lower, upper, step = (self.scalars[each] for each in (op.lb, op.ub, op.step))
            new = scf.ForOp(lower, upper, step, scalars, body)
        self.region_op(op, new, buffers)

    def test(self, old: Block) -> Block:
        """Converts the condition region of an scf.while, which forwards its scalars; tensors lie in buffers."""
        kept = [argument for argument in old.args if not is_shaped(argument)]
        new = Block(arg_types=[argument.type for argument in kept])
        self.scalars.update(zip(kept, new.args, strict=True))
        outside, self.block = self.block, new
        *scalars, last = old.ops
        for op in scalars:
            self.convert(op)
        self.add(scf.ConditionOp(self.scalars[last.operands[0]], *new.args), last.location)
        self.block = outside
        return new

    def branches(self, op: scf.IfOp) -> None:
        """Converts an scf.if, both branches of which write their results to the same buffers."""
        buffers = [self.new_buffer(op, value) for value in op.results if is_shaped(value)]
        sides: list[list[Block]] = []
        for region in op.regions:
            sides.append([Block() for _ in region.blocks])
            for new, old in zip(sides[-1], region.blocks, strict=True):
                before = dict(self.holds)
                self.fill(new, old, buffers)
                self.holds = before
        types = [result.type for result in op.results if not is_shaped(result)]
        new = scf.IfOp(self.scalars[op.cond], types, Region(sides[0]), Region(sides[1]))
        self.region_op(op, new, buffers)

    def fill(self, new: Block, old: Block, targets: Sequence[SSAValue]) -> None:
        """Converts a block of a loop or branch; its yielded values end up in `targets`."""
        outside, self.block = self.block, new
        self.find_homes(old, targets)
        *ops, last = old.ops
        for op in ops:
            if op not in self.unused:
                self.convert(op)
        self.hand_on(last, targets)
        self.convert(last)
        self.block = outside

    def region_op(self, old: Operation, new: Operation, buffers: Sequence[SSAValue]) -> None:
        """Inserts a loop or branch and maps its results to buffers and new scalar results."""
        self.add(new, old.location)
        new.attributes.update(old.attributes)
        self.scalars.update(zip((each for each in old.results if not is_shaped(each)), new.results, strict=True))
        for value, buffer in zip(filter(is_shaped, old.results), buffers, strict=True):
            self.assign(value, buffer)

    def hand_on(self, op: Operation, targets: Sequence[SSAValue]) -> None:
        """Copies a block's yielded values to `targets`, except those computed there.

        A parallel copy: a buffer is written once no other pending copy reads it; cycles (iterations that swap values)
        are broken with a temporary.
        """
        moves: list[tuple[SSAValue, SSAValue, SSAValue]] = []  # value, source, target
        for value, target in zip(filter(is_shaped, op.operands), targets, strict=True):
            source = self.read(op, value)
            if source is not target:
                moves.append((value, source, target))

        def is_free(move: tuple[SSAValue, SSAValue, SSAValue]) -> bool:
            """Whether no other pending copy reads the memory this one writes; a cache's past and present overlap."""
            root = self.places[move[2]].root
            return all(self.places[each[1]].root is not root for each in moves if each is not move)

        while moves:
            if (free := next(filter(is_free, moves), None)) is not None:
                value, source, target = free
                self.copy(source, target, value)
                moves.remove(free)
                continue
            value, source, target = moves[0]
            safe = self.alloc(memref_of(value), op, False, value)
            self.copy(source, safe, value)
            moves = [(v, safe if s is source else s, t) for v, s, t in moves]

    def call(self, op: CallOp) -> None:
        kernel = self.copies.kernels[op.callee.string_value()]
        interface = interface_of(kernel)
        if self.is_appended(op, interface):
            return
        strided = {number.data for number in interface.strided_operands}
        sources = [
            self.read(op, value) if position in strided else self.read_dense(op, value)
            for position, value in enumerate(op.arguments)
        ]
        pairs = self.pairs(op)
        targets: list[SSAValue] = []
        for position, value in enumerate(op.res):
            if position not in pairs:
                targets.append(self.new_buffer(op, value))
                continue
            target = sources[pairs[position]]
            held = self.holds[target].owner
            if isinstance(held, WeightOp) or (held is self.main.body.block and target not in self.rooms):
                raise PlanError(f"{describe(op)}: in place over an input or a weight")
            if (held if isinstance(held, Block) else held.parent) is not op.parent:
                raise PlanError(f"{describe(op)}: in place over a value from outside of the loop or branch")
            if target.type != memref_of(value) and not self.accepts_strides(op, position):
                raise PlanError(f"{describe(op)}: in place over {target.type}, the result is {value.type}")
            targets.append(target)
        scratch = interface.scratch_bytes(self.threads)
        buffers = [self.alloc(buffer_type(i8, (scratch,)), op, True)] if scratch else []
        self.add(BufferCallOp(op.callee, sources, targets, buffers), op.location)
        for value, target in zip(op.res, targets, strict=True):
            self.assign(value, target)

    def is_appended(self, call: CallOp, interface: InterfaceAttr) -> bool:
        """Emits just the appended elements of a call that only moves, if a cache's past stays in place.

        Returns whether it did. Later readers of the past find it unchanged.
        """
        targets = [target for value, target in zip(self.returned, self.outputs, strict=True) if value in call.res]
        targets = targets or [self.extended[value] for value in call.res if value in self.extended]
        moves = moves_of(interface)
        moved = sum(move.target.count for move in moves)
        if len(targets) != 1 or targets[0] not in self.parts or moved != Box.dense(shape_of(call.res[0])).count:
            return False
        room = self.places[targets[0]]
        added = appended_to(room, moves, [self.places[self.read(call, value)] for value in call.arguments])
        if added is None:
            return False
        for root, source, target in added:
            type = tensor(memref_type(root).element_type, source.sizes)
            ends = self.window(root, source), self.window(room.root, target)
            self.add(BufferCallOp(self.copies.get(type, type, call.location), ends[:1], ends[1:]), call.location)
        self.assign(call.res[0], targets[0])
        return True

    def new_buffer(self, op: Operation, value: SSAValue) -> SSAValue:
        """The buffer for a value that overwrites nothing."""
        insert = self.inserted.get(value)
        home = self.home.get(value) if insert is None else self.place_of_rows(insert)
        return home or self.alloc(memref_of(value), op, False, value)

    def insert_rows(self, op: InsertRowsOp) -> None:
        """Rows are written into the buffer of another value, unless they were made there."""
        into, new = self.read(op, op.into), self.read(op, op.new)
        held = op.into.owner
        if isinstance(held, WeightOp) or (held is self.main.body.block and into not in self.rooms):
            raise PlanError(f"{describe(op)}: rows inserted into an input or a weight")
        if (held if isinstance(held, Block) else held.parent) is not op.parent:
            raise PlanError(f"{describe(op)}: rows inserted into a value from outside of the loop or branch")
        if replaces_read_rows(op):
            raise PlanError(f"{describe(op)}: replaces rows that a graph.extract_rows of the value before reads")
        place = self.place_of_rows(op)
        assert place is not None, "its buffer is known"
        if new is not place:
            self.copy(new, place, op.new)
        self.assign(op.result, into)

    def place_of_rows(self, op: InsertRowsOp) -> SSAValue | None:
        """Where rows are inserted; None before the buffer is known into which they are."""
        into = op.into
        while isinstance(into.owner, InsertRowsOp) and into.owner.parent is op.parent:
            into = into.owner.into
        buffer = self.buffer.get(into)
        if buffer is not None and op not in self.places_of_rows:
            self.places_of_rows[op] = self.rows(op.new, buffer, self.scalar(op.row), op.axis.value.data)
        return self.places_of_rows.get(op)

    def scalar(self, value: SSAValue) -> SSAValue:
        """A scalar of the new block; what computes it may come later in the old one."""
        if value not in self.scalars:
            assert isinstance(value.owner, Operation)
            for operand in value.owner.operands:
                self.scalar(operand)
            self.convert(value.owner)
        return self.scalars[value]


def _unused_reshapes(block: Block) -> set[Operation]:
    """Reshapes that reach no call and no output: their operand may be overwritten by then."""
    unused: set[Operation] = set()
    for op in reversed(list(block.walk())):
        if isinstance(op, ReshapeOp) and all(use.operation in unused for use in op.result.uses):
            unused.add(op)
    return unused


def _returned(main: func.FuncOp) -> tuple[SSAValue, ...]:
    last = main.body.block.last_op
    if not isinstance(last, func.ReturnOp):
        raise InvalidModelError("bufferize: main does not end in func.return")
    return tuple(last.arguments)
