"""Calls a function in a process of its own: a crash or an endless loop is one more answer."""

from __future__ import annotations

import os
import pickle
import signal
from collections.abc import Callable
from typing import Any


class Died(Exception):
    """The process ended without an answer; the message tells how."""


def isolated(function: Callable[[], Any], seconds: int) -> Any:
    """What `function` returns, called in a forked child; what it raises is raised here.

    The child sees everything that is imported already and can change nothing of this process but files. The kernel
    ends it after `seconds`, in native code too. Raises Died where it ended otherwise than by returning or raising.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(seconds)
        os.close(reading)
        with os.fdopen(writing, "wb") as pipe:
            try:
                answer = (True, function())
            except BaseException as error:
                answer = (False, error)
            pipe.write(pickle.dumps(answer))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        data = pipe.read()
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        raise Died(f"timed out after {seconds} s" if number == signal.SIGALRM else f"killed by {_name(number)}")
    if not data:
        raise Died(f"ended with exit status {os.waitstatus_to_exitcode(status)}")
    returned, value = pickle.loads(data)
    if returned:
        return value
    raise value


def _name(number: int) -> str:
    """A signal's name; its number where it has none."""
    return signal.Signals(number).name if number in {each.value for each in signal.Signals} else f"signal {number}"
