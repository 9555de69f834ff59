"""Sources of models, ONNX or a module's text: the ranges of sizes that they declare, and their import."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, cast

from typing_extensions import override

from ...dialects.arguments import read_once
from ...dialects.errors import ConfigError, InvalidInputError
from ...dialects.regular_file import read_regular
from ..compute_device import compute_device
from ..config import EngineConfig
from ..device import Array
from ..option_declarations import options_of
from ..profile import OptimizationProfile

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ...dialects.graph.blobs import MiniContext
    from ...dialects.sizes.sizes import Size
    from ...lowering.onnx_to_graph.declared_inputs import Ranges
    from ...lowering.onnx_to_graph.model_file import ModelSource

LARGEST = 2**31 - 1  # of dynamic dimensions without a profile

Best: TypeAlias = Mapping[str, Sequence[int]]
"""Shapes of inputs, by name, for which code is optimised; if empty, the profile's optimal shapes."""


def source_of(model: ModelSource | Source) -> Source:
    """The source for a model as given to `compile`; an open file is read into memory, as it may be needed again."""
    if isinstance(model, Source):
        return model
    model = cast("ModelSource", read_once(model))
    if isinstance(model, str | PathLike) and Path(model).suffix == ".mlir":
        return ModuleSource(model)
    return Source(model)


def configured_source(model: ModelSource | Source, config: EngineConfig) -> tuple[Source, EngineConfig]:
    """The source for a model, and the configuration completed by the ranges that the source declares."""
    source = source_of(model)
    return source, source.configured(config)


@dataclass(frozen=True)
class Source:
    """An ONNX model: a path, bytes or a ModelProto."""

    model: ModelSource
    compiled_once: ClassVar[bool] = False
    """Whether it can be compiled only once, so that other shapes can't have code of their own."""

    @property
    def weights(self) -> Mapping[str, Array]:
        """Inputs of the model that are weights, with their values: no call passes them."""
        return {}

    @property
    def path(self) -> Path | None:
        """Its file; None for a model in memory."""
        return Path(self.model) if isinstance(self.model, str | PathLike) else None

    @property
    def onnx_file(self) -> Path | None:
        """Its file if that is an ONNX model."""
        return self.path

    @property
    def name(self) -> str:
        """Its file's name; "" for a model in memory."""
        return "" if self.path is None else self.path.name

    def stated_profile(self) -> OptimizationProfile | None:
        """The ranges of sizes that the model declares; None if they are set by options."""
        return None

    def configured(self, config: EngineConfig) -> EngineConfig:
        """The configuration with the ranges that the model declares, unless it has ranges."""
        if config.is_dynamic or (profile := self.stated_profile()) is None:
            return config
        return replace(config, profile=profile)

    def load(self, config: EngineConfig, best: Best | None = None) -> tuple[ModuleOp, MiniContext]:
        """The model as a module, and the context that holds its weights. Raises as `import_onnx`."""
        given = {name: getattr(config, name) for name in ("dims", "shapes", "caches")}
        return self._imported(config, ranges=_ranges_of(config, best), cache_memory=config.cache_bytes, **given)

    def with_tensors(
        self, config: EngineConfig, shapes: Mapping[str, Sequence[int]], tensors: Sequence[str]
    ) -> tuple[ModuleOp, MiniContext]:
        """The model for inputs of these shapes, with tensors of its graph as outputs in place of its own."""
        from ...lowering.onnx_to_graph.declared_inputs import Ranges

        ranges = Ranges(shapes={name: (shape, shape, shape) for name, shape in shapes.items()})
        return self._imported(config, ranges=ranges, tensors=tensors)

    def _imported(self, config: EngineConfig, **given: Any) -> tuple[ModuleOp, MiniContext]:
        from ...dialects.graph.blobs import MiniContext
        from ...lowering.onnx_to_graph import import_onnx
        from ...passes.statistics import timed

        ctx = MiniContext()
        with timed(ctx, "import"):
            specialize = {**config.specialize, **self.weights}
            return import_onnx(self.model, specialize=specialize, ctx=ctx, **given), ctx

    def input_names(self, config: EngineConfig) -> tuple[str, ...]:
        """The inputs that a call passes, in order."""
        from ...lowering.onnx_to_graph.declared_inputs import free_inputs

        return free_inputs(self.model, {**config.specialize, **self.weights})


