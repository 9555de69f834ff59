"""place-weights: lays out all weights in one segment of memory.

before:  func.func @main(%x: ..., %y: ..., %arena: ...) {
           %w = kernel.weight #graph.blob<"m.onnx", 4096, 1000, "d1"> : memref<250xf32>
           %v = kernel.weight #graph.blob<"m.onnx", 8192, 40, "d2"> : memref<10xf32>
after:   builtin.module attributes {kernel.weights = [[#graph.blob<...>, 0], [#graph.blob<...>, 1024]]}
         func.func @main(%x: ..., %y: ..., %arena: ..., %weights: memref<1064xi8> {graph.role = "weights"}) {
           %w = memref.view %weights[%0][] : memref<1064xi8> to memref<250xf32>
           %v = memref.view %weights[%1][] : memref<1064xi8> to memref<10xf32>

The module's `kernel.weights` gives each blob's offset, a multiple of 64 bytes. Weights lie in the order in which they
are read first; those with equal bytes (one digest) share an offset. A model without weights gets an empty segment. With
`apart`, weights of at least so many bytes come last, each in pages of its own, so that it can be mapped from a file of
its own. Needs plan-arena.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ArrayAttr, MemRefType, ModuleOp, i8
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.errors import PlanError
from ...dialects.graph.host import main_of
from ...dialects.graph.values import int_attr
from ...dialects.kernel.calls import WeightOp
from ...dialects.page_blocks import alignment_for
from .analysis.buffers import VIEWS, WEIGHTS, IndexConstants, add_argument, argument_with_role, memref_type

PLACE = 64  # bytes: the alignment of offsets, that of a cache line and of the widest vector


@dataclass(frozen=True)
class PlaceWeights(ModulePass):
    """Lays out all weights in one segment of memory."""

    name = "place-weights"

    apart: int = 0
    """Bytes of a weight from which on it has pages of its own; 0 for none."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_of(op, self.name)
        if argument_with_role(main, "arena") is None:
            raise PlanError("place-weights: main has no argument with the role 'arena'; run plan-arena first")
        weights = _in_order_of_use(main)
        offsets: dict[str, int] = {}
        entries: list[Attribute] = []
        end = 0
        for weight in sorted(weights, key=self._is_apart):
            digest, nbytes = weight.blob.digest.data, weight.blob.nbytes.data
            if digest not in offsets:
                place = alignment_for(nbytes) if self._is_apart(weight) else PLACE
                offsets[digest] = start = -(-end // place) * place
                entries.append(ArrayAttr([weight.blob, int_attr(start)]))
                end = start + nbytes
        segment = add_argument(main, MemRefType(i8, [end]), "weights")
        constants = IndexConstants(main)
        for weight in weights:
            shift = constants[offsets[weight.blob.digest.data]]
            view = memref.ViewOp(segment, shift, [], memref_type(weight.result))
            view.location = weight.location
            Rewriter.replace_op(weight, view)
        op.attributes[WEIGHTS] = ArrayAttr(entries)

    def _is_apart(self, weight: WeightOp) -> bool:
        return 0 < self.apart <= weight.blob.nbytes.data


def _in_order_of_use(main: func.FuncOp) -> list[WeightOp]:
    """All weights; those that nothing reads come first."""
    weights, users = dict[WeightOp, None](), dict[WeightOp, None]()
    views: dict[SSAValue, WeightOp] = {}
    for op in main.body.walk():
        if isinstance(op, WeightOp):
            weights[op] = None
            views[op.result] = op
            continue
        read = [views[operand] for operand in op.operands if operand in views]
        if isinstance(op, VIEWS):
            views.update(dict.fromkeys(op.results, read[0]) if read else {})
        else:
            users.update(dict.fromkeys(read))
    return [*(each for each in weights if each not in users), *users]
