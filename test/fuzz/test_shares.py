"""Shares of stages in any order, on guarded memory: they agree, and a barrier that is missing is seen."""

from __future__ import annotations

import numpy as np
import pytest
from fuzz.campaign import Trial, graph_of
from fuzz.growth import Case
from fuzz.running import limited
from fuzz.shares import judged_by_shares
from models.build import example_inputs
from models.small import SMALL_MODELS
from text_models import model_of
from xdsl.dialects.builtin import ModuleOp

from mini_infer.dialects.kernel.calls import BarrierOp
from mini_infer.passes.memory.insert_barriers import InsertBarriers

GRAPHS, FIRST_SEED = 120, 31_000_000
FEW = 5  # graphs, one of which has a barrier that its result hangs on


@pytest.mark.thinned(3)
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_small_models(name: str) -> None:
    model = SMALL_MODELS[name]()
    assert judged_by_shares(Case(model, example_inputs(model, 1))).wrong == ()


def test_a_model_that_is_invalid_at_a_shape_of_its_ranges_is_refused() -> None:
    """The reference broadcasts a bias of one element, which only some of the shapes have."""
    text = """
    g (float[1,1,2] x, float[n] b) => (float[1,3,2] y) <float[3,1,1] w = {1, 2, 3}> { y = Conv (x, w, b) }"""
    first, other = ({"x": np.ones((1, 1, 2), np.float32), "b": np.ones(size, np.float32)} for size in (3, 1))
    verdict = judged_by_shares(Case(model_of(text), first, {"n": (1, 3, 3)}, [other]))
    assert verdict.wrong == () and verdict.refused.endswith("a bias of shape [n]: invalid")


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_random_graphs_with_ranges_and_caches() -> None:
    for seed in range(FIRST_SEED, FIRST_SEED + GRAPHS):
        verdict = limited(lambda seed=seed: judged_by_shares(graph_of(Trial("graph", seed))), 120)
        assert verdict.wrong == (), f"seed {seed}"


@pytest.fixture
def each_third_barrier_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Models that are compiled meanwhile lack barriers."""
    insert = InsertBarriers.apply

    def dropping(self: InsertBarriers, ctx: object, op: ModuleOp) -> None:
        insert(self, ctx, op)  # pyright: ignore[reportArgumentType]
        barriers = [each for each in op.walk() if isinstance(each, BarrierOp)]
        for each in barriers[::3]:
            each.detach()
            each.erase()

    monkeypatch.setattr(InsertBarriers, "apply", dropping)


@pytest.mark.usefixtures("each_third_barrier_is_missing")
def test_a_missing_barrier_is_seen() -> None:
    """Some order of the shares gives another result."""
    model = SMALL_MODELS["resnet"]()
    verdict = judged_by_shares(Case(model, example_inputs(model, 1)))
    assert any("other bits" in fact for fact in verdict.wrong)
    assert np.all([fact.startswith("shares ") for fact in verdict.wrong])


@pytest.mark.slow
@pytest.mark.usefixtures("each_third_barrier_is_missing")
def test_a_missing_barrier_is_seen_within_a_few_random_graphs() -> None:
    seeds = range(FIRST_SEED, FIRST_SEED + FEW)
    verdicts = [limited(lambda seed=seed: judged_by_shares(graph_of(Trial("graph", seed))), 120) for seed in seeds]
    assert any("other bits" in fact for verdict in verdicts for fact in verdict.wrong)
