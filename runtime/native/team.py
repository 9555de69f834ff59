"""The threads of this process that help with inferences; all engines have them in common.

They are started when a plan for several threads first runs, and again in a child after fork, which has none of its
parent's threads. Who has nothing to do sleeps. They live as long as the process.
"""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import warnings

from ..device import Code
from ..forks import ForkSafeLock
from .images.linked import Image, link
from .images.loaded import LoadedImage
from .loaded_code import loaded


class Team:
    """Starts helpers; `share` is the address of the function that has work done by them (see team_ir.py)."""

    def __init__(self, code: Code | None = None) -> None:
        """Its code is compiled where it is not given."""
        self.code = code or loaded([_compiled()])
        self.share = self.code.address("mini_infer_share")
        self._worker = ctypes.c_void_p(self.code.address("mini_infer_worker"))
        self._state = self.code.address("mini_infer_team")
        self._process = ctypes.CDLL(None)
        self._forget()
        os.register_at_fork(after_in_child=self._forget)

    def _forget(self) -> None:
        """Back to a team without helpers, whatever it was doing."""
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
        """Starts helpers until the team has so many threads, the caller's included."""
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
"""The team of this process, once there is one."""
_STARTING = ForkSafeLock()


def team() -> Team:
    """The team of this process."""
    return _TEAMS[0] if _TEAMS else have_team()


def have_team(code: Code | None = None) -> Team:
    """The team of this process: of this code where there is none yet."""
    with _STARTING:
        if not _TEAMS:
            _TEAMS.append(Team(code))
        return _TEAMS[0]


def team_image(triple: str = "") -> Image:
    """The team's code for this architecture, or that of LLVM's target triple, for those who keep it."""
    code = _TEAMS[0].code if _TEAMS else None
    return code.image if isinstance(code, LoadedImage) and not triple else link([_compiled(triple)])


def _compiled(triple: str = "") -> bytes:
    from ...lowering.loops_to_llvm.team_ir import team_ir
    from .llvm import Machine, compile_to_object

    machine = Machine(triple)
    return compile_to_object(team_ir(machine.architecture), machine)
