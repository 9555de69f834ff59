"""RecordData: all that is told about a compile, as plain data for the page, for `mini-infer explain`, and as JSON.

ONNX nodes, tensors and steps (kernel calls of main, in order) are numbered, and everything refers to them by these
numbers. A `Marks` entry says which of them a line of text is about.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

VERSION = 1
"""Of the JSON form."""


@dataclass(frozen=True)
class Node:
    """A node of the ONNX graph; `inputs` and `outputs` are numbers of tensors. Bodies' nodes are not listed."""

    name: str
    operator: str
    inputs: list[int]
    outputs: list[int]
    steps: list[int]
    """The steps that compute it."""


@dataclass
class Tensor:
    """A tensor of the ONNX graph, or one that only the compiled model has, such as scratch."""

    name: str
    shape: list[int] | None
    """None where it is unknown."""
    dtype: str
    bytes: int
    role: str
    """input, output, weight, intermediate, scratch, view, or removed: without bytes of its own."""
    of_model: bool
    """Whether the ONNX graph has it."""
    node: int | None = None
    """The ONNX node that makes it."""
    readers: list[int] = field(default_factory=list[int])
    """The ONNX nodes that read it."""
    fate: str = ""
    """Of a removed one, what became of it, in words."""
    steps: list[int] = field(default_factory=list[int])
    """The step that makes it, or those that compute what is left of a removed one."""
    read_at: list[int] = field(default_factory=list[int])
    """The steps that read it."""
    same: int | None = None
    """The tensor that a removed one is the same as."""
    offset: int | None = None
    """Of its first byte in the arena; None outside of it."""
    end: int | None = None
    birth: int = 0
    death: int = 0
    """Alive at steps [birth, death)."""
    buffer: int | None = None
    inplace: bool = False
    shared: list[int] = field(default_factory=list[int])
    """The other tensors of its buffer that share bytes with it."""


@dataclass
class Step:
    """A kernel call of main. Times are microseconds, None where they were not measured or can't be known."""

    kernel: str
    nodes: list[int]
    reads: list[int]
    writes: list[int]
    scratch: list[int]
    live: int
    """Bytes of the arena in use."""
    schedule: str = ""
    options: str = ""
    form: str = ""
    flops: int = 0
    bytes: int = 0
    estimated_us: float | None = None
    us: float | None = None
    runs: int = 1
    limit_us: float | None = None
    limited_by: str = ""
    """What the limit comes from: arithmetic or memory."""
    candidates: list[tuple[str, float]] = field(default_factory=list[tuple[str, float]])
    """Schedules that were considered, with their estimated microseconds."""


@dataclass(frozen=True)
class Text:
    """A level's text. `marks` has for each line the number of an entry of the record's marks, -1 for none."""

    level: str
    lines: list[str]
    marks: list[int]
    sources: list[int] = field(default_factory=list[int])
    """For each line the line, from 1, of the text of the level above that it was made from; 0 for none. Or nothing."""


@dataclass(frozen=True)
class Pass:
    """A pass that ran: operations of the module before and after, and changed lines: ("+", text, mark)."""

    name: str
    level: str
    seconds: float
    before: int
    after: int
    changes: list[tuple[str, str, int]]


@dataclass(frozen=True)
class Mark:
    """What a line is about."""

    nodes: list[int]
    steps: list[int]
    tensors: list[int]


@dataclass(frozen=True)
class Block:
    """A rectangle of the arena's picture: steps [start, end), bytes [low, high), and its tensor."""

    kind: str
    start: int
    end: int
    low: int
    high: int
    tensor: int | None


@dataclass(frozen=True)
class Memory:
    """The certificate of the memory plan, and bytes outside of the arena."""

    arena: int
    lower_bound: int
    binding_step: int
    optimal: bool
    strategy: str
    order_bound: int | None
    without_reuse: int
    weights: int
    inputs: int
    outputs: int
    blocks: list[Block]
    loops: list[tuple[int, int]]
    alignment: int
    """Bytes that offsets are multiples of, and to which sizes are padded."""


@dataclass(frozen=True, repr=False)
class RecordData:
    """A compile."""

    title: str
    model: str
    target: str
    options: dict[str, str]
    """Those that are not at their defaults."""
    threads: int
    seconds: float
    """Of the compile."""
    run_us: float | None
    """Of an inference, if it was measured."""
    outside_us: float | None
    nodes: list[Node]
    tensors: list[Tensor]
    steps: list[Step]
    texts: list[Text]
    passes: list[Pass]
    marks: list[Mark]
    memory: Memory
    version: int = VERSION

    def facts(self) -> dict[str, Any]:
        """The record as JSON takes it."""
        return asdict(self)

    def check(self) -> None:
        """Raises ValueError for numbers of what there is not, and for texts whose lines aren't all told."""
        nodes, tensors, steps = range(len(self.nodes)), range(len(self.tensors)), range(len(self.steps))
        marks = range(-1, len(self.marks))
        for node in self.nodes:
            _check("node", node.name, (tensors, [*node.inputs, *node.outputs]), (steps, node.steps))
        for each in self.tensors:
            tied = [number for number in (each.same,) if number is not None]
            made = [number for number in (each.node,) if number is not None]
            _check("tensor", each.name, (tensors, [*each.shared, *tied]), (nodes, [*each.readers, *made]))
            _check("tensor", each.name, (steps, [*each.steps, *each.read_at]))
        for step in self.steps:
            _check("step", step.kernel, (nodes, step.nodes), (tensors, [*step.reads, *step.writes, *step.scratch]))
        for number, mark in enumerate(self.marks):
            _check("mark", str(number), (nodes, mark.nodes), (steps, mark.steps), (tensors, mark.tensors))
        above = 0
        for text in self.texts:
            _check("text", text.level, (marks, text.marks), (range(above + 1), text.sources))
            if len(text.marks) != len(text.lines) or len(text.sources) not in (0, len(text.lines)):
                raise ValueError(f"text {text.level}: {len(text.lines)} lines, and not one mark for each")
            above = len(text.lines)
        for each in self.passes:
            _check("pass", each.name, (marks, [mark for _, _, mark in each.changes]))
        blocks = [each.tensor for each in self.memory.blocks if each.tensor is not None]
        _check("memory", "", (tensors, blocks), (range(max(1, len(steps))), [self.memory.binding_step]))


def _check(what: str, name: str, *references: tuple[range, Sequence[int]]) -> None:
    for known, numbers in references:
        for number in numbers:
            if number not in known:
                raise ValueError(f"{what} {name}: {number} is out of range")


class Marks:
    """The distinct marks of a record, numbered."""

    def __init__(self) -> None:
        self.entries: list[Mark] = []
        self._numbers: dict[tuple[tuple[int, ...], ...], int] = {}

    def number(self, nodes: Iterable[int] = (), steps: Iterable[int] = (), tensors: Iterable[int] = ()) -> int:
        """The number of a mark; -1 for one about nothing."""
        key = tuple(tuple(sorted(set(each))) for each in (nodes, steps, tensors))
        if not any(key):
            return -1
        if key not in self._numbers:
            self._numbers[key] = len(self.entries)
            self.entries.append(Mark(*map(list, key)))
        return self._numbers[key]


def numbers_of(names: Sequence[str]) -> dict[str, int]:
    """The place of each name, the first where one occurs twice."""
    found: dict[str, int] = {}
    for number, name in enumerate(names):
        found.setdefault(name, number)
    return found
