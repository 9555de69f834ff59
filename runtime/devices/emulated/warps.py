"""Warp-level operations of the 32 lanes: shuffles and matrix multiply-accumulate."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from xdsl.ir import Operation

from ....dialects.gpu.nvgpu import LdMatrixOp
from ....dialects.graph.packing.packings import rounded_to_tf32
from ....dialects.kernel.targets import GpuAttr
from ...device import Array
from .batch import Batch, active
from .memory import Site
from .thread_values import Mask, Value, broadcast_to, split, varies, where

WARP = GpuAttr.WARP
_TF32 = np.uint32(0xFFFFE000)  # the bits of an f32 that a tensor core reads


def whole_warps(batch: Batch, op: Operation, mask: Mask) -> None:
    """Raises KernelError unless all or none of each warp's threads are active."""
    if batch.threads % WARP:
        batch.fail(op, f"a block of {batch.threads} threads has an incomplete warp", mask)
    if isinstance(mask, bool):
        return
    each = broadcast_to(mask, (len(mask), batch.threads)).reshape(len(mask), -1, WARP)
    alone = broadcast_to((each != each[..., :1]).any(axis=-1, keepdims=True), each.shape)
    bad = active(alone.reshape(len(mask), -1), mask)
    if bad is not None:
        batch.fail(op, "some threads of the warp take no part", bad)


def shuffle(
    batch: Batch, op: Operation, mode: str, value: Value, offset: Value, width: Value, mask: Mask, checked: bool
) -> tuple[Value, Value]:
    """gpu.shuffle"""
    if checked:
        whole_warps(batch, op, mask)
    lane = (np.arange(batch.threads) % WARP)[None]
    offset, width = (each.astype(np.int64) for each in (offset, width))
    if checked and np.any((width <= 0) | (width > WARP) | (width & (width - 1) != 0)):
        batch.fail(op, "the width {width} is no power of two up to 32", mask, width=width)
    group = lane - lane % width
    wanted = {
        "xor": lambda: lane ^ offset,
        "up": lambda: lane - offset,
        "down": lambda: lane + offset,
        "idx": lambda: group + offset,
    }[mode]()
    valid = (wanted >= group) & (wanted < group + width)
    if not varies(value) or value.shape[1] == 1:
        return value, valid
    source = where(valid, wanted, lane) + (np.arange(batch.threads) // WARP * WARP)
    if len(source) == 1:
        return value.take(source[0], axis=1), valid
    rows = max(len(source), len(value))
    whole = broadcast_to(value, (rows, batch.threads))
    return np.take_along_axis(whole, broadcast_to(source, whole.shape), axis=1), valid


def load_matrices(batch: Batch, row: Site, load: Callable[[Mask], Value], mask: Mask, checked: bool) -> Value:
    """nvgpu.ldmatrix: loads the row that each lane points to, and hands out its elements."""
    op = cast("LdMatrixOp", row.op)
    if checked:
        whole_warps(batch, op, mask)
    tiles, count = op.tiles.value.data, row.lanes // 4
    pointing, _ = split((np.arange(batch.threads) % WARP < 8 * tiles)[None], mask)
    rows = load(pointing)
    rows = broadcast_to(rows, (len(rows), batch.threads, row.lanes)).reshape(len(rows), -1, 4, 8, row.lanes)
    matrices = rows[:, :, :tiles]
    if op.transpose.value.data:
        matrices = matrices.swapaxes(-1, -2)
    # [block, warp, matrix, g, t, number] -> [block, thread, matrix, number]
    parts = matrices.reshape(*matrices.shape[:4], 4, count).transpose(0, 1, 3, 4, 2, 5)
    return parts.reshape(len(rows), batch.threads, tiles * count)


def round_to_tf32(value: Value) -> Value:
    """nvgpu.round_to_tf32"""
    return rounded_to_tf32(np.asarray(value))[()]


def product(batch: Batch, op: Operation, a: Value, b: Value, c: Value, mask: Mask, checked: bool) -> Value:
    """nvgpu.mma.sync: assembles matrices from the lanes' fragments, multiplies, and distributes the result."""
    if checked:
        whole_warps(batch, op, mask)
    rows = max(len(a), len(b), len(c))
    a, b, c = (broadcast_to(each, (rows, batch.threads, each.shape[-1])) for each in (a, b, c))
    exact = np.int64 if c.dtype == np.int32 else np.float64
    sums = np.matmul(left_matrix(cut(a)).astype(exact), right_matrix(cut(b)).astype(exact))
    # [row half, g, t, column in pair] -> [g, t, row half, column in pair]
    parts = sums.reshape(-1, 2, 8, 4, 2).transpose(0, 2, 3, 1, 4).reshape(rows, batch.threads, 4) + c
    return parts.astype(np.int32) if exact is np.int64 else toward_zero(parts)


def toward_zero(sums: Array) -> Array:
    """f64 as f32, rounded toward zero, as tensor cores round their sums."""
    near = sums.astype(np.float32)
    beyond = np.isfinite(near) & (np.abs(near.astype(np.float64)) > np.abs(sums))
    return np.where(beyond, np.nextafter(near, np.float32(0)), near)


def cut(value: Array) -> Array:
    """The numbers that a tensor core reads: of f32 the first bits."""
    if value.dtype == np.float32:
        return (np.ascontiguousarray(value).view(np.uint32) & _TF32).view(np.float32)
    return value


def left_matrix(a: Array) -> Array:
    """a[w i + j] at row g + 8 (i % 2), column w t + j + 4 w (i / 2), with w numbers in a word"""
    word = a.shape[-1] // 4
    parts = a.reshape(-1, 8, 4, 2, 2, word)  # g, t, i / 2, i % 2, j
    return parts.transpose(0, 4, 1, 3, 2, 5).reshape(-1, 16, 8 * word)


def right_matrix(b: Array) -> Array:
    """b[w i + j] at row w t + j + 4 w i, column g"""
    word = b.shape[-1] // 2
    parts = b.reshape(-1, 8, 4, 2, word)  # g, t, i, j
    return parts.transpose(0, 3, 2, 4, 1).reshape(-1, 8 * word, 8)


def barrier(batch: Batch, op: Operation, mask: Mask) -> Mask:
    """The blocks that pass a barrier, which all or none of their threads must reach."""
    if isinstance(mask, bool):
        return mask
    each = broadcast_to(mask, (len(mask), batch.threads))
    passed = each.any(axis=1, keepdims=True)
    bad = active(np.asarray(passed & ~each), True)
    if bad is not None:
        batch.fail(op, "some threads of the block don't reach it", bad)
    return True if passed.all() else cast("Array", passed)


def grid_barrier(batch: Batch, op: Operation, mask: Mask) -> None:
    """Raises KernelError unless all threads of a grid reach its barrier."""
    passed = barrier(batch, op, mask)
    if passed is not True:
        batch.fail(op, "some blocks of the grid don't reach it", passed)


def cluster_barrier(batch: Batch, op: Operation, mask: Mask) -> Mask:
    """The blocks that pass a barrier of their cluster, which all or none of its threads must reach."""
    passed = barrier(batch, op, mask)
    if isinstance(passed, bool):
        return passed
    each = broadcast_to(passed, (batch.blocks, 1))
    whole = each.reshape(-1, batch.cluster).all(axis=1).repeat(batch.cluster)[:, None]
    bad = active(each & ~whole, True)
    if bad is not None:
        batch.fail(op, "some blocks of the cluster don't reach it", bad)
    return passed
