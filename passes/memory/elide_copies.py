"""elide-copies: removes copies between buffers where one buffer can be a part of the other.

before:  kernel.call @relu_0 ins(%x) outs(%a)
         kernel.call @relu_1 ins(%x) outs(%b)
         kernel.call @concat_0 ins(%a, %b) outs(%c)          // along axis 0: two parts of %c
after:   %a = memref.reinterpret_cast %c to offset: [0], sizes: [4], strides: [1]
         kernel.call @relu_0 ins(%x) outs(%a)
         %b = memref.reinterpret_cast %c to offset: [4], sizes: [4], strides: [1]
         kernel.call @relu_1 ins(%x) outs(%b)

A call is a copy if its kernel's interface lists moves that cover all results. A copy is removed if every kernel that
accesses the smaller buffer accepts the strides it would get (interfaces state which operands and results may be
strided; dense parts of the arena are accepted by all), if no live value is overwritten, and if the peak of live bytes
doesn't rise; a copy without which the peak would be higher in the end stays. Of a concatenation as many parts as
possible are removed; each of the others remains as a copy of its own, which is made earlier where its part then makes
room for others and the peak gets lower.
Inputs, weights and outputs keep their place and can contain other buffers.

Needs bufferize. Inside loops and branches a copy is removed where it and the buffers on both of its sides belong to the
same block. A loop's accesses to a buffer from outside count at its first and at its last step.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from math import prod

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.errors import PlanError
from ...dialects.graph.base import describe
from ...dialects.graph.host import ROLE, ancestor_in, argument_texts, blocks_of, caches_of, kernels_of, main_of
from ...dialects.graph.values import tensor
from ...dialects.kernel.calls import CallOp, WeightOp, WindowOp
from ...dialects.kernel.kernel_attributes import InterfaceAttr
from ...dialects.sizes.sizes import now
from ..geometry.boxes import Box, placed
from ..statistics import count
from .analysis.buffers import (
    ALIGNMENT,
    VIEWS,
    Places,
    buffer_type,
    cast_to,
    check_alignment,
    insert_before,
    interface_of,
    is_memref,
    label,
    memref_type,
    nbytes_of,
    padded,
)
from .analysis.copy_kernels import CopyKernels
from .analysis.elision import BoxAccess, Elision, RootBuffer
from .analysis.kv_cache_buffers import part_of
from .analysis.main_steps import Move, Step, home_block, loop_ranges, loops_around, moves_of, scratch_of, steps_of

BUDGET = 5_000_000  # steps times copies: a second or two


@dataclass(frozen=True)
class ElideCopies(ModulePass):
    """Removes copies between buffers where one buffer can be a part of the other."""

    name = "elide-copies"
    alignment: int = ALIGNMENT
    """Bytes: plan-arena's alignment, which determines the padded size of a buffer."""
    budget: int = BUDGET
    """Steps times copies that may be looked at again for a lower peak."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_alignment(self.name, self.alignment)
        main = main_of(op, self.name)
        blocks_of(main, self.name)
        program = _Reader(op, main, self.alignment).read()
        _elide(program, set())
        _restore(program, self.budget)
        while any(_hoist(program, copy) for copy in program.copies):
            pass
        gone = sum(len(copy.vanished) for copy in program.copies)
        early = sum(len(copy.hoisted) for copy in program.copies)
        if gone or early:
            count(ctx, self.name, "vanished-copy", gone)
            count(ctx, self.name, "earlier-copy", early)
            _rewrite(op, program)


@dataclass
class _Copy:
    """A call that only copies: its moves by number, and which of them have been removed."""

    call: CallOp
    step: int
    rank: int  # whole copies first, which never raise the peak, then parts of operands, then parts of results
    moves: dict[int, Move]
    local: list[int]  # the moves between buffers of the block that contains the call: others stay
    strided: bool  # whether the kernel accepts strides on all sides
    vanished: set[int] = field(default_factory=set[int])
    hoisted: dict[int, int] = field(default_factory=dict[int, int])
    """The step just before which a move happens, of those that do so earlier."""


@dataclass
class _Program:
    """The elision model of main, and the candidate copies."""

    main: func.FuncOp
    places: Places
    steps: list[Step]
    model: Elision
    copies: list[_Copy]


class _Reader:
    def __init__(self, module: ModuleOp, main: func.FuncOp, alignment: int) -> None:
        self.main = main
        self.alignment = alignment
        self.places = Places()
        self.steps = list(steps_of(main))
        self.turns = loop_ranges(main)
        self.kernels = kernels_of(module)
        self.moves = {name: moves_of(interface_of(kernel)) for name, kernel in self.kernels.items()}
        self.copies: list[_Copy] = []
        self.buffers: dict[SSAValue, RootBuffer] = {}
        self.number = 0
        self.held: dict[SSAValue, tuple[Box | None, Box]] = {}  # boxes that the caller writes and reads
        roles = argument_texts(main, ROLE)
        for argument, role, cache in zip(main.args, roles, caches_of(main), strict=True):
            whole = Box.dense(memref_type(argument).get_shape())
            if cache is None:
                self.held[argument] = (None if role == "output" else whole, whole)
            else:
                self.held[argument] = (part_of(cache, cache.past), part_of(cache, cache.present))

    def read(self) -> _Program:
        scratch: list[int] = []
        for step, op in enumerate(self.steps):
            scratch.append(sum(self.taken(value) for value in scratch_of(op)))
            if not isinstance(op, CallOp):
                self.touch(op.memref, BoxAccess(step, self.places[op.memref].box, False, True, op.memref))
            elif not self.copy(step, op):
                interface = interface_of(self.kernels[op.callee.string_value()])
                self.accesses(step, op, interface)
        model = Elision(scratch)
        for buffer in self.buffers.values():
            buffer.accesses.sort(key=lambda access: access.step)
            model.add(buffer)
        for copy in self.copies:
            for number, move in copy.moves.items():
                sides = (copy.call.ins[move.operand], copy.call.outs[move.result])
                model.add_move(number, *(self.places[value].root for value in sides))
        return _Program(self.main, self.places, self.steps, model, self.copies)

    def accesses(self, step: int, call: CallOp, interface: InterfaceAttr) -> None:
        strided = ({n.data for n in interface.strided_operands}, {n.data for n in interface.strided_results})
        for writes, values in ((False, call.ins), (True, call.outs)):
            for position, value in enumerate(values):
                box = self.places[value].box
                self.touch(value, BoxAccess(step, box, writes, position in strided[writes], value))

    def copy(self, step: int, call: CallOp) -> bool:
        """Adds a call that only copies, as moves; returns False for any other call."""
        name = call.callee.string_value()
        moves = self.moves[name]
        if {move.result for move in moves} != set(range(len(call.outs))) or set(call.ins) & set(call.outs):
            return False
        sides: list[tuple[Box, Box]] = []
        for move in moves:
            ends = ((move.source, call.ins[move.operand]), (move.target, call.outs[move.result]))
            if any(box.count and box.end > Box.dense(memref_type(value).get_shape()).count for box, value in ends):
                raise PlanError(f"{describe(call)}: @{name} has a move that lies outside of its buffers")
            source, target = (self.moved(box, value) for box, value in ends)
            if source is None or target is None:
                return False
            sides.append((source, target))
        interface = interface_of(self.kernels[name])
        everywhere = {move.operand for move in moves}, {move.result for move in moves}
        strided = everywhere[0] <= {n.data for n in interface.strided_operands}
        strided = strided and everywhere[1] <= {n.data for n in interface.strided_results}
        rank = 0
        numbered: dict[int, Move] = {}
        local: list[int] = []
        for move, (source, target) in zip(moves, sides, strict=True):
            reads, writes = call.ins[move.operand], call.outs[move.result]
            if move.target.count != self.places[writes].box.count:
                rank = 2
            elif move.source.count != self.places[reads].box.count:
                rank = max(rank, 1)
            numbered[self.number] = move
            places = (self.places[reads], self.places[writes])
            if all(place.exact and home_block(place.root, self.main) is call.parent for place in places):
                local.append(self.number)
            self.touch(reads, BoxAccess(step, source, False, strided, reads, self.number))
            self.touch(writes, BoxAccess(step, target, True, strided, writes, self.number))
            self.number += 1
        self.copies.append(_Copy(call, step, rank, numbered, local, strided))
        return True

    def moved(self, box: Box, value: SSAValue) -> Box | None:
        """Where what is moved of a value, or to it, lies in its buffer; of a window all of it has to be moved."""
        place = self.places[value]
        if place.exact:
            return placed(box, place.box)
        return place.box if box.is_dense and box.count == now(prod(memref_type(value).get_shape())) else None

    def touch(self, value: SSAValue, access: BoxAccess) -> None:
        root = self.places[value].root
        buffer = self.buffers.get(root)
        if buffer is None:
            type = memref_type(root)
            whole = Box.dense(type.get_shape())
            given, kept = (whole, whole) if isinstance(root.owner, WeightOp) else self.held.get(root, (None, None))
            buffer = RootBuffer(root, self.taken(root), type.element_type, type.get_shape(), given, kept)
            self.buffers[root] = buffer
        buffer.accesses.append(access)
        loops = list(loops_around(self.steps[access.step], home_block(root, self.main)))
        if loops:
            turn = self.turns[loops[-1]]
            ends = {turn.start, turn.stop - 1} - {access.step}
            buffer.accesses += [replace(access, step=step, move=-1) for step in ends]

    def taken(self, root: SSAValue) -> int:
        """Bytes that a buffer occupies in the arena."""
        return padded(now(nbytes_of(memref_type(root))), self.alignment)


def _elide(program: _Program, stays: Collection[int]) -> None:
    """Removes all copies that can be removed, but for moves that stay."""
    program.model.undo(0)
    for copy in sorted(program.copies, key=lambda copy: copy.rank):
        copy.vanished = set()
        _try(program.model, copy, stays)


def _restore(program: _Program, budget: int) -> None:
    """Lets moves stay without which the peak is lower.

    A removed copy makes a buffer live for longer, or a part of a larger one. Where others needed more at that time, it
    didn't raise the peak; these may need less now.
    """
    model, stays, tried = program.model, set[int](), set[int]()
    tries = budget // max(1, len(program.copies) * model.steps)
    while len(tried) < tries and model.live:
        peak, most = model.peak, model.live.count(model.peak)
        move = next((each for each in model.costly(model.live.index(peak)) if each not in tried), None)
        if move is None:
            return
        tried.add(move)
        _elide(program, stays | {move})
        if (model.peak, model.live.count(model.peak)) < (peak, most):
            stays.add(move)
        else:
            _elide(program, stays)


def _try(model: Elision, copy: _Copy, stays: Collection[int]) -> None:
    """Removes as many of the copy's moves as possible without a higher peak."""
    before, mark = model.peak, len(model.journal)
    wanted = sorted((move for move in copy.local if move not in stays), key=lambda move: -model.stretch(move))
    while wanted:
        merged = {move for move in wanted if model.merge(move)}
        left = [move for move in copy.moves if move not in merged]
        if model.peak <= before and (copy.strided or not merged or all(map(model.is_plain, left))):
            copy.vanished = merged
            return
        model.undo(mark)
        # The move that stretches a lifetime most costs most: leave it out and try again.
        wanted = wanted[1:]


