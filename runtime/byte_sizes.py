"""Numbers of bytes as people write them: 512M, 20G."""

from __future__ import annotations

import re
from typing import cast

from ..dialects.arguments import is_integer, shown
from ..dialects.errors import ConfigError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def bytes_of(what: str, given: object) -> int:
    """A number of bytes: an integer, or a text such as "512M". Raises ConfigError, which names `what`, for others."""
    if isinstance(given, str) and (found := re.fullmatch(r"(\d{1,18})([KMGT]?)B?", given.strip(), re.IGNORECASE)):
        return int(found[1]) * _UNITS[found[2].upper()]
    if is_integer(given) and (number := int(cast("int", given))) >= 0:
        return number
    raise ConfigError(f"{what} is a number of bytes such as 500M or 20G, not {shown(given)}")
