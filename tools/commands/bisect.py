"""`mini-infer bisect`: the pass, the kernel and the node that make an output wrong."""

from __future__ import annotations

from typing import Annotated

import typer

from ..verbs import Accepted, Chosen, Files, Model, Seed, Work


def bisect(
    model: Model,
    *,
    input: Files = None,
    seed: Seed = None,
    chosen: Chosen,
    tolerance: Accepted = None,
    output: Annotated[
        str | None, typer.Option(metavar="NAME", help="The output to judge.", show_default="all of them")
    ] = None,
    reproducer: Annotated[
        str | None,
        typer.Option("--reproducer", "-o", metavar="FILE.mlir", help="Write the module before it, and what to run."),
    ] = None,
) -> Work:
    """Find the pass, the kernel and the ONNX node that make an output wrong. Exit 1 if there is one."""
    from ..bisection.bisection import bisect
    from ..comparison.tolerances import Tolerances

    tolerances = Tolerances.of(tolerance)
    options = chosen.options(model, input)
    return lambda console: bisect(model, options, input or [], seed, tolerances, output, reproducer, console)
