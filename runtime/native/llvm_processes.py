"""Worker processes that compile a module's parts in parallel with lowering; this process joins in at the end.

LLVM is behind one lock of llvmlite's, so threads can't compile in parallel. The workers are separate programs
(llvm_worker.py), never forks, and live as long as one compile. Parts and their object code don't depend on the number
of workers. If no process can be started, this one compiles everything.
"""

from __future__ import annotations

import importlib.util
import os
import queue
import signal
import subprocess
import sys
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

from ...dialects.errors import CompileError
from ..file_cache import FileCache, key_of
from ..progress import LOG
from . import llvm_worker
from .code_listing import CodeListing
from .llvm_worker import Compiled, Part, compiled, receive, send

# Exit statuses of a process that LLVM aborted: compiling here would abort this one, too.
_CRASHES = {-signal.SIGSEGV, -signal.SIGABRT, -signal.SIGILL, -signal.SIGFPE, -getattr(signal, "SIGBUS", 7)}

Process: TypeAlias = "subprocess.Popen[bytes]"


class Compilers:
    """Compiles parts with `count` processes, this one included; a context manager that ends the others.

    Object code compiled before, from the same text for the same machine, is taken from the cache `objects`, and new
    code is stored there. Texts of all parts are noted in `listing`.
    """

    def __init__(self, count: int, objects: FileCache | None = None, listing: CodeListing | None = None) -> None:
        self._objects = objects
        self.listing = listing
        self.processes: list[Process] = []
        self._idle: queue.SimpleQueue[Process] = queue.SimpleQueue()
        for _ in range(count - 1):
            if (process := _start()) is None:
                break
            self.processes.append(process)
            self._idle.put(process)
        self._threads = ThreadPoolExecutor(len(self.processes)) if self.processes else None
        self._parts: list[tuple[Part, Compiled | None, Future[Compiled | None] | None]] = []

    def __enter__(self) -> Compilers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self.processes:
            process.kill()
        if self._threads is not None:
            self._threads.shutdown(cancel_futures=True)
        for process in self.processes:
            process.communicate()

    def add(self, part: Part) -> None:
        """Queues a part for compilation."""
        known = None if self._objects is None else self._objects.get(_key(part))
        if known is not None:
            self._parts.append((part, Compiled(known, "", 0, 0, 0), None))
        else:
            self._parts.append((part, None, None if self._threads is None else self._threads.submit(self.ask, part)))

    def results(self) -> list[Compiled]:
        """The results of all parts queued so far, in order."""
        parts, self._parts = self._parts, []
        found = {index: known for index, (_, known, _) in enumerate(parts) if known is not None}
        # From the end: the workers go from the start, until they meet.
        for index, (part, known, future) in reversed([*enumerate(parts)]):
            if known is None and (future is None or future.cancel()):
                found[index] = compiled(part)
        for index, (part, _, future) in enumerate(parts):
            if future is not None and index not in found:
                found[index] = future.result() or compiled(part)
        if self._objects is not None:
            for index, (part, known, _) in enumerate(parts):
                if known is None and not found[index].error:
                    self._objects.put(_key(part), found[index].code)
        return [found[index] for index in range(len(parts))]

    def ask(self, part: Part) -> Compiled | None:
        """Lets a worker compile a part; None if the worker has died."""
        process = self._idle.get()
        assert process.stdin is not None and process.stdout is not None
        try:
            send(process.stdin, tuple(part))
            answer = receive(process.stdout)
        except OSError:
            answer = None
        self._idle.put(process)
        if answer is not None:
            return Compiled(*answer)._replace(beside=True)
        process.kill()
        if process.wait() in _CRASHES:
            raise CompileError(f"LLVM came to an end with signal {-process.returncode} on a part of the model")
        return None


def _key(part: Part) -> str:
    """The cache key of a part's object code."""
    return key_of(repr(tuple(part)).encode(), import_module("llvmlite").__version__.encode())


def _start() -> Process | None:
    """A worker process, or None if none can be started."""
    program, llvmlite = sys.executable or "", importlib.util.find_spec("llvmlite")
    # In a program that embeds Python, sys.executable is that program.
    if not Path(program).name.lower().startswith("python") or llvmlite is None or llvmlite.origin is None:
        return None
    folder = str(Path(llvmlite.origin).parents[1])
    command = [program, "-I", "-S", llvm_worker.__file__, folder]
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            process_group=0 if os.name == "posix" else None,
        )
    except (OSError, ValueError) as error:
        LOG.info("no process to compile beside this one: %s", error)
        return None
