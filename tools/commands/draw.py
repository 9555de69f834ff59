"""`mini-infer draw`: pictures of a model: memory, time, passes, and the graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from ...dialects.errors import ConfigError
from ..json_reports import Facts
from ..verbs import Chosen, Compiled, Files, Seed, Work


def draw(
    view: Annotated[
        str,
        typer.Argument(
            help="memory (live bytes at each step), time (of kernels, beside the machine's limits), passes (what each "
            "changed), or graph (ONNX nodes and kernel calls).",
            metavar="VIEW",
        ),
    ],
    model: Compiled,
    *,
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="Picture: .png, .svg, .pdf; data: .json."),
    ],
    input: Files = None,
    seed: Seed = None,
    runs: Annotated[int, typer.Option(min=1, metavar="N", help="Inferences that time measures.")] = 20,
    chosen: Chosen,
) -> Work:
    """Draw a model: its memory over time, its kernels' times, what passes changed, its graph before and after."""
    from .. import pictures
    from ..reports.plan_summary import title_of
    from ..waiting import working

    pictures.check_view(view, output)
    more: dict[str, Any] = {"files": input or [], "seed": seed, "runs": runs}
    if view != "time":
        chosen.refuse(f"with the view {view}, which runs nothing", "input", "seed", "runs")
        more = {}
    if chosen.is_compiled(model) and view != "memory":
        raise ConfigError(
            f"the view {view} is of a compile, and {model} is compiled already: take the model it is from"
        )
    chosen.check_winograd(model)
    options = chosen.options(model, input)

    def work(console: Console) -> Facts:
        from ...runtime.config import EngineConfig

        with working(console, f"drawing {output}"):
            facts = pictures.facts_of(view, model, EngineConfig.of(**options), **more)
            pictures.write_view(facts, output, title_of(Path(model)))
        console.print(f"written: {output}")
        return {"model": model, **facts}

    return work
