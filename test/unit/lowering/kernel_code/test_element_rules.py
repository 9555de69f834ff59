"""Every op whose elements a kernel may ask for has a rule for them."""

from __future__ import annotations

import pytest

from mini_infer.dialects.graph.base import ElementwiseOp, GraphOp
from mini_infer.dialects.graph.dialect import Graph
from mini_infer.lowering.kernel_code.elements.element_values import element_of

# Kernels of these have families of their own; constants and weights are operands, rows windows of buffers.
OTHERS = {
    *("attention", "linear_attention", "gru", "lstm", "rnn", "top_k", "scatter_elements", "scatter_nd"),
    *("constant", "external_call", "tree_ensemble", "unpack", "weight", "non_max_suppression", "chosen_rows"),
    *("empty", "extract_rows", "insert_rows"),
}
OPS = [op for op in Graph.operations if issubclass(op, GraphOp) and not issubclass(op, ElementwiseOp)]


@pytest.mark.parametrize("op", OPS)
def test_an_op_has_a_rule(op: type[GraphOp]) -> None:
    has_rule = element_of.dispatch(op) is not element_of.dispatch(object)
    assert has_rule == (op.name.removeprefix("graph.") not in OTHERS)
