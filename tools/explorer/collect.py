"""Compiles a model while everything about the compile is noted, runs it, and makes the record.

The compile is that of `mini_infer.compile` with three differences: it is observed after each pass, LLVM makes the
object code by way of assembly text, which is kept, and each kernel is timed, unless that is not wanted.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, cast

from typing_extensions import Unpack
from xdsl.dialects.builtin import ModuleOp

from ...dialects.errors import ConfigError, InvalidInputError
from ...dialects.graph.blobs import MiniContext
from ...dialects.graph.host import kernels_of
from ...dialects.graph.model_nodes import ModelNode, model_nodes
from ...dialects.kernel.kernel_attributes import FormAttr
from ...dialects.kernel.targets import target_of
from ...lowering.gpu_to_cuda.launch_list import Launch
from ...lowering.onnx_to_graph.model_file import ModelSource
from ...passes.kernels.choose_schedule import Choice
from ...passes.kernels.schedules import schedule_of
from ...passes.memory.report.memory_report import MemoryPlan, memory_plan
from ...passes.work_bounds import work_of_kernel
from ...runtime.compile.engine_phases import engine_phases
from ...runtime.compile.plan_builder import Builder
from ...runtime.compile.source import Source, configured_source
from ...runtime.compile.source_to_engine import build_engine
from ...runtime.config import CompileOptions, EngineConfig
from ...runtime.devices.cpu.machine_limits import LimitProbe, MachineLimits
from ...runtime.inputs import checked
from ...runtime.module_interface import input_specs
from ...runtime.native.code_listing import CodeListing
from ...runtime.option_declarations import options_of
from ...runtime.specs import TensorSpec
from ..arrays import seeded_inputs
from ..bench.kernel_times import timed_calls
from ..reports.rectangles import blocks_of
from .compile_record import CompileRecord
from .pass_recorder import LineFacts, PassRecorder, RecordedText, line_of
from .record_data import Block, Marks, Memory, Node, Pass, Step, Tensor, Text, numbers_of
from .value_tensors import ValueTensors

_DIRECTIVE = re.compile(r'#line \d+ (".*")$')
_KERNEL = re.compile(r'extern "C" __global__ .*?(\w+)\([^()]*\) \{$')
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
    given = dict(inputs or {})

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
        self._recorder = PassRecorder(engine_phases(config), self._note_arena)
        self._recorder.at_code = self._note_code
        self._arena: _Arena | None = None
        self._inputs: Mapping[str, Any] = {}
        self._loops: dict[int, tuple[frozenset[int], frozenset[tuple[int, str]]]] = {}
        self._cuda = ""
        self._launches: Sequence[Launch] = ()

    def record(self) -> CompileRecord:
        """Compiles, runs, and makes the record."""
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
        if self._arena is None:
            raise ConfigError(f"{self._source.name} is below the arena's level, where nothing of its graph is left")
        plan = engine.plan
        run_us = outside = None
        if self._measured:
            self._now("measure")
            times, run_us = timed_calls(plan, self._inputs, RUNS)
            outside = run_us - sum(each.nanoseconds for each in times) / 1e3
            limits = None
            if plan.config.place == "cpu":
                limits = LimitProbe(plan.threads).measure()
            called = [step for step, kernel in zip(self._arena.steps, self._arena.kernels, strict=True) if kernel]
            for step, each in zip(called, times, strict=True):
                step.us, step.runs = each.nanoseconds / 1e3, each.runs
                if limits is not None:
                    _limit(step, limits)
        return self._made(plan, listing, seconds, run_us, outside)

    def _note_arena(self, module: ModuleOp) -> None:
        plan = memory_plan(module)
        kernels, target = kernels_of(module), target_of(module)
        live = [each.live for each in plan.step_records()]
        steps: list[Step] = []
        names: list[str] = []
        for number, name in enumerate(plan.steps):
            made = Step(name, [], [], [], [], live[number])
            kernel = kernels.get(name)
            if kernel is not None:
                schedule = schedule_of(kernel, target.device)
                work = work_of_kernel(kernel)
                made.schedule = schedule.name
                options = {each.name: getattr(schedule, each.name) for each in fields(schedule)}
                made.options = ", ".join(f"{key} = {value}" for key, value in options.items())
                made.form = kernel.form.kind.data if isinstance(kernel.form, FormAttr) else ""
                made.flops, made.bytes = work.flops, work.nbytes
                made.estimated_us = schedule.cost(kernel, target) * 1e6
            names.append(name if kernel is not None else "")
            steps.append(made)
        self._arena = _Arena(plan, model_nodes(module), steps, names, str(target))

    def _note_code(self, module: ModuleOp) -> None:
        """What lines access, or the text for a GPU, while the module is whole."""
        if "loops" in self._recorder.texts:
            values = ValueTensors(module)
            self._loops = {line: values.of(op) for line, op in self._recorder.texts["loops"].ops.items()}
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
        nodes, tensors = _graph(self._arena.nodes, memory, plan)
        steps = self._arena.steps
        _tie(nodes, tensors, steps, memory, self._recorder.choices)
        writer = _TextWriter(nodes, tensors, steps, self._arena.kernels, self._launches)
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
                inputs=sum(each.bytes for each in tensors if each.role == "input"),
                outputs=sum(each.bytes for each in tensors if each.role == "output"),
                blocks=blocks,
                loops=list(memory.loops),
            ),
        )


def _limit(step: Step, limits: MachineLimits) -> None:
    """The least time that the machine's limits allow for a step."""
    arithmetic = limits.seconds(step.flops * step.runs, 0) * 1e6
    moving = limits.seconds(0, step.bytes * step.runs) * 1e6
    step.limit_us = max(arithmetic, moving)
    step.limited_by = "arithmetic" if arithmetic >= moving else "memory"