def _hoist(program: _Program, copy: _Copy) -> bool:
    """Lets a part of a concatenation be copied earlier, where that lowers the peak; returns whether it does."""
    model, before = program.model, program.model.peak
    if model.live[copy.step] < before or len(copy.moves) < 2 or not copy.strided:
        return False
    for move in copy.local:
        if move in copy.vanished or move in copy.hoisted:
            continue
        peaks: dict[int, int] = {}
        for step in range(copy.step - 1, 0, -1):
            op = program.steps[step]
            if op.parent is not copy.call.parent or any(other.step == step for other in program.copies):
                continue
            peak = model.hoist(move, step)
            if peak is None:
                break
            model.unhoist(move, copy.step)
            peaks[step] = peak
        best = min(peaks, key=lambda step: (peaks[step], -step), default=None)
        if best is not None and peaks[best] < before:
            model.hoist(move, best)
            copy.hoisted[move] = best
            return True
    return False


def _rewrite(module: ModuleOp, program: _Program) -> None:
    """Applies the model's decisions to the IR."""
    _raise_allocations(program)
    copies = CopyKernels(module)
    views: dict[tuple[SSAValue, Block | None], SSAValue] = {}
    by_step = {copy.step: copy for copy in program.copies}
    for step, op in enumerate(program.steps):
        places = [_located(program, value) if is_memref(value) else None for value in op.operands]
        copy = by_step.get(step)
        # Only the windows that a copy accesses are sure to have a place, not its whole operand.
        if copy is not None and (copy.vanished or copy.hoisted or None in places):
            _rewrite_copy(program, copies, copy)
            continue
        for index, (value, place) in enumerate(zip(op.operands, places, strict=True)):
            if not is_memref(value):
                continue
            assert place is not None, "buffers are merged only where all that is accessed has a place"
            root, box = place
            if root is program.places[value].root:
                continue
            if (value, op.parent) not in views:
                made: list[Operation] = [cast_to(root, box, _name(value))]
                if isinstance(window := value.owner, WindowOp):
                    made.append(window.clone({window.source: made[0].results[0]}))
                for each in made:
                    insert_before(each, op)
                made[-1].results[0].name_hint = value.name_hint
                views[value, op.parent] = made[-1].results[0]
            op.operands[index] = views[value, op.parent]
    _sweep(program)


