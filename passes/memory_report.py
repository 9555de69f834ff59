"""The memory plan of a module: its tensors, read from the IR at the arena level.

What each call writes is one tensor, from that call to its last read before anything is written over it. A
name that is read, but that no call writes, is a view: a copy that vanished. memory_plan.py holds the
records.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TypedDict, cast

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from ..dialects.errors import PlanError
from ..dialects.graph import node_name, numpy_dtype
from ..dialects.kernel import CallOp, WeightOp
from .boxes import Box
from .buffers import (
    PLAN,
    SCRATCH,
    Places,
    argument_texts,
    calls_of,
    int_attribute,
    label,
    main_of,
    memref_type,
    nbytes_of,
)
from .memory_plan import BufferRecord, MemoryPlan, Role, TensorRecord

__all__ = ["BufferRecord", "MemoryPlan", "TensorRecord", "memory_plan", "plan_summary"]


@dataclass
class _Tensor:
    """A tensor while its life is being followed."""

    name: str
    value: SSAValue
    box: Box
    birth: int
    death: int
    role: Role
    inplace: bool = False
    node: str = ""
    kernel: str = ""


@dataclass(frozen=True)
class _Access:
    step: int
    box: Box
    writes: bool


@dataclass
class _Buffer:
    accesses: list[_Access] = field(default_factory=list[_Access])
    tensors: list[_Tensor] = field(default_factory=list[_Tensor])
    named: dict[Box, tuple[str, ...]] = field(default_factory=dict[Box, tuple[str, ...]])

    def overlapping(self, box: Box) -> tuple[str, ...]:
        """The tensors with bytes in the box: once for all that lie in the same one, as chains in place are long."""
        if box not in self.named:
            self.named[box] = tuple(
                tensor.name
                for tensor in self.tensors
                if tensor.box.offset < box.end and box.offset < tensor.box.end and tensor.box.overlaps(box)
            )
        return self.named[box]


def memory_plan(module: ModuleOp) -> MemoryPlan:
    """The plan of a module at the arena level. Raises PlanError at any other."""
    main = main_of(module, "memory plan")
    calls = list(calls_of(main))
    if not calls and _has_kernels_lowered(main):
        raise PlanError("memory plan: the module is not at the arena level")
    places = Places()
    return replace(
        plan_summary(main),
        tensors=tuple(_records(main, calls, places)),
        steps=tuple(call.callee.string_value() for call in calls),
        buffers=tuple(_buffers(main, places)),
    )


def plan_summary(main: Operation) -> MemoryPlan:
    """What `main` says of its plan from the arena level on; the tensors are not in it. Raises PlanError without one."""
    summary = main.attributes.get(PLAN)
    if not isinstance(summary, DictionaryAttr):
        raise PlanError("memory plan: the module is not at the arena level")
    numbers = {key: each.value.data for key, each in summary.data.items() if isinstance(each, IntegerAttr)}
    texts = {key: each.data for key, each in summary.data.items() if isinstance(each, StringAttr)}
    return MemoryPlan(
        arena_bytes=numbers["arena_bytes"],
        lower_bound_bytes=numbers["lower_bound"],
        tensors=(),
        strategy=texts["strategy"],
        optimal=numbers["optimal"] != 0,
        binding_step=numbers["binding_step"],
        method=texts["method"],
        alignment=numbers["alignment"],
        original_bytes=numbers["original_bytes"],
        proven_bound_bytes=numbers["proven_bound"],
        exhausted=texts.get("exhausted", ""),
        pools=tuple(_pools(summary)),
    )


def _has_kernels_lowered(main: func.FuncOp) -> bool:
    return any(isinstance(op, func.CallOp) for op in main.body.walk())


def _pools(summary: DictionaryAttr) -> Iterator[tuple[int, int]]:
    pools = cast("ArrayAttr[ArrayAttr[IntegerAttr]]", summary.data.get("pools", ArrayAttr([])))
    for pool in pools:
        offset, size = (number.value.data for number in pool)
        yield offset, size


def _buffers(main: func.FuncOp, places: Places) -> Iterator[BufferRecord]:
    """What plan-arena placed: each reaches as far as the views of the arena that carry its number."""
    views: dict[int, list[Operation]] = {}
    for op in main.body.walk():
        number = int_attribute(op, "buffer")
        if number is not None:
            views.setdefault(number, []).append(op)
    for number, ops in sorted(views.items()):
        boxes = [places[op.results[0]].bytes for op in ops]
        start, end = min(box.offset for box in boxes), max(box.end for box in boxes)
        first = ops[boxes.index(max(boxes, key=lambda box: box.count))]
        gaps = cast("ArrayAttr[ArrayAttr[IntegerAttr]]", first.attributes.get("gaps", ArrayAttr([])))
        yield BufferRecord(
            number=number,
            name=label(first),
            bytes=end - start,
            offset=start,
            birth=int_attribute(first, "birth") or 0,
            death=int_attribute(first, "death") or 0,
            gaps=tuple((low.value.data, high.value.data) for low, high in gaps),
            scratch=SCRATCH in first.attributes,
            pool=int_attribute(first, "pool"),
        )


class _Reader:
    """Follows the tensors of main through its calls."""

    def __init__(self, main: func.FuncOp, calls: list[CallOp], places: Places) -> None:
        self.main = main
        self.calls = calls
        self.places = places
        self.buffers: dict[object, _Buffer] = {}
        self.used: Counter[str] = Counter()
        self.made: set[tuple[object, str]] = set()  # (buffer, name as in the IR) of what calls write

    def read(self) -> None:
        """Finds the tensors that calls write, and the views that they read instead of a copy."""
        for step, call in enumerate(self.calls):
            for writes, values in ((False, call.ins), (True, (*call.outs, *call.scratch))):
                for value in values:
                    access = _Access(step, self.places[value].bytes, writes)
                    self.buffers.setdefault(self.key(value), _Buffer()).accesses.append(access)
            for value in (*call.outs, *call.scratch):
                inplace = value in call.ins
                name = (inplace and node_name(call)) or self.label(value)
                tensor = self.tensor(value, step, "scratch" if value in call.scratch else "intermediate", name)
                tensor.inplace = inplace
                tensor.node, tensor.kernel = node_name(call), call.callee.string_value()
                self.made.add((self.key(value), self.label(value)))
        for step, call in enumerate(self.calls):
            for value in call.ins:
                known = (self.key(value), self.label(value))
                if isinstance(known[0], int) and known not in self.made:
                    self.made.add(known)
                    self.tensor(value, step, "view", known[1])
        for buffer in self.buffers.values():
            for tensor in buffer.tensors:
                tensor.death = _death(tensor, buffer)

    def key(self, value: SSAValue) -> object:
        """The buffer that a value lies in: of the arena by its number, else its root."""
        op = value.owner
        number = int_attribute(op, "buffer") if isinstance(op, Operation) else None
        return self.places[value].root if number is None else number

    def label(self, value: SSAValue) -> str:
        op = value.owner
        return (label(op) if isinstance(op, Operation) else value.name_hint) or "tensor"

    def tensor(self, value: SSAValue, birth: int, role: Role, name: str) -> _Tensor:
        """A new tensor, under a name of its own."""
        name = f"{name} scratch" if role == "scratch" else name
        self.used[name] += 1
        if self.used[name] > 1:
            name = f"{name}#{self.used[name]}"
        tensor = _Tensor(name, value, self.places[value].bytes, birth, birth + 1, role)
        self.buffers[self.key(value)].tensors.append(tensor)
        return tensor

    def record(self, tensor: _Tensor, buffer: _Buffer) -> TensorRecord:
        """The record of a tensor whose life is known."""
        op = tensor.value.owner
        key = self.key(tensor.value)
        inside = isinstance(key, int)
        return TensorRecord(
            name=tensor.name,
            bytes=tensor.box.count,
            birth=tensor.birth,
            death=tensor.death,
            persistent=not inside,
            role=tensor.role,
            offset=tensor.box.offset if inside else None,
            pool=int_attribute(op, "pool") if isinstance(op, Operation) else None,
            overlapping=buffer.overlapping(tensor.box),
            inplace=tensor.inplace,
            node=tensor.node,
            kernel=tensor.kernel,
            buffer=key if inside else None,
            extent=tensor.box.end - tensor.box.offset,
            **_layout(self.places, tensor.value),
        )


class _Layout(TypedDict):
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


def _layout(places: Places, value: SSAValue) -> _Layout:
    """How the elements of a memref lie, as a record tells it."""
    place = places[value]
    strides = tuple(stride * place.itemsize for stride in place.box.strides)
    dtype = numpy_dtype(memref_type(value).element_type)
    return {"shape": place.box.sizes, "strides": strides, "dtype": dtype.name}


def _death(tensor: _Tensor, buffer: _Buffer) -> int:
    """One past the last step that reads the tensor before anything is written over it."""
    death = tensor.birth + 1
    overwritten = None
    first = tensor.birth if tensor.role == "view" else tensor.birth + 1
    start = bisect_left(buffer.accesses, first, key=lambda access: access.step)
    for access in islice(buffer.accesses, start, None):
        if overwritten is not None and access.step > overwritten:
            break
        if access.box.overlaps(tensor.box):
            if access.writes:
                overwritten = access.step
            else:
                death = access.step + 1
    return death


def _records(main: func.FuncOp, calls: list[CallOp], places: Places) -> list[TensorRecord]:
    """Inputs and outputs, weights, then what the calls write, in the order of the calls."""
    reader = _Reader(main, calls, places)
    reader.read()
    records: list[TensorRecord] = []
    names, roles = argument_texts(main, "graph.name"), argument_texts(main, "graph.role")
    for argument, name, role in zip(main.args, names, roles, strict=True):
        if role == "input" or role == "output":
            size = nbytes_of(memref_type(argument))
            layout = _layout(places, argument)
            records.append(TensorRecord(name, size, 0, len(calls), True, role, None, **layout))
    for op in main.body.walk():
        weights = isinstance(op, memref.ViewOp) and int_attribute(op, "buffer") is None
        if weights or isinstance(op, WeightOp):
            size = nbytes_of(memref_type(op.results[0]))
            layout = _layout(places, op.results[0])
            records.append(TensorRecord(label(op) or "weight", size, 0, len(calls), True, "weight", None, **layout))
    found = [
        (tensor.birth, reader.record(tensor, buffer)) for buffer in reader.buffers.values() for tensor in buffer.tensors
    ]
    return records + [record for _, record in sorted(found, key=lambda pair: pair[0])]
