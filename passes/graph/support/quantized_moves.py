"""Patterns that move elements in quantised form: dequantize sinks below movement ops, quantize rises above them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ....dialects.graph.ops.activation import ClipOp
from ....dialects.graph.ops.indexing import GatherElementsOp, GatherNdOp, GatherOp
from ....dialects.graph.ops.movement import BroadcastToOp, ConcatOp, ReshapeOp, SliceOp, TransposeOp
from ....dialects.graph.ops.quantization import MOST_BITS, DequantizeOp, QuantizeOp, integer_range
from ....dialects.graph.ops.unary import ReluOp
from ....dialects.graph.ops.windows import MaxPoolOp
from ....dialects.graph.values import element_type_of_value, ints, shape_of
from .pattern_utils import GraphPattern, defining, only_use, rewrites, with_operands
from .quantized_levels import Writer, bits_of, dequantized, integer, is_positive, is_single, same_parameter, ui8

Moving = ReshapeOp | TransposeOp | SliceOp | BroadcastToOp | GatherOp | GatherElementsOp | GatherNdOp | MaxPoolOp


class UnsignedQuantize(GraphPattern):
    """quantize to i8 read by dequantize only -> to ui8: unsigned by signed products are the fastest"""

    @rewrites
    @override
    def match_and_rewrite(self, op: QuantizeOp, rewriter: PatternRewriter, /) -> None:
        readers = [use.operation for use in op.result.uses]
        writer = Writer(self.constants, op.location)
        if op.to != i8 or not readers or not all(isinstance(reader, DequantizeOp) for reader in readers):
            return
        zeros = [reader.operands[2] for reader in (op, *readers) if len(reader.operands) == 3]
        if not all(map(self.constants.is_constant, zeros)):
            return
        raised = writer.emit(QuantizeOp(op.x, op.scale, _raised(op.zero_point, writer), ui8))
        rewriter.replace(op, writer.ops, [raised])
        for reader in readers:  # each where it is: what it reads may be made behind `op`
            assert isinstance(reader, DequantizeOp)
            writer = Writer(self.constants, reader.location)
            writer.emit(DequantizeOp(raised, reader.scale, _raised(reader.zero_point, writer)))
            rewriter.replace(reader, writer.ops)


class QuantizedPair(GraphPattern):
    """quantize(dequantize(x)) with the same scale, zero point and type -> x"""

    @rewrites
    @override
    def match_and_rewrite(self, op: QuantizeOp, rewriter: PatternRewriter, /) -> None:
        inner = dequantized(op.x)
        if inner is None or element_type_of_value(inner.x) != op.to or not is_single(op.scale, op.zero_point):
            return
        scales = same_parameter(self.constants, inner.scale, op.scale)
        if scales and same_parameter(self.constants, inner.zero_point, op.zero_point):
            rewriter.replace(op, [], [inner.x])


class DequantizeLater(GraphPattern):
    """reshape(dequantize(x)) -> dequantize(reshape(x)), and likewise for all movement ops and max pools"""

    @rewrites
    @override
    def match_and_rewrite(self, op: Moving, rewriter: PatternRewriter, /) -> None:
        inner = defining(op.operands[0], DequantizeOp)
        if inner is None or isinstance(op, BroadcastToOp) or bits_of(inner.x) > MOST_BITS:
            return
        writer = Writer(self.constants, op.location)
        scale, zero = inner.scale, inner.zero_point
        if not is_single(scale, zero):
            if not isinstance(op, TransposeOp):
                return
            scale, zero = _transposed(scale, op, writer), None if zero is None else _transposed(zero, op, writer)
        if isinstance(op, MaxPoolOp) and not is_positive(self.constants, scale):
            return
        moved = writer.emit(with_operands(op, [inner.x, *op.operands[1:]]))
        writer.emit(DequantizeOp(moved, scale, zero))
        rewriter.replace(op, writer.ops)


def _transposed(parameter: SSAValue, op: TransposeOp, writer: Writer) -> SSAValue:
    """A scale or zero point that varies along axes which a transpose permutes."""
    shape, permutation = shape_of(parameter), ints(op.permutation)
    full = (*[1] * (len(permutation) - len(shape)), *shape)
    return writer.emit(TransposeOp(writer.reshape(parameter, full), permutation))


class QuantizeEarlier(GraphPattern):
    """quantize(reshape(x)) -> reshape(quantize(x)), and likewise for all movement ops and max pools"""

    @rewrites
    @override
    def match_and_rewrite(self, op: QuantizeOp, rewriter: PatternRewriter, /) -> None:
        mover = op.x.owner
        if not isinstance(mover, Moving) or not op.x.has_one_use() or not is_single(op.scale, op.zero_point):
            return
        if isinstance(mover, MaxPoolOp) and not is_positive(self.constants, op.scale):
            return
        writer = Writer(self.constants, op.location)
        moved = writer.emit(_on(op, mover.operands[0]))
        writer.emit(with_operands(mover, [moved, *mover.operands[1:]]))
        rewriter.replace(op, writer.ops)


def _on(op: QuantizeOp, x: SSAValue) -> QuantizeOp:
    return QuantizeOp(x, op.scale, op.zero_point, op.to)


class QuantizeBeforeConcat(GraphPattern):
    """quantize(concat(x, y)) -> concat(quantize(x), quantize(y))"""

    @rewrites
    @override
    def match_and_rewrite(self, op: QuantizeOp, rewriter: PatternRewriter, /) -> None:
        concat = only_use(op.x, ConcatOp)
        if concat is None or not is_single(op.scale, op.zero_point):
            return
        writer = Writer(self.constants, op.location)
        parts = [writer.emit(_on(op, part)) for part in concat.inputs]
        writer.emit(with_operands(concat, parts))
        rewriter.replace(op, writer.ops)


class DequantizeAfterConcat(GraphPattern):
    """concat(dequantize(x), dequantize(y)) with one scale and zero point -> dequantize(concat(x, y))"""

    @rewrites
    @override
    def match_and_rewrite(self, op: ConcatOp, rewriter: PatternRewriter, /) -> None:
        parts = [part for part in map(dequantized, op.inputs) if part is not None]
        if len(parts) < len(op.inputs) or not self._agree(parts):
            return
        joined = with_operands(op, [part.x for part in parts])
        result = DequantizeOp(joined.result, parts[0].scale, parts[0].zero_point, location=op.location)
        rewriter.replace(op, [joined, result])

    def _agree(self, parts: Sequence[DequantizeOp]) -> bool:
        first = parts[0]
        return all(
            element_type_of_value(part.x) == element_type_of_value(first.x)
            and same_parameter(self.constants, part.scale, first.scale)
            and same_parameter(self.constants, part.zero_point, first.zero_point)
            for part in parts[1:]
        )


class LimitOfQuantize(GraphPattern):
    """quantize(relu(x)), quantize(clip(x)) -> quantize(x) if its type saturates within these limits"""

    @rewrites
    @override
    def match_and_rewrite(self, op: QuantizeOp, rewriter: PatternRewriter, /) -> None:
        limit, zero = op.x.owner, integer(self.constants, op.zero_point)
        if not isinstance(limit, ReluOp | ClipOp) or not is_positive(self.constants, op.scale) or zero is None:
            return
        scale = self.constants.scalar(op.scale)
        assert scale is not None
        low, high = integer_range(op.to)
        if isinstance(limit, ReluOp):
            below, above = 0.0, None
        else:
            below = None if limit.min is None else limit.min.value.data
            above = None if limit.max is None else limit.max.value.data
        if (below is None or np.rint(below / scale) + zero <= low) and (
            above is None or np.rint(above / scale) + zero >= high
        ):
            rewriter.replace(op, _on(op, limit.x))


def _raised(zero_point: SSAValue | None, writer: Writer) -> SSAValue:
    """The zero point of signed bytes converted to that of equivalent unsigned ones."""
    known = np.zeros((), np.int8) if zero_point is None else writer.constants.known(zero_point)
    return writer.array((known.astype(np.int16) - integer_range(i8)[0]).astype(np.uint8))
