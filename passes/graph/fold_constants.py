"""fold-constants: evaluates ops whose operands are constant.

before:  %w = graph.weight #graph.blob<"m.onnx", 0, 4096, "d1"> : tensor<32x32xf32>
         %1 = graph.transpose %w {permutation = array<i64: 1, 0>} : tensor<32x32xf32>
after:   %1 = graph.weight #graph.blob<"", 0, 4096, "d2"> : tensor<32x32xf32>

Small results are written out as graph.constant, large ones become new blobs; a reshaped weight is the same
blob. Blobs of equal content get the same handle, so that cse merges their weights. An op stays where

- folding it would make more bytes than it reads (broadcasts, casts to wider types, dequantised weights), unless the
  result is at most 1 KB, or a contraction or normalisation has it as a parameter: packing needs those whole;
- evaluating it costs more than its bytes tell (convolutions, pools, attention, large products);
- this run of the pass has made 512 MB, or 8 times the bytes of the module's weights where that is more: a
  few values joined with each other again and again would be any number of bytes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter
from xdsl.rewriter import Rewriter

from ...dialects.graph.base import ContractionOp, GraphOp
from ...dialects.graph.blobs import EAGER_BYTES, BlobAttr, blob_store
from ...dialects.graph.ops.indexing import IndexedOp
from ...dialects.graph.ops.movement import BroadcastToOp, ReshapeOp
from ...dialects.graph.ops.normalization import BatchNormOp, InstanceNormOp, LayerNormOp, RmsNormOp
from ...dialects.graph.ops.quantization import DequantizeOp
from ...dialects.graph.ops.recurrence import RecurrenceOp
from ...dialects.graph.ops.structure import ConstantOp, WeightOp
from ...dialects.graph.values import nbytes_of, type_of
from ..statistics import count
from .support.pattern_utils import Constants, GraphPattern

FREE_BYTES = 1024  # results up to this size may be larger than what they are made of
PARAMETRISED = (ContractionOp, BatchNormOp, InstanceNormOp, LayerNormOp, RmsNormOp, RecurrenceOp)
SMALL_BYTES = 8192  # ops that read at most so much are also folded while canonicalising
MADE_BYTES = 2**29  # of one run of the pass, or MADE_RATIO times the weights' bytes
MADE_RATIO = 8


def _bytes(values: Iterable[SSAValue]) -> int:
    """Bytes of values, each counted once."""
    return sum(nbytes_of(type_of(value)) for value in set(values))


def is_foldable(op: Operation) -> bool:
    """Whether the op can be replaced by constants no larger than what it reads."""
    if not isinstance(op, GraphOp) or not op.operands:
        return False
    if not all(isinstance(operand.owner, (ConstantOp, WeightOp)) for operand in op.operands):
        return False
    made = _bytes(op.results)
    return op.is_cheap() and (made <= FREE_BYTES or made <= _bytes(op.operands) or _is_parameter(op))


def _is_parameter(op: GraphOp) -> bool:
    return isinstance(op, BroadcastToOp) and any(isinstance(use.operation, PARAMETRISED) for use in op.result.uses)


def folded(op: GraphOp, constants: Constants) -> list[Operation]:
    """Ops for the results of a foldable op, one each."""
    weight = op.operands[0].owner
    if isinstance(op, ReshapeOp) and isinstance(weight, WeightOp):
        return [WeightOp(weight.blob, type_of(op.result), location=weight.location)]
    if all(nbytes_of(type_of(result)) <= EAGER_BYTES for result in op.results):
        arrays = op.evaluate(*map(constants.known, op.operands))
        return [constants.make(array, op.location) for array in arrays]
    # What is evaluated later must not depend on IR that is gone by then.
    kept = op.clone(dict(zip(op.operands, Block(arg_types=op.operand_types).args, strict=True)))
    return [_computed(kept, op, index, constants) for index in range(len(op.results))]


def _computed(kept: GraphOp, op: GraphOp, index: int, constants: Constants) -> Operation:
    how = f"{op.name} {op.properties} {index}"
    type = type_of(op.results[index])
    return constants.computed(op.operands, type, how, lambda *arrays: kept.evaluate(*arrays)[index], op.location)


class FoldSmallConstants(GraphPattern):
    """an op of small constants -> its results as constants"""

    @override
    def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
        if isinstance(op, DequantizeOp):
            return  # products of integers are looked for first
        if is_foldable(op) and _bytes(op.operands) <= SMALL_BYTES:
            assert isinstance(op, GraphOp)
            made = folded(op, self.constants)
            rewriter.replace(op, made, [new.results[0] for new in made])


@dataclass(frozen=True)
class FoldConstants(ModulePass):
    """Evaluates ops whose operands are constant, in one walk."""

    name = "fold-constants"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        constants = Constants(blob_store(ctx))
        handles: dict[str, BlobAttr] = {}
        ops = list(op.walk())
        allowed = max(MADE_BYTES, MADE_RATIO * _bytes(each.result for each in ops if isinstance(each, WeightOp)))
        for inner in ops:
            if isinstance(inner, WeightOp):
                inner.blob = handles.setdefault(inner.blob.digest.data, inner.blob)
                continue
            if isinstance(inner, IndexedOp):
                constants.indices(inner)  # refuses what is out of range, whether the op can be folded or not
            if isinstance(inner, GraphOp) and is_foldable(inner) and _bytes(inner.results) <= allowed:
                allowed -= _bytes(inner.results)
                made = folded(inner, constants)
                Rewriter.replace_op(inner, made, [new.results[0] for new in made])
                count(ctx, self.name, inner.name.removeprefix("graph."))
