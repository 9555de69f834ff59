"""Single layers drawn by seed, timed beside ONNX Runtime and OpenVINO: which ones are slower.

    python -m mini_infer.tools.bench.layers.single_layers --json build/layers.json         500: half an hour
    python -m mini_infer.tools.bench.layers.single_layers --kinds pool,norm --count 40 --seed 2
    python -m mini_infer.tools.bench.layers.single_layers --again 'gemm:batch=,rows=1,depth=256,...'
    python -m mini_infer.tools.bench.layers.single_layers --worst 20 --json build/layers.json    once more, the worst

Ratios are the best peer's time divided by ours: those of the fastest calls, and of the medians. A run adds to the JSON
file, and leaves out what is there; what is measured again replaces what was there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from statistics import geometric_mean
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from ....dialects.atomic_file import atomic_file
from ....dialects.errors import ConfigError
from ....runtime.devices.cpu.machine_limits import cpu_title
from ...one_line_errors import run_alone
from ...option_values import listed
from ..turns import EXTRA, check_installed
from .layer_kinds import Case, case_of, drawn_cases
from .layer_times import Measured, measure

SHOWN = 40


def single_layers(
    count: Annotated[int, typer.Option(min=0, help="Layers to draw.")] = 500,
    seed: Annotated[int, typer.Option(help="Of the draw.")] = 1,
    kinds: Annotated[str, typer.Option(help="Kinds of layers, by default all.")] = "",
    threads: Annotated[int, typer.Option(min=1, help="Threads of each engine.")] = 1,
    against: Annotated[str, typer.Option(help="Peers.")] = ",".join(EXTRA),
    seconds: Annotated[float, typer.Option(min=0.001, help="Time of each engine for a layer.")] = 0.15,
    again: Annotated[list[str] | None, typer.Option(help="A layer to measure, by its name; instead of a draw.")] = None,
    worst: Annotated[int, typer.Option(min=0, help="Measure the worst layers of the JSON file once more.")] = 0,
    file: Annotated[Path | None, typer.Option("--json", help="File that results are added to.")] = None,
) -> None:
    """Measures layers and prints the slowest ones and a summary."""
    peers = listed(against)
    if unknown := [peer for peer in peers if peer not in EXTRA]:
        raise ConfigError(f"--against {unknown[0]}: there are {', '.join(EXTRA)}")
    for peer in peers:
        check_installed(peer)
    known = read_layers(file)
    if worst:
        slowest = [each for each in ordered(known.values()) if each.threads == threads][:worst]
        cases = [case_of(each.name) for each in slowest]
    elif again:
        cases = [case_of(name) for name in again]
    else:
        drawn = islice(drawn_cases(seed, listed(kinds)), count)
        cases = [case for case in drawn if (case.name, threads) not in known]
    console, errors = Console(soft_wrap=True), Console(stderr=True)
    found: list[Measured] = []
    for each in _measured(errors, cases, peers, threads, seconds):
        found.append(each)
        known[each.name, threads] = each
        if file is not None:
            write_layers(file, known.values())
    repeated = bool(worst or again)
    shown = found if repeated else [each for each in known.values() if each.threads == threads]
    console.print(f"{cpu_title()}, {threads} threads; the best peer's time / ours", highlight=False)
    for each in ordered(shown)[: len(shown) if repeated else SHOWN]:
        console.print(line_of(each), markup=False, highlight=False)
    for each in shown:
        for told in told_of(each):
            console.print(told, markup=False, highlight=False)
    if not repeated:
        console.print(summary(shown))


def _measured(
    console: Console, cases: Sequence[Case], peers: Sequence[str], threads: int, seconds: float
) -> Iterator[Measured]:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("", total=len(cases))
        for case in cases:
            progress.update(task, description=case.kind)
            yield measure(case, peers, threads, seconds)
            progress.advance(task)


def ordered(layers: Iterable[Measured]) -> list[Measured]:
    """The layers that were timed beside a peer, the slowest beside it first."""
    timed = [each for each in layers if each.ratio is not None]
    return sorted(timed, key=lambda each: each.ratio or 0.0)


def line_of(layer: Measured) -> str:
    """Ratios, ours in microseconds, the peers', and the name."""
    times = " ".join(f"{engine} {least:.1f}" for engine, least in layer.least.items())
    return f"{layer.ratio:5.2f} {layer.ratio_of_medians:5.2f}  {times} us  {layer.name}"


def told_of(layer: Measured) -> Iterator[str]:
    """What went wrong, a line for each."""
    for engine, why in layer.failed.items():
        yield f"{engine} failed: {why}  {layer.name}"
    if layer.wrong:
        yield f"another result: error {layer.error:.1e}  {layer.name}"


def summary(layers: Sequence[Measured]) -> Table:
    """By kind: shares of layers that are as fast as the best peer, or nearly, and the ratio that 5 % don't reach."""
    table = Table(*("kind", "layers", ">= 1.0", ">= 0.8", "worst 5 %", "geometric mean"))
    for kind in ("all", *dict.fromkeys(each.kind for each in layers)):
        ratios = sorted(each.ratio for each in layers if kind in ("all", each.kind) and each.ratio is not None)
        if ratios:
            shares = (sum(ratio >= limit for ratio in ratios) / len(ratios) for limit in (1.0, 0.8))
            numbers = ratios[len(ratios) // 20], geometric_mean(ratios)
            cells = *(f"{share:.0%}" for share in shares), *(f"{number:.2f}" for number in numbers)
            table.add_row(kind, str(len(ratios)), *cells)
    return table


def read_layers(file: Path | None) -> dict[tuple[str, int], Measured]:
    """The layers in a JSON file, by name and threads; none if there is no file yet. Raises ConfigError for another."""
    if file is None or not file.exists():
        return {}
    try:
        layers = [Measured(**each) for each in json.loads(file.read_text(encoding="utf-8"))["layers"]]
    except (ValueError, TypeError, KeyError) as error:
        raise ConfigError(f"{file}: it isn't written by single_layers: {error}") from error
    return {(each.name, each.threads): each for each in layers}


def write_layers(file: Path, layers: Iterable[Measured]) -> None:
    """Replaces the JSON file."""
    with atomic_file(file) as out:
        out.write(json.dumps({"layers": [asdict(each) for each in layers]}).encode())


if __name__ == "__main__":
    run_alone(single_layers)
