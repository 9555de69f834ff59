"""The two graphs of the page, with positions: ONNX nodes, and the kernel calls that became of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ..reports.graph_layout import layered
from .record_data import RecordData

Key: TypeAlias = tuple[str, int]
"""A node of a picture: "node", "step" or "tensor" (an input or output of the model), and its number."""

LETTER = 6.6  # the width of a letter of 11 pixels
LONGEST = 22  # letters of a name


def graphs_of(record: RecordData) -> dict[str, Any]:
    """By kind, "node" and "step": nodes as [type, number, label, name, x, y, width, height], and edges as points."""
    return {"node": _placed(*_onnx(record)), "step": _placed(*_kernels(record))}


def _onnx(record: RecordData) -> tuple[dict[Key, tuple[str, str]], list[tuple[Key, Key]]]:
    labels: dict[Key, tuple[str, str]] = {}
    edges: list[tuple[Key, Key]] = []
    names = _endings([each.name for each in record.nodes])
    maker = {tensor: number for number, node in enumerate(record.nodes) for tensor in node.outputs}
    for number, node in enumerate(record.nodes):
        labels["node", number] = node.operator, names[number]
        for tensor in node.inputs:
            if tensor in maker:
                edges.append((("node", maker[tensor]), ("node", number)))
            elif record.tensors[tensor].role == "input":
                edges.append((("tensor", tensor), ("node", number)))
    for number, tensor in enumerate(record.tensors):
        if tensor.role == "input" and tensor.of_model:
            labels["tensor", number] = "input", tensor.name[-LONGEST:]
        elif tensor.role == "output" and number in maker:
            labels["tensor", number] = "output", tensor.name[-LONGEST:]
            edges.append((("node", maker[number]), ("tensor", number)))
    return labels, edges


def _kernels(record: RecordData) -> tuple[dict[Key, tuple[str, str]], list[tuple[Key, Key]]]:
    labels: dict[Key, tuple[str, str]] = {}
    edges: list[tuple[Key, Key]] = []
    makers: dict[int, list[int]] = {}
    for number, step in enumerate(record.steps):
        for tensor in step.writes:
            makers.setdefault(tensor, []).append(number)
    names = _endings([record.nodes[step.nodes[0]].name if step.nodes else "" for step in record.steps])
    for number, step in enumerate(record.steps):
        labels["step", number] = step.kernel[-LONGEST:], names[number]
        for tensor in step.reads:
            read = {tensor, *record.tensors[tensor].shared} if record.tensors[tensor].role == "view" else {tensor}
            before = {maker for each in read for maker in makers.get(each, ()) if maker < number}
            edges += ((("step", each), ("step", number)) for each in before)
            if record.tensors[tensor].role == "input":
                labels["tensor", tensor] = "input", record.tensors[tensor].name[-LONGEST:]
                edges.append((("tensor", tensor), ("step", number)))
        for tensor in step.writes:
            if record.tensors[tensor].role == "output":
                labels["tensor", tensor] = "output", record.tensors[tensor].name[-LONGEST:]
                edges.append((("step", number), ("tensor", tensor)))
    return labels, edges


def _endings(names: Sequence[str]) -> list[str]:
    """The last letters of each name, with a mark where some are left out."""
    return [name if len(name) <= LONGEST else f"…{name[1 - LONGEST :]}" for name in names]


def _placed(labels: Mapping[Key, tuple[str, str]], edges: Sequence[tuple[Key, Key]]) -> dict[str, Any]:
    sizes = {key: (max(map(len, texts)) * LETTER + 12, 30.0) for key, texts in labels.items()}
    layout = layered(sizes, edges)
    nodes = [
        [*key, *labels[key], *(round(each, 1) for each in (*layout.positions[key], *size))]
        for key, size in sizes.items()
    ]
    ways = [[[round(x, 1), round(y, 1)] for x, y in points] for points in layout.routes.values()]
    return {"nodes": nodes, "edges": ways, "width": round(layout.width, 1), "height": round(layout.height, 1)}
