"""`mini-infer run`: compile a model, run it, and say what was done."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from ...dialects.errors import ConfigError
from ..dumped_tensors import check_dump
from ..json_reports import Facts
from ..verbs import Chosen, Compiled, Files, Seed, Work


def run(
    model: Compiled,
    *,
    input: Files = None,
    seed: Seed = None,
    chosen: Chosen,
    repeat: Annotated[int, typer.Option(min=1, metavar="N", help="Inferences to time.")] = 20,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the outputs to this .npz.")
    ] = None,
    dump: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the values of ONNX tensors to this .npz file, which --input takes."),
    ] = None,
    tensors: Annotated[
        list[str] | None, typer.Option(metavar="A,B", help="The tensors to --dump, by name; may be repeated.")
    ] = None,
    reference: Annotated[bool, typer.Option(help="Evaluate the ops' numpy meaning instead of compiling.")] = False,
    timing: Annotated[bool, typer.Option(help="Show where the time of the compile went.")] = False,
    explain: Annotated[bool, typer.Option(help="Show the schedules that each kernel could have.")] = False,
    trace: Annotated[
        str | None,
        typer.Option(metavar="FILE.json", help="Write the last inference as a trace for Perfetto, and the compile."),
    ] = None,
    perf_map: Annotated[bool, typer.Option(help="Tell Linux's perf the names of kernels: /tmp/perf-PID.map.")] = False,
    keep: Annotated[
        bool | None,
        typer.Option("--keep/--no-keep", help="Use the cache of compiled models.", show_default="MINI_INFER_CACHE"),
    ] = None,
) -> Work:
    """Compile a model, run it, and report what was done."""
    if output is not None and Path(output).suffix != ".npz":
        raise ConfigError(f"--output {output}: the name must end in .npz")
    if trace is not None and Path(trace).suffix != ".json":
        raise ConfigError(f"--trace {trace}: the name must end in .json")
    if chosen["device"] == "cuda-emulated":
        chosen.refuse("with --device cuda-emulated, which has no clock", "trace")
    check_dump(model, dump, tensors)
    compiled = chosen.is_compiled(model, also=("timing", "explain", "trace", "keep", "reference"))
    chosen.check_winograd(model)
    options = chosen.options(model, input, at=not compiled)

    def work(console: Console) -> Facts:
        if "profile" in options or (chosen.at and compiled):
            from .. import at_shapes

            others = ("reference", "timing", "explain", "trace", "perf_map", "check_memory", "check", "keep", "dump")
            chosen.refuse(chosen.by_ranges, *others)
            return at_shapes.run_at_shapes(model, options, chosen.at, input or [], seed, repeat, output, console)
        from .. import run_model as runs

        if reference:
            others = ("cache", "timing", "explain", "trace", "perf_map", "keep", "repeat", "dump")
            chosen.refuse_compiling("with --reference", *others)
            return runs.run_reference(model, options, input or [], seed, output, console)
        if options["check_memory"] or options["check"] is not None:
            chosen.refuse("with --check-memory and --check", "repeat", "trace", "perf_map")
        if options["device"] != "cpu" or Path(model).suffix == ".mlir":
            what = "a module" if options["device"] == "cpu" else f"--device {options['device']}"
            chosen.refuse(f"with {what}", "keep")
        if options["device"] != "cpu":
            chosen.refuse(f"with --device {options['device']}, as the CPU runs none of its code", "perf_map")
        if timing or explain or trace is not None or options["check_memory"] or options["check"] is not None:
            chosen.refuse("with --timing, --explain, --trace, --check-memory and --check, which compile", "keep")
        return runs.run_compiled(
            model,
            options,
            input or [],
            seed,
            repeat,
            output,
            console,
            timing=timing,
            explain=explain,
            keep=keep,
            trace=trace,
            dump=dump,
            tensors=tensors,
            perf_map=perf_map,
        )[1]

    return work
