"""If, and operators imported by their function definition in ONNX."""

from __future__ import annotations

from collections.abc import Sequence

from onnx import GraphProto
from xdsl.dialects import scf
from xdsl.ir import Block, SSAValue

from ....dialects.errors import InvalidModelError
from ....dialects.graph.ops.fail import FailOp
from ....dialects.graph.values import shape_of, type_of
from ..node import Handler, Node
from ..non_tensors import Held

SIDES = ("then_branch", "else_branch")


def _if(node: Node) -> Sequence[Held]:
    """The branch selected by a condition known at import; otherwise an scf.if."""
    condition = node.truth(0)
    known = node.known(condition)
    if known is None:
        return _branches(node, condition)
    node.ignore(*SIDES)
    return node.host.branch(node, node.graph(SIDES[0] if known.any() else SIDES[1]))


def _branches(node: Node, condition: SSAValue) -> Sequence[SSAValue]:
    """A branch at run time. A side with contradictory shapes becomes a run-time error of that side."""
    emitter = node.emitter
    given = emitter.scalar(condition, node.location)
    blocks: dict[str, Block] = {}
    contradictions: dict[str, InvalidModelError] = {}
    for side in SIDES:
        try:
            blocks[side] = _side(node, node.graph(side), like=blocks.get(SIDES[0]))
        except InvalidModelError as error:
            if not error.contradiction:
                raise
            contradictions[side] = error
    if not blocks:
        texts = "; ".join(f"{side}: {error}" for side, error in contradictions.items())
        raise node.invalid(f"neither branch can be run: {texts}")
    for side, error in contradictions.items():
        (other,) = blocks.values()
        blocks[side] = _failing(node, f"its {side} can't be run: {error}{_proposal(node, condition)}", like=other)
    then, otherwise = (blocks[side] for side in SIDES)
    sides = [[value.type for value in block.last_op.operands] for block in (then, otherwise) if block.last_op]
    for index, (one, other) in enumerate(zip(*sides, strict=False)):
        if one != other:
            fact = f"the condition, as result {index} is {one} of the then_branch and {other} of the else_branch,"
            raise node.unknown(fact, condition)
    if len(sides[0]) != len(sides[1]):
        raise node.malformed(f"its branches have {len(sides[0])} and {len(sides[1])} results")
    return emitter.add(scf.IfOp(given, sides[0], [then], [otherwise]), node.location)


def _side(node: Node, graph: GraphProto, like: Block | None = None) -> Block:
    """A branch as a block that yields its results, with sizes spelled like those of the block `like`."""
    block = Block()
    wanted = like.last_op.operands if like is not None and like.last_op else ()
    with node.emitter.inside(block):
        results = list(node.branch(graph))
        for index, (own, other) in enumerate(zip(results, wanted, strict=False)):
            if node.is_alike(own, other):
                results[index] = node.reshape(own, shape_of(other))
        node.emitter.add(scf.YieldOp(*results), node.location)
    return block


def _failing(node: Node, fact: str, like: Block) -> Block:
    """A branch that fails at run time, with results of the types of the block `like`."""
    block = Block()
    values = like.last_op.operands if like.last_op else ()
    with node.emitter.inside(block):
        message = f"{node.name} ({node.op_type}): {fact}"
        results = [node.emit(FailOp(message, type_of(value), node.location)) for value in values]
        node.emitter.add(scf.YieldOp(*results), node.location)
    return block


def _proposal(node: Node, condition: SSAValue) -> str:
    """A hint how to compile one branch alone, if inputs with few values decide it."""
    inputs = node.emitter.choices_of(condition)
    return f"; which one is taken depends on {', '.join(inputs)}: bind with specialize" if inputs else ""


def _by_definition(node: Node) -> list[Held | None]:
    return node.host.function(node)


HANDLERS: dict[str, Handler] = {
    "If": _if,
    "CenterCropPad": _by_definition,
    "NegativeLogLikelihoodLoss": _by_definition,
    "SoftmaxCrossEntropyLoss": _by_definition,
}
