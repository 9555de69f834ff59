"""Order problems of published cells and networks: NASNet-A, AmoebaNet-A, PNASNet-5, DARTS (second order), RandWire.

The genotypes are those of the papers: Zoph et al. (arXiv 1707.07012), Real et al. (1802.01548), Liu et al.
(1712.00559), Liu, Simonyan, Yang (1806.09055), Xie et al. (1904.01569). Channels, sizes and stacking follow those that
HMCOS measures (Wang et al., ICCAD 2022): pictures of 224 x 224, a stem of 32 channels at half of that, two
reduction cells, and three times four normal cells with reductions between them; batch norms are folded, separable
convolutions are two ops each, and an operand of a relu or of an addition may be overwritten. Elements are f32.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from mini_infer.passes.memory.analysis.aliasing import Program, Task

from .order_problem import OrderProblem

Blocks = Sequence[tuple[tuple[str, int], tuple[str, int]]]


@dataclass(frozen=True)
class Genotype:
    """A cell's blocks, each the sum of two ops on earlier states, for the normal and the reduction cell; and the
    states that are concatenated. States 0 and 1 are the results of the two cells before."""

    normal: Blocks
    normal_concat: Sequence[int]
    reduction: Blocks
    reduction_concat: Sequence[int]
    filters: float  # of the first cell, before it is doubled by the reductions in front of it


_PNAS: Blocks = (
    (("sep5", 0), ("max3", 0)),
    (("sep7", 1), ("max3", 1)),
    (("sep5", 1), ("sep3", 1)),
    (("sep3", 4), ("max3", 1)),
    (("sep3", 0), ("pool1", 1)),
)
GENOTYPES = {
    "nasnet-a": Genotype(
        (
            (("sep5", 1), ("sep3", 0)),
            (("sep5", 0), ("sep3", 0)),
            (("avg3", 1), ("identity", 0)),
            (("avg3", 0), ("avg3", 0)),
            (("sep3", 1), ("identity", 1)),
        ),
        (0, 2, 3, 4, 5, 6),
        (
            (("sep5", 1), ("sep7", 0)),
            (("max3", 1), ("sep5", 0)),
            (("avg3", 1), ("sep5", 0)),
            (("identity", 3), ("avg3", 2)),
            (("sep3", 2), ("max3", 1)),
        ),
        (3, 4, 5, 6),
        11,
    ),
    "amoebanet-a": Genotype(
        (
            (("avg3", 0), ("max3", 0)),
            (("identity", 0), ("avg3", 1)),
            (("sep5", 2), ("sep3", 1)),
            (("sep3", 2), ("identity", 1)),
            (("avg3", 4), ("sep3", 0)),
        ),
        (3, 5, 6),
        (
            (("avg3", 0), ("sep3", 1)),
            (("max3", 1), ("max3", 0)),
            (("max3", 0), ("sep7", 2)),
            (("sep7", 0), ("avg3", 1)),
            (("sep3", 3), ("cross7", 0)),
        ),
        (4, 5, 6),
        12.5,
    ),
    "pnasnet-5": Genotype(_PNAS, (2, 3, 4, 5, 6), _PNAS, (2, 3, 4, 5, 6), 12),
    "darts-v2": Genotype(
        (
            (("sep3", 0), ("sep3", 1)),
            (("sep3", 0), ("sep3", 1)),
            (("sep3", 1), ("identity", 0)),
            (("identity", 0), ("dil3", 2)),
        ),
        (2, 3, 4, 5),
        (
            (("max3", 0), ("max3", 1)),
            (("identity", 2), ("max3", 1)),
            (("max3", 0), ("identity", 2)),
            (("identity", 2), ("max3", 1)),
        ),
        (2, 3, 4, 5),
        12,
    ),
}


@dataclass(frozen=True)
class Picture:
    """A value: channels, and pixels along each side."""

    number: int
    channels: int
    side: int


@dataclass
class Network:
    """Collects tasks in the order in which they are written, as an exporter does."""

    problem: OrderProblem = field(default_factory=lambda: OrderProblem(Program(), [], []))

    def input(self, channels: int, side: int) -> Picture:
        """A picture in the caller's memory."""
        picture = self._value(f"input{len(self.problem.values)}", channels, side)
        self.problem.program.fixed[-1] = True
        return picture

    def begin(self, count: int, channels: int, side: int) -> list[Picture]:
        """Pictures that a first task makes, all at once, in memory that counts."""
        pictures = [self._value(f"input{number}", channels, side) for number in range(count)]
        self.problem.program.tasks.append(Task((), tuple(each.number for each in pictures), (), 0, ()))
        self.problem.program.maker[-count:] = [len(self.problem.tasks)] * count
        self.problem.tasks.append("begin")
        return pictures

    def op(self, kind: str, reads: Sequence[Picture], channels: int, side: int, inplace: bool = False) -> Picture:
        """The result of a task; `inplace`: it may be written over any operand."""
        program, number = self.problem.program, len(self.problem.tasks)
        result = self._value(f"v{len(self.problem.values)}", channels, side)
        operands = tuple(each.number for each in reads)
        pairs = tuple((position, 0) for position in range(len(reads))) if inplace else ()
        after = {program.maker[program.storage[value]] for value in operands} - {-1}
        program.tasks.append(Task(operands, (result.number,), pairs, 0, tuple(sorted(after))))
        program.maker[program.storage[result.number]] = number
        for storage in {program.storage[value] for value in operands}:
            program.readers[storage].append(number)
        self.problem.tasks.append(f"{kind}_{number}")
        return result

    def _value(self, name: str, channels: int, side: int) -> Picture:
        program = self.problem.program
        picture = Picture(len(self.problem.values), channels, side)
        self.problem.values.append(name)
        program.storage.append(len(program.nbytes))
        program.nbytes.append(4 * channels * side * side)
        program.fixed.append(False)
        program.output.append(False)
        program.maker.append(-1)
        program.readers.append([])
        return picture

    def relu(self, x: Picture) -> Picture:
        return self.op("relu", (x,), x.channels, x.side, inplace=True)

    def conv(self, x: Picture, channels: int, stride: int = 1, kind: str = "conv") -> Picture:
        return self.op(kind, (x,), channels, -(-x.side // stride))

    def separable(self, x: Picture, channels: int, stride: int) -> Picture:
        depthwise = self.op("depthwise", (x,), x.channels, -(-x.side // stride))
        return self.conv(depthwise, channels, kind="pointwise")

    def squeezed(self, x: Picture, channels: int) -> Picture:
        return self.conv(self.relu(x), channels, kind="pointwise")

    def fitted(self, x: Picture | None, like: Picture, channels: int) -> Picture:
        """The result of the cell before the last, with the size and channels of the last: a factorised reduction."""
        if x is None:
            return like
        if x.side == like.side:
            return self.squeezed(x, channels)
        x = self.relu(x)
        halves: list[Picture] = []
        for shifted in (False, True):
            moved = self.op("shift", (x,), x.channels, x.side) if shifted else x
            pooled = self.op("pool1", (moved,), moved.channels, -(-moved.side // 2))
            halves.append(self.conv(pooled, channels // 2, kind="pointwise"))
        return self.op("concat", halves, 2 * (channels // 2), halves[0].side)

    def branch(self, kind: str, x: Picture, channels: int, stride: int) -> Picture:
        """One side of a block."""
        if kind == "identity":
            return x
        if kind.startswith("sep"):
            first = self.separable(self.relu(x), channels, stride)
            return self.separable(self.relu(first), channels, 1)
        if kind.startswith("dil"):
            return self.separable(self.relu(x), channels, 1)
        if kind == "cross7":
            return self.conv(self.conv(x, channels, stride, "conv1x7"), channels, kind="conv7x1")
        return self.op(kind, (x,), x.channels, -(-x.side // stride))

    def cell(self, before: Picture | None, x: Picture, channels: int, genotype: Genotype, reduce: bool) -> Picture:
        """The result of a cell for those of the two cells before it."""
        x = self.squeezed(x, channels)
        states = [self.fitted(before, x, channels), x]
        for sides in genotype.reduction if reduce else genotype.normal:
            parts = [
                self.branch(kind, states[state], channels, 2 if reduce and state < 2 else 1) for kind, state in sides
            ]
            states.append(self.op("add", parts, channels, parts[0].side, inplace=True))
        joined = [states[state] for state in (genotype.reduction_concat if reduce else genotype.normal_concat)]
        return self.op("concat", joined, sum(each.channels for each in joined), joined[0].side)


def single_cell(genotype: Genotype, reduce: bool) -> OrderProblem:
    """The first normal cell behind two reductions, at 28 x 28, or the first reduction behind the normal ones."""
    network, channels = Network(), round(genotype.filters * 4)
    width = channels * len(genotype.normal_concat)
    before, last = network.begin(2, width, 28)
    network.cell(before, last, channels * (2 if reduce else 1), genotype, reduce)
    return network.problem


def whole_network(genotype: Genotype, stacked: int = 4) -> OrderProblem:
    """A network for pictures of 224 x 224: stem, two reductions, three times `stacked` normal cells, classifier."""
    network, filters = Network(), genotype.filters
    before, x = None, network.conv(network.input(3, 224), 32, 2)
    for reduce in (True, True, *[False] * stacked, True, *[False] * stacked, True, *[False] * stacked):
        filters *= 2 if reduce else 1
        before, x = x, network.cell(before, x, round(filters), genotype, reduce)
    pooled = network.op("mean", (network.relu(x),), x.channels, 1)
    network.problem.program.output[network.op("matmul", (pooled,), 1000, 1).number] = True
    return network.problem


def watts_strogatz(count: int, near: int, chance: float, seed: int) -> list[tuple[int, int]]:
    """Edges from lower to higher numbers of a ring in which each node is joined to `near` others, rewired by chance.

    Every node in turn keeps or rewires its edge to the next, then, round by round, to those further on, as in Watts and
    Strogatz, 1998; the draws are those of Python's random.Random(seed).
    """
    draw = random.Random(seed)
    edges = {frozenset((node, (node + away) % count)) for node in range(count) for away in range(1, near // 2 + 1)}
    for away in range(1, near // 2 + 1):
        for node in range(count):
            edge = frozenset((node, (node + away) % count))
            if edge in edges and draw.random() < chance:
                free = [other for other in range(count) if other != node and frozenset((node, other)) not in edges]
                edges.remove(edge)
                edges.add(frozenset((node, draw.choice(free))))
    return sorted((min(edge), max(edge)) for edge in edges)


def randwire(seed: int, channels: int = 78, side: int = 56) -> OrderProblem:
    """A stage of RandWire-WS(4, 0.75) with 32 nodes: the first of the small regime, from 56 x 56 to 28 x 28 pixels.

    A node adds up its inputs, weighted (one task), and does relu and a separable convolution. Nodes without
    predecessors read the stage's input with a stride of two; the mean of those without successors is the result.
    """
    network = Network()
    edges = watts_strogatz(32, 4, 0.75, seed)
    (x,) = network.begin(1, channels, side)
    made: list[Picture] = []
    for node in range(32):
        reads = [made[source] for source, target in edges if target == node]
        first = len(reads) > 1
        value = network.op("sum", reads, channels, reads[0].side, inplace=True) if first else (*reads, x)[0]
        made.append(network.separable(network.relu(value), channels, 1 if reads else 2))
    ends = [made[node] for node in range(32) if all(source != node for source, _ in edges)]
    network.op("mean", ends, channels, ends[0].side, inplace=True)
    return network.problem


def published() -> dict[str, OrderProblem]:
    """All of these problems by name."""
    found: dict[str, OrderProblem] = {}
    for name, genotype in GENOTYPES.items():
        found[f"{name}-normal"] = single_cell(genotype, False)
        found[f"{name}-reduction"] = single_cell(genotype, True)
        found[f"{name}-224"] = whole_network(genotype)
    for seed in (1, 2, 3):
        found[f"randwire-ws-seed{seed}"] = randwire(seed)
    return found
