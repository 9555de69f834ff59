"""poison-dead: bytes of the arena are overwritten once nobody is to read them any more.

before:  kernel.call @relu_0 ins(%a : ...) outs(%b : ...)             %a dies here
after:   kernel.call @relu_0 ins(%a : ...) outs(%b : ...)
         kernel.barrier
         %d = memref.view %arena[%at][] : memref<8192xi8> to memref<1024xi8>
         kernel.call @poison_1024 outs(%d : memref<1024xi8>)
         kernel.barrier

For checking memory: a kernel that reads a buffer after its death as planned finds 0xFF, which is NaN in every float
type. Runs after plan-arena, whose lifetimes stand on the views. Only calls in the block of `main` itself are followed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, MemRefType, ModuleOp, i8
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ..dialects.graph import BroadcastToOp, ConstantOp, KernelOp, YieldOp, tensor
from ..dialects.kernel import BarrierOp, CallOp, target_of
from .buffers import main_of
from .schedules import map as map_schedule


@dataclass
class _Dead:
    """Bytes [low, high) of the arena, free from step `death` on."""

    arena: SSAValue
    low: int
    high: int
    death: int


@dataclass(frozen=True)
class PoisonDead(ModulePass):
    """Bytes of the arena are overwritten once nobody is to read them any more."""

    name = "poison-dead"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = main_of(op, self.name).body.block
        calls = [inner for inner in block.ops if isinstance(inner, CallOp)]
        kernels: dict[int, str] = {}
        for dead in _buffers(list(block.ops)):
            # What dies with the last call is never read: the inference is over.
            if not 0 < dead.death < len(calls):
                continue
            size = dead.high - dead.low
            if size not in kernels:
                kernels[size] = _fill_kernel(op, size)
            at = arith.ConstantOp(IntegerAttr(dead.low, IndexType()))
            view = memref.ViewOp(dead.arena, at.result, [], MemRefType(i8, [size]))
            fill = CallOp(kernels[size], [], [view.result])
            Rewriter.insert_op([BarrierOp(), at, view, fill, BarrierOp()], InsertPoint.after(calls[dead.death - 1]))


def _buffers(ops: list[Operation]) -> list[_Dead]:
    """The planned buffers: what their views cover."""
    found: dict[int, _Dead] = {}
    for op in ops:
        number, death = op.attributes.get("buffer"), op.attributes.get("death")
        if not isinstance(op, memref.ViewOp) or number is None or death is None:
            continue
        shift = op.byte_shift.owner
        assert isinstance(shift, arith.ConstantOp)
        low = _integer(shift.value)
        dead = found.setdefault(_integer(number), _Dead(op.source, low, low, _integer(death)))
        dead.low, dead.high = min(dead.low, low), max(dead.high, low + _extent(op.result))
        dead.death = max(dead.death, _integer(death))
    return list(found.values())


def _integer(attribute: Attribute) -> int:
    return cast("IntegerAttr[IntegerType]", attribute).value.data


def _extent(buffer: SSAValue) -> int:
    """Bytes from a view's first element to its last."""
    type = cast("MemRefType[IntegerType]", buffer.type)
    strides = type.get_strides() or ()
    pairs = zip(type.get_shape(), strides, strict=True)
    elements = 1 + sum((size - 1) * (stride or 0) for size, stride in pairs)
    return elements * max(1, type.element_type.size)


def _fill_kernel(module: ModuleOp, size: int) -> str:
    """A kernel that writes 0xFF to `size` bytes."""
    kernel = KernelOp(f"poison_{size}", [], [tensor(i8, (size,))])
    ones = ConstantOp.from_numpy(np.array([-1], np.int8))
    fill = BroadcastToOp(ones.results[0], (size,))
    kernel.body.block.add_ops([ones, fill, YieldOp(fill.results[0])])
    kernel.schedule, kernel.interface = map_schedule.schedule(kernel, target_of(module))
    module.body.block.add_op(kernel)
    return kernel.sym_name.data
