"""Copy kernels, created where buffers must agree and no kernel of the model copies between them.

    graph.kernel @copy_0(%a: tensor<2x3xf32>) -> tensor<6xf32> {
      %r = graph.reshape %a ...
      graph.yield %r
    }

One per pair of types; for equal types the body yields its argument.
"""

from __future__ import annotations

from xdsl.dialects.builtin import LocationAttr, ModuleOp
from xdsl.ir import Attribute

from ....dialects.graph.host import kernels_of
from ....dialects.graph.ops.movement import ReshapeOp
from ....dialects.graph.ops.structure import KernelOp, YieldOp
from ....dialects.graph.values import AnyTensor
from .created_kernels import add_map_kernel


class CopyKernels:
    """The copy kernels of a module, created on demand."""

    def __init__(self, module: ModuleOp) -> None:
        self.module = module
        self.kernels = kernels_of(module)
        self.names: dict[tuple[Attribute, Attribute], str] = {}

    def get(self, source: AnyTensor, result: AnyTensor, location: LocationAttr | None = None) -> str:
        """The name of the kernel that copies a `source` to a `result` of equal element count."""
        name = self.names.get((source, result))
        if name is None:
            kernel = self._make(source, result, location)
            name = self.names[source, result] = kernel.sym_name.data
            self.kernels[name] = kernel
            add_map_kernel(self.module, kernel)
        return name

    def _make(self, source: AnyTensor, result: AnyTensor, location: LocationAttr | None) -> KernelOp:
        number = len(self.names)
        while f"copy_{number}" in self.kernels:
            number += 1
        kernel = KernelOp(f"copy_{number}", [source], [result], location=location)
        value = kernel.arguments[0]
        if source != result:
            reshape = ReshapeOp(value, result.get_shape(), location=location)
            kernel.body.block.add_op(reshape)
            value = reshape.result
        kernel.body.block.add_op(YieldOp(value, location=location))
        return kernel
