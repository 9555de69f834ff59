"""Rows of an op's result, computed by themselves from the rows that they read, are those of the whole result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from graph_runs import Model, Target, compiled, execute
from unit.dialects.test_axes import ALL, Case, Operands, arrays_of, named
from xdsl.utils.test_value import create_ssa_value

from mini_infer.dialects.graph.base import GraphOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, ConvTransposeOp, MatmulOp
from mini_infer.dialects.graph.ops.elementwise import AddOp
from mini_infer.dialects.graph.ops.indexing import GatherOp
from mini_infer.dialects.graph.ops.movement import ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from mini_infer.dialects.graph.ops.reduction import CumsumOp, SoftmaxOp
from mini_infer.dialects.graph.ops.resize import COORDINATES, MODES, ROUNDINGS, ResizeOp
from mini_infer.dialects.graph.ops.unary import TanhOp
from mini_infer.dialects.graph.ops.windows import AvgPoolOp, MaxPoolOp
from mini_infer.dialects.graph.values import Array, shape_of, tensor, type_of
from mini_infer.lowering.pipelines import parse_passes, run_passes
from mini_infer.passes.graph.streams.row_reach import part_properties, reaches
from mini_infer.passes.graph.support.pattern_utils import with_operands


def by_parts(op: GraphOp, axis: int, borders: Sequence[int], arrays: Sequence[Array]) -> Array:
    """The result of an op, computed for the rows between borders, each part from no more rows than it asks for."""
    found = reaches(op, axis)
    assert found is not None
    parts: list[Array] = []
    for start, stop in pairwise(borders):
        own: list[Array] = []
        for array, reach in zip(arrays, found, strict=True):
            if reach is not None:
                rows = slice(max(0, reach.first(start)), min(reach.end(stop), array.shape[reach.axis]))
                array = array[(*[slice(None)] * reach.axis, rows)]
            own.append(array)
        values = [
            create_ssa_value(tensor(type_of(value).element_type, array.shape))
            for value, array in zip(op.operands, own, strict=True)
        ]
        part = with_operands(op, values, **part_properties(op, axis, found[0], start, stop))
        (result,) = part.evaluate(*own)
        assert shape_of(part.results[0]) == result.shape
        parts.append(result)
    return np.concatenate(parts, axis)


def some_borders(op: GraphOp, axis: int, random: np.random.Generator) -> list[int]:
    """Borders of bands: whole ones of those that the op computes at a time."""
    rows, multiple = shape_of(op.results[0])[axis], max(r.multiple for r in reaches(op, axis) or [] if r)
    inner = [row for row in range(multiple, rows, multiple) if random.random() < 0.5]
    return [0, *inner, rows]


def row_axes(op: GraphOp) -> list[int]:
    """The axes of the result along which the op computes rows by themselves, as `find_streams` asks."""
    if len(op.results) != 1:
        return []
    return [axis for axis in range(len(shape_of(op.results[0]))) if any(reaches(op, axis) or [])]


def hold(op: GraphOp, x: Operands, trials: int = 3) -> None:
    """Asserts that parts have the bits of the whole, along each axis."""
    random, arrays = np.random.default_rng(3), arrays_of(op, x)
    whole = op.evaluate(*arrays)[0]
    for axis in row_axes(op):
        rows, multiple = whole.shape[axis], max(r.multiple for r in reaches(op, axis) or [] if r)
        for borders in ([*range(0, rows, multiple), rows], *(some_borders(op, axis, random) for _ in range(trials))):
            found = by_parts(op, axis, borders, arrays)
            assert found.dtype == whole.dtype
            # The order in which numpy adds hangs on all sizes of an array: only there bits may differ.
            if op.products or op.FORM == "rows":
                np.testing.assert_allclose(found, whole, rtol=1e-12, atol=1e-12)
            else:
                np.testing.assert_array_equal(found, whole, err_msg=f"{op.name}, axis {axis}, {borders}")


def _pad(mode: str, low: int, high: int, rows: int, x: Operands) -> GraphOp:
    return PadOp(x(rows, 4), (low, 0), (high, 1), mode)


def _pool(kind: Callable[..., GraphOp], ceil: bool, x: Operands) -> GraphOp:
    return kind(x(1, 9, 8, 2), [3, 2], strides=[2, 2], pads=[1, 0, 1, 1], ceil_mode=ceil, layout="NHWC")


def _transposed(strides: list[int], more: list[int], x: Operands) -> GraphOp:
    operands, pads = (x(1, 6, 3, 2), x(2, 3, 3, 2), x(3)), [3, 0, 1, 0]
    return ConvTransposeOp(*operands, strides=strides, pads=pads, dilations=[2, 1], output_padding=more, layout="NHWC")


MORE: list[Case] = [
    lambda x: AddOp(x(5, 4), x(5, 1)),
    lambda x: AddOp(x(1, 4), x(5, 4)),
    lambda x: MatmulOp(x(7, 3), x(3, 4)),
    lambda x: SoftmaxOp(x(6, 4), 1),
    lambda x: GatherOp(x(9, 4), x.whole(6, end=9), 0),
    lambda x: ConcatOp([x(6, 2), x(6, 3)], 1),
    lambda x: SliceOp(x(9, 4), (1, 0), (9, 4), (3, 1)),
    lambda x: TransposeOp(x(2, 5, 3), (1, 0, 2)),
    lambda x: ReshapeOp(x(4, 6), (8, 3)),
    lambda x: ReshapeOp(x(8, 3), (4, 2, 3)),
    *(
        partial(_pad, mode, low, high, rows)
        for mode in ("constant", "edge", "reflect")
        for low, high, rows in ((3, 2, 9), (1, 1, 12), (0, 4, 20), (2, 0, 7), (3, 3, 40))
    ),
    *(
        partial(_pool, kind, ceil)
        for ceil in (False, True)
        for kind in (MaxPoolOp, AvgPoolOp, partial(AvgPoolOp, count_include_pad=True))
    ),
    lambda x: ResizeOp(x(12, 3), (24, 6), mode="linear"),
    lambda x: ConvOp(x(1, 9, 7, 3), x(4, 3, 5, 3), strides=[1, 2], pads=[4, 1, 4, 0], dilations=[2, 1], layout="NHWC"),
    lambda x: ConvTransposeOp(x(1, 2, 5, 5), x(2, 3, 3, 3)),
    lambda x: ConvTransposeOp(x(1, 7, 3, 4), x(4, 1, 4, 2), strides=[2, 1], pads=[1, 0, 2, 1], groups=2, layout="NHWC"),
    partial(_transposed, [2, 1], [1, 0]),
    partial(_transposed, [3, 2], [2, 1]),
]


@pytest.mark.parametrize("case", [*ALL, *MORE], ids=named)
def test_parts_make_the_whole(case: Case) -> None:
    x = Operands()
    hold(case(x), x)


@pytest.mark.parametrize("case", MORE, ids=named)
def test_these_compute_rows(case: Case) -> None:
    assert row_axes(case(Operands()))


WHOLE: list[tuple[Case, int]] = [
    (lambda x: CumsumOp(x(4, 3), 0), 0),
    (lambda x: SoftmaxOp(x(4, 3), 0), 0),
    (lambda x: ConcatOp([x(2, 3), x(4, 3)], 0), 0),
    (lambda x: SliceOp(x(5, 2), (4, 0), (-1, 2), (-1, 1)), 0),
    (lambda x: PadOp(x(5, 2), (2, 0), (2, 0), "wrap"), 0),
    (lambda x: ConvOp(x(1, 5, 5, 1), x(1, 1, 2, 2), pads=[3, 0, 0, 0], layout="NHWC"), 1),
    (lambda x: ReshapeOp(x(4, 6), (6, 4)), 0),
    (lambda x: ConvTransposeOp(x(1, 2, 5, 5), x(2, 3, 2, 3), strides=[3, 1]), 2),
    (lambda x: ConvTransposeOp(x(1, 2, 5, 5), x(2, 3, 2, 3), strides=[2, 1], output_padding=[2, 0]), 2),
]


@pytest.mark.parametrize(("case", "axis"), WHOLE)
def test_these_need_more_than_rows(case: Case, axis: int) -> None:
    assert reaches(case(Operands()), axis) is None


@pytest.mark.parametrize("coordinate", [each for each in COORDINATES if each != "tf_crop_and_resize"])
@pytest.mark.parametrize("mode", MODES)
def test_parts_of_resizes(mode: str, coordinate: str) -> None:
    for number, (old, new) in enumerate([(9, 18), (18, 9), (5, 35), (7, 10), (23, 8), (1, 4), (6, 1), (16, 64)]):
        for flags in range(1 if mode == "nearest" else 4):
            x = Operands()
            nearest = [*ROUNDINGS][number % len(ROUNDINGS)]
            kind = partial(ResizeOp, mode=mode, coordinate=coordinate, nearest=nearest)
            op = kind(x(old, 2), (new, 2), antialias=flags > 1, exclude_outside=flags % 2 > 0)
            assert row_axes(op) == [0, 1]
            hold(op, x, trials=1)


def test_inner_parts_of_a_resize_are_equal() -> None:
    for mode, factor, coordinate in (
        ("linear", 2, "half_pixel"),
        ("cubic", 4, "asymmetric"),
        ("nearest", 3, "asymmetric"),
    ):
        op = ResizeOp(Operands()(64, 2), (64 * factor, 2), mode=mode, coordinate=coordinate)
        (reach,) = reaches(op, 0) or []
        starts = range(8 * factor, 40 * factor, 2 * factor)
        parts = [part_properties(op, 0, reach, start, start + 2 * factor) for start in starts]
        assert all(part == parts[0] for part in parts)


@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_machine_code_of_bands_makes_the_same_bits(mode: str) -> None:
    def made(passes: str) -> tuple[Array, int]:
        m = Model()
        x = m(TanhOp(m.input(1, 24, 12, 4)))
        x = m(PadOp(x, (0, 2, 1, 0), (0, 2, 1, 0), "reflect"))
        x = m(ResizeOp(x, (1, 56, 28, 4), mode=mode, coordinate="half_pixel"))
        m.outputs("y", [m(MaxPoolOp(m(TanhOp(x)), [2, 2], layout="NHWC"))])
        m.finish()
        run_passes(m.ctx, m.module, parse_passes(passes))
        resizes = sum(isinstance(op, ResizeOp) for op in m.module.walk())
        plan, _ = compiled(m, Target(256))
        return execute(plan, m.inputs)["y.0"], resizes

    whole, one = made("")
    banded, several = made("stream-rows{band=4096}")
    assert one == 1 < several
    np.testing.assert_array_equal(banded, whole)
