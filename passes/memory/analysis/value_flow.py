"""Which call reads what another one has made, in a main at the arena level.

Read from the final IR alone, by following bytes: a call's result is a value, and a read of some of its bytes makes the
call a reader of the value, or of that part of it. What elide-copies has made of copies is thereby seen as if there had
never been any: a reader of a concatenation reads what its parts were made by. A copy that is left is seen the same way,
as it might have gone in another order: it is no call of the problem, and its readers read what it copies.

Unless it makes columns into rows. A kernel reads and writes rows, elements that lie next to each other: where an
element's neighbour in the row that was written is not the one in the row that is read, there are two places for one
element in any order, and a copy between them is a call, and what it makes a value.

flow_problem.py makes the problem of the order of it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects import memref
from xdsl.ir import SSAValue

from ....dialects.graph.values import numpy_dtype
from ....dialects.kernel.calls import CallOp
from ....dialects.kernel.kernel_attributes import InterfaceAttr
from ...geometry.boxes import Box, placed
from .buffers import memref_type
from .byte_map import Region
from .main_steps import Move, moves_of


@dataclass(eq=False)
class Made:
    """A result: its bytes, the call that makes it, and what each reader reads of it."""

    region: Region
    value: SSAValue | None  # None for that of a copy
    maker: int
    is_whole: bool = False  # whether it has a buffer, or an argument, for itself; else it may lie in a larger one
    reads: dict[int, Region] = field(default_factory=dict[int, Region])
    kept: bool = False


Sources = list[tuple[Made, Region]]


@dataclass(frozen=True)
class NewRows:
    """What a copy makes in which an element is followed by another one than in the row that it is copied from."""

    made: Made
    at: int  # the byte of such an element


@dataclass(frozen=True)
class _Piece:
    """Bytes of a buffer and what they hold: a result, or copies of results."""

    region: Region
    sources: tuple[tuple[Made, Region], ...]
    is_copy: bool = False
    new_rows: NewRows | None = None


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

    def call(self, op: CallOp | memref.LoadOp) -> None:
        """The next call of main."""
        if isinstance(op, memref.LoadOp):
            self.calls.append(FlowCall(operands=[self.found(self.region(op.memref))]))
            self.read()
            return
        interface = self.interfaces.get(op.callee.string_value()) or InterfaceAttr.of()
        moves = moves_of(interface)
        moved = {move.result for move in moves}
        copies = [piece for move in moves if (piece := self.copy(op, move)) is not None]
        results = [number for number in range(len(op.outs)) if number not in moved]
        call = FlowCall(operands=[self.found(self.region(value), value) for value in op.ins] if results else [])
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
            made = Made(self.region(op.outs[number]), op.outs[number], len(self.calls) - 1)
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
        rows = piece.new_rows
        if rows is None or reader is None or not _goes_on(self.region(reader), reader, rows.at):
            return list(piece.sources)
        self.need(rows)
        return [(rows.made, piece.region)]

    def need(self, rows: NewRows) -> None:
        """Makes a copy a call that reads what it copies."""
        if rows.made not in self.made:
            self.made.append(rows.made)
            for made, region in self.calls[rows.made.maker].operands[0].sources:
                self.read_by(rows.made.maker, made, region)

    def copy(self, op: CallOp, move: Move) -> _Piece | None:
        """What a move of a call that copies leaves in its target; None where that is no box."""
        source = _window(self.region(op.ins[move.operand]), op.ins[move.operand], move.source)
        target = _window(self.region(op.outs[move.result]), op.outs[move.result], move.target)
        if target is None:
            return None
        if source is None:
            return _Piece(target.region, (), True)
        self.copied.add(source.region.owner)
        found = self.found(source.region)
        for made, _ in found.sources:
            made.is_whole = False
        new_rows = None
        if source.row_axis not in (None, target.row_axis) and target.row_axis is not None and self.has_row(source):
            self.calls.append(FlowCall(operands=[found], is_copy=True))
            made = Made(target.region, None, len(self.calls) - 1, self.is_whole(target.region))
            new_rows = NewRows(made, target.region.start)
        return _Piece(target.region, tuple(found.sources), True, new_rows)

    def has_row(self, source: _Window) -> bool:
        """Whether the first element of a copy and the one behind it were written as neighbours."""
        region = source.region
        if region.owner is region.space and region.space not in self.held:
            return True  # an input or a weight, which lies where it is
        first = Region(region.space, region.owner, region.start, (), source.itemsize)
        return any(
            not piece.is_copy and piece.region.shared(first) and _goes_on(made.region, made.value, region.start)
            for piece in self.pieces.get(region.owner, ())
            for made, _ in piece.sources
        )

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


@dataclass(frozen=True)
class _Window:
    """A window of a value: its bytes, those of an element, and the axis along which elements lie side by side."""

    region: Region
    itemsize: int
    row_axis: int | None


def _window(region: Region, value: SSAValue, box: Box) -> _Window | None:
    """A window of a value; None where it is no box."""
    type = memref_type(value)
    strides = type.get_strides()
    if strides is None or None in strides:
        return None
    found = placed(box, Box(0, type.get_shape(), tuple(stride for stride in strides if stride is not None)))
    if found is None:
        return None
    size = numpy_dtype(type.element_type).itemsize
    inner = Region.of(region.space, region.owner, region.start + found.offset * size, size, found.sizes, found.strides)
    axes = [axis for axis, stride in enumerate(found.strides) if stride == 1 and found.sizes[axis] > 1]
    return _Window(inner, size, axes[0] if axes else None)


def _goes_on(region: Region, value: SSAValue | None, at: int) -> bool:
    """Whether the row of a value in which the element at a byte lies has another one behind it.

    The last axis of a value is that of its rows, of which kernels take the elements to lie side by side.
    """
    if value is None:
        return False
    type = memref_type(value)
    strides, shape = type.get_strides() or (), type.get_shape()
    left, rest = divmod(at - region.start, numpy_dtype(type.element_type).itemsize)
    axes = sorted(((stride, axis) for axis, stride in enumerate(strides) if shape[axis] > 1 and stride), reverse=True)
    if rest or left < 0 or not axes or min(axes) != (1, len(shape) - 1):
        return False
    places = [0] * len(shape)
    for stride, axis in axes:
        places[axis], left = divmod(left, stride)
    return places[-1] + 1 < shape[-1] and all(place < size for place, size in zip(places, shape, strict=True))
