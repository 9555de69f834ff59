"""Plans of a profile's shapes: verify-arena judges each, and none is higher than the one for the largest."""

from __future__ import annotations

from functools import partial

import pytest
from models.dynamic import DYNAMIC_MODELS, Build, planned
from xdsl.dialects.builtin import DictionaryAttr, MemRefType, ModuleOp, i8

from mini_infer.dialects.errors import PlanError
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.graph.fixed_sizes import settled
from mini_infer.dialects.graph.host import main_of
from mini_infer.dialects.graph.values import int_attr
from mini_infer.dialects.sizes.polynomials import InputSymbol
from mini_infer.dialects.sizes.sizes import value_at
from mini_infer.passes.memory.plan_arena import settled as sized
from mini_infer.passes.memory.verify_arena import VerifyArena
from mini_infer.runtime.compile.module_to_plan import arena_of
from mini_infer.runtime.shapes.buckets import BucketPlans

SPANS = {"n": (9, 64, 200), "m": (9, 96, 200)}
SHAPES = [{"n": n, "m": m} for n, m in ((64, 96), (200, 200), (9, 9), (9, 200), (200, 9), (77, 31), (128, 129))]


def at_shape(module: ModuleOp, places: BucketPlans, values: tuple[int, ...]) -> tuple[ModuleOp, int]:
    """The module with numbers for its sizes and for the places of buffers, and how far these reach."""
    arena = arena_of(module)
    assert arena is not None
    placed, bound = places.at(values), places.bound(values)
    offsets = [int(offset) for offset in placed.offsets]
    numbers = dict(zip(arena.symbols, (*values, *offsets), strict=True))
    made = settled(module, partial(value_at, values=numbers))
    main, problem = main_of(made, "the test"), sized(arena.problem, partial(value_at, values=numbers))
    ends = (offset + problem.padded(each) for offset, each in zip(offsets, problem.buffers, strict=True))
    height = max(ends, default=0)  # of sizes that may be smaller than those that were planned
    (argument,) = [each for each in main.args if each.name_hint == "arena"]
    argument._type = MemRefType(i8, [height])  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
    certificate = main.attributes["kernel.plan"]
    assert isinstance(certificate, DictionaryAttr)
    claims = {"arena_bytes": height, "lower_bound": bound.height, "proven_bound": bound.height}
    claims |= {"binding_step": bound.step, "optimal": int(height == bound.height)}
    main.attributes["kernel.plan"] = DictionaryAttr(
        {**certificate.data, **{name: int_attr(number) for name, number in claims.items()}}
    )
    return made, height


@pytest.mark.parametrize("build", DYNAMIC_MODELS, ids=lambda build: build.__name__)
def test_the_plan_of_every_shape_is_right_and_fits(build: Build) -> None:
    module, ctx, _ = planned(build, SPANS)
    arena = arena_of(module)
    assert arena is not None
    places = BucketPlans(arena.problem, arena.dims, bounded=True)
    for given in SHAPES:
        values = tuple(given[each.name.split()[0]] // each.unit for each in arena.dims if isinstance(each, InputSymbol))
        made, height = at_shape(module, places, values)
        assert height <= places.at(values).plan.height <= places.bytes_of_all
        VerifyArena().apply(ctx, made)


def test_a_plan_for_smaller_sizes_is_refused() -> None:
    """Or the judge would be none."""
    (attention,) = [build for build in DYNAMIC_MODELS if build.__name__ == "attention"]
    module, _, _ = planned(attention, SPANS)
    arena = arena_of(module)
    assert arena is not None
    places = BucketPlans(arena.problem, arena.dims, bounded=True)
    small = places.at((16,))
    places.at = lambda values: small
    made, _ = at_shape(module, places, (200,))
    with pytest.raises(PlanError):
        VerifyArena().apply(MiniContext(), made)
