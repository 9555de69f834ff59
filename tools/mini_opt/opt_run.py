"""One run of mini-opt: reads, transforms and writes modules."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from ...dialects.errors import CompileError, ConfigError, MiniInferError
from ...dialects.graph.blobs import BlobAttr, blobs_of
from ...dialects.graph.host import LEVEL
from ...dialects.kernel.targets import CpuAttr, GpuAttr, target_of
from ...dialects.regular_file import read_regular
from ...lowering.levels import level_of
from ...lowering.module_text import module_context, own_errors, parse_module, print_module
from ...lowering.pipelines import PATHS, PassRun, parse_passes, pipeline_text, remaining_phases, run_passes
from ...passes.statistics import Difference, pass_statistics
from ...runtime.config import EngineConfig
from ...runtime.option_declarations import options_of
from ..one_line_errors import WRONG, tell
from .destination import Destination
from .expected_diagnostics import Diagnostic, complaints, lines_of
from .opt_options import STANDARD_STREAM, OptOptions
from .output_forms import TARGETS
from .pass_watch import PassWatch
from .reproducer import Reproducer, configured

SEPARATOR = "// -----"
WIDE = 160  # columns of a table, also if it is written to a file


@dataclass(frozen=True)
class _Part:
    """A module's text, and the number of lines before it in the file; no text if the import reads the file."""

    text: bytes
    line: int