def _located(program: _Program, value: SSAValue) -> tuple[SSAValue, Box] | None:
    """The root and box that hold a call's operand after elision; None where it is no box."""
    place = program.places[value]
    if place.root not in program.model.buffers:
        return place.root, place.box
    found = program.model.locate(place.root, place.box)
    return None if found is None else (found[0].root, found[1])


def _rewrite_copy(program: _Program, copies: CopyKernels, copy: _Copy) -> None:
    """Erases a call whose moves are all removed; each remaining move becomes a copy of its own."""
    for number, move in copy.moves.items():
        if number in copy.vanished:
            continue
        place = program.steps[copy.hoisted[number]] if number in copy.hoisted else copy.call
        ends: list[SSAValue] = []
        for writes in (False, True):
            buffer, access = program.model.side(number, writes=writes)
            value, box = buffer.root, access.box
            if box != Box.dense(memref_type(value).get_shape()):
                view = cast_to(value, box, _name(access.value))
                insert_before(view, place)
                value = view.result
            if access.is_window:
                assert access.value is not None and isinstance(access.value.owner, WindowOp)
                type = buffer_type(memref_type(value).element_type, move.source.sizes)
                window = WindowOp(value, access.value.owner.offset, type)
                window.attributes |= access.value.owner.attributes
                insert_before(window, place)
                value = window.result
            ends.append(value)
        type = tensor(memref_type(ends[0]).element_type, move.source.sizes)
        call = CallOp(copies.get(type, type, copy.call.location), ends[:1], ends[1:])
        call.location = copy.call.location
        insert_before(call, place)
    copy.call.detach()
    copy.call.erase()


def _raise_allocations(program: _Program) -> None:
    """Moves each allocation in front of the first op of its block that uses it or a part of it."""
    for buffer in program.model.buffers.values():
        op = buffer.root.owner
        if buffer.part_of is None and buffer.accesses and isinstance(op, memref.AllocOp):
            block = home_block(buffer.root, program.main)
            windows = (use.operation for use in buffer.root.uses if isinstance(use.operation, WindowOp))
            first = ancestor_in(block, program.steps[buffer.accesses[0].step])
            for user in (ancestor_in(block, window) for window in windows):
                first = user if user.is_before_in_block(first) else first
            op.detach()
            insert_before(op, first)


def _sweep(program: _Program) -> None:
    """Erases views and allocations without users."""
    for op in reversed(list(program.main.body.walk())):
        if isinstance(op, (memref.AllocOp, WindowOp, *VIEWS)) and not op.results[0].uses:
            op.detach()
            op.erase()


def _name(value: SSAValue | None) -> str:
    """The name of the buffer or view that defines a value, "" for main's arguments."""
    return label(value.owner) if value is not None and isinstance(value.owner, Operation) else ""
