"""Linear attention: a recurrent state in place of a softmax."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import Float64Type, FloatAttr, LocationAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import AttrSizedOperandSegments, irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from ...sizes.sizes import equal, equal_shapes
from ..axes import Axes, Whole
from ..base import GraphOp, require, require_float, require_same_element_type
from ..values import AnyTensor, Array, element_type_of_value, shape_of, tensor, widened


@irdl_op_definition
class LinearAttentionOp(GraphOp):
    """y_t = scale * q_t S_t, where S_t = decay_t S_{t-1} + k_t (x) v_t, for each batch and head.

    q [B, T, H, D], k [B, T, Hk, D], v [B, T, Hk, Dv], initial state [B, Hk, D, Dv], else zeros -> y [B, T, H, Dv] and
    the last state; each of the Hk states serves H / Hk consecutive heads of q. The decay [B, T, Hk, D or 1] is a factor
    of each row of the state; absent, it is 1. With beta [B, T, Hk or 1], v_t is replaced by what the state lacks of it:
    beta_t (v_t - k_t decay_t S_{t-1}).
    """

    name = "graph.linear_attention"
    FORM: ClassVar[str] = "linear_attention"
    LINEAR: ClassVar[bool] = False

    query = operand_def()
    key = operand_def()
    value = operand_def()
    initial = opt_operand_def()
    decay = opt_operand_def()
    beta = opt_operand_def()
    scale = prop_def(FloatAttr[Float64Type])
    y = result_def()
    last = result_def()

    irdl_options = (AttrSizedOperandSegments(as_property=True),)

    def __init__(
        self,
        query: SSAValue | Operation,
        key: SSAValue | Operation,
        value: SSAValue | Operation,
        initial: SSAValue | Operation | None = None,
        decay: SSAValue | Operation | None = None,
        beta: SSAValue | Operation | None = None,
        *,
        scale: float,
        location: LocationAttr | None = None,
    ):
        operands = (query, key, value, initial, decay, beta)
        self._build(operands, location, scale=float(scale))

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_float(self.query)
        require_same_element_type(self.query, self.key, self.value, self.initial, self.decay, self.beta)
        q, k, v = shape_of(self.query), shape_of(self.key), shape_of(self.value)
        require(len(q) == len(k) == len(v) == 4, "query, key and value need four dimensions")
        same = equal_shapes(q[:2], k[:2]) and equal_shapes(k[:2], v[:2])
        require(same, f"query, key and value have {q[:2]}, {k[:2]} and {v[:2]} batches and steps")
        heads = equal(k[2], v[2]) and equal(q[2] % k[2] if k[2] else q[2], 0)
        require(heads, f"{q[2]} query heads on {k[2]} key and {v[2]} value heads")
        require(equal(q[3], k[3]), f"queries of {q[3]} elements, but keys of {k[3]}")
        state, gates = (q[0], *k[2:], v[3]), (*q[:2], k[2])
        for what, value, allowed in (
            ("an initial state", self.initial, [state]),
            ("a decay", self.decay, [k, (*gates, 1)]),
            ("a beta", self.beta, [gates, (*q[:2], 1)]),
        ):
            if value is not None:
                wanted = " or ".join(str(list(shape)) for shape in allowed)
                fits = any(equal_shapes(shape_of(value), shape) for shape in allowed)
                require(fits, f"{what} of shape {list(shape_of(value))} instead of {wanted}")
        element_type = element_type_of_value(self.query)
        return [tensor(element_type, (*q[:3], v[3])), tensor(element_type, state)]

    @property
    @override
    def products(self) -> int:
        width, times = shape_of(self.value)[3], 1 if self.beta is None else 2
        return (prod(shape_of(self.query)) + times * prod(shape_of(self.key))) * width

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        given = self.given_labels(query="bthd", key="bthd", value="bthv", initial="bhdv", decay="bthd", beta="bth")
        grouped = shape_of(self.query)[2] != shape_of(self.key)[2]
        return self.labelled_axes(
            given, "bhdv" if result else "bthv", dict.fromkeys("tdh" if grouped else "td", Whole), result=result
        )

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        given = iter(widened(array) for array in arrays)
        q, k, v = next(given), next(given), next(given)
        (batch, steps, heads, size), (_, _, groups, width) = q.shape, v.shape
        initial, decay, beta = (
            None if value is None else next(given) for value in (self.initial, self.decay, self.beta)
        )
        state = np.zeros((batch, groups, size, width), q.dtype) if initial is None else initial
        y = np.zeros((batch, steps, heads, width), q.dtype)
        with np.errstate(all="ignore"):
            for t in range(steps):
                if decay is not None:
                    state = state * decay[:, t, :, :, None]
                change = v[:, t]
                if beta is not None:
                    change = beta[:, t, :, None] * (change - np.einsum("bhd,bhdv->bhv", k[:, t], state))
                state = state + k[:, t, :, :, None] * change[:, :, None]
                shared = np.repeat(state, heads // max(1, groups), 1)
                y[:, t] = np.einsum("bhd,bhdv->bhv", q[:, t], shared) * q.dtype.type(self.scale.value.data)
        return tuple(result.astype(arrays[0].dtype) for result in (y, state))
