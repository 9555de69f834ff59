"""Packed register tiles in row-first order: a row of pixels goes through all panels before the next row."""

from __future__ import annotations

from ...kernel_instance import KernelInstance
from . import panels


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    panels.lower(k, rows_first=True)
