"""The rules of fusion: which ops become one kernel, of which family, and what stays apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from graph_runs import Model
from xdsl.dialects.builtin import f64
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.activation import GeluOp
from mini_infer.dialects.graph.ops.attention import AttentionOp
from mini_infer.dialects.graph.ops.block_weight import BlockWeightOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp, SubOp
from mini_infer.dialects.graph.ops.movement import ReshapeOp, SliceOp, TransposeOp
from mini_infer.dialects.graph.ops.recurrence import LstmOp
from mini_infer.dialects.graph.ops.reduction import SoftmaxOp
from mini_infer.dialects.graph.ops.unary import ExpOp, ReluOp, SigmoidOp, TanhOp
from mini_infer.dialects.graph.ops.windows import LrnOp, MaxPoolOp
from mini_infer.dialects.kernel.targets import CpuAttr, GpuAttr
from mini_infer.passes.kernels.fusion import LONGEST_CHAIN, external_operands, form_groups
from mini_infer.passes.kernels.schedules import fusion_rules

Body = Callable[[Model], SSAValue | Sequence[SSAValue]]
KIB = 1 << 10


def groups(
    body: Body, *, fuse: bool = True, l2: int = 1024 * KIB, target: CpuAttr | GpuAttr | None = None
) -> list[str]:
    """The groups of a graph in order, such as "contraction: conv relu"."""
    m = Model()
    results = body(m)
    m.outputs("y", [results] if isinstance(results, SSAValue) else results)
    m.finish()
    formed = form_groups(m.main.body.block, fusion_rules(target or CpuAttr.of(l2=l2)) if fuse else None)
    return [f"{g.form}: {' '.join(op.name.removeprefix('graph.') for op in g.ops)}" for g in formed]


def conv(
    m: Model, x: SSAValue, filters: int = 8, kernel: int = 3, *, stride: int = 1, layout: str = "NHWC"
) -> SSAValue:
    channels = 8
    weight = m.weight(filters, channels, kernel, kernel)
    return m(ConvOp(x, weight, strides=(stride, stride), pads=(kernel // 2,) * 4, layout=layout))


def picture(m: Model) -> SSAValue:
    return m.input(1, 8, 8, 8)


# epilogues


def silu_and_residual(m: Model) -> SSAValue:
    """A value that is used twice inside of the group is no obstacle."""
    x = picture(m)
    y = conv(m, x)
    return m(AddOp(m(MulOp(y, m(SigmoidOp(y)))), x))


def two_values_leave(m: Model) -> list[SSAValue]:
    y = conv(m, picture(m))
    return [m(ReluOp(y)), m(TanhOp(y))]


def second_use_outside(m: Model) -> list[SSAValue]:
    """The relu's value is returned, so the group ends there."""
    y = m(ReluOp(conv(m, picture(m))))
    return [y, m(TanhOp(y))]


def residual_through_others(m: Model) -> SSAValue:
    """What is added depends on the convolution by a way outside of its group; it can join the softmax."""
    y = conv(m, picture(m))
    other = m(SoftmaxOp(m(ReshapeOp(y, (1, 8, 8, 8))), 3))
    return m(AddOp(y, other))


def two_branches(m: Model) -> SSAValue:
    """The sum goes to the second convolution, behind which both of its operands are known."""
    x = picture(m)
    return m(ReluOp(m(AddOp(conv(m, x), conv(m, x)))))


def heavy_roots_first(m: Model) -> SSAValue:
    x = m(TanhOp(m(ExpOp(picture(m)))))
    return m(AddOp(conv(m, picture(m)), x))


def larger_result(m: Model) -> SSAValue:
    return m(AddOp(m(ReluOp(conv(m, picture(m)))), m.input(3, 1, 8, 8, 8)))


def other_type(m: Model) -> SSAValue:
    """Sums wait beside the result where they can't wait in its place."""
    return m(CastOp(m(ReluOp(conv(m, picture(m)))), f64))


def rows_change_type(m: Model) -> SSAValue:
    return m(CastOp(m(SoftmaxOp(picture(m), 3)), f64))


