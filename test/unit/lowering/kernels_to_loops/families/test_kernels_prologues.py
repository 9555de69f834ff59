"""What is computed a block at a time inside a contraction: its left-hand side, and the rows that a pool reads; lrn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph_runs import EVERY, THREE, Case, Model, Target, check, spread
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.activation import GeluOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, GreaterOp, MulOp, SubOp, WhereOp
from mini_infer.dialects.graph.ops.movement import SliceOp
from mini_infer.dialects.graph.ops.reduction import ReduceSumOp
from mini_infer.dialects.graph.ops.unary import ExpOp, ReluOp, SigmoidOp
from mini_infer.dialects.graph.ops.windows import LrnOp, MaxPoolOp
from mini_infer.dialects.graph.values import shape_of

Rule = Callable[[Model, SSAValue], SSAValue]
KIB = 1 << 10


def small_l2(*targets: Target, l2: int = 64 * KIB) -> list[Target]:
    """The targets with a small second-level cache, so that small tensors are large."""
    return [Target(target.bits, target.threads, l2=l2) for target in targets]


def normalised(m: Model, x: SSAValue) -> SSAValue:
    """A batch norm and a relu, as DenseNets have them in front of a convolution."""
    channels = shape_of(x)[-1]
    return m(ReluOp(m(AddOp(m(MulOp(x, m.weight(channels))), m.weight(channels)))))


def excited(m: Model, x: SSAValue) -> SSAValue:
    """A factor for each image and channel."""
    batch, *middle, channels = shape_of(x)
    return m(MulOp(x, m.input(batch, *[1] * len(middle), channels)))


def silu(m: Model, x: SSAValue) -> SSAValue:
    y = m(AddOp(x, m.weight(shape_of(x)[-1])))
    return m(MulOp(y, m(SigmoidOp(y))))


def chosen(m: Model, x: SSAValue) -> SSAValue:
    kept = m(WhereOp(m.input(*shape_of(x), dtype=np.bool_), x, m.constant(0.0)))
    return m(WhereOp(m(GreaterOp(kept, m.input(*shape_of(x)))), kept, m.input(shape_of(x)[-1])))


PROLOGUES: list[Rule] = [
    normalised,
    excited,
    silu,
    chosen,
    lambda m, x: m(MulOp(x, x)),
    lambda m, x: m(AddOp(x, m.input(*shape_of(x)))),
    lambda m, x: m(AddOp(x, m.input(shape_of(x)[-2], 1))),  # by row
    lambda m, x: m(MulOp(m(SubOp(x, m.constant(1.0))), m.input())),
    lambda m, x: m(GeluOp(m(AddOp(x, m.weight(shape_of(x)[-1]))))),
    lambda m, x: m(CastOp(m.input(*shape_of(x), dtype=np.int32), f32)),
    lambda m, x: m(AddOp(m.input(*shape_of(x)[:-1], 1), m.input(shape_of(x)[-1]))),  # only broadcast operands
    lambda m, x: m(CastOp(m.constant(np.full(shape_of(x), 9.5), np.float16), f32)),  # only a constant
    lambda m, x: m(CastOp(m.constant(np.full(shape_of(x), 0.5), np.float16), f32)),
]


def residual(m: Model, y: SSAValue) -> SSAValue:
    return m(ReluOp(m(AddOp(m(ExpOp(m.input(*shape_of(y), scale=0.3))), y))))


def plain(m: Model, y: SSAValue) -> SSAValue:
    return y


def gelu(m: Model, y: SSAValue) -> SSAValue:
    return m(GeluOp(y))


def product(before: Rule, after: Rule = plain, shape: tuple[int, ...] = (3, 5, 70), columns: int = 33) -> Case:
    return lambda m: after(m, m(MatmulOp(before(m, m.input(*shape)), m.weight(shape[-1], columns, scale=0.2))))


def pointwise(before: Rule, after: Rule = plain, shape: tuple[int, ...] = (2, 7, 9, 20), filters: int = 33) -> Case:
    def case(m: Model) -> SSAValue:
        weight = m.weight(filters, shape[-1], 1, 1, scale=0.2)
        return after(m, m(ConvOp(before(m, m.input(*shape)), weight, m.weight(filters), layout="NHWC")))

    return case


SIZES = [(1, 1, 1), (56, 64, 32), (57, 65, 33), (113, 100, 5), (300, 16, 40), (1, 5000, 1)]
PRODUCTS = [
    *(product(before) for before in PROLOGUES),
    *(product(before, residual, (37, 33), 70) for before in PROLOGUES),
    *(product(before, gelu, (2, 3, 64), 100) for before in PROLOGUES),
    *(product(normalised, plain, (rows, depth), columns) for rows, depth, columns in SIZES),
]
CONVOLUTIONS = [
    *(pointwise(before) for before in PROLOGUES),
    *(pointwise(before, gelu, (1, 6, 3, 33)) for before in PROLOGUES),
    *(pointwise(before, excited, (3, 6, 5, 33)) for before in PROLOGUES),
]
PROLOGUE_GROUPS = {"products": PRODUCTS, "convolutions": CONVOLUTIONS}


@pytest.mark.parametrize("group", PROLOGUE_GROUPS)
def test_prologues(group: str) -> None:
    for run in spread(PROLOGUE_GROUPS[group][::2], small_l2(*THREE)):
        assert {each for each in run.schedules if each.endswith("panels")} == {"prologue_panels"}


@pytest.mark.slow
@pytest.mark.parametrize("target", EVERY, ids=str)
def test_prologues_on_every_target(target: Target) -> None:
    for cases in PROLOGUE_GROUPS.values():
        check(cases, *small_l2(target))


def test_what_is_computed_once_is_no_prologue() -> None:
    """A left-hand side that others read too stays a kernel; so does one whose weights don't fit half the cache."""

    def read_twice(m: Model) -> list[SSAValue]:
        x = m(ReluOp(m.input(9, 64)))
        return [m(MatmulOp(x, m.weight(64, 32))), m(GeluOp(x))]

    (run,) = check([read_twice, product(normalised, plain, (9, 128), 200)], *small_l2(Target()))
    assert sorted(run.schedules) == ["elements", "elements", "elements", "panels", "panels"]
    (run,) = check([product(normalised, plain, (9, 128), 200)], Target(l2=1024 * KIB))
    assert run.names == ["matmul_0"]


