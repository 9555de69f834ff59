"""Boxes against what numpy says of the same views."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mini_infer.passes.geometry.boxes import Box, placed, reshaped, row_major

SIZES = st.lists(st.integers(1, 4), min_size=1, max_size=3).map(tuple)


def elements(box: Box) -> list[int]:
    """The elements that a box names, in row-major order of its indices."""
    found: list[int] = []
    for index in product(*map(range, box.sizes)):
        found.append(box.offset + sum(i * stride for i, stride in zip(index, box.strides, strict=True)))
    return found


@st.composite
def slices(draw: st.DrawFn, sizes: tuple[int, ...]) -> Box:
    """A slice of a dense buffer: a range with a step along each axis."""
    offset, kept, strides = 0, list[int](), list[int]()
    for size, stride in zip(sizes, row_major(sizes), strict=True):
        start = draw(st.integers(0, size - 1))
        step = draw(st.integers(1, 2))
        offset += start * stride
        kept.append(draw(st.integers(1, (size - start - 1) // step + 1)))
        strides.append(step * stride)
    return Box(offset, tuple(kept), tuple(strides))


@given(st.data(), SIZES)
def test_slices_of_one_buffer_overlap_where_an_element_is_in_both(data: st.DataObject, sizes: tuple[int, ...]) -> None:
    a, b = data.draw(slices(sizes)), data.draw(slices(sizes))
    share = bool(set(elements(a)) & set(elements(b)))
    if share:
        assert a.overlaps(b) and b.overlaps(a)
    steps = zip((*a.strides, *b.strides), row_major(sizes) * 2, strict=True)
    if all(stride == dense for stride, dense in steps):
        assert a.overlaps(b) == b.overlaps(a) == share, "ranges without steps are told apart exactly"


def test_parts_of_a_concatenation_share_nothing() -> None:
    left, right = Box(0, (5, 3), (8, 1)), Box(3, (5, 5), (8, 1))
    assert not left.overlaps(right) and not right.overlaps(left)
    assert left.overlaps(Box(2, (5, 2), (8, 1)))
    assert not left.in_bytes(4).overlaps(right.in_bytes(4))
    assert left.in_bytes(4).end == 4 * left.end == 4 * (4 * 8 + 3)


def test_empty_boxes_share_nothing() -> None:
    assert not Box.dense((0, 4)).overlaps(Box.dense((4,)))
    assert Box.dense((0, 4)).end == 0


@given(st.data(), SIZES, SIZES)
def test_placed_views_name_the_same_elements(
    data: st.DataObject, sizes: tuple[int, ...], margin: tuple[int, ...]
) -> None:
    outer = tuple(size + more for size, more in zip(sizes, (*margin, 0, 0), strict=False))
    home = Box(data.draw(st.integers(0, 3)), sizes, row_major(outer))
    view = data.draw(slices(sizes))
    moved = placed(view, home)
    where = elements(home)
    wanted = [where[element] for element in elements(view)]
    if moved is not None:
        assert elements(moved) == wanted
    steps = zip(view.strides, row_major(sizes), strict=True)
    if all(stride == dense for stride, dense in steps):
        assert moved is not None, "a range of a box is always a box"


@given(st.data(), SIZES)
def test_reshaped_agrees_with_numpy(data: st.DataObject, sizes: tuple[int, ...]) -> None:
    box = data.draw(slices(sizes))
    count = box.count
    divisors = [n for n in range(1, count + 1) if count % n == 0]
    rows = data.draw(st.sampled_from(divisors))
    new = reshaped(box, (rows, count // rows))
    if new is not None:
        assert elements(new) == elements(box)
    line = np.zeros(int(np.prod(sizes)), np.int8)
    view = np.lib.stride_tricks.as_strided(line[box.offset :], box.sizes, box.strides)
    numpy_copies = not np.shares_memory(view.reshape(rows, count // rows), line)
    assert (new is None) == numpy_copies


def test_rows_and_density() -> None:
    assert Box.dense((2, 3), 5).is_dense
    assert Box(0, (2, 1, 3), (3, 99, 1)).is_dense, "the stride of one row doesn't matter"
    assert not Box(0, (2, 3), (4, 1)).is_dense
    assert Box(0, (2, 3), (4, 1)).rows_are_dense
    assert not Box(0, (2, 3), (6, 2)).rows_are_dense
    assert Box(0, (2, 1), (6, 2)).rows_are_dense
    assert Box(0, (4, 3), (3, 1)).dims == ((12, 1),)
