"""Engines that learn shapes, of models whose dimensions are tied to each other though their names don't say so."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnxruntime_models as models
import pytest

import mini_infer as mi
from mini_infer.dialects.errors import CompileError
from mini_infer.runtime.compile.learning_engine import LearningEngine
from mini_infer.runtime.compile.plan_builder import Builder
from mini_infer.runtime.compile.source import Best
from mini_infer.runtime.engine import CompiledModel
from mini_infer.runtime.shapes.tied_sizes import enlarged

Shape = tuple[int, ...]


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> list[Best]:
    """For what shapes code was made from here on, rather than found or refused."""
    made: list[Best] = []
    build = Builder.__call__

    def noted(builder: Builder, best: Best | None = None) -> CompiledModel:
        found = build(builder, best)
        made.append(best or {})
        return found

    monkeypatch.setattr(Builder, "__call__", noted)
    return made


def run(engine: LearningEngine, **inputs: np.ndarray) -> np.ndarray:
    found = engine.engine_for({name: each.shape for name, each in inputs.items()}, inputs)
    return next(iter(found(inputs).values()))


def random_of(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def decode(engine: LearningEngine, steps: Sequence[tuple[int, int]], batch: int = 1) -> None:
    """Runs with so many elements of the past, and new ones."""
    for past, new in steps:
        x, before, mask = random_of(batch, new), random_of(batch, past), random_of(batch, past + new)
        y = run(engine, x=x, past=before, mask=mask)
        np.testing.assert_array_equal(y, np.concatenate((before, x), axis=1) + mask)


@pytest.mark.parametrize("total", ["total", "p + t", ""])
def test_a_past_that_grows_needs_three_compiles(with_cache: Path, compiles: list[Best], total: str) -> None:
    """And none in a later process, in another order. The mask is as long as the past and the new, whatever its name."""
    steps = [(past, 1) for past in range(51)]
    decode(LearningEngine(models.decoder(total), {}, 1), steps)
    assert len(compiles) == 3
    del compiles[:]
    decode(LearningEngine(models.decoder(total), {}, 1), [(80, 1), *reversed(steps)])
    assert compiles == []


def test_code_for_tied_dimensions_is_optimised_for_large_ones(compiles: list[Best]) -> None:
    decode(LearningEngine(models.decoder("total"), {}, 1, cache=False), [(4, 2), (5, 2)])
    assert compiles == [{}, {"x": (1, 2), "past": (1, 80), "mask": (1, 82)}]


@pytest.mark.parametrize("total", ["total", "p + t"])
def test_sums_of_two_that_vary_hold(compiles: list[Best], total: str) -> None:
    decode(LearningEngine(models.decoder(total), {}, 1, cache=False), [(4, 5), (9, 3), (2, 8), (30, 30)], batch=2)
    assert len(compiles) == 2


def add(engine: LearningEngine, shapes: Sequence[tuple[Shape, Shape]]) -> None:
    for shape, other in shapes:
        x, z = random_of(*shape), random_of(*other)
        np.testing.assert_array_equal(run(engine, x=x, z=z), x + z)


BROADCAST = [((2, 3), (2, 3)), ((4, 5), (4, 1)), ((7, 3), (7, 3)), ((6, 3), (1, 3)), ((7, 3), (7, 1)), ((8, 9), (8, 9))]


def test_sizes_that_were_not_always_equal_may_have_to_be(with_cache: Path, compiles: list[Best]) -> None:
    add(LearningEngine(models.added(), {}, 1), BROADCAST)
    assert len(compiles) == 4
    del compiles[:]
    add(LearningEngine(models.added(), {}, 1), BROADCAST[::-1])
    assert compiles == []


def test_where_code_for_many_shapes_fails_each_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    build = Builder.__call__

    def fails_for_many(builder: Builder, best: Best | None = None) -> CompiledModel:
        if builder.config.is_dynamic:
            raise CompileError("not for many shapes")
        return build(builder, best)

    monkeypatch.setattr(Builder, "__call__", fails_for_many)
    add(LearningEngine(models.added(), {}, 1, cache=False), BROADCAST)


def test_shapes_that_contradict_are_told_and_not_learned(compiles: list[Best]) -> None:
    engine = LearningEngine(models.decoder("total"), {}, 1, cache=False)
    decode(engine, [(4, 2), (5, 2)])
    with pytest.raises(mi.InvalidModelError, match="9") as error:
        run(engine, x=random_of(1, 2), past=random_of(1, 4), mask=random_of(1, 9))
    assert error.value.contradiction
    with pytest.raises(mi.InvalidInputError, match="input past: dimension 0 is 1, but shapes gives 3"):
        run(engine, x=random_of(1, 2), past=random_of(3, 4), mask=random_of(3, 6))
    decode(engine, [(7, 2), (9, 2)])
    assert len(compiles) == 2


@pytest.mark.parametrize(
    "record",
    [
        ([], [({"b": 1, "t": 1}, [((1, 1), (1, 64), (1, 96))])]),  # the mask is too short
        ([((1, 1),)], [({"b": 1, "t": 1}, [((1, 1),)])]),  # of one input
        ([], [({"b": 1, "t": 1}, [((1,), (1, 64, 2), (1, 65))])]),  # of other ranks
    ],
)
def test_a_record_makes_no_call_fail(with_cache: Path, monkeypatch: pytest.MonkeyPatch, record: object) -> None:
    with monkeypatch.context() as patch:
        engine = LearningEngine(models.decoder("total"), {}, 1)
        patch.setattr(engine, "_record_text", lambda: json.dumps([[], {"": record}]))
        decode(engine, [(4, 1)])
    decode(LearningEngine(models.decoder("total"), {}, 1), [(past, 1) for past in range(5)])


@pytest.mark.parametrize(
    ("names", "calls", "large"),
    [
        ("a b", [(3, 3), (5, 5)], (80, 80)),
        ("sum a b", [(7, 3, 4), (7, 2, 5), (6, 4, 2)], (144, 64, 80)),
        ("a b product", [(3, 4, 12), (5, 2, 10)], (80, 64, 5120)),
        ("a twice", [(3, 6), (5, 10)], (80, 160)),
        ("a more", [(3, 7), (5, 9)], (80, 84)),
        ("a b more", [(3, 2, 7), (5, 4, 11), (9, 3, 14)], (72, 64, 138)),
        ("a b", [(2, 4), (4, 3)], (64, 68)),  # what isn't tied is not equal
    ],
)
def test_relations_of_sizes_hold_among_large_ones(
    names: str, calls: Sequence[Sequence[int]], large: Sequence[int]
) -> None:
    every = [dict(zip(names.split(), call, strict=True)) for call in calls]
    assert enlarged(every, {}) == (dict(zip(names.split(), large, strict=True)), True)


def test_a_size_that_follows_from_fixed_ones_is_not_free() -> None:
    assert enlarged([{"p": 0, "t": 1, "all": 1}, {"p": 1, "t": 1, "all": 2}], {"p": 1, "t": 1}) == (
        {"p": 1, "t": 1, "all": 2},
        False,
    )