def no_epilogue_behind(m: Model) -> list[SSAValue]:
    lstm = LstmOp(m.input(3, 1, 4), m.weight(1, 20, 4), m.weight(1, 20, 5), hidden=5)
    m(lstm)
    return [m(ReluOp(m(LrnOp(picture(m), 3, layout="NHWC")))), m(ReluOp(lstm.y))]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (silu_and_residual, ["contraction: conv sigmoid mul add"]),
        (two_values_leave, ["contraction: conv", "map: relu", "map: tanh"]),
        (second_use_outside, ["contraction: conv relu", "map: tanh"]),
        (residual_through_others, ["contraction: conv", "rows: softmax add"]),
        (two_branches, ["contraction: conv", "contraction: conv add relu"]),
        (heavy_roots_first, ["map: exp tanh", "contraction: conv add"]),
        (larger_result, ["contraction: conv relu", "map: add"]),
        (other_type, ["contraction: conv relu cast"]),
        (rows_change_type, ["rows: softmax cast"]),
        (no_epilogue_behind, ["recurrence: lstm", "windows: lrn", "map: relu", "map: relu"]),
    ],
)
def test_epilogues(body: Body, expected: list[str]) -> None:
    assert groups(body) == expected


def test_how_far_fusion_looks() -> None:
    """A group may hold several values on the way to one result, but only for so many ops."""

    def diamond(length: int) -> Body:
        def body(m: Model) -> SSAValue:
            x = y = m(ReluOp(m.input(4)))
            for _ in range(length):
                y = m(TanhOp(y))
            return m(AddOp(x, y))

        return body

    assert len(groups(diamond(LONGEST_CHAIN - 1))) == 1
    assert groups(diamond(LONGEST_CHAIN))[0] == "map: relu"


# the halves of a product's columns


def joined(m: Model, product: SSAValue) -> SSAValue:
    gate, value = (m(SliceOp(product, (0, at), (3, at + 6), (1, 1))) for at in (0, 6))
    return m(MulOp(gate, value))


def joined_halves(dtype: Any) -> Body:
    return lambda m: joined(m, m(MatmulOp(m.input(3, 8, dtype=dtype), m.weight(8, 12, dtype=dtype))))


def joined_halves_of_blocks(m: Model) -> SSAValue:
    blocks = m(
        BlockWeightOp(m.weight(12, 16, dtype=np.uint8), m.weight(12, 1), None, bits=8, block=16, depth=16, middle=0)
    )
    return joined(m, m(MatmulOp(m.input(3, 16), blocks, transpose_b=True)))


APART = ["map: slice", "map: slice", "map: mul"]


@pytest.mark.parametrize(
    ("body", "target", "expected"),
    [
        (joined_halves(np.float32), CpuAttr.of(), ["contraction: matmul slice slice mul"]),
        (joined_halves(np.int64), CpuAttr.of(), ["contraction: matmul", *APART]),
        (joined_halves_of_blocks, CpuAttr.of(), ["contraction: block_weight matmul slice slice mul"]),
        (joined_halves(np.float32), GpuAttr.of(), ["contraction: matmul", *APART]),
    ],
)
def test_halves(body: Body, target: CpuAttr | GpuAttr, expected: list[str]) -> None:
    assert groups(body, target=target) == expected


# what stands in front


def prologue(weight: tuple[int, int], *, transposed: bool = False) -> Body:
    def body(m: Model) -> SSAValue:
        x = m(ReluOp(m(AddOp(m.input(16, 16), m.input(16)))))
        return m(GeluOp(m(MatmulOp(x, m.weight(*weight), transpose_a=transposed))))

    return body


def prologue_and_others(m: Model) -> SSAValue:
    """Only what has the whole shape is taken along: the exponential has a kernel of its own."""
    x = m(AddOp(m(TanhOp(m.input(16, 16))), m(ExpOp(m.input(16)))))
    return m(MatmulOp(x, m.weight(16, 16)))


def pointwise(stride: int, kernel: int = 1) -> Body:
    return lambda m: conv(m, m(ReluOp(picture(m))), kernel=kernel, stride=stride)


def of_both_operands(m: Model) -> SSAValue:
    return m(MatmulOp(m(ReluOp(m.input(16, 16))), m(ReluOp(m.input(16, 16)))))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (prologue((16, 16)), ["contraction: add relu matmul gelu"]),
        (prologue((16, 16), transposed=True), ["map: add relu", "contraction: matmul gelu"]),
        (prologue((16, 2000)), ["map: add relu", "contraction: matmul gelu"]),  # weights of 125 KiB
        (prologue_and_others, ["map: exp", "contraction: tanh add matmul"]),
        (pointwise(1), ["contraction: relu conv"]),
        (pointwise(2), ["map: relu", "contraction: conv"]),
        (pointwise(1, kernel=3), ["map: relu", "contraction: conv"]),
        (of_both_operands, ["map: relu", "map: relu", "contraction: matmul"]),
    ],
)
def test_prologues(body: Body, expected: list[str]) -> None:
    assert groups(body, l2=128 * KIB) == expected


