"""The launch list as a table, one line per launch, for `mini-opt -t launches`."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ...dialects.graph.host import ROLE, argument_texts, main_of
from ...lowering.gpu_to_cuda.launch_list import launch_list
from ..reports.plan_tables import aligned

SHOWN = 3  # nodes listed per launch; more are only counted


def launch_table(module: ModuleOp) -> str:
    """Kernel, grid, block, bytes of shared memory per block, byte offsets of its buffers, and its ONNX nodes."""
    roots = _roots(main_of(module, "-t launches"))
    rows = [("", "kernel", "grid", "block", "shared", "arguments", "nodes")]
    for index, launch in enumerate(launch_list(module)):
        arguments = ", ".join(f"{roots[each.root]}+{each.offset}" for each in launch.arguments)
        rest = len(launch.nodes) - SHOWN
        nodes = ", ".join([*launch.nodes[:SHOWN], *([f"{rest} more"] if rest > 0 else [])])
        sizes = (_size(launch.grid), _size(launch.block), str(launch.shared))
        rows.append((str(index), launch.kernel, *sizes, arguments, nodes))
    return "\n".join(line.rstrip() for line in aligned(rows, "><<<><<")) + "\n"


def _size(sizes: Sequence[int]) -> str:
    """`49x2`, without trailing sizes of 1."""
    x, y, z = sizes
    return "x".join(map(str, [x, y, z] if z > 1 else [x, y] if y > 1 else [x]))


def _roots(main: FuncOp) -> list[str]:
    """Names of main's arguments: inputs and outputs by name, others by role."""
    named = zip(argument_texts(main, "graph.name"), argument_texts(main, ROLE), strict=True)
    return [name or role or f"%{index}" for index, (name, role) in enumerate(named)]
