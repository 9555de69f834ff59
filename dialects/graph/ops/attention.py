"""Scaled dot-product attention."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import ClassVar

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import Float64Type, FloatAttr, LocationAttr, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, opt_prop_def, prop_def, result_def

from ...sizes.sizes import equal
from ..axes import Axes, Whole
from ..base import GraphOp, broadcasts_to, require, require_float, require_same_element_type
from ..values import AnyTensor, Array, element_type_of_value, is_bool, shape_of, tensor, type_of, widened


@irdl_op_definition
class AttentionOp(GraphOp):
    """softmax(scale * q k^T + mask) v, for each batch and head.

    q [B, H, T, D], k [B, Hk, S, D], v [B, Hk, S, Dv] -> [B, H, T, Dv]; each of the Hk heads of k and v is shared by H /
    Hk consecutive heads of q. With `softcap` a score x becomes softcap * tanh(x / softcap). The mask broadcasts to [B,
    H, T, S]: floats are added, booleans select the keys to keep. `causal` keeps keys 0..t for row t. A row without keys
    gives zeros, with `nan_rows` NaN, as a plain softmax does.
    """

    name = "graph.attention"
    FORM: ClassVar[str] = "attention"
    INSTRUCTIONS: ClassVar[int] = 16
    LINEAR: ClassVar[bool] = False

    query = operand_def()
    key = operand_def()
    value = operand_def()
    mask = opt_operand_def()
    scale = prop_def(FloatAttr[Float64Type])
    softcap = opt_prop_def(FloatAttr[Float64Type])
    causal = opt_prop_def(UnitAttr)
    nan_rows = opt_prop_def(UnitAttr)
    result = result_def()

    def __init__(
        self,
        query: SSAValue | Operation,
        key: SSAValue | Operation,
        value: SSAValue | Operation,
        mask: SSAValue | Operation | None = None,
        *,
        scale: float,
        softcap: float = 0.0,
        causal: bool = False,
        nan_rows: bool = False,
        location: LocationAttr | None = None,
    ):
        self._build(
            (query, key, value, mask),
            location,
            scale=float(scale),
            softcap=float(softcap) or None,
            causal=causal,
            nan_rows=nan_rows,
        )

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        require_float(self.query)
        require_same_element_type(self.query, self.key, self.value)
        q, k, v = shape_of(self.query), shape_of(self.key), shape_of(self.value)
        require(len(q) == len(k) == len(v) == 4, "query, key and value need four dimensions")
        require(
            equal(q[0], k[0]) and equal(k[0], v[0]), f"batches {q[0]}, {k[0]} and {v[0]} of query, key and value differ"
        )
        grouped = equal(k[1], v[1]) and equal(q[1] % k[1] if k[1] else q[1], 0)
        require(grouped, f"{q[1]} query heads on {k[1]} key and {v[1]} value heads")
        require(equal(k[2], v[2]), f"{k[2]} keys, but {v[2]} values")
        require(equal(q[3], k[3]), f"queries of {q[3]} elements, but keys of {k[3]}")
        require(self.softcap is None or self.softcap.value.data > 0, "a softcap must be larger than 0")
        if self.mask is not None:
            if not is_bool(element_type_of_value(self.mask)):
                require_same_element_type(self.query, self.mask)
            scores, mask = (*q[:3], k[2]), shape_of(self.mask)
            fact = f"a mask of shape {list(mask)} doesn't broadcast to {list(scores)}"
            require(broadcasts_to(mask, scores), fact)
        return [tensor(type_of(self.query).element_type, (*q[:3], v[3]))]

    @property
    @override
    def products(self) -> int:
        keys = shape_of(self.key)[2]
        return prod(shape_of(self.query)) * keys + prod(shape_of(self.result)) * keys

    @property
    @override
    def instructions(self) -> int:
        return self.INSTRUCTIONS * prod(shape_of(self.query)[:-1]) * shape_of(self.key)[2]  # of each score

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        grouped = shape_of(self.query)[1] != shape_of(self.key)[1]
        whole = ("h" if grouped else "") + ("" if self.causal is None else "t")
        return self.labelled_axes(("bhtd", "bhsd", "bhsv", "bhts"), "bhtv", dict.fromkeys(whole, Whole))

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        query, key, value = (widened(array) for array in arrays[:3])
        repeats = query.shape[1] // max(1, key.shape[1])
        key, value = np.repeat(key, repeats, 1), np.repeat(value, repeats, 1)
        scores: Array = np.matmul(query * query.dtype.type(self.scale.value.data), np.swapaxes(key, 2, 3))
        if self.softcap is not None:
            cap = query.dtype.type(self.softcap.value.data)
            scores = cap * np.tanh(scores / cap)
        if len(arrays) == 4:
            mask = arrays[3]
            scores = np.where(mask, scores, -np.inf) if mask.dtype == np.bool_ else scores + widened(mask)
        if self.causal is not None:
            kept = np.tri(query.shape[2], key.shape[2], dtype=np.bool_)
            scores = np.where(kept, scores, -np.inf)
        largest: Array = np.max(scores, 3, keepdims=True, initial=-np.inf)
        empty = (largest == -np.inf) & (self.nan_rows is None)
        with np.errstate(all="ignore"):
            powers = np.exp(scores - np.where(empty, 0, largest))
            weights = powers / np.where(empty, 1, np.sum(powers, 3, keepdims=True))
        return (np.matmul(weights, value).astype(arrays[0].dtype),)
