"""make fuzz: random graphs, broken files and hostile models for as long as you like.

    make fuzz GRAPHS=5000 FILES=5000 SEED=1 JOBS=2
    PYTHONPATH=test python -m fuzz --again graph 17      one of them

What fails is saved, made as small as it still fails, with the seed in its name.
"""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from fuzz.campaign import Finding, Trial, all_tried, tried
from fuzz.hostile import CASES
from fuzz.judge import OPTIONS
from no_cache import compile_always
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

CONSOLE = Console()


def main(
    graphs: Annotated[int, typer.Option(help="Random graphs, each with every set of options.")] = 200,
    files: Annotated[int, typer.Option(help="Broken model files.")] = 200,
    hostile: Annotated[bool, typer.Option(help="The hostile models too.")] = True,
    seed: Annotated[int, typer.Option(help="The first seed; each graph and file takes the next one.")] = 1,
    jobs: Annotated[int, typer.Option(help="Processes; 0 takes one for each core.")] = 0,
    sets: Annotated[int, typer.Option(help="Sets of options for each graph, by turns.")] = len(OPTIONS),
    found: Annotated[Path, typer.Option(help="Where failing cases are saved.")] = Path("fuzz-found"),
    operator: Annotated[list[str] | None, typer.Option(help="Each graph holds these: com.microsoft.QGemm.")] = None,
    again: Annotated[tuple[str, int] | None, typer.Option(help="Only this one: its kind and its seed.")] = None,
) -> None:
    """Looks for wrong results, exceptions that are no MiniInferError, endless compiles and lost processes."""
    if again is not None:
        CONSOLE.print(
            text_of(tried(Trial(again[0], again[1], found, sets, tuple(operator or ())))), markup=False, soft_wrap=True
        )
        return
    trials = [Trial("hostile", number) for number in range(len(CASES) if hostile else 0)]
    trials += [Trial("graph", seed + number, found, sets, tuple(operator or ())) for number in range(graphs)]
    trials += [Trial("file", seed + number, found) for number in range(files)]
    start, ends, failures = time.perf_counter(), Counter[str](), 0
    columns = (TextColumn("fuzzing"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, TextColumn("[red]{task.fields[failures]}"), console=CONSOLE) as progress:
        bar = progress.add_task("", total=len(trials), failures="")
        for finding in all_tried(trials, jobs or os.cpu_count() or 1):
            ends[_kind(finding)] += 1
            if finding.failure:
                failures += 1
                progress.console.print(text_of(finding), markup=False, highlight=False, soft_wrap=True)
            progress.update(bar, advance=1, failures=f"{failures} failed" if failures else "")
    seconds = time.perf_counter() - start
    CONSOLE.print(f"{len(trials)} in {seconds:.0f} s ({len(trials) / seconds:.2f} a second), {failures} failed")
    for kind, count in ends.most_common():
        CONSOLE.print(f"{count:7} {kind}", markup=False, highlight=False)
    sys.exit(bool(failures))


def _kind(finding: Finding) -> str:
    """The end of a trial without names and numbers, to be counted."""
    if finding.failure:
        return f"{finding.trial.kind} failed"
    end = finding.end
    if finding.trial.kind == "graph":
        return f"graph {end.split(': ')[0]}" + (f": {end.rsplit(': ', 1)[-1]}" if ": " in end else "")
    return f"{finding.trial.kind} {end.split(':')[0]}"


def text_of(finding: Finding) -> str:
    """How a trial ended, and where it failed the command that tries it again."""
    trial = finding.trial
    name = list(CASES)[trial.seed].__name__ if trial.kind == "hostile" else trial.seed
    told = f"{trial.kind} {name}: {finding.failure[:2000] or finding.end}"
    if not finding.failure:
        return told
    options = "".join(f"--operator {operator} " for operator in trial.operators)
    if trial.kind == "graph":
        options = f"--sets {trial.sets} {options}"
    return f"{told}\n  PYTHONPATH=.:test .venv/bin/python -m fuzz {options}--again {trial.kind} {trial.seed}"


if __name__ == "__main__":
    compile_always()
    typer.run(main)
