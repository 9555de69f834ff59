"""graph.unpack: the plain weight that a packed array represents, and the table of all packings."""

from __future__ import annotations

from collections.abc import Sequence

from typing_extensions import override
from xdsl.dialects.builtin import DenseArrayBase, IntegerType, LocationAttr, StringAttr, UnitAttr
from xdsl.ir import Operation, SSAValue
from xdsl.irdl import irdl_op_definition, operand_def, opt_prop_def, prop_def, result_def

from ...modules import classes_in
from ..base import GraphOp, require
from ..values import AnyTensor, Array, element_type_of_value, ints, shape_of, tensor
from . import packings, winograd_filters
from .packings import Packing

PACKINGS: dict[str, type[Packing]] = {
    each.kind: each
    for module in (packings, winograd_filters)
    for each in classes_in(module, Packing)
    if "kind" in vars(each)
}
"""All packings by kind."""


@irdl_op_definition
class UnpackOp(GraphOp):
    """The plain weight that a packed one means.

    "panels": [..., ceil(N / nr), K, nr] -> [..., K, N], or [..., N, K] with `transposed`; "paired_panels": the
    same, where each panel has nr / 2 columns of each half; "conv_panels": [g, ceil(Cout / g / nr), kernel * Cin / g,
    nr] -> [Cout, Cin / g, kernel...]; "byte_panels" and "byte_conv_panels":
    the same with the depth made up to whole groups, in which a column's bytes lie side by side; "depthwise":
    [ceil(Cout / nr), Cin / g * kernel, nr] -> [Cout, Cin / g, kernel...]; "filters": [g, kernel * Cin / g, Cout /
    g], or with the last two `transposed`, -> [Cout, Cin / g, kernel...]; "winograd": [chunks, coordinates, panels,
    Cin, nr] -> [Cout, Cin, 3, 3], to within rounding.
    """

    name = "graph.unpack"

    packed = operand_def()
    kind = prop_def(StringAttr)
    shape = prop_def(DenseArrayBase[IntegerType])
    transposed = opt_prop_def(UnitAttr)
    result = result_def()

    def __init__(
        self,
        packed: SSAValue | Operation,
        kind: str,
        shape: Sequence[int],
        transposed: bool = False,
        location: LocationAttr | None = None,
    ):
        self._build((packed,), location, kind=kind, shape=shape, transposed=transposed)

    @classmethod
    def of(cls, packed: SSAValue, packing: Packing, shape: Sequence[int]) -> UnpackOp:
        """The weight of that shape that `packed` represents."""
        return cls(packed, packing.kind, shape, bool(getattr(packing, "transposed", False)))

    @property
    def packing(self) -> Packing:
        """The packing of the operand."""
        return PACKINGS[self.kind.data].of_packed(shape_of(self.packed), self.transposed is not None)

    @override
    def infer_types(self) -> Sequence[AnyTensor]:
        kind, packed = self.kind.data, shape_of(self.packed)
        require(kind in PACKINGS, f'kind is one of {", ".join(PACKINGS)}, got "{kind}"')
        require(len(packed) >= 3 and packed[0] >= 1 and packed[-1] >= 1, f"{list(packed)} is no packed shape")
        wanted = self.packing.packed_shape(ints(self.shape))
        require(packed == wanted, f"packed shape {list(packed)} instead of {list(wanted)}")
        return [tensor(element_type_of_value(self.packed), ints(self.shape))]

    @override
    def evaluate(self, *arrays: Array) -> tuple[Array, ...]:
        return (self.packing.unpack(arrays[0], ints(self.shape)),)
