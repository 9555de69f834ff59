"""Layers with windows, channels first as in ONNX: convolutions of all shapes, transposed ones, and pools."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from random import Random
from typing import Any, Self

from typing_extensions import override

from .drawn_layer import Layer, Net, Sizes

ROOM = (1, 4, 7, 8, 13, 14, 20, 28, 32, 40, 56, 64, 80, 112, 160, 224)
LENGTHS = (16, 50, 100, 128, 256, 400, 1000, 3000)
CHANNELS = (3, 8, 12, 16, 20, 24, 32, 40, 48, 64, 96, 100, 128, 160, 192, 256, 320, 512, 768, 1024)
BATCHES = (1, 1, 1, 1, 2, 4)
ACTIVATIONS = ("", "", "Relu", "Relu", "Sigmoid", "HardSwish", "silu", "LeakyRelu")


@dataclass(frozen=True)
class Conv(Layer):
    """A convolution of a square window; `padding` "same" keeps the sizes but for the stride."""

    batch: int
    channels: int
    room: Sizes
    filters: int
    window: Sizes
    stride: Sizes
    dilation: Sizes
    groups: int
    padding: str
    activation: str

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        window = random.choice((2, 3, 3, 3, 3, 4, 5, 5, 7, 9, 11))
        return cls.of_window(random, (window, window))

    @classmethod
    def of_window(cls, random: Random, window: Sizes) -> Self:
        """A layer of a given window, which may have one axis or two."""
        height = random.choice(ROOM if len(window) == 2 else LENGTHS)
        room = (height, random.choice(ROOM) if random.random() < 0.3 else height)
        return cls(
            batch=random.choice(BATCHES),
            channels=random.choice(CHANNELS),
            room=room[: len(window)],
            filters=random.choice(CHANNELS),
            window=window,
            stride=(random.choice((1, 1, 1, 2)),) * len(window),
            dilation=(random.choice((1, 1, 1, 1, 2)),) * len(window),
            groups=1,
            padding=random.choice(("same", "same", "same", "valid")),
            activation=random.choice(ACTIVATIONS),
        )

    @property
    def pads(self) -> Sizes:
        """At the starts of all axes, then at their ends."""
        spans = [
            reach * (size - 1) * (self.padding == "same")
            for reach, size in zip(self.dilation, self.window, strict=True)
        ]
        return (*(span // 2 for span in spans), *(span - span // 2 for span in spans))

    @property
    def made(self) -> Sizes:
        """The sizes of the result behind its channels. Raises ValueError where the window doesn't fit."""
        axes, pads = len(self.room), self.pads
        spans = [reach * (size - 1) for reach, size in zip(self.dilation, self.window, strict=True)]
        free = [size + pads[axis] + pads[axes + axis] - spans[axis] for axis, size in enumerate(self.room)]
        if min(free) < 1:
            raise ValueError("the window doesn't fit")
        return tuple((size - 1) // step + 1 for size, step in zip(free, self.stride, strict=True))

    @property
    @override
    def size(self) -> tuple[int, int]:
        if self.channels % self.groups or self.filters % self.groups:
            raise ValueError("groups don't divide the channels")
        given, pixels = self.batch * self.channels * prod(self.room), self.batch * prod(self.made)
        weights = self.filters * self.channels // self.groups * prod(self.window)
        return given + weights + pixels * self.filters, pixels * weights

    @override
    def build(self, net: Net) -> str:
        x = net.input(self.batch, self.channels, *self.room)
        weight = net.weight(self.filters, self.channels // self.groups, *self.window)
        options: dict[str, Any] = {
            "strides": self.stride,
            "dilations": self.dilation,
            "pads": self.pads,
            "group": self.groups,
        }
        y = net.node("Conv", x, weight, net.weight(self.filters), **options)
        return activated(net, y, self.activation)


def activated(net: Net, y: str, activation: str) -> str:
    """A value behind an activation: an operator's name, or none, or "silu"."""
    if activation == "silu":
        return net.node("Mul", y, net.node("Sigmoid", y))
    return net.node(activation, y) if activation else y


class PointwiseConv(Conv):
    """A convolution of a window of one element."""

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        return replace(cls.of_window(random, (1, 1)), dilation=(1, 1))


class RowConv(Conv):
    """A convolution of a window [1, k]."""

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        made = cls.of_window(random, (1, random.choice((3, 5, 7, 9, 15, 31))))
        return replace(made, stride=(1, made.stride[1]), dilation=(1, made.dilation[1]))


class ColumnConv(Conv):
    """A convolution of a window [k, 1], half of them of pictures of width 1."""

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        made = cls.of_window(random, (random.choice((3, 5, 7, 9, 15, 31)), 1))
        thin = (random.choice(LENGTHS), random.choice((1, 1, 2, 4)))
        room = thin if random.random() < 0.6 else made.room
        return replace(made, room=room, stride=(made.stride[0], 1), dilation=(made.dilation[0], 1))


class SequenceConv(Conv):
    """A convolution of sequences, as speech and audio models have them."""

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        return cls.of_window(random, (random.choice((1, 3, 5, 7, 15, 31)),))


class DepthwiseConv(Conv):
    """A convolution of each channel by itself, of pictures or sequences."""

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        window = random.choice((3, 3, 3, 5, 5, 7, 15, 31))
        windows = [(window, window)] * 4 * (window < 15) + [(window,), (1, window), (window, 1)]
        made = cls.of_window(random, random.choice(windows))
        filters = made.channels * random.choice((1, 1, 1, 1, 1, 2))
        return replace(made, filters=filters, groups=made.channels)


class GroupedConv(Conv):
    """A convolution of groups of channels."""

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        return replace(super().drawn(random), groups=random.choice((2, 4, 8, 16, 32)))


class FirstConv(Conv):
    """A convolution of pictures of few channels, as a model's first one."""

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        made = replace(super().drawn(random), channels=random.choice((1, 2, 3, 3, 3, 4)))
        return replace(made, stride=(random.choice((1, 2, 4)),) * 2, room=(random.choice((28, 64, 112, 224)),) * 2)


class LastConv(Conv):
    """A convolution that makes few channels, as a last one that makes pictures, heat maps or masks."""

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        window = random.choice((1, 1, 3, 3, 7, 9))
        return replace(cls.of_window(random, (window, window)), filters=random.choice((1, 1, 1, 2, 3, 3, 4, 5)))


class GatedConv(PointwiseConv):
    """A pointwise convolution whose channels' second half gates the first, as in conformers."""

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        made = cls.of_window(random, random.choice(((1,), (1, 1))))
        return replace(
            made, filters=2 * made.channels, dilation=(1,) * len(made.window), activation="", padding="valid"
        )

    @override
    def build(self, net: Net) -> str:
        y = super().build(net)
        net_half = net.node("Split", y, results=2, axis=1, num_outputs=2)
        return net.node("Mul", net_half, net.node("Sigmoid", f"{net_half}.1"))


class TransposedConv(Conv):
    """A transposed convolution."""

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        window, stride = random.choice(((2, 2), (3, 2), (4, 2), (4, 2), (4, 4), (8, 4), (3, 1), (5, 2), (16, 8)))
        made = cls.of_window(random, (window,) * random.choice((1, 2, 2, 2)))
        axes = len(made.window)
        return replace(made, stride=(stride,) * axes, dilation=(1,) * axes)

    @property
    @override
    def pads(self) -> Sizes:
        spans = [(size - step) * (self.padding == "same") for size, step in zip(self.window, self.stride, strict=True)]
        return (*(span // 2 for span in spans), *(span - span // 2 for span in spans))

    @property
    @override
    def made(self) -> Sizes:
        axes, pads = len(self.room), self.pads
        return tuple(
            (self.room[axis] - 1) * self.stride[axis] + self.window[axis] - pads[axis] - pads[axes + axis]
            for axis in range(axes)
        )

    @property
    @override
    def size(self) -> tuple[int, int]:
        given, weights = self.batch * prod(self.room), self.channels * self.filters * prod(self.window)
        return given * self.channels + weights + self.batch * self.filters * prod(self.made), given * weights

    @override
    def build(self, net: Net) -> str:
        x = net.input(self.batch, self.channels, *self.room)
        weight = net.weight(self.channels, self.filters, *self.window)
        y = net.node("ConvTranspose", x, weight, net.weight(self.filters), strides=self.stride, pads=self.pads)
        return activated(net, y, self.activation)


@dataclass(frozen=True)
class Pool(Layer):
    """A pool of pictures; `op` is an ONNX operator."""

    op: str
    batch: int
    channels: int
    room: Sizes
    window: Sizes
    stride: Sizes
    padding: str

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        window, room = random.choice((2, 2, 3, 3, 3, 4, 5, 5, 7, 9, 13)), random.choice(ROOM)
        windows = [(window, window)] * 4 + [(window, 1), (1, window)]
        stride = random.choice((1, 2, window))
        return cls(
            op=random.choice(("MaxPool", "MaxPool", "MaxPool", "AveragePool")),
            batch=random.choice(BATCHES),
            channels=random.choice(CHANNELS),
            room=(room, random.choice(ROOM) if random.random() < 0.2 else room),
            window=random.choice(windows),
            stride=(stride, stride),
            padding=random.choice(("same", "valid")),
        )

    @property
    @override
    def size(self) -> tuple[int, int]:
        if any(window > size for window, size in zip(self.window, self.room, strict=True)):
            raise ValueError("the window doesn't fit")
        given = self.batch * self.channels * prod(self.room)
        return 2 * given, given * prod(self.window) // prod(self.stride)

    @override
    def build(self, net: Net) -> str:
        x = net.input(self.batch, self.channels, *self.room)
        starts = [(size - 1) // 2 * (self.padding == "same") for size in self.window]
        ends = [size // 2 * (self.padding == "same") for size in self.window]
        return net.node(self.op, x, kernel_shape=self.window, strides=self.stride, pads=[*starts, *ends])


@dataclass(frozen=True)
class GlobalPool(Layer):
    """A pool of whole pictures; `op` is an ONNX operator."""

    op: str
    batch: int
    channels: int
    room: Sizes

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        op = random.choice(("GlobalAveragePool", "GlobalAveragePool", "GlobalMaxPool"))
        return cls(op, random.choice(BATCHES), random.choice(CHANNELS), (random.choice(ROOM), random.choice(ROOM)))

    @property
    @override
    def size(self) -> tuple[int, int]:
        return self.batch * self.channels * prod(self.room), 0

    @override
    def build(self, net: Net) -> str:
        return net.node(self.op, net.input(self.batch, self.channels, *self.room))
