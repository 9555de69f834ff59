"""Declarations of compile options: metadata on the fields of EngineConfig.

    winograd: Annotated[
        str,
        Option(values=("auto", "compact", "off"), device="cpu", decided="kernels", passes={...}),
        Flag("3x3 convolutions by fewer products: auto, compact, off.", "run plan bench", "KIND"),
    ] = "auto"

EngineConfig's checks, the options of passes, the cache key, the check for options that come too late, and the command
lines are derived from them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from functools import cache
from typing import Any, get_args, get_type_hints

from ..dialects.arguments import check_choice, check_integer, check_kind, wrong


@dataclass(frozen=True)
class Flag:
    """The command-line flag of an option."""

    help: str
    verbs: str
    """The commands that accept it, separated by spaces: verbs of mini-infer, and "mini-opt"."""
    metavar: str | None = None
    names: str = ""
    """Such as "--threads -j"; by default the field's. A boolean that is on by default has a "--no-" form, too."""
    shown: str | None = None
    """The default shown in help, if not the option's."""

    @property
    def parameter(self) -> str:
        """The name of the command's parameter, such as `plan_memory` for "--plan-memory"."""
        return self.names.split()[0].removeprefix("--").replace("-", "_")


@dataclass(frozen=True)
class Option:
    """The declaration of a compile option; `options_of` adds name, type, default and flag."""

    values: tuple[object, ...] | Callable[[], tuple[object, ...]] = ()
    """Allowed values besides the default; or a function that returns them, called if another value is given."""
    least: int | None = None
    """The smallest allowed integer."""
    check: Callable[[str, Any], object] | None = None
    """A further check: takes the name and the value, raises ConfigError."""
    device: str = ""
    """The only device that it applies to: "cpu", "cuda" (also emulated) or "cuda-emulated"; "" for all."""
    requires: Mapping[str, object] = field(default_factory=dict[str, object])
    """Values of other options, by name, without which it has no effect."""
    decided: str = ""
    """The level from which on it has no effect; "import" for what a module states itself; "" for run-time options."""
    passes: str | Mapping[Any, str] = ""
    """Changes of the pipeline (see `lowering.pipelines.phases`): by value, or a template with $ for the value."""
    as_number: Callable[[str, Any], int] | None = None
    """Converts the value for the template in `passes`: takes the name and the value."""
    not_in_key: str = ""
    """The reason why it is not part of the cache key; "" if it is."""
    name: str = ""
    type: Any = None
    default: Any = None
    flag: Flag | None = None

    def check_value(self, value: object) -> None:
        """Raises ConfigError for a value that is not allowed."""
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
        """The changes of the pipeline for a value; "" for none."""
        if not self.passes or value is None:
            return ""
        if not isinstance(self.passes, str):
            return self.passes.get(value, "")
        if self.as_number is not None:
            value = self.as_number(self.name, value)
        text = str(value) if isinstance(value, str | int) else ",".join(op.removeprefix("graph.") for op in value)
        return text and self.passes.replace("$", text)

    def useless(self, values: Mapping[str, Any]) -> str | None:
        """The other option because of whose value this one, if given, has no effect; None if there is none.

        What is not among the values, such as an option that a command doesn't have, is as it must be.
        """
        if values[self.name] == self.default or not (values[self.name] or self.default):
            return None
        return next((name for name, needed in self.requires.items() if values.get(name, needed) != needed), None)

    @property
    def spelling(self) -> str:
        """The flag as messages name it: the form that changes the default."""
        assert self.flag is not None
        first = self.flag.names.split()[0]
        return first.replace("--", "--no-", 1) if self.default is True else first


@cache
def options_of(record: type) -> dict[str, Option]:
    """The options declared by a dataclass, by name, in order."""
    hints = get_type_hints(record, localns={"ArrayLike": object}, include_extras=True)
    found: dict[str, Option] = {}
    for each in fields(record):
        kind, option, *flags = get_args(hints[each.name])
        default = each.default if each.default_factory is MISSING else each.default_factory()
        names = f"--{each.name.replace('_', '-')}"
        flag = replace(flags[0], names=flags[0].names or names) if flags else None
        found[each.name] = replace(option, name=each.name, type=kind, default=default, flag=flag)
    return found
