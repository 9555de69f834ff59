"""Answers from a memory plan as text: why bytes are not shared, what interferes, live bytes, removed tensors."""

from __future__ import annotations

from collections.abc import Sequence

from ...passes.memory.report.memory_plan import MemoryPlan
from ...passes.memory.report.memory_records import TensorRecord
from .plan_tables import aligned, size_text, some


def why_text(plan: MemoryPlan, name: str) -> str:
    """Why a tensor's bytes are not shared. Raises ConfigError for a name that the model doesn't have."""
    found = plan.why(name)
    tensor = found.tensor
    lines = [f"{name}: {found.removed.text}"] if found.removed is not None else []
    if tensor is None:
        return "\n".join(lines) + "\n"
    if tensor.offset is None:
        place = "the weights" if tensor.role == "weight" else "an input's or an output's memory"
        lines.append(f"{tensor.name}: {size_text(tensor.bytes)} in {place}, outside of the arena, which shares nothing")
        return "\n".join(lines) + "\n"
    lines.append(
        f"{tensor.name}: {tensor.bytes:,} bytes at {tensor.offset:,}, steps [{tensor.birth},{tensor.death}), "
        f"{tensor.role} of kernel {tensor.kernel or 'none: a view'}"
    )
    if found.last_step is not None:
        kernel = plan.steps[found.last_step]
        how = "read last" if tensor.read_at else "written and read by nobody"
        lines.append(f"{how} at step {found.last_step} by {kernel}: {', '.join(found.kept_by)}")
    if found.shared_with:
        lines.append(f"in the same buffer: {some(found.shared_with, 8)}")
    if tensor.role == "view":
        return "\n".join(lines) + "\n"
    lines.append(f"at other steps its bytes belong to {some(found.reused_by, 8) or 'nobody'}")
    lines.append(f"live together with {len(found.conflicts)} tensors, which can't have its bytes:")
    rows = [
        (each.name, size_text(each.bytes), f"[{each.birth},{each.death})", _reason(each, tensor))
        for each in found.conflicts
    ]
    lines += [f"  {line}" for line in (aligned(rows, "<>><") if rows else ())]
    return "\n".join(lines) + "\n"


def _reason(other: TensorRecord, tensor: TensorRecord) -> str:
    """Why two tensors are live together."""
    if other.birth == tensor.birth:
        return "made by the same call"
    if tensor.read_at and other.birth == tensor.read_at[-1] and other.birth + 1 >= tensor.death:
        return "made by the call that reads it last"
    if other.read_at and tensor.birth == other.read_at[-1]:
        return "read by the call that makes it"
    if other.birth < tensor.birth:
        return f"made before, read until step {other.death - 1}"
    return "made while it is needed"


def interference_table(plan: MemoryPlan) -> str:
    """Each tensor with its degree and the tensors that it interferes with; the colours; the largest cliques."""
    graph = plan.interference
    colours = graph.colours()
    number = {name: colour for colour, names in enumerate(colours) for name in names}
    rows: list[Sequence[str]] = [("tensor", "bytes", "colour", "degree", "interferes with")]
    for name, tensor in graph.items():
        others = graph.neighbours(name)
        rows.append((name, f"{tensor.bytes:,}", str(number[name]), str(len(others)), some(others, 6)))
    lines = [*aligned(rows, "<>>><"), "", f"{len(graph)} tensors, {sum(1 for _ in graph.edges())} pairs that interfere"]
    lines.append(f"{len(colours)} colours: with so many buffers, no fewer, each tensor has one to itself while live")
    for by in ("number", "bytes"):
        clique = graph.largest_clique(by)
        text = f"largest clique by {by}: {len(clique)} tensors, {clique.bytes:,} bytes at step {clique.step}"
        lines.append(f"{text}: {', '.join(clique.names)}")
    return "\n".join(lines) + "\n"


def step_table(plan: MemoryPlan) -> str:
    """The arena's live bytes by step, what begins and ends there, and the scratch of the call; the peak is marked."""
    rows: list[Sequence[str]] = [("step", "live", "made", "freed", "scratch", "", "kernel", "ONNX nodes")]
    for each in plan.step_records():
        mark = "<- binds" if each.step == plan.binding_step else ""
        sizes = (f"{size:,}" for size in (each.live, each.made, each.freed, each.scratch))
        rows.append((str(each.step), *sizes, mark, each.kernel, some(each.nodes, 6)))
    return "\n".join(aligned(rows, ">>>>><<<")) + "\n"


def removed_table(plan: MemoryPlan) -> str:
    """The ONNX tensors that have no bytes of their own, and what became of each."""
    if not plan.removed:
        return "Every tensor of the model has bytes of its own.\n"
    rows = [(each.name, each.text) for each in plan.removed]
    return "\n".join(aligned([("tensor", "where it is"), *rows], "<<")) + "\n"
