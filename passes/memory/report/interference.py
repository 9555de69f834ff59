"""The interference graph of a memory plan: which tensors of the arena can't have the same bytes.

    graph = plan.interference
    graph.has_edge("conv1_out", "conv2_out"), graph.neighbours("conv1_out"), graph.degree("conv1_out")
    len(graph.colours())                     # the buffers that are enough, one for each colour
    graph.largest_clique("bytes")

Vertices are the tensors and the scratch of the arena; views have no bytes of their own. Two of them interfere if both
are live at some step. An operand that a call overwrites in place is dead from that call on, so it does not interfere
with the result. A tensor that is live somewhere in a loop, in a buffer that lives throughout it, is live throughout it,
unless others have its bytes there too.

Each tensor is live in one interval of steps, so this is an interval graph: it is perfect, colouring the tensors by
birth takes as many colours as its largest clique has tensors, and every clique is live at one step (Golumbic,
Algorithmic Graph Theory and Perfect Graphs, 1980, chapter 8).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import Literal

from typing_extensions import override

from ....dialects.arguments import check_choice, check_kind
from ....dialects.errors import ConfigError
from .memory_records import BufferRecord, TensorRecord


@dataclass(frozen=True)
class Clique:
    """Tensors that are all live at one step: their number, and their bytes without padding."""

    step: int
    names: tuple[str, ...] = field(repr=False)
    bytes: int

    def __len__(self) -> int:
        return len(self.names)


class InterferenceGraph:
    """Which tensors of the arena are live at the same step. Iteration gives their names, by birth."""

    def __init__(
        self,
        tensors: Sequence[TensorRecord],
        buffers: Sequence[BufferRecord],
        loops: Sequence[tuple[int, int]],
        steps: int,
    ) -> None:
        inside = [each for each in tensors if not each.persistent and each.role != "view"]
        self._tensors = {each.name: each for each in sorted(inside, key=lambda each: each.birth)}
        numbered = {buffer.number: buffer for buffer in buffers}
        self._lives = {
            name: _life(each, self._tensors, None if each.buffer is None else numbered.get(each.buffer), loops)
            for name, each in self._tensors.items()
        }
        self._steps: list[list[str]] = [[] for _ in range(steps)]
        for name, (birth, death) in self._lives.items():
            for step in range(birth, death):
                self._steps[step].append(name)

    @override
    def __repr__(self) -> str:
        return f"InterferenceGraph({len(self)} tensors)"

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def __len__(self) -> int:
        return len(self._tensors)

    def __contains__(self, name: object) -> bool:
        return name in self._tensors

    def life(self, name: str) -> tuple[int, int]:
        """The steps [birth, death) at which the tensor occupies its bytes. Raises ConfigError for an unknown name."""
        check_kind("name", name, str)
        if name not in self._lives:
            raise ConfigError(f"the interference graph has no tensor '{name}'; it has those of the arena")
        return self._lives[name]

    def has_edge(self, first: str, second: str) -> bool:
        """Whether two tensors are live at the same step. Raises ConfigError for an unknown name."""
        (birth, death), (other_birth, other_death) = self.life(first), self.life(second)
        return first != second and birth < other_death and other_birth < death

    def neighbours(self, name: str) -> tuple[str, ...]:
        """The tensors that interfere with one, by birth. Raises ConfigError for an unknown name."""
        birth, death = self.life(name)
        found = {other for step in range(birth, death) for other in self._steps[step]} - {name}
        return tuple(other for other in self._tensors if other in found)

    def degree(self, name: str) -> int:
        """The number of tensors that interfere with one. Raises ConfigError for an unknown name."""
        return len(self.neighbours(name))

    def edges(self) -> Iterator[tuple[str, str]]:
        """All pairs of tensors that interfere, each once."""
        live: list[str] = []
        for name, (birth, _) in sorted(self._lives.items(), key=lambda each: each[1]):
            live = [other for other in live if self._lives[other][1] > birth]
            yield from ((other, name) for other in live)
            live.append(name)

    def colours(self) -> tuple[tuple[str, ...], ...]:
        """The fewest classes of tensors of which no two interfere: each class could have one buffer, of its largest.

        Tensors get, by birth, the colour that has been free for longest.
        """
        classes: list[list[str]] = []
        free: list[tuple[int, int]] = []  # (death of its last tensor, colour)
        for name, (birth, death) in sorted(self._lives.items(), key=lambda each: each[1]):
            if free and free[0][0] <= birth:
                _, colour = heappop(free)
            else:
                colour = len(classes)
                classes.append([])
            classes[colour].append(name)
            heappush(free, (death, colour))
        return tuple(map(tuple, classes))

    def largest_clique(self, by: Literal["number", "bytes"] = "number") -> Clique:
        """The most tensors that all interfere with each other, or those of the most bytes; the first such step's.

        Any clique is live at one step, so these are the tensors live at the step with most. By number, it is the number
        of colours. By bytes, it is a lower bound of the arena for these lifetimes; the plan's own also counts padding,
        and bytes that are kept for the parts of a concatenation before these are made.
        """
        check_choice("by", by, ("number", "bytes"))
        cliques = [self._clique(step) for step in range(len(self._steps))]
        return max(cliques, key=len if by == "number" else lambda each: each.bytes, default=Clique(0, (), 0))

    def _clique(self, step: int) -> Clique:
        names = tuple(self._steps[step])
        return Clique(step, names, sum(self._tensors[name].bytes for name in names))

    def dot(self) -> str:
        """The graph in the language of Graphviz; labels have name and bytes."""
        lines = [f"  {_quoted(name)} [label={_quoted(f'{name}: {each.bytes:,} B')}];" for name, each in self.items()]
        lines += [f"  {_quoted(first)} -- {_quoted(second)};" for first, second in self.edges()]
        return "\n".join(["graph interference {", *lines, "}"]) + "\n"

    def items(self) -> Iterator[tuple[str, TensorRecord]]:
        """The tensors by name."""
        return iter(self._tensors.items())


def _life(
    tensor: TensorRecord,
    tensors: Mapping[str, TensorRecord],
    buffer: BufferRecord | None,
    loops: Sequence[tuple[int, int]],
) -> tuple[int, int]:
    """The steps at which a tensor of a buffer occupies its bytes."""
    sharing = [tensors[name] for name in tensor.shared_with if name in tensors]
    over = [other.birth for other in sharing if other.inplace and other.birth > tensor.birth]
    birth, death = tensor.birth, min([tensor.death, *over])
    if sharing or buffer is None:
        return birth, death
    for start, stop in loops:
        if birth < stop and start < death and buffer.birth <= start and stop <= buffer.death:
            birth, death = min(birth, start), max(death, stop)
    return birth, death


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
