"""Products of matrices, and layers that step through sequences."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from random import Random
from typing import Any, Self

import numpy as np
from typing_extensions import override

from .drawn_layer import Layer, Net, Sizes
from .window_layers import activated

ROWS = (1, 1, 2, 3, 4, 8, 16, 17, 49, 64, 128, 196, 197, 256, 512)
WIDTHS = (1, 10, 16, 32, 40, 64, 100, 128, 256, 300, 384, 512, 768, 1000, 1024, 2048, 3072, 4096)


@dataclass(frozen=True)
class Product(Layer):
    """A product [batch..., rows, depth] by a weight [depth, columns], with a bias and an activation or without."""

    batch: Sizes
    rows: int
    depth: int
    columns: int
    bias: str
    activation: str
    dtype: str

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        return cls(
            batch=random.choice(((), (), (1,), (1,), (4,))),
            rows=random.choice(ROWS),
            depth=random.choice(WIDTHS[1:]),
            columns=random.choice(WIDTHS),
            bias=random.choice(("", "bias")),
            activation=random.choice(("", "", "Relu", "Gelu", "silu", "Tanh")),
            dtype="float32",
        )

    @property
    @override
    def size(self) -> tuple[int, int]:
        rows = prod(self.batch) * self.rows
        work = rows * self.depth * self.columns
        return rows * (self.depth + self.columns) + self.depth * self.columns, work

    @override
    def build(self, net: Net) -> str:
        x = net.input(*self.batch, self.rows, self.depth)
        weight = np.random.default_rng(1).standard_normal((self.depth, self.columns)) / np.sqrt(self.depth)
        y = net.node("MatMul", x, net.constant(weight))
        y = net.node("Add", y, net.weight(self.columns)) if self.bias else y
        return activated(net, y, self.activation)


class RowProduct(Product):
    """A product of one row."""

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        return replace(super().drawn(random), batch=(), rows=1)


class ColumnProduct(Product):
    """A product whose weight is one column or few."""

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        return replace(super().drawn(random), columns=random.choice((1, 1, 2, 3, 5)))


class HalfProduct(Product):
    """A product in float16."""

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        return replace(super().drawn(random), dtype="float16")


class Gemm(Product):
    """A Gemm with a transposed weight, as PyTorch's linear layers are exported."""

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        return replace(super().drawn(random), batch=())

    @override
    def build(self, net: Net) -> str:
        x, weight = net.input(self.rows, self.depth), net.weight(self.columns, self.depth)
        bias = [net.weight(self.columns)] if self.bias else []
        return activated(net, net.node("Gemm", x, weight, *bias, transB=1), self.activation)


@dataclass(frozen=True)
class BatchProduct(Layer):
    """A product of two values: of each entry of a batch, or of a batch by the same matrix; possibly transposed."""

    batch: Sizes
    rows: int
    depth: int
    columns: int
    transposed: str

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        return cls(
            batch=random.choice(((), (4,), (12,), (1, 8), (2, 12), (64,))),
            rows=random.choice(ROWS),
            depth=random.choice(WIDTHS),
            columns=random.choice(WIDTHS),
            transposed=random.choice(("", "", "right", "left")),
        )

    @property
    @override
    def size(self) -> tuple[int, int]:
        batch = prod(self.batch)
        elements = self.rows * self.depth + self.depth * self.columns + self.rows * self.columns
        return batch * elements, batch * self.rows * self.depth * self.columns

    @override
    def build(self, net: Net) -> str:
        axes = len(self.batch)
        order = [*range(axes), axes + 1, axes]
        shapes = {"left": [self.rows, self.depth], "right": [self.depth, self.columns]}
        operands: list[str] = []
        for side, shape in shapes.items():
            if side == self.transposed:
                x = net.input(*self.batch, *reversed(shape))
                operands.append(net.node("Transpose", x, perm=order))
            else:
                operands.append(net.input(*self.batch, *shape))
        return net.node("MatMul", *operands)


@dataclass(frozen=True)
class Recurrence(Layer):
    """An LSTM, a GRU or an RNN with weights of its own for each direction."""

    op: str
    steps: int
    batch: int
    width: int
    hidden: int
    direction: str

    @override
    @classmethod
    def drawn(cls, random: Random) -> Self:
        return cls(
            op=random.choice(("LSTM", "LSTM", "GRU", "RNN")),
            steps=random.choice((1, 8, 16, 32, 50, 100)),
            batch=random.choice((1, 1, 2, 4, 8, 16, 32)),
            width=random.choice((16, 32, 40, 64, 80, 128, 256, 512)),
            hidden=random.choice((16, 32, 64, 100, 128, 200, 256, 512)),
            direction=random.choice(("forward", "forward", "bidirectional", "reverse")),
        )

    @property
    def _gates(self) -> int:
        return {"LSTM": 4, "GRU": 3, "RNN": 1}[self.op]

    @property
    @override
    def size(self) -> tuple[int, int]:
        ways = 1 + (self.direction == "bidirectional")
        weights = ways * self._gates * self.hidden * (self.width + self.hidden)
        rows = self.steps * self.batch
        return weights + rows * (self.width + ways * self.hidden), rows * weights

    @override
    def build(self, net: Net) -> str:
        ways, gates = 1 + (self.direction == "bidirectional"), self._gates * self.hidden
        x = net.input(self.steps, self.batch, self.width)
        scale = self.hidden**-0.5
        random = np.random.default_rng(1)
        shapes = (ways, gates, self.width), (ways, gates, self.hidden), (ways, 2 * gates)
        weights = [net.constant(random.uniform(-scale, scale, shape)) for shape in shapes]
        options: dict[str, Any] = {"linear_before_reset": 1} if self.op == "GRU" else {}
        return net.node(self.op, x, *weights, hidden_size=self.hidden, direction=self.direction, **options)
