"""The shapes selected by --at, by default that of the arrays given, else the optimal, smallest and largest ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ..dialects.errors import ConfigError
from ..dialects.graph.host import caches_of
from ..dialects.sizes.polynomials import InputSymbol, Symbol
from ..dialects.sizes.size_attributes import sizes_of_module
from ..dialects.sizes.sizes import symbols_of, value_at
from ..runtime.compile.source import profile_of, source_of
from ..runtime.config import EngineConfig
from ..runtime.engine import Engine
from ..runtime.module_interface import entry_of, input_specs
from ..runtime.profile import OptimizationProfile
from ..runtime.shapes.settled_records import settled
from ..runtime.shapes.shape_family import unit_of
from ..runtime.specs import TensorSpec
from .arrays import arrays_of

Sizes = Mapping[str, int]


@dataclass(frozen=True)
class Shape:
    """Sizes by name, and the inputs with these sizes."""

    sizes: Sizes
    specs: Sequence[TensorSpec]

    @property
    def text(self) -> str:
        """In the syntax of `--at`."""
        return ",".join(f"{name}={size}" for name, size in self.sizes.items())


def shapes_at(model: str, options: Mapping[str, Any], at: Sequence[Sizes], files: Sequence[str] = ()) -> list[Shape]:
    """The shapes selected by `--at`, by default that of the files' arrays, or the optimal, smallest and largest.

    Sizes that are not named are the optimal ones. Raises ConfigError for one out of range.
    """
    config = EngineConfig.of(**options)
    assert config.profile is not None
    ranges = config.profile.dims
    for name, size in ((name, size) for sizes in at for name, size in sizes.items()):
        _check(name, size, ranges)
    module, _ = source_of(model).load(config)
    possible = profile_of(sizes_of_module(module)) or OptimizationProfile()  # less where caches have a budget
    ranges = {name: possible.dims.get(name, span) for name, span in ranges.items()}
    ends: list[Sizes] = []
    for end in (1, 0, 2):
        sizes = {name: span[end] for name, span in ranges.items()}
        if end == 2 and config.cache_memory is not None:  # caches are as full as they can be with the smallest calls
            grown = _grown(module)
            sizes = {name: span[2 if name in grown else 0] for name, span in ranges.items()}
        ends += [] if sizes in ends else [sizes]
    specs = input_specs(module)
    return _shapes(specs, ranges, at or _sizes_of(files, specs, ranges) or ends)


def _grown(module: ModuleOp) -> set[str]:
    """The dimensions along which caches have grown before a call; where the present has one of its own, that too."""
    found: set[Symbol] = set()
    for cache in caches_of(entry_of(module)):
        if cache is not None and cache.axis is not None:
            past, present = (symbols_of(type.get_shape()[cache.axis]) for type in (cache.past, cache.present))
            found |= past if past & present else past | present
    return {each.dimension for each in found if isinstance(each, InputSymbol)}


def shapes_of(engine: Engine, file: str, at: Sequence[Sizes], files: Sequence[str] = ()) -> list[Shape]:
    """The shapes of a compiled file selected by `--at`, by default that of the files' arrays, or the optimal one.

    Raises ConfigError for sizes out of range, or if the file has no ranges.
    """
    profile, family = engine.config.profile, engine.plan.family
    if profile is None or family is None:
        if at:
            raise ConfigError(f"--at does nothing with {file}, which is for one shape")
        return [Shape({}, engine.plan.inputs)]
    for name, size in ((name, size) for sizes in at for name, size in sizes.items()):
        _check(name, size, profile.dims)
    specs = family.base.inputs
    return _shapes(specs, profile.dims, at or _sizes_of(files, specs, profile.dims) or [{}])


def _sizes_of(
    files: Sequence[str], specs: Sequence[TensorSpec], ranges: Mapping[str, tuple[int, int, int]]
) -> list[Sizes]:
    """The sizes that arrays of inputs have along dimensions of one symbol, once; none without files.

    Raises ConfigError for a size out of range, or two of one dimension.
    """
    sizes: dict[str, int] = {}
    arrays = arrays_of(files, [spec.name for spec in specs])
    for spec in specs:
        for size, given in zip(spec.shape, arrays[spec.name].shape, strict=False) if spec.name in arrays else ():
            symbols = symbols_of(size)
            if len(symbols) != 1 or (name := (symbol := symbols.pop()).name.partition(" / ")[0]) not in ranges:
                continue
            first, second = (value_at(size, {symbol: value}) for value in (0, 1))
            if second <= first:
                continue
            found = (given - first) * unit_of(symbol) // (second - first)
            low, _, high = ranges[name]
            if not low <= found <= high:
                raise ConfigError(f"input '{spec.name}' has {name}={found}; {name} is from {low} to {high}")
            if sizes.setdefault(name, found) != found:
                raise ConfigError(f"input '{spec.name}' has {name}={found}, another has {name}={sizes[name]}")
    return [sizes] if files else []


def _check(name: str, size: int, ranges: Mapping[str, tuple[int, int, int]]) -> None:
    if name not in ranges:
        raise ConfigError(f"--at {name}={size}: there is no --range of {name}")
    if not ranges[name][0] <= size <= ranges[name][2]:
        raise ConfigError(f"--at {name}={size}: {name} is from {ranges[name][0]} to {ranges[name][2]}")


def _shapes(
    specs: Sequence[TensorSpec], ranges: Mapping[str, tuple[int, int, int]], at: Sequence[Sizes]
) -> list[Shape]:
    """The specs at sizes; a symbol of compiled code is a factor of a dimension, which needn't be a multiple of it."""
    symbols = {symbol for spec in specs for size in spec.shape for symbol in symbols_of(size)}
    named = {symbol: (symbol.name.partition(" / ")[0], unit_of(symbol)) for symbol in symbols}
    shapes: list[Shape] = []
    for each in at:
        sizes = {name: span[1] for name, span in ranges.items()} | dict(each)
        values: dict[Any, Any] = {symbol: Fraction(sizes[name], unit) for symbol, (name, unit) in named.items()}
        made = settled(tuple(specs), lambda size, values=values: int(value_at(size, values)))
        for spec in made:
            if min(spec.shape, default=0) < 0:
                raise ConfigError(f"input '{spec.name}' can't have shape {list(spec.shape)}")
        shapes.append(Shape(sizes, made))
    return shapes
