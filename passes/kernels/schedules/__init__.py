"""Schedules: the ways to carry kernels out, one file each in a folder per device.

The code family of the same name in lowering/kernels_to_loops/families/ carries a schedule out and decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from typing import Any, TypeAlias, cast

from ....dialects.errors import CompileError
from ....dialects.graph.base import describe
from ....dialects.graph.ops.structure import KernelOp
from ....dialects.kernel.attributes import ScheduleAttr
from ....dialects.kernel.targets import Target
from ..fusion_rules import FusionRules
from .schedule import Schedule

AnySchedule: TypeAlias = Schedule[Any]

# Of equal estimates the first is taken.
SCHEDULES: dict[str, dict[str, tuple[str, ...]]] = {
    "cpu": {
        "attention": ("attention:Attention", "attention_blocks:AttentionBlocks"),
        "contraction": (
            "depthwise:Depthwise",
            "panels:Panels",
            "winograd:Winograd",
            "blocked_panels:BlockedPanels",
            "rows_before_panels:RowsBeforePanels",
            "direct:Direct",
        ),
        "linear_attention": ("linear_attention:LinearAttention",),
        "map": ("map:Map",),
        "recurrence": ("recurrence:Recurrence",),
        "rows": ("rows:Rows", "direct:Direct"),
        "selection": ("selection:Selection",),
        "separable": ("bands:Bands",),
        "windows": ("lrn:Lrn", "windows:Windows"),
    },
    "cuda": {
        "attention": ("flash:Flash", "flash_tensor:FlashTensor"),
        "contraction": (
            "mma:Mma",
            "tiles:Tiles",
            "depthwise:Depthwise",
            "vector_rows:VectorRows",
            "elements:Elements",
        ),
        "linear_attention": ("linear_attention:LinearAttention",),
        "map": ("scatter:Scatter", "transpose_tiles:TransposeTiles", "elements:Elements"),
        "recurrence": ("persistent:Persistent", "steps:Steps"),
        "rows": (
            "warp_rows:WarpRows",
            "block_rows:BlockRows",
            "column_rows:ColumnRows",
            "elements:Elements",
        ),
        "selection": ("ranks:Ranks",),
        "windows": ("elements:Elements",),
    },
}
"""For each device and form the ways there are: file and class. Of equally cheap ones the first is taken."""


@cache
def schedules_for(device: str, form: str) -> dict[str, type[AnySchedule]]:
    """The schedules of a device for a form, by name."""
    found = [entry.split(":") for entry in SCHEDULES.get(device, {}).get(form, ())]
    return {
        file: cast("type[AnySchedule]", getattr(import_module(f".{device}.{file}", __package__), name))
        for file, name in found
    }


@cache
def names_of_schedules(device: str) -> tuple[str, ...]:
    """The names of all schedules of a device."""
    entries = (entry for each in SCHEDULES.get(device, {}).values() for entry in each)
    return tuple(sorted({entry.partition(":")[0] for entry in entries}))


def schedule_class(device: str, name: str) -> type[AnySchedule]:
    """The schedule of that name."""
    form = next(form for form, entries in SCHEDULES[device].items() if any(e.startswith(f"{name}:") for e in entries))
    return schedules_for(device, form)[name]


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
    if name not in names_of_schedules(device):
        raise CompileError(f"{where}: there is no schedule '{name}' for {device}")
    try:
        return schedule_class(device, name).of(attribute)
    except CompileError as error:
        raise CompileError(f"{where}: {error}") from error
