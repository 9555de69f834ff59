"""The memory plan as a Gantt chart by matplotlib: steps by bytes of the arena, with live bytes below.

One rectangle per tensor, in the colour of its buffer, with its name where it fits. The binding step and the lower bound
are lines: where they cross, every byte of an optimal arena is occupied.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from ...passes.memory.report.memory_plan import MemoryPlan
from .figure_files import save_figure
from .labels import fitting_label, short_names
from .palette import BINDING, BOUND, BUFFERS, EDGE, HATCH, KIND_COLOURS, LIVE, TEXT, VIEW, colour_of
from .plan_tables import headline, size_text, subtitle, unit_of
from .rectangles import KINDS, Block, Kind, blocks_of

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.figure import Figure

Axes: TypeAlias = Any  # matplotlib doesn't type its keyword arguments
HEIGHT = 7.4  # inches
LEFT, RIGHT, TOP, BOTTOM = 0.75, 0.35, 0.75, 0.85  # inches around the axes
STEP = 0.21  # inches
WIDTHS = (9.0, 18.0)  # inches: minimum and maximum width
DASHES = (0, (5, 3))
LEGEND: Mapping[str, Any] = {"fontsize": 8, "frameon": False, "borderaxespad": 0, "columnspacing": 1.4}
FINE = 5.0  # points: thinner rectangles get finer lines


def draw_plan(plan: MemoryPlan, title: str = "", *, normalised: bool = False) -> Figure:
    """The chart as a matplotlib figure, whose width grows with the number of steps.

    Axes tell steps and bytes; `normalised`, parts of all steps and of the arena, from 0 to 1.
    """
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    steps = max(1, len(plan.steps))
    width = min(WIDTHS[1], max(WIDTHS[0], LEFT + RIGHT + STEP * steps))
    figure: Any = Figure(figsize=(width, HEIGHT), facecolor="white")
    inside = {"left": LEFT / width, "right": 1 - RIGHT / width, "top": 1 - TOP / HEIGHT, "bottom": BOTTOM / HEIGHT}
    grid = figure.add_gridspec(2, 1, height_ratios=(4, 1), hspace=0.07, **inside)
    arena = figure.add_subplot(grid[0])
    live = figure.add_subplot(grid[1], sharex=arena)
    unit, unit_name = unit_of(plan.arena_bytes)

    def in_unit(count: float, _: int | None) -> str:
        return f"{count / unit:g}"

    if normalised:
        unit, unit_name = max(1, plan.arena_bytes), "part of it"
    arena.set_xlim(0, steps)
    arena.set_ylim(0, max(1, plan.arena_bytes) * 1.04)
    live.set_ylim(0, max(1, plan.lower_bound_bytes) * 1.18)
    blocks = blocks_of(plan)
    for offset, _ in plan.pools[1:]:
        arena.axhline(offset, color=EDGE, linewidth=0.8, alpha=0.6, zorder=0)
    scale = _points_per_unit(figure, arena)
    _draw_blocks(arena, blocks, scale)
    _name_blocks(arena, blocks, scale)
    levels = plan.live_bytes() or [0]
    live.stairs(levels, range(len(levels) + 1), fill=True, facecolor=LIVE, edgecolor=EDGE, linewidth=0.8)
    for axes in (arena, live):
        axes.axhline(plan.lower_bound_bytes, color=BOUND, linewidth=1.3, linestyle=DASHES, zorder=5)
        axes.axvline(plan.binding_step + 0.5, color=BINDING, linewidth=1.3, linestyle=":", zorder=5)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8, colors=TEXT)
        axes.yaxis.set_major_locator(MaxNLocator(6 if axes is arena else 3, steps=[1, 2, 2.5, 5, 10]))
        axes.yaxis.set_major_formatter(FuncFormatter(in_unit))
    arena.tick_params(labelbottom=False)
    arena.set_ylabel(f"address in the arena ({unit_name})", fontsize=9, color=TEXT)
    live.set_ylabel(f"live ({unit_name})", fontsize=9, color=TEXT)
    live.set_xlabel("time (part of all steps)" if normalised else "step (kernel call)", fontsize=9, color=TEXT)
    if normalised:
        live.set_xticks([steps * tenth / 10 for tenth in range(11)], [f"{tenth / 10:g}" for tenth in range(11)])
        for axes, most in ((arena, 10), (live, 2)):
            axes.set_yticks([unit * part / most for part in range(most + 1)])
    name = f"{title}: " if title else ""
    figure.text(LEFT / width, 1 - 0.32 / HEIGHT, name + headline(plan), fontsize=13, weight="bold", color=TEXT)
    figure.text(LEFT / width, 1 - 0.58 / HEIGHT, subtitle(plan), fontsize=9, color=TEXT)
    handles = _legend(plan, {block.kind for block in blocks})
    place = (LEFT / width, 0.12 / HEIGHT)
    figure.legend(handles=handles, loc="lower left", bbox_to_anchor=place, ncols=len(handles), **LEGEND)
    return figure


def write_picture(plan: MemoryPlan, stream: BinaryIO, kind: str, title: str = "", *, normalised: bool = False) -> None:
    """Writes the chart as "png", "svg" or "pdf"; equal plans give equal files."""
    save_figure(draw_plan(plan, title, normalised=normalised), stream, kind)


def _points_per_unit(figure: Any, axes: Axes) -> tuple[float, float]:
    """Points per step and per byte."""
    box = axes.get_position()
    across, up = figure.get_size_inches() * 72
    return box.width * across / axes.get_xlim()[1], box.height * up / axes.get_ylim()[1]


def _draw_blocks(axes: Axes, blocks: Sequence[Block], scale: tuple[float, float]) -> None:
    from matplotlib.patches import Rectangle

    for block in blocks:
        size = (block.end - block.start, block.high - block.low)
        fine = min(size[0] * scale[0], size[1] * scale[1]) < FINE
        for style in _styles(block.kind, colour_of(block), fine):
            axes.add_patch(Rectangle((block.start, block.low), *size, **style))


def _styles(kind: Kind, colour: str, fine: bool = False) -> list[Mapping[str, Any]]:
    """The patch styles of a kind of rectangle, drawn on top of each other."""
    line = 0.15 if fine else 0.6
    if kind == "view":
        return [{"facecolor": "none", "edgecolor": VIEW, "linewidth": line, "linestyle": DASHES, "zorder": 4}]
    if kind == "reserved":
        return [{"facecolor": colour, "edgecolor": EDGE, "linewidth": line / 2, "zorder": 1}]
    fill: dict[str, Any] = {"facecolor": colour, "edgecolor": EDGE, "linewidth": line, "zorder": 2}
    if kind != "in place":
        return [fill]
    hatch = {"facecolor": colour, "edgecolor": HATCH, "linewidth": 0, "hatch": "///", "zorder": 2}
    return [hatch, {**fill, "facecolor": "none"}]


def _name_blocks(axes: Axes, blocks: Sequence[Block], scale: tuple[float, float]) -> None:
    """Writes names where they fit; views are left out, since their bytes belong to named tensors."""
    named = [(block, block.tensor.name) for block in blocks if block.tensor is not None and block.kind != "view"]
    forms = short_names([name for _, name in named])
    for block, name in named:
        size = ((block.end - block.start) * scale[0], (block.high - block.low) * scale[1])
        label = fitting_label(forms[name], *size)
        if label is not None:
            axes.text(
                (block.start + block.end) / 2,
                (block.low + block.high) / 2,
                label.text,
                fontsize=label.size,
                rotation=90 if label.upright else 0,
                ha="center",
                va="center",
                color=TEXT,
                zorder=6,
                bbox={"facecolor": colour_of(block), "edgecolor": "none", "pad": 0.5},
            )


def _legend(plan: MemoryPlan, kinds: Collection[Kind]) -> list[Artist]:
    """The legend's entries: kinds of rectangles, and lines."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Artist] = []
    for kind, text in KINDS.items():
        if kind in kinds:
            handles.append(Patch(label=text, **_styles(kind, KIND_COLOURS.get(kind, BUFFERS[0]))[0]))
    bound = f"lower bound {size_text(plan.lower_bound_bytes)}"
    handles.append(Line2D([], [], color=BOUND, linewidth=1.3, linestyle=DASHES, label=bound))
    binding = f"step {plan.binding_step} binds"
    handles.append(Line2D([], [], color=BINDING, linewidth=1.3, linestyle=":", label=binding))
    return handles
