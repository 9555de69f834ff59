"""The page of a day with a GPU: tables and a picture of the results that are there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from ....dialects.atomic_file import atomic_file
from ...reports.figure_files import write_figure
from ...reports.palette import BOUND, EDGE, TEXT
from ..turns import OURS
from .folder import Result, read_result, read_results
from .markdown_tables import markdown_table
from .measurements import read_measurements, regret_table
from .schedules import FILE

PAGE, PICTURE = "gpu-day.md", "kernels.png"
COUNTS = ("passed", "failed", "skipped", "error", "errors")


def write_page(out: Path, parts: Sequence[str]) -> Path:
    """Writes the page, and the picture if kernels were timed."""
    models, told = read_results(out / "models"), {part: read_result(out / f"{part}.json") for part in parts}
    kernels = [row for each in models for row in each.get("kernels", ())]
    text = "# A day with a GPU\n\n"
    text += "".join(f"{line}\n" for line in _states(told))
    text += "".join(_sections(out, told.get("environment") or {}, models))
    if kernels:
        write_figure(draw_kernels(kernels), str(out / PICTURE))
        text += f"\n![measured and predicted times of kernels]({PICTURE})\n"
    with atomic_file(out / PAGE) as stream:
        stream.write(text.encode())
    return out / PAGE


def _states(told: Mapping[str, Result | None]) -> Iterator[str]:
    """How each part went."""
    for part, result in told.items():
        if result is None:
            state = "not run"
        else:
            facts = [f"{result[name]} {name}" for name in (*COUNTS, "left", "measured") if result.get(name)]
            facts += [result["why"]] if "why" in result else []
            state = f"{'done' if result['done'] else 'not done'} in {result['seconds']:.0f} s: {', '.join(facts)}"
        yield f"- {part}: {state.removesuffix(': ')}"


def _sections(out: Path, environment: Result, models: Sequence[Result]) -> Iterator[str]:
    facts = [[name, value] for name, value in environment.items() if name not in ("done", "asked", "seconds")]
    if facts:
        yield f"\n## Environment\n\n{markdown_table(['', ''], facts)}"
    if models:
        yield f"\n## Models\n\n{_models_table(models)}\n{MODELS_NOTE}\n"
    if kernels := [row for each in models for row in each.get("kernels", ())]:
        yield f"\n## Kernels by schedules\n\n{_kernels_table(kernels)}"
    if measurements := read_measurements(out / FILE):
        yield f"\n## Candidates of schedules\n\n{regret_table(measurements)}"
    if compared := read_results(out / "peers"):
        yield f"\n## Beside other engines\n\n{_peers_table(compared)}"


MODELS_NOTE = """\
Times in us: of a call by the host's clock, the least of many, with inputs and outputs on the GPU; of its kernels
together, by CUPTI or by events; their prediction; and the limit by products and bytes. Errors are relative to the
largest element of what the CPU computes."""


def _models_table(models: Sequence[Result]) -> str:
    heads = ["model", "precision", "launches", "call", "kernels", "predicted", "limit", "error", ""]
    rows: list[list[Any]] = []
    for each in models:
        numbers: list[Any] = [None] * 6
        remark = _failed(each)
        if not remark:
            times = [each["replay_us"]["min"], *(each[f"{what}_us"] for what in ("kernels", "estimated", "limit"))]
            numbers = [each["launches"], *times, f"{max(each['errors'].values(), default=0.0):.1e}"]
            remark = f"runs differ: {', '.join(each['differs'])}" if each["differs"] else ""
        rows.append([each["model"], each["precision"], *numbers, remark])
    return markdown_table(heads, rows)


def _kernels_table(kernels: Sequence[Mapping[str, Any]]) -> str:
    """All calls of each schedule, those that take longest first."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in kernels:
        groups.setdefault(row["schedule"], []).append(row)
    rows: list[list[Any]] = []
    for name, mine in groups.items():
        ratios = [row["us"] / row["estimated_us"] for row in mine]
        sums = [float(sum(row[what] for row in mine)) for what in ("us", "estimated_us", "limit_us")]
        rows.append([name, len(mine), *sums, min(ratios), float(median(ratios)), max(ratios)])
    rows.sort(key=lambda row: -row[2])
    heads = ["schedule", "calls", "us", "predicted us", "limit us", "least us/predicted", "median", "largest"]
    return markdown_table(heads, rows)


def _peers_table(compared: Sequence[Result]) -> str:
    """The least time of each engine on each model, in us."""
    engines = list(dict.fromkeys([OURS, *(name for each in compared for name in each.get("engines", ()))]))
    rows: list[list[Any]] = []
    for each in compared:
        found = {name: told["min_ms"] * 1e3 for name, told in each.get("engines", {}).items()}
        others = [us for name, us in found.items() if name != OURS]
        ratio = min(others) / found[OURS] if others and OURS in found else None
        rows.append([each["model"], each["precision"], *(found.get(name) for name in engines), ratio, _failed(each)])
    return markdown_table(["model", "precision", *(f"{name}, us" for name in engines), "best other/ours", ""], rows)


def _failed(result: Result) -> str:
    """Why engines failed."""
    return "; ".join(f"{name}: {why}" for name, why in result.get("failed", {}).items())


def draw_kernels(kernels: Sequence[Mapping[str, Any]]) -> Any:
    """A matplotlib figure: each call's measured time over the predicted one, in a colour for its schedule."""
    from matplotlib import colormaps
    from matplotlib.figure import Figure

    figure: Any = Figure(figsize=(7.5, 6.5), facecolor="white", layout="constrained")
    axes = figure.subplots()
    names = sorted({row["schedule"] for row in kernels})
    for number, name in enumerate(names):
        mine = [row for row in kernels if row["schedule"] == name]
        places = [[row[what] for row in mine] for what in ("estimated_us", "us")]
        colour = colormaps["tab20"](number % 20)
        axes.scatter(*places, s=14, color=colour, edgecolor=EDGE, linewidth=0.2, label=f"{name} ({len(mine)})")
    ends = [bound(row[what] for row in kernels for what in ("estimated_us", "us")) for bound in (min, max)]
    axes.plot(ends, ends, color=BOUND, linewidth=1)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("predicted, us", color=TEXT)
    axes.set_ylabel("measured, us", color=TEXT)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(fontsize=8, frameon=False, loc="lower right", title="schedule (calls)")
    return figure
