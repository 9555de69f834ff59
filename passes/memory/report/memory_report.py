"""Reads the memory plan of a module at the arena level: its tensors, buffers and certificate.

Each call's result is one tensor, from that call to its last read before its bytes are overwritten. A name that is read
but written by no call is a view: a removed copy. Inputs and weights live from the first step to the last; an output is
the value last written to its bytes. memory_plan.py defines the records.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from math import prod
from typing import Any, TypedDict, cast

from xdsl.dialects import func, memref
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr
from xdsl.ir import Operation, SSAValue

from ....dialects.errors import PlanError
from ....dialects.graph.base import node_name
from ....dialects.graph.host import NAME, argument_texts, caches_of, main_of
from ....dialects.graph.model_nodes import computed_nodes, model_nodes, tensor_names
from ....dialects.graph.values import numpy_dtype
from ....dialects.kernel.calls import CallOp, WeightOp, WindowOp
from ...geometry.boxes import Box
from ..analysis.buffers import ORDER, PLAN, SCRATCH, Places, int_attribute, label, memref_type, nbytes_of
from ..analysis.main_steps import Step, loop_ranges, read_by, scratch_of, steps_of, written_by
from .memory_plan import MemoryPlan
from .memory_records import BufferRecord, CacheRecord, Role, TensorRecord
from .removed_tensors import model_weight_bytes, removed_tensors

__all__ = ["MemoryPlan", "memory_plan", "plan_summary"]

_NUMBERS = (
    "alignment",
    "arena_bytes",
    "lower_bound",
    "proven_bound",
    "optimal",
    "binding_step",
    "total_bytes",
    "original_bytes",
)
_TEXTS = ("strategy", "method")
_FIELDS = {"lower_bound": "lower_bound_bytes", "proven_bound": "proven_bound_bytes"}
"""The fields of MemoryPlan for those attributes that are not called like one."""


@dataclass
class _Tensor:
    """A tensor during the walk over the steps."""

    name: str
    value: SSAValue
    box: Box
    birth: int
    death: int
    role: Role
    inplace: bool = False
    node: str = ""
    kernel: str = ""
    read_at: tuple[int, ...] = ()


@dataclass(frozen=True)
class _Access:
    step: int
    box: Box
    writes: bool


@dataclass
class _BufferUse:
    accesses: list[_Access] = field(default_factory=list[_Access])
    tensors: list[_Tensor] = field(default_factory=list[_Tensor])
    named: dict[Box, tuple[str, ...]] = field(default_factory=dict[Box, tuple[str, ...]])

    def overlapping(self, box: Box) -> tuple[str, ...]:
        """The tensors with bytes in the box; memoised by box, as in-place chains are long."""
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
    steps = list(steps_of(main))
    if not steps and _has_kernels_lowered(main):
        raise PlanError("memory plan: the module is not at the arena level")
    places = Places()
    records = _records(main, steps, places)
    nodes = model_nodes(module)
    return replace(
        plan_summary(main),
        tensors=tuple(records),
        removed=tuple(removed_tensors(nodes, records, steps)),
        model_weight_bytes=model_weight_bytes(nodes),
        steps=tuple(map(_title, steps)),
        loops=tuple((each.start, each.stop) for each in loop_ranges(main).values()),
        step_nodes=tuple(map(_nodes, steps)),
        buffers=tuple(_buffers(main, places)),
        caches=tuple(_caches(main)),
    )


def plan_summary(main: Operation) -> MemoryPlan:
    """The certificate of `main` at the arena level or below, without its tensors. Raises PlanError without one."""
    summary = main.attributes.get(PLAN)
    if not isinstance(summary, DictionaryAttr):
        raise PlanError("memory plan: the module is not at the arena level")
    numbers = {key: each.value.data for key, each in summary.data.items() if isinstance(each, IntegerAttr)}
    texts = {key: each.data for key, each in summary.data.items() if isinstance(each, StringAttr)}
    if unsaid := [key for key in _NUMBERS if key not in numbers] + [key for key in _TEXTS if key not in texts]:
        raise PlanError(f"memory plan: the kernel.plan of main lacks {unsaid[0]}")
    told: dict[str, Any] = {_FIELDS.get(key, key): numbers[key] for key in _NUMBERS}
    told |= {key: texts.get(key, "") for key in (*_TEXTS, "exhausted")}
    told["optimal"] = told["optimal"] != 0
    match main.attributes.get(ORDER):
        case DictionaryAttr(data={"bound": IntegerAttr() as bound}):
            told["order_bound_bytes"] = bound.value.data
        case _:
            pass
    return MemoryPlan(tensors=(), pools=tuple(_pools(summary)), **told)


def _title(step: Step) -> str:
    """The name of a step: its kernel, or a load."""
    return step.callee.string_value() if isinstance(step, CallOp) else step.name


def _nodes(step: Step) -> tuple[str, ...]:
    """The ONNX nodes that a step computes."""
    return computed_nodes(step) or ((node_name(step),) if node_name(step) else ())


def _module_of(main: func.FuncOp) -> ModuleOp:
    module = main.get_toplevel_object()
    assert isinstance(module, ModuleOp), "main is in a module"
    return module


def _has_kernels_lowered(main: func.FuncOp) -> bool:
    return any(isinstance(op, func.CallOp) for op in main.body.walk())


def _pools(summary: DictionaryAttr) -> Iterator[tuple[int, int]]:
    pools = cast("ArrayAttr[ArrayAttr[IntegerAttr]]", summary.data.get("pools", ArrayAttr([])))
    for pool in pools:
        offset, size = (number.value.data for number in pool)
        yield offset, size


def _caches(main: func.FuncOp) -> Iterator[CacheRecord]:
    for argument, name, cache in zip(main.args, argument_texts(main, "graph.name"), caches_of(main), strict=True):
        if cache is not None:
            dtype = numpy_dtype(memref_type(argument).element_type)
            past, present, room = (tuple(type.get_shape()) for type in (cache.past, cache.present, cache.room))
            yield CacheRecord(name, cache.output.data, dtype.name, dtype.itemsize, past, present, room, cache.axis)


def _buffers(main: func.FuncOp, places: Places) -> Iterator[BufferRecord]:
    """The buffers that plan-arena placed, each extending over all views with its number."""
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
    """Walks the steps of main and collects tensors."""

    def __init__(self, main: func.FuncOp, steps: list[Step], places: Places) -> None:
        self.main = main
        self.steps = steps
        self.places = places
        self.buffers: dict[object, _BufferUse] = {}
        self.used = Counter(argument_texts(main, "graph.name"))
        nodes = model_nodes(_module_of(main))
        self.shapes = {tensor.name: tensor.shape for node in nodes for tensor in node.outputs}
        self.initializers = {node.name for node in nodes if not node.operator}
        self.made: set[tuple[object, str]] = set()  # (buffer, name as in the IR) of what calls write

    def read(self) -> None:
        """Records the tensors that calls write, and the views that replace removed copies."""
        for step, op in enumerate(self.steps):
            for writes, values in ((False, read_by(op)), (True, (*written_by(op), *scratch_of(op)))):
                for value in values:
                    access = _Access(step, self.places[value].bytes, writes)
                    self.buffers.setdefault(self.key(value), _BufferUse()).accesses.append(access)
            for number, value in enumerate((*written_by(op), *scratch_of(op))):
                scratch = value in scratch_of(op)
                name = self.label(value) if scratch else self.written_name(op, number, value)
                tensor = self.tensor(value, step, "scratch" if scratch else "intermediate", name)
                tensor.inplace = value in read_by(op)
                tensor.node, tensor.kernel = node_name(op), _title(op)
                self.made.add((self.key(value), self.label(value)))
        for step, op in enumerate(self.steps):
            for value in read_by(op):
                known = (self.key(value), self.label(value))
                if isinstance(known[0], int) and known not in self.made:
                    self.made.add(known)
                    self.tensor(value, step, "view", known[1])
        for buffer in self.buffers.values():
            for tensor in buffer.tensors:
                tensor.read_at = tuple(_reads(tensor, buffer))
                tensor.death = max((step + 1 for step in tensor.read_at), default=tensor.birth + 1)

    def key(self, value: SSAValue) -> object:
        """Identifies the buffer of a value: its number in the arena, else its root."""
        op = value.owner
        number = int_attribute(op, "buffer") if isinstance(op, Operation) else None
        return self.places[value].root if number is None else number

    def label(self, value: SSAValue) -> str:
        op = value.owner
        if isinstance(op, WindowOp) and not label(op) and (root := self.places[value].root) in self.main.args:
            return f"rows of {argument_texts(self.main, NAME)[self.main.args.index(root)]}"
        return (label(op) if isinstance(op, Operation) else value.name_hint) or "tensor"

    def written_name(self, op: Step, number: int, value: SSAValue) -> str:
        """The name of a call's result: of the ONNX tensor that it is, or else of the buffer, or of the node."""
        own = value in read_by(op) or value in self.main.args  # a tensor in an output's memory isn't always the output
        names = tensor_names(op)
        if names is None:
            return (own and node_name(op)) or self.label(value)
        name = names[number] if number < len(names) else ""
        shape = self.shapes.get(name)
        if name and (shape is None or prod(shape) == prod(memref_type(value).get_shape())):
            return name
        return f"{node_name(op)} temporary".strip() if own else self.label(value)

    def unique(self, name: str) -> str:
        """The name, with a number appended if another tensor has it."""
        self.used[name] += 1
        return f"{name}#{self.used[name]}" if self.used[name] > 1 else name

    def tensor(self, value: SSAValue, birth: int, role: Role, name: str) -> _Tensor:
        """A new tensor with a unique name."""
        name = self.unique(f"{name} scratch" if role == "scratch" else name)
        place = self.places[value]
        box = place.bytes if place.exact else Box.dense((nbytes_of(memref_type(value)),), place.bytes.offset)
        tensor = _Tensor(name, value, box, birth, birth + 1, role)
        self.buffers[self.key(value)].tensors.append(tensor)
        return tensor

    def output(self, argument: SSAValue, name: str) -> TensorRecord:
        """The record of an output: the tensor last written to all of it, or several parts together."""
        buffer, box = self.buffers.setdefault(argument, _BufferUse()), self.places[argument].bytes
        birth = min((tensor.birth for tensor in buffer.tensors), default=0)
        made = _Tensor(name, argument, box, birth, len(self.steps), "output")
        whole = [tensor for tensor in buffer.tensors if tensor.box.count == box.count]
        if whole:
            last = whole[-1]
            buffer.tensors.remove(last)
            made = replace(last, name=name, value=argument, box=box, death=made.death, role=made.role)
        buffer.tensors.append(made)
        return self.record(made, buffer)

    def outside(self, value: SSAValue, name: str, role: Role) -> TensorRecord:
        """The record of an input or a weight, which is live throughout."""
        size, box = nbytes_of(memref_type(value)), self.places[value].bytes
        accesses = self.buffers.get(self.key(value), _BufferUse()).accesses
        steps = tuple(dict.fromkeys(each.step for each in accesses if not each.writes and each.box.overlaps(box)))
        return TensorRecord(
            name,
            size,
            0,
            len(self.steps),
            True,
            role,
            None,
            consumers=self.named(steps),
            read_at=steps,
            model_shape=self.shapes.get(name),
            **_layout(self.places, value),
        )

    def named(self, steps: Iterable[int]) -> tuple[str, ...]:
        """Whose calls these steps are: ONNX nodes, or kernels of calls that stem from none; each once."""
        return tuple(dict.fromkeys(node_name(self.steps[step]) or _title(self.steps[step]) for step in steps))

    def record(self, tensor: _Tensor, buffer: _BufferUse) -> TensorRecord:
        """The record of a tensor whose lifetime is known."""
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
            consumers=self.named(tensor.read_at),
            read_at=tensor.read_at,
            model_shape=self.shapes.get(tensor.name),
            **_layout(self.places, tensor.value),
        )


