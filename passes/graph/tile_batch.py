"""tile-batch: runs layers whose values exceed the cache for a whole batch one batch entry at a time.

before:  %1 = graph.conv %x, %w1 : (tensor<32x56x56x64xf32>, ..) -> tensor<32x56x56x64xf32>
         %2 = graph.conv %1, %w2 : (tensor<32x56x56x64xf32>, ..) -> tensor<32x56x56x64xf32>
after:   %number, %2 = scf.for %i = %c0 to %c32 step %c1 iter_args(%n = %zero, %all = %zeros) {
           %3 = graph.reshape (graph.gather %x, %n)             tensor<1x56x56x64xf32>
           %4 = graph.conv %3, %w1 : (tensor<1x56x56x64xf32>, ..) -> tensor<1x56x56x64xf32>
           %5 = graph.conv %4, %w2 : (tensor<1x56x56x64xf32>, ..) -> tensor<1x56x56x64xf32>
           %more = graph.scatter_nd %all, %n, %5
           scf.yield %n + 1, %more
         }

Layer by layer, 32 pictures of 56 x 56 x 64 are written to memory and read again. Of one picture most stays in the
second-level cache, and the arena holds the values of one only (as in Alwani, Chen, Ferdman and Milder, "Fused-layer CNN
accelerators", 2016, with whole pictures). What is read for each entry again are a layer's weights, so it is for layers
with few of them beside what they work on. Layers one after the other become one loop. Entries are copied into it and
out of it, which what is saved must outweigh. A batch of run time is taken for as large as it may be. For CPUs; comes
last, when ops have their layouts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.graph.axes import Kept, Repeated
from ...dialects.graph.base import ContractionOp, GraphOp
from ...dialects.graph.host import main_of
from ...dialects.graph.ops.contraction import MatmulOp
from ...dialects.graph.ops.indexing import GatherOp, ScatterNdOp
from ...dialects.graph.ops.movement import ReshapeOp
from ...dialects.graph.values import nbytes_of, shape_of, type_of
from ...dialects.kernel.targets import CpuAttr, target_of
from ...dialects.sizes.sizes import bounds_of, now
from ..statistics import count
from .support.counted_loops import CountedLoop, GraphWriter
from .support.pattern_utils import with_operands

# Bytes of weights that cost as much as a byte of an entry, and how many second-level caches the values of a layer must
# fill. Measured on Zen 5 (1 MB, one thread) with 8 and 32 pictures: 1 to 20, and 1 to 4, are within 2 % of each other
# on ResNet-18 and -50, MobileNet-v2, ShuffleNet, SqueezeNet, DenseNet-121 and U-Net, and 1.01 to 1.13 times as fast as
# layer by layer. With one cache layers of 7 x 7 pixels are in, and MobileNet-v3 and EfficientNet-B0 lose 2 and 3 %;
# with half a byte of weights BERT of 128 tokens is out, which otherwise takes 0.93 to 0.98 of the time.
WEIGHTS = 4
CACHES = 4
# Times that a byte which is copied in or out is read or written: the copy, and for the latter zeros before it.
COPIED = 3


@dataclass(frozen=True)
class TileBatch(ModulePass):
    """Runs layers whose values exceed the cache for a whole batch one batch entry at a time."""

    name = "tile-batch"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        if not isinstance(target, CpuAttr):
            return
        for entries, ops, others in list(_sequences(main_of(op, self.name).body.block)):
            runs = list(_runs(entries, ops, CACHES * target.l2.data))
            for other in others if runs else ():
                other.detach()
                Rewriter.insert_op(other, InsertPoint.before(ops[0]))
            for run in runs:
                _write_loop(run)
                count(ctx, self.name, "layers run entry by entry", len(run.ops))


@dataclass(frozen=True)
class _Run:
    """Consecutive ops that work on each batch entry independently."""

    entries: int
    ops: Sequence[GraphOp]
    saved: float
    """Bytes of an entry that are not read or written in memory, as much as weights cost taken off."""

    @property
    def inputs(self) -> list[SSAValue]:
        """The values from outside of which they read an entry."""
        made = {op.results[0] for op in self.ops}
        read = (value for op in self.ops for value in batched_operands(op, self.entries) or ())
        return [value for value in dict.fromkeys(read) if value not in made]

    @property
    def outputs(self) -> list[SSAValue]:
        """The values with users outside."""
        inside = set[Operation](self.ops)
        return [op.results[0] for op in self.ops if any(use.operation not in inside for use in op.results[0].uses)]

    def pays(self) -> bool:
        """Whether there are several layers, and copies in and out are smaller than the saved traffic."""
        copied = COPIED * sum(map(_entry_bytes, (*self.inputs, *self.outputs)))
        layers = sum(isinstance(op, ContractionOp) for op in self.ops)
        return layers > 1 and copied < self.saved


def batched_operands(op: GraphOp, entries: int) -> list[SSAValue] | None:
    """The operands with axis 0 as the batch; None if the op is not independent along the batch.

    A result of rank 1 is no batch, nor are the rows of one matrix product, and an op that reads a value by entries and
    as a whole needs all of them.
    """
    least = 3 if isinstance(op, MatmulOp) else 2
    if len(op.results) != 1 or len(shape := shape_of(op.results[0])) < least or shape[0] != entries:
        return None
    batched: list[SSAValue] = []
    for value, axes in zip(op.operands, op.operand_axes(), strict=True):
        meeting = [axis for axis in axes if axis.to == 0]
        if not meeting or meeting == [Repeated(0)]:
            continue
        if meeting != [Kept(0)] or axes[0] != Kept(0) or shape_of(value)[0] != entries:
            return None
        batched.append(value)
    read = sum(value in batched for value in op.operands)
    return batched if batched and read == len(batched) else None


def _entry_bytes(value: SSAValue) -> int:
    return now(nbytes_of(type_of(value))) // max(1, now(shape_of(value)[0]))


def _saved(op: GraphOp, entries: int, cache: int) -> float:
    """`_Run.saved` of one op: minus the cost of its weights if all entries fit into `cache` bytes."""
    batched = batched_operands(op, entries) or ()
    entry = sum(map(_entry_bytes, (*batched, *op.results)))
    weights = sum(now(nbytes_of(type_of(value))) for value in op.operands if value not in batched)
    return (entry if bounds_of(entries)[1] * entry > cache else 0) - weights / WEIGHTS


def _sequences(block: Block) -> Iterator[tuple[int, list[GraphOp], list[GraphOp]]]:
    """The number of entries, ops that work on each independently, and independent ops in between."""
    entries, ops, others, made = 1, list[GraphOp](), list[GraphOp](), set[SSAValue]()

    def belongs(op: GraphOp) -> bool:
        batched = batched_operands(op, entries)
        return batched is not None and made.isdisjoint(value for value in op.operands if value not in batched)

    for op in block.ops:
        if ops and not (isinstance(op, GraphOp) and (belongs(op) or made.isdisjoint(op.operands))):
            yield entries, ops, others
            ops, others, made = [], [], set[SSAValue]()
        if not isinstance(op, GraphOp):
            continue
        if not ops:
            entries = next(iter(shape_of(op.results[0])), 1)
        if belongs(op) and bounds_of(entries)[1] > 1 and now(entries) > 0:
            ops.append(op)
            made.update(op.results)
        elif ops:
            others.append(op)
    if ops:
        yield entries, ops, others


def _runs(entries: int, ops: Sequence[GraphOp], cache: int) -> Iterator[_Run]:
    """The run with most saved bytes among consecutive ops, and recursively those on either side of it."""
    best, total, start = (0.0, 0, 0), 0.0, 0
    for index, op in enumerate(ops):
        if total <= 0:
            total, start = 0.0, index
        total += _saved(op, entries, cache)
        best = max(best, (total, start, index + 1))
    total, start, end = best
    if total > 0:
        yield from _runs(entries, ops[:start], cache)
        run = _Run(entries, ops[start:end], total)
        if run.pays():
            yield run
        yield from _runs(entries, ops[end:], cache)


def _write_loop(run: _Run) -> None:
    """Replaces a run by a loop over the entries."""
    first, outputs = run.ops[0], run.outputs
    writer = GraphWriter(InsertPoint.before(first), first.location)
    loop = CountedLoop(writer, run.entries, [writer.zeros(value) for value in outputs])
    entry: dict[SSAValue, SSAValue] = {}
    for value in run.inputs:
        read = writer.insert(GatherOp(value, loop.number, 0))
        entry[value] = writer.insert(ReshapeOp(read, (1, *shape_of(value)[1:])))
    for op in run.ops:
        batched = batched_operands(op, run.entries) or ()
        operands = [entry[value] if value in batched else value for value in op.operands]
        entry[op.results[0]] = writer.insert(with_operands(op, operands, **op.resized(0, 1)))
    row = writer.insert(ReshapeOp(loop.number, (1, 1)))
    kept = [
        writer.insert(ScatterNdOp(every, row, entry[value])) for every, value in zip(loop.values, outputs, strict=True)
    ]
    for value, result in zip(outputs, loop.close(kept), strict=True):
        value.replace_all_uses_with(result)
    for op in reversed(run.ops):
        Rewriter.erase_op(op)
