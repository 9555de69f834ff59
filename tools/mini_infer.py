"""mini-infer: run, plan, bench and compare ONNX models from the command line; plan the memory of anything."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.text import Text

from ..dialects.errors import ConfigError
from .facts import Facts, with_facts
from .one_line_errors import FLAGS, WRONG, OneLineErrors
from .option_values import (
    At,
    Caches,
    Dims,
    Gpu,
    Precision,
    Shapes,
    Spans,
    Specialize,
    at_of,
    cache_pairs_of,
    dims_of,
    shapes_of,
    spans_of,
    values_of,
)
from .versions import Version

app = typer.Typer(
    cls=OneLineErrors,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its tables cut names of options off
    context_settings={"help_option_names": ["-h", "--help"]},
)
# A pipe has no width; 80 columns would break the tables.
out = Console(markup=False, highlight=False, width=None if sys.stdout and sys.stdout.isatty() else 160)


@app.callback()
def program(version: Version = False) -> None:
    """Compile ONNX models into one native function over one planned memory arena, and run them."""


Model = Annotated[str, typer.Argument(help="An .onnx file, or an .mlir file at any level.", metavar="MODEL")]
Compiled = Annotated[
    str, typer.Argument(help="An .onnx file, an .mlir file at any level, or a compiled .mi file.", metavar="MODEL")
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", "-j", min=1, metavar="N", help="Threads of one inference."),
]
Device = Annotated[str, typer.Option(metavar="NAME", help="On cpu, cuda, cuda:1 or cuda-emulated.")]
Emulator = Annotated[
    str | None, typer.Option(metavar="KIND", help="How cuda-emulated runs kernels: interpreter, compiled.")
]
Optimize = Annotated[
    bool, typer.Option("--optimize/--no-optimize", help="Fusion and layout on or off.", show_default="on")
]
Memory = Annotated[
    bool, typer.Option("--plan-memory/--no-plan-memory", help="Reuse of memory on or off.", show_default="on")
]
Winograd = Annotated[str, typer.Option(metavar="KIND", help="3x3 convolutions by fewer products: auto, compact, off.")]
Strategy = Annotated[str, typer.Option(metavar="NAME", help="How places are found: auto, exact, beam, pools, ...")]
Json = Annotated[
    str | None, typer.Option("--json", metavar="FILE", help="Write JSON; - is standard output, and nothing else is.")
]
Files = Annotated[
    list[str] | None,
    typer.Option("--input", "-i", metavar="FILE", help="inputs.npz, or NAME=FILE.npy; the rest is seeded."),
]
Seed = Annotated[
    int | None,
    typer.Option("--seed", min=0, metavar="N", help="Seed of inputs that are not given.", show_default="0"),
]


def _options(given: Mapping[str, Any]) -> dict[str, Any]:
    """EngineConfig's options from those of a command, by the names of its parameters; what it lacks is as usual."""
    from ..runtime.profile import OptimizationProfile
    from ..runtime.shapes.module_ranges import stated_profile

    spans = spans_of(given.get("range"))
    if not spans and "model" in given and (stated := stated_profile(given["model"])) is not None:
        spans = stated.dims
    options = ({"profile": OptimizationProfile(dims=spans)} if spans else {}) | {
        "device": given.get("device", "cpu"),
        "precision": given.get("precision", "fp32"),
        "gpu": given.get("gpu"),
        "emulator": given.get("emulator"),
        "winograd": given.get("winograd", "auto"),
        "threads": given["threads"],
        "dims": dims_of(given.get("dim")),
        "shapes": shapes_of(given.get("shape")),
        "specialize": values_of(given.get("specialize")),
        "caches": cache_pairs_of(given.get("cache")),
        "enable_graph_optimization": given.get("optimize", True),
        "enable_memory_planning": given.get("plan_memory", True),
    }
    if "model" in given and given.get("input"):
        from .given_sizes import with_given_sizes

        return with_given_sizes(given["model"], options, given["input"])
    return options


def _refuse(context: typer.Context, reason: str, *names: str) -> None:
    """Raises ConfigError for options among `names` that were given, where for that reason they would do nothing."""
    options = {parameter.name: parameter for parameter in context.command.params}
    for name in names:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            given = options[name]
            shown = given.opts[0] if context.params[name] or not given.secondary_opts else given.secondary_opts[0]
            raise ConfigError(f"{shown} does nothing {reason}")


