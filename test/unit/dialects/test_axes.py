"""What every op says of its operands' axes, held against what it computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import i8, i32
from xdsl.ir import SSAValue
from xdsl.utils.exceptions import VerifyException
from xdsl.utils.test_value import create_ssa_value

from mini_infer.dialects.graph.axes import (
    Axis,
    Kept,
    MappedAxis,
    Numbered,
    Placed,
    Reduced,
    Repeated,
    Spread,
    Strided,
    Whole,
    Windowed,
)
from mini_infer.dialects.graph.base import GraphOp
from mini_infer.dialects.graph.dialect import Graph
from mini_infer.dialects.graph.ops.attention import AttentionOp
from mini_infer.dialects.graph.ops.block_weight import BlockWeightOp, StackedBlockWeightOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, ConvTransposeOp, MatmulOp
from mini_infer.dialects.graph.ops.conversion import BitcastOp, CastOp, UnpackBitsOp
from mini_infer.dialects.graph.ops.elementwise import BinaryOp, UnaryOp, WhereOp
from mini_infer.dialects.graph.ops.external import ExternalCallOp
from mini_infer.dialects.graph.ops.fail import FailOp
from mini_infer.dialects.graph.ops.indexing import (
    GatherElementsOp,
    GatherNdOp,
    GatherOp,
    ScatterElementsOp,
    ScatterNdOp,
)
from mini_infer.dialects.graph.ops.linear_attention import LinearAttentionOp
from mini_infer.dialects.graph.ops.movement import (
    BroadcastToOp,
    ConcatOp,
    PadOp,
    ReshapeOp,
    SliceOp,
    SlideOp,
    TransposeOp,
)
from mini_infer.dialects.graph.ops.normalization import (
    BatchNormOp,
    InstanceNormOp,
    LayerNormOp,
    NormalizeOp,
    RmsNormOp,
    RowMomentsOp,
)
from mini_infer.dialects.graph.ops.patches import Col2ImOp
from mini_infer.dialects.graph.ops.picture_regions import RoiAlignOp, RoiPoolOp
from mini_infer.dialects.graph.ops.quantization import DequantizeOp, QuantizeOp
from mini_infer.dialects.graph.ops.recurrence import GruOp, LstmOp, RnnOp
from mini_infer.dialects.graph.ops.reduction import (
    ArgMaxOp,
    ArgMinOp,
    CumprodOp,
    CumsumOp,
    LogSoftmaxOp,
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceOp,
    ReduceProdOp,
    ReduceSumOp,
    SoftmaxOp,
)
from mini_infer.dialects.graph.ops.resize import ResizeOp
from mini_infer.dialects.graph.ops.rows import EmptyOp, ExtractRowsOp, InsertRowsOp
from mini_infer.dialects.graph.ops.sampling import SampleOp
from mini_infer.dialects.graph.ops.selection import ChosenRowsOp, NonMaxSuppressionOp, TopKOp
from mini_infer.dialects.graph.ops.size_values import IotaOp, SizesOp
from mini_infer.dialects.graph.ops.structure import ConstantOp, WeightOp
from mini_infer.dialects.graph.ops.tree_ensemble import TreeEnsembleOp
from mini_infer.dialects.graph.ops.windows import AvgPoolOp, LrnOp, MaxPoolIndexOp, MaxPoolOp
from mini_infer.dialects.graph.packing.packings import PanelPacking
from mini_infer.dialects.graph.packing.unpack import UnpackOp
from mini_infer.dialects.graph.values import Array, element_type_of, shape_of, tensor, type_of
from mini_infer.passes.graph.support.pattern_utils import with_operands

TRIALS = 12


class Operands:
    """Values of operands: arrays of a shape, whose elements are drawn anew again and again."""

    def __init__(self) -> None:
        self.random = np.random.default_rng(7)
        self.draws: dict[SSAValue, Callable[[], Array]] = {}

    def _value(self, draw: Callable[[], Array]) -> SSAValue:
        array = draw()
        value = create_ssa_value(tensor(element_type_of(array.dtype), array.shape))
        self.draws[value] = draw
        return value

    def __call__(self, *shape: int, low: float = -2.0, high: float = 2.0, dtype: Any = np.float64) -> SSAValue:
        """Floats in [low, high)."""
        return self._value(lambda: self.random.uniform(low, high, shape).astype(dtype))

    def whole(self, *shape: int, end: int = 100, dtype: Any = np.int64) -> SSAValue:
        """Integers in [0, end)."""
        return self._value(lambda: self.random.integers(0, end, shape).astype(dtype))

    def boxes(self, count: int) -> SSAValue:
        """Upper left corners in [0, 2), lower right ones in [3, 6): [count, 4]."""
        ends = [0, 0, 3, 3], [2, 2, 6, 6]
        return self._value(lambda: self.random.uniform(*ends, (count, 4)))


Case = Callable[[Operands], GraphOp]
REDUCTIONS: list[type[ReduceOp]] = [ReduceSumOp, ReduceMeanOp, ReduceProdOp, ReduceMaxOp, ReduceMinOp]
STEPS, BATCH, INPUTS, HIDDEN = 2, 3, 2, 2


def _recurrent(x: Operands, gates: int, directions: int) -> list[SSAValue]:
    """x, both weights, the bias and the initial state of a recurrent op."""
    rows = gates * HIDDEN
    shapes = [(rows, INPUTS), (rows, HIDDEN), (2 * rows,), (BATCH, HIDDEN)]
    return [x(STEPS, BATCH, INPUTS), *(x(directions, *shape) for shape in shapes)]


def _lstm(x: Operands) -> GraphOp:
    more = [x(1, BATCH, HIDDEN), x(1, 3 * HIDDEN), x.whole(STEPS, BATCH, end=2, dtype=np.bool_)]
    return LstmOp(*_recurrent(x, 4, 1), *more, hidden=HIDDEN)


def _linear_attention(x: Operands, heads: int = 2, decay: int = 2, beta: int = 2) -> GraphOp:
    inputs = [x(2, 3, heads, 2), x(2, 3, 2, 2), x(2, 3, 2, 4), x(2, 2, 2, 4), x(2, 3, 2, decay), x(2, 3, beta)]
    return LinearAttentionOp(*inputs, scale=0.5)


def _pool(kind: type[MaxPoolOp | AvgPoolOp | MaxPoolIndexOp], x: Operands) -> GraphOp:
    windows = {"strides": [2, 1], "pads": [1, 0, 0, 2], "dilations": [1, 2]}
    return kind(x(2, 7, 6, 3), [2, 2], ceil_mode=True, layout="NHWC", **windows)  # pyright: ignore[reportArgumentType]


def _reduced(kind: type[ReduceOp], x: Operands) -> GraphOp:
    return kind(x(2, 3, 4, 2), [1, 2])


CASES: list[Case] = [
    lambda x: CastOp(x(3, 4, high=9), i32),
    lambda x: BitcastOp(x(3, 4, dtype=np.float32), i32),
    lambda x: QuantizeOp(x(3, 4), x(4, low=0.01, high=0.03), x.whole(4, dtype=np.int8), i8),
    lambda x: DequantizeOp(x.whole(3, 4, dtype=np.int8), x(3, 1)),
    lambda x: UnpackBitsOp(x.whole(6, end=256, dtype=np.uint8), element_type_of(np.dtype("int4")), (3, 4)),
    lambda x: UnpackBitsOp(x.whole(6, end=256, dtype=np.uint8), element_type_of(np.dtype("u1")), (4, 4), width=3),
    lambda x: WhereOp(x.whole(3, 1, end=2, dtype=np.bool_), x(4), x(3, 4)),
    lambda x: BlockWeightOp(
        x.whole(3, 8, end=256, dtype=np.uint8), x(3, 2, dtype=np.float32), bits=8, block=4, depth=7
    ),
    lambda x: StackedBlockWeightOp(
        x.whole(end=2),
        *(x.whole(128, 4, end=256, dtype=np.uint8), x(128, 1, dtype=np.float32)),
        rows=64,
        bits=8,
        block=4,
        depth=3,
    ),
    lambda x: MatmulOp(x(3, 2), x(2, 4)),
    lambda x: MatmulOp(x(2, 1, 4, 3), x(3, 5, 4), transpose_a=True, transpose_b=True),
    lambda x: ConvOp(x(2, 3, 6, 7), x(4, 3, 2, 3), x(4), strides=[2, 1], pads=[1, 0, 2, 1], dilations=[1, 2]),
    lambda x: ConvOp(x(2, 6, 7, 4), x(6, 2, 3, 2), groups=2, layout="NHWC"),
    lambda x: ConvTransposeOp(x(2, 3, 3, 4), x(3, 2, 2, 3), x(2), strides=[2, 1], pads=[1, 0, 0, 1], dilations=[2, 1]),
    lambda x: ConvTransposeOp(x(2, 3, 4), x(4, 2, 2), strides=[3], output_padding=[1], groups=2, layout="NHWC"),
    partial(_pool, MaxPoolOp),
    partial(_pool, AvgPoolOp),
    partial(_pool, MaxPoolIndexOp),
    lambda x: AvgPoolOp(x(2, 3, 5), [2], pads=[1, 1], count_include_pad=True),
    lambda x: LrnOp(x(2, 3, 6), 4, alpha=2.0, layout="NHWC"),
    lambda x: Col2ImOp(x(2, 8, 6), [3, 4], [2, 2]),
    *(partial(_reduced, kind) for kind in REDUCTIONS),
    lambda x: ReduceSumOp(x(2, 3, 4), [0, 1], keepdims=True),
    lambda x: ArgMaxOp(x(2, 5, 3), 1),
    lambda x: ArgMinOp(x(2, 5, 3), 1, keepdims=True, select_last=True),
    lambda x: CumsumOp(x(2, 4, 3), 1, exclusive=True),
    lambda x: CumprodOp(x(2, 4, 3), 0, reverse=True),
    lambda x: TopKOp(x(2, 5, 3), 1, 2),
    lambda x: NonMaxSuppressionOp(
        x(2, 5, 4, dtype=np.float32),
        x(2, 3, 5, dtype=np.float32),
        x.whole(end=1000),
        x(low=0.5, dtype=np.float32),
        rows=4,
    ),
    lambda x: ChosenRowsOp(x.whole(2, 3, 4), x.whole(2, 3, end=5)),
    lambda x: TreeEnsembleOp(x(4, 3), x.whole(2, 3, 2, 2, end=3), x(2, 3, 2, 5), trees=2, depth=1),
    lambda x: SoftmaxOp(x(2, 4, 3), 1),
    lambda x: LogSoftmaxOp(x(2, 4, 3), 2),
    lambda x: LayerNormOp(x(2, 3, 4), x(3, 4), x(4), axis=1),
    lambda x: RmsNormOp(x(2, 3, 4), x(4), axis=2),
    lambda x: RowMomentsOp(x(2, 3, 8), 4),
    lambda x: NormalizeOp(x(2, 3, 8), x(2, 3, 2, 2, low=0.5), epsilon=1e-3),
    lambda x: NormalizeOp(x(3, 8), x(3, 4, 2, low=0.5), epsilon=1e-3, centred=False),
    lambda x: BatchNormOp(x(2, 3, 4), x(4), x(4), x(4), x(4, low=0.5), layout="NHWC"),
    lambda x: InstanceNormOp(x(2, 3, 4, 2), x(3), x(3)),
    lambda x: ReshapeOp(x(2, 3, 4, 5), (2, 12, 1, 5)),
    lambda x: ReshapeOp(x(6, 4), (2, 3, 4)),
    lambda x: TransposeOp(x(2, 3, 4), (2, 0, 1)),
    lambda x: BroadcastToOp(x(3, 1), (2, 3, 4)),
    lambda x: ConcatOp([x(2, 1, 4), x(2, 3, 4), x(2, 2, 4)], 1),
    lambda x: SliceOp(x(4, 7, 5, 3), (0, 1, 4, 0), (4, 7, -1, 2), (1, 2, -2, 1)),
    lambda x: SlideOp(x(2, 5, 3), x(2, 2, 3), 1),
    lambda x: PadOp(x(3, 4, 2), (0, 2, 1), (0, 1, 0)),
    lambda x: PadOp(x(3, 4), (0, 2), (0, 1), "reflect"),
    lambda x: GatherOp(x(3, 4, 5), x.whole(2, 6, end=4), 1),
    lambda x: GatherOp(x(3, 4), x.whole(end=3), 0),
    lambda x: GatherElementsOp(x(3, 4, 5), x.whole(3, 6, 2, end=4), 1),
    lambda x: GatherNdOp(x(2, 3, 4, 5), x.whole(2, 6, 2, end=3), 1),
    lambda x: ScatterNdOp(x(3, 4, 5), x.whole(6, 2, end=3), x(6, 5)),
    lambda x: ScatterElementsOp(x(3, 4, 5), x.whole(3, 6, 2, end=4), x(3, 6, 2), 1, "add"),
    lambda x: ScatterElementsOp(x(3, 4, 5), x.whole(1, 4, 5, end=4), x(1, 4, 5), 1),
    lambda x: ResizeOp(x(2, 3, 4), (2, 6, 5), mode="linear"),
    lambda x: SampleOp(x(2, 3, 4, 5), x(2, 3, 6, 2, high=4)),
    lambda x: SampleOp(x(2, 5, 3), x(2, 4, 1, high=5), layout="NHWC"),
    lambda x: RoiAlignOp(x(2, 3, 6, 5), x.whole(4, end=2), x.boxes(4), (2, 3)),
    lambda x: RoiPoolOp(x(2, 6, 5, 3), x.whole(4, end=2), x.boxes(4), (2, 3), layout="NHWC"),
    lambda x: AttentionOp(x(2, 3, 4, 2), x(2, 3, 5, 2), x(2, 3, 5, 4), x(4, 5), scale=0.7),
    lambda x: AttentionOp(x(2, 4, 3, 2), x(2, 2, 3, 2), x(2, 2, 3, 4), scale=0.7, causal=True),
    _linear_attention,
    partial(_linear_attention, heads=4, decay=1, beta=1),
    _lstm,
    lambda x: GruOp(*_recurrent(x, 3, 2), hidden=HIDDEN, direction="bidirectional"),
    lambda x: RnnOp(*_recurrent(x, 1, 1), hidden=HIDDEN, direction="reverse"),
    lambda x: UnpackOp(x(1, 3, 4), PanelPacking(4), (3, 4)),
]
NOT_SO_SIMPLE: dict[type[GraphOp], str] = {
    **dict.fromkeys((ScatterNdOp, ScatterElementsOp), "elements of x go to the same places, but updates to any"),
    **dict.fromkeys((ConvOp, AttentionOp, LinearAttentionOp), "groups of channels or heads; rows that are causal"),
    GruOp: "one direction of two is another op",
    UnpackOp: "how a weight is packed is the packing's affair",
}
"""Ops with axes that are read element by element, but where the result's axis can't be worked off so; and why."""
WITHOUT_OPERANDS = {ConstantOp, EmptyOp, FailOp, IotaOp, SizesOp, WeightOp}


def cases_of_elementwise() -> Iterator[Case]:
    """One of each elementwise op whose operands say all, with operands that broadcast."""
    for kind in Graph.operations:
        if issubclass(kind, UnaryOp) and kind is not CastOp:
            yield partial(_elementwise, kind, [(3, 4)])
        elif issubclass(kind, BinaryOp):
            yield partial(_elementwise, kind, [(3, 4), (4,)])


def _elementwise(kind: type[Any], shapes: Sequence[Sequence[int]], x: Operands) -> GraphOp:
    draws: list[Callable[..., SSAValue]] = [
        partial(x, low=0.1),
        partial(x.whole, end=7, dtype=np.int32),
        partial(x.whole, end=7, dtype=np.uint32),
        partial(x.whole, end=2, dtype=np.bool_),
    ]
    for draw in draws:
        try:
            return kind(*(draw(*shape) for shape in shapes))
        except VerifyException:
            continue
    raise AssertionError(f"{kind.name} takes none of these types")


ALL = [*CASES, *cases_of_elementwise()]


def named(case: Case) -> str:
    """The name of the case's op."""
    return case(Operands()).name


