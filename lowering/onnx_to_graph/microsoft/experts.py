"""Mixtures of experts: MoE with weights of floats, and QMoE with block-quantised ones.

A router picks `k` experts for each token, of equal ones the first, whose results are added up with weights. No other
experts are computed, and of a stack of weights no others are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32, i8
from xdsl.ir import SSAValue

from ....dialects.graph.ops.activation import ClipOp, GeluOp
from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.elementwise import AddOp, DivOp, MulOp
from ....dialects.graph.ops.indexing import GatherElementsOp, GatherOp
from ....dialects.graph.ops.movement import SliceOp
from ....dialects.graph.ops.quantization import DequantizeOp
from ....dialects.graph.ops.reduction import ReduceSumOp, SoftmaxOp
from ....dialects.graph.ops.selection import TopKOp
from ....dialects.graph.ops.unary import ReluOp, SigmoidOp, SiluOp
from ....dialects.graph.values import element_type_of_value, shape_of
from ....dialects.sizes.sizes import equal, equal_shapes
from ..handlers.movement import slice_axis
from ..node import Handler, Node
from .expert_routes import Routes
from .packed_numbers import UI8, middle, unpacked_rows

Matrix = Callable[[SSAValue], SSAValue]
"""An expert's weight [rows, depth] by the expert's number."""
Choose = Callable[[SSAValue, int], tuple[SSAValue, SSAValue]]
"""So many experts of each token, and their shares, [tokens, k], by a router's numbers."""


class _Layer:
    """A fully connected layer of each expert: weights [experts, rows, depth], and biases [experts, rows] if any."""

    def __init__(self, node: Node, matrix: Matrix, shape: tuple[int, int, int], bias: SSAValue | None) -> None:
        self._node, self._matrix, self._bias = node, matrix, bias
        self.experts, self.rows, self.depth = shape
        # accuracy_level 4 permits rounding what experts are given to 8 bits, as for MatMulNBits.
        self._lhs_as = i8 if node.integer("accuracy_level", 0) == 4 else None
        if bias is not None and not equal_shapes(shape_of(bias), shape[:2]):
            raise node.invalid(f"biases of shape {list(shape_of(bias))} beside weights of {list(shape)}")

    def __call__(self, x: SSAValue, expert: SSAValue) -> SSAValue:
        """The result [.., rows] for x [.., depth]."""
        node = self._node
        found = node.emit(MatmulOp(x, self._matrix(expert), transpose_b=True, lhs_as=self._lhs_as))
        if self._bias is None:
            return found
        return node.emit(AddOp(found, node.cast(node.emit(GatherOp(self._bias, expert, 0)), f32)))


def _plain(node: Node, index: int) -> _Layer | None:
    """A layer of MoE, from its weights and biases at `index`."""
    weight = node.optional(index)
    if weight is None:
        return None
    if len(shape_of(weight)) != 3:
        raise node.invalid(f"weights of shape {list(shape_of(weight))}")

    def matrix(expert: SSAValue) -> SSAValue:
        return node.cast(node.emit(GatherOp(weight, expert, 0)), f32)

    experts, rows, depth = shape_of(weight)
    return _Layer(node, matrix, (experts, rows, depth), node.optional(index + 1))


