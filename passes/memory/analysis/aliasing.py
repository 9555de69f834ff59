"""Alias analysis for order-kernels and mark-inplace: which values may share bytes.

At the kernels level, each block of `main` is converted to integers once (`read_programs`): tasks (calls, loops,
branches, and scalars read from a tensor), values and storages. Values that always alias (reshapes, rows of a value,
results that a kernel only moves) are one storage. `share` then visits the tasks in a given order, merges storages
wherever a kernel's interface lets a result overwrite an operand, and returns the peak of live bytes. The IR is not
touched, so an order can be scored without applying it.

A loop or a branch is one task of the block that contains it: it reads the values it captures, and its scratch is the
peak of live bytes inside. A captured value is never overwritten inside, as another iteration or a later task may read
it; a loop-carried value may be.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import accumulate

from xdsl.dialects import func, scf
from xdsl.ir import Block, Operation, SSAValue

from ....dialects.errors import ConfigError, InvalidModelError
from ....dialects.graph.base import describe
from ....dialects.graph.dialect import Graph
from ....dialects.graph.host import Loop, caches_of, inner_blocks, is_scalar, is_shaped, ops_of, read_by
from ....dialects.graph.ops.movement import ReshapeOp
from ....dialects.graph.ops.rows import EmptyOp, ExtractRowsOp, InsertRowsOp
from ....dialects.graph.ops.structure import CallOp, KernelOp, WeightOp
from ....dialects.graph.values import nbytes_of as tensor_bytes
from ....dialects.graph.values import type_of
from ....dialects.sizes.sizes import now
from .buffers import ALIGNMENT, interface_of, padded
from .main_steps import views_of

Pair = tuple[int, int]
"""(operand position, result position) of a call"""


@dataclass(frozen=True)
class Task:
    """One call, loop, branch or scalar read: its operands and results, and the aliasing that its kernel allows."""

    operands: tuple[int, ...]
    results: tuple[int, ...]
    inplace: tuple[Pair, ...]  # permitted by the interface, of equal types, not disabled
    scratch: int  # bytes in the arena, padded to the alignment
    after: tuple[int, ...]  # the tasks that make its operands


@dataclass
class Program:
    """A block of main as integers. By task: `ops`, `tasks`; by value: `storage`; by storage: the other lists."""

    ops: list[Operation] = field(default_factory=list[Operation])
    tasks: list[Task] = field(default_factory=list[Task])
    storage: list[int] = field(default_factory=list[int])
    nbytes: list[int] = field(default_factory=list[int])
    fixed: list[bool] = field(default_factory=list[bool])  # defined outside, or a weight: never overwritten
    output: list[bool] = field(default_factory=list[bool])  # yielded, or inserted into another value: memory of others
    maker: list[int] = field(default_factory=list[int])  # the task that first writes it, -1 for none
    readers: list[list[int]] = field(default_factory=list[list[int]])  # tasks, in the given order


@dataclass(frozen=True)
class Sharing:
    """The result of `share`: the in-place pairs of each task, the peak of live bytes, and those of each step."""

    pairs: dict[int, list[Pair]]
    peak: int
    live: list[int]
    """The live bytes of each step, without its scratch."""


class _Reader:
    """Converts one block; `inner` maps loops and branches to the peak of live bytes inside them."""

    def __init__(
        self,
        kernels: dict[str, KernelOp],
        threads: int,
        disabled: frozenset[str],
        alignment: int,
        inner: Mapping[Block, int],
    ) -> None:
        self.kernels = kernels
        self.threads = threads
        self.disabled = disabled
        self.alignment = alignment
        self.inner = inner
        self.program = Program()
        self.number: dict[SSAValue, int] = {}
        self.makers: dict[SSAValue, frozenset[int]] = {}  # the tasks that a value depends on

    def block(self, block: Block) -> Program:
        """The program of a block."""
        parent = block.parent_op()
        if isinstance(parent, Loop):
            for argument in filter(is_shaped, block.args):
                self.value(argument)
        elif isinstance(parent, func.FuncOp):
            for argument, cache in zip(block.args, caches_of(parent), strict=True):
                if cache is not None and not cache.grows:
                    self.value(argument)
        for op in block.ops:
            if isinstance(op, CallOp):
                self.call(op)
            elif isinstance(op, WeightOp):
                self.fix(op.result)
            elif isinstance(op, EmptyOp):
                self.value(op.result)
            elif isinstance(op, ReshapeOp | ExtractRowsOp):
                self.value(op.result, self.numbered(op.x))
                self.follow(op)
            elif isinstance(op, InsertRowsOp):
                self.value(op.result, self.numbered(op.into))
                self.program.output[self.program.storage[self.numbered(op.new)]] = True
                self.follow(op)
            elif isinstance(op, scf.IfOp | Loop):
                self.regions(op)
            elif op.name == "tensor.extract":
                self.task(op, (), 0)
            elif is_scalar(op):
                self.follow(op)
            elif isinstance(op, func.ReturnOp | scf.YieldOp):
                for value in filter(is_shaped, op.operands):
                    self.program.output[self.program.storage[self.numbered(value)]] = True
            else:
                raise InvalidModelError(
                    f"{describe(op)}: at the kernels level main has calls, reshapes, loops, branches and scalars only"
                )
        return self.program

    def follow(self, op: Operation) -> None:
        """The results of an op that is no task depend on what makes its operands."""
        made = frozenset[int]().union(*(self.makers.get(value, ()) for value in op.operands))
        self.makers.update(dict.fromkeys(op.results, made))

    def value(self, value: SSAValue, of: int | None = None) -> int:
        """A number for a new value; it aliases value `of` where that is given."""
        number = self.number[value] = len(self.program.storage)
        if of is None:
            self.program.storage.append(len(self.program.nbytes))
            self.program.nbytes.append(padded(now(tensor_bytes(type_of(value))), self.alignment))
            self.program.fixed.append(False)
            self.program.output.append(False)
            self.program.maker.append(-1)
            self.program.readers.append([])
        else:
            self.program.storage.append(self.program.storage[of])
        return number

    def numbered(self, value: SSAValue) -> int:
        """The number of a value; one defined outside of the block is never overwritten in it."""
        if value not in self.number:
            self.fix(value)
        return self.number[value]

    def fix(self, value: SSAValue) -> None:
        self.program.fixed[self.program.storage[self.value(value)]] = True

    def call(self, op: CallOp) -> None:
        kernel = self.kernels[op.callee.string_value()]
        interface = interface_of(kernel)
        views = views_of(interface, op.arguments, op.res)
        inplace = tuple(
            (operand, result)
            for operand, result in ([] if self.is_disabled(kernel) else interface.inplace_pairs)
            if op.arguments[operand].type == op.res[result].type and result not in views
        )
        self.task(op, inplace, padded(now(interface.scratch_bytes(self.threads)), self.alignment), views)

    def regions(self, op: Operation) -> None:
        """Adds a loop or a branch, which overwrites none of its operands."""
        self.task(op, (), max((self.inner[block] for block in inner_blocks(op)), default=0))

    def task(
        self, op: Operation, inplace: tuple[Pair, ...], scratch: int, views: Mapping[int, int] | None = None
    ) -> None:
        program, index = self.program, len(self.program.tasks)
        read = read_by(op)
        operands = tuple(self.numbered(value) for value in read if is_shaped(value))
        after = frozenset[int]().union(*(self.makers.get(value, ()) for value in read))
        for storage in {program.storage[value] for value in operands}:
            program.readers[storage].append(index)
        results: list[int] = []
        for position, value in enumerate(op.results):
            of = None if views is None else views.get(position)
            if is_shaped(value):
                results.append(self.value(value, None if of is None else operands[of]))
                if of is None:
                    program.maker[program.storage[results[-1]]] = index
            self.makers[value] = frozenset({index})
        program.ops.append(op)
        program.tasks.append(Task(operands, tuple(results), inplace, scratch, tuple(sorted(after))))

    def is_disabled(self, kernel: KernelOp) -> bool:
        return bool(self.disabled) and not self.disabled.isdisjoint(ops_of(kernel))


# Not computed in kernels; and ONNX names whose words differ from those of the corresponding graph op.
_STRUCTURE = {"call", "kernel", "weight", "yield"}
_ONNX_WORDS = {"normalization": "norm", "average": "avg", "gemm": "matmul"}


def disabled_ops(pass_name: str, disabled: Collection[str]) -> frozenset[str]:
    """Resolves names of ops, ours (`layer_norm`, `graph.layer_norm`) or ONNX's (`LayerNormalization`), to ours.

    Raises ConfigError for a name that no op has.
    """
    known = {operation.name.removeprefix("graph.") for operation in Graph.operations} - _STRUCTURE
    spellings = {name.replace("_", ""): name for name in known}
    found: set[str] = set()
    for name in disabled:
        name = name.removeprefix("graph.")
        plain = name.lower().replace("_", "")
        for onnx, ours in _ONNX_WORDS.items():
            plain = plain.replace(onnx, ours)
        if plain not in spellings:
            near = get_close_matches(plain, spellings, n=1)
            hint = f"; is {spellings[near[0]]} meant?" if near else ""
            raise ConfigError(f"{pass_name}: there is no op graph.{name} to disable{hint}")
        found.add(spellings[plain])
    return frozenset(found)


def read_programs(
    blocks: Sequence[Block],
    kernels: dict[str, KernelOp],
    threads: int,
    disabled: frozenset[str] = frozenset(),
    alignment: int = ALIGNMENT,
) -> list[Program]:
    """The programs of all blocks of main at the kernels level, outer blocks first.

    Sizes are bytes in an arena of the given alignment. Kernels that contain an op named in `disabled` share nothing.
    """
    programs: list[Program] = []
    peaks: dict[Block, int] = {}
    for block in reversed(blocks):
        program = _Reader(kernels, threads, disabled, alignment, peaks).block(block)
        peaks[block] = share(program, range(len(program.tasks))).peak
        programs.append(program)
    return programs[::-1]


class _Groups:
    """Union-find over storages merged while an order is visited; the root holds the facts of its group."""

    def __init__(self, program: Program, order: Sequence[int]) -> None:
        position = [0] * len(order)
        for step, task in enumerate(order):
            position[task] = step
        self.program = program
        self.above = list(range(len(program.nbytes)))
        self.last = [max((position[task] for task in readers), default=-1) for readers in program.readers]
        self.birth = [-1] * len(program.nbytes)
        self.output = list(program.output)

    def of(self, value: int) -> int:
        """The root of a value's group."""
        storage = self.program.storage[value]
        while self.above[storage] != storage:
            storage = self.above[storage]
        return storage

    def merge(self, a: int, b: int) -> None:
        """Merges group b into the older group a."""
        self.above[b] = a
        self.last[a] = max(self.last[a], self.last[b])
        self.output[a] |= self.output[b]

    def may_overwrite(self, task: Task, pair: Pair, step: int) -> bool:
        """Whether the operand's group is dead after this call reads it, and may be overwritten."""
        operand, result = pair
        group = self.of(task.operands[operand])
        if self.program.fixed[group] or self.output[group] or self.last[group] > step:
            return False
        if any(self.of(value) == group for value in task.results):
            return False
        # All other operands in these bytes must be the same value, and may be overwritten as well.
        return all(
            value == task.operands[operand] and (position, result) in task.inplace
            for position, value in enumerate(task.operands)
            if position != operand and self.of(value) == group
        )