def _given(config: EngineConfig) -> dict[str, str]:
    """The options that are not at their defaults."""
    return {
        name: str(getattr(config, name))
        for name, each in options_of(EngineConfig).items()
        if getattr(config, name) != each.default
    }


def _graph(model: Sequence[ModelNode], memory: MemoryPlan, plan: Any) -> tuple[list[Node], list[Tensor]]:
    """The nodes of the ONNX graph, and its tensors and the plan's."""
    records = {each.name: each for each in memory.tensors}
    removed = {each.name: each for each in memory.removed}
    tensors: dict[str, Tensor] = {}
    dtypes = {spec.name: str(spec.dtype) for spec in (*plan.inputs, *plan.outputs)}

    def add(name: str, shape: Sequence[int] | None, nbytes: int, *, of_model: bool) -> None:
        made = tensors.setdefault(
            name,
            Tensor(name, None if shape is None else list(shape), dtypes.get(name, ""), nbytes, "removed", of_model),
        )
        if (record := records.get(name)) is not None:
            made.shape = made.shape or list(record.shape)
            made.bytes, made.dtype = record.bytes, record.dtype
            made.role, made.offset, made.end = record.role, record.offset, record.end
            made.birth, made.death, made.buffer = record.birth, record.death, record.buffer
            made.inplace, made.read_at = record.inplace, list(record.read_at)
        elif (gone := removed.get(name)) is not None:
            made.fate, made.steps = gone.text, list(gone.steps)

    for spec in (*plan.inputs, *plan.outputs):
        add(spec.name, spec.shape, spec.nbytes, of_model=True)
    for node in model:
        for each in node.outputs:
            add(each.name, each.shape, each.bytes, of_model=True)
    for record in memory.tensors:
        add(record.name, record.shape, record.bytes, of_model=record.name in tensors)
    for node in model:
        for name in node.inputs:
            if name:
                add(name, None, 0, of_model=True)
    number = numbers_of(list(tensors))
    for name, record in records.items():
        tensors[name].shared = [number[other] for other in record.shared_with]
    for name, gone in removed.items():
        if gone.into in number:
            tensors[name].same = number[gone.into]
    nodes: list[Node] = []
    for node in model:
        if not node.operator:  # an initialiser
            tensors[node.name].role = "weight"
            continue
        inputs = [number[name] for name in node.inputs if name]
        outputs = [number[each.name] for each in node.outputs]
        for each in outputs:
            list(tensors.values())[each].node = len(nodes)
        for each in inputs:
            list(tensors.values())[each].readers.append(len(nodes))
        nodes.append(Node(node.name, node.operator, inputs, outputs, []))
    return nodes, list(tensors.values())


def _tie(
    nodes: Sequence[Node],
    tensors: Sequence[Tensor],
    steps: Sequence[Step],
    memory: MemoryPlan,
    choices: Sequence[Choice],
) -> None:
    """Ties steps to nodes and tensors, and to the schedules that they could have had."""
    node, tensor = numbers_of([each.name for each in nodes]), numbers_of([each.name for each in tensors])
    considered = {
        each.kernel: [(schedule.name, seconds * 1e6) for schedule, seconds in each.candidates] for each in choices
    }
    for number, (step, names) in enumerate(zip(steps, memory.step_nodes, strict=True)):
        step.nodes = [node[name] for name in names if name in node]
        for each in step.nodes:
            nodes[each].steps.append(number)
        step.candidates = considered.get(step.kernel, [])
    for record in memory.tensors:
        own = tensor[record.name]
        for at in record.read_at:
            steps[at].reads.append(own)
        if record.role in ("intermediate", "output", "scratch") and record.kernel:
            tensors[own].steps = [record.birth]
            (steps[record.birth].scratch if record.role == "scratch" else steps[record.birth].writes).append(own)


