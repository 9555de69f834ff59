"""choose-schedule: assigns every kernel a schedule and an interface.

before:  graph.kernel @matmul_0(%a, %w) attributes {form = #kernel.form<"contraction">} { ... }
after:   graph.kernel @matmul_0(%a, %w) attributes {form = #kernel.form<"contraction">,
           schedule = #kernel.schedule<"panels", {mr = 14, nr = 32}>, interface = #kernel.interface<> } { ... }

form-kernels has classified the body. Each schedule registered for that form and the device of the module's
`kernel.target` (by default a portable CPU) offers candidates with an estimated time, and the cheapest is taken, where
very large weights have a price; with `compact`, the one with the smallest weights among those that take at most
WEIGHTS_COMPACT times as long as the fastest. `forbid=depthwise` excludes schedules, `pick=conv_3:elements` fixes that
of a kernel.

Where the target is reproducible, only schedules that add up sums in one order on all CPUs and for any batch are taken
(Schedule.precedence).

Tuning measurements override estimates: a kernel whose key is in the context (tuned_schedules) gets the schedule stored
there, if it is still among the candidates or their neighbours and not forbidden; not with `compact`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from typing_extensions import override
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from ...dialects.errors import CompileError, ConfigError, UnsupportedError
from ...dialects.graph.base import describe
from ...dialects.graph.ops.external import ExternalCallOp
from ...dialects.graph.ops.structure import KernelOp
from ...dialects.graph.values import shape_of
from ...dialects.kernel.kernel_attributes import FormAttr, ScheduleAttr
from ...dialects.kernel.targets import CpuAttr, Target, target_of
from ...dialects.sizes.guards import unguarded
from ...dialects.sizes.sizes import now
from ...dialects.xdsl_repairs import kept_in
from ..statistics import count
from .kernel_facts import constant_operands, item_bytes
from .measured_schedules import kernel_key, tuned_schedules
from .schedules import AnySchedule, schedules_for, schedules_of
from .schedules.cpu.tuning import WEIGHTS_COMPACT, WEIGHTS_KEPT, WEIGHTS_PRICE


@dataclass(frozen=True)
class Choice:
    """The candidates of a kernel with their estimated seconds on one core, and the chosen one."""

    kernel: str
    form: str
    candidates: tuple[tuple[AnySchedule, float], ...]
    taken: AnySchedule
    tuned: bool = False
    """Whether it was taken because it was measured to be the fastest."""
    allowed: tuple[tuple[AnySchedule, float], ...] = ()
    """The candidates that may be taken instead, the preferred one first."""


def choices_of(ctx: Context) -> list[Choice]:
    """The choices of choose-schedule recorded in a context."""
    return kept_in(ctx, "schedule_choices", list[Choice])


@dataclass(frozen=True)
class ChooseSchedule(ModulePass):
    """Assigns every kernel a schedule and an interface."""

    name = "choose-schedule"

    forbid: tuple[str, ...] = ()
    """Schedules that are not to be taken."""
    pick: tuple[str, ...] = ()
    """`kernel:schedule`: the schedules of some kernels."""
    compact: bool = False
    """Whether smaller weights are worth some time."""

    @override
    def apply(self, ctx: Context, op: ModuleOp) -> None:
        target = target_of(op)
        kernels = {each.sym_name.data: each for each in op.body.block.ops if isinstance(each, KernelOp)}
        picked = dict(self._picked(kernels))
        for name in (*self.forbid, *picked.values()):
            if name not in (known := sorted(schedules_of(target.device))):
                raise ConfigError(f"{self.name}: there is no schedule '{name}'; there are {', '.join(known)}")
        measured = tuned_schedules(ctx)
        for name, kernel in kernels.items():
            if kernel.schedule is None:
                tuned = measured.get(kernel_key(kernel, target)) if measured else None
                with unguarded():  # the code of every schedule is right at all shapes, or notes where it is not
                    choice = schedule_kernel(
                        kernel, target, forbid=self.forbid, pick=picked.get(name), tuned=tuned, compact=self.compact
                    )
                choices_of(ctx).append(choice)
                count(ctx, self.name, "schedules that were measured", choice.tuned)

    def _picked(self, kernels: dict[str, KernelOp]) -> Iterator[tuple[str, str]]:
        for each in self.pick:
            kernel, colon, schedule = each.partition(":")
            if not colon:
                raise ConfigError(f"{self.name}: pick={each}: expected KERNEL:SCHEDULE")
            if kernel not in kernels:
                raise ConfigError(f"{self.name}: pick={each}: there is no kernel @{kernel}")
            yield kernel, schedule


def candidates_of(kernel: KernelOp, target: Target) -> list[tuple[AnySchedule, float]]:
    """The candidate schedules of a kernel on a target, each with its estimated seconds on one core.

    Raises CompileError if the kernel has no form, or the device no schedule for it.
    """
    where = f"{describe(kernel)} @{kernel.sym_name.data}"
    if not isinstance(kernel.form, FormAttr):
        raise CompileError(f"{where}: no form; run form-kernels first")
    form = kernel.form.kind.data
    ways = schedules_for(target.device, form)
    if not ways and (call := next((op for op in kernel.body.block.ops if isinstance(op, ExternalCallOp)), None)):
        raise UnsupportedError(
            f"{describe(kernel)}: the kernel of operator {call.full_name} is compiled for CPUs, and the device is "
            f"{target.device}; an operator that is composed in Python runs on every device"
        )
    if not ways:
        raise CompileError(f"{where}: there is no schedule for the form '{form}' on {target.device}")
    candidates = [each for way in ways for each in way.candidates(kernel, target)]
    with unguarded():
        return [(each, each.cost(kernel, target)) for each in candidates]


def schedule_kernel(
    kernel: KernelOp,
    target: Target,
    *,
    forbid: tuple[str, ...] = (),
    pick: str | None = None,
    tuned: ScheduleAttr | None = None,
    compact: bool = False,
) -> Choice:
    """Sets a kernel's schedule (`pick`ed, else `tuned`, else the cheapest that is not forbidden) and interface.

    With `compact` the one with the smallest weights among those not much slower. Raises CompileError if there is none.
    """
    found = candidates_of(kernel, target)
    allowed = [each for each in found if each[0].name == pick or (pick is None and each[0].name not in forbid)]
    assert isinstance(kernel.form, FormAttr)
    form = kernel.form.kind.data
    if not allowed:
        can = ", ".join(dict.fromkeys(schedule.name for schedule, _ in found)) or "none"
        where = f"{describe(kernel)} @{kernel.sym_name.data}"
        raise CompileError(f"{where}: no allowed schedule supports this {form}; those that would: {can}")
    if isinstance(target, CpuAttr) and target.reproducible and pick is None:
        lowest = min(each.precedence(kernel) for each, _ in allowed)
        allowed, tuned = [each for each in allowed if each[0].precedence(kernel) == lowest], None
    allowed = _preferred(kernel, target, allowed, compact)
    taken, _ = allowed[0]
    known = None if pick is not None or compact else tuned
    fastest = None if known is None else _found(known, kernel, target, [each for each, _ in allowed])
    if fastest is not None:
        taken = fastest
        found += [] if any(each == taken for each, _ in found) else [(taken, taken.cost(kernel, target))]
    take_schedule(kernel, taken)
    return Choice(kernel.sym_name.data, form, tuple(found), taken, fastest is not None, tuple(allowed))


def take_schedule(kernel: KernelOp, taken: AnySchedule) -> None:
    """Sets a kernel's schedule and interface."""
    kernel.schedule = taken.attribute()
    # As code will read it: its options are numbers, also where they were found from sizes of run time.
    kernel.interface = type(taken).of(kernel.schedule).interface(kernel)


