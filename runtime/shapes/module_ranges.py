"""Modules with sizes of run time as models: the ranges that they state, in place of a profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ...dialects.plain_file import read_plain
from ..config import EngineConfig
from ..profile import OptimizationProfile

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ...dialects.sizes.sizes import Size
    from ...lowering.onnx_to_graph.model_file import ModelSource


def is_module(model: ModelSource) -> bool:
    """Whether a model is a module's text, by its file's name."""
    return isinstance(model, str | PathLike) and Path(model).suffix == ".mlir"


def with_own_ranges(model: ModelSource, config: EngineConfig) -> EngineConfig:
    """The configuration with the ranges that a module states; of another model, or with a profile, as it is."""
    if config.is_dynamic or (profile := stated_profile(model)) is None:
        return config
    return replace(config, profile=profile)


def stated_profile(model: ModelSource) -> OptimizationProfile | None:
    """The ranges of a module with sizes of run time; None for any other model. Raises InvalidModelError."""
    if not is_module(model):
        return None
    from ...lowering.module_text import module_context, own_errors, stated_symbols

    try:
        text = read_plain(Path(str(model))).decode(errors="replace")
    except OSError:
        return None  # who reads it next will say so
    with own_errors():
        return _ranges(stated_symbols(module_context(), text))


def profile_of(module: ModuleOp) -> OptimizationProfile | None:
    """The ranges that a module states; None where it has no sizes of run time."""
    from ...dialects.sizes.attributes import sizes_of_module

    return _ranges(sizes_of_module(module))


def _ranges(sizes: Sequence[Size]) -> OptimizationProfile | None:
    from ...dialects.sizes.attributes import symbol_of
    from ...dialects.sizes.polynomials import InputSymbol

    dims: dict[str, tuple[int, int, int]] = {}
    for size in sizes:
        if isinstance(symbol := symbol_of(size), InputSymbol):
            dims[symbol.dimension] = (symbol.span[0], size.value * symbol.unit, symbol.span[1])
    return OptimizationProfile(dims=dims) if dims else None
