"""Products by block-quantised weights of 2 to 8 bits, packed in bytes."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import numpy as np
from xdsl.dialects.builtin import f32, i8
from xdsl.ir import SSAValue

from ....dialects.graph.ops.contraction import MatmulOp
from ....dialects.graph.ops.elementwise import MulOp, SubOp
from ....dialects.graph.ops.indexing import GatherOp
from ....dialects.graph.ops.movement import PadOp
from ....dialects.graph.ops.quantization import DequantizeOp
from ....dialects.graph.values import element_type_of_value, is_float, shape_of
from ....dialects.sizes.sizes import equal
from ..handlers.movement import slice_axis
from ..node import Handler, Node
from .fused import biased
from .packed_numbers import UI8, middle, type_of_numbers, unpacked, unpacked_rows


class _Product:
    """A MatMulNBits: x times the transpose of weights [N, K] with blocks along K."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._bits, self._block = node.integer("bits", 4), node.integer("block_size", 0)
        self._rows, self._depth = node.integer("N", 0), node.integer("K", 0)
        self._x = node.operand(0)
        sizes = f"{self._rows} x {self._depth} weights of {self._bits} bits in blocks of {self._block}"
        if not 2 <= self._bits <= 8 or min(self._block, self._rows, self._depth) < 1 or self._block * self._bits % 8:
            raise node.invalid(sizes)
        if not equal(shape_of(self._x)[-1], self._depth):
            raise node.invalid(f"{shape_of(self._x)[-1]} columns for {sizes}")
        self._blocks = -(-self._depth // self._block)
        # accuracy_level 4 permits rounding x to 8 bits; at every other one sums are as accurate as those of x's type.
        self._lhs_as = i8 if node.integer("accuracy_level", 0) == 4 else None

    def result(self) -> SSAValue:
        """The product, without a bias."""
        node, shape = self._node, (*shape_of(self._x)[:-1], self._rows)
        if any(equal(size, 0) for size in shape_of(node.operand(1))):
            return node.zeros(element_type_of_value(self._x), shape)  # weights that are left out
        x = node.reshape(self._x, (prod(shape[:-1]), self._depth))
        numbers = unpacked(node, node.operand(1), self._bits, (self._rows, self._blocks * self._block))
        places = self._places()
        if places is None:
            return node.reshape(self._by_blocks(x, numbers), shape)
        known = node.known(places)
        order = np.arange(0) if known is None else np.argsort(known, kind="stable")
        if known is None or not np.array_equal(known[order], np.arange(self._depth) // self._block):
            return node.reshape(self._by_places(x, numbers, places), shape)
        # Blocks are whole where columns of x and of the weight are put in another order.
        along, padding = node.array(order), (0, self._blocks * self._block - self._depth)
        numbers = node.emit(PadOp(node.emit(GatherOp(numbers, along, 1)), (0, 0), padding))
        return node.reshape(self._by_blocks(node.emit(GatherOp(x, along, 1)), numbers), shape)

    def _places(self) -> SSAValue | None:
        """The block of each place along K (g_idx); None if they are in order."""
        node, places = self._node, self._node.optional(4)
        if places is None or not prod(shape_of(places)):
            return None
        places = slice_axis(node, node.reshape(places, (prod(shape_of(places)),)), 0, 0, self._depth)
        known = node.known(places)
        if known is not None and not 0 <= known.min() <= known.max() < self._blocks:
            raise node.invalid(f"g_idx names blocks {known.min()} to {known.max()} of {self._blocks}")
        in_order = known is not None and np.array_equal(known, np.arange(self._depth) // self._block)
        return None if in_order else places

    def _zeros(self) -> SSAValue:
        """Zero points, [N, blocks] or one for all: of the numbers' type, or f32 where they are no integers."""
        node, zero, shape = self._node, self._node.optional(3), (self._rows, self._blocks)
        if zero is None:
            return middle(node, self._bits)
        type = element_type_of_value(zero)
        if type == UI8:
            return unpacked_rows(node, zero, self._bits, shape[:1], self._blocks)
        if not is_float(type):
            raise node.unsupported(f"zero points of type {type}")
        zero, known = node.reshape(zero, shape), node.known(zero)
        whole = known is not None and np.array_equal(known, np.clip(np.rint(known), 0, 2**self._bits - 1))
        return node.cast(zero, type_of_numbers(self._bits) if whole else f32)

    def _weights(self, numbers: SSAValue, beside: Callable[[SSAValue], SSAValue]) -> SSAValue:
        """The dequantised numbers; `beside` arranges parameters [N, blocks] so that they broadcast to them."""
        node, zero = self._node, self._zeros()
        zero = beside(zero) if shape_of(zero) else zero
        scale = beside(node.reshape(node.operand(2), (self._rows, self._blocks)))
        if element_type_of_value(zero) != f32:
            return node.emit(DequantizeOp(numbers, scale, zero))
        scale = node.cast(scale, f32)
        return node.emit(SubOp(node.emit(DequantizeOp(numbers, scale)), node.emit(MulOp(zero, scale))))

    def _by_blocks(self, x: SSAValue, numbers: SSAValue) -> SSAValue:
        """The product by weights with blocks one after the other."""
        node, parts = self._node, (self._rows, self._blocks, self._block)
        weights = self._weights(node.reshape(numbers, parts), lambda value: node.reshape(value, (*parts[:2], 1)))
        matrix = slice_axis(node, node.reshape(weights, (self._rows, parts[1] * parts[2])), 1, 0, self._depth)
        return self._product(x, matrix)

    def _by_places(self, x: SSAValue, numbers: SSAValue, places: SSAValue) -> SSAValue:
        """The product by weights with a scale and a zero point each."""
        node, numbers = self._node, slice_axis(self._node, numbers, 1, 0, self._depth)
        return self._product(x, self._weights(numbers, lambda value: node.emit(GatherOp(value, places, 1))))

    def _product(self, x: SSAValue, matrix: SSAValue) -> SSAValue:
        node, type = self._node, element_type_of_value(matrix)
        product = node.emit(MatmulOp(node.cast(x, type), matrix, transpose_b=True, lhs_as=self._lhs_as))
        return node.cast(product, element_type_of_value(x))


def _matmul(node: Node) -> SSAValue:
    if node.integer("weight_prepacked", 0):
        raise node.unsupported("weights packed for another machine (weight_prepacked)")
    return biased(node, _Product(node).result(), 5)


HANDLERS: dict[str, Handler] = {"com.microsoft.MatMulNBits": _matmul}
