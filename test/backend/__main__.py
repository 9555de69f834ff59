"""Cases of ONNX's own suite, by name: `PYTHONPATH=.:test python -m backend PATTERN...`, all where none is given.

Those that do not pass are printed, a line each, with the reason.
"""

from __future__ import annotations

import statistics
import sys
from collections import Counter

from backend.cases import matching, names
from backend.verdicts import verdicts


def main(patterns: list[str]) -> int:
    """The exit status: 1 where a case is wrong, or ends in an error that is no refusal."""
    counts: Counter[str] = Counter()
    seconds: list[float] = []
    for verdict in verdicts(matching(patterns)):
        counts[verdict.outcome] += 1
        if verdict.outcome == "passed":
            if names()[verdict.name] == "node":
                seconds.append(verdict.seconds)
        else:
            print(f"{verdict.name}  {verdict.outcome}: {verdict.reason}", flush=True)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()) or "no case has such a name")
    if seconds:
        print(f"median CPU time of a node case that passes: {statistics.median(seconds) * 1e3:.0f} ms")
    return int(any(counts[outcome] for outcome in ("wrong", "error", "crash", "hang")))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
