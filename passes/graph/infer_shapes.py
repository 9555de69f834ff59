"""infer-shapes: recomputes all result types by the ops' type rules, in topological order.

before:  %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
after:   %1 = graph.transpose %0 {permutation = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>

Weights, constants and arguments keep the types they state, except that a kernel's operands are kept as
well. The types of functions and kernels follow their last op. An op that can't be is an InvalidModelError
that names it.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter
from xdsl.utils.exceptions import VerifyException

from ...dialects.errors import InvalidModelError
from ...dialects.graph.base import GraphOp, describe
from ...dialects.graph.ops.structure import KernelOp
from ..statistics import count


def _expected_types(op: GraphOp) -> list[Attribute]:
    try:
        return list(op.infer_types())
    except VerifyException as error:
        raise InvalidModelError(f"{describe(op)}: {error}") from error


def _infer(op: Operation) -> int:
    """Corrects the types of one op's results; returns the number of wrong ones."""
    if not isinstance(op, GraphOp):
        return 0
    wrong = [
        (result, type) for result, type in zip(op.results, _expected_types(op), strict=True) if result.type != type
    ]
    for result, type in wrong:
        Rewriter.replace_value_with_new_type(result, type)
    return int(bool(wrong))


@dataclass(frozen=True)
class InferShapes(ModulePass):
    """Recomputes all result types."""

    name = "infer-shapes"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        changed = sum([_infer(inner) for inner in op.walk()])
        if changed:
            for inner in op.walk():
                if isinstance(inner, FuncOp):
                    inner.update_function_type()
                elif isinstance(inner, KernelOp):
                    inner.refresh_type()
        count(ctx, self.name, "types-corrected", changed)
