"""Random pictures through layers of windows, moves and branches, for passes that run them by bands of rows.

Convolutions have any strides, dilations, pads and groups; between them are pools, resizes, pads, crops, pixels that
become rows, additions and concatenations of branches with other delays, tables that are added to rows, and results that
are used outside as well.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from graph_runs import Model
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.activation import ClipOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, ConvTransposeOp, MatmulOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp
from mini_infer.dialects.graph.ops.movement import ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from mini_infer.dialects.graph.ops.reduction import SoftmaxOp
from mini_infer.dialects.graph.ops.resize import ResizeOp
from mini_infer.dialects.graph.ops.unary import ReluOp, SigmoidOp
from mini_infer.dialects.graph.ops.windows import AvgPoolOp, MaxPoolOp
from mini_infer.dialects.graph.values import shape_of

LAST = "NHWC"
MOST_ROWS = 120


class RandomLayers:
    """A model of so many layers, drawn by seed. `made` are the values so far: pictures with their channels last."""

    def __init__(self, seed: int, layers: int = 8) -> None:
        self.random, self.m = Random(seed), Model(seed)
        high, wide, channels = self.draw(20, 64), self.draw(1, 9), self.draw(1, 5)
        if self.random.random() < 0.3:  # channels come first, and are moved
            x = self.m(TransposeOp(self.m.input(1, channels, high, wide), (0, 2, 3, 1)))
        else:
            x = self.m.input(1, high, wide, channels)
        self.made = [self.conv(x)]
        makers = (self.conv, self.conv, self.conv, self.pool, self.branch, self.branch, self.resize, self.moved)
        for _ in range(self.draw(2, layers)):
            recent = self.made[-1] if self.random.random() < 0.8 else self.random.choice(self.made)
            maker: Callable[[SSAValue], SSAValue] = self.random.choice((*makers, self.elementwise, self.tokens))
            self.made.append(maker(recent))
        outputs = [self.made[-1], *self.random.sample(self.made, self.random.random() < 0.3)]
        self.m.outputs("y", outputs)
        self.m.finish()

    def draw(self, low: int, high: int) -> int:
        """A number from low to high, both included."""
        return self.random.randint(low, high)

    def conv(self, x: SSAValue) -> SSAValue:
        """A convolution: depthwise, grouped or neither."""
        _, high, wide, channels = shape_of(x)
        groups = self.random.choice([1, 1, channels, 2 if channels % 2 == 0 else 1])
        filters = groups * self.draw(1, max(1, 8 // groups))
        strides, dilations = ([self.random.choice([1, 1, 1, n]) for _ in range(2)] for n in (2, 3))
        kernel, pads = list[int](), list[int]()
        for size, dilation in zip((high, wide), dilations, strict=True):
            taps = self.random.choice([1, 2, 3, 3, 5])
            taps = min(taps, (size - 1) // dilation + 1)
            kernel.append(taps)
            reach = (taps - 1) * dilation
            pads.append(self.draw(reach // 2, reach // 2 + reach % 2) if self.random.random() < 0.8 else 0)
        weight = self.m.weight(filters, channels // groups, *kernel, scale=0.3)
        bias = self.m.weight(filters) if self.random.random() < 0.7 else None
        made = ConvOp(
            *(x, weight, bias), strides=strides, dilations=dilations, pads=pads * 2, groups=groups, layout=LAST
        )
        return self.m(ReluOp(self.m(made))) if self.random.random() < 0.7 else self.m(made)

    def pool(self, x: SSAValue) -> SSAValue:
        """A pool, rounded up or not, of averages that count pads or not."""
        _, high, wide, _ = shape_of(x)
        kernel = [min(self.draw(1, 3), high), min(self.draw(1, 3), wide)]
        pads = [self.random.choice([0, taps // 2]) for taps in kernel] * 2
        strides, ceil = [self.draw(1, 2), self.draw(1, 2)], self.random.random() < 0.3
        if self.random.random() < 0.5:
            return self.m(MaxPoolOp(x, kernel, strides=strides, pads=pads, ceil_mode=ceil, layout=LAST))
        count = self.random.random() < 0.5
        made = AvgPoolOp(x, kernel, count_include_pad=count, strides=strides, pads=pads, ceil_mode=ceil, layout=LAST)
        return self.m(made)

    def branch(self, x: SSAValue) -> SSAValue:
        """Values of one size that are added, multiplied or joined."""
        others = [each for each in self.made if shape_of(each)[:3] == shape_of(x)[:3]]
        other = self.random.choice(others) if others and self.random.random() < 0.7 else self.sided(x)
        if shape_of(other) == shape_of(x) and self.random.random() < 0.7:
            return self.m(self.random.choice([AddOp, AddOp, MulOp])(x, other))
        return self.m(ConcatOp([x, other, *([x] if self.random.random() < 0.2 else [])], 3))

    def sided(self, x: SSAValue) -> SSAValue:
        """A convolution that keeps the size, of a long reach."""
        channels, taps = shape_of(x)[3], self.random.choice([3, 5, 9])
        weight = self.m.weight(channels, channels, taps, 1, scale=0.3)
        return self.m(ConvOp(x, weight, pads=[taps // 2, 0, taps // 2, 0], layout=LAST))

    def resize(self, x: SSAValue) -> SSAValue:
        """Twice the size, or about so, by neighbours, lines or cubes; or pixels of channels."""
        _, high, wide, channels = shape_of(x)
        if high > MOST_ROWS // 2:
            return self.pool(x)
        if channels % 4 == 0 and self.random.random() < 0.5:
            x = self.m(ReshapeOp(x, (1, high, wide, 2, 2, channels // 4)))
            x = self.m(TransposeOp(x, (0, 1, 3, 2, 4, 5)))
            return self.m(ReshapeOp(x, (1, 2 * high, 2 * wide, channels // 4)))
        if self.random.random() < 0.4:
            return self.transposed(x)
        size = self.random.choice([2 * high, 2 * high, high + self.draw(1, high)])
        mode = self.random.choice(["nearest", "linear", "cubic"])
        coordinate = self.random.choice(["half_pixel", "asymmetric", "align_corners"])
        return self.m(ResizeOp(x, [1, size, wide, channels], mode=mode, coordinate=coordinate))

    def transposed(self, x: SSAValue) -> SSAValue:
        """A transposed convolution, whose rows may be cropped or followed by rows of the bias alone."""
        channels = shape_of(x)[3]
        stride, taps, dilation = self.draw(1, 3), self.draw(1, 4), self.draw(1, 2)
        reach = (taps - 1) * dilation
        low, high, more = self.draw(0, reach // 2), self.draw(0, reach // 2), self.draw(0, stride - 1)
        groups = channels if self.random.random() < 0.3 else 1
        weight = self.m.weight(channels, self.draw(1, 3), taps, 1, scale=0.3)
        return self.m(
            ConvTransposeOp(
                *(x, weight, self.m.weight(shape_of(weight)[1] * groups)),
                strides=[stride, 1],
                pads=[low, 0, high, 0],
                dilations=[dilation, 1],
                groups=groups,
                output_padding=[more, 0],
                layout=LAST,
            )
        )

    def moved(self, x: SSAValue) -> SSAValue:
        """A crop, or a border of zeros, of edges or of mirrored rows."""
        _, high, wide, channels = shape_of(x)
        if high > 8 and self.random.random() < 0.4:
            first = self.draw(0, 3)
            return self.m(SliceOp(x, [0, first, 0, 0], [1, high - self.draw(0, 3), wide, channels]))
        mode = self.random.choice(["constant", "edge", "reflect"])
        low, most = [self.draw(0, min(3, high - 1)), self.draw(0, min(2, wide - 1))], min(2, high - 1)
        return self.m(PadOp(x, [0, *low, 0], [0, self.draw(0, most), 0, 0], mode, 0.5 if mode == "constant" else 0.0))

    def elementwise(self, x: SSAValue) -> SSAValue:
        """One op on numbers: with a table of rows or of channels, or by itself."""
        shape = shape_of(x)
        match self.draw(0, 3):
            case 0:
                return self.m(AddOp(x, self.m.weight(1, shape[1], 1, 1)))
            case 1:
                return self.m(MulOp(x, self.m.weight(shape[3])))
            case 2:
                return self.m(ClipOp(x, -1.0, 1.5))
            case _:
                return self.m(SigmoidOp(x))

    def tokens(self, x: SSAValue) -> SSAValue:
        """A product with each pixel, and weights of its results that add up to 1."""
        channels = shape_of(x)[3]
        weight = self.m.weight(channels, self.draw(1, 8), scale=0.4)
        y = self.m(MatmulOp(x, weight))
        return self.m(SoftmaxOp(y, 3)) if self.random.random() < 0.3 else y


def random_layers(seed: int, layers: int = 8) -> Model:
    """The finished model of a seed."""
    return RandomLayers(seed, layers).m
