"""Numbers of bytes as people write them: 512M, 20G."""

from __future__ import annotations

import re

from ...dialects.arguments import is_integer, shown
from ...dialects.errors import ConfigError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def bytes_of(what: str, given: object) -> int:
    """A number of bytes: an integer, or a text such as "512M". Raises ConfigError, which names `what`, for others."""
    text = str(given) if isinstance(given, str) or is_integer(given) else ""
    found = re.fullmatch(r"(\d{1,18})([KMGT]?)B?", text.strip(), re.IGNORECASE)
    if found is None:
        raise ConfigError(f"{what} is a number of bytes such as 500M or 20G, not {shown(given)}")
    return int(found[1]) * _UNITS[found[2].upper()]
