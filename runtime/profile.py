"""OptimizationProfile: the ranges of shapes for which an engine is compiled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Self, cast

from typing_extensions import override

from ..dialects.arguments import check_options, checked_mapping, is_integer, shown
from ..dialects.errors import ConfigError
from .reprs import chosen_fields


@dataclass(frozen=True, repr=False)
class OptimizationProfile:
    """Ranges of input shapes, from `min` to `max`, with code optimised for `opt`.

        OptimizationProfile(dims={"batch": (1, 4, 16), "tokens": (1, 128, 512)})
        OptimizationProfile(shapes={"x": ((1, 3, 64, 64), (1, 3, 224, 224), (1, 3, 512, 512))})

    dims: (min, opt, max) of dimensions that have a name in the model, wherever they occur; of one without a name by
        input and axis, such as "x.0".
    shapes: (min, opt, max) of whole shapes by input name. A dimension that the model declares as a number may be a
        range, too.

    Raises ConfigError unless 0 <= min <= opt <= max.
    """

    dims: Mapping[str, tuple[int, int, int]] = field(default_factory=dict[str, "tuple[int, int, int]"])
    shapes: Mapping[str, tuple[Sequence[int], Sequence[int], Sequence[int]]] = field(
        default_factory=dict[str, "tuple[Sequence[int], Sequence[int], Sequence[int]]"]
    )

    @override
    def __repr__(self) -> str:
        return chosen_fields(self)

    def __new__(cls, *arguments: Any, **options: Any) -> Self:
        """Checks the names of options first, as EngineConfig's."""
        check_options(options, [each.name for each in fields(cls)])
        return super().__new__(cls)

    def __post_init__(self) -> None:
        for name, span in checked_mapping("profile: dims", self.dims, "dimensions").items():
            _check_span(f"dimension '{name}'", span)
        for name, shapes in checked_mapping("profile: shapes", self.shapes, "inputs").items():
            if not _is_three(shapes) or not all(isinstance(each, Sequence) for each in shapes):
                raise ConfigError(f"profile: input '{name}' needs three shapes (min, opt, max), got {shown(shapes)}")
            low, best, high = shapes
            if not len(low) == len(best) == len(high):
                raise ConfigError(
                    f"profile: the shapes of input '{name}' have {len(low)}, {len(best)} and {len(high)} dims"
                )
            for axis, span in enumerate(zip(low, best, high, strict=True)):
                _check_span(f"dimension {axis} of input '{name}'", span)


def _is_three(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and len(cast("Sequence[Any]", value)) == 3


def _check_span(what: str, span: object) -> None:
    numbers = cast("Sequence[Any]", span) if _is_three(span) else ()
    if not numbers or not all(map(is_integer, numbers)):
        raise ConfigError(f"profile: {what} needs three sizes (min, opt, max), got {shown(span)}")
    low, best, high = numbers
    if not 0 <= low <= best <= high:
        raise ConfigError(f"profile: {what} is from {low} over {best} to {high}; it must be 0 <= min <= opt <= max")