_OF_COMPILING = (
    "cache",
    "device",
    "precision",
    "gpu",
    "emulator",
    "winograd",
    "threads",
    "optimize",
    "plan_memory",
    "compile_threads",
    "check_memory",
    "timing",
    "explain",
    "keep",
)
"""Parameters of `run` that say how a model is compiled."""
_OF_MODEL = ("dim", "shape", "range", "specialize", "reference")
"""Parameters that say what a model is."""
_OF_PLANNING = ("strategy", "beam_width", "alignment", "capacity", "disable_inplace")


def _is_compiled(context: typer.Context, *models: str, but: str = "") -> bool:
    """Whether all models are .mi files; raises ConfigError for options, but one, that do nothing with those."""
    if any(Path(model).suffix != ".mi" for model in models):
        return False
    options = {parameter.name for parameter in context.command.params}
    given = [name for name in (*_OF_COMPILING, *_OF_MODEL, *_OF_PLANNING, "profile") if name in options and name != but]
    _refuse(context, "with a .mi file, which is compiled already", *given)
    return True


def _check_at(options: Mapping[str, Any], at: list[str] | None) -> None:
    if at and "profile" not in options:
        raise ConfigError("--at does nothing without --range")


def _check_winograd(context: typer.Context, optimize: bool, *models: str) -> None:
    """Convolutions are made channels-last by optimising; modules may have such ones as they are."""
    if not optimize and not any(Path(each).suffix == ".mlir" or Path(each).is_dir() for each in models):
        _refuse(context, "with --no-optimize", "winograd")


def _listed(text: str) -> tuple[str, ...]:
    """The parts of "a,b"."""
    return tuple(part.strip() for part in text.split(",") if part.strip())


@app.command()
def run(
    context: typer.Context,
    model: Compiled,
    input: Files = None,
    seed: Seed = None,
    threads: Threads = None,
    dim: Dims = None,
    shape: Shapes = None,
    range: Spans = None,
    at: At = None,
    specialize: Specialize = None,
    cache: Caches = None,
    device: Device = "cpu",
    precision: Precision = "fp32",
    gpu: Gpu = None,
    emulator: Emulator = None,
    winograd: Winograd = "auto",
    optimize: Optimize = True,
    plan_memory: Memory = True,
    repeat: Annotated[int, typer.Option(min=1, metavar="N", help="Inferences to time.")] = 20,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the outputs to this .npz.")
    ] = None,
    reference: Annotated[
        bool, typer.Option("--reference", help="Evaluate the ops' numpy meaning instead of compiling.")
    ] = False,
    timing: Annotated[bool, typer.Option("--timing", help="Show where the time of the compile went.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="Show the schedules that each kernel could have.")] = False,
    compile_threads: Annotated[int | None, typer.Option(min=1, metavar="N", help="Processes that compile.")] = None,
    check_memory: Annotated[
        bool, typer.Option("--check-memory", help="Prove the memory plan: poisoned memory, a run without reuse.")
    ] = False,
    keep: Annotated[
        bool | None,
        typer.Option("--keep/--no-keep", help="Keep what is compiled, and use it.", show_default="MINI_INFER_CACHE"),
    ] = None,
    json: Json = None,
) -> None:
    """Compile a model, run it, and say what was done."""
    from . import runs as running

    if output is not None and Path(output).suffix != ".npz":
        raise ConfigError(f"--output {output}: the name must end in .npz")
    compiled = _is_compiled(context, model)
    _check_winograd(context, optimize, model)
    options = _options(context.params)
    if not compiled:
        _check_at(options, at)

    def work(console: Console) -> Facts:
        if "profile" in options or (at and compiled):
            from . import at_shapes

            reason = "with --range" if range else "with ranges of sizes"
            _refuse(context, reason, "reference", "timing", "explain", "check_memory", "keep")
            options.update(compile_threads=compile_threads)
            return at_shapes.run_at_shapes(model, options, at_of(at), input or [], seed, repeat, output, console)
        if reference:
            _refuse(context, "with --reference", *_OF_COMPILING, "repeat")
            return running.run_reference(model, options, input or [], seed, output, console)
        if check_memory:
            _refuse(context, "with --check-memory", "repeat")
        options.update(check_memory=check_memory, compile_threads=compile_threads)
        if device != "cpu" or Path(model).suffix == ".mlir":
            _refuse(context, f"with {'a module' if device == 'cpu' else f'--device {device}'}", "keep")
        how = running.How(timing, explain, keep)
        if timing or explain or check_memory:
            _refuse(context, "with --timing, --explain and --check-memory, which compile", "keep")
        return running.run_compiled(model, options, input or [], seed, repeat, output, console, how)[1]

    with_facts(context, json, out, work)


@app.command()
def build(
    context: typer.Context,
    model: Model,
    output: Annotated[str, typer.Option("--output", "-o", metavar="PATH", help="MODEL.mi, or a folder for C files.")],
    emit: Annotated[
        str, typer.Option(metavar="KIND", help="What to make: c, files for C programs.", show_default="a .mi file")
    ] = "",
    name: Annotated[str, typer.Option(help="Prefix of all names in C.", show_default="the file's name")] = "",
    cpu: Annotated[
        str,
        typer.Option(
            metavar="NAMES",
            help="Of x86-64-v2, x86-64-v3, x86-64-v4, aarch64 and native; for C one that LLVM knows.",
            show_default="all of this kind; for C this one",
        ),
    ] = "",
    embed: Annotated[bool, typer.Option("--embed", help="Also an assembly file with the weights, for C.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace files of C that are there.")] = False,
    threads: Threads = None,
    dim: Dims = None,
    shape: Shapes = None,
    range: Spans = None,
    at: At = None,
    specialize: Specialize = None,
    cache: Caches = None,
    optimize: Optimize = True,
    plan_memory: Memory = True,
    json: Json = None,
) -> None:
    """Compile a model to a file that mi.load opens, or with --emit c to files for C programs."""
    if emit not in ("", "c"):
        raise ConfigError(f"--emit {emit}: there is only c")
    if emit:
        from . import build_c as emitting

        _refuse(context, "with --emit c", "range", "at")
        options = _options(context.params | {"threads": threads or 1})
        given: dict[str, Any] = {"name": name, "cpu": cpu, "embed": embed, "force": force}
        with_facts(context, json, out, lambda console: emitting.show_c(model, options, output, console, **given))
        return
    from . import build_artifact as building

    _refuse(context, "without --emit c", "name", "embed", "force")
    options, cpus = _options(context.params), _listed(cpu)
    _check_at(options, at)
    with_facts(
        context, json, out, lambda console: building.show_build(model, options, output, cpus, at_of(at), console)
    )


@app.command("cache")
def cache_command(
    context: typer.Context,
    action: Annotated[str, typer.Argument(metavar="list|where|clear|limit", help="What to do.")] = "list",
    size: Annotated[
        str | None, typer.Argument(metavar="SIZE", help="With limit: the most that models take, such as 20G.")
    ] = None,
    folder: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Where models are kept.", show_default="the user's")
    ] = None,
    json: Json = None,
) -> None:
    """Show the compiled models that are kept on disk, or where that is; forget them all; set how much there may be."""
    from . import cache_listing as keeping

    with_facts(context, json, out, lambda console: keeping.manage(action, size, folder, console))


