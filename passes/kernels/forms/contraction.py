"""The form "contraction": a matrix product or channels-last convolution with its fused ops.

The body is, in order: views of the operands; elementwise ops that compute the left-hand side, or an op that normalises
its rows; an unpack and a cast of a packed weight; the root; elementwise ops of the root's shape, or slices that are the
halves of its columns with elementwise ops of their shape; and optionally a max pool, means of rows, or the moments of
rows. Among the elementwise ops behind the root may be some that normalise rows of an operand. choose-schedule,
pack-weights and the code generator read kernels through this one form.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xdsl.ir import Operation, SSAValue

from ....dialects.errors import CompileError
from ....dialects.graph.base import ElementwiseOp, describe
from ....dialects.graph.ops.block_weight import BlockWeight
from ....dialects.graph.ops.contraction import ConvOp, MatmulOp
from ....dialects.graph.ops.conversion import CastOp
from ....dialects.graph.ops.normalization import NormalizeOp, RowMomentsOp
from ....dialects.graph.ops.reduction import ReduceMeanOp
from ....dialects.graph.ops.structure import ConstantOp, KernelOp, YieldOp
from ....dialects.graph.ops.windows import MaxPoolOp
from ....dialects.graph.packing.unpack import UnpackOp
from ....dialects.graph.values import ints, shape_of
from ...geometry.axis_halves import halves_of


@dataclass(frozen=True)
class ContractionForm:
    """A kernel's root and its fused ops: prologue of the left-hand side, epilogue, and a final pool or mean.

    `rhs` is the convolution's weight or the right-hand side, possibly a view; if `unpack` is not None, the kernel
    argument that holds its panels. Its elements may be narrower than the root's, with a cast in the body. `bias` is the
    convolution's bias. `blocks` dequantises the right-hand side, a panel at a time. `means` are those of the rows of
    pixels of `stored`, an additional result. `halves` are those of the root's columns, if the epilogue starts with
    them: then half as many columns are stored. `normalised` are the rows of the left-hand side, if they are: `lhs` is
    what they are before. `moments` are those of rows of `stored`, an additional result.
    """

    root: MatmulOp | ConvOp
    lhs: SSAValue
    rhs: SSAValue
    unpack: UnpackOp | None
    bias: SSAValue | None
    prologue: tuple[Operation, ...]
    epilogue: tuple[Operation, ...]
    pool: MaxPoolOp | None
    blocks: BlockWeight | None = None
    means: ReduceMeanOp | None = None
    halves: tuple[SSAValue, ...] = ()
    normalised: NormalizeOp | None = None
    moments: RowMomentsOp | None = None

    @property
    def stored(self) -> SSAValue:
        """The value that tiles store: the kernel's result, or the operand of its pool."""
        return self.epilogue[-1].results[0] if self.epilogue else self.root.results[0]

    @property
    def rows(self) -> SSAValue:
        """The left-hand side as it is in memory, if a cast is all that makes it of that."""
        wide = self.lhs.owner
        return wide.x if isinstance(wide, CastOp) and self.prologue == (wide,) else self.lhs

    @property
    def normalises(self) -> tuple[NormalizeOp, ...]:
        """Ops of the epilogue that normalise rows of an operand."""
        return tuple(op for op in self.epilogue if isinstance(op, NormalizeOp))


def contraction_form(kernel: KernelOp) -> ContractionForm:
    """The form of a contraction kernel. Raises CompileError for any other body."""
    ops = [op for op in kernel.body.block.ops if not isinstance(op, YieldOp)]
    if (roots := sum(isinstance(op, MatmulOp | ConvOp) for op in ops)) != 1:
        raise CompileError(f"{describe(kernel)} @{kernel.sym_name.data}: {roots} roots in one contraction")
    return contraction_of(ops)


