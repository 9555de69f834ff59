"""Many compiles in one process, and what it holds after them: `python -m compile_many 10000 [--hold]`.

Every model differs from those before, so that each has machine code of its own. With `--hold` all engines stay, as in
a server with many models; without it memory, mapped pieces of memory and threads must stay what they are.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import numpy as np
import typer
from models.builder import ModelBuilder
from no_cache import compile_always
from onnx import ModelProto

import mini_infer as mi

ROWS = 20  # that are printed; tables of what is known of types are full after the first half
GROWTH = 4  # KB that a compile may leave: llvmlite's pass builder leaves 1.5 KB behind for each part, closed or not


class Held(NamedTuple):
    """What a process holds: resident memory in KB, mapped pieces of memory, threads."""

    compiled: int
    resident: int
    maps: int
    threads: int


def held(compiled: int) -> Held:
    """What this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    maps = Path("/proc/self/maps").read_bytes().count(b"\n")
    return Held(compiled, pages * os.sysconf("SC_PAGESIZE") >> 10, maps, threading.active_count())


def model(number: int) -> ModelProto:
    """A perceptron or a small convolution, of sizes that no other number below 100,000 has together."""
    b = ModelBuilder("many", number)
    wide, wider = 1 + number % 47, 1 + number // 47 % 47
    if number % 4:
        x = b.node("MatMul", b.input("x", [2, wide]), b.weight(wide, wider))
        return b.model([b.node("Softmax", b.node("Add", x, b.weight(wider)))])
    x = b.node("Conv", b.input("x", [1, wide, 6, 5]), b.weight(wider, wide, 3, 3), kernel_shape=[3, 3])
    return b.model([b.node("Tanh", x)])


def compiles(count: int, hold: bool) -> Iterator[Held]:
    """Compiles so many models and runs each once; what the process holds, ROWS times and at the end."""
    engines: list[mi.Engine] = []
    for number in range(count):
        engine = mi.compile(model(number), threads=1 + number % 2, compile_threads=1)
        (spec,) = engine.plan.inputs
        assert np.isfinite(engine(np.ones(spec.shape, np.float32))).all()
        if hold:
            engines.append(engine)
        if (number + 1) % max(1, count // ROWS) == 0:
            yield held(number + 1)


def main(
    count: Annotated[int, typer.Argument(help="How many models.")] = 10_000,
    hold: Annotated[bool, typer.Option(help="Keep all engines.")] = False,
) -> None:
    """Prints what the process holds; ends with 1 where memory grew although nothing was kept."""
    compile_always()
    start, rows = time.perf_counter(), list[Held]()
    for row in compiles(count, hold):
        rows.append(row)
        print(
            f"{row.compiled:6} compiled in {time.perf_counter() - start:6.0f} s: "
            f"{row.resident >> 10} MB, {row.maps} maps, {row.threads} threads",
            flush=True,
        )
    half, last = rows[len(rows) // 2], rows[-1]
    if not hold and last.resident - half.resident > GROWTH * (last.compiled - half.compiled):
        raise SystemExit(f"memory grew from {half.resident} to {last.resident} KB")


if __name__ == "__main__":
    typer.run(main)
