"""Colours of a memory plan's charts: light ones that keep black names legible, and two strong ones for lines."""

from __future__ import annotations

from collections.abc import Mapping

from .rectangles import Block, Kind

BUFFERS = ("#9ecae9", "#b7dfb2", "#c9b8e3", "#8fd3c8", "#f2c6d6", "#d5dd98", "#aebbe8", "#e3cfb4")
KIND_COLOURS: Mapping[Kind, str] = {"scratch": "#f79d5c", "reserved": "#eef1f4"}
EDGE = "#44546a"
VIEW = "#5c6b82"
HATCH = "#7d8ca3"
TEXT = "#1f2933"
LIVE = "#b9cfe2"
BOUND = "#c1121f"
BINDING = "#111111"


def colour_of(block: Block) -> str:
    """Different for neighbours in time, equal for all tensors of a buffer; scratch stands out."""
    return KIND_COLOURS.get(block.kind, BUFFERS[block.buffer.number % len(BUFFERS)])
