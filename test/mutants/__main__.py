"""make mutants: faults sown into the compiler's own code, and how many of them `make test` finds.

make mutants FAULTS=150 SEED=1
PYTHONPATH=.:test python -m mutants --faults 150 --seed 1 --coverage build/lines.coverage

A fault takes seconds where a test of its line finds it, and as long as `make test` where nothing does.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from mutants.campaign import Copy, Verdict, tests_of
from mutants.places import chosen


def main(
    faults: Annotated[int, typer.Option(help="How many faults; as many in each folder.")] = 150,
    seed: Annotated[int, typer.Option(help="Which ones.")] = 0,
    skip: Annotated[int, typer.Option(help="So many of them were judged before.")] = 0,
    coverage: Annotated[Path, typer.Option(help="Which test runs which line; measured where it isn't there.")] = Path(
        "build/lines.coverage"
    ),
) -> None:
    """Sows faults into the last commit, one at a time, and prints what finds each."""
    console = Console(soft_wrap=True)
    verdicts: list[Verdict] = []
    with tempfile.TemporaryDirectory() as made:
        copy = Copy(Path(__file__).parents[2], Path(made))
        if not coverage.exists():
            coverage.parent.mkdir(exist_ok=True)
            copy.measure(coverage)
        for number, mutant in enumerate(chosen(copy.folder, faults, seed)):
            if number < skip:
                continue
            verdicts.append(copy.judged(mutant, tests_of(coverage, copy.folder, mutant), seed))
            before, after = mutant.changed(copy.folder)
            console.print(f"{number} {mutant.file}:{mutant.line}: {before}  ->  {after}", markup=False)
            console.print(f"  {verdicts[-1].found or 'NOT FOUND'}", markup=False)
    folders = Counter(each.mutant.file.partition("/")[0] for each in verdicts)
    found = Counter(each.mutant.file.partition("/")[0] for each in verdicts if each.found)
    for folder, count in folders.items():
        console.print(f"{folder}: {found[folder]} of {count} found")
    console.print(f"all: {found.total()} of {folders.total()} found")


if __name__ == "__main__":
    typer.run(main)
