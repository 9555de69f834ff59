"""Memory over time: weights, inputs, outputs and the arena's live bytes at each step; below, the arena alone."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...passes.memory.report.memory_plan import MemoryPlan
from ...runtime.compile.module_to_plan import plan_source
from ...runtime.compile.source import source_of
from ...runtime.config import EngineConfig
from ...runtime.kept.artifact import load
from ..reports.palette import BINDING, BOUND, BUFFERS, EDGE, LIVE, TEXT
from ..reports.plan_tables import size_text, unit_of
from . import titled

if TYPE_CHECKING:
    from ...lowering.onnx_to_graph.model_file import ModelSource

OUTSIDE = ("weights", "inputs", "outputs")
"""What stays during a run, from below."""
COLOURS = {"weights": BUFFERS[2], "inputs": BUFFERS[1], "outputs": BUFFERS[5], "arena": LIVE}


def facts(model: ModelSource, config: EngineConfig) -> dict[str, Any]:
    """Bytes by place, and of each step its kernel, its ONNX nodes and the bytes that are live."""
    return plan_facts(plan_of(model, config))


def plan_of(model: ModelSource, config: EngineConfig) -> MemoryPlan:
    """The plan of a model, or of a file made by `mini-infer build`."""
    if isinstance(model, str | Path) and Path(model).suffix == ".mi":
        return load(model).plan.memory
    return plan_source(source_of(model), config)


def plan_facts(plan: MemoryPlan) -> dict[str, Any]:
    """`facts` of a memory plan."""
    steps = [
        {"kernel": each.kernel, "nodes": list(each.nodes), "live_bytes": each.live, "scratch_bytes": each.scratch}
        for each in plan.step_records()
    ]
    return {
        "weights_bytes": plan.bytes_of("weight"),
        "inputs_bytes": plan.bytes_of("input"),
        "outputs_bytes": plan.bytes_of("output"),
        "arena_bytes": plan.arena_bytes,
        "lower_bound_bytes": plan.lower_bound_bytes,
        "proven_minimal": plan.optimal,
        "peak_step": plan.binding_step,
        "steps": steps,
    }


def figure(facts: Mapping[str, Any], title: str = "") -> Any:
    """The picture as a matplotlib figure."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    drawn: Any = Figure(figsize=(9.0, 6.0), facecolor="white", layout="constrained")
    every, arena = drawn.subplots(2, 1, sharex=True, gridspec_kw={"height_ratios": (3, 2)})
    live = [each["live_bytes"] for each in facts["steps"]] or [0]
    edges = range(len(live) + 1)
    drawn.suptitle(titled(title, _headline(facts)), fontsize=11, color=TEXT, ha="left", x=0.02)
    level = 0
    for name in OUTSIDE:
        size = facts[f"{name}_bytes"]
        style = {"facecolor": COLOURS[name], "edgecolor": EDGE, "linewidth": 0.5}
        every.stairs([level + size], (0, len(live)), baseline=level, fill=True, label=_named(name, size), **style)
        level += size
    label = _named("arena, live", max(live))
    for axes, base in ((every, level), (arena, 0)):
        _draw_arena(axes, facts, [base + each for each in live], base, edges, label)
    every.set_ylim(0, max(1, level + facts["arena_bytes"]) * 1.06)
    arena.set_ylim(0, max(1, facts["arena_bytes"]) * 1.22)
    every.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), reverse=True, fontsize=8, frameon=False)
    arena.set_xlim(0, len(live))
    arena.xaxis.set_major_locator(MaxNLocator(integer=True))
    arena.set_xlabel("step (kernel call)", fontsize=9, color=TEXT)
    _name_peak(arena, facts, len(live))
    for axes, what, size in ((every, "all memory", level + facts["arena_bytes"]), (arena, "arena", max(live))):
        unit, name = unit_of(size)
        axes.set_ylabel(f"{what} ({name})", fontsize=9, color=TEXT)
        axes.yaxis.set_major_formatter(partial(_in_units, unit))
        axes.tick_params(labelsize=8, colors=TEXT)
        axes.spines[["top", "right"]].set_visible(False)
    return drawn


def _in_units(unit: int, count: float, _: int | None) -> str:
    return f"{count / unit:g}"


def _headline(facts: Mapping[str, Any]) -> str:
    least = " = lower bound" if facts["arena_bytes"] == facts["lower_bound_bytes"] else ""
    return f"arena {size_text(facts['arena_bytes'])}{least}, weights {size_text(facts['weights_bytes'])}"


def _named(name: str, size: int) -> str:
    return f"{name}, {size_text(size)}"


def _draw_arena(axes: Any, facts: Mapping[str, Any], live: list[int], base: int, edges: range, label: str) -> None:
    """Live bytes on top of what lies below, and the lines of the arena and of its lower bound."""
    axes.stairs(live, edges, baseline=base, fill=True, facecolor=COLOURS["arena"], edgecolor=EDGE, label=label)
    size, bound = facts["arena_bytes"], facts["lower_bound_bytes"]
    axes.axhline(base + size, color=BINDING, linewidth=1.0, label=_named("arena", size))
    axes.axhline(base + bound, color=BOUND, linewidth=1.2, linestyle=(0, (5, 3)), label=_named("lower bound", bound))


def _name_peak(axes: Any, facts: Mapping[str, Any], steps: int) -> None:
    """The step at which most is live, with its kernel and its last ONNX node."""
    if not facts["steps"]:
        return
    number = facts["peak_step"]
    step = facts["steps"][number]
    node = f": {step['nodes'][-1]}" if step["nodes"] else ""
    left = number < steps / 2
    axes.axvline(number + 0.5, color=BINDING, linewidth=1.0, linestyle=":")
    axes.annotate(
        f"peak at step {number}, {step['kernel']}{node}",
        (number + 0.5, facts["arena_bytes"] * 1.1),
        xytext=(4 if left else -4, 0),
        textcoords="offset points",
        ha="left" if left else "right",
        va="center",
        fontsize=8,
        color=TEXT,
    )
