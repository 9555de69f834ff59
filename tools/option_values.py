"""Options of every tool alike: sizes, as `--dim NAME=SIZE` and `--shape NAME=1,3,224,224`, ranges of
them, as `--range NAME=1,4,16`, values, as `--specialize NAME=[1,2]`, and what code is for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from ..dialects.errors import ConfigError
from ..dialects.json_text import read_json
from ..dialects.kernel.gpus import GPUS, PRECISIONS

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_Value = TypeVar("_Value")

Dims = Annotated[
    list[str] | None, typer.Option("--dim", metavar="NAME=SIZE", help="Size of a dynamic dimension; may be repeated.")
]
Spans = Annotated[
    list[str] | None,
    typer.Option(
        "--range",
        metavar="NAME=MIN,OPT,MAX",
        help="Sizes of a dynamic dimension, made for the second; may be repeated.",
    ),
]
At = Annotated[
    list[str] | None,
    typer.Option("--at", metavar="NAME=SIZE,...", help="Sizes within --range to look at; may be repeated."),
]
Shapes = Annotated[
    list[str] | None,
    typer.Option("--shape", metavar="NAME=1,3,224,224", help="Whole shape of an input; may be repeated."),
]
Caches = Annotated[
    list[str] | None,
    typer.Option("--cache", metavar="INPUT=OUTPUT", help="Two that are to lie in the same memory; may be repeated."),
]
Specialize = Annotated[
    list[str] | None,
    typer.Option(
        "--specialize",
        metavar="NAME=VALUE",
        help="Make an input a constant: axes=[1,2], k=3, NAME=FILE.npy or FILE.npz; may be repeated.",
    ),
]

Gpu = Annotated[str | None, typer.Option(metavar="NAME", help=f"Make code for a GPU: {', '.join(GPUS)}.")]
Precision = Annotated[str, typer.Option(metavar="KIND", help=f"Of products on a GPU: {', '.join(PRECISIONS)}.")]


def dims_of(texts: Sequence[str] | None) -> dict[str, int]:
    """The sizes that `--dim` gives; raises ConfigError quoting what is wrong."""
    return _named("--dim", texts, _size, "NAME=SIZE with a size of at least 1")


def spans_of(texts: Sequence[str] | None) -> dict[str, tuple[int, int, int]]:
    """The sizes from, best, to, that `--range` gives; raises ConfigError quoting what is wrong."""
    return _named("--range", texts, _span, "NAME=MIN,OPT,MAX with 0 <= MIN <= OPT <= MAX")


def at_of(texts: Sequence[str] | None) -> list[dict[str, int]]:
    """The sizes that each `--at` gives; raises ConfigError quoting what is wrong."""
    return [_named("--at", text.split(","), _count, "NAME=SIZE,NAME=SIZE,...") for text in texts or ()]


def shapes_of(texts: Sequence[str] | None) -> dict[str, tuple[int, ...]]:
    """The shapes that `--shape` gives; raises ConfigError quoting what is wrong."""
    return _named("--shape", texts, _shape, "NAME=SIZE,SIZE,... with sizes of at least 1")


def cache_pairs_of(texts: Sequence[str] | None) -> dict[str, str]:
    """The outputs by input that `--cache` gives; raises ConfigError quoting what is wrong."""
    return _named("--cache", texts, str, "INPUT=OUTPUT")


def values_of(texts: Sequence[str] | None) -> dict[str, ArrayLike]:
    """The values that `--specialize` gives; raises ConfigError quoting what is wrong, InvalidInputError for a file."""
    files = [text for text in texts or () if text.endswith(".npz")]
    values = _named(
        "--specialize", [text for text in texts or () if text not in files], _value, "NAME=VALUE, such as axes=[1,2]"
    )
    if files:
        from .arrays import load_named

        values |= {name: array for file in files for name, array in load_named(file).items()}
    return values


def _value(text: str) -> ArrayLike:
    if text.endswith(".npy"):
        from .arrays import load_array

        return load_array(text)
    value: Any = read_json(text)  # raises ValueError
    if isinstance(value, dict | str | None):
        raise ValueError
    return value


def _count(text: str) -> int:
    if not (text.isascii() and text.isdecimal()):
        raise ValueError
    return int(text)


def _size(text: str) -> int:
    size = _count(text)
    if size == 0:
        raise ValueError
    return size


def _shape(text: str) -> tuple[int, ...]:
    return tuple(_size(each) for each in text.split(","))


def _span(text: str) -> tuple[int, int, int]:
    low, best, high = map(_count, text.split(","))
    if not low <= best <= high:
        raise ValueError
    return low, best, high


def _named(option: str, texts: Sequence[str] | None, read: Callable[[str], _Value], expected: str) -> dict[str, _Value]:
    values: dict[str, _Value] = {}
    for text in texts or ():
        name, _, value = text.rpartition("=")
        if name in values:
            raise ConfigError(f"{option} {text}: '{name}' is given twice")
        try:
            if not name:
                raise ValueError
            values[name] = read(value)
        except ValueError:
            raise ConfigError(f"{option} {text}: expected {expected}") from None
    return values
