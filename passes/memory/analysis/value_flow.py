"""Which call reads what another one has made, in a main at the arena level.

Read from the final IR alone, by following bytes: a call's result is a value, and a read of some of its bytes makes the
call a reader of the value, or of that part of it. What elide-copies has made of copies is thereby seen as if there had
never been any: a reader of a concatenation reads what its parts were made by. A copy that is left is seen the same way,
as it might have gone in another order: it is no call of the problem, and its readers read what it copies.

Unless no order can do without it. Elements of a row lie side by side, and elements along any axis at equal distances,
for the kernel that writes them and for the one that reads them. Where the neighbour of an element in the row that is
written is not the one in the row that is read, as in a transpose to channels last, or where elements at equal distances
are not so any more, as in a shuffle of channels, one place can't serve both. Such a copy is a call, and what it makes a
value; but for one that is copied again, of which it can't be told which of the copies is to stay.

flow_problem.py makes the problem of the order of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from ....dialects.graph.values import numpy_dtype
from ....dialects.kernel.calls import CallOp, WindowOp
from ....dialects.kernel.kernel_attributes import InterfaceAttr
from ...geometry.boxes import Box, placed
from .buffers import memref_type
from .byte_map import Region
from .main_steps import Move, moves_of


@dataclass(eq=False)
class Made:
    """A result: its bytes, the call that makes it, and what each reader reads of it."""

    region: Region
    value: SSAValue | None  # None for that of a copy, or in a window
    maker: int
    is_whole: bool = False  # whether it has a buffer, or an argument, for itself; else it may lie in a larger one
    reads: dict[int, Region] = field(default_factory=dict[int, Region])
    kept: bool = False


Sources = list[tuple[Made, Region]]


@dataclass(frozen=True)
class NewOrder:
    """What a copy makes that changes the order of elements: the bytes that some are copied to."""

    made: Made
    pairs: tuple[tuple[int, int], ...]  # that were side by side in a row, and are not
    triples: tuple[tuple[int, int, int], ...]  # that were at equal distances along an axis


@dataclass(frozen=True)
class _Piece:
    """Bytes of a buffer and what they hold: a result, or copies of results."""

    region: Region
    sources: tuple[tuple[Made, Region], ...]
    is_copy: bool = False
    new_order: NewOrder | None = None


@dataclass(frozen=True)
class Found:
    """The results whose bytes a region holds, and whether that is all it holds."""

    region: Region
    sources: Sources
    exact: bool


@dataclass(frozen=True)
class Pair:
    """A result that may be written over an operand."""

    result: int
    made: Made
    over: Found


@dataclass
class FlowCall:
    """A call: its scratch in bytes, what it reads, and what it may write in place."""

    scratch: int = 0
    operands: list[Found] = field(default_factory=list[Found])
    pairs: list[Pair] = field(default_factory=list[Pair])
    is_copy: bool = False  # needed only where what it makes has readers

    @property
    def reads(self) -> dict[Made, None]:
        """What it reads, each once."""
        return {made: None for found in self.operands for made, _ in found.sources}


class ValueFlow:
    """Follows the values of a main, call by call."""

    def __init__(
        self,
        region: Callable[[SSAValue], Region],
        is_whole: Callable[[Region], bool],
        held: Mapping[SSAValue, int],
        interfaces: Mapping[str, InterfaceAttr],
        alignment: int,
    ) -> None:
        """held: the bytes of each argument that main writes."""
        self.region = region
        self.is_whole = is_whole
        self.held = held
        self.interfaces = interfaces
        self.alignment = alignment
        self.pieces: dict[object, list[_Piece]] = {}
        self.made: list[Made] = []
        self.calls: list[FlowCall] = []
        self.owned: dict[SSAValue, list[Made]] = {}  # what lies in the caller's memory
        self.copied: set[object] = set()  # owners of bytes that are copied from

    def run(self, steps: Iterable[CallOp | memref.LoadOp]) -> None:
        """Follows all calls of main, in order."""
        steps = list(steps)
        for step in steps:
            if isinstance(step, CallOp):
                self.copied |= {self.region(step.ins[move.operand]).owner for move in moves_of(self.interface(step))}
        for step in steps:
            self.call(step)

    def interface(self, call: CallOp) -> InterfaceAttr:
        return self.interfaces.get(call.callee.string_value()) or InterfaceAttr.of()

    def call(self, op: CallOp | memref.LoadOp) -> None:
        """The next call of main."""
        if isinstance(op, memref.LoadOp):
            self.calls.append(FlowCall(operands=[self.found(self.region(op.memref))]))
            self.read()
            return
        interface = self.interface(op)
        moves = moves_of(interface)
        moved = {move.result for move in moves}
        copies = [piece for move in moves if (piece := self.copy(op, move)) is not None]
        results = [number for number in range(len(op.outs)) if number not in moved]
        call = FlowCall(
            operands=[self.found(self.region(value), _shaped(value)) for value in op.ins] if results else []
        )
        for number in range(len(op.outs)):
            self.forget(self.region(op.outs[number]))
        for piece in copies:
            self.write(piece)
        if not results:
            return
        self.calls.append(call)
        self.read()
        call.scratch = sum(-(-self.region(value).count // self.alignment) * self.alignment for value in op.scratch)
        for number in results:
            made = Made(self.region(op.outs[number]), _shaped(op.outs[number]), len(self.calls) - 1)
            made.is_whole = self.is_whole(made.region) or made.region.count == self.held.get(made.region.space)
            pairs = (operand for operand, result in interface.inplace_pairs if result == number)
            call.pairs += [Pair(number, made, call.operands[operand]) for operand in pairs]
            self.write(_Piece(made.region, ((made, made.region),)))
            self.made.append(made)

    def read(self) -> None:
        """Notes what the last call reads."""
        number = len(self.calls) - 1
        for found in self.calls[number].operands:
            for made, region in found.sources:
                self.read_by(number, made, region)

    def read_by(self, call: int, made: Made, region: Region) -> None:
        """Of several reads by one call the largest counts; the others may be parts of it."""
        before = made.reads.get(call)
        if before is None or made.region.shared(before) < made.region.shared(region):
            made.reads[call] = region

    def found(self, region: Region, reader: SSAValue | None = None) -> Found:
        """What a region holds, for a call that reads rows of it if one is given."""
        sources: Sources = []
        known = 0
        for piece in self.pieces.get(region.owner, ()):
            shared = piece.region.shared(region)
            if shared and (not piece.is_copy or shared == piece.region.count):
                sources += self.held_by(piece, region, reader)
                known += shared
        return Found(region, sources, known == region.count)

    def held_by(self, piece: _Piece, region: Region, reader: SSAValue | None) -> Sources:
        """What of a piece a call reads, through a copy if that isn't needed for it."""
        if not piece.is_copy:
            return [(made, region) for made, _ in piece.sources]
        order = piece.new_order
        if order is None or reader is None:
            return list(piece.sources)
        if not (self.bends(reader, order) or (self.parts(reader, order) and not self.is_copied_again(piece))):
            return list(piece.sources)
        self.need(order.made)
        return [(order.made, piece.region)]

    def parts(self, reader: SSAValue, order: NewOrder) -> bool:
        """Whether a value that is read has another element beside one of two that were side by side."""
        region, width = self.region(reader), (1, *memref_type(reader).get_shape())[-1]
        for pair in order.pairs:
            first, second = (_place_in_row(region, reader, byte) for byte in pair)
            if first is not None and second is not None and (first + 1 < width or second > 0):
                return True
        return False

    def bends(self, reader: SSAValue, order: NewOrder) -> bool:
        """Whether elements of a value that is read can't be at equal distances, whatever its strides are."""
        for triple in order.triples:
            first, second, third = (_place_of(self.region(reader), reader, byte) for byte in triple)
            if first is not None and second is not None and third is not None:
                bend = [x - 2 * y + z for x, y, z in zip(first, second, third, strict=True)]
                if any(bend) and (min(bend) >= 0 or max(bend) <= 0):
                    return True
        return False

    def is_copied_again(self, piece: _Piece) -> bool:
        """Whether something that a piece is a copy of may be found in its buffer a second time."""
        made = {each for each, _ in piece.sources}
        others = (each for each in self.pieces[piece.region.owner] if each is not piece)
        return any(each in made for other in others for each, _ in other.sources)

    def need(self, copy: Made) -> None:
        """Makes a copy a call that reads what it copies."""
        if copy not in self.made:
            self.made.append(copy)
            for made, region in self.calls[copy.maker].operands[0].sources:
                self.read_by(copy.maker, made, region)

    def copy(self, op: CallOp, move: Move) -> _Piece | None:
        """What a move of a call that copies leaves in its target; None where that is no box."""
        source = _window(self.region(op.ins[move.operand]), op.ins[move.operand], move.source)
        target = _window(self.region(op.outs[move.result]), op.outs[move.result], move.target)
        if target is None:
            return None
        if source is None:
            return _Piece(target.region, (), True)
        found = self.found(source.region)
        for made, _ in found.sources:
            made.is_whole = False
        new_order = None
        pairs, triples = tuple(self.parted(source, target)), tuple(self.bent(source, target))
        inplace = any(result == move.result for _, result in self.interface(op).inplace_pairs)
        if (pairs or triples) and not inplace and target.region.owner not in self.copied:
            self.calls.append(FlowCall(operands=[found], is_copy=True))
            made = Made(target.region, None, len(self.calls) - 1, self.is_whole(target.region))
            new_order = NewOrder(made, pairs, triples)
        return _Piece(target.region, tuple(found.sources), True, new_order)

    def parted(self, source: _Window, target: _Window) -> Iterator[tuple[int, int]]:
        """The bytes to which a copy takes two elements that are written side by side, where that is not so there.

        Of elements at the ends of rows, of rows of rows, and so on: a copy treats all others alike.
        """
        place = [0] * len(source.sizes)
        for axis in sorted(range(len(place)), key=lambda axis: source.strides[axis]):
            byte = source.byte_of(place)
            beside = source.place_of(byte + source.itemsize)
            if beside is not None and self.is_line(source.region, (byte, byte + source.itemsize), in_row=True):
                first, second = target.byte_of(place), target.byte_of(beside)
                if second != first + target.itemsize:
                    yield first, second
            place[axis] = source.sizes[axis] - 1

    def bent(self, source: _Window, target: _Window) -> Iterator[tuple[int, int, int]]:
        """The bytes to which a copy takes three elements at equal distances, where that is not so there."""
        for axis, (size, stride) in enumerate(zip(source.sizes, source.strides, strict=True)):
            place = [0] * len(source.sizes)
            place[axis] = max(0, size - 2)
            byte = source.byte_of(place)
            line = (byte, byte + stride, byte + 2 * stride)
            places = [source.place_of(each) for each in line]
            if size > 1 and self.is_line(source.region, line):
                there = [target.byte_of(each) for each in places if each is not None]
                if len(there) == 3 and there[1] - there[0] != there[2] - there[1]:
                    yield there[0], there[1], there[2]

    def is_line(self, region: Region, line: Sequence[int], *, in_row: bool = False) -> bool:
        """Whether the elements at these bytes were written at equal distances along an axis, or side by side."""
        if region.owner is region.space and region.space not in self.held:
            return True  # an input or a weight, which lies where it is
        byte = Region(region.space, region.owner, line[0], (), 1)
        for piece in self.pieces.get(region.owner, ()):
            if piece.is_copy or not piece.region.shared(byte):
                continue
            for made, _ in piece.sources:
                if made.value is None:
                    return False
                if in_row:
                    first, second = (_place_in_row(made.region, made.value, each) for each in line)
                    return first is not None and second == first + 1
                found = [_place_of(made.region, made.value, each) for each in line]
                steps = {
                    tuple(b - a for a, b in zip(one, other, strict=True))
                    for one, other in pairwise(found)
                    if one is not None and other is not None
                }
                return None not in found and len(steps) == 1
        return False

    def forget(self, region: Region) -> None:
        """Everything of which bytes are overwritten is no longer there, as a whole."""
        before = self.pieces.get(region.owner)
        if before:
            self.pieces[region.owner] = [piece for piece in before if not piece.region.shared(region)]

    def write(self, piece: _Piece) -> None:
        """Bytes that hold something now."""
        self.pieces.setdefault(piece.region.owner, []).append(piece)
        if piece.region.space in self.held:
            made = self.held_by(piece, piece.region, piece.region.space)
            self.owned.setdefault(piece.region.space, []).extend(each for each, _ in made)

    def keep(self) -> None:
        """What the caller's memory holds in the end is kept."""
        for space in self.held:
            for piece in self.pieces.get(space, ()):
                for made, region in self.held_by(piece, piece.region, piece.region.space):
                    made.kept |= made.region.shared(region) == made.region.count


