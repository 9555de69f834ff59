"""The interface of a language model: which inputs and outputs are tokens, positions, masks, logits and caches.

Exporters agree on names for most inputs. Caches go by their names, too, as "past_key_values.0.key" and "present.0.key";
where those are unknown, the remaining inputs and outputs are caches in the order in which they are declared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from onnx import GraphProto, ModelProto, ValueInfoProto

from ....dialects.errors import InvalidModelError
from ....dialects.graph.values import numpy_dtype
from ..declared_inputs import Dimension, declared_shapes
from ..declared_kv_caches import USUAL_NAMES
from ..element_types import element_type
from ..model_file import ModelSource, load_model

Role = Literal["ids", "mask", "positions", "rows", "seqlens", "total", "past", "lengths", "cached", "kept"]
ROLES: Mapping[Role, tuple[str, ...]] = {
    "ids": ("input_ids",),
    "mask": ("attention_mask",),
    "positions": ("position_ids",),
    "rows": ("cache_position",),
    "seqlens": ("seqlens_k", "past_seq_len"),
    "total": ("total_sequence_length", "total_seq_len"),
    "past": ("past_sequence_length", "past_seqlen"),
    "lengths": ("lengths", "nonpad_kv_seqlen", "current_sequence_length"),
    "cached": ("use_cache_branch",),
    "kept": ("num_logits_to_keep", "logits_to_keep"),
}
"""What inputs hold, by the names that exporters give them.

ids, mask and positions are of tokens [batch, tokens], the mask also of those in caches; rows are the places of tokens
in caches, seqlens their number after a call minus one, for each sequence, lengths the number before it; total and past
are these numbers for the longest sequence; cached says whether there is a past, kept of how many rows logits are made.
"""
LOGITS = "logits"
SHARED = ("com.microsoft", "GroupQueryAttention")
"""An operator that writes into caches with room for more tokens."""


@dataclass(frozen=True)
class Declared:
    """An input or output: its type and shape, with names or "" for dynamic dimensions."""

    name: str
    dtype: np.dtype[np.generic]
    shape: tuple[Dimension, ...]


@dataclass(frozen=True)
class CachePair:
    """A cache: the input that reads it, and the output that it becomes."""

    past: Declared
    present: str
    shared: bool
    """Whether the model writes into the cache where it lies, which then has room for all tokens from the beginning."""


@dataclass(frozen=True)
class LanguageModel:
    """The inputs of a language model by their roles, its logits and its caches."""

    inputs: Mapping[Role, Declared]
    logits: str
    caches: Sequence[CachePair]


@dataclass(frozen=True)
class GivenNames:
    """Names that a model's configuration gives to inputs, by role, to logits, and to caches ("past.%d.key")."""

    roles: Mapping[Role, str] = field(default_factory=dict[Role, str])
    logits: str = ""
    caches: Mapping[str, str] = field(default_factory=dict[str, str])


def read_language_model(model: ModelSource, given: GivenNames | None = None) -> LanguageModel:
    """The interface of a model. Raises InvalidModelError for one that is no language model with caches."""
    given = given or GivenNames()
    proto = load_model(model).proto
    inputs = {each.name: each for each in _inputs(model, proto)}
    ids = given.roles.get("ids", ROLES["ids"][0])
    if ids not in inputs or len(inputs[ids].shape) != 2 or inputs[ids].dtype.kind != "i":
        raise InvalidModelError(
            f"not a language model: it has no input '{ids}' of tokens [batch, tokens]; its inputs are {_list(inputs)}"
        )
    roles: dict[Role, Declared] = {}
    for role, names in ROLES.items():
        for name in (given.roles.get(role, ""), *names):
            if name in inputs:
                roles[role] = inputs.pop(name)
                break
    outputs = {each.name: each for each in proto.graph.output}
    wanted = given.logits or LOGITS
    logits = wanted if wanted in outputs else next(iter(outputs), "")
    outputs.pop(logits, None)
    pairs = _pairs(inputs, list(outputs), given)
    if not pairs:
        raise InvalidModelError(
            f"not a language model with caches: beside {_list(each.name for each in roles.values())} it has no inputs "
            "for keys and values of earlier tokens, such as past_key_values.0.key"
        )
    shared = _shared(proto.graph)
    return LanguageModel(roles, logits, [CachePair(inputs[a], b, a in shared) for a, b in pairs.items()])


def _inputs(model: ModelSource, proto: ModelProto) -> list[Declared]:
    shapes = declared_shapes(model, {})
    values = {each.name: each for each in proto.graph.input}
    return [Declared(name, _dtype(values[name]), tuple(shape or ())) for name, shape in shapes.items()]


def _dtype(value: ValueInfoProto) -> np.dtype[np.generic]:
    return numpy_dtype(element_type(value.type.tensor_type.elem_type, f"input {value.name}"))


def _pairs(inputs: Iterable[str], outputs: Sequence[str], given: GivenNames) -> dict[str, str]:
    """The cache output of each input that is left, by name, or in order."""
    pasts = list(inputs)
    for rule in (given.caches, *({a: b} for a, b in USUAL_NAMES)):
        found = {past: present for past in pasts if (present := _renamed(past, rule)) in outputs}
        if len(found) == len(pasts):
            return found
    if len(pasts) != len(outputs):
        raise InvalidModelError(
            f"not a language model that is known: inputs {_list(pasts)} and outputs {_list(outputs)} don't go together "
            "as caches"
        )
    return dict(zip(pasts, outputs, strict=True))


def _renamed(past: str, rule: Mapping[str, str]) -> str:
    """The output's name for an input's, by parts of names, or by whole ones with "%d" for a number."""
    for pattern, present in rule.items():
        if "%d" in pattern:
            match = re.fullmatch(re.escape(pattern).replace("%d", r"(\d+)"), past)
            if match is not None:
                return present.replace("%d", match[1])
        elif pattern in past:
            return past.replace(pattern, present, 1)
    return ""


def _shared(graph: GraphProto) -> set[str]:
    """The inputs that are caches with room for more tokens."""
    nodes = (node for node in graph.node if (node.domain, node.op_type) == SHARED)
    return {name for node in nodes for name in node.input[3:5]}


def _list(names: Iterable[str]) -> str:
    named = list(names)
    return ", ".join([*named[:6], "..."] if len(named) > 6 else named) or "none"
