"""The form "rows": one reduction, softmax or normalisation with its fused ops.

Before the root there may be elementwise and movement ops, and gathers; after it elementwise ops that keep the shape,
transposes and reshapes. choose-schedule and the code generator read kernels through this one form.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from math import prod
from typing import TypeAlias, cast

from xdsl.dialects.builtin import BFloat16Type, Float16Type, IntegerType, f32
from xdsl.ir import Attribute, BlockArgument, Operation, SSAValue

from ....dialects.errors import CompileError
from ....dialects.graph.base import ElementwiseOp, MovementOp, describe
from ....dialects.graph.ops.indexing import GatherOp
from ....dialects.graph.ops.movement import ReshapeOp, TransposeOp
from ....dialects.graph.ops.normalization import InstanceNormOp, LayerNormOp, RmsNormOp
from ....dialects.graph.ops.reduction import ArgExtremumOp, CumulativeOp, LogSoftmaxOp, ReduceOp, SoftmaxOp
from ....dialects.graph.ops.structure import KernelOp, YieldOp
from ....dialects.graph.values import element_type_of_value, shape_of

RowOp: TypeAlias = (
    ReduceOp | ArgExtremumOp | SoftmaxOp | LogSoftmaxOp | CumulativeOp | LayerNormOp | RmsNormOp | InstanceNormOp
)


@dataclass(frozen=True)
class RowForm:
    """A kernel's root, and the axes along which it reduces."""

    root: RowOp
    axes: tuple[int, ...]  # of root.x, ascending

    @property
    def keeps_shape(self) -> bool:
        """Whether the result has an element for each element of x, rather than one per row."""
        return not isinstance(self.root, ReduceOp | ArgExtremumOp)

    @property
    def along(self) -> bool:
        """Whether rows run along the innermost axis: then vector lanes split a row, else each lane has its own."""
        long = [axis for axis, size in enumerate(shape_of(self.root.x)) if size != 1]
        return not long or long[-1] in self.axes

    @property
    def length(self) -> int:
        """Elements of a row."""
        return prod(shape_of(self.root.x)[axis] for axis in self.axes)

    @property
    def rows(self) -> int:
        """Number of rows."""
        shape = shape_of(self.root.x)
        return prod(size for axis, size in enumerate(shape) if axis not in self.axes)

    @property
    def number(self) -> Attribute:
        """The type of computation: 16-bit floats as 32 bits, integers signless."""
        element = element_type_of_value(self.root.x)
        if isinstance(element, IntegerType):
            return IntegerType(cast("IntegerType", element).width.data)
        return f32 if isinstance(element, Float16Type | BFloat16Type) else element

    @property
    def plain(self) -> bool:
        """Whether x is an operand of the kernel, possibly rearranged: then it is read again rather than buffered."""
        value = self.root.x
        while isinstance(owner := value.owner, MovementOp):
            value = owner.operands[0]
        return isinstance(value, BlockArgument)

    @property
    def keeps_row(self) -> bool:
        """Whether a row is buffered in scratch between its passes."""
        if isinstance(self.root, ReduceOp | CumulativeOp):
            return False
        return isinstance(self.root, SoftmaxOp) or not self.plain


def row_form(kernel: KernelOp) -> RowForm | None:
    """The form of a kernel; None for any other body."""
    roots = [op for op in kernel.body.block.ops if isinstance(op, RowOp)]
    if len(roots) != 1 or any(not _fits(op, roots[0]) for op in kernel.body.block.ops):
        return None
    form = RowForm(roots[0], tuple(roots[0].whole_axes))
    # How elements have been rearranged on the way from the root to each value behind it.
    behind: dict[SSAValue, tuple[Attribute, ...]] = dict.fromkeys(roots[0].results, ())
    for op in kernel.body.block.ops:
        fed = [operand for operand in op.operands if operand in behind]
        if not fed or isinstance(op, YieldOp):
            continue
        way = behind[fed[0]]
        if isinstance(op, TransposeOp | ReshapeOp):
            way = (*way, op.permutation if isinstance(op, TransposeOp) else op.result.type)
        elif not isinstance(op, ElementwiseOp) or any(
            shape_of(value) != shape_of(op.results[0]) or behind[value] != way for value in fed
        ):
            return None
        behind.update(dict.fromkeys(op.results, way))
    return form if all(_is_written(value, behind, form) for value in kernel.terminator.arguments) else None


def the_row_form(kernel: KernelOp) -> RowForm:
    """The form of a kernel. Raises CompileError for any other body."""
    form = row_form(kernel)
    if form is None:
        raise CompileError(f"{describe(kernel)} @{kernel.sym_name.data}: its body is not that of a row kernel")
    return form


def _fits(op: Operation, root: Operation) -> bool:
    return op is root or isinstance(op, ElementwiseOp | MovementOp | GatherOp | YieldOp) or op.name == "graph.constant"


def _is_written(value: SSAValue, behind: Container[SSAValue], form: RowForm) -> bool:
    """Whether a result is stored together with the root's: it depends on it, or has an element per element of x."""
    return value in behind or (form.keeps_shape and shape_of(value) == shape_of(form.root.x))
