"""Layers that move elements: transposes, concatenations, slices, pads, gathers, scatters, resizes, shuffles."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from random import Random
from typing import Any, Self

import numpy as np
from typing_extensions import override

from .drawn_layer import Layer, Net, Sizes
from .row_layers import SHAPES

PICTURES = ((1, 3, 224, 224), (1, 64, 56, 56), (1, 32, 112, 112), (1, 256, 14, 14), (2, 16, 40, 40), (1, 128, 28, 28))


@dataclass(frozen=True)
class Transpose(Layer):
    """A transpose."""

    shape: Sizes
    order: Sizes

    ORDERS = (
        *(((1, 224, 224, 3), (0, 3, 1, 2)), ((1, 3, 224, 224), (0, 2, 3, 1)), ((8, 64, 64, 3), (0, 3, 1, 2))),
        *(((1, 64, 56, 56), (0, 2, 3, 1)), ((1, 56, 56, 64), (0, 3, 1, 2)), ((1, 128, 12, 64), (0, 2, 1, 3))),
        *(
            ((1, 12, 64, 128), (0, 1, 3, 2)),
            ((512, 512), (1, 0)),
            ((1000, 100), (1, 0)),
            ((1, 256, 14, 14), (0, 2, 3, 1)),
        ),
        *(
            ((100, 8, 80), (1, 0, 2)),
            ((1, 80, 1000), (0, 2, 1)),
            ((1, 4, 300, 300), (0, 2, 3, 1)),
            ((64, 3, 500), (2, 1, 0)),
        ),
    )

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        if random.random() < 0.6:
            return cls(*random.choice(cls.ORDERS))
        shape = random.choice(SHAPES)
        return cls(shape, tuple(random.sample(range(len(shape)), len(shape))))

    @property
    @override
    def size(self) -> tuple[int, int]:
        if list(self.order) == sorted(self.order):
            raise ValueError("nothing moves")
        return 2 * prod(self.shape), 0

    @override
    def build(self, net: Net) -> str:
        return net.node("Transpose", net.input(*self.shape), perm=self.order)


@dataclass(frozen=True)
class Pieces(Layer):
    """What takes or adds pieces along an axis: Concat, Slice, Pad, Split, Gather, Expand, Tile."""

    op: str
    shape: Sizes
    axis: int

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        op = random.choice(
            ("Concat", "Concat", "Slice", "steps", "Pad", "reflect", "Split", "Gather", "Gather", "Tile")
        )
        shape = random.choice(SHAPES)
        return cls(op, shape, random.randrange(len(shape)))

    @property
    @override
    def size(self) -> tuple[int, int]:
        if self.shape[self.axis] < 4:
            raise ValueError("too few elements")
        return 3 * prod(self.shape), 0

    @override
    def build(self, net: Net) -> str | list[str]:
        x, axis, size = net.input(*self.shape), self.axis, self.shape[self.axis]
        ones = [int(each == axis) for each in range(len(self.shape))]
        match self.op:
            case "Concat":
                return net.node("Concat", x, net.input(*self.shape), axis=axis)
            case "Slice" | "steps":
                step = 2 if self.op == "steps" else 1
                return net.node("Slice", x, *map(net.constant, ([1], [size - 1], [axis], [step])))
            case "Pad" | "reflect":
                mode = "constant" if self.op == "Pad" else "reflect"
                return net.node("Pad", x, net.constant([*ones, *ones]), mode=mode)
            case "Split":
                made = net.node("Split", x, net.constant([size // 2, size - size // 2]), results=2, axis=axis)
                return [made, f"{made}.1"]
            case "Gather":
                return net.node("Gather", x, net.integers(0, size, 2, size // 2), axis=axis)
            case _:
                return net.node("Tile", x, net.constant([1 + each for each in ones]))


@dataclass(frozen=True)
class Placement(Layer):
    """What goes by indices: gathers of elements, scatters, one-hot rows, embeddings."""

    op: str
    rows: int
    width: int
    count: int

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        ops = ("GatherElements", "ScatterElements", "ScatterND", "GatherND", "OneHot", "embedding", "sum")
        sizes = (16, 100, 1000, 5000), (4, 32, 100, 256, 768), (1, 16, 128, 512)
        return cls(random.choice(ops), *map(random.choice, sizes))

    @property
    @override
    def size(self) -> tuple[int, int]:
        return (self.rows + self.count) * self.width, 0

    @override
    def build(self, net: Net) -> str:
        rows, width, count = self.rows, self.width, self.count
        distinct = np.random.default_rng(1).permutation(max(rows, count))[:count] % rows
        match self.op:
            case "OneHot":
                return net.node(
                    "OneHot", net.integers(0, width, count), net.constant([width]), net.constant([0.0, 1.0])
                )
            case "embedding":
                table = np.random.default_rng(1).standard_normal((rows, width))
                return net.node("Gather", net.constant(table), net.integers(0, rows, 1, count))
            case "GatherElements":
                return net.node(self.op, net.input(rows, width), net.integers(0, rows, count, width), axis=0)
            case "ScatterElements":
                places = np.broadcast_to(distinct[:rows, np.newaxis], (min(count, rows), width))
                updates = net.input(*places.shape)
                return net.node(self.op, net.input(rows, width), net.given(places.copy()), updates, axis=0)
            case "GatherND":
                return net.node(self.op, net.input(rows, width), net.integers(0, rows, count, 1))
            case _:
                options: dict[str, Any] = {"reduction": "add"} if self.op == "sum" else {}
                places = distinct[: min(count, rows), np.newaxis]
                x, updates = net.input(rows, width), net.input(len(places), width)
                return net.node("ScatterND", x, net.given(places.copy()), updates, **options)


@dataclass(frozen=True)
class Resize(Layer):
    """A resize of pictures by a factor, or to a size."""

    shape: Sizes
    mode: str
    transform: str
    sizes: Sizes

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        shape, mode = random.choice(PICTURES), random.choice(("nearest", "linear", "linear", "cubic"))
        factor = random.choice((0.5, 2, 2, 2, 4, 1.3))
        transform = random.choice(("asymmetric", "half_pixel", "align_corners"))
        return cls(shape, mode, transform, tuple(int(size * factor) for size in shape[2:]))

    @property
    @override
    def size(self) -> tuple[int, int]:
        return prod(self.shape) + prod(self.shape[:2]) * prod(self.sizes), 0

    @override
    def build(self, net: Net) -> str:
        sizes = net.constant([*self.shape[:2], *self.sizes])
        options: dict[str, Any] = {"coordinate_transformation_mode": self.transform}
        if self.mode == "nearest":
            options["nearest_mode"] = "floor"
        return net.node("Resize", net.input(*self.shape), "", "", sizes, mode=self.mode, **options)


@dataclass(frozen=True)
class Shuffle(Layer):
    """Pixels to channels or channels to pixels, by ONNX's operators or by exporters' reshapes; channels of groups."""

    op: str
    shape: Sizes
    block: int

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        ops = ("CRD", "DCR", "SpaceToDepth", "channels", "focus", "windows")
        return cls(random.choice(ops), random.choice(PICTURES), random.choice((2, 2, 4, 7)))

    @property
    @override
    def size(self) -> tuple[int, int]:
        parts = self.block**2 if self.op in ("CRD", "DCR") else self.block
        sizes = self.shape[1:2] if self.op in ("CRD", "DCR", "channels") else self.shape[2:]
        if any(size % parts for size in sizes):
            raise ValueError("the block doesn't divide it")
        return 2 * prod(self.shape), 0

    @override
    def build(self, net: Net) -> str:
        x, block, (batch, channels, height, width) = net.input(*self.shape), self.block, self.shape
        match self.op:
            case "CRD" | "DCR":
                return net.node("DepthToSpace", x, blocksize=block, mode=self.op)
            case "SpaceToDepth":
                return net.node("SpaceToDepth", x, blocksize=block)
            case "channels":
                wide = net.node("Reshape", x, net.constant([batch, block, channels // block, height, width]))
                turned = net.node("Transpose", wide, perm=[0, 2, 1, 3, 4])
                return net.node("Reshape", turned, net.constant(self.shape))
            case "focus":
                ends, axes, steps = net.constant([height, width]), net.constant([2, 3]), net.constant([block, block])
                places = [(row, column) for row in range(block) for column in range(block)]
                parts = [net.node("Slice", x, net.constant(place), ends, axes, steps) for place in places]
                return net.node("Concat", *parts, axis=1)
            case _:
                down, across = height // block, width // block
                wide = net.node("Reshape", x, net.constant([batch, channels, down, block, across, block]))
                turned = net.node("Transpose", wide, perm=[0, 2, 4, 3, 5, 1])
                return net.node("Reshape", turned, net.constant([batch * down * across, block * block, channels]))
