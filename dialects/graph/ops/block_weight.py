"""Block-quantised matrices, dequantised to floats."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr, IntegerType, LocationAttr, Signedness, bf16, f16, f32, i64
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from ...sizes.sizes import equal_shapes
from ..axes import Axes, Whole
from ..base import GraphOp, require
from ..values import AnyTensor, Array, element_type_of_value, shape_of, tensor, type_of, widened

UI8 = IntegerType(8, Signedness.UNSIGNED)
WIDTHS = (2, 4, 8)
SCALES = (f32, f16, bf16)
STACKED_ROWS = 64
"""Rows of a stacked matrix are multiples of it, so that it begins with a panel of any width."""


class BlockWeight(GraphOp, ABC):
    """Block-quantised matrices, or one of several."""

    weight = operand_def()
    scale = operand_def()
    zero = opt_operand_def()
    bits = prop_def(IntegerAttr[IntegerType])
    block = prop_def(IntegerAttr[IntegerType])
    depth = prop_def(IntegerAttr[IntegerType])
    middle = prop_def(IntegerAttr[IntegerType])
    result = result_def()

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        """bits, block, depth and middle"""
        return self.bits.value.data, self.block.value.data, self.depth.value.data, self.middle.value.data

    @property
    def parameters(self) -> list[SSAValue]:
        """The weight, scales, and zeros if there are any."""
        return [each for each in (self.weight, self.scale, self.zero) if each is not None]

    def checked(self) -> tuple[int, int]:
        """All rows and the depth. Raises VerifyException for parameters that don't fit each other."""
        bits, block, depth, middle = self.numbers
        require(bits in WIDTHS, f"numbers have 2, 4 or 8 bits, got {bits}")
        require(
            block >= 1 and block * bits % 8 == 0, f"blocks of {block} numbers of {bits} bits don't fill whole bytes"
        )
        require(0 <= middle < 2**bits, f"there is no zero point {middle} of {bits} bits")
        shapes = [shape_of(operand) for operand in self.parameters]
        require(all(len(shape) == 2 for shape in shapes), "weight, scales and zeros are matrices")
        rows, blocks = shapes[1]
        require(
            blocks * block >= depth > (blocks - 1) * block, f"{blocks} blocks of {block} don't make rows of {depth}"
        )
        require(
            equal_shapes(shapes[0], (rows, blocks * block * bits // 8)),
            f"a weight of {list(shapes[0])} for {rows} x {blocks} blocks",
        )
        require(
            all(equal_shapes(each, (rows, blocks)) for each in shapes[2:]),
            f"a zero for each of {rows} x {blocks} blocks",
        )
        weight, scale, *zero = (element_type_of_value(operand) for operand in self.parameters)
        right = weight == UI8 and scale in SCALES and zero in ([], [UI8], [f32])
        require(right, "the weight is of ui8, scales of a float of 16 bits or f32, zeros of ui8 or f32")
        return rows, depth

    def dequantised(self, weight: Array, scale: Array, zeros: Sequence[Array]) -> Array:
        """Rows of the matrix."""
        bits, block, depth, middle = self.numbers
        scale = widened(scale)
        parts = [weight >> np.uint8(place) & np.uint8(2**bits - 1) for place in range(0, 8, bits)]
        numbers = np.stack(parts, -1).reshape(*scale.shape, block).astype(scale.dtype)
        middles = zeros[0].astype(scale.dtype)[..., np.newaxis] if zeros else scale.dtype.type(middle)
        wide = (numbers - middles) * scale[..., np.newaxis]
        return np.ascontiguousarray(wide.reshape(len(scale), -1)[:, :depth])


@irdl_op_definition
class BlockWeightOp(BlockWeight):
    """[rows, depth] of f32: (number - zero) * scale, with one zero and scale per `block` numbers of a row.

    The weight is ui8 [rows, bytes]: one 8-bit number per byte, two of 4 bits or four of 2, the first in the lowest
    bits. Scales are f32, f16 or bf16 [rows, blocks]; zeros are ui8 or f32 [rows, blocks], or `middle` for all. The last
    block may extend beyond the depth.
    """

    name = "graph.block_weight"

    def __init__(
        self,
        weight: SSAValue | Operation,
        scale: SSAValue | Operation,
        zero: SSAValue | Operation | None = None,
        *,
        bits: int,
        block: int,
        depth: int,
        middle: int = 0,
        location: LocationAttr | None = None,
    ):
        self._build((weight, scale, zero), location, bits=bits, block=block, depth=depth, middle=middle)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        return [tensor(f32, self.checked())]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        return self.labelled_axes(["rd"] * 3, "rd", {"d": Whole})

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        return (self.dequantised(arrays[0], arrays[1], arrays[2:]),)


@irdl_op_definition
class StackedBlockWeightOp(BlockWeight):
    """Matrix number `which` of block weights of `rows` rows each, whose rows follow each other in one: [rows, depth].

    `which` is an i64 of rank 0; any matrix is taken for one out of range. Rows are a multiple of STACKED_ROWS.
    """

    name = "graph.stacked_block_weight"

    which = operand_def()
    rows = prop_def(IntegerAttr[IntegerType])

    def __init__(
        self,
        which: SSAValue | Operation,
        weight: SSAValue | Operation,
        scale: SSAValue | Operation,
        zero: SSAValue | Operation | None = None,
        *,
        rows: int,
        bits: int,
        block: int,
        depth: int,
        middle: int = 0,
        location: LocationAttr | None = None,
    ):
        properties = {"bits": bits, "block": block, "depth": depth, "middle": middle, "rows": rows}
        self._build((which, weight, scale, zero), location, **properties)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        (every, depth), rows = self.checked(), self.rows.value.data
        require(rows >= 1 and rows % STACKED_ROWS == 0, f"matrices of {rows} rows, no multiple of {STACKED_ROWS}")
        require(every >= rows and every % rows == 0, f"{every} rows are no matrices of {rows}")
        which = type_of(self.which)
        require(which == tensor(i64, ()), f"the number of a matrix is an i64 of rank 0, got {which}")
        return [tensor(f32, (rows, depth))]

    @property
    def count(self) -> int:
        """The number of matrices."""
        return shape_of(self.scale)[0] // self.rows.value.data

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        which, *parameters = arrays
        number, rows = int(np.clip(which, 0, self.count - 1)), self.rows.value.data
        weight, scale, *zeros = (each[number * rows : (number + 1) * rows] for each in parameters)
        return (self.dequantised(weight, scale, zeros),)
