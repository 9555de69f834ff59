"""The configuration that ONNX Runtime's model builder writes beside a language model: genai_config.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, cast

from ...dialects.arguments import is_integer, shown
from ...dialects.errors import InvalidModelError
from ...dialects.json_text import read_json
from ...dialects.regular_file import read_regular
from ...lowering.onnx_to_graph.language_models.language_model import GivenNames, Role

NAME = "genai_config.json"
_ROLES: Mapping[str, Role] = {
    "input_ids": "ids",
    "attention_mask": "mask",
    "position_ids": "positions",
    "past_sequence_length": "past",
    "total_sequence_length": "total",
}
_CACHES = {
    "past_key_names": "present_key_names",
    "past_value_names": "present_value_names",
    "past_names": "present_names",
}


@dataclass(frozen=True)
class ModelFolder:
    """A model's file, and what its configuration says: names, sizes, and the ids that end a text."""

    path: Path
    names: GivenNames = field(default_factory=GivenNames)
    heads: int | None = None
    size: int | None = None
    """Heads of keys and values, and elements of each."""
    context: int | None = None
    """The most tokens that the model is made for."""
    stop: Sequence[int] = ()


def model_folder(path: str | PathLike[str]) -> ModelFolder:
    """A model by its file or its folder, with the configuration beside it, if there is one.

    Raises InvalidModelError for a folder or a configuration that names no model.
    """
    given = Path(path)
    config = (given if given.is_dir() else given.parent) / NAME
    if not config.is_file():
        if given.is_dir():
            raise InvalidModelError(f"{given}: a folder without {NAME}; name the .onnx file")
        return ModelFolder(given)
    try:
        model = _mapping(read_json(read_regular(config)), "model")
        decoder = _mapping(model, "decoder")
        inputs, outputs = (_mapping(decoder, each) if each in decoder else {} for each in ("inputs", "outputs"))
        heads, size = _integer(decoder, "num_key_value_heads"), _integer(decoder, "head_size")
        context, stop = _integer(model, "context_length"), _stop(model)
    except ValueError as error:
        raise InvalidModelError(f"{config}: {error}") from None
    file = decoder.get("filename")
    if given.is_dir():
        if not isinstance(file, str):
            raise InvalidModelError(f"{config}: it names no file of a decoder")
        given /= file
    elif given.name != file:
        return ModelFolder(given)  # of another model
    roles: dict[Role, str] = {role: str(inputs[name]) for name, role in _ROLES.items() if name in inputs}
    caches = {str(inputs[a]): str(outputs[b]) for a, b in _CACHES.items() if a in inputs and b in outputs}
    return ModelFolder(given, GivenNames(roles, str(outputs.get("logits", "")), caches), heads, size, context, stop)


def _mapping(value: object, key: str) -> dict[str, Any]:
    found = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    if not isinstance(found, dict):
        raise ValueError(f"it has no '{key}'")
    return cast("dict[str, Any]", found)


def _integer(values: Mapping[str, Any], key: str) -> int | None:
    """A size, if it is there."""
    value = values.get(key)
    if value is not None and (not is_integer(value) or value < 1):
        raise ValueError(f"'{key}' is {shown(value)}; it must be an integer of at least 1")
    return value


def _stop(model: Mapping[str, Any]) -> list[int]:
    """The tokens that end a text."""
    value: Any = model.get("eos_token_id")
    tokens = cast("list[Any]", value) if isinstance(value, list) else [] if value is None else [value]
    if not all(map(is_integer, tokens)):
        raise ValueError(f"'eos_token_id' is {shown(cast('object', value))}; it must be a token, or a list of tokens")
    return tokens
