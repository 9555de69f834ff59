"""Pictures of a model: its memory over time, its kernels' times, what passes changed, its graph before and after.

    mini_infer.draw("memory", "resnet50.onnx", "memory.svg")

Each view is a file with two functions: one collects the data, plain values that a .json file has, and one draws them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import Unpack

from ...dialects.arguments import check_choice, checked_path
from ...dialects.atomic_file import atomic_file
from ...dialects.errors import ConfigError
from ...runtime.config import CompileOptions, EngineConfig
from ..reports.figure_files import PICTURES, save_figure

if TYPE_CHECKING:
    from ...lowering.onnx_to_graph.model_file import ModelSource

VIEWS = ("memory", "time", "passes", "graph")
"""Each has a file in this folder with `facts(model, config, ...)` and `figure(facts)`."""
ENDINGS = (*PICTURES, "json")


def draw(
    view: str, model: ModelSource, path: str | Path, *, threads: int | None = None, **options: Unpack[CompileOptions]
) -> dict[str, Any]:
    """Draws a view of a model to a .png, .svg or .pdf file, or writes its data to a .json file; returns the data.

    - "memory": weights, inputs, outputs and the live bytes of the arena at each step, with the lower bound and the peak
    - "time": measured time of the longest kernels on random inputs, beside the least that the machine allows
    - "passes": how many ops each pass made and removed
    - "graph": the ONNX nodes, and the kernel calls that compute them

    Arguments of `compile` are as there, of one shape. Raises ConfigError for another view or suffix, MiniInferError if
    the file can't be written, and as `compile` does.
    """
    check_view(view, path)
    facts = facts_of(view, model, EngineConfig.of(threads=threads, **options))
    write_view(facts, path)
    return facts


def check_view(view: str, path: str | Path) -> None:
    """Raises ConfigError for a view that there is not, or a file of another kind."""
    check_choice("the view", view, VIEWS)
    if checked_path("path", path).suffix.removeprefix(".").lower() not in ENDINGS:
        raise ConfigError(f"{path}: there are pictures as .png, .svg, .pdf, and their data as .json")


def facts_of(view: str, model: ModelSource, config: EngineConfig, **more: Any) -> dict[str, Any]:
    """The data of a view; `more` are inputs of "time"."""
    if config.is_dynamic:
        raise ConfigError("a picture is of one shape: give sizes by dims, without a profile or dynamic shapes")
    collect: Callable[..., dict[str, Any]] = import_module(f".{view}_view", __name__).facts
    return {"view": view, **collect(model, config, **more)}


def write_view(facts: Mapping[str, Any], path: str | Path, title: str = "") -> None:
    """Writes the picture of data, or the data. Raises MiniInferError if the file can't be written."""
    kind = Path(path).suffix.removeprefix(".").lower()
    with atomic_file(path) as stream:
        if kind == "json":
            stream.write((json.dumps(facts, indent=1) + "\n").encode())
        else:
            save_figure(import_module(f".{facts['view']}_view", __name__).figure(facts, title), stream, kind)


def titled(title: str, text: str) -> str:
    """The heading of a picture: the model's name, if there is one, and what it shows."""
    return f"{title}: {text}" if title else text


def bounded(names: Sequence[str], most: int = 40) -> list[str]:
    """Names that fit beside a bar: the end of one that is longer."""
    return [name if len(name) <= most else f"...{name[3 - most :]}" for name in names]
