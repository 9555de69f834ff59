"""`mini-infer machine`: what this machine reaches."""

from __future__ import annotations

from ..verbs import Chosen, Work


def machine(chosen: Chosen) -> Work:
    """Measure what this machine reaches: multiply-adds and bytes from memory in a second."""
    from ..bench.machine_report import show_machine

    return lambda console: show_machine(chosen["threads"], console)
