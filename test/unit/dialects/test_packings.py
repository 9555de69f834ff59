"""Every packing: its shape, its inverse and the graph ops that do it agree with what it does to an array."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np
import pytest
from graph_runs import Model
from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from mini_infer.dialects.errors import CompileError
from mini_infer.dialects.graph.base import GraphOp
from mini_infer.dialects.graph.packing.attribute import PACKINGS
from mini_infer.dialects.graph.packing.block_panels import BlockPanelPacking
from mini_infer.dialects.graph.packing.core_matrices import CoreMatrixPacking
from mini_infer.dialects.graph.packing.grouped_panels import (
    Bf16ConvPacking,
    Bf16PanelPacking,
    ByteConvPacking,
    BytePanelPacking,
    PairedBf16PanelPacking,
)
from mini_infer.dialects.graph.packing.packings import (
    ConvPacking,
    DepthwisePacking,
    FilterPacking,
    MatrixPacking,
    Packing,
    PairedPanelPacking,
    PanelPacking,
    RoundedPacking,
    rounded_to_tf32,
)
from mini_infer.dialects.graph.packing.unpack import UnpackOp
from mini_infer.dialects.graph.packing.winograd_filters import WinogradPacking
from mini_infer.dialects.graph.values import element_type_of_value, numpy_dtype, shape_of

CASES: list[tuple[Packing, tuple[int, ...]]] = [
    (PanelPacking(4), (5, 7)),
    (PanelPacking(4), (5, 8)),
    (PanelPacking(4), (2, 5, 7)),
    (PanelPacking(8, transposed=True), (7, 5)),
    (PanelPacking(2, transposed=True), (3, 7, 5)),
    (PanelPacking(4), (4, 4)),
    (PairedPanelPacking(4), (5, 6)),
    (PairedPanelPacking(4), (2, 5, 8)),
    (PairedPanelPacking(8, transposed=True), (10, 5)),
    (ConvPacking(4), (6, 3, 2, 5)),
    (ConvPacking(2, groups=3), (6, 2, 3)),
    (DepthwisePacking(4), (9, 1, 3, 2)),
    (FilterPacking(), (6, 3, 2, 5)),
    (FilterPacking(3), (6, 2, 3)),
    (FilterPacking(2, transposed=True), (6, 5, 3, 1)),
    (MatrixPacking(), (5, 7)),
    (MatrixPacking(transposed=True), (3, 5, 7)),
    (BytePanelPacking(4), (5, 7)),
    (BytePanelPacking(4), (2, 8, 8)),
    (BytePanelPacking(8, transposed=True), (7, 5)),
    (BytePanelPacking(2, transposed=True), (3, 7, 12)),
    (ByteConvPacking(4), (6, 3, 2, 5)),
    (ByteConvPacking(2, groups=3), (6, 4, 3)),
    (ByteConvPacking(8), (16, 5, 1, 1)),
    (Bf16PanelPacking(4), (5, 7)),
    (Bf16PanelPacking(4), (2, 8, 8)),
    (Bf16PanelPacking(8, transposed=True), (7, 5)),
    (PairedBf16PanelPacking(4), (5, 6)),
    (PairedBf16PanelPacking(4), (2, 6, 8)),
    (PairedBf16PanelPacking(8, transposed=True), (10, 5)),
    (Bf16ConvPacking(4), (6, 3, 2, 5)),
    (Bf16ConvPacking(2, groups=3), (6, 2, 3)),
]


def test_bytes_of_a_group_lie_side_by_side() -> None:
    packed = BytePanelPacking(2).pack(np.arange(18, dtype=np.int8).reshape(6, 3))
    assert packed.ravel()[:16].tolist() == [0, 3, 6, 9, 1, 4, 7, 10, 12, 15, 0, 0, 13, 16, 0, 0]


def test_pairs_of_a_column_lie_side_by_side() -> None:
    packed = Bf16PanelPacking(2).pack(np.arange(9, dtype=np.float32).reshape(3, 3))
    assert packed.ravel()[:8].tolist() == [0, 3, 1, 4, 6, 0, 7, 0]
    packed = PairedBf16PanelPacking(2).pack(np.arange(12, dtype=np.float32).reshape(3, 4))
    assert packed.ravel()[:8].tolist() == [0, 4, 2, 6, 8, 0, 10, 0]


@pytest.mark.parametrize(("how", "element"), [("f16", f16), ("bf16", bf16)])
@pytest.mark.parametrize("make", [partial(MatrixPacking, transposed=True), FilterPacking])
def test_numbers_are_rounded_as_they_are_packed(
    make: Callable[..., RoundedPacking], how: str, element: Attribute
) -> None:
    packing = make(**{how: True})
    assert (packing.packed_type(f32), packing.plain_type(element)) == (element, f32)
    weight = np.array([1 + 2.0**-11, 1 + 3 * 2.0**-11, 65519, 65520, 2.0**-25, -(2.0**-24), np.inf, np.nan], np.float32)
    weight = weight.reshape(2, 2, 2)
    with np.errstate(over="ignore"):
        expected = weight.astype(numpy_dtype(element))
    packed = packing.pack(weight)
    assert packed.dtype == expected.dtype
    np.testing.assert_array_equal(packed.astype(np.float32), make().pack(expected.astype(np.float32)))
    np.testing.assert_array_equal(packing.unpack(packed, weight.shape), expected.astype(np.float32))
    by_ops = weight
    for op in packing.ops(Model().input(2, 2, 2)):
        assert isinstance(op, GraphOp)
        (by_ops,) = op.evaluate(by_ops)
    np.testing.assert_array_equal(by_ops.astype(np.float32), packed.astype(np.float32))


def test_rounding_to_tf32() -> None:
    half, largest = 2.0**-11, np.finfo(np.float32).max
    given = np.array([1 + half, 1 + half - 2.0**-23, -1 - half, largest, np.inf, 2.0**-149], np.float32)
    expected = np.array([1 + 2 * half, 1, -1 - 2 * half, np.inf, np.inf, 0], np.float32)
    np.testing.assert_array_equal(rounded_to_tf32(given), expected)
    np.testing.assert_array_equal(
        MatrixPacking(transposed=True, tf32=True).pack(given.reshape(2, 3)).T.ravel(), expected
    )
    with pytest.raises(CompileError, match="only constants are rounded to tf32 when they are packed"):
        MatrixPacking(tf32=True).ops(Model().input(2, 2))


def test_transforms_of_bf16_are_wide() -> None:
    packing = WinogradPacking(16, 4, 1, widened=True)
    assert (packing.packed_type(bf16), packing.plain_type(f32)) == (f32, bf16)
    weight = np.random.default_rng(0).standard_normal((3, 5, 3, 3)).astype(numpy_dtype(bf16))
    packed = packing.pack(weight)
    np.testing.assert_array_equal(packed, WinogradPacking(16, 4, 1).pack(weight.astype(np.float32)))
    np.testing.assert_array_equal(packing.unpack(packed, weight.shape), weight)


def test_every_packing_has_cases() -> None:
    elsewhere = {WinogradPacking, BlockPanelPacking, CoreMatrixPacking}  # test_winograd.py, and below
    assert {type(packing) for packing, _ in CASES} == {*PACKINGS.values()} - elsewhere
    assert all(PACKINGS[each.kind] is each for each in PACKINGS.values())


@pytest.mark.parametrize(("packing", "shape"), CASES)
def test_a_packing_agrees_with_itself(packing: Packing, shape: tuple[int, ...]) -> None:
    weight = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    packed = packing.pack(weight)
    assert packed.shape == packing.packed_shape(shape)
    np.testing.assert_array_equal(packing.unpack(packed, shape), weight)
    np.testing.assert_array_equal(packing.pack(weight, np.full_like(packed, np.nan)), packed)
    m = Model()
    by_ops = weight
    for op in packing.ops(m.input(*shape)):
        assert isinstance(op, GraphOp)
        (by_ops,) = op.evaluate(by_ops)
    np.testing.assert_array_equal(by_ops, packed)
    unpack = UnpackOp(m.input(*packed.shape), packing, shape)
    assert unpack.packing.packing == packing
    assert shape_of(unpack.result) == shape


def column_of(packing: BlockPanelPacking, rows: int, column: int) -> tuple[int, int]:
    """The panel and the place in it that a column goes to."""
    half, at = divmod(column, rows // 2) if packing.paired else (0, column)
    width = packing.nr // 2 if packing.paired else packing.nr
    return at // width, half * width + at % width


@pytest.mark.parametrize("bits", [2, 4, 8])
@pytest.mark.parametrize("block", [16, 32, 12, 4])
@pytest.mark.parametrize(("rows", "paired"), [(5, False), (16, False), (34, False), (34, True), (16, True)])
def test_numbers_of_a_word(bits: int, block: int, rows: int, paired: bool) -> None:
    packing, blocks = BlockPanelPacking(16, bits, block, paired), 3
    weight = np.random.default_rng(0).integers(0, 256, (rows, blocks * block * bits // 8)).astype(np.uint8)
    packed = packing.pack(weight)
    assert packed.shape == packing.packed_shape(weight.shape)
    np.testing.assert_array_equal(packing.unpack(packed, weight.shape), weight)
    np.testing.assert_array_equal(packing.pack(weight, np.full_like(packed, 255)), packed)
    numbers = np.stack([weight >> place & 2**bits - 1 for place in range(0, 8, bits)], -1).reshape(rows, blocks, block)
    words = packed.reshape(len(packed), blocks, -1, 16, 4)
    for column, number in product(range(rows), range(block)):
        panel, at = column_of(packing, rows, column)
        word, inside = divmod(number, packing.span)
        found = words[panel, :, word, at, inside % 4] >> (inside // 4 * bits) & 2**bits - 1
        np.testing.assert_array_equal(found, numbers[column, :, number])


def test_block_panels_that_cannot_be() -> None:
    with pytest.raises(VerifyException, match="rows of 6 bytes have no blocks of 8 numbers of 4 bits"):
        BlockPanelPacking(16, 4, 8).packed_shape((4, 6))
    with pytest.raises(VerifyException, match="5 columns have no halves for panels of 16"):
        BlockPanelPacking(16, 4, 8, paired=True).packed_shape((5, 8))
    with pytest.raises(CompileError, match="only constant block-quantised weights can be packed"):
        BlockPanelPacking(16, 4, 8).ops(Model().input(4, 8))


def test_panels_made_of_some_rows_of_a_transposed_matrix() -> None:
    packing, weight = PanelPacking(4, transposed=True), np.arange(70.0).reshape(14, 5)
    step = packing.rows(weight.shape)
    parts = [packing.pack(weight[at : at + step]) for at in range(0, 14, step)]
    np.testing.assert_array_equal(np.concatenate(parts), packing.pack(weight))


CORE_CASES = [
    (CoreMatrixPacking(8, 8), (5, 7), (1, 1, 2, 8, 4)),
    (CoreMatrixPacking(8, 64, transposed=True, half=True), (19, 37), (1, 3, 8, 8, 8)),
    (CoreMatrixPacking(16, 32, groups=2, brain=True), (34, 3, 3, 3), (2, 2, 4, 16, 8)),
    (CoreMatrixPacking(8, 32, half=True, paired=True), (19, 37), (1, 5, 4, 8, 8)),
]


@pytest.mark.parametrize(("packing", "shape", "packed_shape"), CORE_CASES)
def test_core_matrices_agree_with_themselves(
    packing: CoreMatrixPacking, shape: tuple[int, ...], packed_shape: tuple[int, ...]
) -> None:
    weight = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    packed = packing.pack(weight)
    assert packed.shape == packing.packed_shape(shape) == packed_shape
    assert packed.dtype == numpy_dtype(packing.packed_type(f32))
    rounded = packing.unpack(packed, shape)
    np.testing.assert_allclose(rounded, weight, rtol=2.0 ** (-8 if packing.brain else -11))
    assert (rounded != weight).any()
    np.testing.assert_array_equal(packing.pack(rounded, np.full_like(packed, 7)), packed)
    m = Model()
    unpack = UnpackOp(m.input(*packed.shape, dtype=packed.dtype), packing, shape)
    assert unpack.packing.packing == packing
    assert (shape_of(unpack.result), element_type_of_value(unpack.result)) == (shape, f32)


def test_core_matrices_keep_numbers_of_16_bits() -> None:
    packing, weight = CoreMatrixPacking(8, 8, brain=True, kept=True), np.arange(15).reshape(5, 3)
    packed = packing.pack(weight.astype(numpy_dtype(bf16)))
    assert packing.plain_type(packing.packed_type(bf16)) == bf16
    np.testing.assert_array_equal(packing.unpack(packed, (5, 3)), weight)
    assert packing.unpack(packed, (5, 3)).dtype == numpy_dtype(bf16)


def test_core_matrices_with_neighbours_four_apart() -> None:
    weight = np.arange(16.0, dtype=np.float32)[:, None]
    packed = CoreMatrixPacking(8, 16, half=True, paired=True).pack(weight)
    assert packed[0, 0, :, 0].tolist() == [[0, 4, 1, 5, 2, 6, 3, 7], [8, 12, 9, 13, 10, 14, 11, 15]]


def test_core_matrices_of_split_numbers() -> None:
    packing, weight = CoreMatrixPacking(8, 8, split=True), np.random.default_rng(0).random((7, 10), np.float32)
    packed = packing.pack(weight)
    assert packed.shape == packing.packed_shape((7, 10)) == (1, 2, 2, 16, 4)
    np.testing.assert_array_equal(packed[..., :8, :], CoreMatrixPacking(8, 8).pack(weight))
    np.testing.assert_allclose(packing.unpack(packed, (7, 10)), weight, rtol=2.0**-21)


def test_core_matrices_lie_as_tensor_cores_read_them() -> None:
    """16 bytes of each column side by side, and filled up with zeros."""
    weight = np.arange(1, 11, dtype=np.float32).reshape(5, 2)
    packed = CoreMatrixPacking(3, 8).pack(weight)
    assert packed.ravel().tolist() == [1, 3, 5, 7, 2, 4, 6, 8, 0, 0, 0, 0, 9, 0, 0, 0, 10, *[0] * 7]
    taps = np.arange(18, dtype=np.float32).reshape(1, 2, 3, 3)
    np.testing.assert_array_equal(CoreMatrixPacking(1, 20).pack(taps).ravel()[:18], FilterPacking().pack(taps).ravel())


def test_core_matrices_round_ties_away_from_zero_and_beyond_the_largest() -> None:
    weight = np.array([[1 + 2.0**-11, -1 - 2.0**-11, np.nan, np.inf, 3.4028235e38]], np.float32)
    found = CoreMatrixPacking(8, 4).pack(weight).reshape(8, 4)[:5, 0]
    np.testing.assert_array_equal(found, np.array([1 + 2.0**-10, -1 - 2.0**-10, np.nan, np.inf, np.inf], np.float32))


def test_core_matrices_hold_whole_chunks_of_constant_weights() -> None:
    for packing, shape, message in (
        (CoreMatrixPacking(8, 8), (9, 7), "a depth of 9 can't be padded to 8 in chunks of 4"),
        (CoreMatrixPacking(8, 12, half=True), (9, 7), "can't be padded to 12 in chunks of 8"),
        (CoreMatrixPacking(8, 16, groups=2), (9, 3, 1, 1), "9 output channels in 2 groups"),
        (CoreMatrixPacking(8, 16), (9,), r"not shape \[9\]"),
    ):
        with pytest.raises(VerifyException, match=message):
            packing.packed_shape(shape)
    with pytest.raises(CompileError, match="only constant weights can be packed as core matrices"):
        CoreMatrixPacking(8, 8).ops(Model().input(8, 8))
