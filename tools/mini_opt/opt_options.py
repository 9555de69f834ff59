"""The options of mini-opt, each declared once, and the check for incompatible ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from ...dialects.errors import ConfigError
from ...lowering.registry import Level
from ...runtime.config import EngineConfig
from ...runtime.option_declarations import options_of
from ..versions import Version
from .pass_list import pass_names, show_passes

Frontend = Literal["mlir", "onnx"]
TargetName = Literal["mlir", "llvm-ir", "asm", "cuda", "launches", "memory-plan", "check"]
CHOOSING = "choose-schedule"
"""The pass that `--explain` reports on."""
OF_PASSES = (
    *("time_passes", "print_ir_before_all", "print_ir_tree_dir", "print_ir_after_all", "print_ir_after_change"),
    *("print_ir_diff", "dump_pass_pipeline", "verify_each", "pass_pipeline_crash_reproducer"),
)
"""Options without effect if there is no pass to run."""
STANDARD_STREAM = "-"
REPRODUCER = "--pass-pipeline-crash-reproducer"


@dataclass(frozen=True)
class OptOptions:
    """The options of mini-opt: each field is a parameter; `chosen` stands for all options of a compile."""

    input: Annotated[str, typer.Argument(metavar="FILE", help="A .mlir or .onnx file; - is standard input.")] = "-"
    frontend: Annotated[
        Frontend | None, typer.Option("--frontend", "-f", help="What the input is, whatever its name.")
    ] = None
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="New weights of X.mlir go to X.weights.")
    ] = "-"
    pass_pipeline: Annotated[
        str | None,
        typer.Option(
            "--pass-pipeline",
            "-p",
            metavar="PASSES",
            help="Such as 'cse,plan-arena{alignment=64}'.",
            autocompletion=pass_names,
        ),
    ] = None
    to: Annotated[Level | None, typer.Option(help="Run the compiler's own passes, down to this level.")] = None
    target: Annotated[
        TargetName,
        typer.Option("--target", "-t", help="The form of the output."),
    ] = "mlir"
    host: Annotated[
        bool, typer.Option(help="Compile for this machine, as .onnx is anyway, not for what the module says.")
    ] = False
    cpu: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Compile for a CPU, such as x86-64-v3 or aarch64-linux-gnu:neoverse-n1."),
    ] = None
    chosen: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Options of a compile, by EngineConfig's names."""
    print_ir_before: Annotated[
        list[str] | None,
        typer.Option(metavar="PASSES", help="The module before these passes.", autocompletion=pass_names),
    ] = None
    print_ir_after: Annotated[
        list[str] | None,
        typer.Option(metavar="PASSES", help="The module after these passes.", autocompletion=pass_names),
    ] = None
    print_ir_before_all: Annotated[bool, typer.Option(help="Before every pass.")] = False
    print_ir_after_all: Annotated[
        bool, typer.Option("--print-ir-after-all", "--print-between-passes", help="After every pass.")
    ] = False
    print_ir_after_change: Annotated[
        bool, typer.Option(help="After passes, but only where they changed the module.")
    ] = False
    print_ir_diff: Annotated[bool, typer.Option(help="The lines that each pass changed, as a unified diff.")] = False
    print_ir_tree_dir: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Modules go to numbered files there; alone, those after every pass."),
    ] = None
    dump_pass_pipeline: Annotated[
        bool, typer.Option(help="The passes to be run, on standard error, as -p takes them.")
    ] = False
    time_passes: Annotated[bool, typer.Option(help="How long each pass took.")] = False
    statistics: Annotated[bool, typer.Option(help="What each pass changed and how often.")] = False
    explain: Annotated[bool, typer.Option(help="What choose-schedule weighed for each kernel.")] = False
    verify_each: Annotated[bool, typer.Option(help="Verify after every pass, not every phase.")] = False
    disable_verify: Annotated[bool, typer.Option(help="Verify nothing.")] = False
    elide_weights: Annotated[bool, typer.Option(help="Leave out new weights and long constants, for reading.")] = False
    print_op_generic: Annotated[bool, typer.Option(help="Print all ops in the generic form.")] = False
    split_input_file: Annotated[bool, typer.Option(help="Lines '// -----' part several modules.")] = False
    verify_diagnostics: Annotated[
        bool, typer.Option(help="Errors must be those that // expected-error {{...}} says.")
    ] = False
    allow_unregistered_dialect: Annotated[bool, typer.Option(help="Accept ops of unknown dialects.")] = False
    pass_pipeline_crash_reproducer: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Where a pass fails, the module before it and the passes from it on."),
    ] = None
    run_reproducer: Annotated[bool, typer.Option(help="FILE is such a one: run its passes.")] = False
    list_passes: Annotated[
        bool,
        typer.Option("--list-passes", callback=show_passes, is_eager=True, help="Show the passes with their options."),
    ] = False
    version: Version = False

    def checked_frontend(self) -> Frontend:
        """The input's kind. Raises ConfigError for options incompatible with each other or with the input."""
        frontend = self.frontend or _frontend_of(self.input)
        if self.pass_pipeline is not None and self.to is not None:
            raise ConfigError("-p/--pass-pipeline and --to exclude each other")
        for name in self.chosen if self.pass_pipeline is not None else ():
            option = options_of(EngineConfig)[name]
            of_target = name == "precision" and self._given("gpu")
            if option.passes and self._given(name) and not of_target:
                raise ConfigError(f"{option.spelling} does nothing with -p/--pass-pipeline, which says it to passes")
        if frontend == "mlir" and self._given("profile", "dims", "shapes", "specialize", "caches"):
            raise ConfigError(
                "--dim, --range, --shape, --specialize and --cache are for ONNX models; "
                "the inputs of a module are fixed"
            )
        if frontend == "onnx" and (self.split_input_file or self.verify_diagnostics):
            raise ConfigError("--split-input-file and --verify-diagnostics are for text")
        if frontend == "onnx" and self.allow_unregistered_dialect:
            raise ConfigError("--allow-unregistered-dialect is for text")
        if not self._given("gpu") and self.chosen["precision"] not in ("fp32", "bf16"):
            raise ConfigError(f"--precision {self.chosen['precision']} is for a GPU; --gpu NAME says which")
        if self._given("gpu") and (self.host or self.cpu):
            raise ConfigError("--gpu and --host or --cpu exclude each other")
        if self.host and self.cpu:
            raise ConfigError("--host and --cpu exclude each other")
        if self.verify_each and self.disable_verify:
            raise ConfigError("--verify-each and --disable-verify exclude each other")
        if self.pass_pipeline_crash_reproducer is not None and self.verify_diagnostics:
            raise ConfigError(f"{REPRODUCER} and --verify-diagnostics exclude each other")
        if self.target != "mlir" and (self.print_op_generic or self.elide_weights):
            raise ConfigError(f"--print-op-generic and --elide-weights are for modules, not for -t {self.target}")
        onto_itself = self.input != STANDARD_STREAM and Path(self.output).resolve() == Path(self.input).resolve()
        if onto_itself and not frontend == self.target == "mlir":
            raise ConfigError(f"-o {self.output}: that is the input, which only a module may replace")
        return frontend

    def _given(self, *names: str) -> bool:
        """Whether one of these options of a compile has another value than its default."""
        options = options_of(EngineConfig)
        return any(self.chosen[name] != options[name].default for name in names)

    def check_passes(self, names: Collection[str]) -> None:
        """Raises ConfigError for an option that concerns none of the passes to run."""
        for name in OF_PASSES:
            if getattr(self, name) not in (None, False) and not names:
                raise ConfigError(f"--{name.replace('_', '-')} does nothing: there is no pass to run")
        if self.explain and CHOOSING not in names:
            raise ConfigError(f"--explain does nothing: {CHOOSING} is none of the passes to run")


def _frontend_of(file: str) -> Frontend:
    match Path(file).suffix:
        case _ if file == STANDARD_STREAM:
            return "mlir"
        case ".mlir":
            return "mlir"
        case ".onnx":
            return "onnx"
        case _:
            raise ConfigError(f"{file} is neither .mlir nor .onnx; say which with --frontend")
