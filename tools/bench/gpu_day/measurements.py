"""Measured candidates of schedules, as lines of JSON, and what taking those with the lowest costs would lose.

    {"kernel": "builtin.module attributes {kernel.target = #kernel.gpu<...>} { graph.kernel @matmul_0 ... }",
     "schedule": "mma", "options": {"bm": 64, ...}, "predicted_us": 4.1, "us": [4.3, 4.2, 4.2, 4.2], "failed": ""}

The kernel's text holds all that its costs follow from, so that these can be computed again: by later versions, or with
other constants.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ....dialects.errors import InvalidInputError, MiniInferError
from ....dialects.graph.host import kernels_of
from ....dialects.graph.ops.structure import KernelOp
from ....dialects.graph.values import shape_of
from ....dialects.kernel.kernel_attributes import FormAttr, ScheduleAttr
from ....dialects.kernel.targets import GpuAttr, gpu_of
from ....lowering.module_text import module_context, parse_module
from ....passes.kernels.forms.contraction import contraction_form
from ....passes.kernels.forms.product import product_shape
from ....passes.kernels.schedules import AnySchedule, schedules_of
from .markdown_tables import markdown_table


@dataclass(frozen=True, eq=False)
class Subject:
    """A kernel without a schedule, on a target."""

    text: str
    kernel: KernelOp
    target: GpuAttr

    @property
    def title(self) -> str:
        """Its name with rows, depth and columns of a product, or the sizes of its results."""
        kernel = self.kernel
        if isinstance(kernel.form, FormAttr) and kernel.form.kind.data == "contraction":
            shape = product_shape(contraction_form(kernel).root)
            batch = f"{shape.batch} of " if shape.batch > 1 else ""
            return f"{kernel.sym_name.data} {batch}{shape.rows}x{shape.depth}x{shape.columns}"
        sizes = ("x".join(map(str, shape_of(value))) for value in kernel.terminator.operands)
        return f"{kernel.sym_name.data} {', '.join(sizes)}"


@cache
def subject_of(text: str) -> Subject:
    """The kernel in a module's text."""
    module = parse_module(module_context(), text.encode(), "a measured kernel")
    return Subject(text, next(iter(kernels_of(module).values())), gpu_of(module))


def text_of(kernel: KernelOp, target: GpuAttr) -> str:
    """A module with nothing but a kernel."""
    return str(ModuleOp([kernel.clone()], {"kernel.target": target}))


@dataclass(frozen=True, eq=False)
class Measurement:
    """A candidate's times, the least of which counts; none if it failed."""

    subject: Subject
    schedule: AnySchedule
    times: tuple[float, ...]
    failed: str = ""

    @property
    def key(self) -> tuple[str, str]:
        """What is measured once."""
        return (self.subject.text, str(self.schedule.attribute()))

    @property
    def us(self) -> float:
        """Measured microseconds."""
        return min(self.times)

    @property
    def predicted_us(self) -> float:
        """Those by its cost."""
        return self.schedule.cost(self.subject.kernel, self.subject.target) * 1e6

    def line(self) -> str:
        """The measurement as a line of JSON."""
        told: dict[str, Any] = {"kernel": self.subject.text, "schedule": self.schedule.name}
        told |= {"options": self.schedule.attribute().numbers(), "predicted_us": self.predicted_us}
        return json.dumps({**told, "us": self.times, "failed": self.failed}) + "\n"


def read_measurements(file: Path, kernel: str | None = None) -> list[Measurement]:
    """All of a file, or those of one kernel's text; none if there is no file yet. Raises InvalidInputError."""
    lines = file.read_text().splitlines() if file.exists() else []
    found: list[Measurement] = []
    for number, line in enumerate(lines, 1):
        try:
            told = json.loads(line)
            if kernel not in (None, told["kernel"]):
                continue
            schedule = ScheduleAttr.of(told["schedule"], **told["options"])
            way = schedules_of("cuda")[told["schedule"]].of(schedule)
            found.append(Measurement(subject_of(told["kernel"]), way, tuple(told["us"]), told["failed"]))
        except (KeyError, TypeError, ValueError, MiniInferError) as error:
            raise InvalidInputError(f"{file}, line {number}: not a measurement: {error}") from None
    return found


@dataclass(frozen=True)
class Regret:
    """The candidates of one kernel: the fastest, and that with the lowest cost."""

    subject: Subject
    measured: int
    preferred: Measurement
    fastest: Measurement

    @property
    def ratio(self) -> float:
        """Time of the preferred over that of the fastest."""
        return self.preferred.us / self.fastest.us


def regrets(measurements: Sequence[Measurement]) -> Iterator[Regret]:
    """Those of each kernel, by the costs of this version."""
    groups: dict[str, list[Measurement]] = {}
    for each in measurements:
        if each.times:
            groups.setdefault(each.subject.text, []).append(each)
    for group in groups.values():
        preferred = min(group, key=lambda each: each.predicted_us)
        yield Regret(group[0].subject, len(group), preferred, min(group, key=lambda each: each.us))


def regret_table(measurements: Sequence[Measurement]) -> str:
    """A row for each kernel, and a line with the mean."""
    found = list(regrets(measurements))
    rows: list[list[Any]] = []
    for each in sorted(found, key=lambda each: (each.subject.target.precision.data, each.subject.title)):
        first, best = each.preferred, each.fastest
        times = [first.predicted_us, first.us, best.us, each.ratio]
        rows.append([each.subject.target.precision.data, each.subject.title, each.measured, _described(first), *times])
        rows[-1].append("" if first is best else _described(best))
    heads = ["precision", "kernel", "measured", "preferred", "predicted us", "us", "fastest us", "regret", "fastest"]
    ratios = [each.ratio for each in found]
    failed = sum(not each.times for each in measurements)
    told = f"{len(measurements)} candidates of {len(found)} kernels, {failed} failed"
    if ratios:
        told += f"; the preferred take {np.mean(ratios):.3f} times as long as the fastest, at most {max(ratios):.2f}"
    return f"{markdown_table(heads, rows)}\n{told}.\n"


def _described(each: Measurement) -> str:
    options = " ".join(f"{key} {number}" for key, number in each.schedule.attribute().numbers().items())
    return f"{each.schedule.name} {options}".strip()
