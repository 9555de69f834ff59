"""The options of mini-opt, and the check for incompatible ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from ...dialects.errors import ConfigError
from ...lowering.registry import Level
from .destination import STANDARD_STREAM
from .output_forms import TargetName
from .pass_watch import Wanted
from .reproducer import OPTION, configuration_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Frontend = Literal["mlir", "onnx"]
CHOOSING = "choose-schedule"
"""The pass that `--explain` reports on."""


@dataclass(frozen=True)
class OptOptions:
    """The options of mini-opt."""

    input: str = STANDARD_STREAM
    output: str = STANDARD_STREAM
    frontend: Frontend | None = None
    pass_pipeline: str | None = None
    to: Level | None = None
    target: TargetName = "mlir"
    host: bool = False
    cpu: str | None = None
    gpu: str | None = None
    precision: str = "fp32"
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    spans: Mapping[str, tuple[int, int, int]] = field(default_factory=dict[str, "tuple[int, int, int]"])
    shapes: Mapping[str, Sequence[int]] = field(default_factory=dict[str, Sequence[int]])
    specialize: Mapping[str, ArrayLike] = field(default_factory=dict[str, Any])
    caches: Mapping[str, str] = field(default_factory=dict[str, str])
    watch: Wanted = field(default_factory=Wanted)
    verify_each: bool = False
    disable_verify: bool = False
    statistics: bool = False
    explain: bool = False
    elide_weights: bool = False
    print_op_generic: bool = False
    split_input_file: bool = False
    verify_diagnostics: bool = False
    allow_unregistered_dialect: bool = False
    dump_pass_pipeline: bool = False
    crash_reproducer: str | None = None
    run_reproducer: bool = False

    def with_configuration(self) -> OptOptions:
        """The options with the passes and options of a reproducer, if the input is to be run as one."""
        if not self.run_reproducer:
            return self
        if self.input == STANDARD_STREAM or self.pass_pipeline is not None or self.to is not None:
            raise ConfigError("--run-reproducer takes a FILE, and the passes that it states")
        return replace(self, **cast("dict[str, Any]", configuration_of(self.input)))

    def checked_frontend(self) -> Frontend:
        """The input's kind. Raises ConfigError for options incompatible with each other or with the input."""
        frontend = self.frontend or _frontend_of(self.input)
        if self.pass_pipeline is not None and self.to is not None:
            raise ConfigError("-p/--pass-pipeline and --to exclude each other")
        if frontend == "mlir" and any((self.dims, self.spans, self.shapes, self.specialize, self.caches)):
            raise ConfigError(
                "--dim, --range, --shape, --specialize and --cache are for ONNX models; "
                "the inputs of a module are fixed"
            )
        if frontend == "onnx" and (self.split_input_file or self.verify_diagnostics):
            raise ConfigError("--split-input-file and --verify-diagnostics are for text")
        if frontend == "onnx" and self.allow_unregistered_dialect:
            raise ConfigError("--allow-unregistered-dialect is for text")
        if self.gpu is None and self.precision != "fp32":
            raise ConfigError("--precision is for a GPU; --gpu NAME says which")
        if self.gpu is not None and (self.host or self.cpu):
            raise ConfigError("--gpu and --host or --cpu exclude each other")
        if self.host and self.cpu:
            raise ConfigError("--host and --cpu exclude each other")
        if self.gpu is not None and self.caches:
            raise ConfigError("--cache is for CPUs")
        if self.verify_each and self.disable_verify:
            raise ConfigError("--verify-each and --disable-verify exclude each other")
        if self.crash_reproducer is not None and self.verify_diagnostics:
            raise ConfigError(f"{OPTION} and --verify-diagnostics exclude each other")
        if self.target != "mlir" and (self.print_op_generic or self.elide_weights):
            raise ConfigError(f"--print-op-generic and --elide-weights are for modules, not for -t {self.target}")
        onto_itself = self.input != STANDARD_STREAM and Path(self.output).resolve() == Path(self.input).resolve()
        if onto_itself and not frontend == self.target == "mlir":
            raise ConfigError(f"-o {self.output}: that is the input, which only a module may replace")
        return frontend

    def check_passes(self, names: Collection[str]) -> None:
        """Raises ConfigError for an option that concerns none of the passes to run."""
        watch = self.watch
        of_passes = {
            "--time-passes": watch.times,
            "--print-ir-before-all": watch.before_all,
            "--print-ir-tree-dir": watch.tree is not None,
            "--print-ir-after-all": watch.after_all,
            "--print-ir-after-change": watch.on_change,
            "--print-ir-diff": watch.diff,
            "--dump-pass-pipeline": self.dump_pass_pipeline,
            "--verify-each": self.verify_each,
            OPTION: self.crash_reproducer is not None,
        }
        given = [option for option, is_given in of_passes.items() if is_given]
        if given and not names:
            raise ConfigError(f"{given[0]} does nothing: there is no pass to run")
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
