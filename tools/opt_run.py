"""One run of mini-opt: reads, transforms and writes modules."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ..dialects.errors import CompileError, ConfigError, MiniInferError
from ..dialects.graph.blobs import BlobAttr, blobs_of
from ..dialects.graph.host_code import LEVEL
from ..dialects.targets import GpuAttr, target_of
from ..lowering.levels import level_of
from ..lowering.module_text import module_context, own_errors, parse_module, print_module
from ..lowering.pipelines import PATHS, parse_passes, remaining_phases, run_passes
from ..lowering.registry import Level
from ..passes.statistics import Difference, pass_statistics
from .destination import STANDARD_STREAM, Destination
from .expected_diagnostics import Diagnostic, complaints, lines_of
from .mini_opt_targets import TARGETS, TargetName
from .one_line_errors import WRONG, tell
from .pass_watch import PassWatch, Wanted

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

SEPARATOR = "// -----"

Frontend = Literal["mlir", "onnx"]


WIDE = 160  # columns of a table, where it is read from a file too


@dataclass(frozen=True)
class OptOptions:
    """What mini-opt is asked for."""

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


@dataclass(frozen=True)
class _Part:
    """A module's text, and how many lines of the file come before it; no text where the import reads the file."""

    text: bytes
    line: int


class OptRun:
    """Checks the options when made: raises ConfigError for those that don't go together."""

    def __init__(self, options: OptOptions) -> None:
        self.options = options
        reads_file = options.input != STANDARD_STREAM
        self.ctx = module_context(
            Path(options.input).parent if reads_file else None, allow_unregistered=options.allow_unregistered_dialect
        )
        self.frontend = options.frontend or _frontend_of(options.input)
        if options.pass_pipeline is not None and options.to is not None:
            raise ConfigError("-p/--pass-pipeline and --to exclude each other")
        of_onnx = (options.dims, options.spans, options.shapes, options.specialize, options.caches)
        if self.frontend == "mlir" and any(of_onnx):
            raise ConfigError(
                "--dim, --range, --shape, --specialize and --cache are for ONNX models; "
                "the inputs of a module are fixed"
            )
        if self.frontend == "onnx" and (options.split_input_file or options.verify_diagnostics):
            raise ConfigError("--split-input-file and --verify-diagnostics are for text")
        if options.gpu is None and options.precision != "fp32":
            raise ConfigError("--precision is for a GPU; --gpu NAME says which")
        if options.gpu is not None and (options.host or options.cpu):
            raise ConfigError("--gpu and --host or --cpu exclude each other")
        if options.gpu is not None and options.caches:
            raise ConfigError("--cache is for CPUs")
        if options.verify_each and options.disable_verify:
            raise ConfigError("--verify-each and --disable-verify exclude each other")
        if options.target != "mlir" and (options.print_op_generic or options.elide_weights):
            raise ConfigError(f"--print-op-generic and --elide-weights are for modules, not for -t {options.target}")
        onto_itself = reads_file and Path(options.output).resolve() == Path(options.input).resolve()
        if onto_itself and not self.frontend == options.target == "mlir":
            raise ConfigError(f"-o {options.output}: that is the input, which only a module may replace")
        self.passes = None if options.pass_pipeline is None else parse_passes(options.pass_pipeline)
        self.left_out = 0  # bytes of weights

    def run(self) -> int:
        """The exit status; raises what is to be reported."""
        options = self.options
        complaints: list[str] = []
        with Destination(options.output, options.input) as destination:
            texts: list[str] = []
            for part in self._parts():
                if options.verify_diagnostics:
                    texts += self._judged(part, destination, complaints)
                else:
                    texts.append(self._output_of(part, destination))
            if complaints:
                print("\n".join(complaints), file=sys.stderr)
                return WRONG
            destination.commit(f"{SEPARATOR}\n".join(texts))
        if self.left_out:
            keep = "" if options.elide_weights else "; -o FILE.mlir puts them into FILE.weights"
            tell("mini-opt", "note", f"{self.left_out:,} bytes of new weights are left out{keep}")
        if options.statistics:
            print(pass_statistics(self.ctx).format(), end="", file=sys.stderr)
        if options.explain:
            from rich.console import Console

            from ..passes.kernels.choose_schedule import choices_of
            from .explaining import choices_table

            Console(stderr=True, width=WIDE).print(choices_table(choices_of(self.ctx)))
        return 0

    def _parts(self) -> Iterator[_Part]:
        """The input, or its parts."""
        if self.options.input == STANDARD_STREAM:
            content = sys.stdin.buffer.read()
        elif self.frontend == "onnx":
            content = b""
        else:
            content = Path(self.options.input).read_bytes()
        line = 0
        separator = re.compile(rf"^{SEPARATOR}$".encode(), re.MULTILINE)
        for text in separator.split(content) if self.options.split_input_file else [content]:
            yield _Part(text, line)
            line += text.count(b"\n")

    def _output_of(self, part: _Part, destination: Destination) -> str:
        module = self._import_onnx(part.text) if self.frontend == "onnx" else self._parse(part)
        return self._carried_out(module, destination)

    def _judged(self, part: _Part, destination: Destination, told: list[str]) -> list[str]:
        """The output, or none where an error comes; adds what differs from what the text expects."""
        found: list[Diagnostic] = []
        outputs: list[str] = []
        places: dict[Operation, int] = {}
        module: ModuleOp | None = None
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                module = self._parse(part, places)
                outputs.append(self._carried_out(module, destination))
            except MiniInferError as error:
                found.append(Diagnostic("error", str(error), lines_of(error, module, places)))
        found += [Diagnostic("warning", str(each.message)) for each in warned]
        text = part.text.decode(errors="replace")
        told += complaints(text, self.options.input, part.line + 1, found)
        return outputs

    def _carried_out(self, module: ModuleOp, destination: Destination) -> str:
        inherited = {blob for blob in blobs_of(module) if self.frontend == "mlir" or blob.file.data}
        destination.keep_off(inherited, self.ctx.blobs)
        try:
            with own_errors():
                self._transform(module)
                return self._emit(module, destination, inherited)
        except MiniInferError:
            raise
        except Exception as error:  # on a wrong module that nothing has verified, a pass may fail in any way
            if not self.options.disable_verify:
                raise
            raise CompileError(f"the module is wrong, and nothing verified it: {error!r}") from error

    def _import_onnx(self, content: bytes) -> ModuleOp:
        from ..lowering.onnx_to_graph import import_onnx

        source = content if self.options.input == STANDARD_STREAM else self.options.input
        from ..lowering.onnx_to_graph.inputs import Ranges

        options = self.options
        return import_onnx(
            source,
            ctx=self.ctx,
            dims=options.dims,
            shapes=options.shapes,
            specialize=options.specialize,
            ranges=Ranges(options.spans) if options.spans else None,
            caches=options.caches,
        )

    def _parse(self, part: _Part, places: dict[Operation, int] | None = None) -> ModuleOp:
        return parse_module(self.ctx, part.text, self.options.input, part.line, places)

    def _check_undecided(self, module: ModuleOp) -> None:
        """Raises ConfigError for a GPU that schedules were not chosen for."""
        stated, target = module.attributes.get(LEVEL), module.attributes.get("kernel.target")
        if not isinstance(stated, StringAttr) or stated.data == "graph":
            return
        decided = (target.architecture.data, target.precision.data) if isinstance(target, GpuAttr) else ()
        if decided != (self.options.gpu, self.options.precision):
            what = f", for {' in '.join(decided)}" if decided else ", for a CPU"
            raise ConfigError(
                f"--gpu is decided above the kernels level; the module is at the {stated.data} level{what}"
            )

    def _transform(self, module: ModuleOp) -> None:
        self._verify(module)
        if self.options.gpu is not None:
            self._check_undecided(module)
            module.attributes["kernel.target"] = GpuAttr.named(self.options.gpu, self.options.precision)
        elif self.options.host or self.options.cpu:
            from ..runtime.config import EngineConfig
            from ..runtime.targets import target_attribute

            module.attributes["kernel.target"] = target_attribute(EngineConfig(), self.options.cpu or "")
        phases = self._phases(module)
        self.options.watch.check([each for passes in phases for each in passes])
        watch = PassWatch(self.options.watch, self.ctx)
        difference = Difference(module) if self.options.statistics else None
        for passes in phases:
            for each in passes:
                watch.before(each.name, module)
                run_passes(self.ctx, module, [each], watch.after)
                if difference is not None:
                    difference.count(self.ctx, each.name, module)
                if self.options.verify_each:
                    self._verify(module)
            self._verify(module)

    def _phases(self, module: ModuleOp) -> Sequence[Sequence[ModulePass]]:
        """What is to be run, in parts that the verifier closes."""
        if self.passes is not None:
            return [self.passes]
        to = self.options.to or TARGETS[self.options.target].level
        if to is None or (self.options.to is None and to == "launches" and _launches(module)):
            return []
        if to not in PATHS["cpu"] and target_of(module).device == "cpu":
            raise ConfigError(f"only a GPU's modules have a {to} level; --gpu NAME makes code for one")
        return [parse_passes(phase.passes) for phase in remaining_phases(module, to)]

    def _verify(self, module: ModuleOp) -> None:
        if not self.options.disable_verify:
            module.verify()

    def _emit(self, module: ModuleOp, destination: Destination, inherited: set[BlobAttr]) -> str:
        target = TARGETS[self.options.target]
        there = target.level == "launches" and _launches(module)
        if target.level is not None and not there and level_of(module) != target.level:
            raise ConfigError(
                f"-t {self.options.target} needs a module at the {target.level} level; "
                f"this one is at the {level_of(module)} level"
            )
        if self.options.target == "mlir":
            elide = self.options.elide_weights
            self.left_out += destination.settle_weights(module, self.ctx.blobs, inherited, elide=elide)
            return print_module(self.ctx, module, generic=self.options.print_op_generic, elide=elide)
        return target.emit(self.ctx, module)


def _launches(module: ModuleOp) -> bool:
    """Whether a module has kernels of a GPU, whatever level it states, or none."""
    return any(op.name == "gpu.module" for op in module.ops)


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
