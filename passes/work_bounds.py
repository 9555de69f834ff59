"""Lower bounds on the work of a model or kernel, counted from shapes: floating-point operations and bytes.

    flops     2 for each multiplication that is summed up, of matrix products, convolutions counted as direct ones,
              attention and recurrences; all other operations count nothing
    bytes     of a model its weights and constants, inputs and outputs, of a kernel its operands and results, each
              once; of a table that is only looked up in, what is taken from it

Intermediate values of a model, scratch and what is read again are not among the bytes: a machine with caches large
enough would not have to move them. What is in a loop or a branch counts once. Sizes of run time are the present ones.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Operation

from ..dialects.graph.base import GraphOp
from ..dialects.graph.host import main_of
from ..dialects.graph.ops.structure import ConstantOp, KernelOp, WeightOp
from ..dialects.sizes.sizes import now
from .cost_model import bytes_of, read_bytes


@dataclass(frozen=True)
class Work:
    """Floating-point operations, and bytes to be moved."""

    flops: int
    nbytes: int


def work_of_model(module: ModuleOp) -> Work:
    """The work of a module at the graph level. Raises InvalidModelError without a function @main."""
    block = main_of(module).body.block
    weights: dict[Attribute, int] = {}
    ops = list(block.walk())
    for op in ops:
        if isinstance(op, WeightOp):
            weights[op.blob] = max(weights.get(op.blob, 0), read_bytes(op.result))
        elif isinstance(op, ConstantOp):
            weights[op.value] = max(weights.get(op.value, 0), read_bytes(op.result))
    returned = [value for op in block.ops if isinstance(op, ReturnOp) for value in op.operands]
    moved = sum(map(read_bytes, block.args)) + sum(map(bytes_of, returned))
    return Work(_flops(ops), sum(weights.values()) + moved)


def work_of_kernel(kernel: KernelOp) -> Work:
    """The work of one call of a kernel."""
    moved = sum(map(read_bytes, kernel.arguments)) + sum(map(bytes_of, kernel.terminator.operands))
    return Work(_flops(kernel.body.block.ops), moved)


def _flops(ops: Iterable[Operation]) -> int:
    return now(2 * sum(op.products for op in ops if isinstance(op, GraphOp)))
