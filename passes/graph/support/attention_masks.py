"""Parsing of scales and masks between the matrix product and the softmax of an attention."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf

import numpy as np
from xdsl.dialects.builtin import LocationAttr
from xdsl.ir import Operation, SSAValue

from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.elementwise import AddOp, AndOp, DivOp, MulOp, WhereOp
from ....dialects.graph.ops.unary import NotOp
from ....dialects.graph.values import Array, element_type_of_value, numpy_dtype, shape_of
from .pattern_utils import Constants, defining, only_use

# Added to a score, this gives a probability of exactly zero next to any score without it.
NEVER = -1e4


@dataclass
class Scores:
    """softmax's operand as matmul * scale + added masks, valid where the `kept` masks hold."""

    matmul: MatmulOp
    scale: float = 1.0
    added: list[SSAValue] = field(default_factory=list[SSAValue])
    kept: list[tuple[SSAValue, bool]] = field(default_factory=list[tuple[SSAValue, bool]])
    """Truth values, and which of the two keeps a score."""


def scalar_factor(value: SSAValue, constants: Constants) -> tuple[SSAValue, float]:
    """(x, c) if `value` is x * c or x / (1 / c) with a single use, otherwise (value, 1)."""
    op = only_use(value, MulOp) or only_use(value, DivOp)
    if op is None or shape_of(op.lhs) != shape_of(value):
        return value, 1.0
    number = constants.scalar(op.rhs)
    if number is None or (isinstance(op, DivOp) and number == 0):
        return value, 1.0
    return op.lhs, number if isinstance(op, MulOp) else 1 / number


def read_scores(value: SSAValue, constants: Constants) -> Scores | None:
    """The decomposition of a softmax's operand; None if it is not computed from a matrix product."""
    shape = shape_of(value)
    matmul = only_use(value, MatmulOp)
    if matmul is not None:
        return Scores(matmul)
    inner, scale = scalar_factor(value, constants)
    if inner is not value:
        found = read_scores(inner, constants)
        if found is None or found.added or scale <= 0:
            return None
        found.scale *= scale
        return found
    if (add := only_use(value, AddOp)) is not None:
        for rest, mask in ((add.lhs, add.rhs), (add.rhs, add.lhs)):
            found = read_scores(rest, constants) if shape_of(rest) == shape else None
            if found is not None:
                return _add_mask(found, mask, constants)
    if (where := only_use(value, WhereOp)) is not None:
        return _read_where(where, constants)
    return None


def _add_mask(scores: Scores, mask: SSAValue, constants: Constants) -> Scores:
    """Adds a mask; one with values 0 and minus infinity only becomes a kept mask."""
    where = defining(mask, WhereOp)
    if where is not None:
        values = constants.scalar(where.lhs), constants.scalar(where.rhs)
        if values in ((0.0, -inf), (-inf, 0.0)):
            scores.kept.append((where.condition, values[0] == 0))
            return scores
    scores.added.append(mask)
    return scores


def _read_where(where: WhereOp, constants: Constants) -> Scores | None:
    """where(keep, scores, never), or where(drop, never, scores)"""
    for rest, fill, keeps in ((where.lhs, where.rhs, True), (where.rhs, where.lhs, False)):
        number = constants.scalar(fill)
        if number is None or shape_of(rest) != shape_of(where.result):
            continue
        if number > -inf and not _keeps_in_every_row(where.condition, keeps, number, constants):
            continue
        found = read_scores(rest, constants)
        if found is not None:
            found.kept.append((where.condition, keeps))
            return found
    return None


def _keeps_in_every_row(condition: SSAValue, keeps: bool, fill: float, constants: Constants) -> bool:
    """Whether a finite fill is equivalent to minus infinity: every row provably keeps a score."""
    array = constants.array(condition)
    return fill <= NEVER and array is not None and bool((array == keeps).any(axis=-1).all())


def _tokens_only(array: Array) -> Array | None:
    """A mask [1, .., T, S] as [T, S]."""
    return array.reshape(array.shape[-2:]) if array.ndim >= 2 and array.size == np.prod(array.shape[-2:]) else None


def _known_kept(array: Array) -> Array | None:
    """The scores that a constant added mask keeps, if it does nothing else and every row keeps one."""
    kept = array == 0
    return kept if (kept | (array <= NEVER)).all() and kept.any(axis=-1).all() else None


@dataclass
class Mask:
    """The mask operand of an attention op, if any, and whether it is causal."""

    value: SSAValue | None
    causal: bool


def build_mask(scores: Scores, made: list[Operation], location: LocationAttr, constants: Constants) -> Mask:
    """Combines the masks of some scores; those known to keep everything, or to be causal, need no value."""
    causal = False
    added: list[SSAValue] = []
    kept: list[tuple[SSAValue, bool]] = []
    shape = shape_of(scores.matmul.result)
    for mask in scores.added:
        array = constants.array(mask)
        known = None if array is None else _known_kept(array.astype(np.float64))
        if known is None or not (known.all() or _is_causal(known, shape)):
            added.append(mask)
        causal |= known is not None and not known.all() and _is_causal(known, shape)
    for mask, keeps in scores.kept:
        array = constants.array(mask)
        known = None if array is None else array == keeps
        if known is None or not (known.all() or _is_causal(known, shape)):
            kept.append((mask, keeps))
        causal |= known is not None and not known.all() and _is_causal(known, shape)
    return Mask(_merged(added, kept, made, location, scores, constants), causal)


def _is_causal(kept: Array, scores: tuple[int, ...]) -> bool:
    """Whether a mask of square scores keeps exactly columns 0..t of each row t."""
    square = _tokens_only(kept)
    if square is None or square.shape != scores[-2:] or square.shape[0] != square.shape[1]:
        return False
    return bool((square == np.tri(*square.shape, dtype=np.bool_)).all())


def _merged(
    added: list[SSAValue],
    kept: list[tuple[SSAValue, bool]],
    made: list[Operation],
    location: LocationAttr,
    scores: Scores,
    constants: Constants,
) -> SSAValue | None:
    """Several masks combined to one: booleans if nothing is added."""
    condition: SSAValue | None = None
    for value, keeps in kept:
        if not keeps:
            made.append(NotOp(value, location=location))
            value = made[-1].results[0]
        if condition is not None:
            made.append(AndOp(condition, value, location=location))
            value = made[-1].results[0]
        condition = value
    total: SSAValue | None = None
    for value in added:
        if total is not None:
            made.append(AddOp(total, value, location=location))
            value = made[-1].results[0]
        total = value
    if total is None or condition is None:
        return condition if total is None else total
    dtype = numpy_dtype(element_type_of_value(scores.matmul.result))
    never = constants.make(np.asarray(-inf, dtype), location)
    made += [never, WhereOp(condition, total, never, location=location)]
    return made[-1].results[0]
