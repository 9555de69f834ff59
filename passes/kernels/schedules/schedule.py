"""Schedule: one way to compute a kernel, as a frozen dataclass of typed options.

    @dataclass(frozen=True)
    class Panels(Schedule[CpuAttr]):                  in cpu/products/panels.py
        forms = ("contraction",)
        mr: TileSize                                  <->  #kernel.schedule<"panels", {mr = 6, nr = 16, inline = 1}>
        nr: TileSize
        inline: bool
        prefetch: Count = 0                           left out of the attribute if it is the default

All that a kernel requires of memory follows from its body and these options, so the chosen schedule can be
reconstructed from the attribute and queried again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import MISSING, dataclass, fields
from functools import cache
from typing import Annotated, Any, ClassVar, Generic, Self, TypeAlias, TypeVar, get_args, get_type_hints

from ....dialects.errors import CompileError
from ....dialects.graph.ops.structure import KernelOp
from ....dialects.kernel.kernel_attributes import InterfaceAttr, ScheduleAttr
from ....dialects.kernel.targets import CpuAttr, GpuAttr
from .scratch import ScratchLayout


@dataclass(frozen=True)
class Between:
    """The range of an option: a number from `least` to `most`."""

    least: int
    most: int


LARGEST_TILE = 1024
"""Rows, columns or lanes: far beyond what registers hold, and what code is written out for."""

TileSize: TypeAlias = Annotated[int, Between(1, LARGEST_TILE)]
Count: TypeAlias = Annotated[int, Between(0, 2**31 - 1)]

Machine = TypeVar("Machine", CpuAttr, GpuAttr)


@dataclass(frozen=True)
class Schedule(ABC, Generic[Machine]):
    """One way to compute a kernel. Options are fields of type TileSize, Count or bool."""

    name: ClassVar[str]
    """That of its file, and of the code family that carries it out."""
    forms: ClassVar[tuple[str, ...]]
    """What kernels compute that can be carried out so: see forms/. What schedules share in a base class has none."""
    rank: ClassVar[int] = 0
    """Of equally cheap ways that with the lowest rank is taken: those that many kernels could go last."""

    def __init_subclass__(cls) -> None:
        cls.name = cls.__module__.rpartition(".")[2]

    @classmethod
    def candidates(cls, kernel: KernelOp, target: Machine) -> Iterator[Self]:
        """The instances of this schedule that support the kernel on the target; none if there is no code for it.

        By default the one without options. Raises CompileError if the kernel's body doesn't have its form, or if no
        schedule at all supports it.
        """
        del kernel, target
        yield cls()

    def neighbours(self, kernel: KernelOp, target: Machine) -> Iterator[Self]:
        """The same schedule with similar options, tried by the tuner only, which measures them."""
        del kernel, target
        return iter(())

    @abstractmethod
    def cost(self, kernel: KernelOp, target: Machine) -> float:
        """Estimated seconds of a call on one core, from the target's limits."""

    def precedence(self, kernel: KernelOp) -> int:
        """Where results are reproducible, only schedules of the lowest precedence are taken.

        Those of one precedence add up every sum in the same order; which they are doesn't depend on a batch's size.
        """
        del kernel
        return 1

    @abstractmethod
    def interface(self, kernel: KernelOp) -> InterfaceAttr:
        """What the code requires of its buffers and allows with them."""

    def scratch(self, kernel: KernelOp) -> ScratchLayout:
        """The layout of the code's scratch."""
        del kernel
        return ScratchLayout()

    def attribute(self) -> ScheduleAttr:
        """The schedule as an attribute."""
        given = {each.name: int(getattr(self, each.name)) for each in fields(self)}
        usual = {each.name: each.default for each in fields(self)}
        return ScheduleAttr.of(self.name, **{key: value for key, value in given.items() if value != usual[key]})

    @classmethod
    def of(cls, attribute: ScheduleAttr) -> Self:
        """The schedule that an attribute describes. Raises CompileError for invalid options."""
        given, hints = attribute.numbers(), _hints(cls)
        ranges = {key: next(iter(get_args(hint)[1:]), Between(0, 1)) for key, hint in hints.items()}
        what = f"the schedule '{cls.name}'"
        if unknown := [key for key in given if key not in ranges]:
            raise CompileError(f"{what} has no option '{unknown[0]}'; it has {', '.join(ranges) or 'none'}")
        if missing := [each.name for each in fields(cls) if each.default is MISSING and each.name not in given]:
            raise CompileError(f"{what} needs a number '{missing[0]}'")
        for key, number in given.items():
            if number < ranges[key].least:
                raise CompileError(f"{what} has {key} = {number}; it must be at least {ranges[key].least}")
            if number > ranges[key].most:
                raise CompileError(f"{what} has {key} = {number}; it must be at most {ranges[key].most}")
        return cls(**{key: bool(number) if hints[key] is bool else number for key, number in given.items()})


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    """The type of each option."""
    hints = get_type_hints(kind, include_extras=True)
    return {each.name: hints[each.name] for each in fields(kind)}
