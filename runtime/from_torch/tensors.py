"""Tensors as arrays and arrays as tensors, over the same memory."""

from __future__ import annotations

from functools import cache
from typing import Any, cast

import ml_dtypes
import numpy as np

from ..device import Array
from ..memory.tensor import Tensor
from .torch_package import torch_module

_WORDS = {  # numpy's types that PyTorch takes no arrays of: the integers of that size, and PyTorch's name
    np.dtype(ml_dtypes.bfloat16): (np.dtype(np.int16), "bfloat16"),
    np.dtype(ml_dtypes.float8_e4m3fn): (np.dtype(np.uint8), "float8_e4m3fn"),
    np.dtype(ml_dtypes.float8_e5m2): (np.dtype(np.uint8), "float8_e5m2"),
}
_NAMED = {f"torch.{name}": (words.name, dtype) for dtype, (words, name) in _WORDS.items()}


@cache
def _torch() -> Any:
    return torch_module("torch")


def array_of(tensor: Any) -> Array:
    """The elements of a tensor on the CPU as an array over the same memory; the tensor's gradient is left alone.

    Complex numbers are pairs along a last axis, as in an exported model.
    Raises TypeError or RuntimeError for a tensor without such memory, such as a sparse or a quantised one.
    """
    if tensor.is_complex():
        tensor = _torch().view_as_real(tensor.detach().resolve_conj())
    try:
        return cast("Array", tensor.numpy())  # as nearly all can
    except (RuntimeError, TypeError):
        plain = tensor.detach().resolve_conj().resolve_neg()  # which are not computed before they are needed
    words = _NAMED.get(str(plain.dtype))
    if words is None:
        return cast("Array", plain.numpy())
    torch = _torch()
    return cast("Array", plain.view(getattr(torch, words[0])).numpy().view(words[1]))


def tensor_of(array: Array | Tensor, is_complex: bool = False) -> Any:
    """A tensor over the memory of an output; with `is_complex` of complex numbers."""
    if is_complex:
        return _torch().view_as_complex(tensor_of(array))
    torch = _torch()
    if isinstance(array, Tensor):
        return torch.from_dlpack(array)
    words = _WORDS.get(array.dtype)
    if words is not None:
        tensor = torch.from_numpy(array.view(words[0])).view(getattr(torch, words[1]))
    else:
        tensor = torch.from_numpy(array)
    return tensor if array.size else tensor.new_empty(array.shape)  # whose strides aren't 0, as numpy's are