@app.command()
def plan(
    context: typer.Context,
    model: Compiled,
    table: Annotated[bool, typer.Option("--table", help="All tensors: size, life, address, who reuses them.")] = False,
    pools: Annotated[bool, typer.Option("--pools", help="The pools of a pool strategy, and what they save.")] = False,
    csv: Annotated[str | None, typer.Option(metavar="FILE", help="Write a line for each tensor of the arena.")] = None,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Draw the arena: .png, .svg or .pdf.")] = None,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Draw it as an interactive page.")] = None,
    strategy: Strategy = "auto",
    beam_width: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Partial plans that the strategy beam keeps.", show_default="8"),
    ] = None,
    alignment: Annotated[
        int, typer.Option(metavar="BYTES", help="Where buffers start: a multiple of this many bytes.")
    ] = 256,
    capacity: Annotated[
        int | None, typer.Option(min=0, metavar="BYTES", help="Bytes that the arena may have at most.")
    ] = None,
    disable_inplace: Annotated[
        str, typer.Option(metavar="OPS", help="Ops whose kernels don't work in place: add,MatMul.")
    ] = "",
    threads: Threads = None,
    dim: Dims = None,
    shape: Shapes = None,
    range: Spans = None,
    at: At = None,
    specialize: Specialize = None,
    cache: Caches = None,
    device: Device = "cpu",
    precision: Precision = "fp32",
    gpu: Gpu = None,
    winograd: Winograd = "auto",
    optimize: Optimize = True,
    plan_memory: Memory = True,
    json: Json = None,
) -> None:
    """Show the memory plan of a model: where every tensor lies, and how small the arena may be. No code is built."""
    from ..runtime.config import useless
    from .reports import plan_summary as planning

    if not plan_memory:
        _refuse(context, "with --no-plan-memory", "pools")
    compiled = _is_compiled(context, model)
    _check_winograd(context, optimize, model)
    options = _options(context.params) | {
        "planner": strategy,
        "memory_alignment": alignment,
        "max_workspace_size": capacity,
        "beam_width": beam_width,
        "disable_inplace": _listed(disable_inplace),
    }
    if pair := useless(options):
        flags = FLAGS | {"planner": f"--strategy {strategy}"}
        option, beside = (flags[name] for name in pair)
        raise ConfigError(f"{option} does nothing with {beside}")
    if not compiled:
        _check_at(options, at)
    if "profile" in options or (at and compiled):
        from . import at_shapes

        reason = "with --range" if range else "with ranges of sizes"
        _refuse(context, reason, "table", "pools", "csv", "plot", "html")
        with_facts(context, json, out, lambda console: at_shapes.plan_at_shapes(model, options, at_of(at), console))
        return
    wanted = planning.Wanted(table, pools, planning.report_files(csv=csv, plot=plot, html=html))
    with_facts(context, json, out, lambda console: planning.show_plan(model, options, wanted, console))


