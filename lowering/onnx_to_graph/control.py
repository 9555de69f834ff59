"""Control flow that import can decide, and operators that are imported by their definition in ONNX."""

from __future__ import annotations

from xdsl.ir import SSAValue

from .node import Handler, Node


def _if(node: Node) -> list[SSAValue]:
    """The branch that a known condition chooses."""
    condition = node.constant(0)
    if condition.size != 1:
        raise node.invalid(f"the condition must be one truth value, got {condition.size}")
    node.ignore("then_branch", "else_branch")
    return node.host.branch(node, node.graph("then_branch" if condition.any() else "else_branch"))


def _by_definition(node: Node) -> list[SSAValue | None]:
    return node.host.function(node)


HANDLERS: dict[str, Handler] = {
    "If": _if,
    "CenterCropPad": _by_definition,
    "NegativeLogLikelihoodLoss": _by_definition,
    "SoftmaxCrossEntropyLoss": _by_definition,
}
