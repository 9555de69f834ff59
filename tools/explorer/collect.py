"""Compiles a model while everything about the compile is noted, runs it, and makes the record.

The compile is that of `mini_infer.compile` with three differences: it is observed after each pass, LLVM makes the
object code by way of assembly text, which is kept, and each kernel is timed, unless that is not wanted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from typing_extensions import Unpack
from xdsl.dialects.builtin import ModuleOp

from ...dialects.arguments import check_kind, checked_mapping, shown
from ...dialects.errors import ConfigError, InvalidInputError
from ...dialects.graph.blobs import MiniContext
from ...dialects.graph.host import kernels_of
from ...dialects.graph.model_nodes import ModelNode, model_nodes
from ...dialects.kernel.kernel_attributes import FormAttr
from ...dialects.kernel.targets import target_of
from ...lowering.gpu_to_cuda.device_program import Launch
from ...lowering.levels import level_of
from ...lowering.onnx_to_graph.model_file import ModelSource
from ...passes.kernels.schedules import schedule_of
from ...passes.memory.report.memory_report import MemoryPlan, memory_plan
from ...runtime.compile.engine_phases import engine_phases
from ...runtime.compile.plan_builder import Builder
from ...runtime.compile.source import ModuleSource, Source, configured_source
from ...runtime.compile.source_to_engine import build_engine
from ...runtime.config import CompileOptions, EngineConfig
from ...runtime.devices.cpu.machine_limits import LimitProbe, MachineLimits
from ...runtime.inputs import checked
from ...runtime.module_interface import input_specs
from ...runtime.native.code_listing import CodeListing
from ...runtime.option_declarations import options_of
from ...runtime.specs import TensorSpec
from ..arrays import seeded_inputs
from ..bench.kernel_times import timed_calls, what_is_done
from ..reports.rectangles import blocks_of
from .compile_record import CompileRecord
from .pass_recorder import LAUNCHES, LOOPS, PassRecorder, line_of
from .record_data import Block, Memory, Pass, Step, numbers_of
from .record_graph import graph_of, tie_steps
from .record_texts import TextWriter
from .value_tensors import LineUse, ValueTensors

LEVELS = ("import", "graph", "kernels", "buffers", "arena", "loops", "launches")
RUNS = 20


@dataclass
class _Arena:
    """What is read of the module at the arena's level."""

    plan: MemoryPlan
    nodes: Sequence[ModelNode]
    steps: list[Step]
    kernels: list[str]
    """By step, the kernel's name; "" for a load."""
    target: str


def explore(
    model: ModelSource,
    inputs: Mapping[str, Any] | None = None,
    threads: int | None = None,
    *,
    measure: bool = True,
    **options: Unpack[CompileOptions],
) -> CompileRecord:
    """Compiles a model as `compile` does, and returns all that there is to tell about the compile.

        mi.explore("resnet50.onnx").write("resnet50.html")

    Its levels, what each pass changed, machine code, the memory plan, and with `measure` the time of each kernel on
    `inputs`, arrays by name, or random ones. For one shape. Raises as `compile` does, and ConfigError for several
    shapes, and for a module below the arena's level.
    """
    given: Mapping[str, Any] = {} if inputs is None else checked_mapping("inputs", inputs, "inputs")
    check_kind("measure", measure, bool)

    def inputs_of(specs: Sequence[TensorSpec]) -> Mapping[str, Any]:
        missing = {spec.name for spec in specs} - given.keys()
        if given and missing:
            raise InvalidInputError(f"input '{min(missing)}' is missing")
        return {spec.name: checked(spec, given[spec.name]) for spec in specs} if given else seeded_inputs(specs, 0)

    return record_of(model, EngineConfig.of(threads=threads, **options), inputs_of, measure=measure)


