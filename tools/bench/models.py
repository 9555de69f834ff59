"""The models of a benchmark: which files they are, what they are called, and what each gets as inputs."""

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
from ...passes.model_work import Work, work_of_model
from ...runtime.compile.module_to_plan import import_model
from ...runtime.config import EngineConfig
from ...runtime.kept.artifact import load
from ...runtime.signature import input_specs
from ...runtime.specs import TensorSpec
from ..arrays import load_inputs, load_named
from ..asked_shapes import Sizes, shapes_at, shapes_of
from ..given_sizes import with_given_sizes

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
INPUT, REFERENCE = "in.", "f64."
"""What names begin with in a file beside a model: of inputs, and of what the outputs would be in float64."""


@dataclass(frozen=True)
class Subject:
    """A model at one shape: EngineConfig's options, its inputs, references by output, and what there is to do."""

    options: Mapping[str, Any]
    inputs: Mapping[str, Array]
    shape: str = ""
    """As `--at` takes it; "" where there is only one."""
    work: Work | None = None
    references: Mapping[str, Array] = field(default_factory=dict[str, Array])


@dataclass(frozen=True)
class Given:
    """What a command says of inputs: files, a seed, sizes within ranges, and a file beside each model."""

    files: Sequence[str] = ()
    seed: int | None = None
    at: Sequence[Sizes] = ()
    beside: str | None = None


def found_models(paths: Sequence[str]) -> list[Path]:
    """The files, and all .onnx files in the folders; raises ConfigError where one isn't there or a folder has none."""
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
    """Short names: of files that are all called alike (model.onnx) those of their folders, or the whole name there."""
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
    """The model at its shape, or at those within its ranges. Raises MiniInferError where it can't be read."""
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
    module, _ = import_model(text, config)
    inputs = _inputs(input_specs(module), named, given)
    yield Subject({**options, "threads": _threads(config, module)}, inputs, "", _work(text, config), references)


def _threads(config: EngineConfig, module: ModuleOp | None = None) -> int | None:
    """How many threads all engines have on a CPU: those that a module's kernels were scheduled for, if they were."""
    if config.device != "cpu":
        return config.threads
    if module is not None and config.threads is None and level_of(module) != "graph":
        return cpu_of(module).threads.data
    return config.thread_count


def _compiled(model: Path, options: Mapping[str, Any], given: Given) -> Iterator[Subject]:
    """A compiled file, at the shapes that are asked for; what there is to do stands in the model only."""
    engine = load(model)
    own: dict[str, Any] = {**options, "threads": engine.plan.threads, "caches": engine.config.caches, "specialize": {}}
    named, references = _beside(model, given.beside)
    for each in shapes_of(engine, str(model), given.at):
        yield Subject(own, _inputs(each.specs, named, given), each.text, None, references)


def _inputs(specs: Sequence[TensorSpec], named: Mapping[str, Array], given: Given) -> dict[str, Array]:
    """From the command's files or seed, but for those that lie in a file beside the model."""
    wrong = [spec.name for spec in specs if spec.name in named and named[spec.name].dtype != spec.dtype]
    if wrong:
        raise InvalidInputError(f"{given.beside}: '{INPUT}{wrong[0]}' is not of the input's type")
    return {**load_inputs(given.files, specs, given.seed), **named}


def check_beside(models: Sequence[Path], name: str) -> None:
    """Raises ConfigError where no model has a file of that name beside it: then it is a mistake."""
    if not any(each.with_name(name).exists() for each in models):
        raise ConfigError(f"--beside {name}: no model has such a file in its folder")


def _beside(model: Path, name: str | None) -> tuple[dict[str, Array], dict[str, Array]]:
    """Inputs and references of a file in the model's folder; none where there is no such file."""
    file = None if name is None else model.with_name(name)
    files = load_named(str(file)) if file is not None and file.exists() else {}
    named = {name.removeprefix(INPUT): array for name, array in files.items() if name.startswith(INPUT)}
    references = {name.removeprefix(REFERENCE): array for name, array in files.items() if name.startswith(REFERENCE)}
    return named, references


def _work(model: str, config: EngineConfig) -> Work | None:
    """What the model has to do; None for a module that is a graph no more."""
    module, ctx = import_model(model, config)
    if level_of(module) != "graph":
        return None
    run_passes(ctx, module, parse_passes(PLAIN_GRAPH))
    return work_of_model(module)