def _shaped(value: SSAValue) -> SSAValue | None:
    """A value, unless it is a window, of which it is not known where its elements lie."""
    return None if isinstance(value.owner, WindowOp) else value


@dataclass(frozen=True)
class _Window:
    """A window of a value; strides are bytes."""

    region: Region
    itemsize: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]

    def byte_of(self, place: Sequence[int]) -> int:
        """The first byte of an element."""
        return self.region.start + sum(index * stride for index, stride in zip(place, self.strides, strict=True))

    def place_of(self, byte: int) -> list[int] | None:
        """The place of the element at a byte; None where the window has none there."""
        return _place(byte - self.region.start, self.sizes, self.strides)


def _place(distance: int, sizes: Sequence[int], strides: Sequence[int]) -> list[int] | None:
    """The place of an element so far behind the first one; None where there is none."""
    if len(strides) != len(sizes) or distance < 0:
        return None
    place = [0] * len(sizes)
    for axis in sorted(range(len(sizes)), key=lambda axis: -strides[axis]):
        if sizes[axis] > 1 and strides[axis] > 0:
            place[axis] = min(distance // strides[axis], sizes[axis] - 1)
            distance -= place[axis] * strides[axis]
    return None if distance else place


def _window(region: Region, value: SSAValue, box: Box) -> _Window | None:
    """A window of a value; None where it is no box."""
    type = memref_type(value)
    strides = type.get_strides()
    if strides is None or None in strides:
        return None
    found = placed(box, Box(0, type.get_shape(), tuple(stride for stride in strides if stride is not None)))
    if found is None or not found.count:
        return None
    size = numpy_dtype(type.element_type).itemsize
    inner = Region.of(region.space, region.owner, region.start + found.offset * size, size, found.sizes, found.strides)
    return _Window(inner, size, found.sizes, tuple(stride * size for stride in found.strides))


def _place_of(region: Region, value: SSAValue, byte: int) -> list[int] | None:
    """The place in a value of its element at a byte; None where there is none."""
    type = memref_type(value)
    size = numpy_dtype(type.element_type).itemsize
    return _place(byte - region.start, type.get_shape(), [(stride or 0) * size for stride in type.get_strides() or ()])


def _place_in_row(region: Region, value: SSAValue, byte: int) -> int | None:
    """The place in its row of the element of a value at a byte; None where there is none, or rows of one element.

    The last axis is that of rows, of which kernels take the elements to lie side by side.
    """
    place = _place_of(region, value, byte)
    return None if not place or memref_type(value).get_shape()[-1] < 2 else place[-1]
