"""Option and Flag: what is declared of an option of a compile, beside its field of EngineConfig.

    winograd: Annotated[
        str,
        Option(values=("auto", "compact", "off"), device="cpu", decided="kernels", passes={...}),
        Flag("3x3 convolutions by fewer products: auto, compact, off.", "run plan bench", "KIND"),
    ] = "auto"

The checks of EngineConfig, the passes' options, the cache's key, the refusal of options that come too late, and the
command lines are made from that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from typing import Any, get_args, get_type_hints

from ..dialects.arguments import check_choice, check_integer, check_kind, wrong


@dataclass(frozen=True)
class Flag:
    """How command lines spell an option: its line of help, the verbs that take it, "mini-opt" among them, its names."""

    help: str
    verbs: str
    metavar: str | None = None
    names: str = ""
    """Such as "--threads -j"; the field's own unless given. What is on by default has a "--no-" beside it."""
    shown: str | None = None
    """The default that help shows, where that is not the option's own."""

    @property
    def parameter(self) -> str:
        """The name of the verb's parameter: `plan_memory` of "--plan-memory"."""
        return self.names.split()[0].removeprefix("--").replace("-", "_")


@dataclass(frozen=True)
class Option:
    """An option of a compile."""

    values: tuple[object, ...] | Callable[[], tuple[object, ...]] = ()
    """All that it may be, beside its default; or a function that looks them up when one is given."""
    least: int | None = None
    """The smallest integer that it may be."""
    check: Callable[[str, Any], object] | None = None
    """Raises ConfigError, with the name, for a value that is none."""
    device: str = ""
    """The only kind of device on which it does something: "cpu", "cuda" (emulated or not), or "cuda-emulated"."""
    beside: Mapping[str, object] = field(default_factory=dict[str, object])
    """Other options, by name, with the only values beside which it does something."""
    decided: str = ""
    """The level at which it is decided, "import" where that is what the module computes; "" where no module tells."""
    passes: str | Mapping[Any, str] = ""
    """What passes are told, as changes of `lowering.pipelines.phases`: by value, or with $ for the value."""
    unkeyed: str = ""
    """Why it is no part of the key under which a compiled model is kept; "" where it is."""
    name: str = ""
    type: Any = None
    default: Any = None
    flag: Flag | None = None

    def check_value(self, value: object) -> None:
        """Raises ConfigError for what the option can't be."""
        if type(value) is type(self.default) and value == self.default:
            return
        if self.type is bool and not isinstance(value, bool):
            raise wrong(self.name, value, "True or False")
        if self.values:
            check_choice(self.name, value, self.values() if callable(self.values) else self.values)
        elif self.type is str:
            check_kind(self.name, value, str)
        if self.least is not None:
            check_integer(self.name, value, self.least)
        if self.check is not None:
            self.check(self.name, value)

    def changes(self, value: Any) -> str:
        """What passes are told of a value; "" where that is nothing."""
        if not self.passes or value is None:
            return ""
        if not isinstance(self.passes, str):
            return self.passes.get(value, "")
        text = str(value) if isinstance(value, str | int) else ",".join(value)
        return text and self.passes.replace("$", text)

    def useless(self, values: Mapping[str, Any]) -> str | None:
        """The option beside whose value this one, if it is given, does nothing; None if there is no such option."""
        given = values[self.name] != self.default and (values[self.name] or self.default)
        return next((name for name, needed in self.beside.items() if given and values[name] != needed), None)

    @property
    def spelling(self) -> str:
        """The flag that a message names: that which gives another value than the default."""
        assert self.flag is not None
        first = self.flag.names.split()[0]
        return first.replace("--", "--no-", 1) if self.default is True else first


@cache
def options_of(record: type) -> dict[str, Option]:
    """The options that a dataclass declares, by name, in order."""
    hints = get_type_hints(record, localns={"ArrayLike": object}, include_extras=True)
    found: dict[str, Option] = {}
    for each in fields(record):
        kind, option, *flags = get_args(hints[each.name])
        default = each.default if each.default_factory is MISSING else each.default_factory()
        names = f"--{each.name.replace('_', '-')}"
        flag = replace(flags[0], names=flags[0].names or names) if flags else None
        found[each.name] = replace(option, name=each.name, type=kind, default=default, flag=flag)
    return found
