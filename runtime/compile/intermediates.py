"""Intermediates: the values of a model's ONNX tensors, by compiles in which these tensors are outputs.

A fused kernel keeps no values of the tensors inside of it. So the model is imported again with the tensors that are
asked for as outputs, before any pass, and compiled for the shapes of the inputs. Constants and inputs need no code.
Values may differ by rounding from those inside of the engine itself, whose kernels compute more at a time.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import index
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from typing_extensions import override

from ...dialects.arguments import shown
from ...dialects.errors import ConfigError, InvalidInputError, InvalidModelError, UnsupportedError
from ..config import EngineConfig
from ..device import Array
from ..engine import Engine
from ..forks import ForkSafeLock
from ..inputs import checked
from ..specs import TensorSpec, ordered
from .source import ModuleSource, Source

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ...dialects.graph.blobs import MiniContext
    from .source import Best

_OTHER_MODELS = ("next_token", "cache_type")
"""Options that give the model other inputs and outputs than the ONNX graph has."""


@dataclass(frozen=True)
class _Imported(Source):
    """A module that has been imported already, for one compile."""

    module: ModuleOp | None = None
    ctx: MiniContext | None = None

    @override
    def load(self, config: EngineConfig, best: Best | None = None) -> tuple[ModuleOp, MiniContext]:
        assert self.module is not None and self.ctx is not None
        return self.module, self.ctx


@dataclass(frozen=True)
class _Made:
    """What gives the values of some tensors at some shapes of the inputs."""

    inputs: tuple[TensorSpec, ...]
    engine: Engine | None
    """Its outputs are the tensors that have to be computed; None if there are none."""
    known: Mapping[str, Array | str]
    """Values of constants; for tensors that are inputs, their names."""

    def values(self, inputs: Mapping[str, Any]) -> dict[str, Array]:
        """The values of the tensors. Raises as a call of an engine."""
        values = ordered(tuple(spec.name for spec in self.inputs), inputs)
        given = {spec.name: checked(spec, value) for spec, value in zip(self.inputs, values, strict=True)}
        found: dict[str, Array] = {} if self.engine is None else self.engine.tensors(given)
        known = {name: given[what] if isinstance(what, str) else what for name, what in self.known.items()}
        return {**found, **{name: np.array(each) for name, each in known.items()}}


class Intermediates:
    """Asks an ONNX model for values of its tensors by name; keeps what it compiles, by tensors and shapes of inputs."""

    def __init__(self, source: Source, config: EngineConfig) -> None:
        self._source, self._config = source, config
        self._made: dict[object, _Made] = {}
        self._lock = ForkSafeLock()

    def __call__(self, inputs: Mapping[str, Any], names: Sequence[str] | None = None) -> dict[str, Array]:
        """See `Engine.intermediates`."""
        from ...lowering.onnx_to_graph.model_file import load_model
        from ...lowering.onnx_to_graph.model_tensors import asked_tensors

        _check_options(self._config)
        with self._lock:
            asked = asked_tensors(load_model(self._source.model).proto.graph, names)
            free = self._source.input_names(self._config)
            shapes = {name: _shape_of(name, value) for name, value in zip(free, ordered(free, inputs), strict=True)}
            key = (asked, names is None, tuple(shapes.values()))
            if key not in self._made:
                self._made[key] = self._compiled(asked, shapes, every=names is None)
            made = self._made[key]
        values = made.values(inputs)
        return {name: values[name] for name in asked if name in values}

    def _compiled(self, asked: Sequence[str], shapes: Mapping[str, tuple[int, ...]], *, every: bool) -> _Made:
        """Code for these tensors; with `every`, what is no tensor of numbers is left out."""
        from ..module_interface import input_specs
        from .plan_builder import Builder
        from .tensors_as_outputs import split_outputs

        module, ctx = self._source.with_tensors(self._config, shapes, asked)
        known, computed = split_outputs(module, ctx)
        for name in asked:
            if not every and name not in known and name not in computed:
                raise UnsupportedError(f"tensor '{name}' is no tensor of numbers, but texts, a sequence or an optional")
        specs = input_specs(module)
        if not computed:
            return _Made(specs, None, known)
        config = _for_numbers(self._config)
        made = Builder(_Imported(self._source.model, module, ctx), config)()
        return _Made(specs, Engine(made.plan, config, made.statistics), known)


class FileIntermediates:
    """`Intermediates` of a model's file, which must be the same as when this was made."""

    def __init__(self, path: Path, config: EngineConfig) -> None:
        self._path = path.absolute()
        self._state, self._config = _state(self._path), config
        self._intermediates: Intermediates | None = None

    def __call__(self, inputs: Mapping[str, Any], names: Sequence[str] | None = None) -> dict[str, Array]:
        """See `Engine.intermediates`."""
        if (now := _state(self._path)) is None or now != self._state:
            raise InvalidModelError(
                f"{self._path}: {'is gone' if now is None else 'was changed'} since the engine was compiled from it; "
                "mini_infer.intermediates(model, ...) takes a model as it is now"
            )
        if self._intermediates is None:
            self._intermediates = Intermediates(Source(self._path), self._config)
        return self._intermediates(inputs, names)


def intermediates_of(path: Path | None, config: EngineConfig) -> FileIntermediates | None:
    """How an engine's model is asked later on: only by its file, as an engine keeps no model in memory."""
    return None if path is None else FileIntermediates(path, config)


def check_asked(source: Source) -> None:
    """Raises ConfigError for a model without ONNX tensors."""
    if isinstance(source, ModuleSource):
        raise ConfigError(f"{source.name}: a module's text has no ONNX tensors; intermediates are of an ONNX model")


def _check_options(config: EngineConfig) -> None:
    for option in _OTHER_MODELS:
        if getattr(config, option) is not None:
            raise ConfigError(f"intermediates are of the model without {option}: compile it without that option")


def _for_numbers(config: EngineConfig) -> EngineConfig:
    """The options that still apply to a module with other outputs, and with numbers as sizes."""
    return replace(
        config,
        profile=None,
        enable_dynamic_shapes=False,
        dims={},
        shapes={},
        specialize={},
        caches={},
        cache_memory=None,
        memory=None,
        max_workspace_size=None,
        prove_order=False,
        check_memory=False,
        enable_profiling=False,
        enable_hooks=False,
        check=None,
    )


def _shape_of(name: str, value: Any) -> tuple[int, ...]:
    try:
        shape = getattr(value, "shape", None)
        return tuple(map(index, np.shape(value) if shape is None else shape))
    except (TypeError, ValueError):
        raise InvalidInputError(f"input '{name}' is {shown(value)}; it must be an array") from None


def _state(path: Path) -> tuple[int, ...] | None:
    """What changes when a file is written to or replaced; None if it is not there."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):  # a null byte in a path: who reads the model says so
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
