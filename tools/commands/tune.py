"""`mini-infer tune`: measure the schedules that a model's kernels could have."""

from __future__ import annotations

from typing import Annotated

import typer

from ..verbs import Chosen, Model, Work


def tune(
    model: Model,
    *,
    seconds: Annotated[float, typer.Option(metavar="SECONDS", help="About how long to measure.")] = 60.0,
    again: Annotated[bool, typer.Option(help="Repeat earlier measurements, too.")] = False,
    chosen: Chosen,
) -> Work:
    """Measure the fastest schedules of a model's kernels on this machine; later compiles use them."""
    from ..reports.tuning_report import show_tuning

    options = chosen.options()
    return lambda console: show_tuning(model, options, seconds, again, console)
