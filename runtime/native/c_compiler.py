"""The system's C compiler, for users' kernels: `$CC`, else `cc`; for another architecture a cross compiler."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...dialects.errors import OperatorError
from .llvmlite_calls import Machine

HEADER = "mini_infer_operator.h"
_FLAGS = (
    *("-c", "-O2", "-fPIC", "-fvisibility=hidden", "-fno-stack-protector", "-fno-asynchronous-unwind-tables"),
    *("-fno-math-errno", "-fno-trapping-math", "-U_FORTIFY_SOURCE"),
)
_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


def compiler() -> list[str]:
    """The command of the host's C compiler: $CC, or cc."""
    return shlex.split(os.environ.get("CC", "")) or ["cc"]


def compile_c(source: Path, machine: Machine, header: str, flags: Sequence[str], what: str) -> bytes:
    """Relocatable object code of a C file.

    `header` is the text of mini_infer_operator.h, which is included in front of the file's first line.

    Raises OperatorError, beginning with `what`, if there is no compiler for the machine, or with its first error.
    """
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, HEADER).write_text(header, encoding="utf-8")
        target = Path(folder, "kernel.o")
        command = [
            *_command(machine, what),
            *_FLAGS,
            *flags,
            f"-I{folder}",
            "-include",
            HEADER,
            "-o",
            str(target),
            "-x",
            "c",
            str(source),
        ]
        try:
            done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
        except OSError as error:
            raise OperatorError(f"{what}: the C compiler {command[0]} can't be run: {error.strerror}; set CC") from None
        if done.returncode or not target.is_file():
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            shown = next((line for line in lines if "error" in line), lines[0] if lines else f"exit {done.returncode}")
            raise OperatorError(f"{what}: {command[0]} fails: {shown.strip()}")
        return target.read_bytes()


def _command(machine: Machine, what: str) -> list[str]:
    """The compiler and the flags of a machine."""
    host = Machine()
    architecture = machine.architecture
    cpu = f"-march={machine.cpu}" if architecture == "x86_64" else f"-mcpu={machine.cpu}"
    named = [] if machine.cpu in ("", "generic") else [cpu]
    if architecture == host.architecture:
        found = compiler()
        if shutil.which(found[0]) is None:
            raise OperatorError(
                f"{what}: its C file needs a C compiler, and {found[0]} isn't found: install one or set CC"
            )
        return [*found, *(["-march=native"] if not machine.triple and _is_host(machine) else named)]
    cross = f"{architecture}-linux-gnu-gcc"
    if shutil.which(cross) is not None:
        return [cross, *named]
    if shutil.which("clang") is not None:
        return ["clang", f"--target={machine.triple}", *named]
    raise OperatorError(f"{what}: there is no C compiler for {architecture} here: neither {cross} nor clang is found")


def _is_host(machine: Machine) -> bool:
    from .cpu_targets import host_target

    return machine.cpu == host_target().machine.cpu


def source_files(source: Path) -> Iterator[Path]:
    """A C file, and the files that it includes by `#include "..."`, in its folder or theirs."""
    pending, seen = [source.absolute()], set[Path]()
    while pending:
        each = pending.pop()
        if not each.is_file() or (found := each.resolve()) in seen:  # two files may include each other
            continue
        seen.add(found)
        yield each
        pending += [each.parent / os.fsdecode(name) for name in _INCLUDE.findall(each.read_bytes())]
