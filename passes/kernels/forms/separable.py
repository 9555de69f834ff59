"""The form "separable": a convolution, a depthwise one of its result, and optionally a pointwise one.

Each has an elementwise epilogue. The results of the first two are used in the kernel only. This is the inverted
residual of MobileNet-v2 (Sandler et al., 2018): expand, depthwise, project.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from xdsl.ir import Operation

from ....dialects.errors import CompileError
from ....dialects.graph.base import describe
from ....dialects.graph.ops.contraction import ConvOp
from ....dialects.graph.ops.structure import ConstantOp, KernelOp, YieldOp
from ....dialects.graph.packing.unpack import UnpackOp
from .contraction import ContractionForm, ConvGeometry, contraction_of, conv_geometry


@dataclass(frozen=True)
class SeparableForm:
    """The convolutions with their epilogues; `project` is None if the depthwise one is the last."""

    expand: ContractionForm
    depthwise: ContractionForm
    project: ContractionForm | None

    @property
    def stages(self) -> tuple[ContractionForm, ...]:
        """The convolutions in order."""
        return (self.expand, self.depthwise, *([] if self.project is None else [self.project]))


def separable_form(kernel: KernelOp) -> SeparableForm:
    """The form of a separable kernel. Raises CompileError for any other body."""
    stages: list[list[Operation]] = []
    for op in kernel.body.block.ops:
        if isinstance(op, ConvOp):
            stages.append([op])
        elif stages and not isinstance(op, YieldOp):
            stages[-1].append(op)
        elif not isinstance(op, YieldOp | UnpackOp | ConstantOp):
            raise CompileError(f"{describe(op)}: cannot be fused in front of a convolution")
    if not 2 <= len(stages) <= 3:
        raise CompileError(f"{describe(kernel)} @{kernel.sym_name.data}: {len(stages)} convolutions, not 2 or 3")
    forms = [contraction_of(ops) for ops in stages]
    for before, after in pairwise(forms):
        if after.lhs is not before.stored:
            raise CompileError(
                f"{describe(after.root)}: reads other values than the result of the convolution before it"
            )
    return SeparableForm(forms[0], forms[1], forms[2] if len(forms) == 3 else None)


def geometry_of(form: ContractionForm) -> ConvGeometry:
    """The sizes of a stage."""
    assert isinstance(form.root, ConvOp)
    return conv_geometry(form.root)
