"""The GPU, its driver and compiler, versions of packages, and how fast memory is copied."""

from __future__ import annotations

import platform
import shutil
import subprocess
from typing import Any

from ....dialects.errors import ConfigError
from ....runtime.compute_device import compute_device
from ....runtime.config import EngineConfig
from ....runtime.devices.cpu.machine_limits import cpu_title
from ....runtime.devices.cuda.cuda_device import Cuda
from ....runtime.devices.cuda.cupy_calls import Stream
from ....runtime.devices.cuda.nvrtc import nvrtc
from ...json_reports import versions
from .folder import Day, Result

ASKED = (
    "name",
    "driver_version",
    "memory.total",
    "clocks.sm",
    "clocks.max.sm",
    "clocks.mem",
    "power.limit",
    "temperature.gpu",
)
"""Of nvidia-smi, right after memory was copied."""
COPIED = 256 << 20  # bytes: more than caches hold
ROUNDS = 10


def environment(day: Day, deadline: float) -> Result:
    """What the machine is."""
    del day, deadline
    device = compute_device("cuda")
    device.open()
    assert isinstance(device, Cuda)
    return {
        "done": True,
        "target": str(device.target(EngineConfig(device="cuda"))),
        "copied GB/s": copied_gbytes(device, COPIED),
        **told_by_driver(),
        "nvrtc": _compiler(),
        "python": platform.python_version(),
        **versions(),
        "system": platform.platform(),
        "cpu": cpu_title(),
    }


def copied_gbytes(device: Cuda, nbytes: int) -> float:
    """Bytes read and written per nanosecond by copies on the device: those of the fastest."""
    stream, spans = Stream(device.gpu), list[float]()
    source, target = (device.allocate(nbytes, 256) for _ in range(2))
    with device.gpu.active():
        for _ in range(ROUNDS):
            start = stream.mark()
            stream.copy(source.address, target.address, nbytes)
            end = stream.mark()
            stream.wait()
            spans.append(stream.milliseconds(start, end))
    return 2 * nbytes / min(spans) / 1e6


def told_by_driver() -> dict[str, str]:
    """What nvidia-smi tells of the first GPU; nothing where it is not installed."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return {}
    command: list[Any] = [program, f"--query-gpu={','.join(ASKED)}", "--format=csv,noheader", "--id=0"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return dict(zip(ASKED, map(str.strip, done.stdout.split(",")), strict=False))


def _compiler() -> str:
    try:
        return ".".join(map(str, nvrtc().version))
    except ConfigError as error:
        return str(error)
