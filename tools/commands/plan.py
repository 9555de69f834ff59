"""`mini-infer plan`: the memory plan of a model, without building code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ...dialects.arguments import check_choice
from ...dialects.errors import ConfigError
from ..json_reports import Facts
from ..verbs import Chosen, Work

_QUESTIONS = ("why", "interference", "steps", "removed")


def plan(
    models: Annotated[
        list[str],
        typer.Argument(
            help=".onnx, .mlir at any level, or compiled .mi; several with --compare.",
            metavar="MODEL",
        ),
    ],
    *,
    table: Annotated[bool, typer.Option(help="All tensors: size, life, address, who reuses them.")] = False,
    pools: Annotated[bool, typer.Option(help="The pools of a pool strategy, and what they save.")] = False,
    why: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TENSOR", help="Why a tensor's bytes are its own: who reads it last, what is live with it."
        ),
    ] = None,
    interference: Annotated[
        str | None,
        typer.Option(metavar="table|dot", help="Which tensors can't share bytes, as a table or for Graphviz."),
    ] = None,
    steps: Annotated[
        bool, typer.Option(help="Live bytes at each step: kernel, ONNX nodes, made, freed, scratch.")
    ] = False,
    removed: Annotated[
        bool, typer.Option(help="Tensors of the model without bytes of their own, and where they are.")
    ] = False,
    csv: Annotated[str | None, typer.Option(metavar="FILE", help="Write a line for each tensor of the arena.")] = None,
    plot: Annotated[str | None, typer.Option(metavar="FILE", help="Draw the arena: .png, .svg or .pdf.")] = None,
    normalised: Annotated[bool, typer.Option(help="Axes of --plot from 0 to 1, instead of steps and bytes.")] = False,
    html: Annotated[str | None, typer.Option(metavar="FILE", help="Draw it as an interactive page.")] = None,
    cache_names: Annotated[
        bool,
        typer.Option(
            help="Without --cache: take past_key_values.0.key and present.0.key for a cache, by their names.",
            show_default="on",
        ),
    ] = True,
    prove_order: Annotated[
        bool,
        typer.Option(help="Prove how small the arena may be in any order of the kernels.", show_default="on"),
    ] = True,
    compare: Annotated[
        bool,
        typer.Option(help="Run models without memory planning, with parts of it, and with all: arena and latency."),
    ] = False,
    frontier: Annotated[
        bool, typer.Option(help="The plans from the fastest to the smallest: arena, estimated time, what is chosen.")
    ] = False,
    measure: Annotated[bool, typer.Option(help="With --frontier: run each of the plans, too.")] = False,
    rounds: Annotated[int, typer.Option(min=1, metavar="N", help="Inferences of each that --compare times.")] = 10,
    chosen: Chosen,
) -> Work:
    """Show the memory plan of a model: where every tensor lies, and how small the arena may be."""
    if compare:
        return _compared(models, rounds, plot, chosen)
    chosen.refuse("without --compare", "rounds")
    model, *others = models
    if others:
        raise ConfigError(f"plan shows one model, and {len(models)} are given; --compare takes several")
    if not chosen["plan_memory"]:
        chosen.refuse("with --no-plan-memory", "pools", "prove_order")
    compiled = chosen.is_compiled(model, also=["cache_names", "prove_order"])
    chosen.check_winograd(model)
    options = chosen.options(model, at=not compiled)
    named = _caches_by_name(model, options) if cache_names else dict[str, str]()
    options |= {"caches": named} if named else {}
    if "profile" in options or (chosen.at and compiled):
        from .. import at_shapes

        chosen.refuse(
            chosen.by_ranges,
            "table",
            "pools",
            "prove_order",
            *_QUESTIONS,
            "csv",
            "plot",
            "normalised",
            "html",
            "frontier",
        )
        return _naming(named, lambda console: at_shapes.plan_at_shapes(model, options, chosen.at, console))
    options["prove_order"] = prove_order and chosen["plan_memory"]
    from ..reports import plan_summary

    if frontier:
        return _frontier(model, options, measure, plan_summary.report_files(csv=csv, plot=plot, html=html), chosen)
    chosen.refuse("without --frontier", "measure")
    if plot is None:
        chosen.refuse("without --plot", "normalised")
    files = plan_summary.report_files(csv=csv, plot=plot, html=html)
    if interference is not None:
        check_choice("--interference", interference, ("table", "dot"))
    questions = plan_summary.Questions(why or (), interference, steps, removed)
    return _naming(
        named,
        lambda console: plan_summary.show_plan(
            model, options, console, table=table, pools=pools, questions=questions, files=files, normalised=normalised
        ),
    )


def _frontier(model: str, options: Mapping[str, Any], measure: bool, files: list[str], chosen: Chosen) -> Work:
    """The work of `--frontier`."""
    from ..memory import frontier

    chosen.refuse(
        "with --frontier",
        "table",
        "pools",
        "prove_order",
        *_QUESTIONS,
        "normalised",
        "memory",
        "capacity",
        "plan_memory",
    )
    if model.endswith(".mi"):
        raise ConfigError(f"--frontier does nothing with {model}, which is compiled already")
    return lambda console: frontier.show_frontier(model, options, console, measure=measure, files=files)


def _caches_by_name(model: str, options: Mapping[str, Any]) -> dict[str, str]:
    """The caches of an ONNX model by their names, where none are given."""
    if Path(model).suffix in (".mi", ".mlir") or options["caches"]:
        return {}
    from ...lowering.onnx_to_graph.declared_kv_caches import caches_by_name

    return caches_by_name(model)


def _naming(named: Mapping[str, str], work: Work) -> Work:
    """The work, which tells in the end what was taken for a cache."""

    def told(console: Console) -> Facts:
        found = work(console)
        if pairs := [f"{past}={present}" for past, present in named.items()]:
            more = f" and {len(pairs) - 1} more" if len(pairs) > 1 else ""
            console.print(f"caches by their names: {pairs[0]}{more}; --no-cache-names plans without", soft_wrap=True)
        return found

    return told


def _compared(models: list[str], rounds: int, plot: str | None, chosen: Chosen) -> Work:
    """The work of `--compare`."""
    from ..bench import memory_reuse
    from ..reports.figure_files import check_chart

    chosen.refuse(
        "with --compare",
        "table",
        "pools",
        *_QUESTIONS,
        "csv",
        "html",
        "normalised",
        "capacity",
        "plan_memory",
        "prove_order",
        "range",
        "at",
    )
    if chosen["device"] == "cuda-emulated":
        chosen.refuse("with --device cuda-emulated, which has no clock", "compare")
    if loaded := [model for model in models if model.endswith(".mi")]:
        raise ConfigError(f"--compare does nothing with {loaded[0]}, which is compiled already")
    if plot is not None:
        check_chart(plot, "--plot")
    chosen.check_winograd(*models)
    options = chosen.options()
    return lambda console: memory_reuse.show_comparison(models, options, rounds, plot, console)