def share(program: Program, order: Sequence[int]) -> Sharing:
    """Merges storages greedily for one order of the tasks.

    Any operand that is dead after the call would do: the live bytes of each step come out the same. Of several the
    youngest is taken, which leaves more short lifetimes to pack; but where the result ends in the caller's memory, call
    by call, the one for which most steps before do so, too: that removes the most from the arena.
    """
    groups = _Groups(program, order)
    leading = _leading_to_outputs(program, order)
    pairs: dict[int, list[Pair]] = {}
    for step, index in enumerate(order):
        task = program.tasks[index]
        for value in task.results:
            group = groups.of(value)
            if groups.birth[group] < 0:
                groups.birth[group] = step
        for position, value in enumerate(task.results):
            result = groups.of(value)
            pairs_here = [pair for pair in task.inplace if pair[1] == position]
            possible = [pair for pair in pairs_here if groups.may_overwrite(task, pair, step)]
            if not possible:
                continue
            ways = [pair for pair in possible if (index, pair) in leading]
            chosen = min(ways or possible, key=lambda p: (-groups.birth[groups.of(task.operands[p[0]])], p[0]))
            groups.merge(groups.of(task.operands[chosen[0]]), result)
            pairs.setdefault(index, []).append(chosen)
    live = _live(program, groups, order)
    peak = max((bytes + program.tasks[index].scratch for bytes, index in zip(live, order, strict=True)), default=0)
    return Sharing(pairs, peak, live)


