"""The models of a benchmark: their files, short names, and inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ...dialects.errors import ConfigError, InvalidInputError
from ...dialects.kernel.targets import cpu_of
from ...lowering.levels import level_of
from ...lowering.pipelines import PLAIN_GRAPH, parse_passes, run_passes
from ...passes.work_bounds import Work, work_of_model
from ...runtime.compile.source import source_of
from ...runtime.config import EngineConfig
from ...runtime.kept.artifact import load
from ...runtime.module_interface import input_specs
from ...runtime.specs import TensorSpec
from ..arrays import load_inputs, load_named
from ..asked_shapes import Sizes, shapes_at, shapes_of
from ..given_sizes import with_given_sizes

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
INPUT, REFERENCE = "in.", "f64."
"""Prefixes of names in a file beside a model: inputs, and float64 reference outputs."""


@dataclass(frozen=True)
class Subject:
    """A model at one shape: EngineConfig's options, its inputs, reference outputs, and its work."""

    options: Mapping[str, Any]
    inputs: Mapping[str, Array]
    shape: str = ""
    """As `--at` takes it; "" for a model with a single shape."""
    work: Work | None = None
    references: Mapping[str, Array] = field(default_factory=dict[str, Array])


@dataclass(frozen=True)
class Given:
    """A command's options on inputs: files, a seed, sizes within ranges, and a file beside each model."""

    files: Sequence[str] = ()
    seed: int | None = None
    at: Sequence[Sizes] = ()
    beside: str | None = None


def found_models(paths: Sequence[str]) -> list[Path]:
    """The files, and all .onnx files in the folders. Raises ConfigError for a missing file or an empty folder."""
    found: list[Path] = []
    for each in map(Path, paths):
        inside = sorted(each.rglob("*.onnx")) if each.is_dir() else [each]
        if not inside:
            raise ConfigError(f"{each}: there is no .onnx file in this folder")
        if not each.exists():
            raise ConfigError(f"{each}: no such file")
        found += inside
    return list(dict.fromkeys(found))


def names_of(models: Sequence[Path]) -> list[str]:
    """Short names: files with a common name (model.onnx) get their folder's name, or the full one if needed."""
    stems = [each.stem for each in models]
    folders = [(each.stem, each.resolve().parent) for each in models]
    names: list[str] = []
    for each, folder in zip(models, folders, strict=True):
        if folders.count(folder) > 1:
            names.append(each.name)
        else:
            names.append(folder[1].name if each.stem == "model" or stems.count(each.stem) > 1 else each.stem)
    return names


def subjects(model: Path, options: Mapping[str, Any], given: Given) -> Iterator[Subject]:
    """The model at its shape, or at those within its ranges. Raises MiniInferError if it can't be read."""
    text = str(model)
    if model.suffix == ".mi":
        yield from _compiled(model, options, given)
        return
    options = with_given_sizes(text, options, given.files)
    config = EngineConfig.of(**options)
    if config.profile is not None:
        options = {**options, "threads": _threads(config)}
        for each in shapes_at(text, options, given.at):
            fixed = replace(config, profile=None, dims={**config.dims, **each.sizes})
            inputs = load_inputs(given.files, each.specs, given.seed)
            yield Subject(options, inputs, each.text, _work(text, fixed))
        return
    named, references = _beside(model, given.beside)
    shapes = {**{name: array.shape for name, array in named.items()}, **config.shapes}
    config, options = replace(config, shapes=shapes), {**options, "shapes": shapes}
    module, _ = source_of(text).load(config)
    inputs = _inputs(input_specs(module), named, given)
    yield Subject({**options, "threads": _threads(config, module)}, inputs, "", _work(text, config), references)


def _threads(config: EngineConfig, module: ModuleOp | None = None) -> int | None:
    """The number of CPU threads for all engines: that for which a module's kernels were scheduled, if they were."""
    if config.device != "cpu":
        return config.threads
    if module is not None and config.threads is None and level_of(module) != "graph":
        return cpu_of(module).threads.data
    return config.thread_count


def _compiled(model: Path, options: Mapping[str, Any], given: Given) -> Iterator[Subject]:
    """A compiled file at the requested shapes; its work is unknown, as only the model states it."""
    engine = load(model)
    own: dict[str, Any] = {**options, "threads": engine.plan.threads, "caches": engine.config.caches, "specialize": {}}
    named, references = _beside(model, given.beside)
    for each in shapes_of(engine, str(model), given.at):
        yield Subject(own, _inputs(each.specs, named, given), each.text, None, references)


def _inputs(specs: Sequence[TensorSpec], named: Mapping[str, Array], given: Given) -> dict[str, Array]:
    """Inputs by the command's files or seed, except for those from a file beside the model."""
    wrong = [spec.name for spec in specs if spec.name in named and named[spec.name].dtype != spec.dtype]
    if wrong:
        raise InvalidInputError(f"{given.beside}: '{INPUT}{wrong[0]}' is not of the input's type")
    return {**load_inputs(given.files, specs, given.seed), **named}


def check_beside(models: Sequence[Path], name: str) -> None:
    """Raises ConfigError if no model has a file of that name beside it."""
    if not any(each.with_name(name).exists() for each in models):
        raise ConfigError(f"--beside {name}: no model has such a file in its folder")


def _beside(model: Path, name: str | None) -> tuple[dict[str, Array], dict[str, Array]]:
    """Inputs and references from a file in the model's folder; empty without such a file."""
    file = None if name is None else model.with_name(name)
    files = load_named(str(file)) if file is not None and file.exists() else {}
    named = {name.removeprefix(INPUT): array for name, array in files.items() if name.startswith(INPUT)}
    references = {name.removeprefix(REFERENCE): array for name, array in files.items() if name.startswith(REFERENCE)}
    return named, references


def _work(model: str, config: EngineConfig) -> Work | None:
    """The work of the model; None for a module below the graph level."""
    module, ctx = source_of(model).load(config)
    if level_of(module) != "graph":
        return None
    run_passes(ctx, module, parse_passes(PLAIN_GRAPH))
    return work_of_model(module)
