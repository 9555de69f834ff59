"""The function that torch.compile calls with each graph: `torch.compile(module, backend="mini_infer")`."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

from ...dialects.arguments import check_kind, check_options, checked_mapping
from ...dialects.errors import ConfigError, MiniInferError, UnsupportedError
from ..config import EngineConfig
from ..forks import ForkSafeLock
from ..from_torch.torch_package import exporting_torch, torch_module
from ..kept.cache_folders import Cache, cache_folder
from .aten_graph import exported_graph
from .decompositions import decompositions
from .graph_code import GraphCode

_DYNAMOS = ("profile", "enable_dynamic_shapes", "dims", "shapes", "specialize", "caches", "check_memory")
"""Options on inputs, which Dynamo knows."""


@dataclass(frozen=True)
class Settings:
    """The options of torch.compile."""

    config: EngineConfig
    cache: Cache = None
    fallback: bool = True
    """Whether PyTorch runs what can't be compiled, rather than that it is an error."""

    @classmethod
    def of(cls, options: object) -> Settings:
        """Checks `options`. Raises ConfigError."""
        given = dict(checked_mapping("options", options or {}, "options"))
        known = {each.name for each in fields(EngineConfig)} - {*_DYNAMOS}
        if wrong := [name for name in given if name in _DYNAMOS]:
            raise ConfigError(f"{wrong[0]} is no option of torch.compile, which knows the inputs' shapes by itself")
        check_options(given, {*known, "cache", "fallback"})
        cache, fallback = given.pop("cache", None), given.pop("fallback", True)
        check_kind("fallback", fallback, bool)
        cache_folder(cache)  # raises for what is none
        config = EngineConfig(**given)
        if config.device != "cpu":
            raise ConfigError(f"torch.compile runs on the device 'cpu', not on '{config.place}'")
        return cls(config, cache, fallback)


def mini_infer(
    module: Any, inputs: Sequence[Any], *, options: Mapping[str, Any] | None = None, mode: Any = None
) -> Any:
    """A backend of torch.compile: returns a function that runs the graph `module`.

    `options` are EngineConfig's (but for those on the inputs' shapes), `cache` as of `mini_infer.compile`, and
    `fallback`: False makes what can't be compiled an UnsupportedError; otherwise PyTorch runs that graph, and one
    warning says why. Raises ConfigError for wrong options.
    """
    del mode
    torch = exporting_torch()
    settings = Settings.of(options)
    if torch.is_grad_enabled() and any(isinstance(each, torch.Tensor) and each.requires_grad for each in inputs):
        _refuse(
            settings,
            UnsupportedError("the graph is to be differentiated: call it under torch.no_grad() or inference_mode()"),
        )
        return module.forward
    common = torch_module("torch._dynamo.backends.common")

    def compiled(graph: Any, example: Sequence[Any]) -> Callable[..., Any]:
        del example
        return _compiled(graph, settings)

    aot = common.aot_autograd(
        fw_compiler=compiled,
        inference_compiler=compiled,
        decompositions=decompositions(),
        keep_inference_input_mutations=True,
    )
    return aot(module, inputs)


def _compiled(graph: Any, settings: Settings) -> Callable[..., Any]:
    """The code of an ATen graph."""
    torch = torch_module("torch")
    metadata = torch_module("torch._guards").TracingContext.get().fw_metadata
    copied = torch.fx.Graph()
    values: dict[Any, Any] = {}
    copied.output(copied.graph_copy(graph.graph, values))
    _copy_meta(graph.graph, values)
    try:
        exported = exported_graph(torch.fx.GraphModule(graph, copied), metadata.static_input_indices)
    except UnsupportedError as error:
        _refuse(settings, error)
        return graph.forward

    def refuse(error: MiniInferError) -> None:
        _refuse(settings, error)

    return GraphCode(exported, settings.config, settings.cache, graph.forward, refuse)


def _copy_meta(graph: Any, values: Mapping[Any, Any]) -> None:
    for node in graph.nodes:
        if node in values:
            values[node].meta = dict(node.meta)


_TOLD: set[str] = set()
_TELLING = ForkSafeLock()


def _refuse(settings: Settings, error: MiniInferError) -> None:
    """Warns, once for each reason; raises where there is to be no fallback."""
    if not settings.fallback:
        raise error
    with _TELLING:
        is_new = str(error) not in _TOLD
        _TOLD.add(str(error))
    if is_new:
        warnings.warn(f"mini_infer leaves a graph to PyTorch: {error}", UserWarning, stacklevel=3)
