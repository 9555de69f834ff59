"""Key-value caches declared by the caller: pairs of an input and an output that share memory."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import SSAValue

from ...dialects.errors import InvalidInputError
from ...dialects.graph.kv_cache_attributes import CACHE, CacheAttr
from ...dialects.graph.values import AnyTensor, element_type_of_value, int_attr, shape_of, tensor
from ...dialects.sizes.sizes import bounds_of

LONGEST = 2**30
"""Elements along an axis, beyond which it counts as unbounded."""


def cache_attributes(
    inputs: Mapping[str, AnyTensor], outputs: Mapping[str, SSAValue], caches: Mapping[str, str]
) -> dict[str, dict[str, CacheAttr]]:
    """The cache attribute of each input in `caches`, which maps it to the output in the same memory.

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
        found[past] = {CACHE: _cache(past, inputs[past], present, numbers[present], outputs[present])}
    return found


def _cache(past: str, before: AnyTensor, present: str, number: int, value: SSAValue) -> CacheAttr:
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
    return CacheAttr(StringAttr(present), int_attr(number), before, tensor(element, after), tensor(element, room))
