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
from mini_infer.dialects.graph.ops.attention import AttentionOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp
from mini_infer.dialects.graph.ops.indexing import ScatterNdOp
from mini_infer.dialects.graph.ops.movement import ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from mini_infer.dialects.graph.ops.reduction import ReduceMeanOp, SoftmaxOp
from mini_infer.dialects.graph.ops.resize import ResizeOp
from mini_infer.dialects.graph.ops.rows import ExtractRowsOp, InsertRowsOp
from mini_infer.dialects.graph.ops.unary import NegOp, ReluOp
from mini_infer.dialects.graph.ops.windows import AvgPoolOp, MaxPoolOp
from mini_infer.dialects.graph.values import shape_of
from mini_infer.lowering.pipelines import parse_passes, run_passes
from mini_infer.passes.graph.streams.find_streams import find_streams
from mini_infer.passes.graph.streams.row_schedule import Progress, bands, firings, live_bytes
from mini_infer.passes.graph.streams.row_steps import repetitions, steps_of
from mini_infer.passes.graph.streams.split_channels import split_channels
from mini_infer.passes.graph.streams.split_heads import split_heads
from mini_infer.passes.graph.streams.split_streams import split_stream
from mini_infer.passes.graph.support.pattern_utils import Constants
from mini_infer.passes.memory.report.memory_report import memory_plan

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


def projected(m: Model, x: SSAValue, *heads: int) -> list[SSAValue]:
    """Queries, keys and so on of one product, in so many heads of 8 each: [1, heads, tokens, 8]."""
    y = m(AddOp(m(MatmulOp(x, m.weight(16, 8 * sum(heads), scale=0.2))), m.weight(8 * sum(heads))))
    found: list[SSAValue] = []
    for place, count in enumerate(heads):
        start = 8 * sum(heads[:place])
        part = m(SliceOp(y, [0, 0, start], [1, HIGH, start + 8 * count]))
        found.append(m(TransposeOp(m(ReshapeOp(part, (1, HIGH, count, 8))), (0, 2, 1, 3))))
    return found


def transformer(m: Model) -> SSAValue:
    """A layer with four heads, and the feed-forward part behind it, with what goes around both."""
    x = m(ReluOp(m.input(1, HIGH, 16)))
    y = m(AttentionOp(*projected(m, x, 4, 4, 4), scale=0.4))
    y = m(ReshapeOp(m(TransposeOp(y, (0, 2, 1, 3))), (1, HIGH, 32)))
    x = m(AddOp(x, m(MatmulOp(y, m.weight(32, 16, scale=0.2)))))
    y = m(ReluOp(m(MatmulOp(x, m.weight(16, 48, scale=0.2)))))
    return m(ReshapeOp(m(AddOp(x, m(MatmulOp(y, m.weight(48, 16, scale=0.2))))), (HIGH, 16)))


def shared_heads(m: Model) -> SSAValue:
    """Keys and values that three heads share, of which keys are an output too."""
    x = m.input(1, HIGH, 16)
    (query,), (key, value) = projected(m, x, 6), projected(m, x, 2, 2)
    m.outputs("beside", [key])
    return m(AttentionOp(query, key, value, m.weight(1, 1, HIGH, HIGH), scale=0.4, causal=True))


def waits(m: Model) -> SSAValue:
    """A picture that waits for what is computed from it at half its size, with windows of many rows."""
    x = conv(m, m.input(1, 128, 6, 4), 4)
    y = m(MaxPoolOp(x, [2, 2], strides=[2, 2], layout="NHWC"))
    y = conv(m, conv(m, y, 4, 7), 16, 7)
    y = m(TransposeOp(m(ReshapeOp(y, (1, 64, 3, 2, 2, 4))), (0, 1, 3, 2, 4, 5)))
    return conv(m, m(ConcatOp([x, m(ReshapeOp(y, (1, 128, 6, 4)))], 3)), 3, 1)


