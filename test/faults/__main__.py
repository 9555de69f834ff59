"""make faults: faults sown into GPU code, and which emulation finds them.

make faults FAULTS=200 SEED=1
PYTHONPATH=.:test python -m faults --faults 200 --seed 1
"""

from __future__ import annotations

from collections import defaultdict
from typing import Annotated

import typer
from no_cache import compile_always
from rich.console import Console
from rich.progress import track
from rich.table import Table

from faults.campaign import Verdict, chosen, verdicts


def main(
    faults: Annotated[int, typer.Option(help="How many faults, of all kinds by turns.")] = 200,
    seed: Annotated[int, typer.Option(help="Which ones.")] = 0,
) -> None:
    """Makes faults and prints how many were found."""
    console = Console()
    made = chosen(faults, seed)
    found = list(track(verdicts(made), "faults", total=len(made), console=console))
    console.print(table(found))
    for verdict in found:
        if not verdict.caught:
            console.print(f"not found: {verdict.fault.kind}, {verdict.fault.subject}: {verdict.op}", markup=False)


def table(found: list[Verdict]) -> Table:
    """How many faults of each kind were made, and found by each emulation."""
    made = Table("fault", "made", "interpreter", "compiled", "either")
    kinds: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in found:
        kinds[verdict.fault.kind].append(verdict)
    for kind, of in [*kinds.items(), ("all", found)]:
        counts = (
            len(of),
            sum(bool(each.interpreted) for each in of),
            sum(bool(each.compiled) for each in of),
            sum(each.caught for each in of),
        )
        made.add_row(kind, *map(str, counts))
    return made


if __name__ == "__main__":
    compile_always()
    typer.run(main)
