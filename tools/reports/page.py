"""The memory plan as an interactive page by Bokeh: one self-contained HTML file.

Arena above, live bytes below, one time axis. A tooltip shows the tensor, its kernel, its ONNX node, size and lifetime;
wheel and drag zoom; names appear where they fit, so zooming in shows more of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, TypeAlias

from ...passes.memory.report.memory_plan import MemoryPlan
from ...passes.memory.report.memory_records import TensorRecord
from .labels import short_names
from .palette import BINDING, BOUND, EDGE, HATCH, LIVE, TEXT, VIEW, colour_of
from .plan_tables import beside, headline, size_text, some, subtitle, unit_of
from .rectangles import KINDS, Block, Kind, blocks_of
from .reuse import next_users

Figure: TypeAlias = Any  # Bokeh creates its properties at run time, invisible to type checkers

TOOLTIP = """
<div style="max-width: 26em">
  <b>@name</b><br>
  @size, steps @life<br>
  addresses @address<br>
  kernel <b>@kernel</b>, ONNX node <b>@node</b><br>
  read by @consumers<br>
  <span style="color: #5c6b82">@notes</span>
</div>
"""

# Shows the names that fit their rectangles at the current zoom, horizontal or vertical.
FIT_NAMES = """
const across = x_range.end - x_range.start, up = y_range.end - y_range.start;
const {left, right, bottom, top, label, shown, angle} = source.data;
for (let i = 0; i < label.length; i++) {
  const width = (right[i] - left[i]) / across * plot.inner_width;
  const height = (top[i] - bottom[i]) / up * plot.inner_height;
  const long = 6.2 * label[i].length + 6, high = 13;
  const lying = long <= width && high <= height, upright = long <= height && high <= width;
  shown[i] = lying || upright ? label[i] : "";
  angle[i] = lying ? 0 : Math.PI / 2;
}
source.change.emit();
"""


def page_html(plan: MemoryPlan, title: str = "") -> str:
    """The page as text; it needs no network and no server."""
    from bokeh.embed import file_html
    from bokeh.layouts import column
    from bokeh.models import Div
    from bokeh.resources import INLINE

    head = f"{title}: {headline(plan)}" if title else headline(plan)
    style = f"font-family: sans-serif; color: {TEXT}"
    told = "".join(f"<div>{escape(line)}</div>" for line in (subtitle(plan), beside(plan)))
    told += _elsewhere(plan)
    text = f'<div style="{style}"><h2 style="margin: 0.3em 0">{escape(head)}</h2>{told}</div>'
    arena = _arena(plan)
    page = column(Div(text=text), arena, _live(plan, arena), sizing_mode="stretch_width")
    return file_html(page, INLINE, title=head)


def _elsewhere(plan: MemoryPlan) -> str:
    """The tensors without bytes in the arena, and where they are, as lists to open."""
    outside = [(each.name, f"{each.role}, {each.bytes:,} bytes") for each in plan.tensors if each.offset is None]
    removed = [(each.name, each.text) for each in plan.removed]
    lists = (("tensors outside of the arena", outside), ("tensors of the model without bytes of their own", removed))
    return "".join(_list(f"{len(rows)} {title}", rows) for title, rows in lists if rows)


def _list(title: str, rows: Sequence[tuple[str, str]]) -> str:
    lines = "".join(f"<div><b>{escape(name)}</b>: {escape(where)}</div>" for name, where in rows)
    return f"<details><summary>{title}</summary>{lines}</details>"


def _arena(plan: MemoryPlan) -> Figure:
    """The rectangles, one glyph for each kind, so that the legend can toggle it."""
    from bokeh.models import ColumnDataSource, HoverTool, Range1d
    from bokeh.plotting import figure

    unit, unit_name = unit_of(plan.arena_bytes)
    plot: Figure = figure(
        height=560,
        sizing_mode="stretch_width",
        x_range=Range1d(start=0, end=max(1, len(plan.steps)), bounds="auto"),
        y_range=Range1d(start=0, end=max(1, plan.arena_bytes) * 1.04 / unit, bounds="auto"),
        tools="pan,wheel_zoom,box_zoom,xwheel_zoom,reset,save",
        active_scroll="wheel_zoom",
        y_axis_label=f"address in the arena ({unit_name})",
    )
    blocks, users = blocks_of(plan), next_users(plan)
    inside = _computed_inside(plan)
    pointed: list[Any] = []
    for kind in DRAWING_ORDER:
        found = [block for block in blocks if block.kind == kind]
        if found:
            columns: Any = _columns(
                found, users, inside, unit
            )  # what bokeh takes depends on whether pandas is installed
            source = ColumnDataSource(columns)
            drawn = plot.quad(source=source, legend_label=KINDS[kind], **_style(kind))
            pointed += [drawn] if kind != "reserved" else []
    _lines(plan, plot, unit)
    _names(plot, blocks, unit)
    plot.add_tools(HoverTool(renderers=pointed, tooltips=TOOLTIP, point_policy="follow_mouse", limit=2))
    plot.add_layout(plot.legend[0], "below")
    plot.legend.orientation = "horizontal"
    plot.legend.location = "left"
    plot.legend.spacing = 16
    plot.legend.border_line_color = None
    plot.legend.click_policy = "hide"
    _finish(plot)
    return plot


DRAWING_ORDER: tuple[Kind, ...] = ("reserved", "tensor", "in place", "scratch", "view")


def _computed_inside(plan: MemoryPlan) -> dict[int, list[str]]:
    """By step, the removed tensors that its kernel computes inside."""
    inside: dict[int, list[str]] = {}
    for each in plan.removed:
        for step in each.steps if each.fate == "fused" else ():
            inside.setdefault(step, []).append(each.name)
    return inside


def _columns(
    blocks: Sequence[Block], users: Mapping[str, Sequence[str]], inside: Mapping[int, Sequence[str]], unit: int
) -> dict[str, list[Any]]:
    """The data of rectangles and their tooltips."""
    columns: dict[str, list[Any]] = {
        "left": [block.start for block in blocks],
        "right": [block.end for block in blocks],
        "bottom": [block.low / unit for block in blocks],
        "top": [block.high / unit for block in blocks],
        "colour": [colour_of(block) for block in blocks],
    }
    for block in blocks:
        if block.tensor is not None:
            within = inside.get(block.tensor.birth, ()) if block.tensor.role == "intermediate" else ()
            for key, text in _facts(block.tensor, users[block.tensor.name], within).items():
                columns.setdefault(key, []).append(text)
    return columns


def _facts(tensor: TensorRecord, users: Sequence[str], within: Sequence[str]) -> dict[str, str]:
    """The tooltip of a tensor; `users` reuse its bytes next, `within` are computed inside of its kernel."""
    notes = [
        *([f"shares bytes with {some(tensor.shared_with)}"] if tensor.shared_with else []),
        *(["a part of every row of its buffer"] if tensor.extent > tensor.bytes else []),
        *([f"inside of its kernel: {some(within)}"] if within else []),
        *([f"its bytes go to {some(users)}"] if users else []),
    ]
    return {
        "name": tensor.name,
        "size": f"{tensor.bytes:,} bytes",
        "life": f"{tensor.birth} to {tensor.death - 1}",
        "address": f"{tensor.offset:,} to {tensor.end:,}",
        "kernel": tensor.kernel or "none: a view",
        "node": tensor.node or tensor.name,
        "consumers": some(tensor.consumers) or "none",
        "notes": "; ".join(notes),
    }


def _style(kind: Kind) -> dict[str, Any]:
    """The style of a kind of rectangle."""
    match kind:
        case "view":
            return {"fill_alpha": 0, "line_color": VIEW, "line_dash": [4, 3]}
        case "reserved":
            return {"fill_color": "colour", "line_color": EDGE, "line_alpha": 0.4}
        case "in place":
            hatch = {"hatch_pattern": "right_diagonal_line", "hatch_color": HATCH, "hatch_weight": 0.8}
            return {"fill_color": "colour", "line_color": EDGE, "line_width": 0.6, "hatch_scale": 9, **hatch}
        case _:
            return {"fill_color": "colour", "line_color": EDGE, "line_width": 0.6}


def _lines(plan: MemoryPlan, plot: Figure, unit: int) -> None:
    """The lower bound, and the binding step."""
    steps, bound = max(1, len(plan.steps)), plan.lower_bound_bytes
    plot.line(
        [0, steps],
        [bound / unit] * 2,
        color=BOUND,
        line_width=2,
        line_dash="dashed",
        legend_label=f"lower bound {size_text(bound)}",
    )
    plot.line(
        [plan.binding_step + 0.5] * 2,
        [0, max(1, plan.arena_bytes) * 1.04 / unit],
        color=BINDING,
        line_width=2,
        line_dash="dotted",
        legend_label=f"step {plan.binding_step} binds",
    )


def _names(plot: Figure, blocks: Sequence[Block], unit: int) -> None:
    """Names centred in the rectangles, where they fit at the current zoom."""
    from bokeh.events import DocumentReady
    from bokeh.models import ColumnDataSource, CustomJS

    named = [(block, block.tensor.name) for block in blocks if block.tensor is not None and block.kind != "view"]
    forms = short_names([name for _, name in named])
    source = ColumnDataSource(
        {
            "left": [block.start for block, _ in named],
            "right": [block.end for block, _ in named],
            "bottom": [block.low / unit for block, _ in named],
            "top": [block.high / unit for block, _ in named],
            "x": [(block.start + block.end) / 2 for block, _ in named],
            "y": [(block.low + block.high) / 2 / unit for block, _ in named],
            "label": [forms[name][0] for _, name in named],
            "shown": [""] * len(named),
            "angle": [0.0] * len(named),
            "colour": [colour_of(block) for block, _ in named],
        }
    )
    plot.text(
        source=source,
        text="shown",
        angle="angle",
        text_font_size="11px",
        text_align="center",
        text_baseline="middle",
        text_color=TEXT,
        background_fill_color="colour",
    )
    fit = CustomJS(
        args={"source": source, "plot": plot, "x_range": plot.x_range, "y_range": plot.y_range}, code=FIT_NAMES
    )
    for part, names in ((plot.x_range, ("start", "end")), (plot.y_range, ("start", "end")), (plot, SIZES)):
        for name in names:
            part.js_on_change(name, fit)
    plot.js_on_event(DocumentReady, fit)


SIZES = ("inner_width", "inner_height")


def _live(plan: MemoryPlan, arena: Figure) -> Figure:
    """Live bytes by step, below the arena on the same time axis."""
    from bokeh.models import ColumnDataSource, HoverTool, Range1d
    from bokeh.plotting import figure

    levels = plan.live_bytes()
    unit, unit_name = unit_of(plan.lower_bound_bytes)
    plot: Figure = figure(
        height=200,
        sizing_mode="stretch_width",
        x_range=arena.x_range,
        y_range=Range1d(start=0, end=max(1, plan.lower_bound_bytes) * 1.18 / unit),
        tools="xpan,xwheel_zoom,reset",
        active_scroll="xwheel_zoom",
        x_axis_label="step (kernel call)",
        y_axis_label=f"live ({unit_name})",
    )
    source = ColumnDataSource(
        {
            "left": list(range(len(levels))),
            "right": [step + 1 for step in range(len(levels))],
            "bottom": [0] * len(levels),
            "top": [level / unit for level in levels],
            "size": [f"{level:,}" for level in levels],
            "kernel": list(plan.steps),
            "left_over": [f"{plan.arena_bytes - level:,}" for level in levels],
        }
    )
    bars = plot.quad(source=source, fill_color=LIVE, line_color=LIVE)
    _lines(plan, plot, unit)
    plot.legend.visible = False
    text = "step <b>@left</b>, kernel <b>@kernel</b><br>@size bytes live, @left_over free"
    plot.add_tools(HoverTool(renderers=[bars], tooltips=text, mode="vline", point_policy="follow_mouse"))
    _finish(plot)
    return plot


def _finish(plot: Figure) -> None:
    plot.toolbar.logo = None
    plot.min_border_left = 70
    plot.grid.grid_line_alpha = 0.4
    plot.outline_line_color = None
    plot.axis.minor_tick_line_color = None
