"""Layers that are run a band of rows at a time give what whole layers give, and do no more products."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from graph_runs import Model, Target, compiled, execute
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IntegerAttr
from xdsl.ir import Operation, SSAValue

from mini_infer.dialects.errors import ConfigError
from mini_infer.dialects.graph.base import GraphOp
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp
from mini_infer.dialects.graph.ops.movement import ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from mini_infer.dialects.graph.ops.reduction import ReduceMeanOp, SoftmaxOp
from mini_infer.dialects.graph.ops.unary import ReluOp
from mini_infer.dialects.graph.ops.windows import AvgPoolOp, MaxPoolOp
from mini_infer.dialects.graph.values import shape_of
from mini_infer.lowering.pipelines import parse_passes, run_passes
from mini_infer.passes.graph.streams.find_streams import find_streams
from mini_infer.passes.graph.streams.row_schedule import Progress, bands, firings
from mini_infer.passes.graph.streams.row_steps import repetitions, steps_of
from mini_infer.passes.graph.streams.split_channels import split_channels
from mini_infer.passes.graph.streams.split_streams import split_stream
from mini_infer.passes.graph.support.pattern_utils import Constants

HIGH = 61


def conv(
    m: Model,
    x: SSAValue,
    filters: int,
    kernel: int = 3,
    *,
    strides: Sequence[int] = (1, 1),
    dilations: Sequence[int] = (1, 1),
    pads: Sequence[int] = (),
    groups: int = 1,
) -> SSAValue:
    """A convolution of pictures with their channels last; padded as much as its kernel reaches by default."""
    weight = m.weight(filters, shape_of(x)[-1] // groups, kernel, kernel, scale=0.2)
    bias, pads = m.weight(filters), pads or [kernel // 2] * 4
    made = ConvOp(x, weight, bias, strides=strides, dilations=dilations, pads=pads, groups=groups, layout="NHWC")
    return m(ReluOp(m(made)))


def chain(m: Model) -> SSAValue:
    """Strides, dilations, groups and pads of their own."""
    x = m(TransposeOp(m.input(1, 3, HIGH, 9), (0, 2, 3, 1)))
    x = conv(m, x, 8, 5, strides=[2, 1])
    x = conv(m, x, 8, groups=8, dilations=[3, 1], pads=[3, 1, 1, 1])
    return conv(m, conv(m, x, 4, 1), 6, pads=[0, 1, 2, 1])


def residual(m: Model) -> SSAValue:
    """Branches of other delays that are added and concatenated."""
    x = conv(m, m.input(1, HIGH, 7, 4), 4)
    y = m(AddOp(x, conv(m, conv(m, x, 4), 4, 5)))
    y = m(ConcatOp([y, m(MaxPoolOp(y, [3, 3], pads=[1, 1, 1, 1], layout="NHWC")), conv(m, y, 2, 1)], 3))
    return conv(m, m(MulOp(y, m.weight(10))), 5)


def pools(m: Model) -> SSAValue:
    """Pools that count their pads or don't, or are rounded up; two outputs."""
    x = conv(m, m.input(1, HIGH, 10, 4), 4)
    y = m(MaxPoolOp(x, [3, 2], strides=[2, 2], ceil_mode=True, layout="NHWC"))
    y = m(AvgPoolOp(conv(m, y, 4), [3, 3], pads=[1, 1, 1, 1], layout="NHWC"))
    padded = m(AvgPoolOp(y, [2, 2], strides=[2, 2], pads=[1, 0, 1, 0], count_include_pad=True, layout="NHWC"))
    m.outputs("beside", [m(ReduceMeanOp(y, [1, 2]))])
    return conv(m, padded, 3)


def moved(m: Model) -> SSAValue:
    """Cropped, padded and enlarged pictures, whose channels go first again."""
    x = conv(m, m(SliceOp(m.input(1, HIGH, 8, 4), [0, 2, 0, 0], [1, 58, 8, 4])), 4)
    x = conv(m, m(PadOp(x, [0, 2, 1, 0], [0, 1, 0, 0], value=0.5)), 16)
    high, wide = shape_of(x)[1:3]
    x = m(TransposeOp(m(ReshapeOp(x, (1, high, wide, 2, 2, 4))), (0, 1, 3, 2, 4, 5)))
    x = conv(m, m(ReshapeOp(x, (1, 2 * high, 2 * wide, 4))), 3)
    return m(TransposeOp(x, (0, 3, 1, 2)))


def tokens(m: Model) -> SSAValue:
    """The feed-forward part of a transformer, and a table that is added to its rows."""
    x = m(AddOp(m.input(HIGH, 16), m.weight(HIGH, 16)))
    y = m(ReluOp(m(MatmulOp(x, m.weight(16, 48, scale=0.2)))))
    return m(SoftmaxOp(m(AddOp(m(MatmulOp(y, m.weight(48, 16, scale=0.2))), x)), 1))