def pooled(
    shape: tuple[int, int, int, int],
    filters: int,
    pool: tuple[int, int] = (3, 3),
    strides: tuple[int, int] = (2, 2),
    pads: tuple[int, int, int, int] = (1, 1, 1, 1),
    *,
    ceil: bool = False,
    rule: Rule = lambda m, y: m(ReluOp(y)),
    kernel: int = 3,
    stride: int = 1,
    groups: int = 1,
) -> Case:
    """A convolution, an epilogue and a max pool."""

    def case(m: Model) -> SSAValue:
        weight = m.weight(filters, shape[-1] // groups, kernel, kernel, scale=0.2)
        window: dict[str, Any] = {"strides": (stride, stride), "pads": (kernel // 2,) * 4, "groups": groups}
        y = rule(m, m(ConvOp(m.input(*shape), weight, m.weight(filters), **window, layout="NHWC")))
        window = {"strides": strides, "pads": pads, "dilations": (1, 1)}
        return m(MaxPoolOp(y, kernel=pool, **window, ceil_mode=ceil, layout="NHWC"))

    return case


NONE = (0, 0, 0, 0)
POOLS = [
    pooled((1, 40, 30, 3), 64),
    pooled((1, 41, 33, 3), 70, ceil=True),
    pooled((1, 30, 30, 4), 40, (2, 2), pads=NONE),
    pooled((3, 30, 31, 4), 40, (2, 2), pads=NONE, ceil=True),
    pooled((2, 40, 30, 3), 64, stride=2),
    pooled((1, 50, 20, 3), 64, (3, 3), (1, 1)),
    pooled((1, 30, 30, 3), 60, (5, 5), (3, 3), (2, 2, 2, 2)),
    pooled((1, 30, 30, 3), 60, kernel=1),
    pooled((1, 40, 30, 3), 64, (2, 3), (3, 1), (0, 1, 1, 1)),
    pooled((1, 40, 30, 3), 64, (1, 1), pads=NONE),
    pooled((1, 3, 300, 3), 64),
    pooled((1, 300, 3, 3), 64),
    *(pooled((2, 20, 30, 3), 40, rule=rule) for rule in (plain, gelu, residual, excited)),
]


def test_pools() -> None:
    for run in spread(POOLS[::2], small_l2(*THREE)):
        assert "windows" not in run.forms


@pytest.mark.slow
@pytest.mark.parametrize("target", EVERY, ids=str)
def test_pools_on_every_target(target: Target) -> None:
    check(POOLS, *small_l2(target), *small_l2(target, l2=32 * KIB))


def test_pools_that_stay_apart() -> None:
    """Grouped convolutions, depthwise ones, and pictures that fit the cache."""
    apart = [pooled((1, 40, 30, 4), 64, groups=2), pooled((1, 40, 30, 64), 64, groups=64), pooled((1, 8, 8, 3), 16)]
    (run,) = check(apart, *small_l2(Target()))
    assert sorted(run.schedules) == ["depthwise", "elements", "elements", "elements", "panels", "panels"]


def normalisation(shape: tuple[int, ...], size: int, beta: float, dtype: Any = np.float32) -> Case:
    """Over neighbouring channels, of a value that nobody else reads."""

    def case(m: Model) -> SSAValue:
        x = m(ExpOp(m.input(*shape, dtype=dtype)))
        return m(ReduceSumOp(m(LrnOp(x, size, 0.01, beta, 2.0, layout="NHWC")), (1,)))

    return case


def test_lrn() -> None:
    shapes = [(2, 5, 6, 37), (1, 3, 64), (4, 7)]
    powers = [(5, 0.75), (4, 0.5), (1, 1.0), (3, 0.6), (80, 0.75)]
    for run in spread([normalisation(shape, size, beta) for shape in shapes for size, beta in powers]):
        lrn = [call for call in run.calls() if call.callee.string_value().startswith("lrn")]
        assert lrn and all(call.outs[0] in call.ins for call in lrn)
    check([normalisation((2, 5, 37), 5, 0.75, np.float64)], Target(), bound=1e-14)


def test_lrn_of_a_part() -> None:
    def case(m: Model) -> SSAValue:
        x = m(ExpOp(m.input(2, 5, 38)))
        return m(LrnOp(m(SliceOp(x, (0, 0, 3), (2, 5, 23), (1, 1, 1))), 3, layout="NHWC"))

    for run in check([case], Target(512, 1), Target(128, 2)):
        assert run.schedules[-1] == "lrn"