def record_of(
    model: ModelSource,
    config: EngineConfig,
    inputs: Callable[[Sequence[TensorSpec]], Mapping[str, Any]],
    *,
    measure: bool = True,
    now: Callable[[str], object] = lambda what: None,
) -> CompileRecord:
    """The record of a compile; `inputs` are asked for once they are known, and `now` is told what is being done."""
    source, config = configured_source(model, config)
    if config.is_dynamic:
        raise ConfigError("one shape is explored: give sizes with --dim instead of ranges")
    if config.check_memory:
        raise ConfigError("check_memory compiles a model twice, of which none is explored")
    return _Collector(source, config, inputs, measure, now).record()


class _Collector:
    """One compile and its record."""

    def __init__(
        self,
        source: Source,
        config: EngineConfig,
        inputs: Callable[[Sequence[TensorSpec]], Mapping[str, Any]],
        measure: bool,
        now: Callable[[str], object],
    ) -> None:
        self._source, self._config = source, config
        self._wanted, self._now = inputs, now
        has_clock = config.place != "cuda-emulated"
        self._measured = measure and has_clock
        self._recorder = PassRecorder(engine_phases(config), self._note_arena, self._note_code)
        self._arena: _Arena | None = None
        self._inputs: Mapping[str, Any] = {}
        self._loops: dict[int, LineUse] = {}
        self._cuda = ""
        self._launches: Sequence[Launch] = ()

    def record(self) -> CompileRecord:
        """Compiles, runs, and makes the record."""
        if isinstance(self._source, ModuleSource):
            module, _ = self._source.load(self._config)
            if level_of(module) in (LOOPS, LAUNCHES, "llvm"):
                raise ConfigError(f"{self._source.name} is below the arena's level, where nothing of its graph is left")
        config = replace(self._config, enable_profiling=True) if self._measured else self._config
        listing = CodeListing(line_of)

        def prepare(module: ModuleOp, ctx: MiniContext) -> None:
            self._inputs = self._wanted(input_specs(module))
            self._recorder.prepare(module, ctx)

        self._now("compile")
        start = time.perf_counter()
        builder = Builder(self._source, config, observer=self._recorder.after, prepare=prepare, listing=listing)
        engine = build_engine(builder)
        seconds = time.perf_counter() - start
        assert self._arena is not None
        plan = engine.plan
        run_us = outside = None
        if self._measured:
            self._now("measure")
            probe = LimitProbe(plan.threads) if plan.config.place == "cpu" else None
            before = None if probe is None else probe.measure()  # and after: others use the machine, too
            times, run_us = timed_calls(plan, self._inputs, RUNS)
            outside = run_us - sum(each.nanoseconds for each in times) / 1e3
            called = [step for step, kernel in zip(self._arena.steps, self._arena.kernels, strict=True) if kernel]
            calls = [each.call for each in plan.launches] or range(len(called))  # a call may be several launches
            for call, each in zip(calls, times, strict=True):
                called[call].us = (called[call].us or 0.0) + each.nanoseconds / 1e3
                called[call].runs = each.runs
            if probe is not None:
                best = probe.measure().best(probe.measure()).best(before)
                for step in called:
                    _limit(step, best)
        return self._made(plan, listing, seconds, run_us, outside)

    def _note_arena(self, module: ModuleOp) -> None:
        plan = memory_plan(module)
        kernels, target = kernels_of(module), target_of(module)
        live = [each.live for each in plan.step_records()]
        done = {name: what_is_done(kernel, target) for name, kernel in kernels.items()}
        steps: list[Step] = []
        names: list[str] = []
        for number, name in enumerate(plan.steps):
            made = Step(name, [], [], [], [], live[number])
            kernel = kernels.get(name)
            if kernel is not None:
                schedule = schedule_of(kernel, target.device)
                made.schedule = schedule.name
                options = {each.name: getattr(schedule, each.name) for each in fields(schedule)}
                made.options = ", ".join(f"{key} = {value}" for key, value in options.items())
                made.form = kernel.form.kind.data if isinstance(kernel.form, FormAttr) else ""
                told = done[name]
                made.flops, made.bytes, made.estimated_us = told["flops"], told["bytes"], told["estimated_us"]
            names.append(name if kernel is not None else "")
            steps.append(made)
        self._arena = _Arena(plan, model_nodes(module), steps, names, str(target))

    def _note_code(self, module: ModuleOp) -> None:
        """What lines access, or the text for a GPU, while the module is whole."""
        if "loops" in self._recorder.texts:
            self._loops = ValueTensors(module).of_lines(self._recorder.texts["loops"].ops)
        else:
            from ...lowering.gpu_to_cuda.cuda_text import cuda_text
            from ...lowering.gpu_to_cuda.launch_list import launch_list
            from ...lowering.gpu_to_cuda.names import prelude

            self._cuda = cuda_text(module).removeprefix(prelude()).lstrip("\n")
            self._launches = launch_list(module)

    def _made(
        self, plan: Any, listing: CodeListing, seconds: float, run_us: float | None, outside: float | None
    ) -> CompileRecord:
        assert self._arena is not None
        memory = self._arena.plan
        nodes, tensors, named = graph_of(self._arena.nodes, memory, plan)
        steps = self._arena.steps
        tie_steps(nodes, named, tensors, steps, memory, self._recorder.choices)
        writer = TextWriter(nodes, tensors, steps, self._arena.kernels, self._launches)
        texts = [
            writer.text(level, self._recorder.texts[level])
            for level in LEVELS
            if level in self._recorder.texts and level != "loops"
        ]
        if "loops" in self._recorder.texts:
            called = [number for number, kernel in enumerate(self._arena.kernels) if kernel]
            texts += writer.machine_texts(self._recorder.texts["loops"].lines, self._loops, called, listing)
        if self._cuda:
            texts.append(writer.cuda(self._cuda.rstrip("\n").split("\n")))
        passes = [
            Pass(
                each.name,
                each.level,
                each.seconds,
                each.before,
                each.after,
                [(sign, text, writer.mark(facts, final=False)) for sign, text, facts in each.changes],
            )
            for each in self._recorder.passes
        ]
        numbers = numbers_of([each.name for each in tensors])
        blocks = [
            Block(
                each.kind, each.start, each.end, each.low, each.high,
                None if each.tensor is None else numbers[each.tensor.name],
            )
            for each in blocks_of(memory)
        ]  # fmt: skip
        return CompileRecord(
            title=_title(self._source.path),
            model=str(self._source.path or ""),
            target=self._arena.target,
            options=_given(self._config),
            threads=plan.threads,
            seconds=seconds,
            run_us=run_us,
            outside_us=outside,
            nodes=nodes,
            tensors=tensors,
            steps=steps,
            texts=texts,
            passes=passes,
            marks=writer.marks.entries,
            memory=Memory(
                arena=memory.arena_bytes,
                lower_bound=memory.lower_bound_bytes,
                binding_step=memory.binding_step,
                optimal=memory.optimal,
                strategy=memory.strategy,
                order_bound=memory.order_bound_bytes,
                without_reuse=memory.total_bytes,
                weights=plan.weights.nbytes,
                inputs=sum(each.nbytes for each in plan.inputs),
                outputs=sum(each.nbytes for each in plan.outputs),
                blocks=blocks,
                loops=list(memory.loops),
                alignment=memory.alignment,
            ),
        )


def _limit(step: Step, limits: MachineLimits) -> None:
    """The least time that the machine's limits allow for a step."""
    flops, nbytes = step.flops * step.runs, step.bytes * step.runs
    step.limit_us = limits.seconds(flops, nbytes) * 1e6
    step.limited_by = "arithmetic" if limits.limiting(flops, nbytes) == "compute" else "memory"


def _given(config: EngineConfig) -> dict[str, str]:
    """The options that are not at their defaults."""
    return {
        name: value if isinstance(value := getattr(config, name), str) else shown(value)
        for name, each in options_of(EngineConfig).items()
        if getattr(config, name) != each.default
    }


def _title(path: Path | None) -> str:
    """What a model is called: by its file, with the folder where many are called "model.onnx"."""
    if path is None:
        return "model"
    return f"{path.resolve().parent.name}/{path.name}" if path.stem == "model" else path.name
