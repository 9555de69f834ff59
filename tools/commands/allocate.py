"""`mini-infer allocate`: the planner by itself, for buffers of any program."""

from __future__ import annotations

from typing import Annotated

import typer

from ..option_values import FLAGS, typed
from ..verbs import Work


def allocate(
    problem: Annotated[
        str, typer.Argument(metavar="FILE", help="A .csv file: id,lower,upper,size, half-open; or of plan --csv.")
    ],
    strategy: Annotated[str, typed(FLAGS["strategy"])] = "auto",
    capacity: Annotated[
        int | None, typer.Option(min=0, metavar="BYTES", help="Largest accepted arena; exit status 1 if no plan fits.")
    ] = None,
    time_limit: Annotated[float | None, typer.Option(min=0, metavar="SECONDS", help="Time limit of searches.")] = None,
    alignment: Annotated[int, typer.Option(min=1, metavar="BYTES", help="Alignment of offsets, in bytes.")] = 1,
    beam_width: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Partial plans that --strategy beam keeps.", show_default="8")
    ] = None,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Draw the result: .png, .svg or .pdf.")] = None,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the problem with its offsets.")
    ] = None,
) -> Work:
    """Plan the memory of any program: buffers with sizes and lifetimes in MiniMalloc's CSV format."""
    from ..memory.allocation import show_allocation

    return lambda console: show_allocation(
        problem, strategy, capacity, time_limit, alignment, output, console, beam_width=beam_width, plot=plot
    )
