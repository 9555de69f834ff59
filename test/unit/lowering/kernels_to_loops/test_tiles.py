"""Cutting rows of pixels into tiles, and merging dimensions: every pixel once, every tap where its input is."""

from __future__ import annotations

from itertools import product as box

import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.ir import Block

from mini_infer.lowering.kernel_code.loop_builder import Index, LoopBuilder
from mini_infer.lowering.kernel_code.merged_axes import collapse
from mini_infer.lowering.kernels_to_loops.tiles.tile_classes import (
    TileClass,
    classes_of_few_sizes,
    split,
    tile_classes,
)

BUILDER = LoopBuilder(Block())
SMALL = st.integers(1, 6)


@given(total=st.integers(0, 400), largest=st.integers(1, 20))
def test_split_into_few_and_nearly_equal_parts(total: int, largest: int) -> None:
    parts = split(total, largest)
    assert sum(parts) == total
    assert len(parts) == -(-total // largest)
    assert not parts or (max(parts) <= largest and max(parts) - min(parts) <= 1)


def number(known: Index) -> int:
    """A number that was known when the tiles were cut."""
    assert isinstance(known, int)
    return known


def pixels_of(classes: list[TileClass]) -> list[tuple[int, TileClass, int]]:
    """(pixel of the row, its tile's class, pixel of the tile), in the order of the tiles."""
    return [
        (number(c.start) + tile * c.rows + pixel, c, pixel)
        for c in classes
        for tile in range(number(c.count))
        for pixel in range(c.rows)
    ]


@given(
    pixels=st.integers(1, 60),
    largest=st.integers(1, 14),
    taps=SMALL,
    stride=st.integers(1, 4),
    pad=st.integers(0, 9),
    dilation=st.integers(1, 3),
    width=st.integers(1, 60),
)
def test_taps_are_told_apart_at_the_borders(
    pixels: int, largest: int, taps: int, stride: int, pad: int, dilation: int, width: int
) -> None:
    classes = tile_classes(BUILDER, pixels, largest, taps, stride, pad, dilation, width)
    placed = pixels_of(classes)
    assert [pixel for pixel, _, _ in placed] == list(range(pixels))
    assert [c.first for c in classes] == [sum(number(c.count) for c in classes[:i]) for i in range(len(classes))]
    for pixel, tile, row in placed:
        inside = [0 <= pixel * stride - pad + tap * dilation < width for tap in range(taps)]
        assert [low <= row < high for low, high in tile.taps] == inside
        assert tile.whole or not all(all(low <= r < high for low, high in tile.taps) for r in range(tile.rows))


def test_tiles_in_the_middle_share_a_class() -> None:
    # 56 pixels are 4 tiles of 14, and a filter of 3 reaches outside of the first and the last one.
    first, middle, last = tile_classes(BUILDER, 56, 14, taps=3, pad=1, width=56)
    assert first == TileClass(0, 1, 0, 14, ((1, 14), (0, 14), (0, 14)))
    assert middle == TileClass(1, 2, 14, 14, ((0, 14),) * 3)
    assert last == TileClass(3, 1, 42, 14, ((0, 14), (0, 14), (0, 13)))
    # Without borders equal tiles are one class, whatever the taps.
    assert tile_classes(BUILDER, 30, 14, taps=3) == [TileClass(0, 3, 0, 10, ((0, 10),) * 3)]
    assert tile_classes(BUILDER, 0, 14) == []


@given(count=st.integers(0, 60), largest=st.integers(1, 14))
def test_a_number_of_run_time_is_tiles_of_few_sizes(count: int, largest: int) -> None:
    classes = classes_of_few_sizes(BUILDER, count, largest)
    assert [pixel for pixel, _, _ in pixels_of(classes)] == list(range(count))
    assert [c.first for c in classes] == [sum(number(c.count) for c in classes[:i]) for i in range(len(classes))]
    assert all(c.whole and c.rows <= largest for c in classes)
    assert all(number(c.count) <= 1 for c in classes[1:])
    assert [c.rows for c in classes][:2] in ([1], [largest, -(-largest // 2)])


@given(st.data())
def test_collapsed_dimensions_reach_the_same_elements(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    row = st.lists(st.sampled_from([0, 1, 2, 3, 6, 12]), min_size=len(sizes), max_size=len(sizes))
    strides = data.draw(st.lists(row, min_size=1, max_size=3))
    merged, steps = collapse(sizes, strides)
    assert 1 not in merged or merged == [1]
    for given_steps, new_steps in zip(strides, steps, strict=True):
        assert _offsets(merged, new_steps) == _offsets(sizes, given_steps)


def _offsets(sizes: list[int], strides: list[int]) -> list[int]:
    return [sum(i * s for i, s in zip(index, strides, strict=True)) for index in box(*map(range, sizes))]


@pytest.mark.parametrize(
    ("sizes", "strides", "merged"),
    [
        ([2, 3, 4], [[12, 4, 1]], [24]),
        ([2, 3, 4], [[12, 4, 1], [0, 0, 1]], [6, 4]),  # the second operand repeats along the outer two
        ([2, 3, 4], [[24, 4, 1]], [2, 12]),  # a part of a larger buffer
        ([1, 5, 1], [[7, 2, 9]], [5]),
        ([1, 1], [[3, 4]], [1]),
    ],
)
def test_what_collapses(sizes: list[int], strides: list[list[int]], merged: list[int]) -> None:
    assert collapse(sizes, strides)[0] == merged
