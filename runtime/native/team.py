"""The thread team of this process, which all engines share.

Threads are started when a plan for several threads first runs, and again in a child after fork, which has none of its
parent's threads. Idle threads sleep. They live as long as the process.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import warnings

from ..device import Code
from ..forks import ForkSafeLock
from .images.image import Image
from .images.loaded import LoadedImage


class Team:
    """Starts helper threads; `share` is the address of the function that distributes work over them (team_ir.py)."""

    def __init__(self, code: Code | None = None) -> None:
        """Loads the team's code, compiling it if it is not given."""
        self.code = code or _loaded()
        self.share = self.code.address("mini_infer_share")
        self._worker = ctypes.c_void_p(self.code.address("mini_infer_worker"))
        self._state = self.code.address("mini_infer_team")
        self._process = ctypes.CDLL(None)
        self._forget()
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """Resets to a team without helpers, as in a child after fork."""
        from ...lowering.loops_to_llvm.team_ir import CALLED, FINISHED, MUTEX, TEAM_BYTES

        ctypes.memset(self._state, 0, TEAM_BYTES)
        for initialise, offset in (
            (self._process.pthread_mutex_init, MUTEX),
            (self._process.pthread_cond_init, CALLED),
            (self._process.pthread_cond_init, FINISHED),
        ):
            initialise(ctypes.c_void_p(self._state + offset), None)
        self._lock = threading.Lock()
        self.threads = 1

    def grow(self, threads: int) -> None:
        """Starts helpers until the team has `threads` threads, the caller included."""
        with self._lock:
            # Signals are for Python's own threads.
            before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
            try:
                for number in range(self.threads, threads):
                    self._start(number)
            finally:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
            self.threads = max(self.threads, threads)

    def _start(self, number: int) -> None:
        thread = ctypes.c_size_t()
        failed = self._process.pthread_create(ctypes.byref(thread), None, self._worker, ctypes.c_void_p(number))
        if failed:
            warnings.warn(
                f"thread {number + 1} can't be started: {os.strerror(failed)}; others do its work", stacklevel=4
            )
        else:
            self._process.pthread_detach(thread)


_TEAMS: list[Team] = []
"""The team of this process, once it exists."""
_STARTING = ForkSafeLock()


def team() -> Team:
    """The team of this process."""
    return _TEAMS[0] if _TEAMS else have_team()


def have_team(code: Code | None = None) -> Team:
    """The team of this process, created with this code if there is none yet."""
    with _STARTING:
        if not _TEAMS:
            _TEAMS.append(Team(code))
        return _TEAMS[0]


def team_image(triple: str = "") -> Image:
    """The team's code for this architecture, or that of an LLVM triple, for caching."""
    code = _TEAMS[0].code if _TEAMS else None
    if isinstance(code, LoadedImage) and not triple:
        return code.image
    from .images.linked import link

    return link([_compiled(triple)])


def _loaded() -> Code:
    from .loaded_code import loaded

    return loaded([_compiled()])


def _compiled(triple: str = "") -> bytes:
    from ...lowering.loops_to_llvm.team_ir import team_ir
    from .llvmlite_calls import Machine, compile_to_object

    machine = Machine(triple)
    return compile_to_object(team_ir(machine.architecture), machine)
