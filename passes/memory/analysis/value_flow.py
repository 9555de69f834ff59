"""Which call reads what another one has made, in a main at the arena level: the problem of the order of its calls.

Read from the final IR alone, by following bytes: a call's result is a value, and a read of some of its bytes makes the
call a reader of the value, or of that part of it. What elide-copies has made of copies is thereby seen as if there had
never been any: a reader of a concatenation reads what its parts were made by. A copy that is left is seen the same way,
as it might have gone in another order: it is no call of the problem, and its readers read what it copies. In the same
spirit everything that can't be told exactly is taken for less than it is (a read that is not known, a value that is
rounded to no alignment), so that a bound of the problem is a bound of the arena for every order of the calls, whichever
results are then written in place and whichever copies become views.

Calls in loops and branches are taken once, in textual order, as if there were no loop: what is live in the arena by the
lifetimes of static buffers is at least that.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.dialects import memref
from xdsl.ir import SSAValue

from ....dialects.graph.values import numpy_dtype
from ....dialects.kernel.calls import CallOp
from ....dialects.kernel.kernel_attributes import InterfaceAttr
from ...geometry.boxes import Box, placed
from ...ordering.calls_and_values import Call, InPlace, OrderProblem, Value
from ...ordering.slots import slots_of
from .buffers import memref_type
from .byte_map import Region
from .main_steps import moves_of


@dataclass(eq=False)
class _Made:
    """A result: its bytes, the call that makes it, and what each reader reads of it."""

    region: Region
    maker: int
    is_whole: bool  # whether it has a buffer, or an argument, for itself; else it may lie in a larger one
    reads: dict[int, Region] = field(default_factory=dict[int, Region])
    kept: bool = False
    parts: list[tuple[frozenset[int], int]] = field(default_factory=list[tuple[frozenset[int], int]])
    """The calls that read the same bytes of it, with the number of bytes; in the order of the problem's values."""
    first: int = 0  # the number of its first part among all values


_Sources = list[tuple[_Made, Region]]


@dataclass(frozen=True)
class _Piece:
    """Bytes of a buffer and what they hold: a result, or copies of results."""

    region: Region
    sources: tuple[tuple[_Made, Region], ...]
    is_copy: bool


@dataclass(frozen=True)
class _Found:
    """The results whose bytes a region holds, and whether that is all it holds."""

    sources: _Sources
    exact: bool


@dataclass(frozen=True)
class _Pair:
    """A result that may be written over an operand."""

    result: int
    made: _Made
    over: _Found
    space: SSAValue  # where the operand lies


