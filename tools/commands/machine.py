"""`mini-infer machine`: what this machine reaches."""

from __future__ import annotations

from ..verbs import Chosen, Work


def machine(chosen: Chosen) -> Work:
    """Measure this machine's limits: multiply-adds and bytes from memory per second."""
    from ..bench.machine_report import show_machine

    return lambda console: show_machine(chosen["threads"], console)
