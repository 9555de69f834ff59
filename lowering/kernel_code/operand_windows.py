"""An attention's operands and result as strided windows [batch, head, row, column] on buffers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from ...dialects.errors import CompileError
from ...dialects.graph.base import describe
from ...dialects.graph.ops.attention import AttentionOp
from ...dialects.graph.ops.conversion import CastOp
from ...dialects.graph.ops.movement import TransposeOp
from ...dialects.graph.values import ints, shape_of
from .instance_base import AnyInstance
from .loop_builder import Index, LoopBuilder, memref_type, strides_of


@dataclass(frozen=True)
class OperandWindow:
    """A [batch, head, row, column] operand: its buffer, and its offset and strides in elements."""

    buffer: SSAValue
    offset: int
    strides: tuple[int, ...]

    def at(self, b: LoopBuilder, index: Sequence[Index], sizes: Sequence[int]) -> SSAValue:
        """The matrix [row, column] that starts at `index` (batch, head, row and perhaps column)."""
        offset = b.linear(index, self.strides[: len(index)], self.offset)
        return b.view(self.buffer, offset, sizes, self.strides[2:])


def operand_window(k: AnyInstance, value: SSAValue) -> OperandWindow:
    """Query, key or value."""
    view = k.window(value)
    return OperandWindow(view.base, view.offset, view.strides)


def mask_window(k: AnyInstance, mask: SSAValue) -> OperandWindow:
    """The mask, with strides 0 along broadcast dimensions."""
    window = operand_window(k, mask)
    own = [0 if size == 1 else stride for size, stride in zip(shape_of(mask), window.strides, strict=True)]
    return OperandWindow(window.buffer, window.offset, (*[0] * (4 - len(own)), *own))


def result_window(k: AnyInstance, root: AttentionOp) -> OperandWindow:
    """The result, possibly through a transpose, and rounded. Raises CompileError for other ops after the attention."""
    strides = list(strides_of(memref_type(k.results[0])))
    owner = k.yielded[0].owner
    if isinstance(owner, CastOp):
        owner = owner.x.owner
    if isinstance(owner, TransposeOp):
        own = [0] * len(strides)
        for axis, source in enumerate(ints(owner.permutation)):
            own[source] = strides[axis]
        strides = own
    elif owner is not root:
        raise CompileError(f"{describe(k.kernel)}: only a transpose and a cast can follow attention in its kernel")
    return OperandWindow(k.results[0], 0, tuple(strides))