@app.command()
def allocate(
    context: typer.Context,
    problem: Annotated[
        str, typer.Argument(metavar="FILE", help="A .csv file: id,lower,upper,size; lifetimes are half-open.")
    ],
    strategy: Strategy = "auto",
    capacity: Annotated[
        int | None, typer.Option(min=0, metavar="BYTES", help="Bytes to fit in; exit status 1 if none fits.")
    ] = None,
    time_limit: Annotated[
        float | None, typer.Option(min=0, metavar="SECONDS", help="After which a search gives up.")
    ] = None,
    alignment: Annotated[int, typer.Option(min=1, metavar="BYTES", help="What offsets are multiples of.")] = 1,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the problem with its offsets.")
    ] = None,
    json: Json = None,
) -> None:
    """Plan the memory of any program: buffers with sizes and lifetimes in MiniMalloc's CSV format."""
    from . import allocation as allocating

    with_facts(
        context,
        json,
        out,
        lambda console: allocating.show_allocation(problem, strategy, capacity, time_limit, alignment, output, console),
    )


@app.command()
def bench(
    context: typer.Context,
    models: Annotated[
        list[str], typer.Argument(help=".onnx, .mlir and .mi files; of folders the .onnx in them.", metavar="MODEL")
    ],
    against: Annotated[
        str,
        typer.Option(
            metavar="PEERS",
            help="Of onnxruntime and openvino; or on a GPU of torch, torch-compile and onnxruntime-cuda.",
            show_default=False,
        ),
    ] = "",
    input: Files = None,
    seed: Seed = None,
    threads: Threads = None,
    dim: Dims = None,
    shape: Shapes = None,
    range: Spans = None,
    at: At = None,
    specialize: Specialize = None,
    cache: Caches = None,
    device: Device = "cpu",
    precision: Precision = "fp32",
    gpu: Gpu = None,
    emulator: Emulator = None,
    winograd: Winograd = "auto",
    beside: Annotated[
        str | None,
        typer.Option(metavar="NAME.npz", help="A file beside each model: inputs in.NAME, float64 results f64.NAME."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, metavar="N", help="Rounds of alternation.")] = 5,
    runs: Annotated[int, typer.Option(min=1, metavar="N", help="Inferences of each engine in a round.")] = 20,
    warmup: Annotated[
        int, typer.Option(min=0, metavar="N", help="Inferences of each engine that don't count, at first.")
    ] = 5,
    duration: Annotated[
        float | None,
        typer.Option(
            min=0.001, max=86400, metavar="SECONDS", help="Of each engine on a model, instead of a number of runs."
        ),
    ] = None,
    json: Json = None,
    chart: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw ratios and fractions of the limit: FILE.png, FILE.svg, FILE.pdf."),
    ] = None,
    profile: Annotated[bool, typer.Option("--profile", help="Show what each kernel takes, and what it could.")] = False,
    optimize: Optimize = True,
) -> None:
    """Time models beside other engines, each in a process of its own, and beside what the machine could do."""
    from .bench import benchmark as benching
    from .bench.models import Given
    from .bench.turns import Amount

    if duration is not None:
        _refuse(context, "with --duration", "runs")
    compiled = _is_compiled(context, *models)
    if range:
        _refuse(context, "with --range", "beside")
    if device == "cuda-emulated":
        _refuse(context, "with --device cuda-emulated, which has no clock", "profile")
    _check_winograd(context, optimize, *models)
    options = _options(context.params)
    if not compiled:
        _check_at(options, at)
    given = Given(input or [], seed, at_of(at), beside)
    wanted = benching.Wanted(profile, chart)
    amount = Amount(rounds, runs, warmup, duration)

    def work(console: Console) -> Facts:
        return benching.bench(models, options, _listed(against), given, amount, wanted, console)

    if with_facts(context, json, out, work)["failed"]:
        raise typer.Exit(WRONG)


