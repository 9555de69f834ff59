"""Products of tiles that lie in registers of two dimensions, as CPUs with Intel's AMX multiply them.

    %zero = amx.tile_zero : !amx.tile<16x16xf32>
    %a = amx.tile_load %rows[%i, %k] : memref<64x256xbf16> into !amx.tile<16x32xbf16>
    %b = amx.tile_load %panel[%k2, %j] : memref<128x64xbf16> into !amx.tile<16x32xbf16>
    %sums = amx.tile_mulf %a, %b, %zero : !amx.tile<16x32xbf16>, !amx.tile<16x32xbf16>, !amx.tile<16x16xf32>
    amx.tile_store %out[%i, %j], %sums : memref<64x64xf32>, !amx.tile<16x16xf32>

The operations are those of MLIR's dialect of that name. A tile has 16 rows of 64 bytes at most. The right-hand side of
a product lies in groups of as many elements as fill 32 bits: its row r has, for each column of the result, the
elements r * group to r * group + group - 1 of that column. `amx.tile_muli` multiplies bytes, which are signed unless
`zext_lhs` or `zext_rhs` says otherwise, and adds up in 32 bits with wrap-around. `amx.tile_mulf` adds up in f32, in any
order and with any roundings between; subnormal numbers count as zeros.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, cast

from typing_extensions import override
from xdsl.dialects.builtin import IndexType, IntAttr, IntegerType, MemRefType, UnitAttr, bf16, f32, i8, i32
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    IRDLOperation,
    ParsePropInAttrDict,
    VarConstraint,
    base,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

ROWS = 16
"""Rows of a tile, at most."""
ROW_BYTES = 64
"""Bytes of one row, at most."""
_BYTES: Mapping[Attribute, int] = {bf16: 2, f32: 4, i8: 1, i32: 4}
_WORD = 4


@irdl_attr_definition
class TileType(ParametrizedAttribute, TypeAttribute):
    """A tile of rows x columns elements: bf16, f32, i8 or i32."""

    name = "amx.tile"

    rows: IntAttr
    columns: IntAttr
    element_type: Attribute

    @classmethod
    def of(cls, rows: int, columns: int, element_type: Attribute) -> TileType:
        """A type from Python values."""
        return cls(IntAttr(rows), IntAttr(columns), element_type)

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return self.columns.data * _BYTES[self.element_type]

    @override
    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            shape, element_type = parser.parse_ranked_shape()
        if len(shape) != 2:
            parser.raise_error(f"a tile has 2 dimensions, not {len(shape)}")
        return (IntAttr(shape[0]), IntAttr(shape[1]), element_type)

    @override
    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.rows.data}x{self.columns.data}x")
            printer.print_attribute(self.element_type)

    @override
    def verify(self) -> None:
        if self.element_type not in _BYTES:
            raise VerifyException(f"a tile has elements of bf16, f32, i8 or i32, not of {self.element_type}")
        if not 1 <= self.rows.data <= ROWS:
            raise VerifyException(f"a tile has 1 to {ROWS} rows, not {self.rows.data}")
        if not 1 <= self.row_bytes <= ROW_BYTES or self.row_bytes % _WORD:
            raise VerifyException(
                f"a tile's rows have whole words of {_WORD} bytes, {ROW_BYTES} at most, not {self.row_bytes}"
            )


@irdl_op_definition
class TileZeroOp(IRDLOperation):
    """A tile of zeros."""

    name = "amx.tile_zero"

    result = result_def(base(TileType))

    traits = traits_def(Pure())
    assembly_format = "attr-dict `:` type($result)"

    def __init__(self, type: TileType) -> None:
        super().__init__(result_types=[type])


@irdl_op_definition
class TileLoadOp(IRDLOperation):
    """The tile that begins at an element of a memref, along its last two dimensions; the last one has no gaps."""

    name = "amx.tile_load"

    memref = operand_def(base(MemRefType))
    indices = var_operand_def(IndexType())
    result = result_def(base(TileType))

    traits = traits_def(MemoryReadEffect())
    assembly_format = "$memref `[` $indices `]` attr-dict `:` type($memref) `into` type($result)"

    def __init__(self, memref: SSAValue | Operation, indices: Sequence[SSAValue], type: TileType) -> None:
        super().__init__(operands=[memref, indices], result_types=[type])

    @override
    def verify_(self) -> None:
        _verify_place(self.memref, self.result, len(self.indices))


@irdl_op_definition
class TileStoreOp(IRDLOperation):
    """Stores a tile from an element of a memref on, along its last two dimensions; the last one has no gaps."""

    name = "amx.tile_store"

    memref = operand_def(base(MemRefType))
    indices = var_operand_def(IndexType())
    value = operand_def(base(TileType))

    traits = traits_def(MemoryWriteEffect())
    assembly_format = "$memref `[` $indices `]` `,` $value attr-dict `:` type($memref) `,` type($value)"

    def __init__(self, memref: SSAValue | Operation, indices: Sequence[SSAValue], value: SSAValue) -> None:
        super().__init__(operands=[memref, indices, value])

    @override
    def verify_(self) -> None:
        _verify_place(self.memref, self.value, len(self.indices))


class _TileMultiply(IRDLOperation):
    """sums[i, j] + the sum over k of lhs[i, k] * rhs's element k of column j."""

    ELEMENT: ClassVar[Attribute]
    SUMS: ClassVar[Attribute]

    _T: ClassVar = VarConstraint("_T", base(TileType))

    lhs = operand_def(base(TileType))
    rhs = operand_def(base(TileType))
    sums = operand_def(_T)
    result = result_def(_T)

    traits = traits_def(Pure())

    @override
    def verify_(self) -> None:
        lhs, rhs, sums = (value.type for value in self.operands)
        assert isinstance(lhs, TileType) and isinstance(rhs, TileType) and isinstance(sums, TileType)
        if (lhs.element_type, rhs.element_type, sums.element_type) != (self.ELEMENT, self.ELEMENT, self.SUMS):
            raise VerifyException(f"tiles of {self.ELEMENT} are multiplied, with sums of {self.SUMS}")
        words = rhs.row_bytes // _WORD
        if lhs.rows != sums.rows or words != sums.columns.data or lhs.row_bytes != _WORD * rhs.rows.data:
            raise VerifyException(f"{lhs} by {rhs} has no sums of {sums}")


