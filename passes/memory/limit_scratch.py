"""limit-scratch: takes schedules with less scratch where the memory is worth more than their time.

before:  graph.kernel @conv_0(%x, %w) attributes {schedule = #kernel.schedule<"winograd", ..>,
           interface = #kernel.interface<.., scratch = 2359296>} { ... }
after:   graph.kernel @conv_0(%x, %w) attributes {schedule = #kernel.schedule<"panels", ..>,
           interface = #kernel.interface<..>} { ... }

choose-schedule takes what is fastest. The arena of a model must hold a kernel's scratch beside all that is live when it
is called; where that is more than any step would need with least scratch, a few kernels decide how large the arena is.

By default, the arena may have a tenth more than what is needed with the least scratch, and more than that only if less
would make the model slower by more than 3 %, by estimate; no schedule is taken whose packed weights grow by more than
scratch becomes less. That is decided for one thread, so that results don't depend on their number. With `loss`, there
is as little scratch as makes it slower by at most so many percent. With a `capacity` each call has at most so many live
bytes, scratch included, if a schedule permits that; the kernel's fastest such schedule is taken, else the one with the
least scratch.

Live bytes are those of whole values in the given order, with results in place of operands where possible.

Schedules are those that choose-schedule has considered in the same run; others are left as they are.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block
from xdsl.passes import ModulePass

from ...dialects.errors import ConfigError
from ...dialects.graph.host import blocks_of, inner_blocks, kernels_of, main_of, runs_of
from ...dialects.graph.ops.structure import CallOp, KernelOp
from ...dialects.kernel.targets import GpuAttr, target_of
from ...dialects.sizes.guards import unguarded
from ...dialects.sizes.sizes import now
from ..kernels.choose_schedule import AnySchedule, Choice, choices_of, packed_bytes, take_schedule
from ..statistics import count
from .analysis.aliasing import disabled_ops, read_programs, share
from .analysis.buffers import ALIGNMENT, check_alignment, interface_of, padded

LOSS = 3
"""Percent of a model's time that less scratch may cost. Chosen, not tuned."""

SPARE = 1.1
"""Times the arena with the least scratch, below which nothing is slowed down. Chosen, not tuned."""


