"""The tuner: measures candidate schedules of a model's kernels on this machine, and stores the fastest.

A kernel is extracted from its model and compiled alone, once for each candidate of choose-schedule that is not expected
to be far slower than the best, and for the neighbours of the best. The candidates are run in alternation on the same
inputs: repeatedly ("hot"), and after reading as many other bytes as the model has weights, with inputs and outputs back
in the caches, as after other kernels ("cold"). Which of the two decides depends on whether the model's weights fit a
core's cache. Kernels are tried in the order of their estimated share of an inference, until the time is over; equal
kernels are tried once.
"""

from __future__ import annotations

import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue

from ...dialects.errors import ConfigError, MiniInferError
from ...dialects.graph.base import node_name
from ...dialects.graph.blobs import MiniContext, blobs_of
from ...dialects.graph.host import NAME, kernels_of, main_of, state_level
from ...dialects.graph.ops.structure import CallOp, KernelOp, WeightOp
from ...dialects.graph.values import element_type_of_value, numpy_dtype, shape_of, type_of
from ...dialects.kernel.targets import Target, cpu_of
from ...lowering.levels import level_of
from ...lowering.pipelines import parse_passes, run_passes
from ...passes.kernels.choose_schedule import ChooseSchedule, candidates_of
from ...passes.kernels.kernel_facts import constant_operands
from ...passes.kernels.measured_schedules import kernel_key
from ...passes.kernels.schedules import AnySchedule
from ..compute_device import compute_device
from ..config import EngineConfig
from ..devices.cpu.machine_limits import LimitProbe
from ..kept.cpus import host_cpu
from ..kept.tuning_store import Decision, Tried, TuningStore
from ..module_interface import input_specs, output_specs
from ..plan import ExecutionContext
from ..specs import TensorSpec
from .engine_phases import engine_phases
from .module_to_plan import build_plan
from .source import Source, source_of

if TYPE_CHECKING:
    from ...lowering.onnx_to_graph.model_file import ModelSource

LEAST_SHARE = 0.005
"""Of the model's time by estimates, below which a kernel is not tried."""
FAR = 8.0
"""Times the cheapest estimate from which on a candidate is not tried."""
WORTHWHILE = 0.95
"""Part of what the cheapest by estimate takes, below which another is taken instead.

With 0.97 whole models were 0.99 to 1.01 times as fast as without a tuner: noise decided (Zen 5).
"""
ROUNDS = 5
TURN = 0.02
"""Seconds of a candidate's turn in a round."""
MOST_OTHER_BYTES = 256 << 20

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


@dataclass(frozen=True)
class Times:
    """Seconds of a run: the median over rounds of the fastest run of each."""

    hot: float
    cold: float


@dataclass(frozen=True)
class Variant:
    """A kernel with one schedule, and the context of its model."""

    kernel: KernelOp
    schedule: AnySchedule
    target: Target
    config: EngineConfig
    other_bytes: int = 0
    """Bytes of the model's weights, which are read before a cold run."""


Measure: TypeAlias = Callable[[Sequence[Variant]], "Sequence[Times | str]"]
"""Times variants of one kernel, or says why one can't be."""


@dataclass(frozen=True)
class TunedKernel:
    """The result for a kernel: its number of calls in the model, and the measurements, new or stored."""

    kernel: str
    node: str
    calls: int
    share: float
    """Of the model's time, by estimates."""
    decision: Decision = field(repr=False)
    measured_now: bool


