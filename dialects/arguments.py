"""Validation of API arguments: each check raises a one-line error with the argument's name and requirement."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from .errors import ConfigError, InvalidInputError, InvalidModelError, MiniInferError

if TYPE_CHECKING:
    import numpy as np

Kind = type[MiniInferError]

_MOST_SHOWN = 200  # characters of a value


def shown(value: object) -> str:
    """A value as shown in messages: on one line, truncated if long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}..."


def wrong(what: str, value: object, wanted: str, kind: Kind = ConfigError) -> MiniInferError:
    """The error for an invalid value; `wanted` describes the valid ones."""
    return kind(f"{what} is {shown(value)}; it must be {wanted}")


def nearest(name: object, names: Iterable[str]) -> str:
    """A hint at the most similar valid name; "" if none is similar."""
    from difflib import get_close_matches

    found = get_close_matches(name, names, 1) if isinstance(name, str) else []
    return f" (did you mean {found[0]}?)" if found else ""


def is_integer(value: object) -> bool:
    """Whether it is an integer (numpy's included), and not a bool."""
    return not isinstance(value, bool) and isinstance(value, Integral)


def check_integer(what: str, value: object, least: int, kind: Kind = ConfigError) -> None:
    """Raises `kind` unless it is an integer of at least `least`."""
    if not is_integer(value) or int(cast("int", value)) < least:
        raise wrong(what, value, f"an integer of at least {least}", kind)


def checked_seconds(what: str, value: object, kind: Kind = ConfigError) -> float:
    """A duration in seconds. Raises `kind` for any other value."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < float("inf"):
        raise wrong(what, value, "a number of seconds", kind)
    return float(value)


def check_choice(what: str, value: object, choices: Collection[object]) -> None:
    """Raises ConfigError unless it is one of the choices."""
    known = isinstance(value, str | int) and not isinstance(value, bool)
    if not (value is None and None in choices) and not (known and value in choices):
        names = [str(each) for each in choices if each is not None]
        raise wrong(what, value, f"one of {', '.join(names)}{nearest(value, names)}")


def check_kind(what: str, value: object, wanted: type, kind: Kind = ConfigError) -> None:
    """Raises `kind` unless it is an instance of a class."""
    if not isinstance(value, wanted):
        name = "string" if wanted is str else wanted.__name__
        raise wrong(what, value, f"{'an' if name[0] in 'AEIO' else 'a'} {name}", kind)


def check_function(what: str, value: object) -> None:
    """Raises ConfigError unless it is callable."""
    if not callable(value):
        raise wrong(what, value, "a function")


def check_options(given: Iterable[str], known: Iterable[str]) -> None:
    """Raises ConfigError for an unknown option, naming the most similar known one."""
    names = sorted(known)
    if unknown := sorted(set(given) - set(names)):
        named = ", ".join(f"{name}{nearest(name, names)}" for name in unknown)
        raise ConfigError(f"there is no option {named}; there are {', '.join(names)}")


def checked_mapping(what: str, value: object, kind: str) -> Mapping[str, Any]:
    """A mapping with names as keys. Raises ConfigError for any other value; `kind` describes it."""
    if not isinstance(value, Mapping):
        raise wrong(what, value, f"a mapping from names of {kind}")
    for name in cast("Mapping[object, object]", value):
        if not isinstance(name, str):
            raise wrong(f"{what}: a name", name, "a string")
    return cast("Mapping[str, Any]", value)


def checked_sequence(what: str, value: object, wanted: str, kind: Kind = ConfigError) -> list[Any]:
    """The elements of an iterable that is no string. Raises `kind` for any other value."""
    if isinstance(value, str | bytes) or not isinstance(value, Iterable):
        raise wrong(what, cast("object", value), wanted, kind)
    try:
        return list(cast("Iterable[Any]", value))
    except TypeError:  # a zero-dimensional array
        raise wrong(what, cast("object", value), wanted, kind) from None


def checked_sizes(what: str, value: object, least: int = 0, kind: Kind = InvalidInputError) -> tuple[int, ...]:
    """Integers of at least `least`. Raises `kind` for any other value."""
    sizes = checked_sequence(what, value, "a sequence of sizes", kind)
    if any(not is_integer(size) or size < least for size in sizes):
        raise wrong(what, value, f"a sequence of integers of at least {least}", kind)
    return tuple(sizes)


def checked_dtype(what: str, value: object, kind: Kind = InvalidInputError) -> np.dtype[Any]:
    """A dtype whose elements are plain bytes. Raises `kind` for any other value."""
    import numpy as np

    try:
        dtype: np.dtype[Any] = np.dtype(cast("Any", value))
    except (AttributeError, OverflowError, SyntaxError, TypeError, ValueError):  # all of them are raised by numpy
        raise wrong(what, value, "an element type, such as 'float32'", kind) from None
    if dtype.hasobject:
        raise wrong(what, value, "a type of numbers, not of Python's objects", kind)
    return dtype


def checked_path(what: str, value: object, kind: Kind = ConfigError, wanted: str = "the path of a file") -> Path:
    """A file's path, or what `wanted` describes. Raises `kind` for any other value."""
    path = cast("object", os.fspath(cast("Any", value)) if isinstance(value, str | os.PathLike) else "")
    if not isinstance(path, str) or not path or "\0" in path:
        raise wrong(what, cast("object", value), wanted, kind)
    return Path(path)


def read_once(model: object) -> Any:
    """The bytes of an open file, which can be read once only; any other value unchanged.

    Raises InvalidModelError for a file that can't be read, or not as bytes.
    """
    read = getattr(model, "read", None)
    if not callable(read):
        return model
    try:
        content = read()
    except (OSError, ValueError) as error:  # closed, or opened for writing
        raise InvalidModelError(f"the model's file can't be read: {error}") from None
    if not isinstance(content, bytes | bytearray | memoryview):
        raise InvalidModelError("the model's file is not opened in binary mode")
    return bytes(cast("bytes", content))
