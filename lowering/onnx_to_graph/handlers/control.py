"""Branches, and operators that are imported by their definition in ONNX."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import GraphProto
from xdsl.dialects import scf
from xdsl.ir import Block, SSAValue

from ....dialects.graph.values import shape_of
from ..held import Held
from ..node import Handler, Node


def _if(node: Node) -> Sequence[Held]:
    """The branch that a known condition chooses; one that is known when the model runs decides then."""
    condition = node.truth(0)
    known = node.known(condition)
    if known is None:
        return _branches(node, condition)
    node.ignore("then_branch", "else_branch")
    return node.host.branch(node, node.graph("then_branch" if known.any() else "else_branch"))


def _branches(node: Node, condition: SSAValue) -> Sequence[SSAValue]:
    emitter = node.emitter
    given = emitter.scalar(condition, node.location)
    then = _side(node, node.graph("then_branch"))
    otherwise = _side(node, node.graph("else_branch"), like=then)
    sides = [[value.type for value in block.last_op.operands] for block in (then, otherwise) if block.last_op]
    for index, (one, other) in enumerate(zip(*sides, strict=False)):
        if one != other:
            fact = f"the condition, as result {index} is {one} of the then_branch and {other} of the else_branch,"
            raise node.unknown(fact, condition)
    if len(sides[0]) != len(sides[1]):
        raise node.invalid(f"its branches have {len(sides[0])} and {len(sides[1])} results")
    return emitter.add(scf.IfOp(given, sides[0], [then], [otherwise]), node.location)


def _side(node: Node, graph: GraphProto, like: Block | None = None) -> Block:
    """A branch as a block that yields its results, their sizes as those of another block are written."""
    block = Block()
    wanted = like.last_op.operands if like is not None and like.last_op else ()
    with node.emitter.inside(block):
        results = list(node.branch(graph))
        for index, (own, other) in enumerate(zip(results, wanted, strict=False)):
            if node.is_alike(own, other):
                results[index] = node.reshape(own, shape_of(other))
        node.emitter.add(scf.YieldOp(*results), node.location)
    return block


def _by_definition(node: Node) -> list[Held | None]:
    return node.host.function(node)


HANDLERS: dict[str, Handler] = {
    "If": _if,
    "CenterCropPad": _by_definition,
    "NegativeLogLikelihoodLoss": _by_definition,
    "SoftmaxCrossEntropyLoss": _by_definition,
}