@dataclass(frozen=True)
class TuningReport:
    """Kernels by their share of the model, whether weights were cold, and the number left out for lack of time."""

    kernels: tuple[TunedKernel, ...] = field(repr=False)
    cold: bool
    left: int
    inputs: tuple[TensorSpec, ...] = ()
    outputs: tuple[TensorSpec, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The fields for programs."""
        rows = [
            {
                "kernel": each.kernel,
                "node": each.node,
                "calls": each.calls,
                "share": each.share,
                "measured_now": each.measured_now,
                "taken": each.decision.taken,
                "candidates": [vars(tried) for tried in each.decision.candidates],
            }
            for each in self.kernels
        ]
        return {"decided_by": "cold_us" if self.cold else "hot_us", "left": self.left, "kernels": rows}


def tune(
    model: ModelSource | Source,
    config: EngineConfig,
    seconds: float,
    *,
    again: bool = False,
    store: TuningStore | None = None,
    measure: Measure | None = None,
    now: Callable[[str], None] = lambda _: None,
) -> TuningReport:
    """Measures a model's kernels for about `seconds`, and stores the fastest schedules for later compiles.

    Stored measurements are reused without taking time, unless `again`. Raises ConfigError for a model that can't be
    tuned, and the errors of compile.
    """
    if config.is_dynamic:
        raise ConfigError("tune is for one shape; with a profile, or dynamic shapes, there are many")
    if compute_device(config.place).kind != "cpu":
        raise ConfigError(f"tune does nothing on the device '{config.place}'")
    store = store or TuningStore.of(host_cpu().model)
    now("passes")
    module, ctx = source_of(model).load(config)
    inputs, outputs = input_specs(module), output_specs(module)
    before_schedules(module, ctx, config)
    target, kernels = cpu_of(module), kernels_of(module)
    calls = [call for call in main_of(module).body.walk() if isinstance(call, CallOp)]
    counts = Counter(call.callee.string_value() for call in calls)
    nodes = {call.callee.string_value(): node_name(call) for call in reversed(calls)}
    weights = sum(blob.nbytes.data for blob in {*blobs_of(module)})
    found = {name: candidates_of(each, target) for name, each in kernels.items()}
    costs = {name: min(cost for _, cost in each) * counts[name] for name, each in found.items() if each}
    whole = sum(costs.values()) or 1.0
    cold = weights > target.l2.data
    measure = measure or Bench()
    known = {} if again else store.load()
    deadline = time.monotonic() + seconds
    done: list[TunedKernel] = []
    left = 0
    for name in sorted(costs, key=lambda name: -costs[name]):
        ways = worth_trying(kernels[name], target, found[name])
        if len(ways) < 2 or costs[name] < LEAST_SHARE * whole:
            continue
        key = kernel_key(kernels[name], target)
        measured_now = key not in known
        if measured_now and time.monotonic() >= deadline:
            left += 1
            continue
        if measured_now:
            now(f"{name}, {len(ways)} candidates")
            variants = [Variant(kernels[name], way, target, config, weights) for way, _ in ways]
            known[key] = decided(name, ways, measure(variants), cold)
            store.add({key: known[key]})
        done.append(TunedKernel(name, nodes[name], counts[name], costs[name] / whole, known[key], measured_now))
    return TuningReport(tuple(done), cold, left, inputs, outputs)


def before_schedules(module: ModuleOp, ctx: MiniContext, config: EngineConfig) -> None:
    """Lowers a module to the point before choose-schedule."""
    if level_of(module) != "graph":
        raise ConfigError(f"tune does nothing at the {level_of(module)} level: kernels have their schedules")
    module.attributes["kernel.target"] = compute_device(config.place).target(config)
    passes = [each for phase in engine_phases(config) for each in parse_passes(phase.passes)]
    chosen = next(index for index, each in enumerate(passes) if isinstance(each, ChooseSchedule))
    run_passes(ctx, module, passes[:chosen])


def worth_trying(
    kernel: KernelOp, target: Target, candidates: Sequence[tuple[AnySchedule, float]]
) -> list[tuple[AnySchedule, float]]:
    """The candidate with the lowest estimate, its neighbours, and the others that may not be far slower."""
    if not candidates:
        return []
    ranked = sorted(candidates, key=lambda each: each[1])
    best, cheapest = ranked[0]
    near = [each for each in ranked if each[1] <= FAR * cheapest]
    near += [(each, each.cost(kernel, target)) for each in best.neighbours(kernel, target)]
    return list({each[0].attribute(): each for each in reversed(near)}.values())[::-1]


def decided(
    kernel: str, ways: Sequence[tuple[AnySchedule, float]], times: Sequence[Times | str], cold: bool
) -> Decision:
    """The fastest candidate, if it is worthwhile by the times that count and no slower by the others; or the first.

    Each measurement has an error of a few percent, so both must agree.
    """
    tried: list[Tried] = []
    taken: list[tuple[float, float]] = []  # what counts, and the other
    for (way, cost), measured in zip(ways, times, strict=True):
        options = way.attribute().numbers()
        if isinstance(measured, str):
            tried.append(Tried(way.name, options, cost * 1e6, failed=measured))
            taken.append((float("inf"), float("inf")))
        else:
            tried.append(Tried(way.name, options, cost * 1e6, measured.hot * 1e6, measured.cold * 1e6))
            taken.append((measured.cold, measured.hot) if cold else (measured.hot, measured.cold))
    counts, other = taken[0]
    better = [n for n, each in enumerate(taken) if each[0] < WORTHWHILE * counts and each[1] <= other]
    return Decision(kernel, min(better, key=lambda number: taken[number], default=0), tuple(tried))


class Bench:
    """Measures variants of a kernel on this machine."""

    def __init__(self) -> None:
        self._others: tuple[int, int, LimitProbe] | None = None

    def __call__(self, variants: Sequence[Variant]) -> list[Times | str]:
        found: list[Times | str] = []
        ready: dict[int, _Ready] = {}
        for number, variant in enumerate(variants):
            found.append("")
            try:
                ready[number] = _Ready(variant)
            except MiniInferError as error:
                found[number] = str(error)
        others = self._probe(variants[0])
        hot: dict[int, list[float]] = {number: [] for number in ready}
        cold: dict[int, list[float]] = {number: [] for number in ready}
        for _ in range(ROUNDS):
            for number, each in ready.items():
                hot[number].append(min(each.hot()))
                cold[number].append(min(each.cold(others)))
        for number in ready:
            found[number] = Times(statistics.median(hot[number]), statistics.median(cold[number]))
        return found

    def _probe(self, variant: Variant) -> LimitProbe:
        """A probe that reads as many bytes as the rest of the model."""
        threads = variant.target.threads.data
        nbytes = min(max(variant.other_bytes, 1 << 16), MOST_OTHER_BYTES)
        if self._others is None or self._others[:2] != (threads, nbytes):
            self._others = threads, nbytes, LimitProbe(threads, nbytes)
        return self._others[2]


class _Ready:
    """A variant that is compiled and bound."""

    def __init__(self, variant: Variant) -> None:
        module, ctx = alone(variant)
        self._context = build_plan(module, ctx, plain(variant.config)).create_execution_context()
        self._touched = _bind(self._context)
        self._context.execute()
        start = time.perf_counter()
        self._context.execute()
        self._runs = max(1, min(200, round(TURN / (time.perf_counter() - start))))

    def hot(self) -> list[float]:
        """Seconds of consecutive runs."""
        self._context.execute()
        return [self._timed() for _ in range(self._runs)]

    def cold(self, others: LimitProbe) -> list[float]:
        """Seconds of runs, before each of which the model's other bytes are read."""
        times: list[float] = []
        for _ in range(max(1, min(self._runs, 8))):
            others.read_all()
            for each in self._touched:
                np.add(each, 0, out=each)
            times.append(self._timed())
        return times

    def _timed(self) -> float:
        start = time.perf_counter()
        self._context.execute()
        return time.perf_counter() - start


def alone(variant: Variant) -> tuple[ModuleOp, MiniContext]:
    """A module at the kernels level that calls one kernel with one schedule, on weights of its own."""
    ctx = MiniContext()
    kernel = variant.kernel.clone()
    kernel.schedule = variant.schedule.attribute()
    kernel.interface = variant.schedule.interface(kernel)
    constants = constant_operands(kernel)
    given = [each for number, each in enumerate(kernel.arguments) if number not in constants]
    results = [value.type for value in kernel.terminator.operands]
    main = FuncOp("main", ([value.type for value in given], results))
    inputs = iter(main.body.block.args)
    operands: list[SSAValue] = []
    for number, value in enumerate(kernel.arguments):
        if number in constants:
            weight = WeightOp(ctx.blobs.add(some_numbers(value)), type_of(value))
            main.body.block.add_op(weight)
            operands.append(weight.result)
        else:
            operands.append(next(inputs))
    call = CallOp(kernel.sym_name.data, operands, results)
    main.body.block.add_ops([call, ReturnOp(*call.results)])
    main.arg_attrs = _named("x", len(given))
    main.res_attrs = _named("y", len(results))
    module = ModuleOp([main, kernel], {"kernel.target": variant.target})
    state_level(module, "kernels")
    run_passes(ctx, module, parse_passes("pack-weights"))
    return module, ctx


def some_numbers(value: SSAValue) -> Array:
    """An array of a value's type: small floats, zeros and ones."""
    random, dtype = np.random.default_rng(0), numpy_dtype(element_type_of_value(value))
    shape = shape_of(value)
    made = random.integers(0, 2, shape) if dtype.kind in "biu" else random.standard_normal(shape) * 0.1
    return np.asarray(made).astype(dtype)


def _named(stem: str, count: int) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr(DictionaryAttr({NAME: StringAttr(f"{stem}{number}")}) for number in range(count))


def _bind(context: ExecutionContext) -> list[Array]:
    """Binds arrays to all outputs and inputs; returns the numeric ones, in this order."""
    random = np.random.default_rng(1)
    arrays = [np.zeros(spec.shape, spec.dtype) for spec in context.plan.outputs]
    for spec, array in zip(context.plan.outputs, arrays, strict=True):
        context.bind_output(spec.name, array)
    for spec in context.plan.inputs:
        whole = spec.dtype.kind in "biu"
        made = random.integers(0, 2, spec.shape) if whole else random.standard_normal(spec.shape)
        arrays.append(np.asarray(made).astype(spec.dtype))
        context.bind_input(spec.name, arrays[-1])
    return [each for each in arrays if each.dtype.kind in "iuf"]


def plain(config: EngineConfig) -> EngineConfig:
    """The options with which a single kernel is compiled."""
    inputs: dict[str, Any] = {"dims": {}, "shapes": {}, "specialize": {}, "caches": {}, "cache_memory": None}
    return replace(config, **inputs, max_workspace_size=None, enable_profiling=False)
