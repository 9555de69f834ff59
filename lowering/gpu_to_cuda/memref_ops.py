"""C++ for memref operations: element accesses, and views as pointers with offsets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import prod
from typing import TypeGuard, cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, FixedBitwidthType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...dialects.sizes.sizes import Size
from ..op_facts import fail, first_element, integers_of
from .expressions import Expression, Lanes, binary, literal
from .kernel_text import SHARED, BufferAddress, Handler, KernelText, memref_type
from .types import element_of, lanes_of

VIEWS = (
    "memref.view",
    "memref.subview",
    "memref.reinterpret_cast",
    "memref.cast",
    "memref.collapse_shape",
    "memref.expand_shape",
    "memref.assume_alignment",
)


def bytes_of(element: Attribute) -> int:
    """Bytes of one element in memory."""
    lanes = lanes_of(element) or 1
    return lanes * max(1, cast("FixedBitwidthType", element_of(element)).bitwidth // 8)


def is_view(owner: Operation | Block) -> TypeGuard[Operation]:
    """Whether a buffer's defining op is a view of its first operand."""
    return isinstance(owner, Operation) and owner.name in VIEWS


def strides_of(op: Operation | None, value: SSAValue, given: Sequence[Expression] = ()) -> tuple[int | Expression, ...]:
    """The strides of a buffer in elements: static ones from its type, the others from `given`."""
    known = memref_type(value).get_strides()
    rest = iter(given)
    strides = [] if known is None else [next(rest, None) if each is None else each for each in known]
    if known is None or None in strides:
        assert op is not None
        fail(op, f"the strides of {value.type} are not known")
    return tuple(each for each in strides if each is not None)


def indices_of(kernel: KernelText, values: Sequence[SSAValue]) -> list[Expression]:
    """Index expressions, to be emitted once."""
    return [kernel.scalar(each) for each in values]


def _load(kernel: KernelText, op: Operation) -> None:
    buffer, *indices = op.operands
    element = kernel.place(buffer).element(indices_of(kernel, indices))
    result = op.results[0]
    if lanes_of(result.type) is not None:
        lane = element.text
        at = Lanes(whole=element, at=lambda i: Expression(f"{lane}[{i}]", element.level, element.depends))
        kernel.define(result, at, op)
    elif kernel.types.stored(result.type) != kernel.types.spelled(result.type):
        kernel.define(result, binary("!=", element, literal(0)), op)
    else:
        kernel.define(result, element, op)


def _store(kernel: KernelText, op: Operation) -> None:
    value, buffer, *indices = op.operands
    stored, place = kernel.value(value), kernel.place(buffer)
    element = place.element(indices_of(kernel, indices))
    kernel.changed(place.space)
    kernel.assign(element.text, value.type, stored, op)


def _view(kernel: KernelText, op: Operation) -> None:
    """Reinterprets bytes as elements of another type."""
    source, shift, *_ = op.operands
    place, result = kernel.place(source), op.results[0]
    moved = replace(place, offset=(*place.offset, (kernel.unread(shift), 1)))
    distance = moved.distance()
    start = moved.start if distance.number == 0 else f"{moved.start} + {distance.text}"
    text = f"reinterpret_cast<{kernel.pointer_type(result)}*>({start})"
    kernel.put(result, BufferAddress(kernel.pointer(result, text, op), strides_of(op, result), place.space))


def _moved(kernel: KernelText, op: Operation, place: BufferAddress) -> None:
    """A view at a computed offset: gets a pointer variable if it has several uses and the offset is not constant."""
    result, distance = op.results[0], place.distance()
    if distance.number is not None:
        place = replace(place, offset=(), constant=distance.number)
    elif kernel.uses(result) > 1:
        text = f"{place.start} + {distance.text}"
        place = BufferAddress(kernel.pointer(result, text, op), place.strides, place.space)
    kernel.put(result, place)


def _mixed(
    kernel: KernelText, op: Operation, name: str, dynamic: Iterator[SSAValue]
) -> list[tuple[Expression, int] | int]:
    """The mixed list `static_<name>`, with dynamic entries taken from the remaining operands."""
    return [
        (kernel.unread(next(dynamic)), 1)
        if each == DYNAMIC_INDEX
        else (kernel.size(each), 1)
        if isinstance(each, Size)
        else each
        for each in integers_of(op, f"static_{name}")
    ]


