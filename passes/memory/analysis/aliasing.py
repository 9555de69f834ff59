"""Which values may share bytes: the alias analysis behind order-kernels and mark-inplace.

At the kernels level, `main` is read into plain numbers once (`read_program`): tasks (the calls), values and
storages. Values that are one another's bytes whatever happens (reshapes, results that a kernel's interface
calls views) are one storage. `share` then walks the tasks in some order and merges storages wherever a
kernel's interface lets a result overwrite an operand, and says how much is live at most. Nothing here touches
the IR, so that an order can be tried without making it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from xdsl.dialects import func
from xdsl.ir import SSAValue

from ....dialects.errors import ConfigError, InvalidModelError
from ....dialects.graph import CallOp, Graph, KernelOp, ReshapeOp, WeightOp, describe, type_of
from ....dialects.graph import nbytes_of as tensor_bytes
from .buffers import ALIGNMENT, interface_of, padded

Pair = tuple[int, int]
"""(operand position, result position) of a call"""


@dataclass(frozen=True)
class Task:
    """One call: value numbers of its operands and results, and what its kernel allows."""

    operands: tuple[int, ...]
    results: tuple[int, ...]
    inplace: tuple[Pair, ...]  # permitted by the interface, of equal types, not disabled
    scratch: int  # bytes, as the arena counts them
    after: tuple[int, ...]  # the tasks that make its operands


@dataclass
class Program:
    """Main as numbers. Lists by task: `calls`, `tasks`; by value: `storage`; by storage: the others."""

    calls: list[CallOp] = field(default_factory=list[CallOp])
    tasks: list[Task] = field(default_factory=list[Task])
    storage: list[int] = field(default_factory=list[int])
    nbytes: list[int] = field(default_factory=list[int])
    fixed: list[bool] = field(default_factory=list[bool])  # holds an input or a weight: never written again
    output: list[bool] = field(default_factory=list[bool])  # holds what main returns: the caller's memory
    maker: list[int] = field(default_factory=list[int])  # the task that first writes it, -1 where none does
    readers: list[list[int]] = field(default_factory=list[list[int]])  # tasks, in the given order


@dataclass(frozen=True)
class Sharing:
    """What `share` decided: the pairs of each task, and the most bytes live at one step of the order."""

    pairs: dict[int, list[Pair]]
    peak: int
    step: int


class _Reader:
    def __init__(self, kernels: dict[str, KernelOp], threads: int, disabled: Collection[str], alignment: int) -> None:
        self.kernels = kernels
        self.threads = threads
        self.disabled = disabled
        self.alignment = alignment
        self.program = Program()
        self.number: dict[SSAValue, int] = {}
        self.maker: dict[int, int] = {}  # value -> task

    def value(self, value: SSAValue, of: int | None = None) -> int:
        """A number for a new value, whose bytes are those of value `of` where that is given."""
        number = self.number[value] = len(self.program.storage)
        if of is None:
            self.program.storage.append(len(self.program.nbytes))
            self.program.nbytes.append(padded(tensor_bytes(type_of(value)), self.alignment))
            self.program.fixed.append(False)
            self.program.output.append(False)
            self.program.maker.append(-1)
            self.program.readers.append([])
        else:
            self.program.storage.append(self.program.storage[of])
            if of in self.maker:
                self.maker[number] = self.maker[of]
        return number

    def fix(self, value: SSAValue) -> None:
        self.program.fixed[self.program.storage[self.value(value)]] = True

    def call(self, op: CallOp) -> None:
        program, index = self.program, len(self.program.tasks)
        kernel = self.kernels[op.callee.string_value()]
        interface = interface_of(kernel)
        operands = tuple(self.number[value] for value in op.arguments)
        for storage in {program.storage[value] for value in operands}:
            program.readers[storage].append(index)
        views = {result: operand for operand, result in interface.view_pairs}
        results: list[int] = []
        for position, value in enumerate(op.res):
            results.append(self.value(value, operands[views[position]] if position in views else None))
            self.maker[results[-1]] = index
            if position not in views:
                program.maker[program.storage[results[-1]]] = index
        inplace = tuple(
            (operand, result)
            for operand, result in ([] if self.is_disabled(kernel) else interface.inplace_pairs)
            if op.arguments[operand].type == op.res[result].type and result not in views
        )
        after = {self.maker[value] for value in operands if value in self.maker}
        scratch = padded(interface.scratch_bytes(self.threads), self.alignment)
        program.calls.append(op)
        program.tasks.append(Task(operands, tuple(results), inplace, scratch, tuple(sorted(after))))

    def is_disabled(self, kernel: KernelOp) -> bool:
        return bool(self.disabled) and any(
            op.name.removeprefix("graph.") in self.disabled for op in kernel.body.block.ops
        )


# Not computed in kernels; and names of ONNX whose words differ from those of the graph op that they become.
_STRUCTURE = {"call", "kernel", "weight", "yield"}
_ONNX_WORDS = {"normalization": "norm", "average": "avg", "gemm": "matmul"}


def disabled_ops(pass_name: str, disabled: Collection[str]) -> frozenset[str]:
    """The graph ops that are to be disabled, from their names (`layer_norm`) or those of ONNX (`LayerNormalization`).

    Raises ConfigError for a name that no op has.
    """
    known = {operation.name.removeprefix("graph.") for operation in Graph.operations} - _STRUCTURE
    spellings = {name.replace("_", ""): name for name in known}
    found: set[str] = set()
    for name in disabled:
        plain = name.lower().replace("_", "")
        for onnx, ours in _ONNX_WORDS.items():
            plain = plain.replace(onnx, ours)
        if plain not in spellings:
            near = get_close_matches(plain, spellings, n=1)
            hint = f"; is {spellings[near[0]]} meant?" if near else ""
            raise ConfigError(f"{pass_name}: there is no op graph.{name} to disable{hint}")
        found.add(spellings[plain])
    return frozenset(found)


def read_program(
    main: func.FuncOp,
    kernels: dict[str, KernelOp],
    threads: int,
    disabled: Collection[str] = (),
    alignment: int = ALIGNMENT,
) -> Program:
    """Main at the kernels level as numbers; bytes are those taken in an arena of that alignment.

    Kernels that hold an op named in `disabled` share nothing.
    """
    reader = _Reader(kernels, threads, disabled, alignment)
    for argument in main.args:
        reader.fix(argument)
    for op in main.body.block.ops:
        if isinstance(op, CallOp):
            reader.call(op)
        elif isinstance(op, WeightOp):
            reader.fix(op.result)
        elif isinstance(op, ReshapeOp):
            reader.value(op.result, reader.number[op.x])
        elif isinstance(op, func.ReturnOp):
            for value in op.arguments:
                reader.program.output[reader.program.storage[reader.number[value]]] = True
        else:
            raise InvalidModelError(f"{describe(op)}: at the kernels level main has calls and reshapes only")
    return reader.program


class _Groups:
    """Storages merged while an order is walked: what is known of the whole group stands at its top."""

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
        """The group of a value."""
        storage = self.program.storage[value]
        while self.above[storage] != storage:
            storage = self.above[storage]
        return storage

    def merge(self, a: int, b: int) -> None:
        """Group b becomes part of group a, which is the older one."""
        self.above[b] = a
        self.last[a] = max(self.last[a], self.last[b])
        self.output[a] |= self.output[b]

    def may_overwrite(self, task: Task, pair: Pair, step: int) -> bool:
        """Whether nobody needs what the operand's group holds once this call has read it."""
        operand, result = pair
        group = self.of(task.operands[operand])
        if self.program.fixed[group] or self.output[group] or self.last[group] > step:
            return False
        if any(self.of(value) == group for value in task.results):
            return False
        # Every other operand in these bytes must be the same value, and may be overwritten as well.
        return all(
            value == task.operands[operand] and (position, result) in task.inplace
            for position, value in enumerate(task.operands)
            if position != operand and self.of(value) == group
        )


