"""Runs programs under ONNX Runtime and under mini_infer, and compares what they print and how long they take.

    PYTHONPATH=.:test .venv/bin/python -m programs silero_vad.py=MODEL.onnx magika_files.py=MODEL.onnx,FILE ...

Each runs as a process of its own: with ONNX Runtime, then twice with mini_infer, whose cache is empty for the first.
Further runs (`--repeats`) only serve to find the best time of a later start.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from programs.printed import same

HERE = Path(__file__).parent


def timed(command: Sequence[str], environment: Mapping[str, str]) -> tuple[str, float]:
    """What a program prints, and its seconds from start to end."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, *command], env=environment, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - start
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return done.stdout, taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("programs", nargs="+", metavar="PROGRAM=MODEL,ARGUMENTS")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    print(f"{'program':<22}{'output':>8}{'ONNX Runtime':>14}{'first':>8}{'later':>8}  seconds from start to end")
    for each in options.programs:
        program, _, given = each.partition("=")
        command = [str(HERE / program), *given.split(",")]
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "MINI_INFER_CACHE": folder}
            environment.pop("PYTHONDONTWRITEBYTECODE", None)  # with it, Python compiles this package at every start
            found, first = timed(["-m", "mini_infer.onnxruntime", *command], environment)
            later: list[float] = []
            other: list[float] = []
            expected = ""
            for _ in range(options.repeats):
                expected, taken = timed(command, environment)
                other.append(taken)
                again, taken = timed(["-m", "mini_infer.onnxruntime", *command], environment)
                later.append(taken)
                if again != found:
                    sys.exit(f"{program}: a later start prints something else:\n{again}\n{found}")
        verdict = "same" if same(found, expected) else "DIFFERS"
        print(f"{program:<22}{verdict:>8}{min(other):>14.2f}{first:>8.2f}{min(later):>8.2f}")
        if verdict != "same":
            print(f"mini_infer:\n{found}ONNX Runtime:\n{expected}")


if __name__ == "__main__":
    main()