def contraction_of(ops: Sequence[Operation]) -> ContractionForm:
    """The form of ops in order, one of which is a root. Raises CompileError for other ops."""
    root = next(op for op in ops if isinstance(op, MatmulOp | ConvOp))
    after = [*ops[ops.index(root) + 1 :]]
    before = ops[: ops.index(root)]
    weight = root.rhs if isinstance(root, MatmulOp) else root.weight
    cast = weight.owner if isinstance(weight.owner, CastOp) and weight.owner.parent is root.parent else None
    if cast is not None:
        weight = cast.operands[0]
    # A cast of weights that other kernels need too may stand here without users.
    prologue = tuple(op for op in before if isinstance(op, ElementwiseOp) and op is not cast and op.results[0].uses)
    moments = after.pop() if after and isinstance(after[-1], RowMomentsOp) else None
    means = after.pop() if after and isinstance(after[-1], ReduceMeanOp) else None
    pool = after.pop() if after and isinstance(after[-1], MaxPoolOp) else None
    halves = tuple(op.result for op in halves_of(root.result, after))
    epilogue = tuple(op for op in after if not isinstance(op, ConstantOp) and op.results[0] not in halves)
    shape = shape_of(halves[0] if halves else root.results[0])
    for op in epilogue:
        if not isinstance(op, ElementwiseOp | NormalizeOp) or shape_of(op.results[0]) != shape:
            raise CompileError(f"{describe(op)}: cannot be fused into a contraction")
    unpack = weight.owner if isinstance(weight.owner, UnpackOp) else None
    lhs = root.lhs if isinstance(root, MatmulOp) else root.x
    normalised = lhs.owner if isinstance(lhs.owner, NormalizeOp) and lhs.owner.parent is root.parent else None
    lhs = lhs if normalised is None else normalised.x
    bias = root.bias if isinstance(root, ConvOp) else None
    rhs = unpack.packed if unpack is not None else weight
    pooled = pool if isinstance(pool, MaxPoolOp) else None
    means = means if isinstance(means, ReduceMeanOp) else None
    moments = moments if isinstance(moments, RowMomentsOp) else None
    blocks = rhs.owner if isinstance(rhs.owner, BlockWeight) and rhs.owner.parent is root.parent else None
    return ContractionForm(
        root, lhs, rhs, unpack, bias, prologue, epilogue, pooled, blocks, means, halves, normalised, moments
    )


@dataclass(frozen=True)
class ConvGeometry:
    """A channels-last convolution with two spatial dimensions (a 1-D one has height 1)."""

    batch: int
    height: int
    width: int
    channels: int
    out_height: int
    out_width: int
    filters: int
    kernel: tuple[int, int]
    stride: tuple[int, int]
    pad: tuple[int, int]  # before the first row and column
    dilation: tuple[int, int]
    groups: int

    @property
    def depth(self) -> int:
        """Length of the contracted dimension: taps times channels of a group."""
        return self.kernel[0] * self.kernel[1] * self.channels // self.groups

    @property
    def turned(self) -> ConvGeometry:
        """Rows and columns exchanged: that of buffers with exchanged strides, if filters have one row or one column."""
        pairs = {name: getattr(self, name)[::-1] for name in ("kernel", "stride", "pad", "dilation")}
        sizes = {"height": self.width, "width": self.height}
        return replace(self, out_height=self.out_width, out_width=self.out_height, **sizes, **pairs)

    @property
    def pointwise(self) -> bool:
        """Whether it has one tap that never leaves the image."""
        if self.kernel != (1, 1) or self.pad != (0, 0):
            return False
        last = ((self.out_height - 1) * self.stride[0], (self.out_width - 1) * self.stride[1])
        return last[0] < self.height and last[1] < self.width


def conv_geometry(op: ConvOp) -> ConvGeometry:
    """The sizes of a channels-last convolution of rank 1 or 2."""
    x, w, y = shape_of(op.x), shape_of(op.weight), shape_of(op.results[0])
    spatial = len(x) - 2

    def pair(values: tuple[int, ...], fill: int) -> tuple[int, int]:
        return (values[0], values[1]) if spatial == 2 else (fill, values[0])

    height, width = pair(x[1:-1], 1)
    out_height, out_width = pair(y[1:-1], 1)
    return ConvGeometry(
        batch=x[0],
        height=height,
        width=width,
        channels=x[-1],
        out_height=out_height,
        out_width=out_width,
        filters=w[0],
        kernel=pair(w[2:], 1),
        stride=pair(ints(op.strides), 1),
        pad=pair(ints(op.pads)[:spatial], 0),
        dilation=pair(ints(op.dilations), 1),
        groups=op.groups.value.data,
    )
