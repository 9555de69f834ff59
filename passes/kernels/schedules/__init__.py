"""Schedules: the ways to carry kernels out, one file each in a folder per device.

The code family of the same name in lowering/kernels_to_loops/families/ carries a schedule out and decides nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from ....dialects.errors import CompileError
from ....dialects.graph import KernelOp, describe
from ....dialects.kernel import ScheduleAttr
from .schedule import Schedule

SCHEDULES: dict[str, dict[str, str]] = {
    "cpu": {
        "attention": "Attention",
        "depthwise": "Depthwise",
        "direct": "Direct",
        "lrn": "Lrn",
        "map": "Map",
        "panels": "Panels",
        "recurrence": "Recurrence",
        "rows": "Rows",
        "windows": "Windows",
    },
}
"""The schedules of each device: file and class."""


def schedule_class(device: str, name: str) -> type[Schedule]:
    """The schedule of that name."""
    return cast("type[Schedule]", getattr(import_module(f".{device}.{name}", __package__), SCHEDULES[device][name]))


def schedule_of(kernel: KernelOp, device: str) -> Schedule:
    """The schedule that was chosen for a kernel; raises CompileError where there is none that could be read."""
    where, attribute = f"{describe(kernel)} @{kernel.sym_name.data}", kernel.schedule
    if not isinstance(attribute, ScheduleAttr):
        raise CompileError(f"{where}: no schedule; run choose-schedule first")
    name = attribute.kind.data
    if name not in SCHEDULES.get(device, ()):
        raise CompileError(f"{where}: there is no schedule '{name}' for {device}")
    try:
        return schedule_class(device, name).of(attribute)
    except CompileError as error:
        raise CompileError(f"{where}: {error}") from error
