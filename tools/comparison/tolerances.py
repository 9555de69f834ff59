"""Accepted errors by output: `--tolerance 1e-3 --tolerance logits=1e-2`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite

from ...dialects.errors import ConfigError


@dataclass(frozen=True)
class Tolerances:
    """The largest accepted max|e| / max|reference|; None leaves it to `rounding`."""

    default: float | None = None
    by_output: Mapping[str, float] = field(default_factory=dict[str, float])

    @classmethod
    def of(cls, texts: Sequence[str] | None) -> Tolerances:
        """From texts such as "1e-3" and "logits=1e-2". Raises ConfigError for malformed or repeated ones."""
        given: dict[str, float] = {}
        for text in texts or ():
            name, _, number = text.rpartition("=")
            if name in given:
                raise ConfigError(f"--tolerance {text}: {name or 'the default'} is given twice")
            given[name] = _error(text, number)
        return cls(given.pop("", None), given)

    def for_output(self, name: str) -> float | None:
        """The tolerance of an output."""
        return self.by_output.get(name, self.default)

    def check(self, outputs: Iterable[str]) -> None:
        """Raises ConfigError for a name that is none of these outputs."""
        known = list(outputs)
        if unknown := [name for name in self.by_output if name not in known]:
            raise ConfigError(f"--tolerance: there is no output {unknown[0]}; outputs are {', '.join(known)}")


def _error(text: str, number: str) -> float:
    try:
        error = float(number)
    except ValueError:
        error = -1.0
    if not (isfinite(error) and error >= 0):
        raise ConfigError(f"--tolerance {text}: expected ERROR or OUTPUT=ERROR with an error of at least 0")
    return error
