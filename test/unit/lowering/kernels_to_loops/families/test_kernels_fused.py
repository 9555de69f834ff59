"""What is fused behind a contraction: epilogues, in place and on parts of other buffers; weights read twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graph_runs import EVERY, THREE, Case, Model, Target, check, spread
from xdsl.dialects.builtin import f64, i32
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.activation import ClipOp, GeluOp, HardSigmoidOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, DivOp, GreaterOp, MulOp, SubOp, WhereOp
from mini_infer.dialects.graph.ops.movement import ConcatOp, ReshapeOp, SliceOp
from mini_infer.dialects.graph.ops.reduction import ReduceSumOp, SoftmaxOp
from mini_infer.dialects.graph.ops.unary import ExpOp, ReluOp, SigmoidOp, TanhOp
from mini_infer.dialects.graph.values import shape_of

Rule = Callable[[Model, SSAValue], SSAValue]


def root(m: Model, kind: str) -> SSAValue:
    """A contraction of some kind with a result of shape [2, 5, 9, 37 or 38]."""
    x = m.input(2, 5, 9, 6)
    match kind:
        case "conv":
            return m(ConvOp(x, m.weight(37, 6, 3, 3, scale=0.2), m.weight(37), pads=(1,) * 4, layout="NHWC"))
        case "pointwise":
            return m(ConvOp(x, m.weight(37, 6, 1, 1, scale=0.4), layout="NHWC"))
        case "grouped":
            weight = m.weight(38, 3, 3, 3, scale=0.3)
            return m(ConvOp(x, weight, m.weight(38), pads=(1,) * 4, groups=2, layout="NHWC"))
        case "depthwise":
            weight = m.weight(37, 1, 3, 3, scale=0.3)
            return m(ConvOp(m.input(2, 5, 9, 37), weight, m.weight(37), pads=(1,) * 4, groups=37, layout="NHWC"))
        case "matmul":
            return m(MatmulOp(x, m.weight(6, 37, scale=0.4)))
        case _:
            return m(MatmulOp(x, m.input(5, 6, 37, scale=0.4)))


KINDS = ("conv", "pointwise", "grouped", "depthwise", "matmul", "computed")


def with_input(op: Any, *shape: int | None) -> Rule:
    """`op` with an input of this shape; None is the value's own size."""

    def rule(m: Model, y: SSAValue) -> SSAValue:
        own = (*[1] * len(shape), *shape_of(y))[-len(shape) :] if shape else ()
        return m(op(y, m.input(*(mine if size is None else size for size, mine in zip(shape, own, strict=True)))))

    return rule


def silu(m: Model, y: SSAValue) -> SSAValue:
    return m(MulOp(y, m(SigmoidOp(y))))


def hard_swish(m: Model, y: SSAValue) -> SSAValue:
    return m(MulOp(y, m(HardSigmoidOp(y, 1 / 6, 0.5))))


def scale_and_shift(m: Model, y: SSAValue) -> SSAValue:
    channels = shape_of(y)[-1]
    return m(ReluOp(m(AddOp(m(MulOp(y, m.weight(channels))), m.weight(channels)))))


def constants(m: Model, y: SSAValue) -> SSAValue:
    return m(ClipOp(m(DivOp(m(AddOp(y, m.constant(3.0))), m.constant([2.0]))), 0.0, 6.0))


def on_the_left(m: Model, y: SSAValue) -> SSAValue:
    return m(SubOp(m.input(1, 1), m(SubOp(m(MulOp(y, y)), y))))


def chosen(m: Model, y: SSAValue) -> SSAValue:
    positive = m(GreaterOp(y, m.constant(0.0)))
    return m(WhereOp(m.input(*shape_of(y), dtype=np.bool_), m(WhereOp(positive, y, m.input(9, 1))), y))


def long_chain(m: Model, y: SSAValue) -> SSAValue:
    for _ in range(12):
        y = m(AddOp(m(MulOp(y, m.constant(0.9))), m.input(shape_of(y)[-1])))
    return y


def read_twice(m: Model, y: SSAValue) -> SSAValue:
    other = m.input(*shape_of(y))
    return m(AddOp(m(MulOp(y, other)), other))


EPILOGUES: list[Rule] = [
    lambda m, y: m(ReluOp(y)),
    lambda m, y: m(GeluOp(y)),
    lambda m, y: m(GeluOp(y, approximate="tanh")),
    silu,
    hard_swish,
    scale_and_shift,
    constants,
    on_the_left,
    chosen,
    long_chain,
    read_twice,
    with_input(AddOp, None, None, None, None),  # a residual
    with_input(MulOp, None),  # by channel
    with_input(MulOp, None, None, None, 1),  # by pixel
    with_input(MulOp, None, 1, 1),  # by row
    with_input(MulOp, None, 1),  # by column
    with_input(MulOp, None, 1, 1, None),  # by image and channel
    with_input(MulOp, None, 1, None),  # by row and channel
    with_input(MulOp),  # a scalar
]
OTHER_TYPES: list[Rule] = [
    lambda m, y: m(CastOp(y, f64)),
    lambda m, y: m(CastOp(m(MulOp(y, m.constant(10.0))), i32)),
    lambda m, y: m(GreaterOp(y, m.input(shape_of(y)[-1]))),
    lambda m, y: m(AddOp(y, m.input(3, 1, 1, 1, 1))),
]


def behind(kind: str, rule: Rule) -> Case:
    return lambda m: rule(m, root(m, kind))


