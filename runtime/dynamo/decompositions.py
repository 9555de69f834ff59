"""Definitions of ATen operations by others, where PyTorch's exporter has none, or one that is not right.

AOTAutograd traces them with the graph. One that returns NotImplemented leaves the operation as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..from_torch.torch_package import torch_module


def decompositions() -> Mapping[Any, Callable[..., Any]]:
    """Operations, and functions that take their arguments."""
    torch = torch_module("torch")
    aten = torch.ops.aten
    # PyTorch's own, of normalisation by the statistics of the batch, which the exporter takes for the running ones.
    names = ("_native_batch_norm_legit_functional", "_native_batch_norm_legit", "native_batch_norm")
    own = {
        aten._scaled_dot_product_flash_attention_for_cpu.default: _attention_of_groups,
        aten._transformer_encoder_layer_fwd.default: _encoder_layer,
        aten._cdist_forward.default: _distances,
    }
    return {**torch_module("torch._decomp").get_decompositions([getattr(aten, name) for name in names]), **own}


def _attention_of_groups(query: Any, key: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
    """Attention with fewer heads of keys and values than of queries: each serves a group of queries."""
    if query.shape[1] == key.shape[1]:
        return NotImplemented
    group = query.shape[1] // key.shape[1]
    attention = torch_module("torch").ops.aten._scaled_dot_product_flash_attention_for_cpu.default
    return attention(query, key.repeat_interleave(group, 1), value.repeat_interleave(group, 1), *args, **kwargs)


def _encoder_layer(
    x: Any,
    width: int,
    heads: int,
    qkv_weight: Any,
    qkv_bias: Any,
    out_weight: Any,
    out_bias: Any,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: Any,
    norm_bias_1: Any,
    norm_weight_2: Any,
    norm_bias_2: Any,
    weight_1: Any,
    bias_1: Any,
    weight_2: Any,
    bias_2: Any,
    mask: Any = None,
    mask_type: int | None = None,
) -> Any:
    """torch.nn.TransformerEncoderLayer without a gradient, a single operation of PyTorch's.

    A mask is added, or True where nothing is attended to: of kind 0 for pairs of tokens, of kind 1 for the tokens of
    each sequence, of kind 2 for pairs of tokens of each sequence and head.
    """
    functional = torch_module("torch.nn.functional")
    if mask is not None and mask_type not in (0, 1, 2):
        return NotImplemented
    batch, tokens = x.shape[:2]

    def attended(x: Any) -> Any:
        parts = functional.linear(x, qkv_weight, qkv_bias).view(batch, tokens, 3, heads, width // heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        kept = mask
        if mask is not None:
            kept = mask.view(batch, 1, 1, tokens) if mask_type == 1 else mask
            if kept.dtype == torch_module("torch").bool:
                kept = kept.logical_not()
        found = functional.scaled_dot_product_attention(query, key, value, kept)
        return functional.linear(found.transpose(1, 2).reshape(batch, tokens, width), out_weight, out_bias)

    def fed(x: Any) -> Any:
        hidden = functional.linear(x, weight_1, bias_1)
        return functional.linear(functional.gelu(hidden) if use_gelu else hidden.relu(), weight_2, bias_2)

    def first(x: Any) -> Any:
        return functional.layer_norm(x, (width,), norm_weight_1, norm_bias_1, eps)

    def second(x: Any) -> Any:
        return functional.layer_norm(x, (width,), norm_weight_2, norm_bias_2, eps)

    if norm_first:
        x = x + attended(first(x))
        return x + fed(second(x))
    x = first(x + attended(x))
    return second(x + fed(x))


def _distances(x: Any, y: Any, p: float, mode: int | None) -> Any:
    """The p-norms of the differences of all pairs of rows."""
    del mode  # how PyTorch computes it
    return torch_module("torch").linalg.vector_norm(x.unsqueeze(-2) - y.unsqueeze(-3), p, -1)
