"""Names of the machine code in this process for Linux's `perf`: the file /tmp/perf-PID.map.

A line is a function's address and size, in hexadecimal, and its name. `perf report` looks there for addresses that lie
in no file; Python writes its own functions to the same file with `-X perf`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from ...dialects.errors import MiniInferError, UnsupportedError
from ..device import Code
from ..native.images.loaded import LoadedImage

FOLDER = "/tmp"
"""Where perf looks."""


def write_perf_map(loaded: Sequence[Code]) -> Path:
    """Appends the functions of loaded code to the file of this process, and returns its path.

    Raises UnsupportedError for code that this process does not run, or that LLVM has loaded; MiniInferError if the file
    can't be written, as where it is a link.
    """
    lines: list[str] = []
    for code in loaded:
        if not isinstance(code, LoadedImage):
            raise UnsupportedError("names for perf are of machine code of the device 'cpu', on systems with ELF")
        lines += [f"{address:x} {size:x} {name}\n" for address, size, name in code.functions()]
    path = Path(FOLDER, f"perf-{os.getpid()}.map")
    try:
        # Anyone may make files in /tmp: one that leads elsewhere is not followed.
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
        with open(file, "w", encoding="utf-8") as stream:
            stream.writelines(lines)
    except OSError as error:
        raise MiniInferError(f"{path}: can't be written: {error.strerror}") from error
    return path
