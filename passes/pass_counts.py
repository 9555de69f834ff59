"""Statistics of passes as plain data: counts of changes, amounts, and times; reported through statistics.py."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from typing_extensions import override

SHOWN_IN_IR = ("ops made", "ops gone")
"""Counts of differences between two texts of the IR (statistics.Difference), besides the changes that are reported."""


@dataclass(repr=False)
class PassStatistics:
    """Counts and amounts by pass and pattern, in order of first appearance."""

    counts: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    amounts: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])
    seconds: dict[str, float] = field(default_factory=dict[str, float])
    """What each step took, one after the other; passes are steps."""
    seconds_beside: dict[str, float] = field(default_factory=dict[str, float])
    """What was done by other processes meanwhile."""
    isolated: list[str] = field(default_factory=list[str])
    """Nodes of the ONNX model that are connected to nothing, and were ignored."""

    @property
    def modifications(self) -> int:
        """The number of changes that passes reported, all together."""
        return sum(times for (_, what), times in self.counts.items() if what not in SHOWN_IN_IR)

    @override
    def __repr__(self) -> str:
        taken = f"{len(self.seconds)} steps in {sum(self.seconds.values()):.2f} s"
        return f"{type(self).__name__}({self.modifications} changes, {taken})"

    def add(self, pass_name: str, what: str, times: int = 1) -> None:
        """Adds `times` to the count of `what` in a pass."""
        key = (pass_name, what)
        self.counts[key] = self.counts.get(key, 0) + times

    def of_pass(self, pass_name: str) -> dict[str, int]:
        """The counts of one pass."""
        return {what: times for (name, what), times in self.counts.items() if name == pass_name}

    def rows(self) -> Iterator[tuple[str, str, int]]:
        """(pass, what, times) for all non-zero counts."""
        for (pass_name, what), times in self.counts.items():
            yield pass_name, what, times

    def format(self) -> str:
        """A table of all counts and amounts, one line each, the number of modifications, and isolated nodes."""
        rows = [*self.counts.items(), *self.amounts.items()]
        if not rows:
            return "no pass was run\n"
        digits = max(6, *(len(str(number)) for _, number in rows))
        width = max(len(pass_name) for (pass_name, _), _ in rows)
        lines = [f"{number:{digits}d}  {pass_name:{width}}  {what}" for (pass_name, what), number in rows]
        lines.append(f"{self.modifications:{digits}d}  modifications in all")
        if self.isolated:
            lines.append(f"nodes connected to nothing, ignored: {', '.join(self.isolated)}")
        return "\n".join(lines) + "\n"


def take(seconds: dict[str, float], step: str, taken: float) -> None:
    """Adds to the time of a step."""
    seconds[step] = seconds.get(step, 0.0) + taken
