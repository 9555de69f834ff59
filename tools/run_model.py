"""`mini-infer run`: compiles with progress, runs, and prints outputs, time and memory."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text
from xdsl.dialects.builtin import ModuleOp

from ..dialects.errors import ConfigError
from ..dialects.graph.blobs import MiniContext
from ..dialects.kernel.targets import CpuAttr
from ..lowering.levels import level_of
from ..lowering.pipelines import PassRun
from ..passes.kernels.choose_schedule import Choice, ChooseSchedule, choices_of
from ..runtime.compile.entry import compile
from ..runtime.compile.module_to_plan import pass_names, pass_phases
from ..runtime.compile.plan_builder import Builder, import_all
from ..runtime.compile.source import source_of
from ..runtime.compile.source_to_engine import build_engine
from ..runtime.config import EngineConfig
from ..runtime.engine import Engine
from ..runtime.kept.artifact import load
from ..runtime.module_interface import input_specs
from ..runtime.native.cpu_targets import apart_from_host
from ..runtime.specs import TensorSpec
from . import json_reports as facts
from .arrays import in_place, load_inputs, save_arrays
from .dumped_tensors import dump_tensors
from .json_reports import Facts
from .one_line_errors import tell
from .pass_report import pass_facts, pass_lines
from .reports.plan_tables import percent, size_text
from .schedule_table import choice_facts, choices_table
from .waiting import working

if TYPE_CHECKING:
    from .run_trace import CompileSteps

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


@dataclass(frozen=True)
class Compiled:
    """An engine, inputs for it, and the cost of compiling."""

    engine: Engine
    inputs: Mapping[str, Array]
    seconds: float
    choices: Sequence[Choice]
    imports: float | None  # seconds, of Python's modules, where they were imported apart


def compile_with_progress(
    model: str,
    options: Mapping[str, Any],
    files: Sequence[str],
    seed: int | None,
    console: Console,
    timing: bool = False,
    explain: bool = False,
    steps: CompileSteps | None = None,
) -> Compiled:
    """Compiles a model, after reading its inputs; on a terminal a bar shows the current pass.

    `steps` notes its passes.
    """
    config = EngineConfig.of(**options)
    imports = seconds(lambda: import_all(config)) if timing else None
    passes: list[PassRun] = []
    choices: list[Choice] = []
    names: list[str] = []
    ctx, foreign, generated = MiniContext(), "", 0.0
    inputs: Mapping[str, Array] = {}
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    start = time.perf_counter()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("import", total=None)

        def observer(done: PassRun, module: ModuleOp) -> None:
            passes.append(done)
            if steps is not None:
                steps(done, module)
            if done.name == ChooseSchedule.name:
                choices.extend(choices_of(ctx))
            progress.update(task, advance=1, description=[*names, "machine code"][len(passes)])

        def prepare(module: ModuleOp, own: MiniContext) -> None:
            nonlocal names, ctx, foreign, inputs, generated
            passes_to_come = pass_phases(config, module)
            if steps is not None:
                steps.imported(passes_to_come)
            names, ctx, foreign = [name for name, _ in passes_to_come], own, foreign_target(module)
            if explain and ChooseSchedule.name not in names:
                raise ConfigError(
                    f"--explain does nothing at the {level_of(module)} level: kernels have their schedules"
                )
            progress.update(task, total=len(names) + 1)
            before = time.perf_counter()
            inputs = load_inputs(files, input_specs(module), seed)
            generated += time.perf_counter() - before

        engine = build_engine(Builder(source_of(model), config, observer=observer, prepare=prepare))
        taken = time.perf_counter() - start - generated
    if foreign:
        tell("mini-infer", "note", f"{model} has kernels for another CPU than this: {foreign}")
    return Compiled(engine, inputs, taken, choices, imports)


def run_compiled(
    model: str,
    options: Mapping[str, Any],
    files: Sequence[str],
    seed: int | None,
    repeat: int,
    output: str | None,
    console: Console,
    timing: bool = False,
    explain: bool = False,
    keep: bool | None = None,
    trace: str | None = None,
    dump: str | None = None,
    tensors: Sequence[str] | None = None,
    perf_map: bool = False,
) -> tuple[Engine, Facts]:
    """Compiles and runs a model and prints a report; returns the engine, and the report for programs.

    The values of `tensors`, by default of all, are written to the file `dump`, if there is to be one.

    A file made by `mini-infer build` is loaded.
    """
    told = timing or explain or trace or options.get("check_memory", False) or Path(model).suffix == ".mlir"
    noted = None
    if trace is not None:
        from .run_trace import CompileSteps

        options, noted = {**options, "enable_profiling": True}, CompileSteps()
    if told:
        compiled = compile_with_progress(model, options, files, seed, console, timing, explain, noted)
    else:
        compiled = _opened(model, options, files, seed, console, keep)
    engine, plan, memory = compiled.engine, compiled.engine.plan, compiled.engine.plan.memory
    named = plan.write_perf_map() if perf_map else None
    outputs: dict[str, Array] = engine.tensors(compiled.inputs)
    kernels = len({call.kernel for call in plan.calls})
    found: dict[str, Any] = {
        **_model_facts(model, plan.inputs, outputs),
        "device": plan.config.place,
        "threads": plan.threads,
        "calls": len(plan.calls),
        "kernels": kernels,
        "found_compiled": not engine.statistics.seconds,
        "seconds": compiled.seconds,
        **pass_facts(engine.statistics),
        "memory": facts.memory(memory, plan.weights.nbytes),
    }
    console.print(
        Text.assemble((Path(model).name, "bold"), f": {len(plan.calls)} kernel calls of {kernels} kernels, ")
        + Text(_origin(compiled))
    )
    if named is not None:
        found["perf_map"] = str(named)
        console.print(f"names for perf: {named}")
    if timing:
        found["timing"] = steps = _steps(compiled)
        console.print(_timing_table(steps, compiled))
    if explain:
        found["schedules"] = choice_facts(compiled.choices)
        console.print(choices_table(compiled.choices))
        if reads := plan.program.reads:
            found["host_reads"] = reads
            console.print(f"the host reads what decides on loops and branches in {reads} places (mini-opt -t launches)")
    for line in pass_lines(engine.statistics):
        console.print(line)
    console.print(outputs_table(outputs))
    if engine.config.check_memory:
        found["memory_check"] = True  # it raises where it fails
        console.print("memory check: the same bits on poisoned memory, twice, and without any reuse of memory")
    elif (check := engine.config.check) is not None:
        found["check"] = check
        console.print(f"check: {'no NaN' if check == 'nan' else 'no infinity'} in the inputs, and none made by a call")
    else:
        found["latency"] = latency = latency_facts(times_of(engine, compiled.inputs, repeat))
        where = plan.config.place if plan.launches else f"{plan.threads} thread(s)"
        console.print(
            f"latency on {where}: median {latency['median_ms']:.3f} ms, min {latency['min_ms']:.3f} ms of {repeat}"
        )
    console.print(
        f"memory: weights {size_text(plan.weights.nbytes)}, arena {size_text(memory.arena_bytes)} "
        f"(lower bound {size_text(memory.lower_bound_bytes)}, without reuse {size_text(memory.total_bytes)}, "
        f"{percent(memory.saving)} saved)"
    )
    if trace is not None and noted is not None:
        from .run_trace import write_run_trace

        found["trace"] = traced = write_run_trace(model, engine, compiled.inputs, repeat, noted, trace)
        what = f"{traced['calls']} kernel calls of the last of {repeat} runs, and the compile"
        console.print(f"trace: {what}, in {trace}: open it at ui.perfetto.dev or chrome://tracing", soft_wrap=True)
    _save(output, outputs, console)
    if dump is not None:
        found["dumped"] = dump_tensors(dump, model, options, compiled.inputs, outputs, tensors, console)
    return engine, found


def _model_facts(model: str, inputs: Iterable[TensorSpec], outputs: Mapping[str, Array]) -> dict[str, Any]:
    return {"model": model, "inputs": facts.tensors(inputs), "outputs": output_facts(outputs)}


def output_facts(outputs: Mapping[str, Array]) -> list[dict[str, Any]]:
    """Names, types, shapes, and statistics of the values; none for empty outputs."""
    found: list[dict[str, Any]] = []
    for name, array in outputs.items():
        wide = array.astype(np.float64)
        numbers = {each: float(getattr(np, each)(wide)) for each in ("min", "mean", "max")} if array.size else {}
        found.append({**facts.arrays({name: array})[0], **numbers})
    return found


def latency_facts(times: Sequence[float]) -> dict[str, Any]:
    """Statistics of inference times in seconds."""
    return {"median_ms": statistics.median(times) * 1e3, "min_ms": min(times) * 1e3, "runs": len(times)}


def _opened(
    model: str, options: Mapping[str, Any], files: Sequence[str], seed: int | None, console: Console, keep: bool | None
) -> Compiled:
    """An engine from the cache, if there is one."""
    start = time.perf_counter()
    with working(console, "loading") as tell:
        if Path(model).suffix == ".mi":
            engine = load(model)
        else:
            engine = compile(model, cache=keep, progress=lambda step: tell(step.step), **options)
    taken = time.perf_counter() - start
    return Compiled(engine, load_inputs(files, engine.plan.inputs, seed), taken, [], None)


def _origin(compiled: Compiled) -> str:
    """The origin of the code: only a compile by this process has times."""
    taken = compiled.engine.statistics.seconds
    if not taken:
        return f"found compiled, loaded in {compiled.seconds:.2f} s"
    in_passes = sum(taken.get(name, 0.0) for name in dict.fromkeys(pass_names(compiled.engine.config)))
    return f"compiled in {compiled.seconds:.2f} s (passes {in_passes:.2f} s)"


def foreign_target(module: ModuleOp) -> str:
    """How the target of a module's kernels differs from this machine; "" if it doesn't."""
    target = module.attributes.get("kernel.target")
    return apart_from_host(target) if level_of(module) != "graph" and isinstance(target, CpuAttr) else ""


def run_reference(
    model: str, options: Mapping[str, Any], files: Sequence[str], seed: int | None, output: str | None, console: Console
) -> Facts:
    """Evaluates the imported graph op by op in numpy and prints the outputs; returns them for programs."""
    from ..dialects.graph.interpreter import interpret

    module, ctx = source_of(model).load(EngineConfig.of(**options))
    if level_of(module) not in ("graph", "kernels"):
        raise ConfigError(f"--reference evaluates tensors; the module is at the {level_of(module)} level")
    specs = input_specs(module)
    inputs = load_inputs(files, specs, seed)
    start = time.perf_counter()
    outputs = interpret(module, inputs, ctx.blobs)
    taken = time.perf_counter() - start
    console.print(Text.assemble((Path(model).name, "bold"), f" by reference in {taken:.2f} s"))
    console.print(outputs_table(outputs))
    _save(output, outputs, console)
    return {**_model_facts(model, specs, outputs), "seconds": taken}


def seconds(work: Callable[[], object]) -> float:
    """Measures the time of a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def times_of(engine: Engine, inputs: Mapping[str, Array], repeat: int) -> list[float]:
    """Seconds of `repeat` runs, which update caches in place."""
    caches = engine.config.caches
    given = in_place(inputs, engine(inputs), caches) if caches else inputs
    return [seconds(lambda: engine(given)) for _ in range(repeat)]


