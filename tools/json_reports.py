"""JSON reports of commands: a common header, followed by the command's own fields.

docs/json.md lists them all.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from importlib import import_module, metadata
from math import isfinite
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console
from typer import Context

from ..dialects.atomic_file import atomic_file

if TYPE_CHECKING:
    from ..passes.memory.report.memory_plan import MemoryPlan
    from ..runtime.device import Array
    from ..runtime.specs import TensorSpec

Facts = Mapping[str, Any]
STANDARD_OUTPUT = "-"
PACKAGES = (
    *(
        "numpy",
        "onnx",
        "llvmlite",
        "xdsl",
        "cupy-cuda12x",
        "cupy-cuda13x",
        "nvidia-cuda-nvrtc-cu12",
        "nvidia-cuda-nvrtc",
    ),
    *("onnxruntime", "onnxruntime-gpu", "openvino", "torch", "onnx2torch"),
)
"""Whose versions are told, where they are installed: what code is made with, and the peers."""


def with_facts(context: Context, file: str | None, console: Console, work: Callable[[Console], Facts]) -> Facts:
    """The report of a command's work, also written to a file; `-` is standard output, then without other output."""
    if file is None:
        return work(console)
    found = work(Console(quiet=True) if file == STANDARD_OUTPUT else console)
    text = json.dumps(_plain(header(context) | dict(found)), indent=2, allow_nan=False)
    if file == STANDARD_OUTPUT:
        console.print(text, soft_wrap=True)
    else:
        with atomic_file(file) as stream:
            stream.write(f"{text}\n".encode())
    return found


def header(context: Context) -> dict[str, Any]:
    """The common fields: command, options, time, machine, versions."""
    from ..runtime.devices.cpu.machine_limits import cpu_title

    return {
        "command": context.command.name,
        "version": import_module("mini_infer").__version__,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": cpu_title(),
        "system": platform.platform(),
        "packages": {"python": platform.python_version(), **versions()},
        "options": {name: value for name, value in context.params.items() if name != "json"},
    }


def versions() -> dict[str, str]:
    """The versions of those of PACKAGES that are installed."""
    found: dict[str, str] = {}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def tensors(specs: Iterable[TensorSpec]) -> list[dict[str, Any]]:
    """Inputs or outputs: names, types, and shapes; a symbolic size is a formula, such as "n * 2"."""
    return [{"name": spec.name, "type": str(spec.dtype), "shape": list(spec.shape)} for spec in specs]


def arrays(named: Mapping[str, Array]) -> list[dict[str, Any]]:
    """The same for arrays by name."""
    return [{"name": name, "type": str(each.dtype), "shape": list(each.shape)} for name, each in named.items()]


def memory(plan: MemoryPlan, weights: int) -> dict[str, Any]:
    """The memory of a model in bytes: `weights` are those that stay."""
    return {
        "weights_bytes": weights,
        "model_weights_bytes": plan.model_weight_bytes,
        "caches_bytes": plan.cache_bytes,
        "cache_token_bytes": plan.token_bytes,
        "cache_tokens": plan.tokens,
        "inputs_bytes": plan.bytes_of("input"),
        "outputs_bytes": plan.bytes_of("output"),
        "arena_bytes": plan.arena_bytes,
        "lower_bound_bytes": plan.lower_bound_bytes,
        "order_bound_bytes": plan.order_bound_bytes,
        "order_gap": plan.order_gap,
        "without_reuse_bytes": plan.total_bytes,
        "intermediates_bytes": plan.intermediate_bytes,
        "scratch_bytes": plan.scratch_bytes,
        "peak_without_scratch_bytes": plan.peak_without_scratch,
        "saved": plan.saving,
        "saved_of_intermediates": plan.intermediate_saving,
        "proven_minimal": plan.optimal,
        "strategy": plan.strategy,
        "method": plan.method,
    }


def caches(plan: MemoryPlan) -> list[dict[str, Any]]:
    """The caches: names, types, shapes of past, present and buffer, and bytes."""
    return [
        {
            "input": each.name,
            "output": each.output,
            "type": each.dtype,
            "past": list(each.past),
            "present": list(each.present),
            "room": list(each.room),
            "axis": each.axis,
            "bytes": each.bytes,
            "room_bytes": each.room_bytes,
            "token_bytes": each.token_bytes,
        }
        for each in plan.caches
    ]


def _plain(value: Any) -> Any:
    """A value as JSON values, which have no infinity: it becomes a text that Python's float() reads."""
    from ..dialects.sizes.sizes import Size  # a command's help does without

    match value:
        case Size():
            return str(value)
        case float() if not isfinite(value):
            return str(value)
        case Mapping():
            return {str(key): _plain(each) for key, each in cast("Mapping[Any, Any]", value).items()}
        case list() | tuple():
            return [_plain(each) for each in cast("list[Any]", value)]
        case _:
            return value
