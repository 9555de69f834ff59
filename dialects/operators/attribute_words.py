"""The layout of a kernel's structure of attributes: one word for a number, a pointer and a count for a list or text."""

from __future__ import annotations

import struct
from typing import Any, cast

WORD = 8
"""Bytes of each field."""


def packed(value: Any) -> tuple[bytes, int]:
    """The bytes of an attribute's value, in whole words, and its number of elements; a text ends with a zero."""
    if isinstance(value, str):
        data = value.encode()
        return data + bytes(WORD - len(data) % WORD), len(data)
    if isinstance(value, list):
        numbers = cast("list[int | float]", value)
        kind = "d" if any(isinstance(each, float) for each in numbers) else "q"
        return struct.pack(f"<{len(numbers)}{kind}", *numbers), len(numbers)
    return struct.pack("<d" if isinstance(value, float) else "<q", value), 1
