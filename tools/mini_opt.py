"""mini-opt: a module (or an ONNX model) in, passes, a module (or another form of it) out.

    mini-opt model.mlir -p 'fold-constants,form-kernels'
    mini-opt model.onnx --to buffers -o model.mlir       # new weights go to model.weights
    mini-opt model.onnx -t llvm-ir

What a user gets wrong is told on standard error with a non-zero exit status; nothing has been written then.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import DiagnosticException, ParseError
from xdsl.utils.mlir_lexer import MLIRLexer

from ..dialects.errors import ConfigError, MiniInferError
from ..dialects.graph.blobs import BlobAttr, MiniContext, blobs_of
from ..lowering.levels import LEVELS, Level, level_of
from ..lowering.pipelines import PassRun, parse_passes, remaining_phases, run_passes
from ..lowering.registry import PASSES, dialect_factories, pass_summary
from ..passes.statistics import pass_statistics
from .destination import STANDARD_STREAM, Destination
from .mini_opt_targets import TARGETS, print_module

SEPARATOR = "// -----"

# xDSL's own pattern takes time exponential in the rest of the line where a closing quote is missing; this one
# matches the same strings without ever trying again.
MLIRLexer._unescaped_characters_regex = re.compile(  # pyright: ignore[reportPrivateUsage]
    r'"(?:[^"\\\n\v\f]++|\\(?:["nt\\]|[0-9A-Fa-f]{2}))*+"'
)


class _ArgumentParser(argparse.ArgumentParser):
    """Errors are one line; the list of passes is put together only when help is asked for."""

    @override
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: error: {message}\n")

    @override
    def format_help(self) -> str:
        width = max(map(len, PASSES))
        passes = "".join(f"  {name:{width}}  {pass_summary(name)}\n" for name in PASSES)
        return f"{super().format_help()}\npasses:\n{passes}"


class _Options(argparse.Namespace):
    """The command line, after checking."""

    input: str
    frontend: str | None
    output: str
    pass_pipeline: str | None
    to: Level | None
    target: str
    host: bool
    dim: list[tuple[str, int]]
    verify_each: bool
    disable_verify: bool
    statistics: bool
    time_passes: bool
    print_between_passes: bool
    print_op_generic: bool
    split_input_file: bool
    verify_diagnostics: bool
    allow_unregistered_dialect: bool


def _dimension(text: str) -> tuple[str, int]:
    name, _, value = text.rpartition("=")
    if not (name and value.isdecimal() and int(value) > 0):
        raise argparse.ArgumentTypeError(f"'{text}' is not NAME=N with a positive number")
    return name, int(value)


def _argument_parser() -> argparse.ArgumentParser:
    parser = _ArgumentParser(
        prog="mini-opt",
        description="Run compiler passes on a module or on an ONNX model.",
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("input", nargs="?", default=STANDARD_STREAM, help="a .mlir or .onnx file; or else standard input")
    add("-f", "--frontend", choices=("mlir", "onnx"), help="what the input is, whatever its name says")
    add("-o", "--output", default=STANDARD_STREAM, metavar="FILE", help="new weights go to FILE.weights")
    add("-p", "--pass-pipeline", metavar="PASSES", help="such as 'fold-constants,plan-arena{alignment=64}'")
    add("--to", choices=LEVELS, help="run the compiler's own passes, down to this level")
    add("-t", "--target", choices=tuple(TARGETS), default="mlir", help="the form of the output")
    add("--host", action="store_true", help="compile for this machine, not for what the module says")
    add("--dim", action="append", type=_dimension, default=[], metavar="NAME=N", help="a dimension's size")
    add("--verify-each", action="store_true", help="verify after every pass, not only after a phase")
    add("--disable-verify", action="store_true", help="verify nothing")
    add("--statistics", action="store_true", help="what each pass changed and how often, on standard error")
    add("--time-passes", action="store_true", help="how long each pass took, on standard error")
    add("--print-between-passes", action="store_true", help="the module after each pass, on standard error")
    add("--print-op-generic", action="store_true", help="print all ops in the generic form")
    add("--split-input-file", action="store_true", help=f"lines '{SEPARATOR}' part several modules")
    add("--verify-diagnostics", action="store_true", help="print a module's error in its place and go on")
    add("--allow-unregistered-dialect", action="store_true", help="accept ops of unknown dialects")
    return parser


class _Tool:
    """One run of mini-opt."""

    def __init__(self, options: _Options) -> None:
        self.options = options
        self.ctx = MiniContext(options.allow_unregistered_dialect)
        for name, make in dialect_factories().items():
            self.ctx.register_dialect(name, make)
        if options.input != STANDARD_STREAM:
            self.ctx.blobs.base_dir = Path(options.input).resolve().parent
        if options.pass_pipeline is not None and options.to is not None:
            raise ConfigError("-p/--pass-pipeline and --to exclude each other")
        self.frontend = self._frontend()
        self.left_out = 0  # bytes of weights
        same = options.input != STANDARD_STREAM and Path(options.output).resolve() == Path(options.input).resolve()
        if same and not self.frontend == options.target == "mlir":
            raise ConfigError(f"-o {options.output}: that is the input, which only a module may replace")
        if options.dim and self.frontend != "onnx":
            raise ConfigError("--dim is for ONNX models; the shapes of a module are fixed")
        self.passes = None if options.pass_pipeline is None else parse_passes(options.pass_pipeline)

    def run(self) -> None:
        """Reads, transforms and writes; raises what is to be reported."""
        with Destination(self.options.output, self.options.input) as destination:
            texts = [self._output_of(part, destination) for part in self._parts()]
            destination.commit(f"{SEPARATOR}\n".join(texts))
        if self.left_out:
            note = f"{self.left_out:,} bytes of new weights are left out; -o FILE.mlir puts them into FILE.weights"
            print(f"mini-opt: note: {note}", file=sys.stderr)
        if self.options.statistics:
            print(pass_statistics(self.ctx).format(), end="", file=sys.stderr)

    def _frontend(self) -> str:
        suffix = Path(self.options.input).suffix
        if self.options.frontend is not None:
            return self.options.frontend
        if self.options.input == STANDARD_STREAM:
            return "mlir"
        if suffix not in (".mlir", ".onnx"):
            raise ConfigError(f"{self.options.input} is neither .mlir nor .onnx; say which with --frontend")
        return suffix.removeprefix(".")

    def _parts(self) -> Iterator[tuple[bytes, int]]:
        """The input, or its parts, each with the line that it starts at."""
        if self.options.input == STANDARD_STREAM:
            content = sys.stdin.buffer.read()
        elif self.frontend == "onnx":
            content = b""  # read by the import, which maps the weights
        else:
            content = Path(self.options.input).read_bytes()
        line = 0
        separator = re.compile(rf"^{SEPARATOR}$".encode(), re.MULTILINE)
        for part in separator.split(content) if self.options.split_input_file else [content]:
            yield part, line
            line += part.count(b"\n")

    def _output_of(self, part: tuple[bytes, int], destination: Destination) -> str:
        try:
            module = self._import_onnx(part[0]) if self.frontend == "onnx" else self._parse(*part)
            inherited = {blob for blob in blobs_of(module) if self.frontend == "mlir" or blob.file.data}
            destination.keep_off(inherited, self.ctx.blobs)
            self._transform(module)
            return self._emit(module, destination, inherited)
        except (DiagnosticException, MiniInferError, ParseError) as error:
            if self.options.verify_diagnostics:
                return f"{_message_of(error)}\n"
            raise

    def _import_onnx(self, content: bytes) -> ModuleOp:
        from ..lowering.onnx_to_graph import import_onnx

        source = content if self.options.input == STANDARD_STREAM else self.options.input
        return import_onnx(source, ctx=self.ctx, dims=dict(self.options.dim))

    def _parse(self, text: bytes, line: int) -> ModuleOp:
        try:
            return Parser(self.ctx, text.decode(), self.options.input).parse_module()
        except UnicodeDecodeError as error:
            raise ConfigError(f"{self.options.input} is not text: {error.reason} at byte {error.start}") from error
        except ParseError as error:
            error.span = replace(error.span, line_offset=line)
            raise

    def _transform(self, module: ModuleOp) -> None:
        self._verify(module)
        if self.options.host:
            from ..runtime.build import target_attribute
            from ..runtime.engine import EngineConfig

            module.attributes["kernel.target"] = target_attribute(EngineConfig())
        for passes in self._phases(module):
            run_passes(self.ctx, module, passes, self._after_pass)
            self._verify(module)

    def _phases(self, module: ModuleOp) -> Sequence[Sequence[ModulePass]]:
        """What is to be run, in parts that the verifier closes."""
        if self.passes is not None:
            return [self.passes]
        to = self.options.to or TARGETS[self.options.target].level
        return [parse_passes(phase.passes) for phase in remaining_phases(module, to)] if to else []

    def _verify(self, module: ModuleOp) -> None:
        if not self.options.disable_verify:
            module.verify()

    def _after_pass(self, run: PassRun, module: ModuleOp) -> None:
        if self.options.verify_each:
            self._verify(module)
        if self.options.time_passes:
            print(f"{run.seconds * 1e3:10.1f} ms  {run.name}", file=sys.stderr)
        if self.options.print_between_passes:
            print(f"// after {run.name}\n{print_module(self.ctx, module)}", file=sys.stderr)

    def _emit(self, module: ModuleOp, destination: Destination, inherited: set[BlobAttr]) -> str:
        target = TARGETS[self.options.target]
        if target.level is not None and level_of(module) != target.level:
            raise ConfigError(
                f"-t {self.options.target} needs a module at the {target.level} level; "
                f"this one is at the {level_of(module)} level"
            )
        if self.options.target == "mlir":
            self.left_out += destination.settle_weights(module, self.ctx.blobs, inherited)
            return print_module(self.ctx, module, generic=self.options.print_op_generic)
        return target.emit(self.ctx, module)


def _message_of(error: Exception) -> str:
    """What an error says, with the place in the input or in the module where it knows one."""
    if isinstance(error, OSError):
        return f"{error.filename}: {error.strerror}" if error.filename else str(error)
    if isinstance(error, ParseError):
        return str(error).strip("\n")
    for note in getattr(error, "__notes__", ()):
        lines = note.splitlines()
        # xDSL adds the whole module, with a row of carets under the op that is wrong.
        marked = [index for index, line in enumerate(lines) if line.lstrip().startswith("^^^")]
        if marked:
            return f"{error}\n  {lines[marked[0] - 1].strip()}"
    return str(error)


def _show_warning(message: Warning | str, *_: object) -> None:
    print(f"mini-opt: warning: {message}", file=sys.stderr)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; returns its exit status. `arguments` are those of the process unless given."""
    options = _argument_parser().parse_args(arguments, _Options())
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            _Tool(options).run()
    except BrokenPipeError:
        return 1
    except (DiagnosticException, MiniInferError, OSError, ParseError) as error:
        print(f"mini-opt: error: {_message_of(error)}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
