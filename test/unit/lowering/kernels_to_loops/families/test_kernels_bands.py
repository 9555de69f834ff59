"""A convolution, a depthwise one and perhaps a pointwise one, a band of rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from depthwise_cases import Four, Pair, excited, filtered
from graph_runs import EVERY, THREE, Case, Model, Target, build, check, compiled, schedule_of
from xdsl.dialects.builtin import bf16, f32
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.activation import ClipOp, GeluOp
from mini_infer.dialects.graph.ops.contraction import ConvOp
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp
from mini_infer.dialects.graph.ops.unary import ReluOp, TanhOp
from mini_infer.dialects.graph.values import Array, shape_of
from mini_infer.dialects.kernel.targets import CpuAttr, GpuAttr
from mini_infer.passes.kernels.fusion import form_groups
from mini_infer.passes.kernels.schedules import fusion_rules

Rule = Callable[[Model, SSAValue], SSAValue]
L2 = 40 << 10  # bytes: small, so that small pictures are large


def conv(
    m: Model, x: SSAValue, filters: int, kernel: int = 1, stride: int = 1, pad: int = 0, groups: int = 1
) -> SSAValue:
    weight = m.weight(filters, shape_of(x)[-1] // groups, kernel, kernel, scale=0.3)
    window: dict[str, Any] = {"strides": (stride, stride), "pads": (pad,) * 4, "groups": groups}
    return m(ConvOp(x, weight, m.weight(filters), **window, layout="NHWC"))


def clipped(m: Model, x: SSAValue) -> SSAValue:
    return m(ClipOp(x, min=0.0, max=6.0))


def scaled(m: Model, x: SSAValue) -> SSAValue:
    """Operands of every kind of broadcast."""
    _, height, width, channels = shape_of(x)
    y = m(MulOp(m(AddOp(x, m.input(channels))), m.input(height, 1, 1)))
    return m(ReluOp(m(AddOp(y, m.input(width, 1)))))


def plain(m: Model, x: SSAValue) -> SSAValue:
    return x


def gelu(m: Model, x: SSAValue) -> SSAValue:
    return m(GeluOp(x))


def chain(
    shape: Four,
    filters: int,
    kernel: Pair = (3, 3),
    strides: Pair = (1, 1),
    pads: Four | None = None,
    dilations: Pair = (1, 1),
    *,
    first: Sequence[int] = (1, 1, 0),
    project: int = 0,
    residual: bool = False,
    rules: tuple[Rule, Rule, Rule] = (clipped, clipped, plain),
) -> Case:
    """A convolution with a (kernel, stride, pad), a depthwise one, and one to `project` filters if that is not 0."""

    def case(m: Model) -> SSAValue:
        x = m.input(*shape)
        y = rules[0](m, conv(m, x, filters, *first))
        y = rules[1](m, filtered(m, y, kernel, strides, pads, dilations))
        if project:
            y = rules[2](m, conv(m, y, project))
        return m(AddOp(y, x)) if residual else y

    return case


CHAINS = [
    chain((1, 20, 20, 4), 24, project=8),
    chain((1, 16, 14, 8), 40, project=8, residual=True),
    chain((1, 21, 19, 4), 37, strides=(2, 2), project=5),
    chain((2, 20, 20, 4), 24, (5, 5), strides=(2, 2)),
    chain((2, 19, 20, 3), 33, (5, 5), project=8, rules=(gelu, gelu, gelu)),
    chain((1, 45, 30, 3), 20, first=(3, 2, 1), project=31),
    chain((1, 40, 24, 2), 20, (3, 1), (3, 1), (0, 1, 1, 0), project=4),
    chain((1, 18, 28, 4), 24, (3, 3), (1, 2), (4, 0, 5, 3), (2, 1), project=6),
    chain((1, 30, 20, 4), 24, (1, 1), (2, 2), project=6),
    chain((3, 12, 14, 4), 24, project=8, rules=(scaled, scaled, scaled)),
    chain((1, 60, 3, 4), 64, (2, 2), pads=(0, 0, 0, 0), project=3, rules=(plain, plain, plain)),
    chain((1, 60, 10, 4), 40, (7, 7), project=3),
    chain((1, 30, 16, 4), 30, (3, 3), pads=(9, 1, 9, 1), project=3),
]


def in_pairs(m: Model) -> SSAValue:
    """Products of bf16: a convolution, and one that reads what a depthwise one makes, which bf16 has exactly."""

    def integers(*shape: int, dtype: Any = ml_dtypes.bfloat16) -> Array:
        return np.sign(m.random(*shape)).astype(dtype)

    def conv(x: SSAValue, weight: SSAValue, groups: int = 1, pad: int = 1) -> SSAValue:
        sums = f32 if groups == 1 else None
        return m(ConvOp(x, weight, pads=(pad,) * 4, groups=groups, layout="NHWC", sums=sums))

    y = m(ReluOp(conv(m.input(data=integers(1, 21, 20, 3)), m.weight(data=integers(24, 3, 3, 3)))))
    y = conv(y, m.weight(data=integers(24, 1, 3, 3, dtype=np.float32)), 24)
    y = m(CastOp(m(ReluOp(y)), bf16, flush=True))
    return m(AddOp(conv(y, m.weight(7, 24, 1, 1, dtype=ml_dtypes.bfloat16), pad=0), m.input(1, 21, 20, 7)))


def rounded_first(m: Model) -> SSAValue:
    """A pointwise convolution between a rounding and a depthwise one."""
    x = m(CastOp(m.input(data=np.sign(m.random(1, 20, 20, 4)).astype(np.float32)), bf16, flush=True))
    weight = m.weight(24, 4, 1, 1, dtype=ml_dtypes.bfloat16)
    y = m(ReluOp(m(ConvOp(x, weight, layout="NHWC", sums=f32))))
    return m(ConvOp(y, m.weight(24, 1, 3, 3), pads=(1,) * 4, groups=24, layout="NHWC"))


@pytest.mark.parametrize("target", [Target(512, 1, L2), Target(128, 3, L2)], ids=str)
def test_products_of_bf16(target: Target) -> None:
    """A rounding in front of them is a kernel of its own, not a prologue."""
    (run,) = check([in_pairs, rounded_first], target)
    assert sorted(run.schedules) == ["bands", "bands", "elements"]


def small(target: Target) -> Target:
    return replace(target, l2=L2)


@pytest.mark.thinned(2)
@pytest.mark.parametrize("target", [small(target) for target in THREE], ids=str)
def test_bands(target: Target) -> None:
    (run,) = check(CHAINS[THREE.index(replace(target, l2=0)) :: 3], target)
    assert set(run.schedules) == {"bands"}


@pytest.mark.slow
@pytest.mark.parametrize("target", [small(target) for target in EVERY], ids=str)
def test_bands_on_every_target(target: Target) -> None:
    (run,) = check(CHAINS, target)
    assert set(run.schedules) == {"bands"}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("target", [Target(128, 3, L2), Target(512, 1, L2)], ids=str)
def test_sums_have_the_same_order(target: Target) -> None:
    """Bit for bit what the kernels give by themselves."""
    cases = CHAINS[1:6:2]
    m = build(cases)
    whole, parts = (compiled(m, each)[0] for each in (target, replace(target, l2=0)))
    assert len(whole.calls) == len(cases) < len(parts.calls)
    for one, other in zip(*(plan.create_execution_context().run(m.inputs) for plan in (whole, parts)), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("target", [Target(128, 3, L2), Target(512, 1, L2)], ids=str)
def test_means_of_pictures(target: Target) -> None:
    """Those of rows are made with a depthwise convolution that is the last."""
    (run,) = check([excited(chain((2, 20, 20, 4), 24)), excited(chain((1, 21, 19, 4), 37, strides=(2, 2)))], target)
    assert run.schedules == ["bands", "rows", "elements"] * 2
    assert run.names[0] == "conv_reduce_mean_0"


def test_bands_get_shorter_for_threads() -> None:
    case = chain((1, 60, 8, 4), 24, project=8)
    bands = [
        schedule_of(run.kernel("conv_conv_0")).numbers()["band"]
        for run in check([case], *(Target(256, threads, L2) for threads in (1, 10)))
    ]
    assert bands[0] > bands[1] == 6


def read_twice(m: Model) -> list[SSAValue]:
    x = conv(m, m.input(1, 20, 20, 4), 24)
    return [filtered(m, x, (3, 3)), m(TanhOp(x))]


def depthwise_read_twice(m: Model) -> list[SSAValue]:
    x = filtered(m, conv(m, m.input(1, 20, 20, 4), 24), (3, 3))
    return [conv(m, x, 4), m(TanhOp(x))]


def of_groups(m: Model) -> SSAValue:
    return filtered(m, conv(m, m.input(1, 20, 20, 4), 24, groups=2), (3, 3))


def strided_behind(m: Model) -> SSAValue:
    return conv(m, filtered(m, conv(m, m.input(1, 20, 20, 4), 24), (3, 3)), 4, stride=2)


def several_filters(m: Model) -> SSAValue:
    return filtered(m, conv(m, m.input(1, 20, 20, 4), 24), (3, 3), each=2)


@pytest.mark.parametrize(
    ("case", "forms"),
    [
        (CHAINS[0], ["separable"]),
        (read_twice, ["contraction", "contraction", "map"]),
        (depthwise_read_twice, ["separable", "contraction", "map"]),
        (of_groups, ["contraction", "contraction"]),
        (strided_behind, ["separable", "contraction"]),
        (several_filters, ["contraction", "contraction"]),
        (chain((1, 16, 16, 8), 32, project=8), ["contraction"] * 3),  # 40 KB in all
        (chain((1, 4, 60, 8), 40, project=8), ["contraction"] * 3),  # 5 rows are 47 KB
        (chain((1, 20, 20, 17), 40, project=8), ["contraction"] * 3),  # 2720 bytes of weights
        (chain((1, 20, 20, 8), 40, project=17), ["separable", "contraction"]),
    ],
)
def test_what_is_done_together(case: Case, forms: list[str]) -> None:
    block = build([case]).main.body.block
    assert [group.form for group in form_groups(block, fusion_rules(CpuAttr.of(l2=L2)))] == forms
    assert "separable" not in {group.form for group in form_groups(block, fusion_rules(GpuAttr.of()))}
