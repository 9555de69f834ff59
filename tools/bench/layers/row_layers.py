"""Layers along axes: reductions, softmax, norms, sums so far, selections; and elementwise ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from random import Random
from typing import Self

import numpy as np
from typing_extensions import override

from .drawn_layer import Layer, Net, Sizes

SHAPES = (
    *((1, 768), (128, 768), (16, 1000), (1000, 64), (4096, 16), (256, 3), (4, 100000), (100000, 4)),
    *((1, 128, 768), (8, 197, 384), (1, 12, 128, 128), (1, 64, 56, 56), (1, 3, 224, 224), (1, 256, 14, 14)),
    *((2, 21, 100, 100), (1, 512, 7, 7), (16, 30, 30), (1, 80, 3000), (1, 8400, 84), (1, 84, 8400), (32, 50, 50, 3)),
    *((1, 19, 128, 128), (1, 1, 1000), (2, 8, 64, 65), (1, 17, 33, 47)),
)


@dataclass(frozen=True)
class Reduction(Layer):
    """A reduction over adjacent axes, `op` being an ONNX operator."""

    op: str
    shape: Sizes
    axes: Sizes

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        op = random.choice(
            ("ReduceSum", "ReduceSum", "ReduceMean", "ReduceMean", "ReduceMax", "ReduceL2", "ReduceProd")
        )
        shape = random.choice(SHAPES)
        first = random.randrange(len(shape))
        return cls(op, shape, tuple(range(first, random.randint(first + 1, min(first + 2, len(shape))))))

    @property
    @override
    def size(self) -> tuple[int, int]:
        return prod(self.shape), 0

    @override
    def build(self, net: Net) -> str:
        return net.node(self.op, net.input(*self.shape), net.constant(self.axes), keepdims=0)


@dataclass(frozen=True)
class AlongAxis(Layer):
    """What is done along one axis: softmax, places of the greatest, sums so far."""

    op: str
    shape: Sizes
    axis: int

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        shape = random.choice(SHAPES)
        axis = random.choice((len(shape) - 1, random.randrange(len(shape))))
        op = random.choice(("Softmax", "Softmax", "Softmax", "LogSoftmax", "ArgMax", "ArgMin", "CumSum"))
        return cls(op, shape, axis)

    @property
    @override
    def size(self) -> tuple[int, int]:
        return 2 * prod(self.shape), 0

    @override
    def build(self, net: Net) -> str:
        x = net.input(*self.shape)
        if self.op == "CumSum":
            return net.node(self.op, x, net.constant(np.array(self.axis)))
        return net.node(self.op, x, axis=self.axis)


@dataclass(frozen=True)
class Norm(Layer):
    """A norm: "layer" over the last axis, "rms" as exporters write it, "instance" and "group" over pictures."""

    op: str
    shape: Sizes

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        return cls(random.choice(("layer", "layer", "rms", "instance", "group", "batch", "L2")), random.choice(SHAPES))

    @property
    @override
    def size(self) -> tuple[int, int]:
        if self.op in ("instance", "group") and len(self.shape) < 3:
            raise ValueError("there is no picture")
        if self.op == "group" and self.shape[1] % 4:
            raise ValueError("there are no groups")
        return 2 * prod(self.shape), 0

    @override
    def build(self, net: Net) -> str:
        x, last, channels = net.input(*self.shape), self.shape[-1], self.shape[1]
        match self.op:
            case "layer":
                return net.node("LayerNormalization", x, net.weight(last), net.weight(last), axis=-1)
            case "rms":
                squares = net.node("ReduceMean", net.node("Mul", x, x), net.constant([-1]))
                root = net.node("Sqrt", net.node("Add", squares, net.constant(np.array(1e-5))))
                return net.node("Mul", net.node("Div", x, root), net.weight(last))
            case "instance":
                return net.node("InstanceNormalization", x, net.weight(channels), net.weight(channels))
            case "group":
                rows = net.node("Reshape", x, net.constant([0, channels // 4, -1]))
                made = net.node("InstanceNormalization", rows, net.weight(channels // 4), net.weight(channels // 4))
                return net.node("Reshape", made, net.constant(self.shape))
            case "batch":
                statistics = [net.weight(channels), net.weight(channels), net.weight(channels)]
                variance = net.constant(np.full(channels, 0.5))
                return net.node("BatchNormalization", x, *statistics, variance)
            case _:
                return net.node("LpNormalization", x, axis=-1, p=2)


@dataclass(frozen=True)
class Elementwise(Layer):
    """Elementwise operators with a broadcast: "", "scalar", "channels" (axis 1), "last", "first" or "outer"."""

    op: str
    shape: Sizes
    broadcast: str

    BINARY = ("Add", "Mul", "Sub", "Div", "Max", "Pow", "Greater", "Where", "PRelu")
    UNARY = ("Relu", "Sigmoid", "Tanh", "Exp", "Erf", "Gelu", "Sqrt", "HardSwish", "Clip", "Softplus", "Sin", "Log")

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        op = random.choice((*cls.BINARY, *cls.BINARY, *cls.UNARY, "Cast"))
        kind = random.choice(("", "", "scalar", "channels", "last", "first", "outer")) if op in cls.BINARY else ""
        return cls(op, random.choice(SHAPES), kind)

    @property
    @override
    def size(self) -> tuple[int, int]:
        return 3 * prod(self.shape), 0

    @property
    def _second(self) -> Sizes:
        rank = len(self.shape)
        keeps = {"": range(rank), "scalar": (), "channels": (1,), "last": (rank - 1,), "first": (0,), "outer": (0, 1)}
        return tuple(size if axis in keeps[self.broadcast] else 1 for axis, size in enumerate(self.shape))

    @override
    def build(self, net: Net) -> str:
        x = net.input(*self.shape)
        match self.op:
            case "Where":
                chosen = net.given(np.random.default_rng(1).random(self.shape) < 0.5)
                return net.node("Where", chosen, x, net.input(*self._second))
            case "Cast":
                return net.node("Cast", net.node("Greater", x, net.constant(np.array(0.0))), to=1)
            case "Sqrt" | "Log":
                return net.node(self.op, net.node("Abs", x))
            case "Pow":
                return net.node("Pow", net.node("Abs", x), net.input(*self._second))
            case "Clip":
                return net.node("Clip", x, net.constant(np.array(-0.5)), net.constant(np.array(0.5)))
            case _ if self.op in self.BINARY:
                return net.node(self.op, x, net.input(*self._second))
            case _:
                return net.node(self.op, x)


@dataclass(frozen=True)
class TopK(Layer):
    """The largest elements of each row."""

    rows: int
    width: int
    count: int

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        made = cls(random.choice((1, 1, 8, 100, 1000)), random.choice((10, 80, 256, 1000, 8400, 50000)), 1)
        return replace(made, count=random.choice((1, 2, 5, 10, 50, 100, 300)))

    @property
    @override
    def size(self) -> tuple[int, int]:
        if self.count > self.width:
            raise ValueError("there are fewer elements")
        return self.rows * self.width, 0

    @override
    def build(self, net: Net) -> list[str]:
        made = net.node("TopK", net.input(self.rows, self.width), net.constant([self.count]), results=2)
        return [made, f"{made}.1"]


@dataclass(frozen=True)
class Suppression(Layer):
    """A NonMaxSuppression of boxes in each batch and class."""

    batch: int
    classes: int
    boxes: int
    most: int

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        sizes = (1, 1, 2), (1, 1, 3, 20, 80), (100, 300, 1000, 3000), (10, 100, 300)
        return cls(*map(random.choice, sizes))

    @property
    @override
    def size(self) -> tuple[int, int]:
        return self.batch * self.classes * self.boxes, 0

    @override
    def build(self, net: Net) -> str:
        random = np.random.default_rng(1)
        corners = random.uniform(0, 600, (self.batch, self.boxes, 2))
        boxes = np.concatenate([corners, corners + random.uniform(10, 120, corners.shape)], 2)
        scores = random.random((self.batch, self.classes, self.boxes))
        given = [net.given(each.astype(np.float32)) for each in (boxes, scores)]
        limits = [net.constant(np.array([limit], np.float32)) for limit in (0.5, 0.3)]
        return net.node("NonMaxSuppression", *given, net.constant([self.most]), *limits)
