"""Graphs with named dimensions: those of a grown one that may have other sizes, as onnx.reference finds by trying."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from fuzz.growth import LARGEST, Case, as_inferred
from fuzz.reference import evaluate
from onnx import GraphProto, ModelProto, ValueInfoProto

from mini_infer.dialects.graph.values import Array

Ranges = dict[str, tuple[int, int, int]]
Dims = Mapping[str, list[str]]  # of each input: the name of every dimension, "" for one that stays as it is

SIZES = (1, 2, 3, 4, 5, 6, 8, 9, 12, 16, 17, 24, 33)
CALLS = 4  # besides the first
MOST = 8 * LARGEST  # elements of an output


def ranged(case: Case, seed: int) -> Case:
    """The case with ranges for as many of its inputs' dimensions as may have any; itself where none may."""
    if case.is_fixed:
        return case
    random = np.random.default_rng(seed)
    dims = _named(case, random)
    base = dict(_sizes(case.inputs, dims))
    spans = {name: _span(size, random) for name, size in base.items()}

    def fit(ranges: Ranges) -> bool:
        return all(fits(case, dims, _chosen(base, ranges, at)) for at in (0, 2, 1))

    ranges: Ranges = spans
    if not fit(spans):
        ranges = {}
        for name in spans:
            tried = {**ranges, name: spans[name]}
            ranges = tried if fit(tried) else ranges
    if not ranges:
        return case
    dims = {each: [name if name in ranges else "" for name in names] for each, names in dims.items()}
    model = with_names(case.model, dims)
    wanted = [_chosen(base, ranges, at) for at in (1, 0, 2)]
    for _ in range(CALLS - 2):
        sizes = {**base, **{name: int(random.integers(low, high + 1)) for name, (low, _, high) in ranges.items()}}
        wanted += [sizes] * fits(case, dims, sizes)
    first, *others = (resized(case.inputs, dims, sizes, random) for sizes in wanted)
    return Case(model, first, ranges, others)


def _span(size: int, random: np.random.Generator) -> tuple[int, int, int]:
    """A range around a size."""
    low, high = (int(each) for each in np.sort(random.choice(SIZES, 2)))
    low, high = min(low, size), max(high, size)
    return low, size if random.random() < 0.5 else int(random.integers(low, high + 1)), high


def _named(case: Case, random: np.random.Generator) -> Dims:
    """Names for dimensions: sometimes one for all of a size, sometimes one for each."""
    shared = random.random() < 0.6
    return {
        name: [f"n{size}" if shared else f"{name}_{axis}" for axis, size in enumerate(array.shape)]
        if array.size
        else [""] * array.ndim
        for name, array in case.inputs.items()
    }


def _sizes(inputs: Mapping[str, Array], dims: Dims) -> Iterator[tuple[str, int]]:
    for each, array in inputs.items():
        yield from ((name, size) for name, size in zip(dims[each], array.shape, strict=True) if name)


def _chosen(base: Mapping[str, int], ranges: Ranges, at: int) -> dict[str, int]:
    return {**base, **{name: span[at] for name, span in ranges.items()}}


def resized(
    inputs: Mapping[str, Array], dims: Dims, sizes: Mapping[str, int], random: np.random.Generator
) -> dict[str, Array]:
    """Inputs of other shapes: what they hold is of what they held, for indices must be legal."""
    found: dict[str, Array] = {}
    for each, array in inputs.items():
        shape = [sizes.get(name, size) for name, size in zip(dims[each], array.shape, strict=True)]
        drawn = random.choice(array.reshape(-1), shape) if array.dtype.kind in "iub" and array.size else None
        if tuple(shape) == array.shape:
            found[each] = array
        elif drawn is not None:
            found[each] = np.asarray(drawn).astype(array.dtype)
        else:
            found[each] = random.standard_normal(shape).astype(array.dtype)
    return found


def fits(case: Case, dims: Dims, sizes: Mapping[str, int]) -> bool:
    """Whether the reference takes inputs of such sizes."""
    inputs = resized(case.inputs, dims, sizes, np.random.default_rng(0))
    if any(array.size > LARGEST for array in inputs.values()):
        return False
    model = with_names(case.model, dims)
    for value in model.graph.input:
        for dimension, size in zip(value.type.tensor_type.shape.dim, inputs[value.name].shape, strict=True):
            dimension.dim_value = size
    try:
        found = evaluate(model, inputs)
        return all(0 < array.size <= MOST for array in found) and as_inferred(model, found)
    except Exception:  # whatever it is, these sizes don't go with the rest
        return False


def with_names(model: ModelProto, dims: Dims) -> ModelProto:
    """The model with names for dimensions of its inputs, and none of the numbers that hang on them."""
    named = ModelProto()
    named.CopyFrom(model)
    for value in named.graph.input:
        for dimension, name in zip(value.type.tensor_type.shape.dim, dims[value.name], strict=True):
            if name:
                dimension.dim_param = name
    _forget_sizes(list(named.graph.output))
    for node in named.graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _forget_inner(attribute.g)
    return named


def _forget_inner(graph: GraphProto) -> None:
    _forget_sizes([*graph.input, *graph.output])
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                _forget_inner(attribute.g)


def _forget_sizes(values: list[ValueInfoProto]) -> None:
    for value in values:
        for dimension in value.type.tensor_type.shape.dim:
            dimension.Clear()