class ValueFlow:
    """Follows the values of a main, call by call."""

    def __init__(
        self,
        region: Callable[[SSAValue], Region],
        is_whole: Callable[[Region], bool],
        held: Mapping[SSAValue, int],
        cached: Collection[SSAValue],
        interfaces: Mapping[str, InterfaceAttr],
        alignment: int,
    ) -> None:
        """held: the bytes of each argument that main writes; cached: those of them that hold something before."""
        self.region = region
        self.is_whole = is_whole
        self.held = held
        self.cached = cached
        self.interfaces = interfaces
        self.alignment = alignment
        self.pieces: dict[object, list[_Piece]] = {}
        self.made: list[_Made] = []
        self.calls: list[tuple[int, list[_Pair]]] = []  # scratch, and what may be written in place
        self.reads: list[dict[_Made, None]] = []  # by call, each read once
        self.owned: dict[SSAValue, list[_Made]] = {}

    def call(self, op: CallOp | memref.LoadOp) -> None:
        """The next call of main."""
        if isinstance(op, memref.LoadOp):
            self.read([self.found(self.region(op.memref))])
            return
        interface = self.interfaces.get(op.callee.string_value()) or InterfaceAttr.of()
        moves = moves_of(interface)
        moved = {move.result for move in moves}
        copies: list[_Piece] = []
        for move in moves:
            source = _window(self.region(op.ins[move.operand]), op.ins[move.operand], move.source)
            target = _window(self.region(op.outs[move.result]), op.outs[move.result], move.target)
            if target is not None:
                found = self.found(source) if source is not None else _Found([], False)
                for made, _ in found.sources:
                    made.is_whole = False
                copies.append(_Piece(target, tuple(found.sources), True))
        results = [number for number in range(len(op.outs)) if number not in moved]
        operands = [self.found(self.region(value)) for value in op.ins] if results else []
        new = [_Made(self.region(op.outs[number]), len(self.calls), False) for number in results]
        for number in range(len(op.outs)):
            self.forget(self.region(op.outs[number]))
        for piece in copies:
            self.write(piece)
        if not results:
            return
        self.read(operands)
        scratch = sum(-(-self.region(value).count // self.alignment) * self.alignment for value in op.scratch)
        pairs = [
            _Pair(number, made, operands[operand], self.region(op.ins[operand]).space)
            for number, made in zip(results, new, strict=True)
            for operand, result in interface.inplace_pairs
            if result == number
        ]
        self.calls[-1] = (scratch, pairs)
        for made in new:
            made.is_whole = self.is_whole(made.region) or made.region.count == self.held.get(made.region.space)
            self.write(_Piece(made.region, ((made, made.region),), False))
        self.made += new

    def read(self, operands: Sequence[_Found]) -> None:
        """A call that reads these."""
        number = len(self.calls)
        self.calls.append((0, []))
        self.reads.append({made: None for found in operands for made, _ in found.sources})
        for found in operands:
            for made, region in found.sources:
                before = made.reads.get(number)
                # Of several reads by one call the largest counts; the others may be parts of it.
                if before is None or made.region.shared(before) < made.region.shared(region):
                    made.reads[number] = region

    def found(self, region: Region) -> _Found:
        """What a region holds."""
        sources: _Sources = []
        known = 0
        for piece in self.pieces.get(region.owner, ()):
            shared = piece.region.shared(region)
            if shared and not piece.is_copy:
                sources += [(made, region) for made, _ in piece.sources]
                known += shared
            elif shared and shared == piece.region.count:
                sources += piece.sources
                known += shared
        return _Found(sources, known == region.count)

    def forget(self, region: Region) -> None:
        """Everything of which bytes are overwritten is no longer there, as a whole."""
        before = self.pieces.get(region.owner)
        if before:
            self.pieces[region.owner] = [piece for piece in before if not piece.region.shared(region)]

    def write(self, piece: _Piece) -> None:
        """Bytes that hold something now."""
        self.pieces.setdefault(piece.region.owner, []).append(piece)
        if piece.region.space in self.held:
            self.owned.setdefault(piece.region.space, []).extend(made for made, _ in piece.sources)

    def problem(self) -> OrderProblem:
        """The problem of the calls so far."""
        for space in self.held:
            for piece in self.pieces.get(space, ()):
                for made, region in piece.sources:
                    made.kept |= made.region.shared(region) == made.region.count
        values: list[Value] = []
        for made in self.made:
            made.first = len(values)
            made.parts = list(_parts(made))
            # A value that shares its buffer with nothing in any order takes bytes of the arena by itself.
            rounds = made.is_whole and len(made.parts) == 1
            for readers, nbytes in made.parts:
                size = -(-nbytes // self.alignment) * self.alignment if rounds else nbytes
                values.append(Value(size, made.maker, tuple(sorted(readers)), made.kept))
        calls: list[Call] = []
        pairs: list[tuple[int, int]] = []
        owned = {space: [place for made in self.owned.get(space, ()) for place in _all(made)] for space in self.held}
        for number, (scratch, written) in enumerate(self.calls):
            inplace: list[InPlace] = []
            for pair in written:
                over = {each for each, _ in pair.over.sources} if pair.over.exact else set(self.reads[number])
                places = sorted(place for each in over for place in self._read_parts(each, number))
                target = _all(pair.made)
                pairs += [(source, each) for source in places for each in target]
                inplace.append(InPlace(pair.result, sum(values[each].bytes for each in target), tuple(places)))
                if pair.space in self.cached:
                    owned[pair.space] += target
            after = sorted({made.maker for made in self.reads[number]})
            calls.append(Call(tuple(after), scratch, tuple(inplace)))
        rooms = [-(-count // self.alignment) * self.alignment for count in self.held.values()]
        forward = {place for place, space in enumerate(owned) if space in self.cached}
        slot_of, slots = slots_of(len(values), pairs, list(owned.values()), rooms, forward)
        placed_values = tuple(
            Value(each.bytes, each.maker, each.readers, each.kept, slot_of.get(number))
            for number, each in enumerate(values)
        )
        return OrderProblem(tuple(calls), placed_values, slots, self.alignment)

    def _read_parts(self, made: _Made, call: int) -> Iterator[int]:
        """The numbers of the parts of a value that a call reads."""
        for place, (readers, _) in zip(_all(made), made.parts, strict=True):
            if call in readers:
                yield place


def _all(made: _Made) -> range:
    return range(made.first, made.first + len(made.parts))


def _parts(made: _Made) -> Iterator[tuple[frozenset[int], int]]:
    """A value's bytes by the calls that read them."""
    partial = {call: each for call, each in made.reads.items() if made.region.shared(each) < made.region.count}
    whole = frozenset(made.reads) - partial.keys()
    if not partial:
        yield whole, made.region.count
        return
    regions = [made.region, *partial.values()]
    rows = [region.rows() for region in regions]
    edges = np.unique(
        np.concatenate([side for each, at in zip(regions, rows, strict=True) for side in (at, at + each.run)])
    )
    inside = np.array(
        [
            np.searchsorted(at, edges[:-1], "right") > np.searchsorted(at + each.run, edges[:-1], "right")
            for each, at in zip(regions, rows, strict=True)
        ]
    )
    lengths = np.diff(edges)[inside[0]]
    kinds, which = np.unique(inside[1:, inside[0]], axis=1, return_inverse=True)
    for number, kind in enumerate(kinds.T):
        readers = whole | {call for call, is_read in zip(partial, kind, strict=True) if is_read}
        yield readers, int(lengths[which.reshape(-1) == number].sum())


def _window(region: Region, value: SSAValue, box: Box) -> Region | None:
    """The bytes of a window of a value; None where they are no box."""
    type = memref_type(value)
    strides = type.get_strides()
    if strides is None or None in strides:
        return None
    found = placed(box, Box(0, type.get_shape(), tuple(stride for stride in strides if stride is not None)))
    if found is None:
        return None
    size = numpy_dtype(type.element_type).itemsize
    return Region.of(region.space, region.owner, region.start + found.offset * size, size, found.sizes, found.strides)
