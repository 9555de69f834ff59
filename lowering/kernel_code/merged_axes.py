"""Merging of axes that all buffers traverse contiguously, and strides of images."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from .loop_builder import memref_type, strides_of


def collapse(sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[list[int], list[list[int]]]:
    """Merges adjacent dimensions across which every operand is contiguous.

    `strides` has one list per operand. Dimensions of size 1 are dropped; at least one dimension is left.
    """
    merged: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis, size in enumerate(sizes):
        if size == 1:
            continue
        if merged and all(row[-1] == given[axis] * size for row, given in zip(steps, strides, strict=True)):
            merged[-1] *= size
            for row, given in zip(steps, strides, strict=True):
                row[-1] = given[axis]
            continue
        merged.append(size)
        for row, given in zip(steps, strides, strict=True):
            row.append(given[axis])
    if not merged:
        return [1], [[0] for _ in strides]
    return merged, steps


def picture_strides(buffer: SSAValue) -> tuple[int, int, int]:
    """Strides of [image, row, column] of a channels-last buffer; a one-dimensional image has a single row."""
    strides = strides_of(memref_type(buffer))
    return (strides[0], strides[1], strides[2]) if len(strides) == 4 else (strides[0], 0, strides[1])
