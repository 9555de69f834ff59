"""Parsing of untrusted JSON."""

from __future__ import annotations

import json
from typing import Any


def read_json(text: str | bytes) -> Any:
    """The value of a text. Raises ValueError for invalid JSON, and for too deep nesting."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
