"""What a user types to start one of our commands."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from shlex import quote


def shell_name(name: str) -> str:
    """The command's name where the shell finds it by that, or else its path: it lies beside the Python that runs."""
    beside = Path(sys.executable).parent / name
    if shutil.which(name) is not None or not beside.exists():
        return name
    return quote(str(beside.relative_to(Path.cwd()) if beside.is_relative_to(Path.cwd()) else beside))
