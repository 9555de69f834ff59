"""What each pass changed: the ops that it made and removed, by phase, down to the memory plan.

Passes below the arena write each kernel's loops: what they make is code, and many times as many ops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp

from ...dialects.garbage_collection import collection_paused
from ...lowering.pipelines import PassRun
from ...passes.statistics import Difference
from ...runtime.compile.module_to_plan import pass_phases, plan_memory
from ...runtime.compile.source import source_of
from ...runtime.config import EngineConfig
from ..reports.palette import BUFFERS, EDGE, KIND_COLOURS, TEXT
from . import titled

if TYPE_CHECKING:
    from ...lowering.onnx_to_graph.model_file import ModelSource

MADE, GONE = BUFFERS[1], KIND_COLOURS["scratch"]


def facts(model: ModelSource, config: EngineConfig) -> dict[str, Any]:
    """Of each pass: its phase, its seconds, ops before and after it, and how many it made and removed.

    An op with another type, operand or property counts as removed and made.
    """
    passes: list[dict[str, Any]] = []
    with collection_paused():
        module, ctx = source_of(model).load(config)
        phases = iter(pass_phases(config, module))
        difference, before = Difference(module), _count(module)
        imported = before

        def observer(done: PassRun, module: ModuleOp) -> None:
            nonlocal before
            made, gone = difference.step(module)
            after = _count(module)
            phase = next(level for name, level in phases if name == done.name)  # some may have been left out
            row = {"pass": done.name, "phase": phase, "seconds": done.seconds}
            passes.append(row | {"ops_before": before, "ops_after": after, "made": made, "removed": gone})
            before = after

        plan_memory(module, ctx, config, observer)
    return {"imported_ops": imported, "passes": passes}


def _count(module: ModuleOp) -> int:
    return sum(1 for _ in module.walk())


def _unsigned(count: float, _: int | None) -> str:
    return f"{abs(count):,.0f}"


def figure(facts: Mapping[str, Any], title: str = "") -> Any:
    """The picture as a matplotlib figure: passes that changed something, from above, in groups of phases."""
    from matplotlib.figure import Figure

    every: Sequence[Mapping[str, Any]] = facts["passes"]
    shown = [each for each in every if each["made"] or each["removed"]]
    drawn: Any = Figure(figsize=(9.0, 1.6 + 0.24 * max(1, len(shown))), facecolor="white", layout="constrained")
    axes = drawn.subplots()
    rows = range(len(shown))
    most = max((max(each["made"], each["removed"]) for each in shown), default=1)
    for key, sign, colour in (("made", 1, MADE), ("removed", -1, GONE)):
        bars = axes.barh(rows, [sign * each[key] for each in shown], 0.7, color=colour, edgecolor=EDGE, linewidth=0.4)
        bars.set_label(f"ops {key}")
        axes.bar_label(bars, [str(each[key] or "") for each in shown], padding=3, fontsize=7, color=TEXT)
    for row, each in enumerate(shown):
        axes.text(most * 1.32, row, f"{each['ops_after']:,}", fontsize=7, color=TEXT, ha="right", va="center")
        first = row == 0 or shown[row - 1]["phase"] != each["phase"]
        if first:
            axes.axhline(row - 0.5, color=EDGE, linewidth=0.8)
            axes.text(-most * 1.3, row, each["phase"], fontsize=9, color=TEXT, va="center", weight="bold")
    axes.text(most * 1.32, -0.9, "ops after it", fontsize=7, color=TEXT, ha="right", va="center")
    axes.set_yticks(rows, [each["pass"] for each in shown])
    axes.set_ylim(len(shown) - 0.4, -1.3)
    axes.set_xlim(-most * 1.32, most * 1.34)
    axes.xaxis.set_major_formatter(_unsigned)
    axes.tick_params(labelsize=7, colors=TEXT)
    axes.spines[["top", "right"]].set_visible(False)
    drawn.legend(loc="outside lower right", ncols=2, fontsize=8, frameon=False)
    idle = len(every) - len(shown)
    last = every[-1]["ops_after"] if every else facts["imported_ops"]
    text = f"{facts['imported_ops']:,} ops imported, {last:,} at the end of {len(every)} passes; {idle} changed none"
    drawn.suptitle(titled(title, text), fontsize=10, color=TEXT, ha="left", x=0.02)
    return drawn
