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
from functools import cache
from typing import Annotated, Any, Literal

import typer
from typer.core import TyperCommand
from typing_extensions import override

from ...lowering.registry import PASSES, Level
from ..one_line_errors import OneLineErrorsCommand, show_usage, status_of
from ..option_values import (
    Caches,
    Dims,
    Gpu,
    Precision,
    Shapes,
    Spans,
    Specialize,
    cache_pairs_of,
    dims_of,
    shapes_of,
    spans_of,
    values_of,
)
from ..versions import Version
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


def _list_passes(context: typer.Context, wanted: bool) -> None:
    if wanted:
        formatter = context.make_formatter()
        write_passes(formatter, options=True)
        typer.echo(formatter.getvalue().strip("\n"))
        raise typer.Exit


def _pass_names(incomplete: str) -> list[str]:
    """Completions for the last name in a list of passes."""
    before, comma, last = incomplete.rpartition(",")
    return [f"{before}{comma}{name}" for name in PASSES if name.startswith(last)]


def _listed(texts: Sequence[str] | None) -> tuple[str, ...]:
    """Splits options such as "a,b", given once or several times."""
    return tuple(part.strip() for text in texts or () for part in text.split(",") if part.strip())


app = typer.Typer(
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its tables would truncate option names
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command(cls=_MiniOpt)
def mini_opt(
    input: Annotated[str, typer.Argument(metavar="FILE", help="A .mlir or .onnx file; - is standard input.")] = "-",
    frontend: Annotated[
        Literal["mlir", "onnx"] | None, typer.Option("--frontend", "-f", help="What the input is, whatever its name.")
    ] = None,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="New weights of X.mlir go to X.weights.")
    ] = "-",
    pass_pipeline: Annotated[
        str | None,
        typer.Option(
            "--pass-pipeline",
            "-p",
            metavar="PASSES",
            help="Such as 'cse,plan-arena{alignment=64}'.",
            autocompletion=_pass_names,
        ),
    ] = None,
    to: Annotated[Level | None, typer.Option(help="Run the compiler's own passes, down to this level.")] = None,
    target: Annotated[
        Literal["mlir", "llvm-ir", "asm", "cuda", "launches", "memory-plan", "check"],
        typer.Option("--target", "-t", help="The form of the output."),
    ] = "mlir",
    host: Annotated[
        bool,
        typer.Option("--host", help="Compile for this machine, as .onnx is anyway, not for what the module says."),
    ] = False,
    cpu: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Compile for a CPU, such as x86-64-v3 or aarch64-linux-gnu:neoverse-n1."),
    ] = None,
    gpu: Gpu = None,
    precision: Precision = "fp32",
    dim: Dims = None,
    range: Spans = None,
    shape: Shapes = None,
    specialize: Specialize = None,
    cache: Caches = None,
    print_ir_before: Annotated[
        list[str] | None,
        typer.Option(metavar="PASSES", help="The module before these passes.", autocompletion=_pass_names),
    ] = None,
    print_ir_after: Annotated[
        list[str] | None,
        typer.Option(metavar="PASSES", help="The module after these passes.", autocompletion=_pass_names),
    ] = None,
    print_ir_before_all: Annotated[bool, typer.Option("--print-ir-before-all", help="Before every pass.")] = False,
    print_ir_after_all: Annotated[
        bool, typer.Option("--print-ir-after-all", "--print-between-passes", help="After every pass.")
    ] = False,
    print_ir_after_change: Annotated[
        bool, typer.Option("--print-ir-after-change", help="After passes, but only where they changed the module.")
    ] = False,
    print_ir_diff: Annotated[
        bool, typer.Option("--print-ir-diff", help="The lines that each pass changed, as a unified diff.")
    ] = False,
    print_ir_tree_dir: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Modules go to numbered files there; alone, those after every pass."),
    ] = None,
    dump_pass_pipeline: Annotated[
        bool, typer.Option("--dump-pass-pipeline", help="The passes to be run, on standard error, as -p takes them.")
    ] = False,
    time_passes: Annotated[bool, typer.Option("--time-passes", help="How long each pass took.")] = False,
    statistics: Annotated[bool, typer.Option("--statistics", help="What each pass changed and how often.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="What choose-schedule weighed for each kernel.")] = False,
    verify_each: Annotated[
        bool, typer.Option("--verify-each", help="Verify after every pass, not every phase.")
    ] = False,
    disable_verify: Annotated[bool, typer.Option("--disable-verify", help="Verify nothing.")] = False,
    elide_weights: Annotated[
        bool, typer.Option("--elide-weights", help="Leave out new weights and long constants, for reading.")
    ] = False,
    print_op_generic: Annotated[
        bool, typer.Option("--print-op-generic", help="Print all ops in the generic form.")
    ] = False,
    split_input_file: Annotated[
        bool, typer.Option("--split-input-file", help="Lines '// -----' part several modules.")
    ] = False,
    verify_diagnostics: Annotated[
        bool, typer.Option("--verify-diagnostics", help="Errors must be those that // expected-error {{...}} says.")
    ] = False,
    allow_unregistered_dialect: Annotated[
        bool, typer.Option("--allow-unregistered-dialect", help="Accept ops of unknown dialects.")
    ] = False,
    pass_pipeline_crash_reproducer: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Where a pass fails, the module before it and the passes from it on."),
    ] = None,
    run_reproducer: Annotated[
        bool, typer.Option("--run-reproducer", help="FILE is such a one: run its passes.")
    ] = False,
    list_passes: Annotated[
        bool,
        typer.Option("--list-passes", callback=_list_passes, is_eager=True, help="Show the passes with their options."),
    ] = False,
    version: Version = False,
) -> int:
    """Run compiler passes on a module or on an ONNX model."""
    from .opt_options import OptOptions
    from .opt_run import OptRun
    from .pass_watch import Wanted

    shown = print_ir_before or print_ir_after or print_ir_before_all or print_ir_after_change or print_ir_diff
    wanted = Wanted(
        times=time_passes,
        before=_listed(print_ir_before),
        before_all=print_ir_before_all,
        after=_listed(print_ir_after),
        after_all=print_ir_after_all or (print_ir_tree_dir is not None and not shown),
        on_change=print_ir_after_change,
        diff=print_ir_diff,
        tree=print_ir_tree_dir,
    )
    options = OptOptions(
        input=input,
        output=output,
        frontend=frontend,
        pass_pipeline=pass_pipeline,
        to=to,
        target=target,
        host=host,
        cpu=cpu,
        gpu=gpu,
        precision=precision,
        dims=dims_of(dim),
        spans=spans_of(range),
        shapes=shapes_of(shape),
        specialize=values_of(specialize),
        caches=cache_pairs_of(cache),
        watch=wanted,
        verify_each=verify_each,
        disable_verify=disable_verify,
        statistics=statistics,
        explain=explain,
        elide_weights=elide_weights,
        print_op_generic=print_op_generic,
        split_input_file=split_input_file,
        verify_diagnostics=verify_diagnostics,
        allow_unregistered_dialect=allow_unregistered_dialect,
        dump_pass_pipeline=dump_pass_pipeline,
        crash_reproducer=pass_pipeline_crash_reproducer,
        run_reproducer=run_reproducer,
    )
    return OptRun(options).run()


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
