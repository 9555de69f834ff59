"""Whatever is given to a public function is taken, or refused by a MiniInferError of one line that says why."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from models.small import mlp

import mini_infer as mi
from mini_infer.runtime.backend import MiniInferBackend
from mini_infer.runtime.c_export import emit_c
from mini_infer.runtime.compile import several_cpus as building
from mini_infer.runtime.compile.plan_builder import Builder
from mini_infer.runtime.memory import allocators


class Odd:
    """An object that is nothing of what is asked for."""


WRONG: tuple[Any, ...] = (
    *(None, -1, 0, True, 1.5, math.nan, math.inf, 2**70),
    *("", "x", "a\0b", b"x", "é" * 300),
    *([], [-1], [1.5], [None], ["x"], (3,), (1, 2, 3), range(2)),
    *({}, {"x": 1}, {1: 2}, {"x": None}, {"x": [1]}, {"x": Odd()}),
    *(Odd(), Odd, len, np.float32(1.5), np.zeros(3), np.zeros((2, 2))),
)
LEFT_OUT: Any = object()
"""Stands for an argument that is not given unless it is its turn."""

MODEL = mlp()
PUBLIC: Any = mi  # as it is for who doesn't check types
MEMORY = np.zeros(64, np.uint8)


class Call(NamedTuple):
    """A public function, with arguments that it takes."""

    function: Callable[..., Any]
    arguments: Mapping[str, Any]


def call(function: Callable[..., Any], **arguments: Any) -> Call:
    return Call(function, arguments)


def left_out(*names: str) -> dict[str, Any]:
    return dict.fromkeys(names, LEFT_OUT)


def calls(folder: Path) -> dict[str, Call]:
    """By names of mini_infer and what comes behind them."""
    engine = mi.compile(MODEL, threads=1)
    plan, context = engine.plan, engine.plan.create_execution_context()
    given = {spec.name: np.ones(spec.shape, spec.dtype) for spec in plan.inputs}
    (name, array), output = next(iter(given.items())), np.zeros(plan.outputs[0].shape, plan.outputs[0].dtype)
    context.bind_input(name, array)
    context.bind_output(plan.outputs[0].name, output)
    shapes = {name: array.shape}
    storage = mi.Storage.allocate(64)
    made = {"id": "a", "size": 10, "birth": 0, "death": 3, **left_out("alignment", "offset", "gaps", "name", "role")}
    options = left_out(*(each.name for each in fields(mi.EngineConfig)))

    def tensor() -> mi.Tensor:
        return mi.Tensor(mi.Storage.allocate(64), (2, 3), "float32")

    def of_tensor(method: str) -> Callable[..., Any]:
        """A method of a new tensor."""

        def called(**given: Any) -> Any:
            return getattr(tensor(), method)(**given)

        return called

    def set_external(**given: Any) -> None:
        mi.Storage.allocate(8).set_external(**given)

    def allocated(**each: Any) -> Any:
        return mi.allocate([mi.Buffer(**each)])

    def run(inputs: Any) -> Any:
        return engine(inputs)

    def run_two(x: Any) -> Any:
        return engine(x, x)

    def submitted(inputs: Any, time_limit: Any = None) -> Any:
        return engine.submit(inputs, time_limit=time_limit).result()

    def batched(max_batch: Any, max_wait_ms: Any, workers: Any) -> Any:
        return engine.batched(max_batch, max_wait_ms, workers=workers)

    def execute(time_limit: Any = None) -> None:
        bound().execute(time_limit=time_limit)

    def enqueue(time_limit: Any = None) -> None:
        bound().enqueue(time_limit=time_limit).result()

    def bound() -> mi.ExecutionContext:
        made = plan.create_execution_context()
        made.bind_input(name, array)
        made.bind_output(plan.outputs[0].name, output)
        return made

    queue, handle = engine.batched(max_wait_ms=0), engine.submit(given)

    def planned(shape: Any) -> Any:
        return engine.plan_for({name: shape})

    def declared(**given: Any) -> None:
        made = mi.operator(**given)
        if isinstance(made, mi.UserOperator):
            made.unregister()

    record = mi.explore(MODEL, threads=1, measure=False)
    record.write(folder / "written.json")
    source = folder / "kernel.c"
    source.write_text("")
    return {
        "operator": call(
            declared,
            domain="d",
            name="Op",
            kernel=source,
            shape=declared_rule,
            **left_out("since", "symbol", "flags", "scratch", "cost", "inplace", "threads", "depends", "override"),
        ),
        "TensorType": call(mi.TensorType, dtype="float32", shape=(2, 3)),
        "EngineConfig": call(mi.EngineConfig, **options),
        "OptimizationProfile": call(mi.OptimizationProfile, **left_out("dims", "shapes")),
        "compile": call(mi.compile, model=MODEL, **left_out("threads", "cache", "progress", "tune")),
        "plan_memory": call(mi.plan_memory, model=MODEL, **left_out("threads", "dims", "shapes", "specialize")),
        "memory_frontier": call(mi.memory_frontier, model=MODEL, **left_out("threads", "dims", "shapes", "specialize")),
        "explore": call(mi.explore, model=MODEL, **left_out("inputs", "threads", "dims"), measure=False),
        "CompileRecord.write": call(record.write, path=folder / "record.json", **left_out("against")),
        "CompileRecord.explain": call(record.explain, question="memory", **left_out("name")),
        "CompileRecord.read": call(mi.CompileRecord.read, path=folder / "written.json"),
        "intermediates": call(
            mi.intermediates,
            model=MODEL,
            inputs={name: array},
            **left_out("names", "threads", "dims", "shapes", "specialize"),
        ),
        "build": call(mi.build, model=MODEL, path=folder / "m.mi", **left_out("threads", "cpus", "at", "tell")),
        "emit_c": call(
            mi.emit_c, model=MODEL, folder=folder / "c", **left_out("threads", "name", "cpu", "embed", "replace")
        ),
        "load": call(mi.load, path=folder / "none.mi"),
        "import_onnx": call(
            mi.import_onnx,
            model=MODEL,
            **left_out("dims", "shapes", "specialize", "ranges", "caches", "tensors", "ctx"),
        ),
        "Buffer": call(mi.Buffer, **made),
        "allocate": call(
            mi.allocate,
            problem=[mi.Buffer("a", 10, 0, 3)],
            **left_out("strategy", "capacity", "alignment", "time_limit", "beam_width"),
        ),
        "allocate.Buffer": call(allocated, **made),
        "plan_table": call(mi.plan_table, plan=plan.memory),
        "pool_table": call(mi.pool_table, plan=plan.memory),
        "write_report": call(mi.write_report, plan=plan.memory, path=folder / "r.txt", **left_out("title")),
        "draw": call(mi.draw, view="memory", model=MODEL, path=folder / "memory.json", **left_out("threads")),
        "register_allocator": call(
            mi.register_allocator, name="zeros", allocate=np.zeros, **left_out("deallocate", "device")
        ),
        "Storage": call(mi.Storage, capacity=64, **left_out("device", "alignment", "allocator")),
        "Storage.allocate": call(mi.Storage.allocate, capacity=64, **left_out("alignment", "device", "allocator")),
        "Storage.borrow": call(mi.Storage.borrow, memory=MEMORY, **left_out("device", "capacity", "offset", "deleter")),
        "Storage.of_memory": call(mi.Storage.of_memory, memory=storage.memory, **left_out("device")),
        "Storage.like": call(storage.like, capacity=64, **left_out("device")),
        "Storage.set_external": call(set_external, memory=MEMORY, **left_out("capacity", "offset", "deleter")),
        "Storage.copy_in": call(storage.copy_in, array=MEMORY, **left_out("offset")),
        "Storage.copy_out": call(storage.copy_out, **left_out("offset", "nbytes")),
        "Storage.overlaps": call(storage.overlaps, other=storage),
        "Tensor": call(mi.Tensor, storage=storage, shape=(2,), dtype="float32", **left_out("offset", "strides")),
        "Tensor.empty": call(
            mi.Tensor.empty, shape=(2,), dtype="float32", **left_out("alignment", "device", "allocator")
        ),
        "Tensor.from_array": call(mi.Tensor.from_array, array=MEMORY),
        "Tensor.from_dlpack": call(mi.Tensor.from_dlpack, memory=MEMORY),
        "Tensor.view": call(of_tensor("view"), shape=(6,)),
        "Tensor.reshape": call(of_tensor("reshape"), shape=(6,)),
        "Tensor.resize": call(of_tensor("resize"), shape=(6,)),
        "Tensor.set_shape_metadata": call(of_tensor("set_shape_metadata"), shape=(6,)),
        "Tensor.set_dtype": call(of_tensor("set_dtype"), dtype="int32"),
        "Tensor.bind_external": call(
            of_tensor("bind_external"), memory=storage, **left_out("offset", "capacity", "deleter")
        ),
        "Tensor.to": call(of_tensor("to"), device="cpu"),
        "Tensor.copy_from": call(of_tensor("copy_from"), source=np.zeros((2, 3), np.float32)),
        "Engine": call(run, inputs=given),
        "Engine, by position": call(run_two, x=array),
        "Engine, by name": call(engine, **given, **left_out("foo")),
        "Engine.run": call(engine.run, **given, **left_out("time_limit", "foo")),
        "Engine.submit": call(submitted, inputs=given, **left_out("time_limit")),
        "Engine.batched": call(batched, max_batch=8, max_wait_ms=0, workers=1),
        "BatchingQueue": call(queue, **given, **left_out("time_limit", "foo")),
        "RunHandle.result": call(handle.result, **left_out("timeout")),
        "RunHandle.exception": call(handle.exception, **left_out("timeout")),
        "RunHandle.wait": call(handle.wait, **left_out("timeout")),
        "ExecutionContext.execute": call(execute, **left_out("time_limit")),
        "ExecutionContext.enqueue": call(enqueue, **left_out("time_limit")),
        "Engine.plan_for": call(engine.plan_for, shapes=shapes),
        "Engine.plan_for, a shape": call(planned, shape=array.shape),
        "Engine.warmup": call(engine.warmup, shapes=[shapes]),
        "InferencePlan": call(plan.create_execution_context, **left_out("arena", "allocator")),
        "InferencePlan.execute": call(plan.execute, context=context),
        "InferencePlan.room": call(plan.room, name="x"),
        "ExecutionContext.bind_input": call(context.bind_input, name=name, memory=array),
        "ExecutionContext.bind_output": call(context.bind_output, name=plan.outputs[0].name, memory=output),
        "ExecutionContext.set_shapes": call(context.set_shapes, shapes=shapes),
        "ExecutionContext.use": call(context.use, plan=plan),
        "ExecutionContext.run": call(context.run, inputs=given, **left_out("time_limit", "hook")),
        "ExecutionContext.run_ordered": call(context.run_ordered, inputs=[array]),
        "ExecutionContext.run_tensors": call(context.run_tensors, inputs=given, **left_out("time_limit")),
        "ExecutionContext.output_shape": call(context.output_shape, name=plan.outputs[0].name),
        "ExecutionContext.write_trace": call(context.write_trace, path=folder / "trace.json"),
        "MemoryPlan.find": call(plan.memory.find, name="none"),
        "MemoryPlan.overwritten_by": call(plan.memory.overwritten_by, name="none"),
        "MemoryPlan.why": call(plan.memory.why, name="none"),
        "InterferenceGraph.life": call(plan.memory.interference.life, name="none"),
        "InterferenceGraph.has_edge": call(plan.memory.interference.has_edge, first="none", second="none"),
        "InterferenceGraph.neighbours": call(plan.memory.interference.neighbours, name="none"),
        "InterferenceGraph.degree": call(plan.memory.interference.degree, name="none"),
        "InterferenceGraph.largest_clique": call(plan.memory.interference.largest_clique, **left_out("by")),
        "ExecutionContext.tensor": call(context.tensor, name="none"),
        "MiniInferBackend.prepare": call(MiniInferBackend.prepare, model=MODEL, **left_out("device")),
        "MiniInferBackend.run": call(MiniInferBackend.prepare(MODEL).run, inputs=[array]),
        "MiniInferBackend.supports_device": call(MiniInferBackend.supports_device, device="CPU"),
    }


WITHOUT = {
    *(
        "BufferRecord",
        "CFiles",
        "CacheRecord",
        "Clique",
        "CompileOptions",
        "Explanation",
        "KernelRun",
        "KernelTime",
        "KernelTurn",
        "MemoryFrontier",
        "MemoryPoint",
        "Plan",
        "Generator",
        "Progress",
        "RemovedRecord",
        "STRATEGIES",
        "StepRecord",
    ),
    *("QueueStatistics", "SymbolicSpec", "TensorRecord", "TensorSpec", "on_ray"),
    *("GraphValue", "UserOperator", "ops"),
}
"""What is public and takes nothing from users; and what runs on Ray or builds graphs, which has tests of its own."""


def declared_rule(x: mi.TensorType) -> mi.TensorType:
    """The rule of an operator."""
    return x


@pytest.fixture(name="cases", scope="module")
def _cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Call]:
    return calls(tmp_path_factory.mktemp("arguments"))


class Reached(mi.MiniInferError):
    """The arguments were taken."""


@pytest.fixture(autouse=True)
def _without_compiling(cases: dict[str, Call], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reached(*_: Any, **__: Any) -> Any:
        raise Reached("as far as here")

    monkeypatch.setattr(Builder, "__call__", reached)
    monkeypatch.setattr(building, "_built", reached)
    monkeypatch.setattr(emit_c, "lower", reached)
    monkeypatch.setattr(allocators, "_ALLOCATORS", {})
    monkeypatch.chdir(tmp_path)


def test_all_that_is_public_is_tried(cases: dict[str, Call]) -> None:
    tried = {name.split(".")[0].split(",")[0] for name in cases}
    errors = {name for name in mi.__all__ if name.endswith("Error")}
    assert tried == {*mi.__all__, "MiniInferBackend"} - errors - WITHOUT


@pytest.mark.thinned(5)
@pytest.mark.parametrize("number", range(len(WRONG)))
def test_whatever_is_given(number: int, cases: dict[str, Call]) -> None:
    wrong, foreign = WRONG[number], list[str]()
    for name, (function, arguments) in cases.items():
        given = {key: value for key, value in arguments.items() if value is not LEFT_OUT}
        for argument in arguments:
            if argument in ("progress", "tell", "deleter", "deallocate") and callable(wrong):
                continue  # what the caller's function raises is the caller's
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    function(**{**given, argument: wrong})
            except mi.MiniInferError as error:
                if "\n" in str(error) or not 0 < len(str(error)) < 700:
                    foreign.append(f"{name}: {argument} = {wrong!r:.40}: {error!r}")
            except Exception as error:
                foreign.append(f"{name}: {argument} = {wrong!r:.40}: {error!r}")
    assert foreign == []


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (
            lambda: PUBLIC.EngineConfig(foo=1),
            mi.ConfigError,
            "there is no option foo; there are activations, beam_width, ",
        ),
        (
            lambda: PUBLIC.EngineConfig(thread=1),
            mi.ConfigError,
            r"there is no option thread \(did you mean threads\?\)",
        ),
        (
            lambda: PUBLIC.compile(MODEL, winogrand="off"),
            mi.ConfigError,
            r"option winogrand \(did you mean winograd\?\)",
        ),
        (
            lambda: PUBLIC.EngineConfig(winograd="compct"),
            mi.ConfigError,
            r"auto, compact, off \(did you mean compact\?\)",
        ),
        (
            lambda: PUBLIC.OptimizationProfile(dim={}),
            mi.ConfigError,
            r"no option dim \(did you mean dims\?\); there are",
        ),
        (lambda: PUBLIC.Buffer("a", 10, 3, 0), mi.PlanError, r"a: lifetime \[3, 0\) is empty"),
        (lambda: PUBLIC.Buffer("a", "10", 0, 3), mi.PlanError, "a: size is '10'; it must be an integer"),
        (lambda: PUBLIC.allocate([PUBLIC.Buffer("a", 2**63, 0, 3)]), mi.PlanError, "too large for 64-bit addresses"),
        (lambda: PUBLIC.allocate([3]), mi.PlanError, "one of the buffers is 3; it must be a Buffer"),
        (
            lambda: PUBLIC.Tensor.empty((2,), "float33"),
            mi.InvalidInputError,
            "dtype is 'float33'; it must be an element",
        ),
        (
            lambda: PUBLIC.Tensor.empty((2,), object),
            mi.InvalidInputError,
            "it must be a type of numbers, not of Python's",
        ),
        (lambda: PUBLIC.Storage.allocate(2**63), mi.OutOfMemoryError, "there is no memory for a storage of"),
        (lambda: PUBLIC.compile(MODEL, progress=3), mi.ConfigError, "progress is 3; it must be a function"),
        (lambda: PUBLIC.plan_table(3), mi.ConfigError, "plan is 3; it must be a MemoryPlan"),
    ],
)
def test_messages(make: Callable[[], object], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        make()
