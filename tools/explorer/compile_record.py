"""CompileRecord: all that is told about a compile, as plain data for the page, for `mini-infer explain`, and as JSON.

ONNX nodes, tensors and steps (kernel calls of main, in order) are numbered, and everything refers to them by these
numbers. A `Marks` entry says which of them a line of text is about.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Self, cast

from typing_extensions import override

from ...dialects.arguments import check_kind, checked_path
from ...dialects.atomic_file import atomic_file
from ...dialects.errors import ConfigError
from ...dialects.regular_file import read_regular

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


@dataclass(frozen=True, repr=False)
class CompileRecord:
    """All that is told about a compile: `mini_infer.explore` makes it."""

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

    @override
    def __repr__(self) -> str:
        return (
            f"CompileRecord({self.title}: {len(self.nodes)} nodes, {len(self.steps)} kernel calls, "
            f"arena {self.memory.arena} bytes, {self.label})"
        )

    def facts(self) -> dict[str, Any]:
        """The record as JSON takes it."""
        return asdict(self)

    @property
    def label(self) -> str:
        """What tells it from another compile of the same model: its options."""
        return ", ".join(f"{name}={value}" for name, value in self.options.items()) or "defaults"

    def label_beside(self, other: CompileRecord) -> str:
        """What tells it from that compile: the model, or the options that differ."""
        if self.title != other.title:
            return self.title
        own = {name: value for name, value in self.options.items() if other.options.get(name) != value}
        return ", ".join(f"{name}={value}" for name, value in own.items()) or "defaults"

    def explain(self, question: str, name: str | None = None) -> str:
        """The answer to a question, as text of one screen.

        "memory": what binds, who keeps it alive, what would help. "time": kernels by what is lost against their
        limits, with the schedules that were not taken. "tensor" and "node", with the name of one: its life through all
        levels, and what became of it. Raises ConfigError for another question, or an unknown name.
        """
        from .explain import explain

        return explain(self, question, name)

    def write(self, path: str | Path, *, against: Self | None = None) -> None:
        """Writes the record: .html, a page that needs nothing else, or .json, which `read` takes.

        The page shows it beside another, `against`, if that is given. Raises ConfigError for another suffix,
        MiniInferError if the file can't be written.
        """
        kind = checked_path("path", path).suffix
        if kind not in (".html", ".json"):
            raise ConfigError(f"{path}: a compile is written as .html or .json")
        if against is None:
            records, labels = [self], [self.label]
        elif kind == ".json":
            raise ConfigError(f"{path}: two compiles are shown by a page; JSON is of one")
        else:
            check_kind("against", against, CompileRecord)
            records = [self, against]
            labels = [self.label_beside(against), against.label_beside(self)]
        if kind == ".html":
            from .page import page_html

            text = page_html(records, labels)
        else:
            text = json.dumps(self.facts(), separators=(",", ":")) + "\n"
        with atomic_file(path) as stream:
            stream.write(text.encode())

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The record in a .json file. Raises ConfigError for any other file, and for one that can't be read."""
        file = checked_path("path", path)
        try:
            found = cast("object", json.loads(read_regular(file)))
        except OSError as error:
            raise ConfigError(f"{file}: {error.strerror}") from None
        except ValueError:
            raise ConfigError(f"{file}: that is no JSON") from None
        if not isinstance(found, Mapping):
            raise ConfigError(f"{file}: no record of a compile")
        return cls.of(cast("Mapping[str, Any]", found), str(file))

    @classmethod
    def of(cls, facts: Mapping[str, Any], where: str) -> Self:
        """The record that `facts` told. Raises ConfigError, naming `where` it is from, for anything else."""
        try:
            given = dict(facts)
            if given["version"] != VERSION:
                raise ConfigError(f"{where}: a record of version {given['version']}; this is for version {VERSION}")
            parts = {"nodes": Node, "tensors": Tensor, "steps": Step, "texts": Text, "passes": Pass, "marks": Mark}
            for name, kind in parts.items():
                given[name] = [kind(**each) for each in given[name]]
            memory: dict[str, Any] = dict(given["memory"])
            memory["blocks"] = [Block(**each) for each in memory["blocks"]]
            given["memory"] = Memory(**memory)
            return cls(**{each.name: given[each.name] for each in fields(cls)})
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigError(f"{where}: no record of a compile ({error})") from None


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
