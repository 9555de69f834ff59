"""`mini-infer compare`: outputs beside references, down to the first node that differs; or two models by layers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...dialects.errors import ConfigError
from ..verbs import Accepted, Chosen, Compiled, Files, Seed, Work


def compare(
    model: Compiled,
    *,
    input: Files = None,
    seed: Seed = None,
    chosen: Chosen,
    tolerance: Accepted = None,
    of: Annotated[str | None, typer.Option(metavar="FILE", help="The model that a .mi file was compiled of.")] = None,
    other: Annotated[
        str | None,
        typer.Option("--with", metavar="MODEL", help="Compare another model with it, layer by layer."),
    ] = None,
    versus: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="An option of the other model, such as precision=bf16; repeatable."),
    ] = None,
    plot: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw the errors of layers: .png, .svg or .pdf.")
    ] = None,
) -> Work:
    """Compare with the float64 reference and ONNX Runtime; name the first node that differs. Exit 1 if outputs do."""
    from ..comparison import comparison
    from ..comparison.tolerances import Tolerances

    if other is not None or versus:
        return _with_another(model, other or model, versus, input, seed, chosen, tolerance, plot)
    chosen.refuse("without --with or --versus", "plot")
    compiled = chosen.is_compiled(model, but="specialize")
    if not compiled:
        chosen.refuse("without a .mi file", "of")
    elif of is None:
        raise ConfigError(f"{model} has no graph to compare with: name the model that it was compiled of with --of")
    tolerances = Tolerances.of(tolerance)
    options = chosen.options(model, input, at=not compiled)
    return lambda console: comparison.compare(model, options, input or [], seed, tolerances, console, chosen.at, of)


def _with_another(
    model: str,
    other: str,
    versus: list[str] | None,
    input: list[str] | None,
    seed: int | None,
    chosen: Chosen,
    tolerance: list[str] | None,
    plot: str | None,
) -> Work:
    """The comparison layer by layer with another model, or with the same one under other options."""
    from ..comparison import layer_comparison
    from ..comparison.tolerances import Tolerances
    from ..option_values import other_options
    from ..reports.figure_files import check_chart

    for file in (model, other):
        if Path(file).suffix in (".mi", ".mlir"):
            raise ConfigError(f"{file} has no ONNX tensors: --with and --versus are for .onnx files")
    chosen.refuse("with --with or --versus", "of")
    if chosen["range"]:
        raise ConfigError("--range does nothing with --with or --versus, which compare at one shape; see --dim")
    if plot is not None:
        check_chart(plot, "--plot")
    tolerances = Tolerances.of(tolerance)
    options = chosen.options(model, input)
    others = options | other_options("--versus", versus)
    first, second = layer_comparison.Compared(model, options), layer_comparison.Compared(other, others, versus or [])
    return lambda console: layer_comparison.compare_layers(first, second, input or [], seed, tolerances, plot, console)
