"""PyTorch's modules as sources: their export, and the configuration with the ranges of sizes that it was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..config import EngineConfig
from ..engine import Engine
from ..from_torch.module_engine import ModuleEngine
from ..from_torch.module_signature import ModuleSignature, signature_of
from ..from_torch.onnx_program import exported_module
from ..profile import OptimizationProfile
from .source import WeightsApart


@dataclass(frozen=True)
class ExportedSource:
    """A source, the configuration that goes with it, and how its engine is called."""

    source: WeightsApart
    config: EngineConfig
    signature: ModuleSignature

    def engine(self, engine: Engine) -> ModuleEngine:
        """The engine of the source, called as the module."""
        return ModuleEngine(engine, self.signature)


def exported_source(
    model: object, args: Sequence[Any], kwargs: Mapping[str, Any] | None, dynamic_shapes: Any, config: EngineConfig
) -> ExportedSource:
    """Exports a PyTorch model. Raises as `exported_module`."""
    exported = exported_module(model, args, kwargs, dynamic_shapes)
    ranges, weights = exported.ranges, exported.graph.weights
    if ranges and not config.is_dynamic and not config.dims and not config.shapes:
        if any(most is None for _, _, most in ranges.values()):
            config = replace(config, enable_dynamic_shapes=True)
        else:
            dims = {name: (least, best, most or best) for name, (least, best, most) in ranges.items()}
            config = replace(config, profile=OptimizationProfile(dims=dims))
    if config.is_dynamic:  # compiled again later, from weights that must be those of now
        weights = {name: array.copy() for name, array in weights.items()}
    return ExportedSource(WeightsApart(exported.graph.model, weights), config, signature_of(exported))
