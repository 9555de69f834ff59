"""Options of every tool alike: sizes, as `--dim NAME=SIZE` and `--shape NAME=1,3,224,224`, and what code is for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

import typer

from ..dialects.errors import ConfigError
from ..dialects.gpus import GPUS, PRECISIONS

_Value = TypeVar("_Value")

Dims = Annotated[
    list[str] | None, typer.Option("--dim", metavar="NAME=SIZE", help="Size of a dynamic dimension; may be repeated.")
]
Shapes = Annotated[
    list[str] | None,
    typer.Option("--shape", metavar="NAME=1,3,224,224", help="Whole shape of an input; may be repeated."),
]

Gpu = Annotated[str | None, typer.Option(metavar="NAME", help=f"Make code for a GPU: {', '.join(GPUS)}.")]
Precision = Annotated[str, typer.Option(help=f"Of products on a GPU: {', '.join(PRECISIONS)}.")]


def dims_of(texts: Sequence[str] | None) -> dict[str, int]:
    """The sizes that `--dim` gives; raises ConfigError quoting what is wrong."""
    return _named("--dim", texts, _size, "NAME=SIZE with a size of at least 1")


def shapes_of(texts: Sequence[str] | None) -> dict[str, tuple[int, ...]]:
    """The shapes that `--shape` gives; raises ConfigError quoting what is wrong."""
    return _named("--shape", texts, _shape, "NAME=SIZE,SIZE,... with sizes of at least 1")


def _size(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and int(text) > 0):
        raise ValueError
    return int(text)


def _shape(text: str) -> tuple[int, ...]:
    return tuple(_size(each) for each in text.split(","))


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
