"""An op that fails at run time, for example in a branch with contradictory shapes.

    %y = scf.if %c -> (tensor<4xf32>) {
      %a = graph.relu %x : tensor<4xf32>
      scf.yield %a : tensor<4xf32>
    } else {
      %b = graph.fail {message = "If_0 (If): its else_branch can't be run: ..."} : tensor<4xf32>
      scf.yield %b : tensor<4xf32>
    }

As with an index out of range (indexing.py), the kernel records that it ran, and the context raises the error after the
run (insert-checks). Its results, which exist so that later ops are well-typed, are zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from typing_extensions import override
from xdsl.dialects.builtin import LocationAttr, StringAttr
from xdsl.irdl import irdl_op_definition, prop_def, result_def

from ...errors import InvalidInputError
from ..base import GraphOp
from ..values import AnyTensor, Array, type_of


@irdl_op_definition
class FailOp(GraphOp):
    """Raises InvalidInputError with the message when run, by the interpreter or as machine code."""

    name = "graph.fail"
    LINEAR: ClassVar[bool] = False

    message = prop_def(StringAttr)
    result = result_def()

    def __init__(self, message: str, type: AnyTensor, location: LocationAttr | None = None):
        self._build((), location, [type], message=message)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        return [type_of(self.result)]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        raise InvalidInputError(self.message.data)
