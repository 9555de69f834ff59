"""What a model or a kernel has to do at least: floating-point operations and bytes, counted from shapes.

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
from math import prod
from typing import cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from ..dialects.graph.host_code import main_of
from ..dialects.graph.indexing import GatherAlongOp, GatherNdOp
from ..dialects.graph.structure import ConstantOp, KernelOp, WeightOp
from ..dialects.graph.values import numpy_dtype
from ..dialects.symbolic.sizes import now
from .work import products


@dataclass(frozen=True)
class Work:
    """Floating-point operations, and bytes that have to be moved."""

    flops: int
    nbytes: int


def work_of_model(module: ModuleOp) -> Work:
    """Of a module at the graph level. Raises InvalidModelError where it has no function @main."""
    block = main_of(module).body.block
    weights: dict[Attribute, int] = {}
    ops = list(block.walk())
    for op in ops:
        if isinstance(op, WeightOp):
            weights[op.blob] = max(weights.get(op.blob, 0), _read_bytes(op.result))
        elif isinstance(op, ConstantOp):
            weights[op.value] = max(weights.get(op.value, 0), _read_bytes(op.result))
    returned = [value for op in block.ops if isinstance(op, ReturnOp) for value in op.operands]
    moved = sum(map(_read_bytes, block.args)) + sum(map(_bytes, returned))
    return Work(_flops(ops), sum(weights.values()) + moved)


def work_of_kernel(kernel: KernelOp) -> Work:
    """Of one call of a kernel."""
    moved = sum(map(_read_bytes, kernel.arguments)) + sum(map(_bytes, kernel.terminator.operands))
    return Work(_flops(kernel.body.block.ops), moved)


def _flops(ops: Iterable[Operation]) -> int:
    return now(2 * sum(map(products, ops)))


def _read_bytes(value: SSAValue) -> int:
    """Bytes that are read of a value: all of it, or of a table what its readers take."""
    readers = [use.operation for use in value.uses]
    if readers and all(isinstance(op, GatherAlongOp | GatherNdOp) and op.operands[0] is value for op in readers):
        return min(_bytes(value), sum(_bytes(op.results[0]) for op in readers))
    return _bytes(value)


def _bytes(value: SSAValue) -> int:
    type = cast("TensorType[Attribute]", value.type)
    return now(prod(type.get_shape())) * numpy_dtype(type.element_type).itemsize