def _quantised(node: Node, number: int) -> _Layer | None:
    """A layer of QMoE: weights, scales and biases from 3 * number - 1 on, and zero points."""
    weight, scale, bias = (node.optional(3 * number - 1 + at) for at in range(3))
    zero = node.optional(10 + number)
    bits = node.integer(f"fc{number}_expert_weight_bits", node.integer("expert_weight_bits", 4))
    if weight is None:
        return None
    if bits not in (2, 3, 4, 8) or element_type_of_value(weight) != UI8 or scale is None or len(shape_of(weight)) != 3:
        raise node.invalid(f"FC{number} of {bits} bits in {weight.type}")
    experts, rows, held = shape_of(weight)
    block = node.integer("block_size", 0)
    depth = held * 8 // bits
    blocks = depth // block if block else 1
    block = block or depth
    if not equal(prod(shape_of(scale)), experts * rows * blocks) or not equal(blocks * block, depth):
        raise node.invalid(f"FC{number}: scales of shape {list(shape_of(scale))} for {[experts, rows, depth]}")
    scales = node.reshape(scale, (experts, rows, blocks))
    entries = (rows, blocks, 1)

    def taken(value: SSAValue, expert: SSAValue) -> SSAValue:
        return node.emit(GatherOp(value, expert, 0))

    zeros = None if zero is None else _zeros(node, zero, bits, (experts, rows, blocks))

    def matrix(expert: SSAValue) -> SSAValue:
        numbers = unpacked_rows(node, taken(weight, expert), bits, (rows,), depth)
        beside = middle(node, bits) if zeros is None else node.reshape(taken(zeros, expert), entries)
        steps = node.cast(node.reshape(taken(scales, expert), entries), f32)
        wide = node.emit(DequantizeOp(node.reshape(numbers, (rows, blocks, block)), steps, beside))
        return node.reshape(wide, (rows, depth))

    return _Layer(node, matrix, (experts, rows, depth), bias)


def _zeros(node: Node, zero: SSAValue, bits: int, shape: tuple[int, int, int]) -> SSAValue:
    """Zero points [experts, rows, blocks]: packed by rows, or if there is one for each of these, by experts."""
    experts, rows, blocks = shape
    if len(shape_of(zero)) == 2:
        return node.reshape(unpacked_rows(node, zero, bits, (experts,), rows), shape)
    return unpacked_rows(node, zero, bits, (experts, rows), blocks)


def _activated(node: Node, gate: SSAValue, linear: SSAValue | None) -> SSAValue:
    """The activation of FC1's result, times that of FC3 if there is one; for swiglu and geglu FC1 may have both."""
    kind, fusion = node.text("activation_type", "relu"), node.integer("swiglu_fusion", 0)
    if kind not in ("swiglu", "geglu"):
        if kind not in _ACTIVATIONS:
            raise node.unsupported(f"activation_type {kind}")
        active = _ACTIVATIONS[kind](node, gate)
        return active if linear is None else node.emit(MulOp(active, linear))
    if linear is None and fusion in (1, 2):
        gate, linear = _halves(node, gate, interleaved=fusion == 1)
    elif linear is None or fusion:
        raise node.invalid(f"{kind} with swiglu_fusion={fusion} {'with' if linear else 'without'} FC3")
    if kind == "geglu":
        return node.emit(MulOp(node.emit(GeluOp(gate, "tanh")), linear))
    return _swiglu(node, gate, linear)


def _swiglu(node: Node, gate: SSAValue, linear: SSAValue) -> SSAValue:
    """gate * sigmoid(alpha * gate) * (linear + beta), where values are limited if there is a limit."""
    alpha, beta = node.number("activation_alpha", 1.0), node.number("activation_beta", 0.0)
    limit, limits_result = node.number("swiglu_limit", np.inf), node.flag("swiglu_limit_after_activation")
    top = limit if np.isfinite(limit) else None

    def limited(value: SSAValue, low: float | None = None) -> SSAValue:
        return value if top is None else node.emit(ClipOp(value, low, top))

    gate = gate if limits_result else limited(gate)
    active = node.emit(MulOp(gate, node.emit(SigmoidOp(node.emit(MulOp(gate, node.scalar(alpha, gate)))))))
    active = limited(active) if limits_result else active
    linear = limited(linear, -limit)
    return node.emit(MulOp(active, node.emit(AddOp(linear, node.scalar(beta, linear))) if beta else linear))


_ACTIVATIONS: dict[str, Callable[[Node, SSAValue], SSAValue]] = {
    "identity": lambda node, x: x,
    "relu": lambda node, x: node.emit(ReluOp(x)),
    "relu2": lambda node, x: node.emit(MulOp(node.emit(ReluOp(x)), node.emit(ReluOp(x)))),
    "gelu": lambda node, x: node.emit(GeluOp(x, "tanh")),
    "silu": lambda node, x: node.emit(SiluOp(x)),
}