def reached(axis: Axis, place: int, sizes: Sequence[int]) -> set[int]:
    """The places along the result's axis `axis.to` that an element at a place along `axis` may go into."""
    assert axis.to is not None
    all_places = range(sizes[axis.to])
    match axis:
        case Kept() | Numbered():
            return {place}
        case Strided():
            return {i for i in all_places if axis.start + i * axis.step == place}
        case Placed():
            return {place + axis.before}
        case Spread():
            met = {place * axis.stride - axis.before + tap * axis.dilation for tap in range(axis.taps)}
            return met.intersection(all_places)
        case Windowed():
            taps = [tap * axis.dilation - axis.before for tap in range(axis.taps)]
            return {i for i in all_places if place - i * axis.stride in taps}
        case _:
            return {*all_places}


def changes(op: GraphOp, number: int, dim: int, place: int, result: int, x: Operands) -> Array:
    """Which elements of a result hang on an operand's slice at a place along an axis."""
    found = np.zeros(shape_of(op.results[result]), np.bool_)
    for _ in range(TRIALS):
        arrays = arrays_of(op, x)
        before = op.evaluate(*arrays)[result]
        slices = (*[slice(None)] * dim, place)
        arrays[number] = arrays[number].copy()
        arrays[number][slices] = x.draws[op.operands[number]]()[slices]
        after = op.evaluate(*arrays)[result]
        found |= (before != after) & ((before == before) | (after == after))
    return found