@dataclass(frozen=True)
class LimitScratch(ModulePass):
    """Takes schedules with less scratch where the memory is worth more than their time."""

    name = "limit-scratch"

    capacity: int | None = None
    """Bytes that any step should need at most."""
    loss: int | None = None
    """Percent of the model's time that less scratch may cost."""
    disable: tuple[str, ...] = ()
    """Graph ops whose kernels never work in place, as for mark-inplace."""
    alignment: int = ALIGNMENT
    """Bytes: plan-arena's alignment."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        check_alignment(self.name, self.alignment)
        for what, given in (("capacity", self.capacity), ("loss", self.loss)):
            if given is not None and given < 0:
                raise ConfigError(f"{self.name}: {what} is {given}; it must be at least 0")
        kernels = kernels_of(op)
        with unguarded():
            if not any(now(interface_of(each).scratch_bytes(1)) for each in kernels.values()):
                return
            target = target_of(op)
            threads = 1 if self._is_default or isinstance(target, GpuAttr) else target.threads.data
            beside = self._beside(op, kernels, threads)
            runs = Counter[str]()
            for call in main_of(op).body.walk():
                if isinstance(call, CallOp):
                    runs[call.callee.string_value()] += runs_of(call)
            choices = choices_of(ctx)
            places = {each.kernel: place for place, each in enumerate(choices) if each.kernel in beside}
            needs = {
                place: _Needs(
                    kernels[name], choices[place], beside[name], runs[name], threads, self.alignment, self._is_default
                )
                for name, place in places.items()
            }
            most_beside = max(beside.values())
            limit = max(self._limit(needs.values(), most_beside), most_beside)
            for place, each in needs.items():
                if each.taken > limit and (schedule := each.within(limit).schedule) != each.choice.taken:
                    take_schedule(each.kernel, schedule)
                    choices[place] = replace(each.choice, taken=schedule)
                    count(ctx, self.name, "kernels with less scratch")

    @property
    def _is_default(self) -> bool:
        return self.capacity is None and self.loss is None

    def _limit(self, needs: Collection[_Needs], most_beside: int) -> int:
        """The live bytes that any call may have; `most_beside` are those without scratch."""
        if self.capacity is not None:
            return self.capacity
        spare = SPARE if self._is_default else 1
        above = [each for each in needs if each.taken > spare * most_beside]
        least = max([most_beside, *(min(option.needed for option in each.options) for each in above)])
        start = int(spare * least)
        limits = sorted({start, *(option.needed for each in above for option in each.options if option.needed > start)})
        affordable = (LOSS if self.loss is None else self.loss) / 100 * sum(each.seconds for each in needs)
        for limit in limits:
            over = [each for each in above if each.taken > limit]
            if sum(each.within(limit).seconds - each.seconds for each in over) <= affordable:
                return limit
        return limits[-1]

    def _beside(self, module: ModuleOp, kernels: dict[str, KernelOp], threads: int) -> dict[str, int]:
        """By kernel, the most bytes that are live beside its scratch in any call."""
        blocks = blocks_of(main_of(module, self.name), self.name)
        disabled = disabled_ops(self.name, self.disable)
        programs = read_programs(blocks, kernels, threads, disabled, self.alignment)
        around: dict[Block, int] = {}
        found: dict[str, int] = {}
        for block, program in zip(blocks, programs, strict=True):
            live = share(program, range(len(program.tasks))).live
            for op, nbytes in zip(program.ops, live, strict=True):
                whole = around.get(block, 0) + nbytes
                around.update(dict.fromkeys(inner_blocks(op), whole))
                if isinstance(op, CallOp):
                    name = op.callee.string_value()
                    found[name] = max(found.get(name, 0), whole)
        return found


class _Option(NamedTuple):
    """A schedule that may be taken: estimated seconds of all calls, and live bytes, scratch included."""

    schedule: AnySchedule
    seconds: float
    needed: int


@dataclass(frozen=True)
class _Needs:
    """The live bytes of a kernel's calls, scratch included, with each schedule that may be taken."""

    kernel: KernelOp
    choice: Choice
    beside: int
    """Bytes that are live beside its scratch."""
    runs: int
    """Calls in an inference."""
    threads: int
    alignment: int
    counts_weights: bool
    """Whether schedules are left out whose weights grow by more than scratch becomes less."""

    def needed(self, schedule: AnySchedule) -> int:
        """The live bytes with a schedule."""
        scratch = schedule.interface(self.kernel).scratch_bytes(self.threads)
        return self.beside + padded(now(scratch), self.alignment)

    @cached_property
    def taken(self) -> int:
        """The live bytes with the schedule that choose-schedule has taken."""
        return self.needed(self.choice.taken)

    @cached_property
    def seconds(self) -> float:
        """Estimated seconds of all calls with that schedule."""
        return self.runs * next(seconds for each, seconds in self.choice.candidates if each == self.choice.taken)

    @cached_property
    def options(self) -> list[_Option]:
        """The schedules that may be taken, the preferred one first: those with results in place where they are now."""
        inplace = set(self.choice.taken.interface(self.kernel).inplace_pairs)
        found = [
            _Option(each, self.runs * seconds, self.needed(each))
            for each, seconds in self.choice.allowed
            if inplace <= set(each.interface(self.kernel).inplace_pairs)
        ]
        if all(each.schedule != self.choice.taken for each in found):  # a neighbour of one, measured to be faster
            found.insert(0, _Option(self.choice.taken, self.seconds, self.taken))
        if not self.counts_weights:
            return found
        most = self.taken + packed_bytes(self.kernel, self.choice.taken)
        return [each for each in found if each.needed + packed_bytes(self.kernel, each.schedule) <= most]

    def within(self, limit: int) -> _Option:
        """The preferred one of those that need no more than `limit` bytes, else the one that needs least."""
        fitting = (each for each in self.options if each.needed <= limit)
        return next(fitting, None) or min(self.options, key=lambda each: each.needed)
