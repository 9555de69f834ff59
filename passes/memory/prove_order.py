"""prove-order: proves how few live bytes any order of main's calls may have.

before:  func.func @main(...) attributes {kernel.plan = {...}}
after:   func.func @main(...) attributes {kernel.plan = {...},
             kernel.order = {bound = 1024, window = array<i64: 3, 4>, sets = ["0", "1"]}}

The problem is the one that verify-arena reads from the final IR (analysis/value_flow.py), where calls are numbered
without copies; the proof is that of passes/ordering/calls_and_values.py, its sets in hexadecimal. Changes no code.
"""

from __future__ import annotations

from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.passes import ModulePass

from ...dialects.graph.host import main_of
from ...dialects.graph.values import int_attr, ints_attr
from ..ordering.prove import STEPS, prove
from ..statistics import measure
from .analysis.buffers import ORDER
from .verify_arena import order_problem


@dataclass(frozen=True)
class ProveOrder(ModulePass):
    """Proves how few live bytes any order of main's calls may have."""

    name = "prove-order"
    budget: int = STEPS
    """Steps that the search may try."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_of(op, self.name)
        problem = order_problem(op)
        proof = prove(problem, range(len(problem.calls)), self.budget).proof
        main.attributes[ORDER] = DictionaryAttr(
            {
                "bound": int_attr(proof.bound),
                "window": ints_attr(proof.window),
                "sets": ArrayAttr([StringAttr(f"{each:x}") for each in sorted(proof.sets)]),
            }
        )
        measure(ctx, self.name, "bytes of any order", proof.bound)
