"""SVMRegressor and SVMClassifier: sums of kernels between features and support vectors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from onnx import parser
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.elementwise import AddOp, GreaterOp, MaxOp, MinOp, MulOp, PowOp, SubOp, WhereOp
from ....dialects.graph.ops.movement import ConcatOp, SliceOp
from ....dialects.graph.ops.reduction import ArgMaxOp, ReduceSumOp
from ....dialects.graph.ops.unary import ExpOp, NegOp, SigmoidOp, TanhOp
from ....dialects.graph.values import Array, shape_of
from ....dialects.sizes.sizes import pinned
from ..node import Handler, Node
from ..non_tensors import Held
from ..scope import Scope
from .class_labels import Labels, class_labels, decided, labelled
from .linear import rows_of
from .post_transforms import both_classes, transform_of, transformed

LEAST_PROBABILITY = 1e-7
"""Probabilities between two classes are at least this, and at most 1 less it."""
OPSET = 17
"""The opset of the loop's operators."""


def _kernels(node: Node, x: SSAValue, vectors: Array) -> SSAValue:
    """The kernel of each row [N, F] with each vector [S, F]: [N, S]."""
    kind = node.text("kernel_type", "LINEAR")
    parameters = node.numbers("kernel_params") or (0.0, 0.0, 0.0)
    if len(parameters) != 3:
        raise node.malformed(f"{len(parameters)} numbers kernel_params instead of 3")
    gamma, shift, degree = parameters
    if kind == "RBF":
        (rows, width), count = shape_of(x), len(vectors)
        apart = node.emit(SubOp(node.reshape(x, (rows, 1, width)), node.array(vectors[None])))
        squares = node.emit(ReduceSumOp(node.emit(MulOp(apart, apart)), [2]))
        return node.emit(ExpOp(node.emit(MulOp(node.reshape(squares, (rows, count)), node.scalar(-gamma, f32)))))
    products = node.emit(MatmulOp(x, node.array(vectors.T.copy())))
    if kind == "LINEAR":
        return products
    moved = node.emit(AddOp(node.emit(MulOp(products, node.scalar(gamma, f32))), node.scalar(shift, f32)))
    if kind == "SIGMOID":
        return node.emit(TanhOp(moved))
    if kind == "POLY":
        return node.emit(PowOp(moved, node.scalar(degree, f32)))
    raise node.malformed(f"kernel_type {kind} is unknown")


def _vectors(node: Node, x: SSAValue, count: int) -> Array:
    """The support vectors [count, F]."""
    numbers, width = node.numbers("support_vectors") or [], pinned(shape_of(x)[1])
    if len(numbers) != count * width:
        raise node.invalid(f"{len(numbers)} numbers of {count} support vectors of {width} features")
    return np.array(numbers, np.float32).reshape(count, width)


def _coefficients(node: Node, count: int) -> Array:
    numbers = node.numbers("coefficients") or []
    if len(numbers) != count:
        raise node.invalid(f"{len(numbers)} coefficients instead of {count}")
    return np.array(numbers, np.float32)


def _offsets(node: Node, count: int) -> Array:
    numbers = node.numbers("rho") or [0.0]
    if len(numbers) < count:
        raise node.malformed(f"{len(numbers)} numbers rho instead of {count}")
    return np.array(numbers[:count], np.float32)


def _weighted(node: Node, values: SSAValue, weights: Array, offsets: Array) -> SSAValue:
    return node.emit(AddOp(node.emit(MatmulOp(values, node.array(weights))), node.array(offsets)))


def _regressor(node: Node) -> SSAValue:
    x, count = rows_of(node), node.integer("n_supports", 0)
    kernels = _kernels(node, x, _vectors(node, x, count)) if count else x
    if not count:
        node.ignore("kernel_type", "kernel_params", "support_vectors")
    weights = _coefficients(node, pinned(shape_of(kernels)[1]))
    y = _weighted(node, kernels, weights[:, None], _offsets(node, 1))
    node.ignore("post_transform")
    if not node.flag("one_class"):
        return y
    above = node.emit(GreaterOp(y, node.scalar(0.0, y)))
    return node.emit(WhereOp(above, node.scalar(1.0, y), node.scalar(-1.0, y)))


