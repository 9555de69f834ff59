"""`mini-infer compare`: outputs beside references, down to the first node that differs."""

from __future__ import annotations

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
) -> Work:
    """Compare with the float64 reference and ONNX Runtime; name the first node that differs. Exit 1 if outputs do."""
    from ..comparison import comparison
    from ..comparison.tolerances import Tolerances

    compiled = chosen.is_compiled(model, but="specialize")
    if not compiled:
        chosen.refuse("without a .mi file", "of")
    elif of is None:
        raise ConfigError(f"{model} has no graph to compare with: name the model that it was compiled of with --of")
    tolerances = Tolerances.of(tolerance)
    options = chosen.options(model, input, at=not compiled)
    return lambda console: comparison.compare(model, options, input or [], seed, tolerances, console, chosen.at, of)
