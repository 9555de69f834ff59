"""Packed register tiles in another order: a row of pixels goes through all panels before the next one."""

from __future__ import annotations

from ...instance import KernelInstance
from . import panels


def lower(k: KernelInstance) -> None:
    """Write the kernel's loops."""
    panels.lower(k, rows_first=True)
