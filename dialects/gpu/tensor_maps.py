"""nvgpu: maps of tensors in global memory, and copies of boxes of them to shared memory that report to a barrier (TMA).

A map is made by the host for each launch, of an argument of the kernel, and encoded by the driver
(cuTensorMapEncodeTiled). One thread then copies a box by one instruction; what is outside of the tensor becomes zeros.

    %w = memref.reinterpret_cast %x to offset: [0], sizes: [50, 64], strides: [64, 1] : memref<50x64xf32> to ...
    %m = nvgpu.tma.create.descriptor %w : memref<50x64xf32> -> !nvgpu.tensormap.descriptor<tensor = memref<64x32xf32,
         #gpu.address_space<workgroup>>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
    nvgpu.mbarrier.arrive.expect_tx %b[%i], %bytes : ...                     all bytes of the box, zeros included
    nvgpu.tma.async.load %m[%row, %depth], %b[%i] to %tile[%stage, %zero, %zero] : ...

Unlike MLIR's, a map stands in the kernel that takes it, and has no operands for its box, which its type has;
coordinates are in the order of the dimensions, and the destination has indices.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile
from math import prod
from typing import cast

from typing_extensions import override
from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IndexType,
    IntAttr,
    IntegerAttr,
    MemRefType,
    StridedLayoutAttr,
    StringAttr,
    bf16,
    f16,
    f32,
)
from xdsl.ir import Attribute, BlockArgument, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttrSizedOperandSegments,
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    operand_def,
    result_def,
    traits_def,
    var_operand_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import MemoryReadEffect, MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from ..sizes.sizes import bounds_of
from .mbarriers import UNIT, MBarrierGroupType
from .memory_spaces import WORKGROUP, check_indices

SWIZZLES = {"none": 0, "swizzle_32b": 32, "swizzle_64b": 64, "swizzle_128b": 128}
"""Bytes of a line within which a swizzle moves units of 16 bytes; the box may have no longer lines."""
MOST_DIMENSIONS, MOST_OF_A_BOX = 5, 256
MOST_OF_A_DIMENSION, MOST_OF_A_STRIDE = 2**32, 2**40  # elements, and bytes (exclusive)
ALIGNED = 128  # bytes: where a box begins in shared memory
_ELEMENTS = (f32, f16, bf16)
_FIXED = {"l2promo": "none", "oob": "zero", "interleave": "none"}
"""Parameters of which there is one value."""


def alignment_of(swizzle: int) -> int:
    """Bytes that a box in shared memory is aligned to: eight lines of a swizzle, after which its pattern repeats."""
    return max(ALIGNED, 8 * swizzle)


def swizzled(at: int, swizzle: int) -> int:
    """Where byte `at` of a box lies: its unit of 16 bytes, exclusive or with the number of the run of 128 bytes.

    Of both so many low bits as a line has units. Works on arrays of numpy, too. (PTX ISA: "Swizzling modes".)
    """
    units = swizzle // UNIT
    return at ^ (at // 128 % units * UNIT) if units else at


@irdl_attr_definition
class TensorMapType(ParametrizedAttribute, TypeAttribute):
    """`!nvgpu.tensormap.descriptor<tensor = memref<box in shared memory>, swizzle = swizzle_128b, ...>`"""

    name = "nvgpu.tensormap.descriptor"
    tensor: Attribute
    swizzle: StringAttr

    @classmethod
    def of(cls, element: Attribute, box: Sequence[int], swizzle: int) -> TensorMapType:
        """A map of which boxes of this shape are copied."""
        name = next(name for name, size in SWIZZLES.items() if size == swizzle)
        return cls(MemRefType(element, box, memory_space=WORKGROUP), StringAttr(name))

    @property
    def box(self) -> MemRefType[Attribute]:
        """A box in shared memory."""
        return cast("MemRefType[Attribute]", self.tensor)

    @property
    def line(self) -> int:
        """Bytes within which units of 16 are moved; 0 without a swizzle."""
        return SWIZZLES[self.swizzle.data]

    @property
    def nbytes(self) -> int:
        """Bytes of a box, which its copy reports."""
        return prod(self.box.get_shape()) * _bytes(self.box)

    @override
    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        with parser.in_angle_brackets():
            parser.parse_keyword("tensor")
            parser.parse_punctuation("=")
            tensor = parser.parse_attribute()
            found: dict[str, str] = {}
            for name in ("swizzle", *_FIXED):
                parser.parse_punctuation(",")
                parser.parse_keyword(name)
                parser.parse_punctuation("=")
                found[name] = parser.parse_identifier()
                if found[name] != _FIXED.get(name, found[name]):
                    parser.raise_error(f"{name} = {found[name]} is not supported; it may be {_FIXED[name]}")
            return [tensor, StringAttr(found["swizzle"])]

    @override
    def print_parameters(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string("tensor = ")
            printer.print_attribute(self.tensor)
            rest = {"swizzle": self.swizzle.data, **_FIXED}
            printer.print_string("".join(f", {name} = {value}" for name, value in rest.items()))

    @override
    def verify(self) -> None:
        if self.swizzle.data not in SWIZZLES:
            raise VerifyException(f"there is no swizzle '{self.swizzle.data}'; there are {', '.join(SWIZZLES)}")
        if not isinstance(self.tensor, MemRefType) or self.box.memory_space != WORKGROUP:
            raise VerifyException("boxes are copied to shared memory")
        box = self.box
        if box.element_type not in _ELEMENTS:
            raise VerifyException(f"a map of {box.element_type}; there are maps of {', '.join(map(str, _ELEMENTS))}")
        shape = box.get_shape()
        if not 1 <= len(shape) <= MOST_DIMENSIONS or not all(1 <= size <= MOST_OF_A_BOX for size in shape):
            raise VerifyException(
                f"a box of {shape}; it has 1 to {MOST_DIMENSIONS} dimensions of 1 to {MOST_OF_A_BOX} elements"
            )
        line = shape[-1] * _bytes(self.box)
        if line % UNIT:
            raise VerifyException(f"lines of {line} bytes; they must be a multiple of {UNIT}")
        if self.line and line > self.line:
            raise VerifyException(f"lines of {line} bytes; with {self.swizzle.data} they have at most {self.line}")


def _bytes(type: MemRefType[Attribute]) -> int:
    return int(getattr(type.element_type, "size", 0))


@irdl_op_definition
class TensorMapOp(IRDLOperation):
    """`%m = nvgpu.tma.create.descriptor %x : memref<50x64xf32> -> !nvgpu.tensormap.descriptor<...>`

    The tensor is an argument of the kernel, or a view of one at a constant offset; it lies at a multiple of 16 bytes,
    as do all its lines and whatever else has a stride.
    """

    name = "nvgpu.tma.create.descriptor"
    tensor = operand_def(MemRefType)
    tensorMap = result_def(TensorMapType)
    traits = traits_def(Pure())
    assembly_format = "$tensor attr-dict `:` type($tensor) `->` type($tensorMap)"

    def __init__(self, tensor: SSAValue, type: TensorMapType) -> None:
        super().__init__(operands=[tensor], result_types=[type])

    @property
    def source(self) -> MemRefType[Attribute]:
        """The type of the tensor."""
        return cast("MemRefType[Attribute]", self.tensor.type)

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one to the next along each dimension but the last."""
        return tuple(each * _bytes(self.source) for each in cast("Sequence[int]", self.source.get_strides())[:-1])

    @property
    def place(self) -> tuple[BlockArgument, int]:
        """The kernel's argument that it lies in, and its offset there in bytes. Raises VerifyException."""
        buffer, offset = self.tensor, 0
        while isinstance(view := buffer.owner, memref.ReinterpretCastOp):
            buffer, offset = view.source, offset + _constant(view)
        if not isinstance(buffer, BlockArgument):
            raise VerifyException("a map is of an argument of the kernel, or of a view of one at a constant offset")
        return buffer, offset * _bytes(self.source)

    @override
    def verify_(self) -> None:
        source, map = self.source, self.tensorMap.type
        if source.element_type != map.box.element_type or source.get_num_dims() != map.box.get_num_dims():
            raise VerifyException(f"boxes of {map.box} are none of {source}")
        known = source.get_strides()
        if known is None or None in known or known[-1] != 1:
            raise VerifyException(f"a map of {source}; its strides must be known, and the last one 1")
        if any(size == DYNAMIC_INDEX or bounds_of(size)[1] > MOST_OF_A_DIMENSION for size in source.get_shape()):
            raise VerifyException(f"a map of {source}; its dimensions must be known and of at most 2^32 elements")
        for stride in (*self.strides, self.place[1]):
            if stride % UNIT != 0 or bounds_of(stride)[1] >= MOST_OF_A_STRIDE:
                raise VerifyException(f"{stride} bytes from one to the next; they must be a multiple of {UNIT}")


