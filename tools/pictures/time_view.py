"""Time by kernel call: the longest, each beside the least that the machine allows; all others as one bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ...dialects.errors import ConfigError
from ...runtime.compile.source import source_of
from ...runtime.config import EngineConfig
from ...runtime.device import device_named
from ...runtime.devices.cpu.machine_limits import LimitProbe, cpu_title, pinned_cores
from ...runtime.module_interface import input_specs
from ..arrays import load_inputs
from ..bench.kernel_times import pinned, profile
from ..reports.palette import BOUND, BUFFERS, EDGE, KIND_COLOURS, TEXT
from . import bounded, titled

if TYPE_CHECKING:
    from ...lowering.onnx_to_graph.model_file import ModelSource

SHOWN = 20
"""Bars of kernel calls."""
COLOURS = {"compute": KIND_COLOURS["scratch"], "memory": BUFFERS[0], None: BUFFERS[6]}
MEANINGS = {"compute": "limited by arithmetic", "memory": "limited by memory", None: "of no known limit"}
OTHERS, LIMIT = KIND_COLOURS["reserved"], BOUND


def facts(
    model: ModelSource, config: EngineConfig, *, files: Sequence[str] = (), seed: int | None = None, runs: int = 20
) -> dict[str, Any]:
    """What `mini-infer bench --profile` tells of kernels, on given inputs or random ones; and the machine's limits."""
    if config.device == "cuda-emulated":
        raise ConfigError("the view time is of a device with a clock, which cuda-emulated has not")
    module, _ = source_of(model).load(config)
    inputs = load_inputs(files, input_specs(module), seed)
    del module
    on_cpu = device_named(config.place).kind == "cpu"
    cores = pinned_cores(config.thread_count) if on_cpu else ()
    with pinned(cores):
        limits = LimitProbe(config.thread_count).measure() if on_cpu else None
    found = profile(model, config, inputs, runs, cores, limits)
    about: dict[str, Any] = {"device": config.place, "threads": config.thread_count if on_cpu else None}
    if limits is not None:
        about |= {"cpu": cpu_title(), "limit_gflops": limits.gflops, "limit_gbytes": limits.gbytes}
    return {**about, **found}


def figure(facts: Mapping[str, Any], title: str = "") -> Any:
    """The picture as a matplotlib figure."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    kernels: Sequence[Mapping[str, Any]] = facts["kernels"]
    shown, others = kernels[:SHOWN], kernels[SHOWN:]
    rows = len(shown) + bool(others) + 1
    drawn: Any = Figure(figsize=(9.0, 1.5 + 0.26 * rows), facecolor="white", layout="constrained")
    axes = drawn.subplots()
    names = [f"{each['kernel']}  {each['node']}" for each in shown]
    times = [each["us"] for each in shown]
    colours = [COLOURS[each.get("limited_by")] for each in shown]
    if others:
        names.append(f"{len(others)} others")
        times.append(sum(each["us"] for each in others))
        colours.append(OTHERS)
    names.append("outside of kernels")
    times.append(max(0.0, facts["outside_us"]))
    colours.append("white")
    limits = [each.get("limit_us", 0.0) for each in shown] + [0.0] * (rows - len(shown))
    # The others together are longer than any: their bar ends where the picture does, and its number tells the rest.
    end = 1.25 * max([1e-3, *times[: len(shown)], *limits, times[-1]])
    axes.barh(range(rows), [min(time, end) for time in times], 0.68, color=colours, edgecolor=EDGE, linewidth=0.5)
    for row, (time, least) in enumerate(zip(times, limits, strict=True)):
        if least:
            axes.vlines(least, row - 0.42, row + 0.42, LIMIT)
        turns = _turns(shown[row]) if row < len(shown) else ""
        label = f"{time:,.1f} us{turns}, {time / max(1e-3, facts['run_us']):.1%}"
        inside = max(time, least) > 0.85 * end
        at, side = (min(time, end) if inside else max(time, least), "right" if inside else "left")
        axes.annotate(
            label,
            (at, row),
            xytext=(-4 if inside else 4, 0),
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize=7,
            color=TEXT,
        )
    axes.set_yticks(range(rows), bounded(names, 52))
    axes.set_xlim(0, end)
    axes.set_ylim(rows - 0.4, -0.6)
    axes.set_xlabel("microseconds of an inference", fontsize=9, color=TEXT)
    axes.tick_params(labelsize=7, colors=TEXT)
    axes.spines[["top", "right"]].set_visible(False)
    drawn.suptitle(titled(title, _headline(facts)), fontsize=10, color=TEXT, ha="left", x=0.02)
    known = [kind for kind in COLOURS if any(each.get("limited_by") == kind for each in shown)]
    handles: list[Any] = [Patch(facecolor=COLOURS[kind], edgecolor=EDGE, label=MEANINGS[kind]) for kind in known]
    if any(limits):
        handles.append(axes.plot([], [], color=LIMIT, label="least time (roofline)")[0])
    drawn.legend(handles=handles, loc="outside lower right", ncols=3, fontsize=8, frameon=False)
    return drawn


def _turns(each: Mapping[str, Any]) -> str:
    """How often a call in a loop was made."""
    runs = each.get("runs", 1)
    return "" if runs == 1 else f" in {runs} turns"


def _headline(facts: Mapping[str, Any]) -> str:
    where = f"{facts['threads']} thread(s)" if facts["threads"] else facts["device"]
    text = f"{facts['run_us'] / 1e3:.3f} ms on {where}, {len(facts['kernels'])} kernel calls"
    if "limit_gflops" in facts:
        text += f"; limits {facts['limit_gflops']:.0f} GFLOP/s, {facts['limit_gbytes']:.0f} GB/s"
    return text