@pytest.mark.parametrize("number", [0, *(pytest.param(each, marks=pytest.mark.slow) for each in (1, 2))])
def test_epilogues(number: int) -> None:
    """Each epilogue behind two of the six roots; every root and target gets a share."""
    some = [behind(KINDS[(i + 3 * j + number) % 6], rule) for i, rule in enumerate(EPILOGUES) for j in range(2)]
    (run,) = check(some[number::3], THREE[number])
    assert "elements" not in run.schedules


def test_epilogues_that_change_type_or_shape() -> None:
    """What is stored may have another type than the sums; a larger shape has its own kernel."""
    cases = [behind(kind, rule) for kind, rule in zip(KINDS[::2] + KINDS[3:4], OTHER_TYPES, strict=True)]
    for run in check(cases, Target(512, 1), Target(128, 2)):
        schedules = [each.removesuffix("_by_rows") for each in run.schedules]
        assert sorted(schedules) == ["depthwise", "elements"] + ["panels"] * 3


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", EVERY, ids=str)
def test_every_epilogue(target: Target, kind: str) -> None:
    check([behind(kind, rule) for rule in (*EPILOGUES, *OTHER_TYPES)], target)


def test_residuals_are_written_over_where_they_are_read_in_time() -> None:
    """A long epilogue runs over the stored sums, which have overwritten the residual by then."""

    def residual(kind: str, rule: Rule) -> Case:
        def case(m: Model) -> SSAValue:
            y = root(m, kind)
            other = m(ExpOp(m.input(*shape_of(y), scale=0.3)))
            return m(ReduceSumOp(rule(m, m(AddOp(other, y))), (1, 2)))

        return case

    for rule, in_place in ((EPILOGUES[0], True), (EPILOGUES[1], False)):
        for run in spread([residual(kind, rule) for kind in KINDS]):
            calls = [call for call in run.calls() if call.callee.string_value().startswith(("conv_", "matmul_"))]
            assert len(calls) == 2
            assert {call.outs[0] in call.ins for call in calls} == {in_place}


def test_a_residual_that_is_also_the_operand() -> None:
    def case(m: Model) -> SSAValue:
        x = m(ExpOp(m.input(1, 4, 4, 16, scale=0.3)))
        again = m(ReshapeOp(m(ReshapeOp(x, (16, 16))), (1, 4, 4, 16)))  # the same bytes under another name
        y = m(ConvOp(x, m.weight(16, 16, 3, 3, scale=0.1), pads=(1,) * 4, layout="NHWC"))
        return m(SoftmaxOp(m(ReluOp(m(AddOp(y, again)))), 1))

    def product(m: Model) -> SSAValue:
        x = m(ExpOp(m.input(16, 16, scale=0.3)))
        again = m(ReshapeOp(m(ReshapeOp(x, (256,))), (16, 16)))
        return m(SoftmaxOp(m(AddOp(m(MatmulOp(m.input(16, 16), x)), again)), 1))

    check([case, product], Target(512, 1), Target(256, 2))


def test_weights_read_twice() -> None:
    def both(m: Model) -> SSAValue:
        weight = m.weight(16, 16)
        return m(AddOp(m(MatmulOp(m.input(16, 16), weight)), weight))

    def filtered(m: Model) -> SSAValue:
        weight = m.weight(3, 3, 3, 3)
        return m(AddOp(m(ConvOp(m.input(3, 5, 5, 3), weight, layout="NHWC")), weight))

    def squared(m: Model) -> SSAValue:
        weight = m.weight(16, 16)
        return m(MatmulOp(m(TanhOp(weight)), m(MatmulOp(weight, weight))))

    def three_ways(m: Model) -> list[SSAValue]:
        x, weight = m.input(5, 12), m.weight(12, 12)
        first = m(MatmulOp(x, weight))
        return [first, m(MatmulOp(x, weight, transpose_b=True)), m(MatmulOp(m(ReluOp(first)), weight))]

    check([both, filtered, squared, three_ways], Target(512, 1), Target(256, 2))


@pytest.mark.thinned(2)
@pytest.mark.parametrize("axis", [1, 2, 3])
def test_parts_of_other_buffers(axis: int) -> None:
    """Results are written where a concatenation wants them, residuals are read where a slice takes them from."""

    def joined(kind: str) -> Case:
        def case(m: Model) -> SSAValue:
            parts = [root(m, kind), m(GeluOp(root(m, kind)))]
            parts.append(m(ExpOp(m.input(*shape_of(parts[0]), scale=0.3))))
            return m(SoftmaxOp(m(ConcatOp(parts, axis)), 3))

        return case

    def halved(kind: str) -> Case:
        def case(m: Model) -> SSAValue:
            y = root(m, kind)
            ends = [2 * size if i == axis else size for i, size in enumerate(shape_of(y))]
            starts = [size // 2 if i == axis else 0 for i, size in enumerate(ends)]
            wide = m(ExpOp(m.input(*ends, scale=0.3)))
            return m(GeluOp(m(AddOp(y, m(SliceOp(wide, starts, ends, [1] * 4))))))

        return case

    cases = [make(kind) for make in (joined, halved) for kind in KINDS]
    for run in spread(cases[axis % 2 :: 2]):
        assert not [name for name in run.names if name.startswith(("slice", "concat", "copy"))]


def test_unfused() -> None:
    """Without fusion each op is a kernel of its own, and the results are the same."""
    cases = [behind(kind, rule) for kind in ("conv", "matmul") for rule in EPILOGUES[:4]]
    (run,) = check(cases, Target(512, 2, fuse=False))
    assert not [name for name in run.names if name.startswith(("conv_relu", "matmul_relu", "matmul_gelu"))]
    assert {"conv_0", "gelu_0", "sigmoid_0", "matmul_0"} <= set(run.names)
