"""Facts about a kernel's operands, shared by schedules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from xdsl.dialects.builtin import DenseArrayBase, IntegerType
from xdsl.ir import Operation, SSAValue

from ...dialects.errors import CompileError
from ...dialects.graph.base import describe
from ...dialects.graph.ops.indexing import ScatterElementsOp, ScatterNdOp
from ...dialects.graph.ops.movement import SlideOp
from ...dialects.graph.ops.selection import NonMaxSuppressionOp
from ...dialects.graph.ops.structure import KernelOp
from ...dialects.graph.values import element_type_of_value, ints, numpy_dtype

Root = TypeVar("Root", bound=Operation)
ScatterOp = ScatterNdOp | ScatterElementsOp


def argument_index(kernel: KernelOp, value: SSAValue) -> int:
    """The number of the operand that a block argument stands for."""
    return next(i for i, argument in enumerate(kernel.arguments) if argument is value)


def all_operands(kernel: KernelOp) -> range:
    """The numbers of a kernel's operands."""
    return range(len(kernel.arguments))


def all_results(kernel: KernelOp) -> range:
    """The numbers of a kernel's results."""
    return range(len(kernel.terminator.arguments))


def constant_operands(kernel: KernelOp) -> tuple[int, ...]:
    """Operands that are weights in every call (`constant_operands`, set by form-kernels)."""
    attribute = kernel.attributes.get("constant_operands")
    if not isinstance(attribute, DenseArrayBase):
        return ()
    return ints(cast("DenseArrayBase[IntegerType]", attribute))


def plain_operands(kernel: KernelOp, ops: Sequence[Operation]) -> list[int]:
    """Operands that are no weights and are read by `ops` only, directly and not through views."""
    inside, constants = set(ops), constant_operands(kernel)
    return [
        position
        for position, argument in enumerate(kernel.arguments)
        if position not in constants and all(use.operation in inside for use in argument.uses)
    ]


def the_root(kernel: KernelOp, kind: type[Root]) -> Root:
    """The one op of a kind in a kernel's body. Raises CompileError if there are none or several."""
    roots = [op for op in kernel.body.block.ops if isinstance(op, kind)]
    if len(roots) != 1:
        name = kind.name.removeprefix("graph.")
        raise CompileError(f"{describe(kernel)} @{kernel.sym_name.data}: {len(roots)} roots in one {name} kernel")
    return roots[0]


def scatter_of(kernel: KernelOp) -> ScatterOp | None:
    """The scatter op that a kernel consists of."""
    return next((op for op in kernel.body.block.ops if isinstance(op, ScatterOp)), None)


def slide_of(kernel: KernelOp) -> SlideOp | None:
    """The slide that a kernel consists of, if its window is read by nothing else."""
    first, *others = kernel.body.block.ops
    return first if isinstance(first, SlideOp) and len(others) == 1 and first.x.has_one_use() else None


def suppression_of(kernel: KernelOp) -> NonMaxSuppressionOp | None:
    """The suppression that a kernel consists of; None if it lists what one has chosen."""
    return next((op for op in kernel.body.block.ops if isinstance(op, NonMaxSuppressionOp)), None)


def scatter_pairs(kernel: KernelOp, scatter: ScatterOp) -> list[tuple[int, int]]:
    """x and the result of a scatter, if x has no other use."""
    return [(i, 0) for i, each in enumerate(kernel.arguments) if each is scatter.x and each.has_one_use()]


def item_bytes(value: SSAValue) -> int:
    """Bytes of an element of a tensor."""
    return numpy_dtype(element_type_of_value(value)).itemsize