def pooled(*, dilation: int = 1, layout: str = "NHWC", read: bool = False) -> Body:
    def body(m: Model) -> list[SSAValue]:
        y = m(ReluOp(conv(m, m.input(1, 32, 32, 8) if layout == "NHWC" else m.input(1, 8, 32, 32), layout=layout)))
        pool = m(MaxPoolOp(y, kernel=(2, 2), strides=(2, 2), dilations=(dilation,) * 2, layout=layout))
        return [pool, m(TanhOp(y))] if read else [pool]

    return body


@pytest.mark.parametrize(
    ("body", "l2", "expected"),
    [
        (pooled(), 32 * KIB, ["contraction: conv relu max_pool"]),
        (pooled(), 64 * KIB, ["contraction: conv relu", "windows: max_pool"]),  # the picture is half the cache
        (pooled(dilation=2), 32 * KIB, ["contraction: conv relu", "windows: max_pool"]),
        (pooled(read=True), 32 * KIB, ["contraction: conv relu", "windows: max_pool", "map: tanh"]),
        (pooled(layout="NCHW"), 32 * KIB, ["contraction: conv", "map: relu", "windows: max_pool"]),
    ],
)
def test_pools(body: Body, l2: int, expected: list[str]) -> None:
    assert groups(body, l2=l2) == expected


# views


def attention_by_heads(m: Model) -> SSAValue:
    parts = [m(TransposeOp(m(ReshapeOp(m.input(1, 6, 8), (1, 6, 2, 4))), (0, 2, 1, 3))) for _ in range(3)]
    return m(ReshapeOp(m(TransposeOp(m(AttentionOp(*parts, scale=1.0)), (0, 2, 1, 3))), (1, 6, 8)))


def attention_turned(m: Model) -> SSAValue:
    """Elements of a row must stay side by side, in the operands as in the result."""
    q, k = m.input(1, 2, 4, 4), m(TransposeOp(m.input(1, 2, 4, 4), (0, 1, 3, 2)))
    return m(TransposeOp(m(AttentionOp(q, q, k, scale=1.0)), (0, 1, 3, 2)))


def product_of_views(m: Model) -> SSAValue:
    part = m(SliceOp(m(ReshapeOp(m(TransposeOp(m.input(4, 6), (1, 0))), (3, 2, 4))), (0, 0, 0), (3, 2, 2), (1, 1, 1)))
    return m(MatmulOp(part, m.input(2, 5)))


def only_a_reshape(m: Model) -> SSAValue:
    return m(MatmulOp(m(ReshapeOp(m.input(24), (4, 6))), m.input(6, 5)))


def read_elsewhere(m: Model) -> list[SSAValue]:
    x = m(TransposeOp(m.input(4, 6), (1, 0)))
    return [m(MatmulOp(x, m.input(4, 5))), m(ExpOp(x))]


def needs_a_copy(m: Model) -> SSAValue:
    """The reshape of a transpose needs a copy; the transpose behind it is a view again."""
    rows = m(ReshapeOp(m(TransposeOp(m.input(2, 6, 4), (0, 2, 1))), (8, 6)))
    return m(MatmulOp(m(TransposeOp(rows, (1, 0))), m.weight(8, 9)))


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (attention_by_heads, ["attention: transpose transpose transpose attention transpose"]),
        (attention_turned, ["map: transpose", "attention: attention", "map: transpose"]),
        (product_of_views, ["contraction: transpose reshape slice matmul"]),
        (only_a_reshape, ["contraction: matmul"]),
        (read_elsewhere, ["map: transpose", "contraction: matmul", "map: exp"]),
        (needs_a_copy, ["map: transpose", "contraction: transpose matmul"]),
    ],
)
def test_views(body: Body, expected: list[str]) -> None:
    assert groups(body) == expected


def test_without_fusion_every_op_stands_alone() -> None:
    for body in (silu_and_residual, prologue((16, 16)), pooled(), attention_by_heads):
        assert all(" " not in group.partition(": ")[2] for group in groups(body, fuse=False))


def test_external_operands_are_in_the_order_of_their_use() -> None:
    m = Model()
    a, b = m.input(4), m.input(4)
    product = m(MulOp(b, m.constant(2.0)))
    total = m(SubOp(product, a))
    assert external_operands([product.owner, total.owner, m(AddOp(total, b)).owner]) == [b, a]  # pyright: ignore
