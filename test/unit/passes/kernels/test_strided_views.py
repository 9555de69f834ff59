"""Chains of views as one strided window, compared with numpy, which makes the same decisions about copies."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest
from graph_runs import Model
from hypothesis import given
from hypothesis import strategies as st
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.base import GraphOp
from mini_infer.dialects.graph.ops.movement import BroadcastToOp, ReshapeOp, SliceOp, TransposeOp
from mini_infer.dialects.graph.ops.unary import ReluOp
from mini_infer.dialects.graph.values import Array, shape_of
from mini_infer.passes.geometry.boxes import Box, reshaped
from mini_infer.passes.geometry.strided_views import strided_view

Chain = list[tuple[SSAValue, Array]]


def read(base: Array, value: SSAValue, stop: SSAValue | None = None) -> Array:
    """What the window behind `value` sees in the array that is its base."""
    view = strided_view(value, stop)
    flat = np.ascontiguousarray(base).reshape(-1)[view.offset :]
    return np.lib.stride_tricks.as_strided(flat, view.sizes, [stride * base.itemsize for stride in view.strides])


def chain_of(ops: list[GraphOp], x: SSAValue, array: Array) -> Chain:
    """An input and the results of ops one after the other, each with its array."""
    chain = [(x, array)]
    for op in ops:
        chain.append((op.results[0], op.evaluate(chain[-1][1])[0]))
    return chain


@st.composite
def chains(draw: st.DrawFn) -> Chain:
    m = Model()
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    array = np.arange(prod(sizes), dtype=np.float32).reshape(sizes)
    x = value = m.input(data=array)
    ops: list[GraphOp] = []
    for kind in draw(st.lists(st.sampled_from("rrttsb"), max_size=4)):
        shape = shape_of(value)
        match kind:
            case "r":
                mixed = draw(st.permutations(shape))
                ops.append(ReshapeOp(value, draw(st.sampled_from([mixed, [mixed[0], prod(mixed[1:])]]))))
            case "t":
                ops.append(TransposeOp(value, draw(st.permutations(range(len(shape))))))
            case "s":
                starts, stops, steps = zip(*(draw(cuts(size)) for size in shape), strict=True)
                ops.append(SliceOp(value, starts, stops, steps))
            case _:
                ops.append(BroadcastToOp(value, (draw(st.integers(1, 3)), *shape)))
        value = ops[-1].results[0]
    return chain_of(ops, x, array)


@st.composite
def cuts(draw: st.DrawFn, size: int) -> tuple[int, int, int]:
    """A start, stop and step that take at least one element."""
    low, high = sorted((draw(st.integers(0, size - 1)), draw(st.integers(0, size - 1))))
    step = draw(st.integers(1, 2))
    return (high, low - 1, -step) if draw(st.booleans()) else (low, high + 1, step)


@given(chains())
def test_a_window_sees_what_its_ops_mean(chain: Chain) -> None:
    value, expected = chain[-1]
    base = strided_view(value).base
    (start,) = [array for known, array in chain if known is base]
    np.testing.assert_array_equal(read(start, value), expected)


@given(chains(), st.data())
def test_a_window_goes_back_no_further_than_told(chain: Chain, data: st.DataObject) -> None:
    stop, array = data.draw(st.sampled_from(chain))
    value, expected = chain[-1]
    if strided_view(value, stop).base is stop:
        np.testing.assert_array_equal(read(array, value, stop), expected)
    else:
        assert strided_view(value, stop).base is strided_view(value).base


@given(chains(), st.data())
def test_a_reshape_is_a_window_where_numpy_needs_no_copy(chain: Chain, data: st.DataObject) -> None:
    value, expected = chain[-1]
    view = strided_view(value)
    (start,) = [array for known, array in chain if known is view.base]
    seen = read(start, value)
    shape = data.draw(st.permutations(expected.shape))
    box = reshaped(Box(view.offset, view.sizes, view.strides), shape)
    assert (box is not None) == np.shares_memory(seen, seen.reshape(shape))


def test_what_is_no_view_is_its_own_window() -> None:
    m = Model()
    x = m.input(2, 3)
    y = m(ReluOp(m(TransposeOp(x, (1, 0)))))
    view = strided_view(y)
    assert (view.base, view.offset, view.sizes, view.strides) == (y, 0, (3, 2), (2, 1))


@pytest.mark.parametrize(
    ("sizes", "strides", "shape", "expected"),
    [
        ((6, 4), (4, 1), (2, 3, 4), (12, 4, 1)),
        ((6, 4), (8, 1), (2, 3, 4), (24, 8, 1)),  # half of each row of 8
        ((6, 4), (8, 1), (24,), None),  # rows don't follow each other
        ((4, 6), (1, 4), (24,), None),  # transposed
        ((3, 1, 4), (4, 99, 1), (12,), (1,)),  # the stride of a single element says nothing
        ((1, 4), (4, 1), (4, 1, 1), (1, 1, 1)),  # and becomes what a dense box has
        ((0, 4), (4, 1), (2, 0), (0, 1)),
        ((2, 6), (0, 1), (2, 2, 3), (0, 3, 1)),  # broadcast
        ((2, 6), (6, -1), (2, 2, 3), (6, -3, -1)),  # backwards
    ],
)
def test_reshaped_strides(
    sizes: tuple[int, ...], strides: tuple[int, ...], shape: tuple[int, ...], expected: tuple[int, ...] | None
) -> None:
    box = reshaped(Box(5, sizes, strides), shape)
    assert box == (None if expected is None else Box(5, shape, expected))
