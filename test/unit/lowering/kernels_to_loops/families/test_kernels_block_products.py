"""Products by block-quantised weights: every width, block, zero point and shape, of floats and of rounded rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from graph_runs import Case, Model, Target, build, check, compiled, execute
from xdsl.dialects.builtin import i8
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.ops.block_weight import BlockWeightOp
from mini_infer.dialects.graph.ops.contraction import MatmulOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp
from mini_infer.dialects.graph.ops.movement import SliceOp, TransposeOp
from mini_infer.dialects.graph.ops.unary import SigmoidOp
from mini_infer.dialects.graph.values import Array


@dataclass(frozen=True)
class Product:
    """x [rows, depth] times the transpose of a block weight [columns, depth]."""

    bits: int = 4
    block: int = 32
    rows: int = 3
    depth: int = 64
    columns: int = 33
    zero: str = ""
    scale: str = "float32"
    rounded: bool = True

    def weight(self, m: Model) -> SSAValue:
        """Random numbers, scales and zero points."""
        blocks, random = -(-self.depth // self.block), np.random.default_rng(self.bits + self.block)
        numbers = random.integers(0, 256, (self.columns, blocks * self.block * self.bits // 8)).astype(np.uint8)
        operands = [m.weight(data=numbers)]
        operands.append(m.weight(data=random.uniform(0.5, 1.5, (self.columns, blocks)).astype(self.scale)))
        if self.zero:
            zeros = random.uniform(0, 2**self.bits - 1, (self.columns, blocks)).astype(self.zero)
            operands.append(m.weight(data=zeros))
        middle = 0 if self.zero else 2 ** (self.bits - 1) - 1
        return m(BlockWeightOp(*operands, bits=self.bits, block=self.block, depth=self.depth, middle=middle))

    def x(self) -> Array:
        """Rows that are rounded without error: whole numbers, the largest of each block 127, times powers of two."""
        random, blocks = np.random.default_rng(0), -(-self.depth // self.block)
        x = random.integers(-126, 127, (self.rows, blocks, self.block)).astype(np.float32)
        x[..., 0] = 127
        x *= 2.0 ** random.integers(-3, 3, (self.rows, blocks, 1))
        return x.reshape(self.rows, -1)[:, : self.depth].astype(np.float32)

    def __call__(self, m: Model) -> SSAValue:
        return self.of(m, m.input(data=self.x()))

    def of(self, m: Model, x: SSAValue) -> SSAValue:
        """The product with a left-hand side."""
        return m(MatmulOp(x, self.weight(m), transpose_b=True, lhs_as=i8 if self.rounded else None))


BLOCKS = (16, 32, 64, 256, 24, 8, 100)
ZEROS = ("", "uint8", "float32")


def every_weight(rounded: bool) -> Iterator[Product]:
    """Every width with every zero point, and blocks and shapes in turn."""
    number = 0
    for bits in (2, 4, 8):
        for zero in ZEROS:
            for scale in ("float32", "float16"):
                for _ in range(2):
                    block = BLOCKS[number % len(BLOCKS)]
                    rows, depth = (1, 2, 5, 9)[number % 4], (64, 100, 37, 300, 512)[number % 5]
                    columns = (33, 7, 64, 80)[number % 4 - 1]
                    yield Product(bits, block, rows, depth, columns, zero, scale, rounded)
                    number += 1


TARGETS = (Target(512), Target(256, threads=2), Target(128, threads=3))
VNNI, MADDUBS = ("vpdpbusd",), ("vpdpbusd", "pmaddubsw")
WITHOUT_DOTS = ("vpdpbusd", "pmaddubsw", "pmaddwd", "sdot", "usdot")


@pytest.mark.thinned(3)
@pytest.mark.parametrize("rounded", [True, False])
def test_every_weight(rounded: bool) -> None:
    for run in check([*every_weight(rounded)], *TARGETS):
        assert set(run.schedules) == {"block_dots" if rounded else "dequantised_panels"}


@pytest.mark.thinned(4)
@pytest.mark.parametrize("without", [VNNI, MADDUBS, WITHOUT_DOTS], ids=str)
@pytest.mark.parametrize("bits", [512, 256, 128])
def test_every_instruction(bits: int, without: tuple[str, ...]) -> None:
    """Of the largest numbers, whose sums of 16 bits would saturate."""
    cases = [*every_weight(True)][:: 2 if bits == 256 else 5]
    (run,) = check([*cases, largest_numbers], Target(bits, without=without, forbid="dequantised_panels"))
    assert set(run.schedules) == {"block_dots"}


def largest_numbers(m: Model) -> list[SSAValue]:
    """Products of the largest bytes of both signs by the largest numbers."""
    x = m.input(data=np.where(np.arange(128).reshape(2, 64) < 100, 127, -127).astype(np.float32))
    results: list[SSAValue] = []
    for bits in (2, 4, 8):
        weight = m.weight(data=np.full((5, 64 * bits // 8), 255, np.uint8))
        matrix = m(BlockWeightOp(weight, m.weight(5, 2), bits=bits, block=32, depth=64))
        results.append(m(MatmulOp(x, matrix, transpose_b=True, lhs_as=i8)))
    return results


@pytest.mark.parametrize("rounded", [True, False])
def test_many_rows(rounded: bool) -> None:
    """More rows than are rounded at a time, and panels of tiles with a remainder."""
    cases = [Product(4, 32, rows, depth, 70, rounded=rounded) for rows, depth in ((67, 96), (130, 40), (64, 33))]
    check(cases, Target(512, threads=2, l2=1 << 14), Target(256), Target(128, threads=5))


def test_what_follows_is_done_with_the_sums() -> None:
    def bias(m: Model) -> SSAValue:
        return m(AddOp(Product(rows=4)(m), m.weight(33)))

    def residual(m: Model) -> SSAValue:
        return m(AddOp(m.input(4, 33), Product(rows=4)(m)))

    def long(m: Model) -> SSAValue:
        y = m(AddOp(Product(rows=7)(m), m.weight(33)))
        return m(MulOp(m(SigmoidOp(y)), y))

    for run in check([bias, residual, long], *TARGETS):
        assert run.schedules == ["block_dots"] * 3


@pytest.mark.parametrize("rounded", [True, False])
def test_halves_of_the_columns(rounded: bool) -> None:
    """A gate and what it is the factor of, in one panel."""

    def gated(rows: int, columns: int, zero: str) -> Case:
        def case(m: Model) -> SSAValue:
            both = Product(rows=rows, columns=2 * columns, zero=zero, rounded=rounded)(m)
            gate, value = (m(SliceOp(both, (0, at), (rows, at + columns))) for at in (0, columns))
            return m(MulOp(m(SigmoidOp(gate)), value))

        return case

    cases = [gated(1, 40, ""), gated(6, 16, "uint8"), gated(21, 13, "float32")]
    for run in check(cases, *TARGETS):
        assert len(run.schedules) == 3


def test_rows_that_lie_apart() -> None:
    """Rows of a part of a tensor are read in place; those that lie across are not rounded."""

    def last_row(m: Model) -> SSAValue:
        case = Product(rows=6)
        x = m.input(data=case.x().reshape(2, 3, 64))
        return case.of(m, m(SliceOp(x, (0, 2, 0), (2, 3, 64))))

    def across(m: Model) -> SSAValue:
        case = Product(rows=6)
        return case.of(m, m(TransposeOp(m.input(data=np.ascontiguousarray(case.x().T)), (1, 0))))

    (run,) = check([last_row, across], Target(512, threads=2))
    assert "block_dots" in run.schedules


def rows_of(case: Product, x: Array, threads: int) -> Array:
    """The result for some rows, bit by bit what any number of threads gives."""
    m = build([lambda m: case.of(m, m.input(data=x))])
    (result,) = execute(compiled(m, Target(512, threads=threads))[0], m.inputs).values()
    return result


@pytest.mark.parametrize(("bits", "zero"), [(4, ""), (8, "uint8"), (2, "float32")])
def test_a_row_is_the_same_in_every_place(bits: int, zero: str) -> None:
    case = Product(bits, 32, depth=200, columns=70, zero=zero)
    x = np.random.default_rng(0).standard_normal((75, 200)).astype(np.float32)
    whole = rows_of(case, x, 1)
    for rows in (slice(0, 1), slice(13, 15), slice(70, 75), slice(3, 69)):
        for threads in (1, 2, 5):
            np.testing.assert_array_equal(rows_of(case, x[rows], threads), whole[rows])


def test_rounding_is_that_of_evaluate() -> None:
    """Random rows with zeros, the smallest floats, and one that is no number."""
    case = Product(4, 32, rows=6, depth=160, columns=20)
    x = np.random.default_rng(1).standard_normal((6, 160)).astype(np.float32)
    x[1, :64], x[2, :32], x[3] = 0, 1e-43, x[3] * 1e-44
    m = build([lambda m: case.of(m, m.input(data=x))])
    (expected,) = interpret(m.module, m.inputs, m.ctx.blobs).values()
    (result,) = execute(compiled(m, Target(256))[0], m.inputs).values()
    for row in range(6):
        np.testing.assert_allclose(result[row], expected[row], rtol=0, atol=4e-6 * np.abs(expected[row]).max())
    for bad in (np.nan, np.inf, -np.inf):
        spoilt = x.copy()
        spoilt[0, 40] = bad
        got = rows_of(case, spoilt, 1)
        assert np.isnan(got[0]).all()
        np.testing.assert_array_equal(got[1:], result[1:])
