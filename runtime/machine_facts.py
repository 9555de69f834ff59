"""Facts about this machine: sizes of its caches, and whether the system lets a process use AMX."""

from __future__ import annotations

import ctypes
import os
import platform
import re
from functools import cache
from pathlib import Path

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_SIZE_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA = 158, 0x1023, 18  # of Linux, for x86-64
USUAL_CACHE = 1 << 20  # bytes of a second level, where nobody tells


def cache_bytes(level: int) -> int:
    """Bytes of this machine's cache of a level, from the kernel's files or the C library; 0 if unknown."""
    for index in sorted(_CACHES.glob("index*")) if _CACHES.is_dir() else ():
        entry = {name: (index / name).read_text().strip() for name in ("level", "type", "size")}
        size = re.fullmatch(r"(\d+)([KMG]?)", entry["size"])
        if entry["level"] == str(level) and entry["type"] in ("Data", "Unified") and size:
            return int(size[1]) * _SIZE_UNITS[size[2]]
    name = f"SC_LEVEL{level}_CACHE_SIZE"
    return max(0, os.sysconf(name) if name in os.sysconf_names else 0)


@cache
def may_use_amx() -> bool:
    """Asks Linux for the registers of AMX, which no process has before it asks; False where it gets none.

    All threads of the process have them from then on. Source: "Using XSTATE features in user space
    applications", Linux's documentation for x86.
    """
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return False
    return ctypes.CDLL(None).syscall(_ARCH_PRCTL, _REQUEST_PERMISSION, _TILE_DATA) == 0
