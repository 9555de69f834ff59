"""Activation functions of recurrent cells: names and parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, Float64Type, StringAttr
from xdsl.utils.exceptions import VerifyException

from ..values import Array, floats_attr, string_attr
from .unary import sigmoid

_MEANING: dict[str, Callable[[Array, float, float], Array]] = {
    "affine": lambda x, alpha, beta: alpha * x + beta,
    "elu": lambda x, alpha, _: np.where(x >= 0, x, alpha * np.expm1(np.minimum(x, 0))),
    "hard_sigmoid": lambda x, alpha, beta: np.clip(alpha * x + beta, 0, 1),
    "leaky_relu": lambda x, alpha, _: np.where(x >= 0, x, alpha * x),
    "relu": lambda x, _, __: np.maximum(x, 0),
    "scaled_tanh": lambda x, alpha, beta: alpha * np.tanh(beta * x),
    "sigmoid": lambda x, _, __: sigmoid(x),
    "softplus": lambda x, _, __: np.logaddexp(x, np.zeros_like(x)),
    "softsign": lambda x, _, __: x / (1 + np.abs(x)),
    "tanh": lambda x, _, __: np.tanh(x),
    "thresholded_relu": lambda x, alpha, _: np.where(x >= alpha, x, 0 * x),
}
NAMES = tuple(_MEANING)
WITH_ALPHA = frozenset(("affine", "elu", "hard_sigmoid", "leaky_relu", "scaled_tanh", "thresholded_relu"))
WITH_BETA = frozenset(("affine", "hard_sigmoid", "scaled_tanh"))


@dataclass(frozen=True)
class Activation:
    """A scalar function; `alpha` and `beta` are 0 if it has no parameters."""

    name: str
    alpha: float = 0.0
    beta: float = 0.0

    def __call__(self, x: Array) -> Array:
        """Applies the function elementwise, in the type of x."""
        return _MEANING[self.name](x, self.alpha, self.beta).astype(x.dtype)


def activation_attributes(
    given: Sequence[Activation], usual: Sequence[str]
) -> dict[str, ArrayAttr[StringAttr] | DenseArrayBase[Float64Type]]:
    """An op's properties for these functions: none if they are the defaults, no parameters if all are 0."""
    if list(given) == [Activation(name) for name in usual]:
        return {}
    attributes: dict[str, ArrayAttr[StringAttr] | DenseArrayBase[Float64Type]] = {
        "activations": ArrayAttr([string_attr(each.name) for each in given])
    }
    if any(each.alpha or each.beta for each in given):
        attributes["parameters"] = floats_attr([number for each in given for number in (each.alpha, each.beta)])
    return attributes


def activations_of(
    names: ArrayAttr[StringAttr] | None, parameters: DenseArrayBase[Float64Type] | None, usual: Sequence[str]
) -> list[Activation]:
    """The functions that properties describe. Raises VerifyException for invalid ones."""
    if names is None:
        return [Activation(name) for name in usual]
    texts = [name.data for name in names]
    if len(texts) != len(usual):
        raise VerifyException(f"{len(texts)} activations instead of {len(usual)}")
    for text in texts:
        if text not in _MEANING:
            raise VerifyException(f'an activation is one of {", ".join(NAMES)}, got "{text}"')
    numbers = [0.0] * (2 * len(texts)) if parameters is None else [float(each) for each in parameters.get_values()]
    if len(numbers) != 2 * len(texts):
        raise VerifyException(f"{len(numbers)} parameters instead of an alpha and a beta of each activation")
    return [Activation(text, *numbers[2 * i : 2 * i + 2]) for i, text in enumerate(texts)]
