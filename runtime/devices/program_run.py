"""Runs of a device program: which launches and reads are due, in order, as the host decides it.

    run = ProgramRun(plan.program, wait)
    for each in run.due():
        ...                                 # enqueue the launch, or the copy of a scalar to `run.slots`

Nothing is waited for until the host needs a scalar that it has read: what is due before that can be enqueued at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from ...lowering.gpu_to_cuda.device_program import (
    Assign,
    Compute,
    DeviceProgram,
    For,
    If,
    Launch,
    Launches,
    LaunchWith,
    Number,
    Program,
    Read,
    Register,
    computed,
)
from ..device import Array

SLOT = 8
"""Bytes of a slot: the widest scalar."""


@dataclass(frozen=True)
class DueLaunch:
    """A launch of the plan, by number, with the grid and the offsets of this run."""

    number: int
    launch: Launch
    computed: tuple[int, ...] = ()
    """The numbers in which it may differ from other runs of it."""

    @property
    def key(self) -> tuple[int, ...]:
        """Equal for runs that do the same."""
        return self.number, *self.computed


@dataclass(frozen=True)
class DueRead:
    """A scalar to be copied from the device: `nbytes` at an argument of main, to byte `slot` of the slots."""

    root: int
    offset: int
    nbytes: int
    slot: int


Due: TypeAlias = "DueLaunch | DueRead"


class ProgramRun:
    """Runs a program, one run at a time. `wait` returns when all that was due so far has been done."""

    def __init__(
        self, program: DeviceProgram, wait: Callable[[], object] = lambda: None, slots: Array | None = None
    ) -> None:
        self.slots = np.zeros(program.registers * SLOT, np.uint8) if slots is None else slots
        self._program, self._wait = program, wait
        self._launches = [DueLaunch(number, launch) for number, launch in enumerate(program.launches)]
        self._values = [0] * program.registers
        self._unread: dict[int, Read] = {}

    def due(self) -> Iterator[Due]:
        """What a run does next, from its start on."""
        self._unread.clear()
        return self._block(self._program.steps)

    def _block(self, steps: Program) -> Iterator[Due]:
        for step in steps:
            match step:
                case Launches():
                    yield from self._launches[step.first : step.end]
                case LaunchWith():
                    yield self._launch(step)
                case Read():
                    number, offset = step.result.number, self._value(step.offset)
                    self._unread[number] = step
                    yield DueRead(step.root, offset, step.nbytes, number * SLOT)
                case Compute():
                    self._set(step.result, computed(step.operation, self._all(step.operands), step.bits))
                case Assign():
                    for target, value in zip(step.targets, self._all(step.values), strict=True):
                        self._set(target, value)
                case If():
                    yield from self._block(step.then if self._value(step.condition) else step.otherwise)
                case For():
                    first, end, by = self._all((step.first, step.end, step.step))
                    for value in range(first, end, by):
                        self._set(step.counter, value)
                        yield from self._block(step.body)
                case _:
                    yield from self._block(step.test)
                    while self._value(step.condition):
                        yield from self._block(step.body)
                        yield from self._block(step.test)

    def _launch(self, step: LaunchWith) -> DueLaunch:
        launch = self._launches[step.launch].launch
        x, y, z, *offsets = self._all((*step.grid, *step.offsets))
        arguments = (replace(each, offset=at) for each, at in zip(launch.arguments, offsets, strict=True))
        return DueLaunch(step.launch, replace(launch, grid=(x, y, z), arguments=tuple(arguments)), (x, y, z, *offsets))

    def _all(self, numbers: Sequence[Number]) -> list[int]:
        return [self._value(each) for each in numbers]

    def _value(self, number: Number) -> int:
        if not isinstance(number, Register):
            return number
        if number.number in self._unread:
            self._settle()
        return self._values[number.number]

    def _set(self, register: Register, value: int) -> None:
        self._values[register.number] = value

    def _settle(self) -> None:
        """Waits for all scalars that have been read."""
        self._wait()
        for number, read in self._unread.items():
            found = self.slots[number * SLOT : number * SLOT + read.nbytes]
            value = int.from_bytes(found.tobytes(), "little", signed=True)
            self._values[number] = int(value != 0) if read.bits == 1 else value
        self._unread.clear()
