"""Recurrent networks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, IntegerType, LocationAttr, StringAttr, i32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import (
    AttrSizedOperandSegments,
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    prop_def,
    result_def,
)

from .base import GraphOp, require, require_float, require_same_element_type
from .unary import sigmoid
from .values import AnyTensor, Array, element_type_of_value, int_attr, shape_of, string_attr, tensor, widened

DIRECTIONS = {"forward": 1, "reverse": 1, "bidirectional": 2}


@irdl_op_definition
class LstmOp(GraphOp):
    """A long short-term memory over a sequence, with ONNX's shapes, gates (i, o, f, c) and activations.

    x [T, B, I], w [D, 4H, I], r [D, 4H, H], bias [D, 8H] (of w, then of r), initial h and c [D, B, H],
    peepholes p [D, 3H] (i, o, f) -> y [T, D, B, H], last h and last c [D, B, H]. D is 2 for "bidirectional",
    else 1. What is absent is zero.
    """

    name = "graph.lstm"

    x = operand_def()
    weight = operand_def()
    recurrence = operand_def()
    bias = opt_operand_def()
    initial_h = opt_operand_def()
    initial_c = opt_operand_def()
    peephole = opt_operand_def()
    hidden = prop_def(IntegerAttr[IntegerType])
    direction = prop_def(StringAttr)
    y = result_def()
    last_h = result_def()
    last_c = result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        x: SSAValue | Operation,
        weight: SSAValue | Operation,
        recurrence: SSAValue | Operation,
        bias: SSAValue | Operation | None = None,
        initial_h: SSAValue | Operation | None = None,
        initial_c: SSAValue | Operation | None = None,
        peephole: SSAValue | Operation | None = None,
        *,
        hidden: int,
        direction: str = "forward",
        location: LocationAttr | None = None,
    ):
        operands = (x, weight, recurrence, bias, initial_h, initial_c, peephole)
        properties = {
            "hidden": int_attr(hidden),
            "direction": string_attr(direction),
            "operandSegmentSizes": DenseArrayBase.from_list(i32, [int(operand is not None) for operand in operands]),
        }
        self._build([operand for operand in operands if operand is not None], properties, location)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_float(self.x)
        optional = (self.bias, self.initial_h, self.initial_c, self.peephole)
        require_same_element_type(self.x, self.weight, self.recurrence, *optional)
        direction = self.direction.data
        require(direction in DIRECTIONS, f'direction is one of {", ".join(DIRECTIONS)}, got "{direction}"')
        shape, hidden, count = shape_of(self.x), self.hidden.value.data, DIRECTIONS[direction]
        require(len(shape) == 3, f"the sequence needs three dimensions, got {len(shape)}")
        steps, batch, inputs = shape
        wanted = {
            "weight": (self.weight, (count, 4 * hidden, inputs)),
            "recurrence weight": (self.recurrence, (count, 4 * hidden, hidden)),
            "bias": (self.bias, (count, 8 * hidden)),
            "initial h": (self.initial_h, (count, batch, hidden)),
            "initial c": (self.initial_c, (count, batch, hidden)),
            "peephole": (self.peephole, (count, 3 * hidden)),
        }
        for what, (value, expected) in wanted.items():
            if value is not None:
                fits = shape_of(value) == expected
                require(fits, f"a {what} of shape {list(shape_of(value))} instead of {list(expected)}")
        element_type = element_type_of_value(self.x)
        state = tensor(element_type, (count, batch, hidden))
        return [tensor(element_type, (steps, count, batch, hidden)), state, state]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        given = iter(widened(array) for array in arrays)
        x, weight, recurrence = next(given), next(given), next(given)
        (steps, batch, _), count, hidden = x.shape, len(weight), self.hidden.value.data
        state = (count, batch, hidden)
        bias = next(given) if self.bias is not None else np.zeros((count, 8 * hidden), x.dtype)
        initial_h = next(given) if self.initial_h is not None else np.zeros(state, x.dtype)
        initial_c = next(given) if self.initial_c is not None else np.zeros(state, x.dtype)
        peephole = next(given) if self.peephole is not None else np.zeros((count, 3 * hidden), x.dtype)
        y, last_h, last_c = np.zeros((steps, *state), x.dtype), initial_h.copy(), initial_c.copy()
        for d in range(count):
            backwards = d == 1 or self.direction.data == "reverse"
            h, c = initial_h[d], initial_c[d]
            b = bias[d, : 4 * hidden] + bias[d, 4 * hidden :]
            p_i, p_o, p_f = np.split(peephole[d], 3)
            with np.errstate(all="ignore"):
                for t in reversed(range(steps)) if backwards else range(steps):
                    i, o, f, g = np.split(x[t] @ weight[d].T + h @ recurrence[d].T + b, 4, 1)
                    i, f = sigmoid(i + p_i * c), sigmoid(f + p_f * c)
                    c = f * c + i * np.tanh(g)
                    h = sigmoid(o + p_o * c) * np.tanh(c)
                    y[t, d] = h
            last_h[d], last_c[d] = h, c
        dtype = arrays[0].dtype
        return y.astype(dtype), last_h.astype(dtype), last_c.astype(dtype)
