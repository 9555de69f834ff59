"""Random graphs, for tests that compare a module's meaning before and after passes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from graph_modules import Graph
from xdsl.ir import Block, SSAValue

from mini_infer.dialects.graph.base import GraphOp
from mini_infer.dialects.graph.ops.activation import ClipOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, ConvTransposeOp, MatmulOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, DivOp, MulOp, SubOp
from mini_infer.dialects.graph.ops.indexing import GatherOp
from mini_infer.dialects.graph.ops.movement import BroadcastToOp, ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from mini_infer.dialects.graph.ops.normalization import BatchNormOp, LayerNormOp
from mini_infer.dialects.graph.ops.reduction import ReduceMaxOp, ReduceMeanOp, ReduceSumOp, SoftmaxOp
from mini_infer.dialects.graph.ops.resize import ResizeOp
from mini_infer.dialects.graph.ops.unary import NegOp, ReluOp, SigmoidOp, TanhOp
from mini_infer.dialects.graph.ops.windows import AvgPoolOp, LrnOp, MaxPoolOp
from mini_infer.dialects.graph.values import shape_of


class RandomGraph(Graph):
    """Grows op by op; every step picks an op that fits the values there are."""

    def __init__(self, seed: int) -> None:
        super().__init__((1, 6, 8, 6), (2, 4, 6), (1, 6, 1, 1))
        self.random = np.random.default_rng(seed)
        self.values = list(self.inputs)

    def add(self, op: GraphOp) -> None:
        """Adds an op and remembers its result."""
        self.values.append(self.insert(op))

    def some(self, shape: tuple[int, ...]) -> SSAValue:
        """A constant; sometimes one number for all elements."""
        if self.random.random() < 0.2:
            return self.constant(np.full(shape, self.random.choice([0.0, 1.0, 2.0])))
        return self.constant(self.random.standard_normal(shape))

    def integer(self, low: int, high: int) -> int:
        """A number in [low, high)."""
        return int(self.random.integers(low, high))

    def pick(self, rank: int | None = None) -> SSAValue:
        """A value, the latest ones most often."""
        fitting = [value for value in self.values if rank is None or len(shape_of(value)) == rank]
        return fitting[-1 - min(int(self.random.exponential(2)), len(fitting) - 1)]

    def grow(self, steps: int) -> list[SSAValue]:
        """Adds so many ops; gives the values that nothing uses."""
        makers: dict[Callable[[], None], int] = {
            self.unary: 3,
            self.binary: 3,
            self.with_constant: 3,
            self.convolution: 4,
            self.transposed_convolution: 1,
            self.pool: 1,
            self.batch_norm: 2,
            self.reshape: 4,
            self.transpose: 4,
            self.concat: 2,
            self.slice: 3,
            self.pad: 1,
            self.reduce: 2,
            self.along_axis: 1,
            self.matmul: 3,
            self.gather: 1,
            self.resize: 1,
            self.broadcast: 1,
        }
        choices = [maker for maker, weight in makers.items() for _ in range(weight)]
        for _ in range(steps):
            choices[self.integer(0, len(choices))]()
        return [value for value in self.values if not value.uses and not isinstance(value.owner, Block)]

    def unary(self) -> None:
        kind = (ReluOp, TanhOp, SigmoidOp, NegOp, ClipOp)[self.integer(0, 5)]
        self.add(kind(self.pick()))

    def binary(self) -> None:
        x = self.pick()
        same = [value for value in self.values if shape_of(value) == shape_of(x)]
        y = same[self.integer(0, len(same))]
        self.add((AddOp, SubOp, MulOp)[self.integer(0, 3)](x, y))

    def with_constant(self) -> None:
        x = self.pick()
        shape = tuple(size if self.random.random() < 0.5 else 1 for size in shape_of(x))
        c = self.some(shape[self.integer(0, len(shape) + 1) :])
        if self.random.random() < 0.2 and not isinstance(x.owner, Block):
            self.add(DivOp(x, self.constant(2.0)))
        else:
            self.add((AddOp, SubOp, MulOp)[self.integer(0, 3)](*((x, c) if self.random.random() < 0.7 else (c, x))))

    def convolution(self) -> None:
        x = self.pick(4)
        _, channels, *space = shape_of(x)
        groups = self.integer(1, 3) if channels % 2 == 0 else 1
        outputs, kernel = 2 * self.integer(1, 5), [min(self.integer(1, 4), size) for size in space]
        weight = self.some((outputs, channels // groups, *kernel))
        bias = self.some((outputs,)) if self.random.random() < 0.5 else None
        pads = [self.integer(0, 2) for _ in range(4)] if self.random.random() < 0.5 else None
        self.add(ConvOp(x, weight, bias, strides=[self.integer(1, 3)] * 2, pads=pads, groups=groups))

    def transposed_convolution(self) -> None:
        x = self.pick(4)
        channels = shape_of(x)[1]
        groups = self.integer(1, 3) if channels % 2 == 0 else 1
        weight = self.some((channels, self.integer(1, 4), 2, 2))
        if max(shape_of(x)[2:]) < 12:
            self.add(ConvTransposeOp(x, weight, strides=[2, 2], groups=groups))

    def pool(self) -> None:
        x = self.pick(4)
        kernel = [min(2 + self.integer(0, 5), size) for size in shape_of(x)[2:]]
        kind = (MaxPoolOp, AvgPoolOp)[self.integer(0, 2)]
        self.add(kind(x, kernel, strides=[1, 2]) if self.random.random() < 0.8 else LrnOp(x, 3))

    def batch_norm(self) -> None:
        x = self.pick(4)
        channels = (shape_of(x)[1],)
        scale, bias, mean = (self.some(channels) for _ in range(3))
        variance = self.constant(self.random.uniform(0.5, 2, channels))
        self.add(BatchNormOp(x, scale, bias, mean, variance))

    def reshape(self) -> None:
        x = self.pick()
        shape = list(shape_of(x))
        at = self.integer(0, len(shape))
        match self.integer(0, 4):
            case 0 if at + 1 < len(shape) and len(shape) > 2:
                shape[at : at + 2] = [shape[at] * shape[at + 1]]
            case 1 if shape[at] % 2 == 0 and len(shape) < 5:
                shape[at : at + 1] = [2, shape[at] // 2] if self.random.random() < 0.5 else [shape[at] // 2, 2]
            case 2 if len(shape) < 5:
                shape.insert(at, 1)
            case _ if 1 in shape and len(shape) > 2:
                shape.remove(1)
            case _:
                pass
        self.add(ReshapeOp(x, shape))

    def transpose(self) -> None:
        x = self.pick()
        self.add(TransposeOp(x, [int(dim) for dim in self.random.permutation(len(shape_of(x)))]))

    def concat(self) -> None:
        x = self.pick()
        axis = self.integer(0, len(shape_of(x)))
        others = {dim: size for dim, size in enumerate(shape_of(x)) if dim != axis}
        fitting = [value for value in self.values if len(shape_of(value)) == len(shape_of(x))]
        fitting = [value for value in fitting if all(shape_of(value)[dim] == others[dim] for dim in others)]
        other = fitting[self.integer(0, len(fitting))] if self.random.random() < 0.7 else self.some(shape_of(x))
        self.add(ConcatOp([x, other], axis))

    def slice(self) -> None:
        x = self.pick()
        starts, stops, steps = list[int](), list[int](), list[int]()
        for size in shape_of(x):
            start = self.integer(0, size) if self.random.random() < 0.4 else 0
            starts.append(start)
            stops.append(self.integer(start, size) + 1 if start else size)
            steps.append(self.integer(1, 3) if self.random.random() < 0.2 else 1)
        self.add(SliceOp(x, starts, stops, steps))

    def pad(self) -> None:
        x = self.pick()
        low, high = ([self.integer(0, 2) for _ in shape_of(x)] for _ in range(2))
        self.add(PadOp(x, low, high, value=float(self.integer(0, 2))))

    def reduce(self) -> None:
        x = self.pick()
        axes = [dim for dim in range(len(shape_of(x))) if self.random.random() < 0.4]
        keepdims = self.random.random() < 0.6 or len(shape_of(x)) - len(axes) < 2
        self.add((ReduceMeanOp, ReduceMaxOp, ReduceSumOp)[self.integer(0, 3)](x, axes, keepdims))

    def along_axis(self) -> None:
        x = self.pick()
        axis = self.integer(0, len(shape_of(x)))
        if self.random.random() < 0.5:
            self.add(SoftmaxOp(x, axis))
        else:
            self.add(LayerNormOp(x, self.some(shape_of(x)[axis:]), axis=axis))

    def matmul(self) -> None:
        x = self.pick()
        if len(shape_of(x)) < 2:
            return
        first, second = (bool(self.random.random() < 0.3) for _ in range(2))
        depth = shape_of(x)[-2 if first else -1]
        shape = (self.integer(1, 6), depth) if second else (depth, self.integer(1, 6))
        self.add(MatmulOp(x, self.some(shape), first, second))

    def gather(self) -> None:
        x = self.pick()
        axis = self.integer(0, len(shape_of(x)))
        size = shape_of(x)[axis]
        match self.integer(0, 3):
            case 0 if len(shape_of(x)) > 2:
                indices = np.array(self.integer(-size, size))
            case 1:
                indices = np.arange(size)[self.integer(0, size) :]
            case _:
                indices = self.random.integers(-size, size, 2)
        self.add(GatherOp(x, self.constant(indices), axis))

    def resize(self) -> None:
        x = self.pick(4)
        n, c, *space = shape_of(x)
        if max(space) < 12:
            self.add(ResizeOp(x, (n, c, *(size * self.integer(1, 3) for size in space)), mode="linear"))

    def broadcast(self) -> None:
        x = self.pick()
        shape = tuple(2 if size == 1 and self.random.random() < 0.3 else size for size in shape_of(x))
        self.add(BroadcastToOp(x, (1, *shape) if self.random.random() < 0.2 and len(shape) < 4 else shape))