def _leading_to_outputs(program: Program, order: Sequence[int]) -> set[tuple[int, Pair]]:
    """The tasks and pairs of the longest chains of results in place that end in the caller's memory."""
    groups = _Groups(program, order)
    first = [0] * len(program.nbytes)  # the step at which the longest chain that ends with a storage begins
    before: dict[int, tuple[int, Pair]] = {}  # by storage: the last pair of that chain
    for step, index in enumerate(order):
        task = program.tasks[index]
        for storage in {program.storage[value] for value in task.results}:
            if program.maker[storage] == index:  # not for a view
                first[storage] = step
        for operand, result in task.inplace:
            source, target = (program.storage[each] for each in (task.operands[operand], task.results[result]))
            if groups.may_overwrite(task, (operand, result), step) and first[source] < first[target]:
                first[target], before[target] = first[source], (index, (operand, result))
    found: set[tuple[int, Pair]] = set()
    for storage in range(len(program.nbytes)):
        last = storage if program.output[storage] else None
        while last in before:
            index, pair = before[last]
            found.add((index, pair))
            last = program.storage[program.tasks[index].operands[pair[0]]]
    return found


def _live(program: Program, groups: _Groups, order: Sequence[int]) -> list[int]:
    """The live bytes of each step, without its scratch."""
    change = [0] * (len(order) + 1)
    for storage, above in enumerate(groups.above):
        birth = groups.birth[storage]
        if above != storage or birth < 0 or program.fixed[storage] or groups.output[storage]:
            continue
        change[birth] += program.nbytes[storage]
        change[max(groups.last[storage], birth) + 1] -= program.nbytes[storage]
    return list(accumulate(change[:-1]))
