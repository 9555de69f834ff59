"""Cases of ONNX's own suite, by name: `PYTHONPATH=.:test python -m backend [--update] PATTERN...`, or all of them.

Those that do not pass are printed, a line each, with the reason; `--update` puts into refused.txt how they ended.
"""

from __future__ import annotations

import statistics
import sys
from collections import Counter

from backend.cases import matching, names
from backend.listed import update
from backend.verdicts import Trials, Verdict
from no_cache import compile_always


def main(arguments: list[str]) -> int:
    """The exit status: 1 where a case is wrong, or ends in an error that is no refusal."""
    trials, ended = Trials(), list[Verdict]()
    for name in matching(argument for argument in arguments if argument != "--update"):
        verdict = trials.verdict(name)
        ended.append(verdict)
        if verdict.outcome != "passed":
            print(f"{name}  {verdict.outcome}: {verdict.reason}", flush=True)
    trials.end()
    if "--update" in arguments:
        update(ended)
    counts = Counter(verdict.outcome for verdict in ended)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.most_common()) or "no case has such a name")
    seconds = [each.seconds for each in ended if each.outcome == "passed" and names()[each.name] == "node"]
    if seconds:
        print(f"median CPU time of a node case that passes: {statistics.median(seconds) * 1e3:.0f} ms")
    return int(not counts.keys() <= {"passed", "unsupported"})


if __name__ == "__main__":
    compile_always()
    sys.exit(main(sys.argv[1:]))