CASES = [chain, residual, pools, moved, tokens, means, waits]


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
@pytest.mark.parametrize("case", [*CASES, transformer, shared_heads])
def test_bands_mean_what_whole_values_mean(case: Callable[[Model], SSAValue], nbytes: int) -> None:
    m = finished(case)
    expected = interpret(m.module, m.inputs, m.ctx.blobs, precision=np.float64)
    before = products(m.main)
    run_passes(m.ctx, m.module, parse_passes(f"stream-rows{{band={nbytes}}},dce"))
    m.module.verify()
    assert products(m.main) == before
    if nbytes == 1 and case not in (moved, shared_heads):
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


@pytest.mark.parametrize(("kernel", "filters", "rows"), [(1, 16, 2), (1, 2, 1), (3, 16, 1)])
def test_smaller_rows_wait_for_a_stride(kernel: int, filters: int, rows: int) -> None:
    """A band is made taller for the stride of what reads it only if it is made of rows of fewer bytes, one of each."""
    m = Model()
    wide = conv(m, conv(m, m.input(1, HIGH, 9, 4), 4), filters, kernel)
    m.outputs("y", [conv(m, wide, 4, strides=[2, 2])])
    m.finish()
    (stream,) = find_streams(m.main.body.block)
    assert bands(stream, 1)[wide] == rows


def test_the_estimate_of_live_bytes_counts_what_rows_take() -> None:
    """Of each convolution's three rows two are kept; those of the last are not read."""
    m = Model()
    x = conv(m, m.input(1, 64, 8, 4), 4)
    m.outputs("y", [conv(m, conv(m, x, 4), 4)])
    m.finish()
    (stream,) = find_streams(m.main.body.block)
    row = 8 * 4 * 4
    assert live_bytes(stream, bands(stream, row)) == (2 + 2) * row + (3 + 3) * row


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


@pytest.mark.parametrize(
    ("case", "heads", "groups"),
    [
        (transformer, 4, []),
        (transformer, 3, [2, 2]),
        (transformer, 0, [1, 1, 1, 1]),
        (shared_heads, 3, [3, 3]),
        (shared_heads, 10, []),
    ],
)
def test_heads_in_groups(case: Callable[[Model], SSAValue], heads: int, groups: list[int]) -> None:
    m = finished(case)
    made = split_heads(m.main.body.block, 4 * HIGH * 8 * 3 * heads, Constants(m.ctx.blobs))
    found = [shape_of(op.result)[1] for op in m.main.body.block.ops if isinstance(op, AttentionOp) and op in made]
    assert found == (groups or [6 if case is shared_heads else 4])
    made_columns = [shape_of(op.result)[2] for op in made if isinstance(op, MatmulOp)]
    assert not groups or max(made_columns) == 8 * max(groups), "products are of those heads alone"


def test_heads_that_no_product_makes_stay() -> None:
    m = Model()
    m.outputs("y", [m(AttentionOp(*(m.input(1, 4, HIGH, 8) for _ in range(3)), scale=0.4))])
    m.finish()
    assert not split_heads(m.main.body.block, 1, Constants(m.ctx.blobs))


def carried(m: Model) -> SSAValue:
    """Tokens that are added to what is computed of them."""
    x = m(SoftmaxOp(m.input(HIGH, 16), 0))
    return m(AddOp(m(MatmulOp(m(ReluOp(m(MatmulOp(x, m.weight(16, 16))))), m.weight(16, 16))), x))


def carried_and_read(m: Model) -> SSAValue:
    """Tokens that are read again."""
    y = carried(m)
    m.outputs("again", [m(NegOp(softmax_of(m)))])
    return y


def carried_windows(m: Model) -> SSAValue:
    """Pictures of which a window reads a row again when that row has been made."""
    x = m(SoftmaxOp(m.input(1, HIGH, 7, 4), 1))
    return conv(m, x, 4)


