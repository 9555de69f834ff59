"""The cases of the suite that are refused, as they are listed in refused.txt: a line each, with the reason, by name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from backend.verdicts import Verdict

LIST = Path(__file__).with_name("refused.txt")


def refused() -> dict[str, str]:
    """The reason for each case that is refused."""
    lines = LIST.read_text(encoding="utf-8").splitlines()
    return dict(line.split(" ", 1) for line in lines)


def update(verdicts: Iterable[Verdict]) -> None:
    """Puts down how these cases ended. What is not refused, but wrong, stays a failure of the test."""
    reasons = refused()
    for verdict in verdicts:
        reasons.pop(verdict.name, None)
        if verdict.outcome == "unsupported":
            reasons[verdict.name] = verdict.reason
    LIST.write_text("".join(f"{name} {reason}\n" for name, reason in sorted(reasons.items())), encoding="utf-8")
