"""The schedule of one row times a matrix that is computed: each of its elements is read once, in the order of memory.

Panels read a few columns of each of the matrix' rows, or transpose them; here rows along the contracted dimension are
dot products with the row, and rows of columns are added up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Self

from typing_extensions import override
from xdsl.dialects.builtin import f32

from ......dialects.graph.ops.contraction import MatmulOp
from ......dialects.graph.ops.structure import KernelOp
from ......dialects.graph.values import element_type_of_value, shape_of
from ......dialects.kernel.kernel_attributes import InterfaceAttr
from ......dialects.kernel.targets import CpuAttr
from ......dialects.sizes.sizes import bounds_of
from .....cost_model import seconds
from .....geometry.strided_views import strided_view
from ....forms.contraction import ContractionForm, contraction_form
from ....forms.product import product_shape, reads_windows
from ....kernel_facts import constant_operands, plain_operands
from ...schedule import Schedule, TileSize
from ...scratch import ScratchLayout
from ..tuning import ONE_ROW_COLUMNS
from .tiled_product import depth_of, fits, is_plain


@dataclass(frozen=True)
class OneRow(Schedule[CpuAttr]):
    """Dot products along rows of the matrix, or sums of them."""

    forms = ("contraction",)
    rank: ClassVar[int] = -1  # panels, too, would read the matrix once if that were all

    lanes: TileSize
    """Elements of one register."""

    @override
    @classmethod
    def candidates(cls, kernel: KernelOp, target: CpuAttr) -> Iterator[Self]:
        """If the right-hand side is no weight, and contiguous along one of its dimensions."""
        if suits(kernel, contraction_form(kernel)):
            yield cls(target.lanes(32))

    @override
    def cost(self, kernel: KernelOp, target: CpuAttr) -> float:
        return seconds(kernel, target)

    @override
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        form = contraction_form(kernel)
        return InterfaceAttr.of(
            strided_operands=plain_operands(kernel, [form.root, *form.epilogue]),
            strided_results=[0],
            per_thread=self.scratch(kernel).per_thread,
        )

    @override
    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """Sums of a block of columns, in whole registers."""
        del kernel
        return ScratchLayout.of([("sums", f32, (max(ONE_ROW_COLUMNS, self.lanes),))])


def suits(kernel: KernelOp, form: ContractionForm) -> bool:
    """Whether a kernel is such a product of f32, on windows of its arguments."""
    root = form.root
    if not isinstance(root, MatmulOp) or not fits(root) or not is_plain(form) or form.blocks is not None:
        return False
    if form.halves or form.means is not None or root.sums is not None or form.unpack is not None:
        return False
    columns = shape_of(root.result)[-1]
    weights = [kernel.arguments[position] for position in constant_operands(kernel)]
    if element_type_of_value(root.lhs) != f32 or element_type_of_value(root.rhs) != f32 or form.rhs is not root.rhs:
        return False
    if not reads_windows(kernel, form) or any(len(shape_of(operand)) < 2 for operand in (root.lhs, root.rhs)):
        return False
    bases = [strided_view(operand).base for operand in (root.lhs, root.rhs)]
    # Of an axis with one element, strides are what they are; there may be gaps between those of others.
    long = min(bounds_of(size)[0] for size in (*(shape_of(base)[-1] for base in bases), depth_of(root), columns)) > 1
    return bases[1] not in weights and long and product_shape(root).rows == 1 and contiguous_along(root) is not None


def contiguous_along(root: MatmulOp) -> str | None:
    """Along which dimension elements of the right-hand side lie side by side: "depth" or "columns"; None: along none.

    Dot products read the row in whole registers, too.
    """
    depth, column = depth_and_column(strided_view(root.rhs).strides, root)
    if column == 1:
        return "columns"
    return "depth" if depth == 1 and depth_of_row(strided_view(root.lhs).strides, root) == 1 else None


def depth_and_column(strides: tuple[int, ...], root: MatmulOp) -> tuple[int, int]:
    """Of strides of the right-hand side, those of the contracted dimension and of the columns."""
    first, second = strides[-2:]
    return (first, second) if root.transpose_b is None else (second, first)


def depth_of_row(strides: tuple[int, ...], root: MatmulOp) -> int:
    """Of strides of the left-hand side, that of the contracted dimension."""
    return strides[-1] if root.transpose_a is None else strides[-2]