def _constant(view: memref.ReinterpretCastOp) -> int:
    """A view's offset from its buffer's first element, in elements. Raises VerifyException where it isn't constant."""
    layout, (offset,) = cast("MemRefType[Attribute]", view.source.type).layout, view.static_offsets.get_values()
    stated = isinstance(layout, StridedLayoutAttr) and isinstance(layout.offset, IntAttr)
    start = cast("IntAttr", cast("StridedLayoutAttr", layout).offset).data if stated else 0
    if offset != DYNAMIC_INDEX:
        return offset - start
    known = view.offsets[0].owner
    if not isinstance(known, arith.ConstantOp) or not isinstance(known.value, IntegerAttr):
        raise VerifyException("a map is of an argument of the kernel, or of a view of one at a constant offset")
    return known.value.value.data - start


@irdl_op_definition
class TensorLoadOp(IRDLOperation):
    """Starts copying the box that begins at some coordinates to shared memory (cp.async.bulk.tensor).

        nvgpu.tma.async.load %m[%i, %j], %b[%n] to %s[%k, %zero, %zero] : !nvgpu.tensormap.descriptor<...>,
          !nvgpu.mbarrier.group<...> -> memref<3x64x32xf32, #gpu...>

    One thread of a block executes it. Coordinates may be negative, or beyond the end: such elements are zeros, which
    count as copied, too. The last dimensions of the destination are those of the box, but for
    leading ones of size 1. Its units of 16 bytes are swizzled
    there; it begins at a multiple of 128 bytes, or of eight lines of its swizzle. Before the barrier's phase is
    complete, the bytes may be written at any time, and nobody may read them.
    """

    name = "nvgpu.tma.async.load"
    tensorMap = operand_def(TensorMapType)
    coordinates = var_operand_def(IndexType)
    barriers = operand_def(MBarrierGroupType)
    index = operand_def(IndexType)
    destination = operand_def(MemRefType)
    destination_indices = var_operand_def(IndexType)
    irdl_options = (AttrSizedOperandSegments(as_property=True),)
    traits = traits_def(MemoryReadEffect(), MemoryWriteEffect())
    assembly_format = (
        "$tensorMap `[` $coordinates `]` `,` $barriers `[` $index `]` `to` $destination `[` $destination_indices `]` "
        "attr-dict `:` type($tensorMap) `,` type($barriers) `->` type($destination)"
    )

    def __init__(
        self,
        map: SSAValue,
        coordinates: Sequence[SSAValue],
        barriers: SSAValue,
        index: SSAValue,
        destination: SSAValue,
        destination_indices: Sequence[SSAValue],
    ) -> None:
        super().__init__(operands=[map, coordinates, barriers, index, destination, destination_indices])

    @property
    def map(self) -> TensorMapType:
        """The type of the map."""
        return cast("TensorMapType", self.tensorMap.type)

    @override
    def verify_(self) -> None:
        box, destination = self.map.box, cast("MemRefType[Attribute]", self.destination.type)
        rank = box.get_num_dims()
        if len(self.coordinates) != rank:
            raise VerifyException(f"expected {rank} coordinates, got {len(self.coordinates)}")
        if destination.memory_space != WORKGROUP or destination.element_type != box.element_type:
            raise VerifyException(f"a box of {box} is copied to {destination}")
        check_indices(destination, self.destination_indices)
        shape, strides = destination.get_shape(), destination.get_strides()
        if strides is None or tuple(strides) != destination.strides_for_shape(shape):
            raise VerifyException(f"a box is copied to {destination}, which is not contiguous")
        whole = tuple(dropwhile(lambda size: size == 1, box.get_shape()))
        if whole and tuple(shape[-len(whole) :]) != whole:
            raise VerifyException(f"a box of {box} is copied to {destination}, whose last dimensions are others")
        if not isinstance(self.tensorMap.owner, TensorMapOp):
            raise VerifyException("the map of a copy is made in the same kernel")