def share(program: Program, order: Sequence[int]) -> Sharing:
    """Merges what may be merged when the tasks run in this order.

    Any operand that is dead after the call would do, since the bytes live at each step come out the same. Of
    several the youngest is taken, which leaves more short lifetimes to pack, but where the result is the
    caller's memory the oldest, which takes the most out of the arena.
    """
    groups = _Groups(program, order)
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
            sign = 1 if groups.output[result] else -1
            chosen = min(possible, key=lambda p: (sign * groups.birth[groups.of(task.operands[p[0]])], p[0]))
            groups.merge(groups.of(task.operands[chosen[0]]), result)
            pairs.setdefault(index, []).append(chosen)
    peak, step = _peak(program, groups, order)
    return Sharing(pairs, peak, step)


def _peak(program: Program, groups: _Groups, order: Sequence[int]) -> tuple[int, int]:
    """The most bytes live at one step, and that step."""
    change = [0] * (len(order) + 1)
    for storage, above in enumerate(groups.above):
        birth = groups.birth[storage]
        if above != storage or birth < 0 or program.fixed[storage] or groups.output[storage]:
            continue
        change[birth] += program.nbytes[storage]
        change[max(groups.last[storage], birth) + 1] -= program.nbytes[storage]
    best, best_step, live = 0, 0, 0
    for step, index in enumerate(order):
        live += change[step]
        if live + program.tasks[index].scratch > best:
            best, best_step = live + program.tasks[index].scratch, step
    return best, best_step