def means(m: Model) -> SSAValue:
    """Means of many channels, behind an input that has its channels first until they go last."""
    x = m(TransposeOp(m(ReluOp(m.input(1, 5, HIGH, 8))), (0, 2, 3, 1)))
    return m(ReduceMeanOp(conv(m, conv(m, x, 4, strides=[2, 2]), 80, 1), [1, 2], keepdims=True))


CASES = [chain, residual, pools, moved, tokens, means]


def finished(case: Callable[[Model], SSAValue]) -> Model:
    """The module of a case."""
    m = Model()
    m.outputs("y", [case(m)])
    m.finish()
    return m


def products(op: Operation) -> int:
    """The multiply-adds of an op and of those within it, as often as loops run them."""
    turns = 1
    if isinstance(op, scf.ForOp):
        assert isinstance(op.ub.owner, arith.ConstantOp)
        assert isinstance(op.ub.owner.value, IntegerAttr)
        turns = op.ub.owner.value.value.data
    own = op.products if isinstance(op, GraphOp) else 0
    return own + turns * sum(products(each) for region in op.regions for block in region.blocks for each in block.ops)


@pytest.mark.parametrize("nbytes", [1, 700, 3000])
@pytest.mark.parametrize("case", CASES)
def test_bands_mean_what_whole_values_mean(case: Callable[[Model], SSAValue], nbytes: int) -> None:
    m = finished(case)
    expected = interpret(m.module, m.inputs, m.ctx.blobs, precision=np.float64)
    before = products(m.main)
    run_passes(m.ctx, m.module, parse_passes(f"stream-rows{{band={nbytes}}},dce"))
    m.module.verify()
    assert products(m.main) == before
    if nbytes == 1 and case is not moved:
        assert any(isinstance(op, scf.ForOp) for op in m.main.walk())
    found = interpret(m.module, m.inputs, m.ctx.blobs, precision=np.float64)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", CASES)
def test_rows_are_made_once_and_no_later_than_they_are_read(case: Callable[[Model], SSAValue]) -> None:
    m = finished(case)
    (stream,) = find_streams(m.main.body.block)
    progress = Progress(stream)
    for firing in firings(stream, bands(stream, 700)):
        value = firing.op.results[0]
        assert firing.start == progress.made(value) < firing.stop
        for operand, reach in stream.operands(firing.op):
            if operand in stream.made:
                assert progress.made(operand) >= min(reach.end(firing.stop), stream.rows(operand))
        progress.rows[value] = firing.stop
    assert all(progress.made(value) == stream.rows(value) for value in stream.outputs)


def test_repeated_steps_are_turns() -> None:
    m = finished(chain)
    (stream,) = find_streams(m.main.body.block)
    steps = steps_of(stream, firings(stream, bands(stream, 1)))
    turns = repetitions(stream, steps)
    assert sum(len(each.steps) * each.count for each in turns) == len(steps)
    assert max(each.count for each in turns) > 10
    assert sum(len(each.steps) for each in turns) < len(steps) / 3


def test_a_stream_is_cut_where_few_bytes_are_live() -> None:
    m = Model()
    x = conv(m, conv(m, conv(m, m.input(1, 64, 64, 4), 16), 16, 9), 1)
    m.outputs("y", [conv(m, conv(m, conv(m, x, 16), 16, 9), 4)])
    m.finish()
    (stream,) = find_streams(m.main.body.block)
    assert [len(part.ops) for part in split_stream(stream, 4096)] == [6, 6]


def test_what_comes_before_a_product_takes_its_axis() -> None:
    m = finished(means)
    (stream,) = find_streams(m.main.body.block)
    first, second = stream.ops[:2]
    assert isinstance(first, ReluOp)
    assert isinstance(second, TransposeOp)
    assert [stream.axis[op.results[0]] for op in (first, second)] == [2, 1]


@pytest.mark.parametrize(("nbytes", "groups"), [(4 * 31 * 4 * 80, 0), (4 * 31 * 4 * 79, 2), (1, 3)])
def test_channels_of_means_in_groups(nbytes: int, groups: int) -> None:
    m = finished(means)
    made = split_channels(m.main.body.block, nbytes, Constants(m.ctx.blobs))
    convolutions = [op for op in made if isinstance(op, ConvOp)]
    assert [shape_of(op.result)[3] for op in convolutions] in ([[], [], [64, 16], [32, 32, 16]][groups],)


@pytest.mark.parametrize("case", [residual, moved, means])
def test_bits_of_machine_code(case: Callable[[Model], SSAValue]) -> None:
    m, target = finished(case), Target(512, winograd="off")
    whole = execute(compiled(m, target)[0], m.inputs)
    run_passes(m.ctx, m.module, parse_passes("stream-rows{band=1500},dce"))
    for name, array in execute(compiled(m, target)[0], m.inputs).items():
        np.testing.assert_array_equal(array, whole[name])


def test_a_negative_band_is_refused() -> None:
    m = finished(tokens)
    with pytest.raises(ConfigError, match="a band of -1 bytes"):
        run_passes(m.ctx, m.module, parse_passes("stream-rows{band=-1}"))
