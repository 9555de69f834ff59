"""Graphs with caches of keys and values: an input and an output in one memory, over several steps, change no bit."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, cast

import numpy as np
from fuzz.at_shapes import is_invalid_somewhere, named_dims
from fuzz.growth import Case, Growth, Misfit, Value
from fuzz.judge import BASE, OPTIONS, TILED, Verdict, differences, expected, same_bits
from fuzz.ranges import fits, with_names

import mini_infer as mi
from mini_infer.dialects.graph.values import Array

STEPS = 4
UNARY = ("Neg", "Abs", "Relu", "Identity")

WITH_CACHES: Mapping[str, Mapping[str, Any]] = {
    "caches": {},
    "caches, without graph optimisation": {"enable_graph_optimization": False},
    "caches, 2 threads": {"threads": 2},
    "caches, without memory planning": {"enable_memory_planning": False},
    "caches, 128 bits": {"vector_bits": 128, "memory_alignment": 64},
    f"caches, {TILED}": {},
    "caches, on a GPU": OPTIONS["on a GPU"],
}


def declare(g: Growth) -> None:
    """Adds a past and the present that is made of it and of a value, perhaps by way of something else."""
    x = g.pick(lambda value: value.rank > 0 and value.array.size > 0)
    grows = g.chance(0.7)
    axis = x.rank - 2 if x.rank > 2 and g.chance(0.5) else g.axis(x)
    shape = list(x.shape)
    if grows:
        shape[axis] = g.integer(0, 6)
    past = g.input(shape, x.array.dtype)
    new = _changed(g, x)
    before = _changed(g, past)
    present = _joined(g, [before, new], axis) if grows else _updated(g, before, new, axis)
    present = _scattered(g, present, axis) if grows and g.opset >= 11 and g.chance(0.3) else _changed(g, present)
    if present.name in g.inputs:
        present = g.add("Identity", present, moves=True)
    g.caches[past.name] = present.name
    if g.chance(0.5):
        _attend(g, present)


def _attend(g: Growth, present: Value) -> None:
    """Attention over the present, whose last dimension but one is that of keys."""
    if present.rank < 3 or not present.is_float or not present.array.size:
        return
    queries = g.weight([*present.shape[:-2], g.choose([1, 1, 3, 8]), present.shape[-1]], present.array.dtype)
    with suppress(Misfit):
        order = [*range(present.rank - 2), present.rank - 1, present.rank - 2]
        scores = g.add("MatMul", queries, g.add("Transpose", present, perm=order, moves=True))
        weights = g.add("Softmax", scores, axis=-1 if g.opset >= 13 else scores.rank - 1)
        g.add("MatMul", weights, present)


def _changed(g: Growth, x: Value) -> Value:
    """The value itself, mostly, or something of the same shape that is made of it."""
    if not x.is_float or g.chance(0.7):
        return x
    return g.add(g.choose(UNARY), x, moves=True)


def _joined(g: Growth, parts: list[Value], axis: int) -> Value:
    if g.chance(0.2):
        parts.reverse()
    return g.add("Concat", *parts, moves=True, axis=axis)


def _updated(g: Growth, past: Value, x: Value, axis: int) -> Value:
    """A present as large as the past: of all of it, of a part of it, or of none."""
    size = past.shape[axis]
    match g.integer(0, 5):
        case 0 if past.is_float:
            return g.add(g.choose(["Add", "Mul", "Max"]), past, x)
        case 1 if g.opset >= 11:
            return _scattered(g, past, axis)
        case 2 if g.takes("Slice", "starts") and size > 1:  # the oldest goes
            at, one = g.constant([axis]), g.constant([1])
            rest = g.add("Slice", past, one, g.constant([size]), at, moves=True)
            return g.add("Concat", rest, g.add("Slice", x, g.constant([0]), one, at, moves=True), moves=True, axis=axis)
        case 3:
            return g.add("Where", g.weight(past.shape, np.bool_), past, x, moves=True)
        case _:
            raise Misfit


def growing(case: Case) -> Case:
    """The case with a range for each past that grows, where the rest of the graph lets them all."""
    outputs = {value.name: value.type.tensor_type.shape.dim for value in case.model.graph.output}
    dims = {name: [""] * array.ndim for name, array in case.inputs.items()}
    spans: dict[str, range] = {}
    for past, present in case.caches.items():
        sizes = [dim.dim_value for dim in outputs[present]]
        for axis, (before, after) in enumerate(zip(case.inputs[past].shape, sizes, strict=True)):
            if after > before:
                name = dims[past][axis] = f"{past}_{axis}"
                spans[name] = range(before, before + STEPS * (after - before), after - before)
    steps = [{name: span[at] for name, span in spans.items()} for at in range(STEPS)]
    if case.is_fixed or not spans or not all(fits(case, dims, each) for each in steps):
        return case
    ranges = {name: (span[0], span[2], span[-1]) for name, span in spans.items()}
    return Case(with_names(case.model, dims), case.inputs, ranges, caches=case.caches)


def judged_with_caches(case: Case, label: str) -> Verdict:
    """Compiles a graph with its caches and without, and runs both step by step on what the one with caches gave."""
    wrong: list[str] = []
    told = f"{label} {', '.join(f'{past}={present}' for past, present in case.caches.items())}"
    options: dict[str, Any] = {**BASE, **WITH_CACHES[label]}
    if case.ranges:
        options["profile"] = mi.OptimizationProfile(dims=case.ranges)
    try:
        plain, engine = (mi.compile(case.model, caches=caches, **options) for caches in ({}, case.caches))
        given = {name: array.copy() for name, array in case.inputs.items()}
        for step in range(STEPS):
            before = {name: array.copy() for name, array in given.items()}
            wanted, found = (cast("dict[str, Array]", each(dict(given))) for each in (plain, engine))
            at = f"{told}: step {step}"
            wrong += [f"{at}: {name}: other bits" for name in wanted if not same_bits(wanted[name], found[name])]
            if step == 0:
                wrong += [f"{told}: {fact}" for fact in differences(found, *expected(Case(case.model, before)))]
            kept = [name for name in given if step == 0 or name not in case.caches]
            wrong += [f"{at}: {name} was written" for name in kept if not same_bits(given[name], before[name])]
            given |= {past: found[present] for past, present in case.caches.items()}
            if not _has_room(case, given):
                break
        return Verdict(tuple(wrong), compiles=getattr(engine, "compiles", 0))
    except mi.UnsupportedError as error:
        return Verdict(tuple(wrong), refused=str(error))
    except mi.InvalidModelError as error:
        if is_invalid_somewhere(case):
            return Verdict(tuple(wrong), refused=f"{error}: invalid")
        return Verdict((*wrong, f"{told}: {error}"))
    except Exception as error:  # whatever it is, a valid graph has found it
        return Verdict((*wrong, f"{told}: {type(error).__name__}: {error}"))


def _scattered(g: Growth, x: Value, axis: int) -> Value:
    """A value in which up to two elements along an axis are replaced."""
    shape = [min(2, each) if index == axis else each for index, each in enumerate(x.shape)]
    order = np.argsort(g.random.random(x.shape), axis=axis)
    where = g.constant(np.take(order, np.arange(shape[axis]), axis=axis))
    return g.add("ScatterElements", x, where, g.weight(shape, x.array.dtype), moves=True, axis=axis)


def _has_room(case: Case, given: Mapping[str, Array]) -> bool:
    """Whether pasts are as large as the graph takes them: those that hang on others may grow faster."""
    dims = named_dims(case.model)
    for past in case.caches:
        sizes = zip(dims[past], given[past].shape, case.inputs[past].shape, strict=True)
        if any(not (size <= case.ranges[name][2] if name else size == same) for name, size, same in sizes):
            return False
    return True
