"""Operators that will not be supported, with the reason: results that are no numeric tensor, or not deterministic."""

from __future__ import annotations

from collections.abc import Mapping

_STRINGS = "it computes with strings"
_RANDOM = "it draws random numbers"
_TRAINING = "it trains a model"

_OPERATORS: Mapping[str, str] = {
    **dict.fromkeys(("StringConcat", "StringNormalizer", "StringSplit", "RegexFullMatch", "CategoryMapper"), _STRINGS),
    **dict.fromkeys(("DictVectorizer", "CastMap"), "it takes a map"),
    **dict.fromkeys(("Bernoulli", "Multinomial"), _RANDOM),
    **dict.fromkeys(("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"), _RANDOM),
    "ImageDecoder": "it reads image files",
}
_DOMAINS: Mapping[str, str] = {
    "ai.onnx.preview.training": _TRAINING,
    "ai.onnx.training": _TRAINING,
}


def reason(domain: str, op_type: str) -> str:
    """Why an operator is refused; "" without a particular reason."""
    return _OPERATORS.get(op_type, "") or _DOMAINS.get(domain, "")