def arrays_of(op: GraphOp, x: Operands) -> list[Array]:
    """An array for each operand."""
    return [x.draws[operand]() for operand in op.operands]


def along(mask: Array, axis: int) -> set[int]:
    """The places along an axis where anything is true."""
    return {int(place) for place in np.flatnonzero(mask.any(tuple({*range(mask.ndim)} - {axis})))}


@pytest.mark.parametrize("case", ALL, ids=named)
def test_elements_go_where_the_axes_say(case: Case) -> None:
    x = Operands()
    op = case(x)
    for result, value in enumerate(op.results):
        sizes, axes = shape_of(value), op.operand_axes(result)
        assert [len(each) for each in axes] == [len(shape_of(operand)) for operand in op.operands]
        for number, operand in enumerate(op.operands):
            for dim, axis in enumerate(axes[number]):
                masks = [changes(op, number, dim, place, result, x) for place in range(shape_of(operand)[dim])]
                if not any(mask.any() for mask in masks):  # the result doesn't hang on this operand
                    continue
                if isinstance(axis, MappedAxis):
                    found = [along(mask, axis.to) for mask in masks]
                    assert found == [reached(axis, place, sizes) for place in range(len(masks))], (number, dim)
                elif isinstance(axis, Reduced):
                    assert axis.to is None or sizes[axis.to] == 1
                if type(op) not in NOT_SO_SIMPLE and not isinstance(axis, Kept | Numbered) and len(masks) > 1:
                    alone = [
                        to
                        for to, size in enumerate(sizes)
                        if size == len(masks) and all(along(mask, to) <= {place} for place, mask in enumerate(masks))
                    ]
                    assert not alone, f"axis {dim} of operand {number} is kept as axis {alone} of result {result}"


