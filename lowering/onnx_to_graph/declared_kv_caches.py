"""Key-value caches declared by the caller: pairs of an input and an output that share memory."""

from __future__ import annotations

from collections.abc import Mapping

from onnx import ValueInfoProto
from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue

from ...dialects.errors import InvalidInputError
from ...dialects.graph.kv_cache_attributes import CACHE, CacheAttr
from ...dialects.graph.values import AnyTensor, element_type_of_value, int_attr, shape_of, tensor
from ...dialects.sizes.sizes import bounds_of
from .model_file import ModelSource, load_model

LONGEST = 2**30
"""Elements along an axis, beyond which it counts as unbounded."""


USUAL_NAMES = (("past_key_values", "present"), ("past_key_values", "present_key_values"), ("past", "present"))
"""What exporters write in the name of a cache's output in place of what is in its input's."""


def caches_by_name(model: ModelSource) -> dict[str, str]:
    """The inputs of a model that are caches by their names, and the outputs that extend them.

    These are named as exporters do, past_key_values.0.key and present.0.key, have one type, and shapes that are
    declared to be different along one axis at most.
    """
    graph = load_model(model).proto.graph
    outputs = {value.name: value for value in graph.output}
    found: dict[str, str] = {}
    for value in graph.input:
        names = (value.name.replace(past, present, 1) for past, present in USUAL_NAMES if past in value.name)
        for name in filter(outputs.__contains__, names):
            if _may_be_cache(value, outputs[name]) and name not in found.values():
                found.setdefault(value.name, name)
    return found


def _may_be_cache(past: ValueInfoProto, present: ValueInfoProto) -> bool:
    """Whether types and shapes are declared as those of a cache's input and output."""
    before, after = past.type.tensor_type, present.type.tensor_type
    if before.elem_type != after.elem_type or len(before.shape.dim) != len(after.shape.dim):
        return False
    dims = zip(before.shape.dim, after.shape.dim, strict=True)
    known = [(a.dim_value or a.dim_param, b.dim_value or b.dim_param) for a, b in dims]
    return sum(bool(a and b) and a != b for a, b in known) <= 1


def cache_attributes(
    inputs: Mapping[str, AnyTensor],
    outputs: Mapping[str, SSAValue],
    caches: Mapping[str, str],
    rooms: Mapping[str, tuple[int, int]],
) -> dict[str, dict[str, CacheAttr]]:
    """The cache attribute of each input in `caches`, which maps it to the output in the same memory.

    `rooms` has, for some outputs, an axis and the size of the buffer along it.

    Raises InvalidInputError for unknown names, and for an input and an output of which neither extends the other.
    """
    found: dict[str, dict[str, CacheAttr]] = {}
    numbers = {name: number for number, name in enumerate(outputs)}
    for past, present in caches.items():
        for name, known, kind in ((past, inputs, "input"), (present, outputs, "output")):
            if name not in known:
                there = ", ".join(known) or "none"
                raise InvalidInputError(f"caches: there is no {kind} {name!r}; there are: {there}")
        if list(caches.values()).count(present) > 1:
            raise InvalidInputError(f"caches: output {present!r} can't lie in the memory of two inputs")
        cache = _cache(past, inputs[past], present, numbers[present], outputs[present], rooms)
        found[past] = {CACHE: cache}
    return found


def _cache(
    past: str, before: AnyTensor, present: str, number: int, value: SSAValue, rooms: Mapping[str, tuple[int, int]]
) -> CacheAttr:
    element, after = element_type_of_value(value), shape_of(value)
    sizes = tuple(before.get_shape())
    differing = [axis for axis, (a, b) in enumerate(zip(sizes, after, strict=False)) if a is not b and a != b]
    if element != before.element_type or len(sizes) != len(after) or len(differing) > 1:
        raise InvalidInputError(
            f"caches: output {present!r} is {element}{list(after)}, input {past!r} is "
            f"{before.element_type}{list(sizes)}: they may differ along one axis only"
        )
    room = list(after)
    for axis in differing:
        room[axis] = max(bounds_of(sizes[axis])[1], bounds_of(after[axis])[1])
        if room[axis] >= LONGEST:
            raise InvalidInputError(
                f"caches: input {past!r} has no largest size below {LONGEST} along axis {axis}; "
                "a profile says how much room there is"
            )
    if present in rooms:
        axis, room[axis] = rooms[present]
    return CacheAttr(StringAttr(present), int_attr(number), before, tensor(element, after), tensor(element, room))