class OptRun:
    """Checks the options when constructed: raises ConfigError for incompatible ones."""

    def __init__(self, options: OptOptions) -> None:
        options = configured(options)
        self.options, self.frontend = options, options.checked_frontend()
        folder = Path(options.input).parent if options.input != STANDARD_STREAM else None
        self.ctx = module_context(folder, allow_unregistered=options.allow_unregistered_dialect)
        self.passes = None if options.pass_pipeline is None else parse_passes(options.pass_pipeline)
        self.reproducer: Reproducer | None = None
        if options.pass_pipeline_crash_reproducer is not None:
            verified = "--disable-verify" if options.disable_verify else "--verify-each"
            allowed = ["--allow-unregistered-dialect"] if options.allow_unregistered_dialect else []
            self.reproducer = Reproducer(options.pass_pipeline_crash_reproducer, options.input, [verified, *allowed])
        self.watch = PassWatch(options, self.ctx)
        self.left_out = 0  # bytes of elided weights
        self.targets: set[str] = set()  # targets other than this machine, by their difference

    def run(self) -> int:
        """Returns the exit status; raises errors to be reported."""
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
        for apart in sorted(self.targets):
            hint = "" if options.cpu else "; see --host"
            tell("mini-opt", "note", f"the code is not for this machine: {apart}{hint}")
        if self.left_out:
            keep = "" if options.elide_weights else "; -o FILE.mlir puts them into FILE.weights"
            tell("mini-opt", "note", f"{self.left_out:,} bytes of new weights are left out{keep}")
        if options.statistics:
            print(pass_statistics(self.ctx).format(), end="", file=sys.stderr)
        if options.explain:
            from rich.console import Console

            from ...passes.kernels.choose_schedule import choices_of
            from ..schedule_table import choices_table

            Console(stderr=True, width=WIDE).print(choices_table(choices_of(self.ctx)))
        return 0

    def _parts(self) -> Iterator[_Part]:
        """The input, or the parts of a split input."""
        if self.options.input == STANDARD_STREAM:
            if sys.stdin.isatty():
                tell("mini-opt", "note", "reading a module from the terminal, until Ctrl-D")
            content = sys.stdin.buffer.read()
        elif self.frontend == "onnx":
            content = b""
        else:
            content = read_regular(self.options.input)
        line = 0
        separator = re.compile(rf"^{SEPARATOR}$".encode(), re.MULTILINE)
        for text in separator.split(content) if self.options.split_input_file else [content]:
            yield _Part(text, line)
            line += text.count(b"\n")

    def _output_of(self, part: _Part, destination: Destination) -> str:
        module = self._import_onnx(part.text) if self.frontend == "onnx" else self._parse(part)
        return self._carried_out(module, destination)

    def _judged(self, part: _Part, destination: Destination, told: list[str]) -> list[str]:
        """The output, or [] on an error; appends deviations from expected diagnostics."""
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
                self._transform(module, inherited)
                return self._emit(module, destination, inherited)
        except MiniInferError:
            raise
        except Exception as error:  # on an unverified, invalid module a pass may fail in any way
            if not self.options.disable_verify:
                raise
            raise CompileError(f"the module is wrong, and nothing verified it: {error!r}") from error

    def _import_onnx(self, content: bytes) -> ModuleOp:
        from ...lowering.onnx_to_graph import import_onnx

        source = content if self.options.input == STANDARD_STREAM else self.options.input
        from ...lowering.onnx_to_graph.declared_inputs import Ranges

        chosen, profile = self.options.chosen, self.options.chosen["profile"]
        given = {name: chosen[name] for name in ("dims", "shapes", "specialize", "caches")}
        return import_onnx(source, ctx=self.ctx, ranges=Ranges(profile.dims) if profile else None, **given)

    def _parse(self, part: _Part, places: dict[Operation, int] | None = None) -> ModuleOp:
        return parse_module(self.ctx, part.text, self.options.input, part.line, places)

    def _check_undecided(self, module: ModuleOp) -> None:
        """Raises ConfigError for a GPU module without schedules."""
        stated, target = module.attributes.get(LEVEL), module.attributes.get("kernel.target")
        if not isinstance(stated, StringAttr) or stated.data == "graph":
            return
        decided = (target.architecture.data, target.precision.data) if isinstance(target, GpuAttr) else ()
        if decided != (self.options.chosen["gpu"], self.options.chosen["precision"]):
            what = f", for {' in '.join(decided)}" if decided else ", for a CPU"
            raise ConfigError(
                f"--gpu is decided above the kernels level; the module is at the {stated.data} level{what}"
            )

    def _set_target(self, module: ModuleOp) -> None:
        """Sets the target if an option gives one; an ONNX model's default is this machine."""
        options, chosen = self.options, self.options.chosen
        if chosen["gpu"] is not None:
            self._check_undecided(module)
            module.attributes["kernel.target"] = GpuAttr.named(chosen["gpu"], chosen["precision"])
        elif options.host or options.cpu or self.frontend == "onnx":
            from ...runtime.compile.module_to_plan import tell_measured
            from ...runtime.native.cpu_targets import target_attribute

            module.attributes["kernel.target"] = target_attribute(EngineConfig(), options.cpu or "")
            if not options.cpu:
                tell_measured(self.ctx)

    def _note_target(self, module: ModuleOp, passes: Iterable[PassRun]) -> None:
        """Notes that code is not for this machine, if kernels were scheduled now or code is shown."""
        target = module.attributes.get("kernel.target", CpuAttr.of())
        scheduled = any(each.name == "choose-schedule" for each in passes)
        if isinstance(target, CpuAttr) and (scheduled or self.options.target in ("llvm-ir", "asm")):
            from ...runtime.native.cpu_targets import apart_from_host

            if apart := apart_from_host(target):
                self.targets.add(apart)

    def _transform(self, module: ModuleOp, inherited: set[BlobAttr]) -> None:
        self._verify(module)
        self._set_target(module)
        phases = self._phases(module)
        left = [each for passes in phases for each in passes]
        self.options.check_passes([each.name for each in left])
        if self.options.dump_pass_pipeline:
            print(pipeline_text(left), file=sys.stderr)
        self.watch.begin(module, left)
        difference = Difference(module) if self.options.statistics else None
        runs: list[PassRun] = []
        for passes in phases:
            for each in passes:
                self.watch.before(each.name, module)
                with self._reproducible(module, left, inherited):
                    run_passes(self.ctx, module, [each], lambda run, _: runs.append(run))
                    if self.options.verify_each or self.reproducer is not None:
                        self._verify(module)
                self.watch.after(runs[-1], module)
                if difference is not None:
                    difference.count(self.ctx, each.name, module)
                left = left[1:]
            self._verify(module)
        self._note_target(module, runs)

    def _reproducible(
        self, module: ModuleOp, passes: Sequence[ModulePass], inherited: set[BlobAttr]
    ) -> AbstractContextManager[None]:
        """A context in which the first of the passes runs."""
        if self.reproducer is None:
            return nullcontext()
        return self.reproducer.watching(self.ctx, module, passes, inherited)

    def _phases(self, module: ModuleOp) -> Sequence[Sequence[ModulePass]]:
        """The passes to run, in groups, each followed by the verifier."""
        if self.passes is not None:
            return [self.passes]
        to = self.options.to or TARGETS[self.options.target].level
        if to is None or (self.options.to is None and to == "launches" and _launches(module)):
            return []
        if to not in PATHS["cpu"] and target_of(module).device == "cpu":
            raise ConfigError(f"only a GPU's modules have a {to} level; --gpu NAME makes code for one")
        options = options_of(EngineConfig)
        changes = [options[name].changes(value) for name, value in self.options.chosen.items()]
        return [parse_passes(phase.passes) for phase in remaining_phases(module, to, changes=changes)]

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
    """Whether a module has GPU kernels, whatever its level."""
    return any(op.name == "gpu.module" for op in module.ops)
