"""advise-weights: weights are mapped before the calls that read them, and given back behind them.

before:  kernel.call @matmul_0 ins(%x, %w : ...) outs(%a : ...)             %w = memref.view %weights[0]
         kernel.call @matmul_1 ins(%a, %v : ...) outs(%y : ...)             %v = memref.view %weights[131072]
after:   func.call @mini_infer_release_weights(%weights, %c131072, %c262144)
         func.call @mini_infer_map_weights(%weights, %c0, %c131072)
         kernel.call @matmul_0 ins(%x, %w : ...) outs(%a : ...)
         func.call @mini_infer_release_weights(%weights, %c0, %c131072)
         func.call @mini_infer_map_weights(%weights, %c131072, %c262144)
         kernel.call @matmul_1 ins(%a, %v : ...) outs(%y : ...)

Calls are grouped, in order, into windows whose weights take at most `budget` bytes together, in whole blocks of what
Linux maps at once. At the beginning of a window all other weights are released from the process, then its own are
mapped, all at once, so that the system reads ahead those that are not in its page cache. A window depends on nothing
that ran before, and a loop or a branch is either within one, or has windows of its own inside. A table of which a
kernel gathers rows is released and not mapped: each row that is read counts.

Both functions take the segment, and a range of its bytes (runtime_ir.py); the segment must be mapped from a file, at a
multiple of a block. Weights that fit the budget as a whole get no advice. Raises PlanError for a call that needs more
than the budget by itself. Needs place-weights, before share-threads.

The system could be asked for the next window while one is computed (MADV_WILLNEED). Pages that are read so are small
ones, which take five times as long to map in every run after that, and VGG-16's 606 MB took 0.39 s to read instead of
0.21 (a virtual disk of 3 GB/s, ext4, Linux 6.18).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import IndexType, ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass

from ...dialects.errors import PlanError
from ...dialects.graph.base import describe
from ...dialects.graph.host import kernels_of, main_of
from ...dialects.graph.ops.indexing import GatherOp
from ...dialects.graph.ops.structure import KernelOp
from ...dialects.graph.values import shape_of
from ...dialects.kernel.calls import CallOp
from ...dialects.page_blocks import block_for
from ...dialects.sizes.sizes import bounds_of
from ..statistics import count, measure
from .analysis.buffers import IndexConstants, Places, argument_with_role, insert_before, memref_type, nbytes_of

RELEASE, MAP = "mini_infer_release_weights", "mini_infer_map_weights"


@dataclass(frozen=True)
class AdviseWeights(ModulePass):
    """Weights are mapped before the calls that read them, and given back behind them."""

    name = "advise-weights"

    budget: int = 0
    """Bytes of weights that may be resident; 0 for any number."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_of(op, self.name)
        segment = argument_with_role(main, "weights")
        if segment is None:
            raise PlanError("advise-weights: main has no argument with the role 'weights'; run place-weights first")
        if not self.budget or nbytes_of(memref_type(segment)) <= self.budget:
            return
        block, nbytes = block_for(self.budget), nbytes_of(memref_type(segment))
        windows = list(_Windows(segment, kernels_of(op), self.budget, block).of_block(main.body.block))
        constants = IndexConstants(main)
        every = set(range(-(-nbytes // block)))
        for window in windows:
            for function, blocks in ((RELEASE, every - window.mapped), (MAP, window.mapped)):
                for run in _runs(blocks):
                    ends = [constants[min(each * block, nbytes)] for each in run]
                    insert_before(func.CallOp(function, [segment, *ends], []), window.first)
        for function in (RELEASE, MAP):
            op.body.block.add_op(func.FuncOp.external(function, [segment.type, IndexType(), IndexType()], []))
        count(ctx, self.name, "windows", len(windows))
        measure(ctx, self.name, "bytes resident at most", block * max((each.size for each in windows), default=0))


@dataclass
class _Window:
    """Consecutive ops of one block, and the blocks of weights that they read, by number."""

    first: Operation
    mapped: set[int] = field(default_factory=set[int])
    gathered: set[int] = field(default_factory=set[int])
    """Of tables, of which only rows are read."""
    rows: int = 0
    """The most blocks that these rows lie in."""

    @property
    def size(self) -> int:
        """The blocks that are resident at most."""
        return len(self.mapped) + self.rows

    def joined(self, other: _Window) -> _Window:
        """This window with another's ops behind its own."""
        mapped, gathered = self.mapped | other.mapped, self.gathered | other.gathered
        return _Window(self.first, mapped, gathered - mapped, self.rows + other.rows)


class _Windows:
    """Groups ops into windows."""

    def __init__(self, segment: SSAValue, kernels: dict[str, KernelOp], budget: int, block: int) -> None:
        self._segment, self._kernels, self._budget, self._block = segment, kernels, budget, block
        self._most = budget // block
        self._places = Places()

    def of_block(self, block: Block) -> Iterator[_Window]:
        """The windows of a block, in order, those inside its loops and branches included."""
        window: _Window | None = None
        for op in block.ops:
            if not isinstance(op, CallOp) and not op.regions:
                continue
            own = self._read_by(op)
            if not own.mapped and not own.gathered:
                continue
            if own.size > self._most:
                if isinstance(op, CallOp):
                    raise self._too_large(op, own)
                if window is not None:
                    yield window
                window = None
                for region in op.regions:
                    for inner in region.blocks:
                        yield from self.of_block(inner)
            elif window is not None and (both := window.joined(own)).size <= self._most:
                window = both
            else:
                if window is not None:
                    yield window
                window = own
        if window is not None:
            yield window

    def _too_large(self, call: CallOp, own: _Window) -> PlanError:
        kernel, needed = call.callee.string_value(), own.size * self._block
        return PlanError(
            f"{describe(call)}: its kernel @{kernel} needs {needed} bytes of weights at once, in whole blocks of "
            f"{self._block}; weights_memory allows {self._budget}"
        )

    def _read_by(self, op: Operation) -> _Window:
        """The window of one op alone. Of what a loop gathers from, all may be read in time."""
        window = _Window(op)
        for call in op.walk():
            if isinstance(call, CallOp):
                self._add(window, call, whole=call is not op)
        window.gathered -= window.mapped
        window.rows = min(window.rows, len(window.gathered))
        return window

    def _add(self, window: _Window, call: CallOp, *, whole: bool) -> None:
        kernel = self._kernels[call.callee.string_value()]
        for value, argument in zip(call.ins, kernel.arguments, strict=True):
            place = self._places[value]
            if place.root is not self._segment or place.bytes.offset == place.bytes.end:
                continue
            blocks = range(place.bytes.offset // self._block, -(-place.bytes.end // self._block))
            rows = None if whole else _gathered_rows(argument)
            if rows is None:
                window.mapped.update(blocks)
            else:
                row = (place.bytes.end - place.bytes.offset) // shape_of(argument)[0]
                window.gathered.update(blocks)
                window.rows += rows * (-(-row // self._block) + 1)


def _gathered_rows(argument: SSAValue) -> int | None:
    """The most rows that a kernel reads of an operand; None if it may read all of it."""
    rows = 0
    for use in argument.uses:
        gather = use.operation
        if not isinstance(gather, GatherOp) or use.index != 0 or gather.axis.value.data != 0:
            return None
        number = 1
        for size in shape_of(gather.indices):
            number *= bounds_of(size)[1]
        rows += number
    return rows


def _runs(blocks: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Half-open runs of consecutive numbers."""
    numbers: Sequence[int] = sorted(blocks)
    start = 0
    for end in range(1, len(numbers) + 1):
        if end == len(numbers) or numbers[end] != numbers[end - 1] + 1:
            yield numbers[start], numbers[end - 1] + 1
            start = end
