"""Runs of the tests on a copy of the repository with one fault in it.

Which tests run a line is known from a run of all quick ones with pytest-cov. Those that run the faulty line come first,
a few at a time, then the lit tests, then all others of pytest, then the types of the file: what `make test` does, in an
order that meets a failure soon.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from mutants.places import Mutant

FIRST, SECONDS = 40, 120  # tests of a line that are run before lit's; a fault may make one endless
QUICK = ("-m", "not slow and not cuda")
LINES = 800  # characters of a failure's last line


@dataclass(frozen=True)
class Verdict:
    """What found a fault; nothing did where `found` is empty."""

    mutant: Mutant
    found: str


class Copy:
    """A clone of the repository's last commit in a folder of its own, in which the tests are run."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.folder = folder / "tree"
        subprocess.run(["git", "clone", "-q", str(root), str(self.folder)], check=True)
        (self.folder / ".venv").symlink_to(sys.prefix)

    def measure(self, data: Path) -> None:
        """Runs all quick tests and writes down which of them runs which line."""
        cover = ["-q", "--numprocesses=auto", "--cov=.", "--cov-context=test", "--cov-report=", "-p", "pytest_cov"]
        run = self._pytest([*cover, *QUICK], {"COVERAGE_FILE": str(self.folder / ".coverage")})
        if run.returncode:
            raise RuntimeError(f"the tests fail without a fault: {run.stdout[-2000:]}")
        shutil.copy(self.folder / ".coverage", data)

    def judged(self, mutant: Mutant, tests: Sequence[str], seed: int) -> Verdict:
        """Which command finds a fault, given the tests that run its line."""
        file = self.folder / mutant.file
        right = file.read_text()
        file.write_text(mutant.text)
        try:
            return Verdict(mutant, next((found for found in self._commands(mutant, tests, seed) if found), ""))
        finally:
            file.write_text(right)

    def _commands(self, mutant: Mutant, tests: Sequence[str], seed: int) -> Iterator[str]:
        order = random.Random(seed).sample(list(tests), len(tests))
        if order[:FIRST]:
            yield self._failure([*order[:FIRST], "-n0"])
        lit = [sys.executable, "-m", "lit.main", "-s", "--max-failures=1", "test"]
        run = self._run(lit, {})
        yield f"lit: {_last(run.stdout)}" if run.returncode else ""
        if order[FIRST:]:
            yield self._failure([*order[FIRST:], "--numprocesses=auto"])
        yield self._failure([*QUICK, "--numprocesses=auto"])
        run = self._run([str(Path(sys.executable).parent / "pyright"), mutant.file], {})
        yield f"pyright: {_last(run.stdout)}" if run.returncode else ""

    def _failure(self, arguments: Sequence[str]) -> str:
        run = self._pytest(["-q", "-x", "-o", f"timeout={SECONDS}", *arguments], {})
        return f"pytest: {_last(run.stdout)}" if run.returncode else ""

    def _pytest(self, arguments: Sequence[str], more: dict[str, str]) -> subprocess.CompletedProcess[str]:
        # Many tests don't fit into a command line.
        listed = self.folder / ".tests"
        listed.write_text("\n".join(arguments))
        return self._run([sys.executable, "-m", "pytest", f"@{listed}"], more)

    def _run(self, command: Sequence[str], more: dict[str, str]) -> subprocess.CompletedProcess[str]:
        path = os.pathsep.join([str(self.folder), str(self.folder / "test")])
        environment = {**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", **more}
        return subprocess.run(
            command, cwd=self.folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )


def tests_of(data: Path, folder: Path, mutant: Mutant) -> list[str]:
    """The tests that run a fault's line, or where none does (it is part of a longer statement) one near it."""
    coverage: Any = import_module("coverage")
    read = coverage.CoverageData(basename=str(data))
    read.read()
    measured = next((file for file in read.measured_files() if file.endswith(f"/tree/{mutant.file}")), None)
    if measured is None:
        return []
    lines: dict[int, list[str]] = read.contexts_by_lineno(measured)
    for distance in range(8):
        if found := [each.partition("|")[0] for each in lines.get(mutant.line - distance, ()) if each]:
            return sorted(set(found))
    return []


def _last(text: str) -> str:
    """The line that says what failed."""
    lines = [line for line in text.splitlines() if line.startswith(("FAILED", "ERROR")) or "error:" in line]
    return (lines or text.strip().splitlines() or [""])[-1][:LINES]
