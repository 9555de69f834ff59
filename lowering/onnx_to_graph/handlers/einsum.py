"""Einsum as matrix products: operands are contracted pairwise, from the left.

`bhqd,bhkd->bhqk`: labels of both operands that are needed later (b, h) are batch dimensions, labels of both that are
not (d) are contracted, labels of one operand (q; k) are rows and columns. The operands are transposed and reshaped to
[batch, rows, sum] and [batch, sum, columns], multiplied, and the product is reshaped back.
"""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException

from ....dialects.graph.base import broadcast
from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.elementwise import EqualOp, MulOp, WhereOp
from ....dialects.graph.ops.movement import TransposeOp
from ....dialects.graph.ops.reduction import ReduceSumOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....dialects.sizes.sizes import equal
from ..node import Handler, Node
from .indexing import positions


@dataclass(frozen=True)
class _Term:
    """A value with the label of each of its dimensions."""

    value: SSAValue
    labels: str


def _einsum(node: Node) -> SSAValue:
    values = node.operands()
    inputs, output = _parse(node, values)
    sizes: dict[str, int] = {}
    for value, labels in zip(values, inputs, strict=True):
        for label, size in zip(labels, shape_of(value), strict=True):
            known = sizes.get(label, 1)
            try:
                (sizes[label],) = broadcast((known,), (size,))
            except VerifyException:
                raise node.invalid(f"label {label} stands for {known} and for {size} elements") from None
    terms = [_diagonal(node, _Term(value, labels)) for value, labels in zip(values, inputs, strict=True)]
    result, *others = [_sum_out(node, term, _needed(terms, index, output)) for index, term in enumerate(terms)]
    for index, other in enumerate(others):
        needed = set(output).union(*(term.labels for term in others[index + 1 :]))
        result = _contract(node, result, other, needed, sizes)
    return _arrange(node, result, output)


def _needed(terms: Sequence[_Term], index: int, output: str) -> set[str]:
    """The labels that occur in the result or another operand."""
    return set(output).union(*(term.labels for other, term in enumerate(terms) if other != index))


def _parse(node: Node, values: Sequence[SSAValue]) -> tuple[list[str], str]:
    """One letter for each dimension of operands and result; the dimensions of an ellipsis get digits."""
    equation = node.text("equation", "").replace(" ", "")
    left, arrow, output = equation.partition("->")
    terms = left.split(",")
    if len(terms) != len(values):
        raise node.invalid(f"equation {equation} has {len(terms)} operands, the node has {len(values)}")
    hidden = max(len(shape_of(value)) - len(term.replace("...", "")) for value, term in zip(values, terms, strict=True))
    ellipsis = string.digits[: max(0, hidden)] if "..." in left else ""
    inputs: list[str] = []
    for value, term in zip(values, terms, strict=True):
        rank = len(shape_of(value))
        free = rank - len(term.replace("...", ""))
        labels = term.replace("...", ellipsis[len(ellipsis) - free :]) if free > 0 else term.replace("...", "")
        if len(labels) != rank:
            raise node.invalid(f"equation {equation}: {term} does not fit an operand of rank {rank}")
        inputs.append(labels)
    if not arrow:
        every = "".join(inputs)
        output = "..." + "".join(sorted(label for label in set(every) - set(ellipsis) if every.count(label) == 1))
    output = output.replace("...", ellipsis)
    if not set(output) <= set("".join(inputs)) or len(set(output)) != len(output):
        raise node.invalid(f"equation {equation}: the result's labels must be distinct and occur in an operand")
    return inputs, output


def _diagonal(node: Node, term: _Term) -> _Term:
    """The diagonal of dimensions with the same label: other elements are masked to 0, and one dimension is summed.

    A dimension of size 1 broadcasts to any size.
    """
    value, labels = term.value, term.labels
    while repeated := next((label for label in labels if labels.count(label) > 1), None):
        first, second = [axis for axis, label in enumerate(labels) if label == repeated][:2]
        shape = list(shape_of(value))
        size = shape[first] = shape[second] = shape[second] if equal(shape[first], 1) else shape[first]
        row, column = (
            node.reshape(positions(node, size), [size if at == axis else 1 for at in range(len(shape))])
            for axis in (first, second)
        )
        same = node.emit(EqualOp(row, column))
        value = node.emit(WhereOp(same, node.broadcast(value, shape), node.scalar(0, value)))
        value = node.emit(ReduceSumOp(value, [second], keepdims=False))
        labels = labels[:second] + labels[second + 1 :]
    return _Term(value, labels)


def _sum_out(node: Node, term: _Term, needed: set[str]) -> _Term:
    """Sums over labels that are not needed."""
    axes = [axis for axis, label in enumerate(term.labels) if label not in needed]
    if not axes:
        return term
    value = node.emit(ReduceSumOp(term.value, axes, keepdims=False))
    return _Term(value, "".join(label for label in term.labels if label in needed))


def _arrange(node: Node, term: _Term, labels: str) -> SSAValue:
    """Transposes a term's dimensions to the order of `labels`."""
    permutation = [term.labels.index(label) for label in labels]
    if permutation == sorted(permutation):
        return term.value
    return node.emit(TransposeOp(term.value, permutation))


def _contract(node: Node, a: _Term, b: _Term, needed: set[str], sizes: dict[str, int]) -> _Term:
    shared = [label for label in a.labels if label in b.labels]
    batch = "".join(label for label in shared if label in needed)
    summed = "".join(label for label in shared if label not in needed)
    rows = "".join(label for label in a.labels if label not in shared)
    columns = "".join(label for label in b.labels if label not in shared)
    if not summed:
        return _outer(node, a, b, batch + rows + columns)
    left = _matrix(node, _spread(node, a, summed, sizes), batch, rows, summed)
    right = _matrix(node, _spread(node, b, summed, sizes), batch, summed, columns)
    # Sums of bytes are wider; the result has the operands' type and wraps around.
    product = node.cast(node.emit(MatmulOp(left, right)), element_type_of_value(a.value))
    labels = batch + rows + columns
    full = [_size(a, label) if label in a.labels else _size(b, label) for label in rows + columns]
    return _Term(node.reshape(product, [*shape_of(product)[: len(batch)], *full]), labels)


def _outer(node: Node, a: _Term, b: _Term, labels: str) -> _Term:
    """A product without contraction: both operands broadcast to all labels and multiplied."""

    def factor(term: _Term) -> SSAValue:
        value = _arrange(node, term, "".join(label for label in labels if label in term.labels))
        return node.reshape(value, [_size(term, label) if label in term.labels else 1 for label in labels])

    return _Term(node.emit(MulOp(factor(a), factor(b))), labels)


def _size(term: _Term, label: str) -> int:
    return shape_of(term.value)[term.labels.index(label)]


def _spread(node: Node, term: _Term, summed: str, sizes: dict[str, int]) -> _Term:
    """Broadcasts dimensions of size 1 that are contracted with a larger one."""
    shape = [sizes[label] if label in summed else _size(term, label) for label in term.labels]
    return _Term(node.broadcast(term.value, shape), term.labels)


def _matrix(node: Node, term: _Term, batch: str, rows: str, columns: str) -> SSAValue:
    """The term as [batch..., rows, columns], with all row dimensions merged, and all column dimensions."""
    value = _arrange(node, term, batch + rows + columns)
    shape = [_size(term, label) for label in batch]
    for labels in (rows, columns):
        shape.append(math.prod(_size(term, label) for label in labels))
    return node.reshape(value, shape)


HANDLERS: dict[str, Handler] = {"Einsum": _einsum}
