"""The launches as a table, one line per launch, and what the host decides between them, for `mini-opt -t launches`.

if %0:  (waits for the GPU)
  launches 1 to 3
else:
  launch 4
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ...dialects.graph.host import ROLE, argument_texts, main_of
from ...lowering.gpu_to_cuda.device_program import (
    Assign,
    Compute,
    For,
    If,
    Launches,
    LaunchWith,
    Number,
    Program,
    Read,
)
from ...lowering.gpu_to_cuda.launch_list import device_program
from ..reports.plan_tables import aligned

SHOWN = 3  # nodes listed per launch; more are only counted


def launch_table(module: ModuleOp) -> str:
    """Kernel, grid, block, bytes of shared memory per block, byte offsets of its buffers, boxes, and its ONNX nodes.

    A grid "at once" is that of a cooperative launch. Where there are loops or branches, the program of the host
    follows, which refers to launches by number.
    """
    program = device_program(module)
    roots = _roots(main_of(module, "-t launches"))
    rows = [("", "kernel", "grid", "block", "shared", "arguments", "nodes")]
    for index, launch in enumerate(program.launches):
        places = [f"{roots[each.root]}+{each.offset}" for each in launch.arguments]
        boxes = [f"{'x'.join(map(str, each.box))} of {places[each.argument]}" for each in launch.maps]
        arguments = ", ".join((*places, *boxes))
        rest = len(launch.nodes) - SHOWN
        nodes = ", ".join([*launch.nodes[:SHOWN], *([f"{rest} more"] if rest > 0 else [])])
        grid = _size(launch.grid) + (" at once" if launch.cooperative else "")
        sizes = (grid, _size(launch.block), str(launch.shared))
        rows.append((str(index), launch.kernel, *sizes, arguments, nodes))
    lines = [line.rstrip() for line in aligned(rows, "><<<><<")]
    if any(not isinstance(step, Launches) for step in program.steps):
        lines += ["", "the host", *_Lines(roots).of(program.steps, "  ")]
    return "\n".join(lines) + "\n"


class _Lines:
    """The text of steps; where the host first uses a number that it has read, it waits for the GPU."""

    def __init__(self, roots: Sequence[str]) -> None:
        self._roots = roots
        self._unread: set[Number] = set()

    def of(self, steps: Program, indent: str) -> Iterator[str]:
        """The lines of steps."""
        for step in steps:
            match step:
                case Launches():
                    last = step.end - 1
                    yield f"{indent}launches {step.first} to {last}" if last > step.first else f"{indent}launch {last}"
                case LaunchWith():
                    numbers = ", ".join(map(str, step.offsets))
                    yield indent + self._using(f"launch {step.launch} at {numbers}", step.grid + step.offsets)
                case Read():
                    line = f"{step.result} = read i{step.bits} at {self._roots[step.root]}+{step.offset}"
                    yield indent + self._using(line, [step.offset])
                    self._unread.add(step.result)
                case Compute():
                    line = f"{step.result} = {step.operation} {', '.join(map(str, step.operands))}"
                    yield indent + self._using(line, step.operands)
                case Assign():
                    for target, value in zip(step.targets, step.values, strict=True):
                        yield indent + self._using(f"{target} = {value}", [value])
                case If():
                    yield indent + self._using(f"if {step.condition}:", [step.condition])
                    yield from self.of(step.then, indent + "  ")
                    if step.otherwise:
                        yield f"{indent}else:"
                        yield from self.of(step.otherwise, indent + "  ")
                case For():
                    bounds = step.first, step.end, step.step
                    line = f"for {step.counter} = {step.first} to {step.end} step {step.step}:"
                    yield indent + self._using(line, bounds)
                    yield from self.of(step.body, indent + "  ")
                case _:
                    yield from self.of(step.test, indent)
                    yield indent + self._using(f"while {step.condition}:", [step.condition])
                    yield from self.of((*step.body, *step.test), indent + "  ")

    def _using(self, line: str, numbers: Iterable[Number]) -> str:
        if self._unread.isdisjoint(numbers):
            return line
        self._unread.clear()
        return f"{line}  (waits for the GPU)"


def _size(sizes: Sequence[int]) -> str:
    """`49x2`, without trailing sizes of 1."""
    x, y, z = sizes
    return "x".join(map(str, [x, y, z] if z > 1 else [x, y] if y > 1 else [x]))


def _roots(main: FuncOp) -> list[str]:
    """Names of main's arguments: inputs and outputs by name, others by role."""
    named = zip(argument_texts(main, "graph.name"), argument_texts(main, ROLE), strict=True)
    return [name or role or f"%{index}" for index, (name, role) in enumerate(named)]
