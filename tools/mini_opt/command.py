"""The command mini-opt: reads a module (or an ONNX model), runs passes, writes a module (or another form of it).

    mini-opt model.mlir -p 'fold-constants,form-kernels'
    mini-opt model.onnx --to buffers -o model.mlir       # new weights go to model.weights
    mini-opt model.onnx -t llvm-ir
    mini-opt model.onnx -t cuda --gpu sm_90a

User errors are reported on standard error with a non-zero exit status, before anything is written.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from inspect import Parameter, Signature
from typing import Any, get_type_hints

import typer
from typer.core import TyperCommand
from typing_extensions import override

from ..one_line_errors import OneLineErrorsCommand, show_usage, status_of
from ..option_values import flags_of, parameter_of, read_options, switched
from .opt_options import OptOptions
from .pass_list import write_passes


class _MiniOpt(OneLineErrorsCommand):
    """Builds the list of passes only when help is asked for."""

    @override
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args and not ctx.resilient_parsing and sys.stdin.isatty():
            show_usage(ctx)
        return super().parse_args(ctx, args)

    @override
    def format_help(self, ctx: Any, formatter: Any) -> None:
        super().format_help(ctx, formatter)
        write_passes(formatter, options=False)


app = typer.Typer(
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its tables would truncate option names
    context_settings={"help_option_names": ["-h", "--help"]},
)


def mini_opt(**given: Any) -> int:
    """Run compiler passes on a module or on an ONNX model."""
    from .opt_run import OptRun

    chosen = dict(read_options(given))
    own = {each.name: given[each.name] for each in fields(OptOptions) if each.name in given}
    return OptRun(OptOptions(**own, chosen=chosen)).run()


def _parameters() -> list[Parameter]:
    """The fields of OptOptions as parameters for typer, with the options of a compile in place of `chosen`."""
    hints = get_type_hints(OptOptions, include_extras=True)
    found: list[Parameter] = []
    for each in fields(OptOptions):
        own = Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name])
        found += map(parameter_of, flags_of("mini-opt")) if each.name == "chosen" else [switched(own)]
    return found


# Typer reads the parameters from the signature, which pyright does not know as an attribute of functions.
mini_opt.__signature__ = Signature(_parameters())  # pyright: ignore[reportFunctionMemberAccess]
app.command(cls=_MiniOpt)(mini_opt)


@cache
def _command() -> TyperCommand:
    command = typer.main.get_command(app)
    assert isinstance(command, TyperCommand)
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit status. `arguments` are those of the process unless given."""
    given = None if arguments is None else list(arguments)
    return status_of("mini-opt", lambda: TyperCommand.main(_command(), given, "mini-opt", standalone_mode=False), given)


if __name__ == "__main__":
    sys.exit(main())