def _save(output: str | None, outputs: Mapping[str, Array], console: Console) -> None:
    if output is not None:
        save_arrays(output, outputs)
        console.print(f"outputs written to {output}")


def _steps(compiled: Compiled) -> list[dict[str, Any]]:
    """The time of a compile by step; the steps add up to the total. `beside` is the time in worker processes."""
    steps, beside = compiled.engine.statistics.seconds, compiled.engine.statistics.seconds_beside
    rest = {"rest": compiled.seconds - sum(steps.values())}
    found = steps | {name: steps.get(name, 0.0) for name in beside} | rest
    return [{"step": name, "seconds": taken, "beside": beside.get(name)} for name, taken in found.items()]


def _timing_table(steps: Iterable[Mapping[str, Any]], compiled: Compiled) -> Table:
    table = Table(box=None, padding=(0, 2))
    for title in ("step", "ms", "%", "in other processes"):
        table.add_column(title, justify="left" if title == "step" else "right")
    for each in steps:
        aside = "" if each["beside"] is None else f"{each['beside'] * 1e3:.0f}"
        taken = each["seconds"]
        table.add_row(each["step"], f"{taken * 1e3:.1f}", f"{taken / compiled.seconds:.1%}", aside)
    table.add_row("compile", f"{compiled.seconds * 1e3:.1f}", "100%", "")
    if compiled.imports is not None:
        table.add_row("before: Python's modules", f"{compiled.imports * 1e3:.1f}", "", "")
    return table


def outputs_table(outputs: Mapping[str, Array]) -> Table:
    """The outputs: their types, shapes and statistics of values."""
    table = Table(box=None, padding=(0, 2))
    for title in ("output", "type", "shape", "min", "mean", "max"):
        table.add_column(title, justify="right" if title in ("min", "mean", "max") else "left")
    for each in output_facts(outputs):
        shape = "x".join(map(str, each["shape"])) or "scalar"
        numbers = [f"{each[name]:.5g}" for name in ("min", "mean", "max") if name in each]
        table.add_row(each["name"], each["type"], shape, *numbers)
    return table
