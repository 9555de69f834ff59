"""Lowering of memref operations: loads and stores by address; views become pointer arithmetic."""

from collections.abc import Iterator, Sequence
from typing import cast

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    IntegerAttr,
    MemRefType,
    SymbolRefAttr,
    UnitAttr,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ..op_facts import fail, first_element, integers_of
from .body import FunctionBody, Handler
from .types import POINTER, element_of, in_memory

_NOT_ATOMIC = IntegerAttr(0, i64)
_NOT_EQUAL = IntegerAttr(1, i64)
_ALIGNMENTS = {1 << shift: IntegerAttr(1 << shift, i64) for shift in range(13)}


def access_alignment(op: Operation, element_bytes: int) -> int:
    """The alignment of an access: the element's size, or the op's attribute `alignment`."""
    promised = op.attributes.get("alignment")
    if promised is None:
        return element_bytes
    if not isinstance(promised, IntegerAttr) or promised.value.data not in _ALIGNMENTS:
        fail(op, f"alignment {promised} is not a power of two up to 4096")
    return promised.value.data


def access_properties(op: Operation, element_bytes: int) -> dict[str, Attribute]:
    """The properties of a load or store with that alignment."""
    return {"alignment": _ALIGNMENTS[access_alignment(op, element_bytes)], "ordering": _NOT_ATOMIC}


def to_memory(body: FunctionBody, value: SSAValue) -> SSAValue:
    """A value as stored: booleans as bytes 0 and 1."""
    stored = in_memory(value.type)
    return value if stored is value.type else body.emit(llvm.ZExtOp, (value,), stored)


def from_memory(body: FunctionBody, stored: SSAValue, value_type: Attribute) -> SSAValue:
    """A loaded value: any byte but 0 is true, and narrow integers are the low bits of a byte."""
    if stored.type == value_type:
        return stored
    if element_of(value_type) != i1:
        return body.emit(llvm.TruncOp, (stored,), value_type)
    zero = body.number(0, stored.type)
    return body.emit(llvm.ICmpOp, (stored, zero), value_type, {"predicate": _NOT_EQUAL})


def _is_nontemporal(op: Operation) -> bool:
    flag = op.properties.get("nontemporal")
    return isinstance(flag, IntegerAttr) and flag.value.data != 0


def load(body: FunctionBody, op: Operation) -> None:
    """memref.load and vector.load."""
    base, *indices = op.operands
    value_type = body.types.convert(op.results[0].type)
    address = body.address(base, indices)
    properties = access_properties(op, body.types.layout(base.type).element_bytes)
    attributes = {"nontemporal": UnitAttr()} if _is_nontemporal(op) else {}
    stored = body.emit(llvm.LoadOp, (address,), in_memory(value_type), properties, attributes)
    body.values[op.results[0]] = from_memory(body, stored, value_type)


def store(body: FunctionBody, op: Operation) -> None:
    """memref.store and vector.store."""
    value, base, *indices = op.operands
    stored = to_memory(body, body.values[value])
    address = body.address(base, indices)
    properties = access_properties(op, body.types.layout(base.type).element_bytes)
    if _is_nontemporal(op):
        properties["nontemporal"] = UnitAttr()
    body.append(llvm.StoreOp, (stored, address), properties)


def _prefetch(body: FunctionBody, op: Operation) -> None:
    base, *indices = op.operands
    address = body.address(base, indices, inbounds=False)
    hints = [
        body.integer(abs(cast(IntegerAttr, op.properties[name]).value.data), i32)  # a true i1 may be read as 1 or -1
        for name in ("isWrite", "localityHint", "isDataCache")
    ]
    body.intrinsic("llvm.prefetch.p0", (address, *hints), None)


def _view(body: FunctionBody, op: Operation) -> None:
    source, shift, *_ = op.operands
    body.types.layout(op.results[0].type)
    body.values[op.results[0]] = _moved(body, body.values[source], [(body.values[shift], 1)], 0, i8)


def _moved(
    body: FunctionBody,
    pointer: SSAValue,
    terms: Sequence[tuple[SSAValue, int]],
    constant: int,
    element: Attribute,
) -> SSAValue:
    """`pointer` plus a sum of values times constants plus a constant, in elements."""
    unknown: list[tuple[SSAValue, int | SSAValue]] = []
    for value, factor in terms:
        known = body.known.get(value)
        if known is None:
            unknown.append((value, factor))
        else:
            constant += known * factor
    if unknown:
        pointer = body.moved(pointer, body.linear(unknown), element)
    return body.offset(pointer, constant, element)


def _window(body: FunctionBody, op: Operation) -> None:
    source, offset = op.operands
    layout = body.types.layout(op.results[0].type)
    body.values[op.results[0]] = _moved(body, body.values[source], [(body.values[offset], 1)], 0, layout.element)