def _classifier(node: Node) -> Sequence[Held | None]:
    labels, x = class_labels(node, "classlabels_ints"), rows_of(node)
    count, vectors = len(labels), node.integers("vectors_per_class") or []
    if not vectors:
        return _linear_classifier(node, x, labels)
    if len(vectors) != count or min(vectors) < 0:
        raise node.malformed(f"vectors_per_class {vectors} for {count} classes")
    pairs = list(combinations(range(count), 2))
    scores = _weighted(node, _kernels(node, x, _vectors(node, x, sum(vectors))), *_pair_weights(node, vectors))
    label = labelled(node, _most_votes(node, scores, count), labels)
    a, b = (node.numbers(name) or [] for name in ("prob_a", "prob_b"))
    if not a and not b:
        if count == 2:  # with SOFTMAX or SOFTMAX_ZERO, ONNX Runtime takes the score for a probability
            return [label, both_classes(node, scores, positive=transform_of(node) != "NONE")]
        return [label, transformed(node, scores)]
    if len(a) != len(pairs) or len(b) != len(pairs):
        raise node.malformed(f"{len(a)} numbers prob_a and {len(b)} prob_b for {len(pairs)} pairs")
    return [label, transformed(node, _probabilities(node, _between_pairs(node, scores, a, b), count))]


def _linear_classifier(node: Node, x: SSAValue, labels: Labels) -> Sequence[Held | None]:
    """Without support vectors: a score of each class, with one offset for all."""
    node.ignore("kernel_type", "kernel_params", "support_vectors", "prob_a", "prob_b")
    width = pinned(shape_of(x)[1])
    weights = _coefficients(node, len(labels) * width).reshape(len(labels), width)
    scores = _weighted(node, x, weights.T.copy(), _offsets(node, 1))
    return [decided(node, scores, None, labels), transformed(node, scores)]


def _pair_weights(node: Node, vectors: Sequence[int]) -> tuple[Array, Array]:
    """Weights [S, pairs] and offsets [pairs] of the scores between two classes each: the first one's, if positive."""
    total, count = sum(vectors), len(vectors)
    given = _coefficients(node, (count - 1) * total).reshape(count - 1, total)
    of = np.repeat(np.arange(count), vectors)
    pairs = list(combinations(range(count), 2))
    weights = np.zeros((total, len(pairs)), np.float32)
    for place, (first, second) in enumerate(pairs):
        weights[of == first, place] = given[second - 1, of == first]
        weights[of == second, place] = given[first, of == second]
    return weights, _offsets(node, len(pairs))


def _most_votes(node: Node, scores: SSAValue, count: int) -> SSAValue:
    """The first of the classes that are preferred to most others [N]."""
    pairs = list(combinations(range(count), 2))
    sides = [np.array([[pair[side] == each for each in range(count)] for pair in pairs], np.float32) for side in (0, 1)]
    won = node.cast(node.emit(GreaterOp(scores, node.scalar(0.0, scores))), f32)
    votes = _weighted(node, won, sides[0] - sides[1], sides[1].sum(axis=0))
    return node.emit(ArgMaxOp(votes, 1))


def _between_pairs(node: Node, scores: SSAValue, a: Sequence[float], b: Sequence[float]) -> SSAValue:
    """For each pair of classes, the probability of the first [N, pairs]: 1 - sigmoid(a s + b), not quite 0 or 1."""
    scaled = node.emit(MulOp(scores, node.array(np.array(a, np.float32))))
    moved = node.emit(NegOp(node.emit(AddOp(scaled, node.array(np.array(b, np.float32))))))
    chance = node.emit(SigmoidOp(moved))
    least, most = (node.scalar(each, chance) for each in (LEAST_PROBABILITY, 1 - LEAST_PROBABILITY))
    return node.emit(MinOp(node.emit(MaxOp(chance, least)), most))


