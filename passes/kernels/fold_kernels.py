"""fold-kernels: on a GPU, kernels whose operands are all constant are evaluated when the model is compiled.

before:  %0 = graph.call @gather_0(%table, %places)         of weights only: a launch in every run
         %y = graph.call @add_0(%x, %0)
after:   %0 = graph.weight #graph.blob<"", ...>
         %y = graph.call @add_0(%x, %0)

fold-constants leaves what would make more bytes than it reads, such as a table gathered by many indices: on a CPU it
is computed in the arena, which is memory that others use, too. A launch costs more than those bytes. What has been
fused into a kernel with other operands stays there. Results that `main` returns or hands to a loop stay calls, and so
does what takes more than linear time, or would make the weights larger by more than 512 MB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ...dialects.graph.base import GraphOp
from ...dialects.graph.blobs import BlobStore, Source, blob_store
from ...dialects.graph.host import kernels_of
from ...dialects.graph.interpreter import evaluate_kernel
from ...dialects.graph.ops.movement import ReshapeOp
from ...dialects.graph.ops.structure import CallOp, ConstantOp, KernelOp, WeightOp
from ...dialects.graph.values import Array, nbytes_of, type_of
from ...dialects.kernel.targets import GpuAttr, target_of
from ..statistics import count

MOST_BYTES = 2**29
"""Of all results together."""


@dataclass(frozen=True)
class FoldKernels(ModulePass):
    """On a GPU, kernels whose operands are all constant are evaluated when the model is compiled."""

    name = "fold-kernels"

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        if not isinstance(target_of(op), GpuAttr):
            return
        store, kernels, allowed = blob_store(ctx), kernels_of(op), MOST_BYTES
        for inner in list(op.walk()):
            if isinstance(inner, ReshapeOp) and isinstance(weight := inner.x.owner, WeightOp):
                made = [WeightOp(weight.blob, type_of(inner.result), location=weight.location)]
            elif isinstance(inner, CallOp) and _is_foldable(inner, kernel := kernels[inner.callee.string_value()]):
                nbytes = sum(nbytes_of(type_of(result)) for result in inner.results)
                if nbytes > allowed:
                    continue
                allowed -= nbytes
                made = _evaluated(inner, kernel, store)
                count(ctx, self.name, kernel.sym_name.data)
            else:
                continue
            Rewriter.replace_op(inner, made, [new.result for new in made])
        called = {each.callee.string_value() for each in op.walk() if isinstance(each, CallOp)}
        for name, kernel in kernels.items():
            if name not in called:
                Rewriter.erase_op(kernel)


def _is_foldable(call: CallOp, kernel: KernelOp) -> bool:
    """Whether a call computes only what is known, in linear time, for other kernels."""
    known = all(isinstance(operand.owner, WeightOp | ConstantOp) for operand in call.operands)
    cheap = all(each.is_cheap() for each in kernel.body.block.ops if isinstance(each, GraphOp))
    return known and cheap and all(map(_is_for_kernels, call.results))


def _is_for_kernels(value: SSAValue) -> bool:
    """Whether kernels alone read a value, perhaps reshaped."""
    return all(
        isinstance(use.operation, CallOp)
        or (isinstance(use.operation, ReshapeOp) and _is_for_kernels(use.operation.results[0]))
        for use in value.uses
    )


def _evaluated(call: CallOp, kernel: KernelOp, store: BlobStore) -> list[WeightOp]:
    """Weights for the results of a call."""
    kept = kernel.clone()  # large ones are computed later
    sources = [_source(operand) for operand in call.operands]

    def one(number: int) -> WeightOp:
        def fill(arrays: Sequence[Array], out: Array) -> None:
            out[...] = evaluate_kernel(kept, arrays)[number]

        type = type_of(call.results[number])
        return WeightOp(store.add_made(type, sources, f"{kept} {number}", fill), type, location=call.location)

    return [one(number) for number in range(len(call.results))]


def _source(operand: SSAValue) -> Source:
    owner = operand.owner
    if isinstance(owner, WeightOp):
        return owner.blob, type_of(operand)
    assert isinstance(owner, ConstantOp)
    return owner.to_numpy()
