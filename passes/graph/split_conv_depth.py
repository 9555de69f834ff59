"""split-conv-depth: a 3D convolution becomes a sum of 2D convolutions, one for each tap along the depth.

before:  %y = graph.conv %x, %w, %b {pads = array<i64: 1, 1, 1, 1, 1, 1>, ..}   %x: [N, C, D, H, W], %w: [F, C, 3, 3, 3]
         %z = graph.relu %y
after:   %0 = graph.transpose %x                                  [D, N, C, H, W]
         %1 = graph.concat %zeros, %0, %zeros                     [D + 2, N, C, H, W]
         %2 = graph.reshape (graph.slice %1)                      [D * N, C, H, W], from picture 0 on
         %3 = graph.conv %2, %w0, %b                              %w0: [F, C, 3, 3]
         %4 = graph.reshape (graph.slice %1)                      from picture 1 on
         %5 = graph.conv %4, %w1      %6 = graph.add %5, %3
         ..                                                       and from picture 2 on
         %z = graph.relu %8                                       and only then [N, F, D, H, W] again

With their depth in front, what each tap reads is a part of the pictures as they lie, and sums are made in place by the
epilogues of the convolutions, which run as all those of pictures do. What is done to each element stays with them.

before:  %y = graph.conv %x, %w                                   %x: [N, 3, D, H, W], %w: [64, 3, 3, 7, 7]
after:   %0 = graph.concat (graph.slice ..), ..                   [N, 9, D, H, W]: what three taps read, as channels
         %y = graph.conv %0, %w'                                  %w': [64, 9, 7, 7]

That is better where sums are larger than what is read. More dimensions go one after the other. Comes before
channels-last; only for known weights of floats or bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, f64
from xdsl.ir import Block, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ...dialects.graph.base import ElementwiseOp
from ...dialects.graph.blobs import blob_store
from ...dialects.graph.ops.contraction import ConvOp, is_byte
from ...dialects.graph.ops.elementwise import AddOp
from ...dialects.graph.ops.movement import BroadcastToOp, ConcatOp, ReshapeOp, SliceOp, TransposeOp
from ...dialects.graph.ops.structure import ConstantOp
from ...dialects.graph.values import Array, element_type_of_value, ints, numpy_dtype, shape_of, tensor
from ...dialects.sizes.sizes import now
from ..statistics import count
from .support.pattern_utils import Constants, with_operands
from .support.repeated_channels import is_per_channel


class _Stacks:
    """Values [N, C, D, ...] of a block that are kept as stacks of slices [D * N, C, ...]."""

    def __init__(self, constants: Constants) -> None:
        self.constants = constants
        self._stacked: dict[SSAValue, SSAValue] = {}
        self._here: Operation  # that is rebuilt

    def rebuild(self, block: Block) -> int:
        """Rebuilds a block's convolutions and elementwise ops on their results; returns the number of convolutions."""
        replaced: list[Operation] = []
        convolutions = 0
        for op in list(block.ops):
            self._here = op
            if isinstance(op, ConvOp) and self._splits(op):
                self._stacked[op.result] = self._convolution(op)
                convolutions += 1
            elif isinstance(op, ElementwiseOp) and self._stays_stacked(op):
                made = with_operands(op, [self._operand(operand, op) for operand in op.operands])
                self._stacked[op.results[0]] = self._add(made)
            else:
                continue
            replaced.append(op)
        for op in reversed(replaced):
            (result,) = op.results
            self._here = op
            if result.uses:
                result.replace_all_uses_with(self._plain(self._stacked[result], shape_of(result)))
            Rewriter.erase_op(op)
        return convolutions

    def _add(self, op: Operation) -> SSAValue:
        Rewriter.insert_op(op, InsertPoint.before(self._here))
        return op.results[0]

    def _splits(self, op: ConvOp) -> bool:
        type = element_type_of_value(op.x)
        shapes = (*shape_of(op.x), *shape_of(op.result))
        return (
            len(shape_of(op.x)) > 4
            and op.layout.data == "NCHW"
            and (type in (f32, f64) or is_byte(type))
            and 0 not in shapes
            and self.constants.is_constant(op.weight)
        )

    def _stays_stacked(self, op: ElementwiseOp) -> bool:
        """Whether it works on stacks, and all its other operands are per-channel constants."""
        shape = shape_of(op.results[0])
        if not any(operand in self._stacked for operand in op.operands):
            return False
        return all(
            shape_of(operand) == shape
            or (self.constants.is_constant(operand) and is_per_channel(shape_of(operand), len(shape)))
            for operand in op.operands
        )

    def _operand(self, value: SSAValue, op: ElementwiseOp) -> SSAValue:
        shape, rank = shape_of(value), len(shape_of(op.results[0]))
        if shape == shape_of(op.results[0]):
            return self._stack(value)
        if len(shape) < rank - 1:
            return value
        return self._add(ReshapeOp(value, (prod(shape), *[1] * (rank - 3)), location=op.location))

    def _stack(self, value: SSAValue) -> SSAValue:
        """A value as a stack."""
        if value not in self._stacked:
            return self._flat(self._depth_first(value))
        return self._stacked[value]

    def _depth_first(self, value: SSAValue) -> SSAValue:
        """[D, N, C, ...]"""
        batch, channels, depth, *sizes = shape_of(value)
        if value in self._stacked:
            return self._add(
                ReshapeOp(self._stacked[value], (depth, batch, channels, *sizes), location=self._here.location)
            )
        return self._add(TransposeOp(value, (2, 0, 1, *range(3, 3 + len(sizes))), location=self._here.location))

    def _flat(self, value: SSAValue) -> SSAValue:
        """[D, N, C, ...] -> [D * N, C, ...]"""
        depth, batch, *sizes = shape_of(value)
        return self._add(ReshapeOp(value, (depth * batch, *sizes), location=self._here.location))

    def _plain(self, stack: SSAValue, shape: Sequence[int]) -> SSAValue:
        """[D * N, C, ...] -> the shape [N, C, D, ...]"""
        batch, channels, depth, *sizes = shape
        apart = self._add(ReshapeOp(stack, (depth, batch, channels, *sizes), location=self._here.location))
        return self._add(TransposeOp(apart, (1, 2, 0, *range(3, 3 + len(sizes))), location=self._here.location))

    def _convolution(self, op: ConvOp) -> SSAValue:
        taps, outputs = shape_of(op.weight)[2], shape_of(op.result)
        inputs = shape_of(op.x)
        read = taps * inputs[1] * prod(map(now, inputs[3:]))
        added = (taps - 1) * outputs[1] * prod(map(now, outputs[3:]))
        if op.groups.value.data == 1 and op.x not in self._stacked and read < added:
            pictures = self._flat(self._depth_first(self._taps_as_channels(op)))
            return self._add(self._picture_convolution(op, pictures, range(taps), op.bias))
        result: SSAValue | None = None
        depth_first = self._padded(self._depth_first(op.x), op, 0)
        for tap in range(taps):
            pictures = self._flat(self._read_by(depth_first, op, tap, 0))
            made = self._add(self._picture_convolution(op, pictures, [tap], op.bias if result is None else None))
            result = made if result is None else self._add(AddOp(made, result, location=self._here.location))
        assert result is not None
        return result

    def _taps_as_channels(self, op: ConvOp) -> SSAValue:
        """[N, C, D, ...] -> [N, taps * C, D', ...]: the inputs of all taps for each slice of the result."""
        padded = self._padded(op.x, op, 2)
        taps = shape_of(op.weight)[2]
        return self._add(
            ConcatOp([self._read_by(padded, op, tap, 2) for tap in range(taps)], 1, location=self._here.location)
        )

    def _padded(self, value: SSAValue, op: ConvOp, axis: int) -> SSAValue:
        """The slices with padding slices before and after them."""
        pads = ints(op.pads)
        before, after = (self._padding(value, op, axis, pads[side]) for side in (0, len(pads) // 2))
        if not before and not after:
            return value
        return self._add(ConcatOp([*before, value, *after], axis, location=op.location))

    def _padding(self, value: SSAValue, op: ConvOp, axis: int, pictures: int) -> list[SSAValue]:
        """`pictures` slices of the padding value; [] for none."""
        if not pictures:
            return []
        shape = list(shape_of(value))
        shape[axis] = pictures
        type = numpy_dtype(element_type_of_value(value))
        number = self._add(ConstantOp.from_numpy(np.array(op.padding, type), op.location))
        return [self._add(BroadcastToOp(number, shape, location=op.location))]

    def _read_by(self, value: SSAValue, op: ConvOp, tap: int, axis: int) -> SSAValue:
        """The slices that a tap reads."""
        shape = shape_of(value)
        stride, depth = ints(op.strides)[0], shape_of(op.result)[2]
        starts, stops, steps = [0] * len(shape), list(shape), [1] * len(shape)
        starts[axis] = tap * ints(op.dilations)[0]
        stops[axis] = starts[axis] + (depth - 1) * stride + 1
        steps[axis] = stride
        if starts[axis] == 0 and stride == 1 and stops[axis] == shape[axis]:
            return value
        return self._add(SliceOp(value, starts, stops, steps, location=self._here.location))

    def _picture_convolution(
        self, op: ConvOp, pictures: SSAValue, taps: Sequence[int], bias: SSAValue | None
    ) -> ConvOp:
        """The 2D convolution by some taps, whose inputs are channels."""
        filters, channels, _, *kernel = shape_of(op.weight)
        shape = (filters, len(taps) * channels, *kernel)

        def picked(weight: Array) -> Array:
            return np.swapaxes(weight[:, :, list(taps)], 1, 2).reshape(shape)

        type = tensor(element_type_of_value(op.weight), shape)
        weight = self.constants.computed([op.weight], type, f"taps {list(taps)}", picked, op.location)
        pads = ints(op.pads)
        rank = len(pads) // 2
        return ConvOp(
            pictures,
            self._add(weight),
            bias,
            strides=ints(op.strides)[1:],
            pads=[*pads[1:rank], *pads[rank + 1 :]],
            dilations=ints(op.dilations)[1:],
            groups=op.groups.value.data,
            pad_value=op.padding,
            location=op.location,
        )


@dataclass(frozen=True)
class SplitConvDepth(ModulePass):
    """Splits 3D convolutions into 2D convolutions."""

    name = "split-conv-depth"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        constants = Constants(blob_store(ctx))
        while True:
            blocks = {inner.parent for inner in op.walk() if isinstance(inner, ConvOp) and len(shape_of(inner.x)) > 4}
            made = sum(_Stacks(constants).rebuild(block) for block in blocks if block is not None)
            if not made:
                return
            count(ctx, self.name, "convolution", made)
