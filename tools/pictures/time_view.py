"""Time by kernel call: the longest, each beside the least that the machine allows; all others as one bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

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


class _Bar(NamedTuple):
    """A line of the picture: its name, its time and the least possible (0 if that is not known), in microseconds."""

    name: str
    us: float
    least: float
    colour: str
    more: str = ""


def figure(facts: Mapping[str, Any], title: str = "") -> Any:
    """The picture as a matplotlib figure."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    bars = _bars(facts)
    drawn: Any = Figure(figsize=(9.0, 1.5 + 0.26 * len(bars)), facecolor="white", layout="constrained")
    axes = drawn.subplots()
    # The others together are longer than any: their bar ends where the picture does, and its number tells the rest.
    end = 1.25 * max(1e-3, *(max(bar.us, bar.least) for bar in bars if bar.colour != OTHERS))
    for row, bar in enumerate(bars):
        _draw_bar(axes, row, bar, end, facts["run_us"])
    axes.set_yticks(range(len(bars)), bounded([bar.name for bar in bars], 52))
    axes.set_xlim(0, end)
    axes.set_ylim(len(bars) - 0.4, -0.6)
    axes.set_xlabel("microseconds of an inference", fontsize=9, color=TEXT)
    axes.tick_params(labelsize=7, colors=TEXT)
    axes.spines[["top", "right"]].set_visible(False)
    drawn.suptitle(titled(title, _headline(facts)), fontsize=10, color=TEXT, ha="left", x=0.02)
    known = [kind for kind, colour in COLOURS.items() if any(bar.colour == colour for bar in bars)]
    handles: list[Any] = [Patch(facecolor=COLOURS[kind], edgecolor=EDGE, label=MEANINGS[kind]) for kind in known]
    if any(bar.least for bar in bars):
        handles.append(axes.plot([], [], color=LIMIT, label="least time (roofline)")[0])
    drawn.legend(handles=handles, loc="outside lower right", ncols=3, fontsize=8, frameon=False)
    return drawn


def _bars(facts: Mapping[str, Any]) -> list[_Bar]:
    """The longest kernel calls, the others, and what is outside of kernels."""
    kernels: Sequence[Mapping[str, Any]] = facts["kernels"]
    found: list[_Bar] = []
    for each in kernels[:SHOWN]:
        turns = f" in {each['runs']} turns" if each.get("runs", 1) != 1 else ""
        name, colour = f"{each['kernel']}  {each['node']}", COLOURS[each.get("limited_by")]
        found.append(_Bar(name, each["us"], each.get("limit_us", 0.0), colour, turns))
    if others := kernels[SHOWN:]:
        found.append(_Bar(f"{len(others)} others", sum(each["us"] for each in others), 0.0, OTHERS))
    return [*found, _Bar("outside of kernels", max(0.0, facts["outside_us"]), 0.0, "white")]


def _draw_bar(axes: Any, row: int, bar: _Bar, end: float, whole: float) -> None:
    """A bar with its numbers behind it, or inside where it is long; and a stroke at the least time."""
    axes.barh(row, min(bar.us, end), 0.68, color=bar.colour, edgecolor=EDGE, linewidth=0.5)
    if bar.least:
        axes.vlines(bar.least, row - 0.42, row + 0.42, LIMIT)
    furthest = max(bar.us, bar.least)
    inside = furthest > 0.85 * end
    axes.annotate(
        f"{bar.us:,.1f} us{bar.more}, {bar.us / max(1e-3, whole):.1%}",
        (min(bar.us, end) if inside else furthest, row),
        xytext=(-4 if inside else 4, 0),
        textcoords="offset points",
        ha="right" if inside else "left",
        va="center",
        fontsize=7,
        color=TEXT,
    )


def _headline(facts: Mapping[str, Any]) -> str:
    where = f"{facts['threads']} thread(s)" if facts["threads"] else facts["device"]
    text = f"{facts['run_us'] / 1e3:.3f} ms on {where}, {len(facts['kernels'])} kernel calls"
    if "limit_gflops" in facts:
        text += f"; limits {facts['limit_gflops']:.0f} GFLOP/s, {facts['limit_gbytes']:.0f} GB/s"
    return text
