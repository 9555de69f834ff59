"""Any body element by element, as in the map family."""

from __future__ import annotations

from ...instance import KernelInstance
from ..movement.map import write_elements


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    write_elements(k)