class _Layout(TypedDict):
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str


def _layout(places: Places, value: SSAValue) -> _Layout:
    """The strides and extent of a memref, for its record."""
    place, dtype = places[value], numpy_dtype(memref_type(value).element_type)
    box = place.box if place.exact else Box.dense(memref_type(value).get_shape())
    strides = tuple(stride * place.itemsize for stride in box.strides)
    return {"shape": box.sizes, "strides": strides, "dtype": dtype.name}


def _reads(tensor: _Tensor, buffer: _BufferUse) -> Iterator[int]:
    """The steps that read the tensor before its bytes are overwritten, in order."""
    overwritten = None
    first = tensor.birth if tensor.role == "view" else tensor.birth + 1
    start = bisect_left(buffer.accesses, first, key=lambda access: access.step)
    for access in islice(buffer.accesses, start, None):
        if overwritten is not None and access.step > overwritten:
            return
        if access.box.overlaps(tensor.box):
            if access.writes:
                overwritten = access.step
            else:
                yield access.step


def _records(main: func.FuncOp, steps: list[Step], places: Places) -> list[TensorRecord]:
    """Records of inputs and outputs, weights, then results of calls, in order of the calls."""
    reader = _Reader(main, steps, places)
    reader.read()
    records: list[TensorRecord] = []
    names, roles = argument_texts(main, "graph.name"), argument_texts(main, "graph.role")
    for argument, name, role in zip(main.args, names, roles, strict=True):
        name = name or reader.label(argument)
        if role == "output":
            records.append(reader.output(argument, name))
        elif role == "input":
            records.append(reader.outside(argument, name, role))
    for op in main.body.walk():
        weights = isinstance(op, memref.ViewOp) and int_attribute(op, "buffer") is None
        if weights or isinstance(op, WeightOp):
            own = op.attributes.get("name")
            node = own.data if isinstance(own, StringAttr) else node_name(op)
            name = node if node in reader.initializers or own is not None else f"{node} weight".strip()
            records.append(reader.outside(op.results[0], reader.unique(name), "weight"))
    found = [
        (tensor.birth, reader.record(tensor, buffer))
        for buffer in reader.buffers.values()
        for tensor in buffer.tensors
        if tensor.role != "output"
    ]
    return records + [record for _, record in sorted(found, key=lambda pair: pair[0])]
