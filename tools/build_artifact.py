"""`mini-infer build`: compiles for several CPUs, writes the file, and reports."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from ..dialects.errors import ConfigError
from ..runtime.compile.several_cpus import build
from ..runtime.kept.artifact import signature
from . import json_reports as facts
from .asked_shapes import Sizes, shapes_at
from .json_reports import Facts
from .reports.plan_tables import size_text
from .waiting import working


def show_build(
    model: str, options: Mapping[str, Any], output: str, cpus: Sequence[str], at: Sequence[Sizes], console: Console
) -> Facts:
    """Compiles a model to a file and reports; `at` adds code for these shapes."""
    if Path(output).suffix != ".mi":
        raise ConfigError(f"--output {output}: the name must end in .mi")
    given = [{spec.name: spec.shape for spec in shape.specs} for shape in (shapes_at(model, options, at) if at else ())]
    done: list[str] = []
    start = time.perf_counter()
    with working(console, "compiling") as tell:

        def told(name: str) -> None:
            done.append(name)
            tell(f"compiling for {name}")

        nbytes = build(model, output, cpus=cpus, at=given, tell=told, **options)
    taken = time.perf_counter() - start
    console.print(Text.assemble((Path(model).name, "bold"), f" compiled for {', '.join(done)} in {taken:.2f} s"))
    console.print(f"{output}: {size_text(nbytes)}")
    inputs, outputs = signature(output)
    shapes = {"inputs": facts.tensors(inputs), "outputs": facts.tensors(outputs)}
    return {"model": model, **shapes, "cpus": done, "seconds": taken, "files": {output: nbytes}}
