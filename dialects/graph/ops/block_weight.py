"""Block-quantised matrices, dequantised to floats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import IntegerAttr, IntegerType, LocationAttr, Signedness, bf16, f16, f32
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_operand_def, prop_def, result_def

from ...sizes.sizes import equal_shapes
from ..axes import Axes, Whole
from ..base import GraphOp, require
from ..values import AnyTensor, Array, element_type_of_value, shape_of, tensor, widened

UI8 = IntegerType(8, Signedness.UNSIGNED)
WIDTHS = (2, 4, 8)
SCALES = (f32, f16, bf16)


@irdl_op_definition
class BlockWeightOp(GraphOp):
    """[rows, depth] of f32: (number - zero) * scale, with one zero and scale per `block` numbers of a row.

    The weight is ui8 [rows, bytes]: one 8-bit number per byte, two of 4 bits or four of 2, the first in the lowest
    bits. Scales are f32, f16 or bf16 [rows, blocks]; zeros are ui8 or f32 [rows, blocks], or `middle` for all. The last
    block may extend beyond the depth.
    """

    name = "graph.block_weight"

    weight = operand_def()
    scale = operand_def()
    zero = opt_operand_def()
    bits = prop_def(IntegerAttr[IntegerType])
    block = prop_def(IntegerAttr[IntegerType])
    depth = prop_def(IntegerAttr[IntegerType])
    middle = prop_def(IntegerAttr[IntegerType])
    result = result_def()

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

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        """bits, block, depth and middle"""
        return self.bits.value.data, self.block.value.data, self.depth.value.data, self.middle.value.data

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        bits, block, depth, middle = self.numbers
        require(bits in WIDTHS, f"numbers have 2, 4 or 8 bits, got {bits}")
        require(
            block >= 1 and block * bits % 8 == 0, f"blocks of {block} numbers of {bits} bits don't fill whole bytes"
        )
        require(0 <= middle < 2**bits, f"there is no zero point {middle} of {bits} bits")
        shapes = [shape_of(operand) for operand in self.operands]
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
        weight, scale, *zero = (element_type_of_value(operand) for operand in self.operands)
        right = weight == UI8 and scale in SCALES and zero in ([], [UI8], [f32])
        require(right, "the weight is of ui8, scales of a float of 16 bits or f32, zeros of ui8 or f32")
        return [tensor(f32, (rows, depth))]

    @override
    def operand_axes(self, result: int = 0) -> Axes:
        return self.labelled_axes(["rd"] * 3, "rd", {"d": Whole})

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        bits, block, depth, middle = self.numbers
        weight, scale, *zero = arrays[0], widened(arrays[1]), *arrays[2:]
        parts = [weight >> np.uint8(place) & np.uint8(2**bits - 1) for place in range(0, 8, bits)]
        numbers = np.stack(parts, -1).reshape(*scale.shape, block).astype(scale.dtype)
        middles = zero[0].astype(scale.dtype)[..., np.newaxis] if zero else scale.dtype.type(middle)
        wide = (numbers - middles) * scale[..., np.newaxis]
        return (np.ascontiguousarray(wide.reshape(len(scale), -1)[:, :depth]),)
