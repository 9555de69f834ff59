"""`mini-infer explore` and `mini-infer explain`: a compile as a page, and answers about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ...dialects.errors import ConfigError
from ..verbs import Chosen, Files, Seed, Work

if TYPE_CHECKING:
    from ..explorer.explored_model import Subject

Explored = Annotated[
    str,
    typer.Argument(
        help="An .onnx file, an .mlir file at the arena's level or above, or a record that was written as .json.",
        metavar="MODEL",
    ),
]
Measure = Annotated[bool, typer.Option(help="Run the model, and time each kernel.", show_default="on")]


def explore(
    model: Explored,
    *,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The .html page to write, or the .json record.")
    ],
    against: Annotated[
        str | None,
        typer.Option(metavar="RECORD", help="Another compile to show beside it: a record written as .json."),
    ] = None,
    measure: Measure = True,
    input: Files = None,
    seed: Seed = None,
    chosen: Chosen,
) -> Work:
    """Show a compile for one shape as a page: graph, levels, code, memory and times, with one selection through all."""
    from ..explorer import explored_model

    subject = _subject(model, measure, input, seed, chosen)
    explored_model.check_output(output, against)
    return lambda console: explored_model.write_explored(subject, output, against, console)


def explain(
    model: Explored,
    question: Annotated[str, typer.Argument(metavar="QUESTION", help="memory, time, tensor or node.")],
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Of the tensor or the node.", show_default=False)
    ] = None,
    *,
    measure: Measure = True,
    input: Files = None,
    seed: Seed = None,
    chosen: Chosen,
) -> Work:
    """Answer a question about a compile for one shape on one screen: memory, time, tensor NAME, node NAME."""
    from ..explorer import explored_model

    subject = _subject(model, measure, input, seed, chosen)
    return lambda console: explored_model.explain_explored(subject, question, name, console)


def _subject(model: str, measure: bool, files: list[str] | None, seed: int | None, chosen: Chosen) -> Subject:
    """What is explored. Raises ConfigError for a compiled file, and for options that do nothing with a record."""
    from ..explorer.explored_model import Subject

    if model.endswith(".mi"):
        raise ConfigError(f"{model} is compiled already: explore the model that it was compiled of")
    if model.endswith(".html"):
        raise ConfigError(f"{model} is a page; what explore wrote as .json can be taken for a model")
    if model.endswith(".json"):
        chosen.refuse_compiling("with a record, which is of a compile", "input", "seed", "measure")
        return Subject(model)
    chosen.check_winograd(model)
    return Subject(model, chosen.options(model, files), files or [], seed, measure)
