"""This CPU's model and features from the operating system: asking LLVM would be slower than loading a model."""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_INFO = Path("/proc/cpuinfo")
_MODEL = ("vendor_id", "cpu family", "model", "stepping", "CPU implementer", "CPU part", "CPU variant", "CPU revision")
_FLAGS = ("flags", "Features")  # of x86 and of ARM
ARCHITECTURES = {"AMD64": "x86_64", "arm64": "aarch64"}


@dataclass(frozen=True)
class HostCpu:
    """A CPU: its architecture, vendor and model, and its features by the system's names."""

    architecture: str
    model: str
    flags: frozenset[str]
    title: str
    """For people."""


@cache
def host_cpu() -> HostCpu:
    """The CPU that this process runs on. Without Linux's list, LLVM is asked, and features have its names."""
    machine = platform.machine()
    architecture = ARCHITECTURES.get(machine, machine)
    entries: dict[str, str] = {}
    if _INFO.is_file():
        with _INFO.open(encoding="utf-8", errors="replace") as lines:
            for line in lines:
                name, colon, value = line.partition(":")
                if not colon and entries:
                    break  # the next core
                entries[name.strip()] = value.strip()
    flags = next((entries[name] for name in _FLAGS if name in entries), None)
    if flags is None:
        from ..native.llvm_worker import binding

        known = binding().get_host_cpu_features()
        found = frozenset(name for name, there in known.items() if there)
        name = str(binding().get_host_cpu_name())
        return HostCpu(architecture, name, found, name)
    model = " ".join(entries.get(name, "") for name in _MODEL)
    return HostCpu(
        architecture, model, frozenset(flags.split()), entries.get("model name") or f"{architecture} {model}"
    )
