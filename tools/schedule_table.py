"""The table of every kernel's candidate schedules with their costs, as considered by choose-schedule."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from rich.table import Table

from ..passes.kernels.choose_schedule import Choice
from ..passes.kernels.schedules import AnySchedule


def choices_table(choices: Iterable[Choice]) -> Table:
    """A row for each candidate of each scheduled kernel."""
    table = Table("kernel", "form", "candidate", "options", title="Schedules")
    table.add_column("us, estimated", justify="right")
    table.add_column("taken")
    for choice in choices:
        for number, (schedule, seconds) in enumerate(choice.candidates):
            names = ("", "") if number else (choice.kernel, choice.form)
            mark = ("measured" if choice.tuned else "yes") if schedule == choice.taken else ""
            options = ", ".join(f"{name} = {value}" for name, value in _options(schedule).items())
            table.add_row(*names, schedule.name, options, f"{seconds * 1e6:.1f}", mark)
    return table


def choice_facts(choices: Iterable[Choice]) -> list[dict[str, Any]]:
    """The same for programs: kernels with their candidates, one of which is chosen."""
    return [
        {
            "kernel": choice.kernel,
            "form": choice.form,
            "tuned": choice.tuned,
            "candidates": [
                {
                    "schedule": schedule.name,
                    "options": _options(schedule),
                    "estimated_us": seconds * 1e6,
                    "taken": schedule == choice.taken,
                }
                for schedule, seconds in choice.candidates
            ],
        }
        for choice in choices
    ]


def _options(schedule: AnySchedule) -> dict[str, int]:
    return {each.name: int(getattr(schedule, each.name)) for each in fields(schedule)}
