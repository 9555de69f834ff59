"""Schedules: the ways to compute kernels, one file each in a folder per device, discovered there.

The code family of the same name, in lowering/kernels_to_loops/families/ or lowering/kernels_to_gpu/families/, carries
it out and decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias, cast

from ....dialects.errors import CompileError
from ....dialects.graph.base import describe
from ....dialects.graph.ops.structure import KernelOp
from ....dialects.kernel.kernel_attributes import ScheduleAttr
from ....dialects.kernel.targets import Target
from ....dialects.modules import classes_in, modules_below
from ..fusion_rules import FusionRules
from .schedule import Schedule

AnySchedule: TypeAlias = Schedule[Any]


@cache
def schedules_of(device: str) -> dict[str, type[AnySchedule]]:
    """The schedules of a device by name, in order of preference at equal cost."""
    found = [
        cast("type[AnySchedule]", each)
        for file in modules_below(f"{__package__}.{device}")
        for each in classes_in(file, Schedule)
        if hasattr(each, "forms")  # what has none is a base class
    ]
    return {each.name: each for each in sorted(found, key=lambda each: (each.rank, each.name))}


@cache
def schedules_for(device: str, form: str) -> tuple[type[AnySchedule], ...]:
    """The schedules of a device for a form."""
    return tuple(each for each in schedules_of(device).values() if form in each.forms)


def fusion_rules(target: Target, forbid: Sequence[str] = ()) -> FusionRules:
    """The fusion rules of the target's device, without those for forbidden schedules."""
    module = import_module(f".{target.device}.{target.device}_fusion_rules", __package__)
    return cast("FusionRules", module.rules(target, forbid))


def schedule_of(kernel: KernelOp, device: str) -> AnySchedule:
    """The schedule chosen for a kernel. Raises CompileError if it has none, or an invalid one."""
    where, attribute = f"{describe(kernel)} @{kernel.sym_name.data}", kernel.schedule
    if not isinstance(attribute, ScheduleAttr):
        raise CompileError(f"{where}: no schedule; run choose-schedule first")
    name = attribute.kind.data
    if name not in schedules_of(device):
        raise CompileError(f"{where}: there is no schedule '{name}' for {device}")
    try:
        return schedules_of(device)[name].of(attribute)
    except CompileError as error:
        raise CompileError(f"{where}: {error}") from error
