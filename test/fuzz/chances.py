"""Random graphs with chances to share memory: values read again behind what is made of them, parts of one buffer.

Shapes are small and odd, so that single rows, axes of one and all remainders of vectors come up; many values have the
same shape, so that there is much to write over. Numbers stay tame: what is compared later are bits, and a NaN has many.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np
from graph_runs import Model
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.activation import ClipOp, GeluOp, HardSigmoidOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.ops.conversion import CastOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, GreaterOp, MaxOp, MinOp, MulOp, SubOp, WhereOp
from mini_infer.dialects.graph.ops.indexing import GatherOp, ScatterElementsOp
from mini_infer.dialects.graph.ops.movement import BroadcastToOp, ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from mini_infer.dialects.graph.ops.normalization import BatchNormOp, InstanceNormOp, LayerNormOp, RmsNormOp
from mini_infer.dialects.graph.ops.reduction import (
    CumsumOp,
    LogSoftmaxOp,
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceSumOp,
    SoftmaxOp,
)
from mini_infer.dialects.graph.ops.unary import AbsOp, NegOp, ReluOp, SigmoidOp, TanhOp
from mini_infer.dialects.graph.ops.windows import AvgPoolOp, LrnOp, MaxPoolOp
from mini_infer.dialects.graph.values import element_type_of, element_type_of_value, shape_of

SIZES = (1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 33)
LARGEST = 2500  # elements of one value
SMALL = 64  # elements of a constant in the IR; larger ones are weights
FLOATS = (np.float32, np.float32, np.float32, np.float64, np.float16)
UNARY = (ReluOp, TanhOp, SigmoidOp, NegOp, AbsOp, ClipOp, HardSigmoidOp, GeluOp)
UNARY_OF_INTEGERS = (ReluOp, NegOp, AbsOp)
BINARY = (AddOp, SubOp, MulOp, MinOp, MaxOp)


class Chances:
    """Grows a model op by op; `values` are all there are."""

    def __init__(self, seed: int, steps: int) -> None:
        self.random = np.random.default_rng(seed)
        self.m = Model(seed)
        self.dtype: Any = np.int32 if self.chance(0.08) else FLOATS[self.below(len(FLOATS))]
        rank = 1 + self.below(4)
        shape = self.shape(rank)
        self.values = [self.m.input(*shape, dtype=self.dtype) for _ in range(1 + self.below(2))]
        if self.chance(0.5):
            self.values.append(self.m.input(*self.shape(1 + self.below(4)), dtype=self.dtype))
        # The first step makes a value of the graph's own: nothing is written over an input.
        self.unary()
        makers = [maker for maker, weight in self.makers().items() for _ in range(weight)]
        for _ in range(steps):
            makers[self.below(len(makers))]()
        self.m.outputs("y", self.results())
        self.m.finish()

    def makers(self) -> dict[Callable[[], None], int]:
        """What may come next, and how often it does."""
        any_type: dict[Callable[[], None], int] = {
            self.unary: 3,
            self.binary: 5,
            self.with_constant: 3,
            self.reduce_and_use: 2,
            self.reshape: 2,
            self.transpose: 2,
            self.slice: 2,
            self.split_and_join: 2,
            self.concat: 2,
            self.pad: 1,
            self.gather: 1,
            self.choose: 1,
            self.broadcast: 1,
            self.scatter: 1,
            self.running_sum: 1,
        }
        if np.dtype(self.dtype).kind != "f":
            return any_type
        return {
            **any_type,
            self.norm: 6,
            self.product: 4,
            self.convolution: 3,
            self.window: 2,
            self.batch_norm: 1,
            self.there_and_back: 1,
        }

    # choices

    def below(self, bound: int) -> int:
        return int(self.random.integers(0, bound))

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def shape(self, rank: int) -> tuple[int, ...]:
        """Small and odd."""
        while True:
            shape = tuple(0 if self.chance(0.01) else SIZES[self.below(len(SIZES))] for _ in range(rank))
            if prod(shape) <= LARGEST:
                return shape

    def pick(self, rank: int | None = None) -> SSAValue | None:
        """A value, the latest ones most often; of a rank that is asked for, one with elements."""
        shapes = [shape_of(value) for value in self.values]
        fits = [rank is None or (len(shape) == rank and 0 not in shape) for shape in shapes]
        fitting = [value for value, is_fit in zip(self.values, fits, strict=True) if is_fit]
        return fitting[-1 - min(int(self.random.exponential(2)), len(fitting) - 1)] if fitting else None

    def some(self) -> SSAValue:
        value = self.pick()
        assert value is not None
        return value

    def like(self, x: SSAValue) -> SSAValue:
        """A value of the same shape, perhaps x itself."""
        same = [value for value in self.values if shape_of(value) == shape_of(x)]
        return same[self.below(len(same))]

    def given(self, shape: Sequence[int], low: float = -1.5, high: float = 1.5) -> SSAValue:
        """Numbers that the model comes with."""
        if np.dtype(self.dtype).kind == "i":
            data = self.random.integers(-3, 4, shape).astype(self.dtype)
        else:
            data = self.random.uniform(low, high, shape).astype(self.dtype)
        return self.m.constant(data, self.dtype) if data.size <= SMALL else self.m.weight(data=data)

    def add(self, value: SSAValue) -> SSAValue:
        """Remembers a value that is not too large."""
        if prod(shape_of(value)) <= LARGEST:
            self.values.append(value)
        return value

    def results(self) -> list[SSAValue]:
        """What nothing reads, and some of the rest."""
        made = [value for value in self.values if value not in self.m.main.body.block.args]
        return [value for value in made if not value.uses or self.chance(0.1)] or made[-1:]

    # steps

    def unary(self) -> None:
        kinds = UNARY if np.dtype(self.dtype).kind == "f" else UNARY_OF_INTEGERS
        kind: Any = kinds[self.below(len(kinds))]
        self.add(self.m(kind(self.some())))

    def combine(self, x: SSAValue, y: SSAValue) -> SSAValue:
        kind: Any = BINARY[self.below(len(BINARY))]
        return self.add(self.m(kind(*((x, y) if self.chance(0.5) else (y, x)))))

    def binary(self) -> None:
        x = self.some()
        self.combine(x, self.like(x))

    def with_constant(self) -> None:
        x = self.some()
        shape = [size if self.chance(0.6) else 1 for size in shape_of(x)]
        self.combine(x, self.given(shape[self.below(len(shape) + 1) :]))

    def norm(self) -> None:
        """A norm of x, and often something of both: the chance that a norm of a single row was wrong at."""
        x = self.some()
        shape = shape_of(x)
        if not shape:
            return
        axis = self.below(len(shape))
        match self.below(6):
            case 0:
                y = SoftmaxOp(x, axis)
            case 1:
                y = LogSoftmaxOp(x, axis)
            case 2:
                y = RmsNormOp(x, self.given(shape[axis:]), axis=axis)
            case 3 if len(shape) > 2:
                y = InstanceNormOp(x, self.given(shape[1:2]), self.given(shape[1:2]))
            case _:
                y = LayerNormOp(x, self.given(shape[axis:]), self.given(shape[axis:]), axis=axis)
        value = self.add(self.m(y))
        if self.chance(0.6):
            self.combine(x if self.chance(0.7) else self.like(x), value)

    def running_sum(self) -> None:
        x = self.some()
        if shape_of(x):
            value = self.m(CumsumOp(x, self.below(len(shape_of(x))), self.chance(0.3), self.chance(0.3)))
            self.add(value if np.dtype(self.dtype).kind != "f" else self.m(TanhOp(value)))

    def reduce_and_use(self) -> None:
        """A reduction over some axes, and what is left of x beside it."""
        x = self.some()
        axes = [axis for axis in range(len(shape_of(x))) if self.chance(0.5)]
        kinds: Any = (ReduceMeanOp, ReduceMaxOp, ReduceSumOp) if np.dtype(self.dtype).kind == "f" else (ReduceMaxOp,)
        keep = self.chance(0.6)
        value = self.add(self.m(kinds[self.below(len(kinds))](x, axes, keep)))
        if keep and self.chance(0.6):
            self.combine(x, value)

    def product(self) -> None:
        x = self.some()
        shape = shape_of(x)
        if len(shape) < 2:
            return
        columns = SIZES[self.below(len(SIZES))]
        if self.chance(0.3):
            order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
            value = self.m(MatmulOp(x, self.m(TransposeOp(self.like(x), order))))
        else:
            value = self.m(MatmulOp(x, self.given((shape[-1], columns), -0.5, 0.5)))
        self.epilogue(self.add(value))

    def epilogue(self, value: SSAValue) -> None:
        """What is fused behind a product or a convolution: constants, functions, residuals."""
        for _ in range(self.below(3)):
            if self.chance(0.4):
                value = self.combine(value, self.like(value)) if value in self.values else value
            elif self.chance(0.5):
                value = self.combine(value, self.given(shape_of(value)[-1:]))
            else:
                kind: Any = UNARY[self.below(len(UNARY))]
                value = self.add(self.m(kind(value)))

    def convolution(self) -> None:
        x = self.pick(4)
        if x is None:
            return
        channels, *space = shape_of(x)[1:]
        groups = channels if self.chance(0.4) else 1
        filters = channels if groups > 1 or self.chance(0.5) else 1 + self.below(9)
        kernel = [1 if self.chance(0.4) else min(3, size) for size in space]
        same = [size // 2 for size in kernel] * 2
        weight = self.given((filters, channels // groups, *kernel), -0.5, 0.5)
        bias = self.given((filters,)) if self.chance(0.5) else None
        strides = [1 + self.chance(0.2)] * 2
        self.epilogue(self.add(self.m(ConvOp(x, weight, bias, strides=strides, pads=same, groups=groups))))

    def window(self) -> None:
        x = self.pick(4)
        if x is None:
            return
        kernel = [min(1 + self.below(3), size) for size in shape_of(x)[2:]]
        match self.below(3):
            case 0:
                value = MaxPoolOp(x, kernel)
            case 1:
                value = AvgPoolOp(x, kernel)
            case _:
                value = LrnOp(x, 3)
        self.add(self.m(value))

    def batch_norm(self) -> None:
        x = self.pick(4)
        if x is not None:
            channels = shape_of(x)[1:2]
            scale, bias, mean = (self.given(channels) for _ in range(3))
            self.add(self.m(BatchNormOp(x, scale, bias, mean, self.given(channels, 0.5, 2))))

    def there_and_back(self) -> None:
        """Through another type, whose buffers are as large or not."""
        x = self.some()
        other = (np.float16, np.float64, np.int32)[self.below(3)]
        there = self.m(CastOp(x, element_type_of(np.dtype(other))))
        self.add(self.m(CastOp(there, element_type_of_value(x))))

    def reshape(self) -> None:
        x = self.some()
        shape = list(shape_of(x))
        if not shape:
            return
        at = self.below(len(shape))
        match self.below(4):
            case 0 if at + 1 < len(shape):
                shape[at : at + 2] = [shape[at] * shape[at + 1]]
            case 1 if shape[at] % 2 == 0 and len(shape) < 5:
                shape[at : at + 1] = [2, shape[at] // 2] if self.chance(0.5) else [shape[at] // 2, 2]
            case 2 if len(shape) < 5:
                shape.insert(at, 1)
            case _:
                shape = [prod(shape)]
        self.add(self.m(ReshapeOp(x, shape)))

    def transpose(self) -> None:
        x = self.some()
        self.add(self.m(TransposeOp(x, [int(axis) for axis in self.random.permutation(len(shape_of(x)))])))

    def cut(self, x: SSAValue, axis: int, start: int, stop: int) -> SSAValue:
        shape = shape_of(x)
        starts, stops = [0] * len(shape), list(shape)
        starts[axis], stops[axis] = start, stop
        return self.add(self.m(SliceOp(x, starts, stops, [1] * len(shape))))

    def slice(self) -> None:
        x = self.some()
        if prod(shape_of(x)) > 1:
            axis = self.below(len(shape_of(x)))
            start = self.below(shape_of(x)[axis])
            self.cut(x, axis, start, start + 1 + self.below(shape_of(x)[axis] - start))

    def split_and_join(self) -> None:
        """Parts of a value, one of them changed, put together again."""
        x = self.some()
        if not shape_of(x):
            return
        axis = self.below(len(shape_of(x)))
        size = shape_of(x)[axis]
        if size < 2:
            return
        middle = 1 + self.below(size - 1)
        parts = [self.cut(x, axis, 0, middle), self.cut(x, axis, middle, size)]
        changed = self.below(2)
        kinds: Any = UNARY if np.dtype(self.dtype).kind == "f" else UNARY_OF_INTEGERS
        parts[changed] = self.add(self.m(kinds[self.below(len(kinds))](parts[changed])))
        self.add(self.m(ConcatOp(parts, axis)))

    def concat(self) -> None:
        x = self.some()
        if not shape_of(x):
            return
        axis = self.below(len(shape_of(x)))
        others = shape_of(x)[:axis], shape_of(x)[axis + 1 :]
        fitting = [v for v in self.values if len(shape_of(v)) == len(shape_of(x))]
        fitting = [v for v in fitting if (shape_of(v)[:axis], shape_of(v)[axis + 1 :]) == others]
        count = 2 + self.below(2)
        self.add(self.m(ConcatOp([x, *(fitting[self.below(len(fitting))] for _ in range(count - 1))], axis)))

    def pad(self) -> None:
        x = self.some()
        low, high = ([self.below(2) for _ in shape_of(x)] for _ in range(2))
        self.add(self.m(PadOp(x, low, high, value=float(self.below(2)))))

    def gather(self) -> None:
        x = self.some()
        if prod(shape_of(x)) > 1:
            axis = self.below(len(shape_of(x)))
            shape = [(), (1,), (2,), (3,)][self.below(4)]
            indices = self.random.integers(0, shape_of(x)[axis], shape)
            self.add(self.m(GatherOp(x, self.m.constant(indices, np.int64), axis)))

    def scatter(self) -> None:
        x = self.some()
        if prod(shape_of(x)) > 1:
            axis = self.below(len(shape_of(x)))
            y = self.like(x)
            indices = self.random.integers(0, shape_of(x)[axis], shape_of(x)).astype(np.int64)
            where = self.m.constant(indices, np.int64) if indices.size <= SMALL else self.m.weight(data=indices)
            kind = "none" if self.chance(0.5) else "max"
            self.add(self.m(ScatterElementsOp(x, where, y, axis=axis, reduction=kind)))

    def choose(self) -> None:
        x = self.some()
        y = self.like(x)
        self.add(self.m(WhereOp(self.m(GreaterOp(x, y)), y if self.chance(0.5) else self.like(x), x)))

    def broadcast(self) -> None:
        x = self.some()
        shape = tuple(3 if size == 1 and self.chance(0.4) else size for size in shape_of(x))
        self.add(self.m(BroadcastToOp(x, (2, *shape) if self.chance(0.2) and len(shape) < 4 else shape)))