@app.command()
def machine(context: typer.Context, threads: Threads = None, json: Json = None) -> None:
    """Measure what this machine reaches: multiply-adds and bytes from memory in a second."""
    from .bench.machine_report import show_machine

    with_facts(context, json, out, lambda console: show_machine(threads, console))


@app.command()
def tune(
    context: typer.Context,
    model: Model,
    seconds: Annotated[float, typer.Option(metavar="SECONDS", help="About how long to measure.")] = 60.0,
    again: Annotated[bool, typer.Option("--again", help="Measure what was measured before, too.")] = False,
    threads: Threads = None,
    dim: Dims = None,
    shape: Shapes = None,
    specialize: Specialize = None,
    cache: Caches = None,
    json: Json = None,
) -> None:
    """Measure how a model's kernels are best carried out on this machine; later compiles go by it."""
    from .reports.tuning_report import show_tuning

    given = {"threads": threads, "dim": dim, "shape": shape, "specialize": specialize, "cache": cache}
    options = _options(given)
    with_facts(context, json, out, lambda console: show_tuning(model, options, seconds, again, console))


@app.command()
def compare(
    context: typer.Context,
    model: Compiled,
    input: Files = None,
    seed: Seed = None,
    threads: Threads = None,
    dim: Dims = None,
    shape: Shapes = None,
    range: Spans = None,
    at: At = None,
    specialize: Specialize = None,
    cache: Caches = None,
    device: Device = "cpu",
    precision: Precision = "fp32",
    gpu: Gpu = None,
    emulator: Emulator = None,
    winograd: Winograd = "auto",
    tolerance: Annotated[
        float | None,
        typer.Option(
            min=0,
            metavar="ERROR",
            help="Largest accepted max|e| / max|reference|.",
            show_default="what rounding in its types allows",
        ),
    ] = None,
    of: Annotated[str | None, typer.Option(metavar="FILE", help="The model that a .mi file was compiled of.")] = None,
    json: Json = None,
) -> None:
    """Compare with the float64 reference and ONNX Runtime; name the first node that differs. Exit 1 if outputs do."""
    from .comparison import comparison as comparing

    if not _is_compiled(context, model, but="specialize"):
        _refuse(context, "without a .mi file", "of")
        options = _options(context.params)
        _check_at(options, at)
    elif of is None:
        raise ConfigError(f"{model} has no graph to compare with: name the model that it was compiled of with --of")
    else:
        options = _options(context.params)

    def work(console: Console) -> Facts:
        return comparing.compare(model, options, input or [], seed, tolerance, console, at_of(at), of)

    if not with_facts(context, json, out, work)["right"]:
        raise typer.Exit(WRONG)


@app.command()
def demo(
    model: Annotated[
        str, typer.Option(metavar="FILE", help="Where the demo's model is written.")
    ] = "build/resnet50.onnx",
    image: Annotated[int, typer.Option(min=32, metavar="N", help="Height and width of the picture.")] = 224,
    threads: Threads = None,
) -> None:
    """Build a ResNet-50 with seeded weights, compile it, run it, and show where its memory went."""
    from ..dialects.whole_file import whole_file
    from . import runs as running
    from .command_names import shell_name
    from .demos.resnet50 import resnet50
    from .reports import plan_summary as planning
    from .reports.tables import size_text

    start = time.perf_counter()
    with out.status("building a ResNet-50 with seeded weights"), whole_file(model) as stream:
        stream.write(resnet50(image).SerializeToString())
    size = size_text(Path(model).stat().st_size)
    out.print(f"built {model}, {size}, in {time.perf_counter() - start:.1f} s\n")
    engine, _ = running.run_compiled(model, _options({"threads": threads}), [], None, 20, None, out)
    planning.show_summary(engine.plan.memory, out)
    yours, inside = f"{shell_name('mini-infer')} run YOUR.onnx", f"{shell_name('mini-opt')} {quote(model)} --to kernels"
    hint = Text.assemble("\nNow yours: ", (yours, "bold"), "\nLook inside: ", (inside, "bold"))
    out.print(hint, soft_wrap=True)


def main() -> None:
    """Entry point of the command."""
    app(prog_name="mini-infer")


if __name__ == "__main__":
    main()
