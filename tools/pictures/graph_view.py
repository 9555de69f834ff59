"""The graph as it came, and as kernel calls, side by side: a node has the colour of the call that computes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block, Operation
from xdsl.traits import IsTerminator

from ...dialects.errors import ConfigError
from ...dialects.graph.base import node_name
from ...dialects.graph.host import main_of
from ...lowering.levels import level_of
from ...passes.memory.report.memory_plan import MemoryPlan
from ...runtime.compile.module_to_plan import plan_source
from ...runtime.compile.source import ModuleSource, source_of
from ...runtime.config import EngineConfig
from ..reports.graph_layout import Point, layered
from ..reports.labels import short_names
from ..reports.palette import BUFFERS, EDGE, TEXT
from . import titled

if TYPE_CHECKING:
    from ...lowering.onnx_to_graph.model_file import ModelSource

LETTER, HEIGHT, MOST = 4.4, 15.0, 44  # points: width of a letter, height of a node; letters of a label
MARGIN, BETWEEN, HEAD = 24.0, 60.0, 44.0  # points: around the picture, between its parts, for headings
LEAST_WIDTH = 150.0  # points, of a part: for headings
NO_CALL = "#f2f4f7"
"""Colour of nodes that no call computes: they are constants, or views."""


Nodes = list[dict[str, Any]]
Edges = list[tuple[int, int, str]]


def facts(model: ModelSource, config: EngineConfig) -> dict[str, Any]:
    """`model`, the graph as it came, and `kernels`: nodes with labels and places, edges with the points they pass.

    Places are in points from the upper left corner, those of nodes their middles. `call` is the number of a kernel
    call: of a node of the model, of the one that computes it. A module's text must be at the graph level.
    """
    source = source_of(model)
    plan = plan_source(source, config)
    computed = {name: call for call, each in enumerate(plan.step_records()) for name in each.nodes}
    if isinstance(source, ModuleSource):
        kind, came = "ops", _ops(source.load(config)[0], computed)
    else:
        kind, came = "ONNX nodes", _onnx(source.model, computed, _makers(plan))
    return {"kind": kind, "model": _placed(*came), "kernels": _placed(*_calls(plan))}


def _makers(plan: MemoryPlan) -> dict[str, int]:
    """The step that makes each tensor of an ONNX model, by its name, also of those that are made inside of kernels."""
    made = {each.name: each.birth for each in plan.tensors if each.role not in ("input", "weight")}
    made |= {each.name: each.steps[0] for each in plan.removed if each.fate == "fused" and each.steps}
    return made | {each.name: made[each.into] for each in plan.removed if each.fate == "same" and each.into in made}


def _onnx(model: ModelSource, computed: Mapping[str, int], steps: Mapping[str, int]) -> tuple[Nodes, Edges]:
    """The nodes of an ONNX model, without those of branches and bodies of loops, and the values between them.

    Calls are found by a node's name, or by its results.
    """
    from ...lowering.onnx_to_graph.check import named_nodes, reads
    from ...lowering.onnx_to_graph.model_file import load_model

    nodes: Nodes = []
    edges: Edges = []
    named = named_nodes(load_model(model).proto.graph.node)
    makers = {value: number for number, (_, node) in enumerate(named) for value in node.output}
    forms = short_names([name for name, _ in named])
    for number, (name, node) in enumerate(named):
        short = next((form for form in forms[name] if len(form) < MOST - len(node.op_type)), forms[name][-1])
        label = f"{node.op_type}  {short}"
        call = computed.get(name, next((steps[each] for each in node.output if each in steps), None))
        nodes.append({"name": name, "op": node.op_type, "label": label, "call": call})
        edges += [(makers[value], number, value) for value in dict.fromkeys(reads(node)) if value in makers]
    return nodes, edges


def _ops(module: ModuleOp, computed: Mapping[str, int]) -> tuple[Nodes, Edges]:
    """The ops of a module's main, without weights, as nodes: an op with regions is one."""
    if level_of(module) != "graph":
        raise ConfigError(f"the view graph is of a model, or of a module at the graph level, not at {level_of(module)}")
    ops = [op for op in main_of(module).body.block.ops if op.operands and not op.has_trait(IsTerminator)]
    numbers: dict[Operation | Block | None, int] = {op: number for number, op in enumerate(ops)}
    nodes: Nodes = []
    edges: Edges = []
    for number, op in enumerate(ops):
        name, kind = node_name(op), op.name.removeprefix("graph.")
        nodes.append({"name": name, "op": kind, "label": f"{kind}  {name}".rstrip(), "call": computed.get(name)})
        makers = [value.owner for each in op.walk() for value in each.operands]
        edges += [
            (numbers[maker], number, "") for maker in dict.fromkeys(makers) if maker in numbers and maker is not op
        ]
    return nodes, edges


