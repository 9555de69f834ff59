"""The error for unbound dimensions of inputs: it names all of them, with an example of sizes."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ...dialects.errors import OpenDimensionsError
from .dimension_names import is_calculated, value_of_name

PICTURE = 224  # height and width that most image models take
LENGTH = 16


def check_bound(
    shapes: Mapping[str, Sequence[int | str]],
    shapeless: Sequence[str],
    sizes: Mapping[str, int],
    ranged: Collection[str] = (),
) -> None:
    """Raises OpenDimensionsError for input dimensions that are not in `sizes`, and for inputs without a shape.

    Dimensions computed from others are not asked for, nor those that are `ranged`: where there are any, unnamed ones
    are asked for by input and axis, since a whole shape has no ranges.
    """
    if ranged:
        shapes = {
            name: [f"{name}.{axis}" if each == "" else each for axis, each in enumerate(shape)]
            for name, shape in shapes.items()
        }
        sizes = {**dict.fromkeys(ranged, LENGTH), **sizes}
    named = {each: None for shape in shapes.values() for each in shape if isinstance(each, str) and each}
    opened = {name: None for name in named if name not in sizes and not is_calculated(name, named)}
    nameless = [name for name, shape in shapes.items() if "" in shape]
    if not (opened or nameless or shapeless):
        return
    known = dict(sizes)
    for shape in shapes.values():
        for axis, each in enumerate(shape):
            if each in opened:
                known.setdefault(str(each), _example(shape, axis))
    given: dict[str, Sequence[int] | None] = {}
    for name in nameless:
        shape = shapes[name]
        given[name] = [_size(shape, axis, known) for axis in range(len(shape))]
    given |= dict.fromkeys(shapeless)
    within = {each for name in nameless for each in shapes[name]}
    dims = {name: known[name] for name in opened if name not in within}
    axes = [f"{name}[{axis}]" for name in nameless for axis, each in enumerate(shapes[name]) if each == ""]
    places = {
        str(each) or f"{name}.{axis}": (given[name] or ())[axis]
        for name in nameless
        for axis, each in enumerate(shapes[name])
        if each == "" or each in opened
    }
    raise OpenDimensionsError([*opened, *axes, *(f"{name}[...]" for name in shapeless)], dims, given, places)


def _size(shape: Sequence[int | str], axis: int, known: Mapping[str, int]) -> int:
    each = shape[axis]
    if isinstance(each, str):
        return known.get(each) or value_of_name(each, known) or _example(shape, axis)
    return each


def _example(shape: Sequence[int | str], axis: int) -> int:
    """A plausible size of a dimension: leading ones are batches, and images have one or three channels.

    After a leading number other than 1, which may count layers as in the state of a recurrent network, the batch comes
    second.
    """
    of_state = axis == 1 and len(shape) == 3 and shape[0] != 1 and not isinstance(shape[0], str)
    if axis == 0 or of_state or "batch" in str(shape[axis]).lower():
        return 1
    return PICTURE if len(shape) == 4 and axis > 1 and shape[1] in (1, 3) else LENGTH
