"""Comparison of what two runs of a program print."""

import re
from math import isclose

_NUMBER = re.compile(r"[-+]?\d+\.\d+(?:e[-+]?\d+)?")


def same(text: str, other: str, relative: float = 2e-3, absolute: float = 2e-3) -> bool:
    """Whether two texts are equal but for small differences of numbers with a decimal point."""
    if _NUMBER.sub("#", text).split() != _NUMBER.sub("#", other).split():
        return False
    pairs = zip(_NUMBER.findall(text), _NUMBER.findall(other), strict=True)
    return all(isclose(float(a), float(b), rel_tol=relative, abs_tol=absolute) for a, b in pairs)