def _static_or_dynamic(
    body: FunctionBody, op: Operation, name: str, dynamic: Iterator[SSAValue]
) -> list[int | SSAValue]:
    """The mixed list `static_<name>`, with dynamic entries taken from the remaining operands."""
    return [
        body.values[next(dynamic)] if value == DYNAMIC_INDEX else value for value in integers_of(op, f"static_{name}")
    ]


def _check_static(op: Operation, *names: str) -> None:
    for name in names:
        if DYNAMIC_INDEX in integers_of(op, f"static_{name}"):
            fail(op, f"its {name} must be static")


def _subview(body: FunctionBody, op: Operation) -> None:
    _check_static(op, "sizes", "strides")
    source = op.operands[0]
    layout = body.types.layout(source.type)
    body.types.layout(op.results[0].type)
    constant = 0
    terms: list[tuple[SSAValue, int]] = []
    offsets = _static_or_dynamic(body, op, "offsets", iter(op.operands[1:]))
    for offset, stride in zip(offsets, layout.strides, strict=True):
        if stride is None:
            fail(op, "the strides of its source must be static")
        if isinstance(offset, int):
            constant += offset * stride
        else:
            terms.append((offset, stride))
    body.values[op.results[0]] = _moved(body, body.values[source], terms, constant, layout.element)


def _reinterpret_cast(body: FunctionBody, op: Operation) -> None:
    source = op.operands[0]
    layout = body.types.layout(op.results[0].type)
    start = first_element(op, cast("MemRefType[Attribute]", source.type))
    dynamic = iter(op.operands[1:])
    (offset,), _, strides = (_static_or_dynamic(body, op, name, dynamic) for name in ("offsets", "sizes", "strides"))
    if None in layout.strides:
        body.strides[op.results[0]] = tuple(
            stride if isinstance(stride, int) else body.known.get(stride, stride) for stride in strides
        )
    if isinstance(offset, int):
        constant, terms = offset - start, []
    else:
        constant, terms = -start, [(offset, 1)]
    body.values[op.results[0]] = _moved(body, body.values[source], terms, constant, layout.element)


def _same_pointer(body: FunctionBody, op: Operation) -> None:
    """Casts and reshapes of a contiguous buffer."""
    body.types.layout(op.results[0].type)
    if op.operands[0] in body.strides and op.name != "memref.collapse_shape" and op.name != "memref.expand_shape":
        body.strides[op.results[0]] = body.strides[op.operands[0]]
    body.values[op.results[0]] = body.values[op.operands[0]]


def _dim(body: FunctionBody, op: Operation) -> None:
    source, axis = op.operands
    known = body.known.get(body.values[axis])
    if known is None:
        fail(op, "the dimension asked for must be a constant")
    body.values[op.results[0]] = body.integer(cast("MemRefType[Attribute]", source.type).get_shape()[known])


def _alloca(body: FunctionBody, op: Operation) -> None:
    """A buffer on the stack, allocated once per call of the function."""
    memref = cast("MemRefType[Attribute]", op.results[0].type)
    layout = body.types.layout(memref)
    elements = 1
    for size in memref.get_shape():
        elements *= size
    promised = op.properties.get("alignment")
    properties: dict[str, Attribute] = {
        "elem_type": layout.element,
        "alignment": promised or IntegerAttr(64, i64),
    }
    count = body.integer(elements)
    body.values[op.results[0]] = body.emit_first(
        llvm.AllocaOp.create(operands=(count,), result_types=(POINTER,), properties=properties)
    )


def _pointer_as_index(body: FunctionBody, op: Operation) -> None:
    """The address of a buffer's first element."""
    body.values[op.results[0]] = body.emit(llvm.PtrToIntOp, (body.values[op.operands[0]],), i64)


def _get_global(body: FunctionBody, op: Operation) -> None:
    name = cast(SymbolRefAttr, op.properties["name"])
    body.values[op.results[0]] = body.emit_first(llvm.AddressOfOp(name, POINTER))


HANDLERS: dict[str, Handler] = {
    "memref.load": load,
    "memref.store": store,
    "memref.prefetch": _prefetch,
    "memref.view": _view,
    "kernel.window": _window,
    "memref.subview": _subview,
    "memref.reinterpret_cast": _reinterpret_cast,
    "memref.cast": _same_pointer,
    "memref.collapse_shape": _same_pointer,
    "memref.expand_shape": _same_pointer,
    "memref.assume_alignment": _same_pointer,
    "memref.dim": _dim,
    "memref.alloca": _alloca,
    "memref.get_global": _get_global,
    "memref.extract_aligned_pointer_as_index": _pointer_as_index,
    "vector.load": load,
    "vector.store": store,
}