def _calls(plan: MemoryPlan) -> tuple[Nodes, Edges]:
    """The steps of a plan, and the tensors that one makes and another reads later.

    Of what both branches make, the last is taken for the maker; what a turn of a loop hands to the next is no edge.
    """
    nodes = [
        {
            "name": each.kernel,
            "nodes": list(each.nodes),
            "label": _call_label(each.kernel, each.nodes),
            "call": each.step,
        }
        for each in plan.step_records()
    ]
    edges: Edges = []
    for tensor in plan.tensors:
        if tensor.role not in ("input", "weight", "scratch"):
            edges += [(tensor.birth, step, tensor.name) for step in tensor.read_at if step > tensor.birth]
    return nodes, edges


def _call_label(kernel: str, nodes: Sequence[str]) -> str:
    return f"{kernel}: {len(nodes)} nodes" if len(nodes) > 1 else kernel


def _placed(nodes: Nodes, edges: Edges) -> dict[str, Any]:
    """Nodes with their middles and sizes, edges with their points."""
    for node in nodes:
        node["label"] = _cut(node["label"])
    sizes = {number: (LETTER * len(node["label"]) + 12, HEIGHT) for number, node in enumerate(nodes)}
    values: dict[tuple[int, int], list[str]] = {}
    for first, second, value in edges:
        values.setdefault((first, second), []).append(value)
    layout = layered(sizes, values)
    for number, node in enumerate(nodes):
        x, y = layout.positions[number]
        node |= {"x": x, "y": y, "width": sizes[number][0], "height": HEIGHT}
    drawn = [
        {
            "from": first,
            "to": second,
            "values": names,
            "points": [list(point) for point in layout.routes[first, second]],
        }
        for (first, second), names in values.items()
    ]
    return {"nodes": nodes, "edges": drawn, "width": layout.width, "height": layout.height}


def _cut(label: str) -> str:
    return label if len(label) <= MOST else f"{label[: MOST - 3]}..."


def figure(facts: Mapping[str, Any], title: str = "") -> Any:
    """The picture as a matplotlib figure."""
    from matplotlib.figure import Figure

    parts = [(facts["kind"], facts["model"]), ("steps (kernel calls)", facts["kernels"])]
    width = 2 * MARGIN + sum(max(part["width"], LEAST_WIDTH) for _, part in parts) + BETWEEN
    height = 2 * MARGIN + HEAD + max(part["height"] for _, part in parts)
    drawn: Any = Figure(figsize=(width / 72, height / 72), facecolor="white")
    axes = drawn.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    axes.text(MARGIN, MARGIN, titled(title, "the graph and its kernel calls"), fontsize=11, color=TEXT, va="center")
    left = MARGIN
    for what, part in parts:
        axes.text(left, MARGIN + 22, f"{len(part['nodes'])} {what}", fontsize=9, color=TEXT, va="center", weight="bold")
        _draw_part(axes, part, (left, MARGIN + HEAD))
        left += max(part["width"], LEAST_WIDTH) + BETWEEN
    return drawn


def _draw_part(axes: Any, part: Mapping[str, Any], corner: Point) -> None:
    """One of the two graphs: all lines, boxes and names at once, as there may be thousands."""
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.patches import FancyBboxPatch

    left, top = corner
    lines = [[(left + x, top + y) for x, y in edge["points"]] for edge in part["edges"]]
    axes.add_collection(LineCollection(lines, colors=EDGE, linewidths=0.6, zorder=1))
    ends = [points[-1] for points in lines]
    axes.scatter([x for x, _ in ends], [y - 2.5 for _, y in ends], s=9, marker="v", color=EDGE, linewidths=0, zorder=2)
    boxes = [
        FancyBboxPatch(
            (left + each["x"] - each["width"] / 2, top + each["y"] - each["height"] / 2),
            each["width"],
            each["height"],
            boxstyle="round,pad=0,rounding_size=3",
        )
        for each in part["nodes"]
    ]
    colours = [_colour(each["call"]) for each in part["nodes"]]
    axes.add_collection(PatchCollection(boxes, facecolors=colours, edgecolors=EDGE, linewidths=0.5, zorder=3))
    for each in part["nodes"]:
        place = (left + each["x"], top + each["y"])
        axes.text(*place, each["label"], fontsize=6.5, color=TEXT, ha="center", va="center", zorder=4)


def _colour(call: int | None) -> str:
    return NO_CALL if call is None else BUFFERS[call % len(BUFFERS)]
