"""`mini-infer plan`: the memory plan of a model, without building code."""

from __future__ import annotations

from typing import Annotated

import typer

from ...dialects.errors import ConfigError
from ...runtime.config import useless
from ..one_line_errors import SPELLINGS
from ..verbs import Chosen, Compiled, Work


def plan(
    model: Compiled,
    *,
    table: Annotated[bool, typer.Option("--table", help="All tensors: size, life, address, who reuses them.")] = False,
    pools: Annotated[bool, typer.Option("--pools", help="The pools of a pool strategy, and what they save.")] = False,
    csv: Annotated[str | None, typer.Option(metavar="FILE", help="Write a line for each tensor of the arena.")] = None,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Draw the arena: .png, .svg or .pdf.")] = None,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Draw it as an interactive page.")] = None,
    chosen: Chosen,
) -> Work:
    """Show the memory plan of a model: where every tensor lies, and how small the arena may be. No code is built."""
    if not chosen["plan_memory"]:
        chosen.refuse("with --no-plan-memory", "pools")
    compiled = chosen.is_compiled(model)
    chosen.check_winograd(model)
    options = chosen.options(model, at=not compiled)
    if pair := useless(options):
        spelled = SPELLINGS | {"planner": f"--strategy {options['planner']}"}
        raise ConfigError(f"{spelled[pair[0]]} does nothing with {spelled[pair[1]]}")
    if "profile" in options or (chosen.at and compiled):
        from .. import at_shapes

        chosen.refuse(chosen.by_ranges, "table", "pools", "csv", "plot", "html")
        return lambda console: at_shapes.plan_at_shapes(model, options, chosen.at, console)
    from ..reports import plan_summary

    wanted = plan_summary.Wanted(table, pools, plan_summary.report_files(csv=csv, plot=plot, html=html))
    return lambda console: plan_summary.show_plan(model, options, wanted, console)
