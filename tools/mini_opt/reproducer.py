"""Crash reproducers: the module before a failing pass, with the remaining pipeline.

Like MLIR's -mlir-pass-pipeline-crash-reproducer. The first line is a comment with mini-opt's options:

    // configuration: --pass-pipeline='bufferize,elide-copies{alignment=64}' --verify-each

`mini-opt FILE --run-reproducer` runs it. Weights that are in memory only are written beside it, as for any module.
"""

from __future__ import annotations

import shlex
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.errors import CompileError, ConfigError, MiniInferError
from ...dialects.graph.blobs import BlobAttr, MiniContext
from ...dialects.regular_file import open_regular
from ...lowering.module_text import own_errors, print_module
from ...lowering.pipelines import pipeline_text
from .destination import MODULE, Destination
from .opt_options import REPRODUCER, STANDARD_STREAM, OptOptions

HEAD, PIPELINE = "// configuration: ", "--pass-pipeline"
FLAGS = {
    f"--{name.replace('_', '-')}": name for name in ("verify_each", "disable_verify", "allow_unregistered_dialect")
}


class Reproducer:
    """Writes a file when a pass fails. `flags` are the options of FLAGS to run it with."""

    def __init__(self, file: str, source: str, flags: Sequence[str]) -> None:
        if Path(file).suffix != MODULE:
            raise ConfigError(f"{REPRODUCER} {file}: the name must end in {MODULE}")
        if Path(file).resolve() == Path(source).resolve():
            raise ConfigError(f"{REPRODUCER} {file}: that is the input")
        self._file, self._source, self._flags = file, source, flags

    @contextmanager
    def watching(
        self, ctx: MiniContext, module: ModuleOp, passes: Sequence[ModulePass], inherited: set[BlobAttr]
    ) -> Generator[None]:
        """A context in which the first of the passes runs; raises CompileError, naming the file, if it fails.

        `inherited` is that of Destination.settle_weights. A user error in options stays a ConfigError.
        """
        before = module.clone()
        try:
            with own_errors():
                yield
        except ConfigError:
            raise
        except Exception as error:
            ours = isinstance(error, MiniInferError)
            told = str(error) if ours else f"{passes[0].name} crashed: {type(error).__name__}: {error}"
            raise CompileError(f"{told}; {self._written(ctx, before, passes, inherited)}") from error

    def _written(
        self, ctx: MiniContext, module: ModuleOp, passes: Sequence[ModulePass], inherited: set[BlobAttr]
    ) -> str:
        """Writes the file; returns the note about it."""
        try:
            write_reproducer(self._file, self._source, ctx, module, passes, inherited, self._flags)
        except (MiniInferError, OSError) as error:
            return f"there is no reproducer: {error}"
        return f"to reproduce it: {command_of(self._file)}"


def write_reproducer(
    file: str,
    source: str,
    ctx: MiniContext,
    module: ModuleOp,
    passes: Sequence[ModulePass],
    inherited: set[BlobAttr],
    flags: Sequence[str] = (),
) -> None:
    """Writes a module with passes to run; its blobs are renamed. The other arguments are those of Reproducer.

    Raises ConfigError or OSError if the file can't be written.
    """
    words = [f"{PIPELINE}={pipeline_text(passes)}", *flags]
    with Destination(file, source) as destination:
        destination.keep_off(inherited, ctx.blobs)
        destination.settle_weights(module, ctx.blobs, inherited)
        destination.commit(f"{HEAD}{shlex.join(words)}\n{print_module(ctx, module)}")


def command_of(file: str) -> str:
    """The command that runs a reproducer."""
    return f"mini-opt {shlex.quote(file)} --run-reproducer"


def configured(options: OptOptions) -> OptOptions:
    """The options with the passes and options of a reproducer, if the input is to be run as one."""
    if not options.run_reproducer:
        return options
    if options.input == STANDARD_STREAM or options.pass_pipeline is not None or options.to is not None:
        raise ConfigError("--run-reproducer takes a FILE, and the passes that it states")
    return replace(options, **cast("dict[str, Any]", _configuration_of(options.input)))


def _configuration_of(file: str) -> dict[str, str | bool]:
    """The options stated in a reproducer, by their names in OptOptions. Raises ConfigError without any."""
    with open_regular(file) as stream:
        line = stream.readline().decode(errors="replace")
    try:
        words = shlex.split(line.removeprefix(HEAD)) if line.startswith(HEAD) else []
    except ValueError:
        words = []
    pairs = [word.partition("=") for word in words]
    options = {
        FLAGS.get(name, "pass_pipeline"): value if name == PIPELINE else True
        for name, _, value in pairs
        if name == PIPELINE or name in FLAGS
    }
    if "pass_pipeline" not in options or len(options) != len(words):
        raise ConfigError(f"--run-reproducer: {file} does not begin with {HEAD}{PIPELINE}=...")
    return options
