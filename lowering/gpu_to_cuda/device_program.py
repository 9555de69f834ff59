"""A device's program as plain data: kernel launches, and what the host computes and decides between them.

    launches 0 to 1
    %0 = read i64 at argument 1 + 0
    for %1 = 0 to %0 step 1
      %2 = muli %1, 64
      launch 2 at 0, %2                                    its second argument lies %2 bytes behind its root

A number is a constant or a register. A register is assigned whenever its step runs; to use one that was read from the
device, the host waits for it. A model without loops and branches is one step: all launches, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from typing_extensions import override


@dataclass(frozen=True)
class Register:
    """A scalar of the host: one that the device has computed, or that the host computes."""

    number: int

    @override
    def __str__(self) -> str:
        return f"%{self.number}"


Number: TypeAlias = "int | Register"


@dataclass(frozen=True)
class Argument:
    """The address `offset` bytes behind argument `root` of main."""

    root: int
    offset: int


@dataclass(frozen=True)
class TensorMap:
    """A tensor in an argument of a launch, boxes of which a kernel copies: what the driver encodes (CUtensorMap)."""

    argument: int
    """The number of the argument."""
    offset: int
    """Bytes from there to the first element."""
    element: str
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    """In bytes, of all dimensions but the last, whose elements are adjacent."""
    box: tuple[int, ...]
    swizzle: int
    """Bytes of a line of the box within which units are moved; 0 for none."""

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return int(self.element.strip("bf")) // 8


@dataclass(frozen=True)
class Launch:
    """One kernel launch: grid, block, and bytes of shared memory per block."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared: int
    arguments: tuple[Argument, ...]
    nodes: tuple[str, ...] = ()
    call: int = 0
    """The number of its kernel call in the plan; one call may be several launches."""
    sizes: tuple[int, ...] = ()
    """The numbers that the kernel takes behind its buffers."""
    cooperative: bool = False
    """Whether all blocks must be resident at once, as they meet at barriers of the grid."""
    maps: tuple[TensorMap, ...] = ()
    """The maps of tensors that it takes behind these."""

    @property
    def is_empty(self) -> bool:
        """Whether it has no blocks, so that there is nothing to launch."""
        return 0 in self.grid


@dataclass(frozen=True)
class Launches:
    """The plan's launches number `first` up to `end`, as they are."""

    first: int
    end: int


@dataclass(frozen=True)
class LaunchWith:
    """The plan's launch number `launch`, with a grid and offsets of its arguments that a run computes."""

    launch: int
    grid: tuple[Number, Number, Number]
    offsets: tuple[Number, ...]


@dataclass(frozen=True)
class Read:
    """Reads an integer of so many bits at `offset` bytes behind argument `root`; that of 1 bit lies in a byte."""

    result: Register
    root: int
    offset: Number
    bits: int

    @property
    def nbytes(self) -> int:
        """Bytes that are read."""
        return max(1, self.bits // 8)


@dataclass(frozen=True)
class Compute:
    """`result = operation(operands)`, an operation of OPERATIONS, as an integer of so many bits."""

    result: Register
    operation: str
    operands: tuple[Number, ...]
    bits: int


@dataclass(frozen=True)
class Assign:
    """Gives all targets their values at once: each value is read before any target is written."""

    targets: tuple[Register, ...]
    values: tuple[Number, ...]


@dataclass(frozen=True)
class If:
    """Runs one of two branches."""

    condition: Number
    then: tuple[Step, ...]
    otherwise: tuple[Step, ...]


@dataclass(frozen=True)
class For:
    """Runs the body for each value of the counter from `first` up to `end`; the bounds are read once."""

    counter: Register
    first: Number
    end: Number
    step: Number
    body: tuple[Step, ...]


@dataclass(frozen=True)
class While:
    """Runs `test`, and as long as the condition holds then, the body and `test` again."""

    test: tuple[Step, ...]
    condition: Number
    body: tuple[Step, ...]


Step: TypeAlias = "Launches | LaunchWith | Read | Compute | Assign | If | For | While"
Program: TypeAlias = tuple[Step, ...]


@dataclass(frozen=True)
class DeviceProgram:
    """The steps of an inference, and all launches that they make, in textual order."""

    launches: tuple[Launch, ...] = ()
    steps: Program = ()
    registers: int = 0
    """How many there are."""

    @property
    def reads(self) -> int:
        """How many of the steps read from the device; with none, all that the host does is known before a run."""
        return sum(isinstance(each, Read) for each in steps_of(self.steps))


NO_PROGRAM = DeviceProgram()
"""That of a CPU, whose code has a single entry point."""


def steps_of(program: Program) -> Iterator[Step]:
    """All steps, those inside of loops and branches included."""
    for step in program:
        yield step
        for inner in _inner_steps(step):
            yield from steps_of(inner)


def _inner_steps(step: Step) -> tuple[Program, ...]:
    """The steps inside of a loop or a branch."""
    match step:
        case If():
            return step.then, step.otherwise
        case For():
            return (step.body,)
        case While():
            return step.test, step.body
        case _:
            return ()


def wrapped(value: int, bits: int) -> int:
    """An integer of so many bits in two's complement; that of 1 bit is 0 or 1."""
    if bits == 1:
        return value & 1
    half = 1 << (bits - 1)
    return (value + half) % (2 * half) - half


def _quotient(a: int, b: int) -> int:
    """Rounded toward zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int:
    return a - b * _quotient(a, b)


def _ceiling(a: int, b: int) -> int:
    return -(-a // b)


def _least(a: int, b: int) -> int:
    return min(a, b)


def _most(a: int, b: int) -> int:
    return max(a, b)


def _select(condition: int, a: int, b: int) -> int:
    return a if condition else b


OPERATIONS: Mapping[str, Callable[..., int]] = {
    "addi": int.__add__,
    "subi": int.__sub__,
    "muli": int.__mul__,
    "divsi": _quotient,
    "remsi": _remainder,
    "floordivsi": int.__floordiv__,
    "ceildivsi": _ceiling,
    "minsi": _least,
    "maxsi": _most,
    "andi": int.__and__,
    "ori": int.__or__,
    "xori": int.__xor__,
    "eq": int.__eq__,
    "ne": int.__ne__,
    "lt": int.__lt__,
    "le": int.__le__,
    "gt": int.__gt__,
    "ge": int.__ge__,
    "select": _select,
}
"""What the host computes with integers, named as in MLIR's arith; comparisons are of signed integers."""
_DIVISIONS = ("divsi", "remsi", "floordivsi", "ceildivsi")


def computed(operation: str, operands: Sequence[int], bits: int) -> int:
    """The result of an operation of OPERATIONS; 0 for a division by 0, whose result is undefined."""
    if not operands[-1] and operation in _DIVISIONS:
        return 0
    return wrapped(int(OPERATIONS[operation](*operands)), bits)
