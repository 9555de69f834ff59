"""graph.unpack: the plain weight that a packed array represents."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, LocationAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, prop_def, result_def

from ..base import GraphOp, require
from ..values import AnyTensor, Array, element_type_of_value, ints, shape_of, tensor
from .attribute import PackingAttr
from .packings import Packing


@irdl_op_definition
class UnpackOp(GraphOp):
    """The plain weight, of the given shape, that a packed one represents; for "winograd" to within rounding."""

    name = "graph.unpack"

    packed = operand_def()
    packing = prop_def(PackingAttr)
    shape = prop_def(DenseArrayBase[IntegerType])
    result = result_def()

    def __init__(
        self,
        packed: SSAValue | Operation,
        packing: Packing,
        shape: Sequence[int],
        location: LocationAttr | None = None,
    ):
        self._build((packed,), location, packing=PackingAttr.of(packing), shape=shape)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        packed, wanted = shape_of(self.packed), self.packing.packing.packed_shape(ints(self.shape))
        require(packed == wanted, f"packed shape {list(packed)} instead of {list(wanted)}")
        element = self.packing.packing.plain_type(element_type_of_value(self.packed))
        return [tensor(element, ints(self.shape))]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        return (self.packing.packing.unpack(arrays[0], ints(self.shape)),)
