"""`mini-infer plan`: the memory plan of a model, without building code."""

from __future__ import annotations

from typing import Annotated

import typer

from ...dialects.errors import ConfigError
from ..one_line_errors import SPELLINGS
from ..option_values import FLAGS
from ..verbs import Chosen, Compiled, Work


def plan(
    model: Compiled,
    *,
    table: Annotated[bool, typer.Option(help="All tensors: size, life, address, who reuses them.")] = False,
    pools: Annotated[bool, typer.Option(help="The pools of a pool strategy, and what they save.")] = False,
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
    spelled = SPELLINGS | {"planner": f"--strategy {options['planner']}"}
    for option in FLAGS.values():
        if option.name in options and (other := option.useless(options)) is not None:
            raise ConfigError(f"{spelled[option.name]} does nothing with {spelled[other]}")
    if "profile" in options or (chosen.at and compiled):
        from .. import at_shapes

        chosen.refuse(chosen.by_ranges, "table", "pools", "csv", "plot", "html")
        return lambda console: at_shapes.plan_at_shapes(model, options, chosen.at, console)
    from ..reports import plan_summary

    files = plan_summary.report_files(csv=csv, plot=plot, html=html)
    return lambda console: plan_summary.show_plan(model, options, console, table=table, pools=pools, files=files)
