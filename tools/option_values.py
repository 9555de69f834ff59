"""Compile options on command lines: typer parameters derived from their declarations, and parsers of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args

import typer

from ..dialects.errors import ConfigError
from ..dialects.json_text import read_json
from ..runtime.config import EngineConfig
from ..runtime.option_declarations import Option, options_of
from ..runtime.profile import OptimizationProfile

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

_Value = TypeVar("_Value")

FLAGS = {option.flag.parameter: option for option in options_of(EngineConfig).values() if option.flag is not None}
"""The options with a flag, by the name of the parameter."""
_ORDER = (
    *("strategy", "beam_width", "alignment", "capacity", "disable_inplace", "threads", "dim", "shape", "range"),
    *("specialize", "cache", "cache_memory", "device", "precision", "gpu", "emulator", "winograd", "optimize"),
    "plan_memory",
)
"""Their order in help; others follow in the order of their declarations."""


def flags_of(verb: str) -> list[str]:
    """The parameters for the options that a command accepts, in the order of its help."""
    names = [name for name, option in FLAGS.items() if option.flag is not None and verb in option.flag.verbs.split()]
    return sorted(names, key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))


def parameter_of(name: str) -> Parameter:
    """The typer parameter for a compile option."""
    option = FLAGS[name]
    kind, default = (option.type, option.default) if option.name not in _READ else _READ[option.name][:2]
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, typed(option)])


def typed(option: Option) -> Any:
    """The typer.Option for a compile option."""
    assert option.flag is not None
    first, *more = option.flag.names.split()
    names = [f"{first}/{option.spelling}" if option.default is True else first, *more]
    shown = option.flag.shown or ("on" if option.default is True else True)
    least = None if option.name in _READ else option.least
    return typer.Option(*names, min=least, metavar=option.flag.metavar, help=option.flag.help, show_default=shown)


def switched(parameter: Parameter) -> Parameter:
    """The parameter as keyword-only; a boolean that is off by default gets no "--no-" flag."""
    kind, *given = get_args(parameter.annotation) or (None,)
    if kind is bool and parameter.default is False and given[0].default is ...:  # where typer has the first name
        given[0].default = f"--{parameter.name.replace('_', '-')}"
    return parameter.replace(kind=Parameter.KEYWORD_ONLY)


def read_options(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """EngineConfig's options, by name, from parameters. Raises ConfigError for malformed values."""
    for parameter, option in FLAGS.items():
        if parameter in given:
            text = given[parameter]
            yield option.name, _READ[option.name][2](text) if option.name in _READ else text


def dims_of(texts: Sequence[str] | None) -> dict[str, int]:
    """The sizes given by `--dim`. Raises ConfigError for malformed ones."""
    return _named("--dim", texts, _size, "NAME=SIZE with a size of at least 1")


def at_of(texts: Sequence[str] | None) -> list[dict[str, int]]:
    """The sizes given by each `--at`. Raises ConfigError for malformed ones."""
    return [_named("--at", text.split(","), _count, "NAME=SIZE,NAME=SIZE,...") for text in texts or ()]


def other_options(option: str, texts: Sequence[str] | None) -> dict[str, Any]:
    """EngineConfig's options from texts such as "precision=bf16", which name flags without their dashes.

    Raises ConfigError, naming the option that has the texts: also for what is about the model's inputs.
    """
    possible = {name: each for name, each in FLAGS.items() if each.decided != "import"}
    found: dict[str, Any] = {}
    for given, text in _named(option, texts, str, "NAME=VALUE, such as precision=bf16").items():
        name = given.replace("-", "_")
        if name not in possible:
            names = ", ".join(sorted(each.replace("_", "-") for each in possible))
            raise ConfigError(f"{option} {given}={text}: there is no option '{given}'; there are {names}")
        found[possible[name].name] = _read_value(possible[name], text, f"{option} {given}={text}")
    return found


def _read_value(declared: Option, text: str, where: str) -> Any:
    if declared.name in _READ:
        return _READ[declared.name][2](text)
    kinds = get_args(declared.type) or (declared.type,)
    if bool in kinds:
        if text not in ("true", "false"):
            raise ConfigError(f"{where}: expected true or false")
        return text == "true"
    if int in kinds:
        try:
            return int(text)
        except ValueError:
            raise ConfigError(f"{where}: expected a whole number") from None
    return text


def listed(text: str | Sequence[str] | None) -> tuple[str, ...]:
    """Splits options such as "a,b", given once or several times."""
    texts = [text] if isinstance(text, str) else text or ()
    return tuple(part.strip() for each in texts for part in each.split(",") if part.strip())


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


def _profile(texts: Sequence[str] | None) -> OptimizationProfile | None:
    spans = _named("--range", texts, _span, "NAME=MIN,OPT,MAX with 0 <= MIN <= OPT <= MAX")
    return OptimizationProfile(dims=spans) if spans else None


def _values(texts: Sequence[str] | None) -> dict[str, ArrayLike]:
    files = [text for text in texts or () if text.endswith(".npz")]
    pairs = [text for text in texts or () if text not in files]
    values = _named("--specialize", pairs, _value, "NAME=VALUE, such as axes=[1,2]")
    if files:
        from .arrays import load_named

        values |= {name: array for file in files for name, array in load_named(file).items()}
    return values


_TEXTS = list[str] | None
_READ: dict[str, tuple[Any, Any, Callable[[Any], Any]]] = {
    "profile": (_TEXTS, None, _profile),
    "dims": (_TEXTS, None, dims_of),
    "shapes": (
        _TEXTS,
        None,
        lambda texts: _named("--shape", texts, _shape, "NAME=SIZE,SIZE,... with sizes of at least 1"),
    ),
    "specialize": (_TEXTS, None, _values),
    "caches": (_TEXTS, None, lambda texts: _named("--cache", texts, str, "INPUT=OUTPUT")),
    "cache_memory": (str | None, None, lambda text: text),
    "weights_memory": (str | None, None, lambda text: text),
    "memory": (str | None, None, lambda text: text),
    "disable_inplace": (str, "", listed),
}
"""Options whose value is given as text in another form: type and default of the parameter, and the parser."""

Dims = Annotated[list[str] | None, typed(FLAGS["dim"])]
