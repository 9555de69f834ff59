"""The shell commands of our programs."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from shlex import quote


def shell_name(name: str) -> str:
    """The command's name if it is on the PATH, or else its path, beside the running Python."""
    beside = Path(sys.executable).parent / name
    if shutil.which(name) is not None or not beside.exists():
        return name
    return quote(str(beside.relative_to(Path.cwd()) if beside.is_relative_to(Path.cwd()) else beside))
