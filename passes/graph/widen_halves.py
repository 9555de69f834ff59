"""widen-halves: computes 16-bit floats in f32, and rounds where 16 bits are required.

before:  %0 = graph.conv %x, %w, %b : (tensor<..xf16>, tensor<..xf16>, tensor<..xf16>) -> tensor<..xf16>
         %1 = graph.max_pool %0    %2 = graph.concat %1, %1    func.return %2 : tensor<..xf16>
after:   %x' = graph.cast %x {to = f32}    %w' = graph.cast %w {to = f32}
         %0 = graph.conv %x', %w', %b' : (tensor<..xf32>, tensor<..xf32>, tensor<..xf32>) -> tensor<..xf32>
         %1 = graph.max_pool %0    %2 = graph.concat %1, %1    %y = graph.cast %2 {to = f16}    func.return %y

A result is rounded for the model's outputs, for values that loops carry and by casts that the model has itself (those
that are not `loose`), and stays f32 for what is computed next, through what only moves it. What moves other values of
16 bits, such as a key-value cache, stays as it is, and so does a product of bf16 with sums of f32. Weights stay 16 bits
wide in memory: the kernel that reads one widens it. Small constants are made anew.

With `required` only what has no code on 16-bit floats is widened, attention and recurrent networks, and so it is where
code is not for a CPU: a GPU's kernels round what they store.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, bf16, f16, f32
from xdsl.ir import Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.graph.base import ContractionOp, ElementwiseOp, GraphOp, MovementOp, ReductionOp
from ...dialects.graph.blobs import blob_store
from ...dialects.graph.host import is_shaped
from ...dialects.graph.ops.attention import AttentionOp
from ...dialects.graph.ops.contraction import ConvOp, MatmulOp
from ...dialects.graph.ops.conversion import BitcastOp, CastOp
from ...dialects.graph.ops.normalization import BatchNormOp
from ...dialects.graph.ops.quantization import DequantizeOp, QuantizeOp
from ...dialects.graph.ops.recurrence import RecurrenceOp
from ...dialects.graph.ops.selection import TopKOp
from ...dialects.graph.values import Array, element_type_of_value, nbytes_of, shape_of, tensor, type_of
from ...dialects.kernel.targets import CpuAttr, target_of
from ..statistics import count
from .support.pattern_utils import SCALAR_BYTES, Constants, with_operands

_REQUIRED = (AttentionOp, RecurrenceOp)
_COMPUTED = (*_REQUIRED, ElementwiseOp, ReductionOp, ContractionOp, BatchNormOp)
_MOVED = (MovementOp, TopKOp)
_TYPED = (CastOp, BitcastOp, QuantizeOp, DequantizeOp)  # what they make hangs on the types that they are given


def _is_half(value: SSAValue) -> bool:
    return is_shaped(value) and element_type_of_value(value) in (f16, bf16)


def _in_single(array: Array) -> Array:
    return array.astype(np.float32)


class _Widening:
    """One walk in topological order; `wide` maps rounded values to their f32 originals."""

    def __init__(self, constants: Constants, kinds: tuple[type[GraphOp], ...]) -> None:
        self._constants = constants
        self._kinds = kinds
        self._wide: dict[SSAValue, SSAValue] = {}

    def visit(self, op: GraphOp) -> bool:
        """Converts an op to f32 if required; returns whether it did."""
        if isinstance(op, CastOp) and op.loose is not None and element_type_of_value(op.x) == f32:
            self._wide[op.result] = op.x
            return False
        if isinstance(op, CastOp) and op.x in self._wide and op.to == f32:
            op.result.replace_all_uses_with(self._wide[op.x])
            Rewriter.erase_op(op)
            return True
        if isinstance(op, MatmulOp | ConvOp) and op.sums is not None:
            return False
        halves = [value for value in op.operands if _is_half(value)]
        if not halves or isinstance(op, _TYPED) or not isinstance(op, self._kinds):
            return False
        if isinstance(op, _MOVED) and not self._moves_wide(halves):
            return False
        operands = [self._widened(value, op) if _is_half(value) else value for value in op.operands]
        wide = with_operands(op, operands)
        Rewriter.insert_op(wide, InsertPoint.before(op))
        for old, new in zip(op.results, wide.results, strict=True):
            if not _is_half(old):
                old.replace_all_uses_with(new)
                continue
            rounded = CastOp(new, element_type_of_value(old), location=op.location)
            Rewriter.insert_op(rounded, InsertPoint.before(op))
            old.replace_all_uses_with(rounded.result)
            self._wide[rounded.result] = new
        Rewriter.erase_op(op)
        return True

    def _moves_wide(self, halves: list[SSAValue]) -> bool:
        """Whether the moved operands were computed in f32 here, apart from constants."""
        others = [value for value in halves if value not in self._wide]
        return len(others) < len(halves) and all(map(self._constants.is_constant, others))

    def _widened(self, value: SSAValue, reader: Operation) -> SSAValue:
        """The value in f32, with conversions inserted before `reader`."""
        if value in self._wide:
            return self._wide[value]
        made = self._constant(value, reader) if self._constants.is_constant(value) else None
        made = made or CastOp(value, f32, location=reader.location)
        Rewriter.insert_op(made, InsertPoint.before(reader))
        return made.results[0]

    def _constant(self, value: SSAValue, reader: Operation) -> Operation | None:
        """A constant re-created in f32; None if it is large and its reader can do without."""
        widens = isinstance(reader, MatmulOp) or (isinstance(reader, ConvOp) and reader.layout.data == "NHWC")
        if widens and value in reader.operands[:2]:
            return None
        if not isinstance(reader, RecurrenceOp | ContractionOp) and nbytes_of(type_of(value)) > SCALAR_BYTES:
            return None
        wide = tensor(f32, shape_of(value))
        return self._constants.computed([value], wide, "f32", _in_single, reader.location)


@dataclass(frozen=True)
class WidenHalves(ModulePass):
    """Computes 16-bit floats in f32, and rounds where 16 bits are required."""

    name = "widen-halves"

    required: bool = False

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        everything = not self.required and isinstance(target_of(op), CpuAttr)
        kinds = (*_COMPUTED, *_MOVED) if everything else _REQUIRED
        widening = _Widening(Constants(blob_store(ctx)), kinds)
        for each in list(op.walk()):
            if isinstance(each, GraphOp) and widening.visit(each):
                count(ctx, self.name, each.name.removeprefix("graph."))