def parts(axes: Sequence[Axis], to: int, place: int) -> tuple[slice, ...]:
    """Of an operand with such axes, what is needed for the result's elements at a place along an axis."""
    kept = slice(place, place + 1)
    return tuple(kept if isinstance(axis, Kept) and axis.to == to else slice(None) for axis in axes)


@pytest.mark.parametrize("case", ALL, ids=named)
def test_an_op_on_elements_that_are_kept_makes_those_of_the_result(case: Case) -> None:
    x = Operands()
    op = case(x)
    arrays = arrays_of(op, x)
    for result, expected in enumerate(op.evaluate(*arrays)):
        axes = op.operand_axes(result)
        for to, size in enumerate(expected.shape):
            meeting = [axis for each in axes for axis in each if axis.to == to]
            if not all(isinstance(axis, Kept | Repeated) for axis in meeting) or Kept(to) not in meeting:
                continue
            for place in range(size):
                own = [array[parts(each, to, place)] for array, each in zip(arrays, axes, strict=True)]
                values = [
                    create_ssa_value(tensor(type_of(value).element_type, array.shape))
                    for value, array in zip(op.operands, own, strict=True)
                ]
                new = with_operands(op, values, **op.resized(to, 1))
                (found,) = new.evaluate(*own)[result : result + 1]
                assert shape_of(new.results[result]) == found.shape
                np.testing.assert_allclose(found, np.take(expected, [place], to), rtol=1e-12)


def test_every_op_has_a_case() -> None:
    tried = {type(case(Operands())) for case in ALL}
    untried = {*WITHOUT_OPERANDS, ExternalCallOp}  # which says nothing: a user's function
    untried |= {ExtractRowsOp, InsertRowsOp}  # whose rows begin at a scalar of the host; see test/meaning
    assert {kind for kind in Graph.operations if issubclass(kind, GraphOp)} - tried == untried


def test_what_says_nothing_needs_everything() -> None:
    x = Operands()
    assert GraphOp.operand_axes(CumsumOp(x(2, 3), 1)) == [(Whole(None), Whole(None))]
