"""Building blocks of mini-infer's verbs: typer commands from functions, compile options, shared arguments, `--json`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ..dialects.errors import ConfigError
from .json_reports import Facts, with_facts
from .one_line_errors import SPELLINGS, WRONG
from .option_values import FLAGS, at_of, flags_of, parameter_of, read_options, switched

# A pipe has no width, and rich's default of 80 columns would wrap tables.
OUT = Console(markup=False, highlight=False, width=None if sys.stdout and sys.stdout.isatty() else 160)

Model = Annotated[str, typer.Argument(help="An .onnx file, or an .mlir file at any level.", metavar="MODEL")]
Compiled = Annotated[
    str, typer.Argument(help="An .onnx file, an .mlir file at any level, or a compiled .mi file.", metavar="MODEL")
]
Files = Annotated[
    list[str] | None,
    typer.Option("--input", "-i", metavar="FILE", help="Inputs: a .npz file, or NAME=FILE.npy; others are random."),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, metavar="N", help="Seed of random inputs.", show_default="0"),
]
At = Annotated[
    list[str] | None,
    typer.Option("--at", metavar="NAME=SIZE,...", help="Sizes to use, within --range; may be repeated."),
]
Accepted = Annotated[
    list[str] | None,
    typer.Option(
        "--tolerance",
        metavar="[OUTPUT=]ERROR",
        help="Largest accepted max|e| / max|reference|, of all outputs or of one; may be repeated.",
        show_default="what rounding in its types allows",
    ),
]
Json = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Write results as JSON; with -, to standard output, alone.")
]
Work = Callable[[Console], Facts]
"""The work of a verb, after its options have been checked: prints results, and returns them for JSON."""


class Chosen:
    """The compile options given to a verb. A parameter of this type stands for all of them in a verb's signature."""

    def __init__(self, context: typer.Context, given: Mapping[str, Any]) -> None:
        self._context, self._given = context, given

    def __getitem__(self, parameter: str) -> Any:
        """The value given on the command line, or the default."""
        return self._given[parameter]

    def refuse(self, reason: str, *names: str) -> None:
        """Raises ConfigError if an option of `names` was given; `reason` says why it has no effect."""
        options = {parameter.name: parameter for parameter in self._context.command.params}
        for name in names:
            source = self._context.get_parameter_source(name)
            if source is not None and source.name == "COMMANDLINE":
                given = options[name]
                is_on = self._context.params[name] or not given.secondary_opts
                raise ConfigError(f"{given.opts[0] if is_on else given.secondary_opts[0]} does nothing {reason}")

    def refuse_compiling(self, reason: str, *others: str) -> None:
        """`refuse` for all compile options except those about the model's inputs, and for others."""
        names = [name for name, option in FLAGS.items() if name in self._given and option.decided != "import"]
        self.refuse(reason, *names, *others)

    def is_compiled(self, *models: str, also: Iterable[str] = (), but: str = "") -> bool:
        """Whether all models are .mi files. If so, raises ConfigError for compile options and those of `also`.

        `but` is an option that .mi files take.
        """
        if any(Path(model).suffix != ".mi" for model in models):
            return False
        names = [name for name in self._given if name not in ("at", but)]
        self.refuse("with a .mi file, which is compiled already", *names, *also)
        return True

    def check_winograd(self, *models: str) -> None:
        """Raises ConfigError for `--winograd` with `--no-optimize`, but for modules, which may be channels-last."""
        if not self._given["optimize"] and not any(
            Path(each).suffix == ".mlir" or Path(each).is_dir() for each in models
        ):
            self.refuse("with --no-optimize", "winograd")

    @property
    def by_ranges(self) -> str:
        """Why the model has several shapes, as the reason in a message."""
        return "with --range" if self._given["range"] else "with ranges of sizes"

    @property
    def at(self) -> list[dict[str, int]]:
        """The sizes of each `--at`."""
        return at_of(self._given.get("at"))

    def options(self, model: str | None = None, files: list[str] | None = None, *, at: bool = True) -> dict[str, Any]:
        """EngineConfig's options. Ranges may be stated by a module, and sizes come from the arrays in `files`.

        With `at`, raises ConfigError for `--at` without ranges.
        """
        options = dict(read_options(self._given))
        if options.get("profile") is None:
            options.pop("profile", None)
            if model is not None:
                from ..runtime.compile.source import source_of

                if (stated := source_of(model).stated_profile()) is not None:
                    options["profile"] = stated
        if model is not None and files:
            from .given_sizes import with_given_sizes

            options = with_given_sizes(model, options, files)
        if at and self._given.get("at") and "profile" not in options:
            raise ConfigError("--at does nothing without --range")
        spelled = SPELLINGS | {"planner": f"--strategy {options.get('planner')}"}
        values = {option.name: option.default for option in FLAGS.values()} | options
        for option in FLAGS.values():
            if (other := option.useless(values)) is not None:
                raise ConfigError(f"{spelled[option.name]} does nothing with {spelled[other]}")
        return options


def command(verb: Callable[..., Work], *, with_json: bool = True) -> Callable[..., None]:
    """The typer command for a verb: its parameters, with its compile options in place of a Chosen, and `--json`.

    The exit status is WRONG if the facts state that a model `failed`, or is not `right`.
    """
    own = signature(verb, eval_str=True).parameters
    flags: dict[str, Parameter] = {}
    for flag in flags_of(verb.__name__):
        flags[flag] = parameter_of(flag)
        if flag == "range":
            flags["at"] = Parameter("at", Parameter.KEYWORD_ONLY, default=None, annotation=At)
    parameters = [Parameter("context", Parameter.KEYWORD_ONLY, annotation=typer.Context)]
    for each in own.values():
        parameters += flags.values() if each.annotation is Chosen else [switched(each)]
    if with_json:
        parameters.append(Parameter("json", Parameter.KEYWORD_ONLY, default=None, annotation=Json))

    @wraps(verb)
    def run(context: typer.Context, json: str | None = None, **given: Any) -> None:
        chosen = Chosen(context, {flag: given[flag] for flag in flags})
        values = {each: chosen if own[each].annotation is Chosen else given[each] for each in own}
        found = with_facts(context, json, OUT, verb(**values))
        if found.get("failed", not found.get("right", True)):
            raise typer.Exit(WRONG)

    # Typer reads the parameters from the signature, which pyright does not know as an attribute of functions.
    run.__signature__ = Signature(parameters)  # pyright: ignore[reportAttributeAccessIssue]
    return run