def _halves(node: Node, value: SSAValue, *, interleaved: bool) -> tuple[SSAValue, SSAValue]:
    """The even and the odd columns, or the first half and the second."""
    rows, columns = shape_of(value)
    if not interleaved:
        return slice_axis(node, value, 1, 0, columns // 2), slice_axis(node, value, 1, columns // 2, columns)
    first, second = (node.emit(SliceOp(value, (0, start), (rows, columns), (1, 2))) for start in (0, 1))
    return first, second


def _mixture(node: Node, layers: Sequence[_Layer | None], choose: Choose) -> SSAValue:
    """The sum of experts' results, times their shares."""
    first, second, third = layers
    if first is None or second is None:
        raise node.malformed("FC1 or FC2 is missing")
    if node.flag("use_sparse_mixer"):
        raise node.unsupported("use_sparse_mixer")
    given, router = node.operand(0), node.operand(1)
    *outer, hidden = shape_of(given)
    tokens = prod(outer)
    wanted = (tokens, first.experts)
    if not equal_shapes(shape_of(router), wanted):
        raise node.invalid(f"a router of shape {list(shape_of(router))} instead of {list(wanted)}")
    x = node.widened(node.reshape(given, (tokens, hidden)))
    experts, shares = choose(node.widened(router), node.integer("k", 1))

    def computed(rows: SSAValue, expert: SSAValue) -> SSAValue:
        linear = None if third is None else third(rows, expert)
        return second(_activated(node, first(rows, expert), linear), expert)

    made = Routes(node, x, experts, first.experts, computed).results(hidden)
    count = shape_of(experts)[1]
    parts = node.emit(MulOp(node.reshape(made, (tokens, count, hidden)), node.reshape(shares, (tokens, count, 1))))
    total = node.reshape(node.emit(ReduceSumOp(parts, (1,))), shape_of(given))
    return node.cast(total, element_type_of_value(given))


def _normalised(node: Node, shares: SSAValue) -> SSAValue:
    return node.emit(DivOp(shares, node.emit(ReduceSumOp(shares, (1,), keepdims=True))))


def _moe(node: Node) -> SSAValue:
    """Shares are those of all experts, unless they are normalised."""

    def choose(router: SSAValue, count: int) -> tuple[SSAValue, SSAValue]:
        experts = node.emit(TopKOp(router, 1, count))
        shares = node.emit(GatherElementsOp(node.emit(SoftmaxOp(router, 1)), experts, 1))
        return experts, _normalised(node, shares) if node.flag("normalize_routing_weights") else shares

    return _mixture(node, [_plain(node, index) for index in (2, 4, 6)], choose)


def _qmoe(node: Node) -> SSAValue:
    """Shares are those of the chosen experts, as ONNX Runtime computes them on CPUs, or weights of their own."""
    if (kind := node.text("quant_type", "int")) != "int":
        raise node.unsupported(f"quant_type {kind}")
    if node.integer("weights_prepacked", -1) == 1:
        raise node.unsupported("weights packed for another machine (weights_prepacked)")

    def choose(router: SSAValue, count: int) -> tuple[SSAValue, SSAValue]:
        experts = node.emit(TopKOp(router, 1, count))
        normalises, own = node.flag("normalize_routing_weights"), node.optional(14)
        shares = node.emit(GatherElementsOp(router if own is None else node.widened(own), experts, 1))
        if own is None:
            return experts, node.emit(SoftmaxOp(shares, 1))
        return experts, _normalised(node, shares) if normalises else shares

    return _mixture(node, [_quantised(node, number) for number in (1, 2, 3)], choose)


HANDLERS: dict[str, Handler] = {"com.microsoft.MoE": _moe, "com.microsoft.QMoE": _qmoe}