def _probabilities(node: Node, between: SSAValue, count: int) -> SSAValue:
    """The probabilities of all classes [N, classes] that fit those between two of them best.

    Wu, Lin and Weng: Probability Estimates for Multi-class Classification by Pairwise Coupling (2004), the second
    method, as LIBSVM iterates: each row until it changes no more.
    """
    rows, pairs = shape_of(between)[0], list(combinations(range(count), 2))
    columns = [node.emit(SliceOp(between, [0, place], [rows, place + 1])) for place in range(len(pairs))]
    one = node.scalar(1.0, between)
    r = dict(zip(pairs, columns, strict=True))
    r |= {(second, first): node.emit(SubOp(one, column)) for (first, second), column in r.items()}
    table: list[SSAValue] = []
    for i in range(count):
        row: list[SSAValue] = []
        for j in range(count):
            if i != j:
                row.append(node.emit(NegOp(node.emit(MulOp(r[j, i], r[i, j])))))
                continue
            squares = [node.emit(MulOp(r[k, i], r[k, i])) for k in range(count) if k != i]
            total = squares[0]
            for each in squares[1:]:
                total = node.emit(AddOp(total, each))
            row.append(total)
        table.append(node.emit(ConcatOp(row, 1)))
    start = node.broadcast(node.scalar(1 / count, f32), (rows, count))
    graph = parser.parse_graph(_coupling(count))
    scope = Scope({**node.scope.opsets, "": OPSET}, outer=node.scope, prefix=node.scope.prefix)
    (result,) = node.host.branch(Node(node.proto, node.name, scope, node.host), graph, [start, *table])
    assert isinstance(result, SSAValue)
    return result


def _coupling(count: int) -> str:
    """The loop as a graph: estimates p, and the rows of Q, each [N, classes]."""
    names = ", ".join(f"float[N, C] q{i}" for i in range(count))
    products = "; ".join(f"m{i} = Mul(p, q{i}); s{i} = ReduceSum<keepdims = 1>(m{i}, axis)" for i in range(count))
    steps = "; ".join(
        f"d{i} = Slice(q{i}, i{i}, i{i + 1}, axis); v{i} = Slice(w{i}, i{i}, i{i + 1}, axis); "
        f"n{i} = Sub(t{i}, v{i}); e{i} = Div(n{i}, d{i}); o{i} = Add(e{i}, one); "
        f"a{i} = Mul(e{i}, d{i}); b{i} = Add(v{i}, v{i}); c{i} = Add(a{i}, b{i}); f{i} = Mul(e{i}, c{i}); "
        f"g{i} = Add(t{i}, f{i}); h{i} = Div(g{i}, o{i}); t{i + 1} = Div(h{i}, o{i}); "
        f"j{i} = Mul(e{i}, q{i}); k{i} = Add(w{i}, j{i}); w{i + 1} = Div(k{i}, o{i}); "
        f"u{i} = Mul(e{i}, z{i}); x{i} = Add(p{i}, u{i}); p{i + 1} = Div(x{i}, o{i})"
        for i in range(count)
    )
    units = "; ".join(
        f"z{i} = Constant<value_floats = [{', '.join(str(float(i == j)) for j in range(count))}]>()"
        for i in range(count)
    )
    places = "; ".join(f"i{i} = Constant<value_ints = [{i}]>()" for i in range(count + 1))
    return f"""coupling (float[N, C] start, {names}) => (float[N, C] result) {{
        axis = Constant<value_ints = [1]>()
        one = Constant<value_float = 1.0>()
        limit = Constant<value_float = {0.005 / count}>()
        most = Constant<value_int = 100>()
        true = Constant<value = bool {{1}}>()
        {units}
        {places}
        result = Loop(most, true, start) <body = turn (int64 n, bool before, float[N, C] p)
            => (bool again, float[N, C] next) {{
            {products}
            w0 = Concat<axis = 1>({", ".join(f"s{i}" for i in range(count))})
            y = Mul(p, w0)
            t0 = ReduceSum<keepdims = 1>(y, axis)
            apart = Sub(w0, t0)
            error = Abs(apart)
            largest = ReduceMax<axes = [1], keepdims = 1>(error)
            going = GreaterOrEqual(largest, limit)
            p0 = Identity(p)
            {steps}
            next = Where(going, p{count}, p)
            counted = Cast<to = 1>(going)
            most_counted = ReduceMax<keepdims = 0>(counted)
            again = Cast<to = 9>(most_counted)
        }}>
    }}""".replace("; ", "\n")


HANDLERS: dict[str, Handler] = {
    "ai.onnx.ml.SVMRegressor": _regressor,
    "ai.onnx.ml.SVMClassifier": _classifier,
}