class _TextWriter:
    """Texts with marks."""

    def __init__(
        self,
        nodes: Sequence[Node],
        tensors: Sequence[Tensor],
        steps: Sequence[Step],
        kernels: Sequence[str],
        launches: Sequence[Launch],
    ) -> None:
        self.marks = Marks()
        self._nodes, self._tensors, self._steps = nodes, tensors, steps
        self._node = numbers_of([each.name for each in nodes])
        self._tensor = numbers_of([each.name for each in tensors])
        self._calls: dict[str, list[int]] = {}
        for number, kernel in enumerate(kernels):
            if kernel:
                self._calls.setdefault(kernel, []).append(number)
        self._launched: dict[str, list[int]] = {}
        called = [number for number, kernel in enumerate(kernels) if kernel]
        for each in launches:
            self._launched.setdefault(each.kernel, []).append(called[each.call])

    def mark(self, facts: LineFacts | None, *, final: bool) -> int:
        """The mark of a line, of a text whose calls are the `final` ones or are numbered otherwise."""
        if facts is None:
            return -1
        nodes = [self._node[name] for name in facts.nodes if name in self._node]
        tensors = [self._tensor[name] for name in (*facts.tensors, *facts.nodes) if name in self._tensor]
        steps: list[int] = [] if facts.of_call is None or not final else [facts.of_call]
        if facts.kernel:
            steps += self._launched.get(facts.kernel, self._calls.get(facts.kernel, ()))
            nodes = self._in_all_calls(nodes, steps)
        if not tensors and not facts.kernel:
            tensors = [output for each in nodes for output in self._nodes[each].outputs]
        return self.marks.number(nodes, steps, tensors)

    def _in_all_calls(self, nodes: Sequence[int], steps: Sequence[int]) -> list[int]:
        """The nodes that a line of a kernel stands for in each of its calls, given those of its first call."""
        found = [*nodes]
        first = next((self._steps[step].nodes for step in steps if set(nodes) & set(self._steps[step].nodes)), None)
        for step in steps if first is not None else ():
            others = self._steps[step].nodes
            if first is not None and len(others) == len(first):
                found += (others[first.index(each)] for each in nodes if each in first)
        return found

    def text(self, level: str, text: RecordedText) -> Text:
        """A level's text."""
        final = level in ("arena", "launches")
        marks = [self.mark(text.facts.get(line), final=final) for line in range(1, len(text.lines) + 1)]
        return Text(level, text.lines, marks)

    def machine_texts(
        self,
        loops: Sequence[str],
        facts: Mapping[int, tuple[frozenset[int], frozenset[tuple[int, str]]]],
        called: Sequence[int],
        listing: CodeListing,
    ) -> list[Text]:
        """The loops, LLVM IR and assembly; a line of the latter two has the mark of the line that it comes from.

        A line that comes from none, such as those of a function's entry, has that of its function.
        """
        nothing: tuple[frozenset[int], frozenset[tuple[int, str]]] = frozenset(), frozenset()
        marks = [self._mark_of_loops(*facts.get(line, nothing), called) for line in range(1, len(loops) + 1)]
        texts = [Text("loops", list(loops), marks)]
        above = marks
        for level, lines, sources in (
            ("llvm", listing.llvm_ir, listing.llvm_ir_sources),
            ("assembly", listing.assembly, listing.assembly_sources),
        ):
            above = [above[source - 1] if source else -1 for source in sources]
            texts.append(Text(level, lines, above, list(sources)))
        return texts

    def cuda(self, lines: Sequence[str]) -> Text:
        """CUDA C++: a line belongs to the launches of its function, and to the node that the last directive names."""
        steps: list[int] = []
        node: list[int] = []
        marks: list[int] = []
        shown: list[str] = []
        for line in lines:
            if (directive := _DIRECTIVE.match(line)) is not None:
                name = cast("str", json.loads(directive[1]))
                node = [self._node[name]] if name in self._node else []
                continue
            if (head := _KERNEL.match(line)) is not None:
                steps = self._launched.get(head[1], [])
            shown.append(line)
            marks.append(self.marks.number(self._in_all_calls(node, steps), steps))
            if line == "}":
                steps, node = [], []
        return Text("cuda", shown, marks)

    def _mark_of_loops(self, calls: frozenset[int], accessed: frozenset[tuple[int, str]], called: Sequence[int]) -> int:
        steps = [called[call] for call in calls if call < len(called)]
        tensors = {
            tensor
            for call, name in accessed
            for tensor in self._of_call(self._tensor.get(name), called[call] if call >= 0 else None)
        }
        return self.marks.number((), steps, tensors)

    def _of_call(self, tensor: int | None, step: int | None) -> set[int]:
        """The tensors of a step that lie in a buffer which the code knows by the name of one tensor in it."""
        if tensor is None or step is None:
            return set() if tensor is None else {tensor}
        own = {*self._steps[step].reads, *self._steps[step].writes, *self._steps[step].scratch}
        return own & {tensor, *self._tensors[tensor].shared} or {tensor}


def _title(path: Path | None) -> str:
    """What a model is called: by its file, with the folder where many are called "model.onnx"."""
    if path is None:
        return "model"
    return f"{path.resolve().parent.name}/{path.name}" if path.stem == "model" else path.name