def _subview(kernel: KernelText, op: Operation) -> None:
    for name in ("sizes", "strides"):
        if DYNAMIC_INDEX in integers_of(op, f"static_{name}"):
            fail(op, f"its {name} must be static")
    place, result = _flat(kernel, op.operands[0]), op.results[0]
    terms, constant = list(place.offset), place.constant
    for offset, stride in zip(_mixed(kernel, op, "offsets", iter(op.operands[1:])), place.strides, strict=True):
        if not isinstance(offset, int):
            terms.append((offset[0], stride))
        elif isinstance(stride, int):
            constant += offset * stride
        elif offset:
            terms.append((stride, offset))
    made = replace(place, offset=tuple(terms), constant=constant, strides=strides_of(op, result))
    _moved(kernel, op, made)


def _reinterpret_cast(kernel: KernelText, op: Operation) -> None:
    source, *rest = op.operands
    place, result, dynamic = _flat(kernel, source), op.results[0], iter(rest)
    ((offset,), _, strides) = (_mixed(kernel, op, name, dynamic) for name in ("offsets", "sizes", "strides"))
    stated = zip(strides, integers_of(op, "static_strides"), strict=True)
    given = [each[0] for each, static in stated if not isinstance(each, int) and static == DYNAMIC_INDEX]
    constant = place.constant - first_element(op, memref_type(source))
    terms = list(place.offset)
    if isinstance(offset, int):
        constant += offset
    else:
        terms.append(offset)
    made = replace(place, offset=tuple(terms), constant=constant, strides=strides_of(op, result, given))
    _moved(kernel, op, made)


def _flat(kernel: KernelText, buffer: SSAValue) -> BufferAddress:
    """The place of a buffer, by a pointer to its first element."""
    place = kernel.place(buffer)
    return replace(place, pointer=place.start, array=()) if place.array else place


def _same_elements(kernel: KernelText, op: Operation) -> None:
    """Casts, and reshapes of a contiguous buffer."""
    source, result = op.operands[0], op.results[0]
    place = _flat(kernel, source)
    kept = [each for each in place.strides if isinstance(each, Expression)]
    _moved(kernel, op, replace(place, strides=strides_of(op, result, kept)))


def _dim(kernel: KernelText, op: Operation) -> None:
    source, axis = op.operands
    known = kernel.scalar(axis).number
    if known is None:
        fail(op, "the dimension asked for must be a constant")
    kernel.define(op.results[0], kernel.size(memref_type(source).get_shape()[known]), op, many=True)


def _alloca(kernel: KernelText, op: Operation) -> None:
    """A thread-local array; it lies in registers if all its indices are constant after unrolling."""
    result = op.results[0]
    shape = tuple(memref_type(result).get_shape()) or (1,)
    if op.operands or prod(shape) < 1:
        fail(op, "the size of a private array must be static")
    name = kernel.name(result)
    whole = any(use.operation.name in ("vector.load", "vector.store") for use in result.uses)
    kind = kernel.types.stored(memref_type(result).element_type)
    sizes = "".join(f"[{size}]" for size in shape)
    kernel.line(f"{'alignas(16) ' if whole else ''}{kind} {name}{sizes};", op)
    strides = memref_type(result).get_strides()
    kernel.put(result, BufferAddress(name, tuple(each or 0 for each in strides or ()), f"private {name}", array=shape))


def _shared_memory(kernel: KernelText, op: Operation) -> None:
    name = kernel.names.take("shared")
    kernel.line(f"SHARED_MEMORY({name});", op)
    kernel.put(op.results[0], BufferAddress(name, (1,), SHARED))


HANDLERS: dict[str, Handler] = {
    "memref.load": _load,
    "memref.store": _store,
    "memref.view": _view,
    "memref.subview": _subview,
    "memref.reinterpret_cast": _reinterpret_cast,
    "memref.cast": _same_elements,
    "memref.collapse_shape": _same_elements,
    "memref.expand_shape": _same_elements,
    "memref.assume_alignment": _same_elements,
    "memref.dim": _dim,
    "memref.alloca": _alloca,
    "memref.prefetch": lambda kernel, op: None,
    "gpu.dynamic_shared_memory": _shared_memory,
}