@dataclass(frozen=True)
class WeightsApart(Source):
    """An ONNX model in memory whose weights are arrays elsewhere, by the names of inputs; they are not copied."""

    arrays: Mapping[str, Array] = field(default_factory=dict[str, Array])

    @property
    @override
    def weights(self) -> Mapping[str, Array]:
        return self.arrays


class ModuleSource(Source):
    """A module's text at any level, given by its file."""

    compiled_once = True

    @property
    @override
    def onnx_file(self) -> None:
        return None

    @override
    def stated_profile(self) -> OptimizationProfile | None:
        """The ranges of a module with symbolic sizes, read from its attributes alone. Raises InvalidModelError."""
        from ...lowering.module_text import module_context, own_errors, stated_symbols

        try:
            text = read_regular(Path(str(self.model))).decode(errors="replace")
        except OSError:
            return None  # who reads it next will say so
        with own_errors():
            return profile_of(stated_symbols(module_context(), text))

    @override
    def load(self, config: EngineConfig, best: Best | None = None) -> tuple[ModuleOp, MiniContext]:
        """As `Source.load`. Raises ConfigError for options that don't apply to a module at its level."""
        from ...dialects.kernel.targets import target_of
        from ...dialects.sizes.size_attributes import sizes_of_module
        from ...lowering.levels import level_of
        from ...lowering.module_text import own_errors, read_module
        from ...lowering.pipelines import remaining_phases, run_phases
        from ..module_interface import check_signature
        from .late_options import check_undecided

        for option, each in options_of(EngineConfig).items():
            if each.decided == "import" and option != "profile" and getattr(config, option):
                raise ConfigError(f"{option} is for ONNX models; the inputs of a module are fixed")
        module, ctx = read_module(cast("str", self.model))
        if config.profile not in (None, profile_of(sizes_of_module(module))):
            raise ConfigError("profile is for ONNX models; a module states the sizes of its inputs")
        if best:
            raise InvalidInputError(f"{self.model} has code already, and none for {dict(best)}")
        check_signature(module)
        check_undecided(config, module)
        if level_of(module) != "graph":
            device = compute_device(config.place)
            module.attributes["kernel.target"] = device.target(config, scheduled=target_of(module))
        if level_of(module) == "arena":
            with own_errors():
                run_phases(ctx, module, remaining_phases(module, "arena"))
        return module, ctx

    @override
    def input_names(self, config: EngineConfig) -> tuple[str, ...]:
        from ..module_interface import input_specs

        return tuple(spec.name for spec in input_specs(self.load(config)[0]))


def _ranges_of(config: EngineConfig, best: Best | None) -> Ranges | None:
    """The ranges of shapes that a configuration requests; code is optimised for the shapes `best` if given."""
    if not config.is_dynamic:
        return None
    from ...lowering.onnx_to_graph.declared_inputs import Ranges

    profile = config.profile or OptimizationProfile()
    return Ranges(profile.dims, profile.shapes, best or {}, open=LARGEST if config.enable_dynamic_shapes else 0)


def profile_of(sizes: Sequence[Size]) -> OptimizationProfile | None:
    """The profile with the ranges of the inputs' symbols; None if there are no such symbols."""
    from ...dialects.sizes.polynomials import InputSymbol
    from ...dialects.sizes.size_attributes import symbol_of

    dims: dict[str, tuple[int, int, int]] = {}
    for size in sizes:
        if isinstance(symbol := symbol_of(size), InputSymbol):
            dims[symbol.dimension] = (symbol.span[0], size.value * symbol.unit, symbol.span[1])
    return OptimizationProfile(dims=dims) if dims else None