def softmax_of(m: Model) -> SSAValue:
    """What comes before a stream, since it needs all rows."""
    return next(op for op in m.main.body.block.ops if isinstance(op, SoftmaxOp)).result


@pytest.mark.parametrize("nbytes", [1, 300])
@pytest.mark.parametrize(("case", "there"), [(carried, True), (carried_and_read, False), (carried_windows, False)])
def test_an_output_lies_where_what_was_read_for_the_last_time_did(
    case: Callable[[Model], SSAValue], there: bool, nbytes: int
) -> None:
    m = finished(case)
    x = softmax_of(m)
    run_passes(m.ctx, m.module, parse_passes(f"stream-rows{{band={nbytes}}}"))
    assert any(isinstance(use.operation, scf.ForOp | ScatterNdOp) for use in x.uses) == there


def test_no_stream_begins_with_rows_of_a_weight() -> None:
    m = Model()
    x = m(MatmulOp(m.input(1, 16), m.weight(16, 96)))
    m.outputs("y", [m(MatmulOp(m(ReluOp(x)), m.weight(96, 16)))])
    m.finish()
    assert not find_streams(m.main.body.block)


def test_rows_that_wait_lie_in_a_ring() -> None:
    m = finished(waits)
    run_passes(m.ctx, m.module, parse_passes("stream-rows{band=700},dce"))
    remainders = [op for op in m.main.walk() if isinstance(op, arith.RemSIOp)]
    rings = {use.operation for op in remainders for use in op.result.uses}
    assert {type(op) for op in rings} == {InsertRowsOp, ExtractRowsOp}


def test_a_plan_tells_the_rows_that_turns_write_of_an_output() -> None:
    m = finished(chain)
    run_passes(m.ctx, m.module, parse_passes("stream-rows{band=1},dce"))
    _, module = compiled(m, Target(512, winograd="off"))
    run_passes(m.ctx, module, parse_passes("plan-arena,verify-arena"))
    plan = memory_plan(module)
    (output,) = (tensor for tensor in plan.tensors if tensor.role == "output")
    rows = [tensor for tensor in plan.tensors if tensor.name.startswith(f"rows of {output.name}")]
    assert rows
    assert all(tensor.persistent and output.birth <= tensor.birth for tensor in rows)
    assert sum(tensor.bytes for tensor in rows) < output.bytes


@pytest.mark.parametrize(
    ("case", "threads"), [(residual, 1), (moved, 1), (means, 1), (transformer, 1), (waits, 1), (waits, 2)]
)
def test_bits_of_machine_code(case: Callable[[Model], SSAValue], threads: int) -> None:
    m, target = finished(case), Target(512, winograd="off", threads=threads)
    whole = execute(compiled(m, target)[0], m.inputs)
    run_passes(m.ctx, m.module, parse_passes("stream-rows{band=1500},dce"))
    for name, array in execute(compiled(m, target)[0], m.inputs).items():
        np.testing.assert_array_equal(array, whole[name])


def uneven(m: Model) -> SSAValue:
    """Rows of 25 that are read for bands of 50 from places 3.9 rows apart, which no loop has."""
    x = m(ResizeOp(m.input(1, 25, 9, 6), [1, 50, 9, 6], coordinate="align_corners"))
    return m(MaxPoolOp(x, [1, 1], layout="NHWC"))


def test_places_of_turns_that_are_no_whole_rows_apart() -> None:
    m = finished(uneven)
    expected = interpret(m.module, m.inputs, m.ctx.blobs)
    run_passes(m.ctx, m.module, parse_passes("stream-rows{band=3000},dce"))
    found = interpret(m.module, m.inputs, m.ctx.blobs)
    np.testing.assert_array_equal(found["y.0"], expected["y.0"])


def test_a_negative_band_is_refused() -> None:
    m = finished(tokens)
    with pytest.raises(ConfigError, match="a band of -1 bytes"):
        run_passes(m.ctx, m.module, parse_passes("stream-rows{band=-1}"))
