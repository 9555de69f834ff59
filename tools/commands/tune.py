"""`mini-infer tune`: measure the schedules that a model's kernels could have."""

from __future__ import annotations

from typing import Annotated

import typer

from ..verbs import Chosen, Model, Work


def tune(
    model: Model,
    *,
    seconds: Annotated[float, typer.Option(metavar="SECONDS", help="About how long to measure.")] = 60.0,
    again: Annotated[bool, typer.Option(help="Measure what was measured before, too.")] = False,
    chosen: Chosen,
) -> Work:
    """Measure how a model's kernels are best carried out on this machine; later compiles go by it."""
    from ..reports.tuning_report import show_tuning

    options = chosen.options()
    return lambda console: show_tuning(model, options, seconds, again, console)