def _preferred(
    kernel: KernelOp, target: Target, allowed: list[tuple[AnySchedule, float]], compact: bool
) -> list[tuple[AnySchedule, float]]:
    """Schedules with their seconds, the fastest first; very large weights have a price.

    With `compact` those that are not much slower come first, by the sizes of their weights.
    """
    fastest, least = min(allowed, key=lambda each: each[1])
    if compact:
        near = WEIGHTS_COMPACT * least
        return sorted(
            allowed, key=lambda each: (each[1] > near, packed_bytes(kernel, each[0]) if each[1] <= near else 0, each[1])
        )
    if isinstance(target, CpuAttr) and packed_bytes(kernel, fastest) > WEIGHTS_KEPT:

        def priced(each: tuple[AnySchedule, float]) -> float:
            return each[1] + WEIGHTS_PRICE * max(0, packed_bytes(kernel, each[0]) - WEIGHTS_KEPT)

        return sorted(allowed, key=priced)
    return sorted(allowed, key=lambda each: each[1])


def _found(wanted: ScheduleAttr, kernel: KernelOp, target: Target, candidates: list[AnySchedule]) -> AnySchedule | None:
    """The candidate, or a neighbour of one, that the attribute describes; None if there is none."""
    alike = [each for each in candidates if each.name == wanted.kind.data]
    neighbours = (neighbour for each in alike for neighbour in each.neighbours(kernel, target))
    return next((each for each in (*alike, *neighbours) if each.attribute() == wanted), None)


def packed_bytes(kernel: KernelOp, schedule: AnySchedule) -> int:
    """Bytes of a kernel's weights in the packing of a schedule."""
    packing = schedule.interface(kernel).packing
    values = [(value, packing.get(position)) for position, value in enumerate(kernel.arguments)]
    return sum(
        now(prod(shape_of(value) if packed is None else packed.packed_shape(shape_of(value)))) * item_bytes(value)
        for position, (value, packed) in enumerate(values)
        if position in constant_operands(kernel)
    )
