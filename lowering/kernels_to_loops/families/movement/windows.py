"""Pools and normalisation over neighbouring channels.

    for each row of output pixels; for each pixel, cut where the window leaves the picture to either side:
        for vectors of channels (channels-last; else vectors of pixels):
            for filter rows inside the picture: for each tap of the row: accumulate

Elements are written as in the map family. Taps along the innermost spatial axis are written out and its
border pixels have loops of their own, so nothing is asked inside; how many filter rows are inside is
computed per row of pixels. See window_rules.py.
"""

from __future__ import annotations

from ...instance import KernelInstance
from .map import write_elements


def lower(k: KernelInstance) -> None:
    """Builds the kernel's loops."""
    write_elements(k)