@irdl_op_definition
class TileMulFOp(_TileMultiply):
    """The product of tiles of bf16, added to sums of f32."""

    name = "amx.tile_mulf"
    ELEMENT: ClassVar[Attribute] = bf16
    SUMS: ClassVar[Attribute] = f32

    assembly_format = "$lhs `,` $rhs `,` $sums attr-dict `:` type($lhs) `,` type($rhs) `,` type($sums)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, sums: SSAValue) -> None:
        super().__init__(operands=[lhs, rhs, sums], result_types=[sums.type])


@irdl_op_definition
class TileMulIOp(_TileMultiply):
    """The product of tiles of bytes, added to sums of 32 bits."""

    name = "amx.tile_muli"
    ELEMENT: ClassVar[Attribute] = i8
    SUMS: ClassVar[Attribute] = i32

    zext_lhs = opt_prop_def(UnitAttr)
    zext_rhs = opt_prop_def(UnitAttr)

    irdl_options = (ParsePropInAttrDict(),)
    assembly_format = "$lhs `,` $rhs `,` $sums attr-dict `:` type($lhs) `,` type($rhs) `,` type($sums)"

    def __init__(self, lhs: SSAValue, rhs: SSAValue, sums: SSAValue, *, zext_lhs: bool, zext_rhs: bool) -> None:
        flags = {"zext_lhs": zext_lhs, "zext_rhs": zext_rhs}
        super().__init__(
            operands=[lhs, rhs, sums],
            result_types=[sums.type],
            properties={name: UnitAttr() for name, said in flags.items() if said},
        )


def _verify_place(memref: SSAValue, tile: SSAValue, indices: int) -> None:
    type = cast("MemRefType[Attribute]", memref.type)
    assert isinstance(tile.type, TileType)
    if type.get_num_dims() < 2 or indices != type.get_num_dims():
        raise VerifyException("a tile lies along two dimensions of a memref, with an index for each dimension")
    strides = type.get_strides()
    if strides is None or strides[-1] != 1:
        raise VerifyException(f"a tile's rows have no gaps, and {type} has")
    element = type.element_type
    signless = IntegerType(cast("Any", element).width.data) if isinstance(element, IntegerType) else element
    if signless != tile.type.element_type:
        raise VerifyException(f"a memref of {element} has no tiles of {tile.type.element_type}")


Amx = Dialect("amx", [TileZeroOp, TileLoadOp, TileStoreOp, TileMulFOp, TileMulIOp], [TileType])
