"""The effect of a pass or a schedule: models compiled with and without it, timed in alternation; a Markdown table.

    python -m mini_infer.tools.bench.variants build/resnet50.onnx conv:64x56x56:256:3 --forbid winograd
    python -m mini_infer.tools.bench.variants resnet18.onnx --dim batch=8 --without tile-batch

`conv:64x56x56:256:3` is one convolution with 256 filters of 3x3 and a ReLU, on an image of 56x56 with 64 channels;
`conv:64x56x56:128:3:64` has 64 groups.
"""

from __future__ import annotations

import re
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from rich.console import Console
from xdsl.passes import ModulePass

from ...dialects.errors import ConfigError
from ...lowering.pipelines import parse_passes, remaining_phases, run_passes
from ...passes.kernels.choose_schedule import ChooseSchedule
from ...passes.kernels.form_kernels import FormKernels
from ...passes.kernels.narrow_rows import NarrowRows
from ...passes.kernels.split_norms import SplitNorms
from ...runtime.compile.engine_phases import engine_phases
from ...runtime.compile.module_to_plan import build_plan
from ...runtime.compile.source import source_of
from ...runtime.config import EngineConfig
from ...runtime.device import Array
from ...runtime.devices.cpu.machine_limits import cpu_title
from ...runtime.native.cpu_targets import host_target, target_attribute
from ...runtime.plan import ExecutionContext
from ..arrays import seeded_inputs
from ..demos.resnet50 import Builder
from ..one_line_errors import run_alone
from ..option_values import Dims, dims_of

if TYPE_CHECKING:
    from onnx import ModelProto

LAYER = re.compile(r"conv:(\d+)x(\d+)x(\d+):(\d+):(\d+)(?::(\d+))?")


def layer(text: str) -> ModelProto:
    """The model of a `conv:CHANNELSxHEIGHTxWIDTH:FILTERS:KERNEL[:GROUPS]`. Raises ConfigError for any other text."""
    from onnx import TensorProto, helper

    found = LAYER.fullmatch(text)
    if found is None:
        raise ConfigError(f"{text}: neither a file nor conv:CHANNELSxHEIGHTxWIDTH:FILTERS:KERNEL[:GROUPS]")
    channels, height, width, filters, kernel, groups = (int(each or 1) for each in found.groups())
    if channels % groups or filters % groups:
        raise ConfigError(f"{text}: {groups} groups don't divide {channels} channels and {filters} filters")
    b = Builder(0)
    shape = (filters, channels // groups, kernel, kernel)
    weight = b.weight("weight", b.random.standard_normal(shape) / np.sqrt(np.prod(shape[1:])))
    x = b.node("Conv", ["x", weight], "conv", group=groups, pads=[kernel // 2] * 4)
    y = b.node("Relu", [x], "relu")
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, channels, height, width])]
    made = [helper.make_tensor_value_info(y, TensorProto.FLOAT, None)]
    graph = helper.make_graph(b.nodes, "layer", given, made, b.weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def passes_of(given: Sequence[ModulePass], without: Sequence[str], forbid: Sequence[str]) -> Iterator[ModulePass]:
    """The passes except those left out, with schedules forbidden."""
    for each in given:
        # Kernels are formed for the schedules that are available.
        if isinstance(each, ChooseSchedule | FormKernels | NarrowRows | SplitNorms):
            yield replace(each, forbid=(*each.forbid, *forbid))
        elif each.name not in without:
            yield each


def compiled(model: str, config: EngineConfig, without: Sequence[str], forbid: Sequence[str]) -> ExecutionContext:
    """A context of the model's plan, compiled without some passes and schedules."""
    module, ctx = source_of(model if Path(model).exists() else layer(model)).load(config)
    module.attributes["kernel.target"] = target_attribute(config)
    phases = remaining_phases(module, "arena", engine_phases(config))
    given = [each for phase in phases for each in parse_passes(phase.passes)]
    if unknown := set(without) - {each.name for each in given}:
        raise ConfigError(
            f"--without {', '.join(sorted(unknown))}: no pass of the pipeline; see mini-opt --list-passes"
        )
    run_passes(ctx, module, tuple(passes_of(given, without, forbid)))
    return build_plan(module, ctx, config).create_execution_context()


def timed(contexts: Sequence[ExecutionContext], seconds: float) -> list[float]:
    """Median milliseconds of each context, measured in alternation for about `seconds` each."""
    inputs: list[dict[str, Array]] = [seeded_inputs(context.plan.inputs, 0) for context in contexts]
    times: list[list[float]] = [[] for _ in contexts]
    end = time.perf_counter() + seconds * len(contexts)
    while time.perf_counter() < end or len(times[0]) < 5:
        for context, given, found in zip(contexts, inputs, times, strict=True):
            start = time.perf_counter()
            context.run(given)
            found.append(time.perf_counter() - start)
    return [1e3 * statistics.median(found[1:]) for found in times]


def measure(
    models: Annotated[list[str], typer.Argument(help="ONNX files, and layers such as conv:64x56x56:256:3.")],
    without: Annotated[list[str] | None, typer.Option(help="A pass to leave out.")] = None,
    forbid: Annotated[list[str] | None, typer.Option(help="A schedule to leave out.")] = None,
    dim: Dims = None,
    threads: Annotated[int, typer.Option(min=1)] = 1,
    seconds: Annotated[float, typer.Option(min=0, help="For each way of compiling a model.")] = 2,
) -> None:
    """Prints the time and the arena of each model with and without what the options name."""
    config = EngineConfig(threads=threads, tuned=False, dims=dims_of(dim))
    if not without and not forbid:
        raise ConfigError("nothing is left out: name passes with --without, or schedules with --forbid")
    left_out = ", ".join([*(without or ()), *(forbid or ())])
    rows: list[Sequence[str]] = [
        ("model", "ms", f"without {left_out}", "time taken", "arena, MB", f"without {left_out}"),
        ["---"] * 6,
    ]
    for model in models:
        both = [
            compiled(model, config, (), ()),
            compiled(model, config, tuple(without or ()), tuple(forbid or ())),
        ]
        with_it, without_it = timed(both, seconds)
        arenas = [f"{each.plan.arena_bytes / 1e6:.2f}" for each in both]
        times = (f"{with_it:.3f}", f"{without_it:.3f}", f"{with_it / without_it:.2f}")
        rows.append((Path(model).stem if Path(model).exists() else model, *times, *arenas))
    text = "\n".join(f"| {' | '.join(row)} |" for row in rows)
    stamp = f"{cpu_title()} ({host_target().name}), {threads} thread(s), medians, {date.today().isoformat()}"
    Console(soft_wrap=True).print(f"{stamp}\n\n{text}", markup=False, highlight=False)


if __name__ == "__main__":
    run_alone(measure)
