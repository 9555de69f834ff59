"""TfIdfVectorizer of integers: counts n-grams, with skips, in each row.

All windows of one length and skip are compared with all n-grams of the pool; those that agree in every position are
counted.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ....dialects.graph.ops.elementwise import AddOp, EqualOp, GreaterOp, MulOp
from ....dialects.graph.ops.indexing import GatherOp
from ....dialects.graph.ops.movement import ConcatOp
from ....dialects.graph.ops.reduction import ReduceMinOp, ReduceSumOp
from ....dialects.graph.values import Array, element_type_of_value, numpy_dtype, shape_of
from ..node import Handler, Node

MOST_COMPARED = 2**24  # elements of one comparison


def _vectorizer(node: Node) -> SSAValue:
    x, mode = node.operand(), node.text("mode", "")
    if node.has("pool_strings"):
        raise node.unsupported("it looks for strings")
    if mode not in ("TF", "IDF", "TFIDF"):
        raise node.malformed(f"mode {mode} is unknown")
    if len(shape_of(x)) not in (1, 2):
        raise node.invalid(f"the operand must have one dimension or two, got {len(shape_of(x))}")
    shortest, longest = node.integer("min_gram_length", 1), node.integer("max_gram_length", 1)
    skips = node.integer("max_skip_count", 0)
    if skips < 0 or not 1 <= shortest <= longest:
        raise node.malformed(f"n-grams of {shortest} to {longest} numbers with up to {skips} skips are invalid")
    pool, starts = node.integers("pool_int64s") or [], node.integers("ngram_counts") or []
    columns = node.integers("ngram_indexes") or []
    if not columns or min(columns) < 0 or len(set(columns)) < len(columns):
        raise node.invalid("ngram_indexes must be distinct")
    rows = node.reshape(x, (shape_of(x)[0] if len(shape_of(x)) == 2 else 1, shape_of(x)[-1]))
    counts: list[SSAValue] = []
    known = 0
    for length, (start, end) in enumerate(zip(starts, [*starts[1:], len(pool)], strict=True), 1):
        sought = np.array(pool[start:end], np.int64)
        if start > end or sought.size % length:
            raise node.invalid(f"{sought.size} numbers can't be n-grams of {length}")
        sought = sought.reshape(-1, length)
        known += len(sought)
        if len(sought):
            wanted = shortest <= length <= longest
            steps = range(1, (skips + 1 if length > 1 else 1) + 1) if wanted else ()
            counts.append(_counted(node, rows, sought, steps))
    if known != len(columns):
        raise node.invalid(f"ngram_indexes has {len(columns)} entries for {known} runs")
    nothing = node.zeros(f32, (shape_of(rows)[0], 1))
    every = node.emit(ConcatOp([*counts, nothing], 1))
    node.reserve(max(columns) + 1)
    order = np.full(max(columns) + 1, known, np.int64)
    order[columns] = np.arange(known)
    found = node.emit(GatherOp(every, node.array(order), 1))
    if mode == "IDF":
        found = node.cast(node.emit(GreaterOp(found, node.scalar(0, f32))), f32)
    weights = node.numbers("weights")
    if weights is not None and mode != "TF":
        if len(weights) != known:
            raise node.invalid(f"there are {len(weights)} weights for {known} runs")
        placed = np.ones(len(order), np.float32)
        placed[columns] = weights
        found = node.emit(MulOp(found, node.array(placed)))
    return node.reshape(found, (*shape_of(x)[:-1], len(order)))


def _counted(node: Node, rows: SSAValue, sought: Array, steps: Iterable[int]) -> SSAValue:
    """Counts of each n-gram in each row; `steps` are the distances between its elements."""
    entries, size = shape_of(rows)
    number, length = sought.shape
    total = node.zeros(f32, (entries, number))
    runs = node.array(sought.astype(numpy_dtype(element_type_of_value(rows))))
    for step in steps:
        places = size - (length - 1) * step
        if places <= 0:
            break
        if entries * places * number * length > MOST_COMPARED:
            raise node.unsupported(f"{entries * places} runs are too many to be compared with {number}")
        index = np.add.outer(np.arange(places, dtype=np.int64), step * np.arange(length, dtype=np.int64))
        there = node.emit(GatherOp(rows, node.array(index), 1))
        there = node.reshape(there, (entries, places, 1, length))
        same = node.cast(node.emit(EqualOp(there, runs)), f32)
        agree = node.emit(ReduceMinOp(same, [3]))
        total = node.emit(AddOp(total, node.emit(ReduceSumOp(agree, [1]))))
    return total


HANDLERS: dict[str, Handler] = {"TfIdfVectorizer": _vectorizer}
