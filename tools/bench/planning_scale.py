"""Scaling of memory planning with the number of buffers, on synthetic problems that resemble models.

    python -m mini_infer.tools.bench.planning_scale 1000 10000 100000

A problem is a sequence of typical network blocks (chains, residuals, concatenated branches, dense blocks, attention
with its large scores) over feature maps of drifting size, with occasional long skip connections, and scratch that lives
for one step. Lifetimes follow from the reads.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ...passes.planning import Buffer, Problem, check, solve

KIB = 1024


@dataclass
class Network:
    """A program under construction: step k writes value k."""

    rng: random.Random
    sizes: list[int] = field(default_factory=list[int])  # bytes
    last_read: list[int] = field(default_factory=list[int])
    scratch: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])  # step, bytes

    def op(self, size: int, *inputs: int) -> int:
        """Appends a step that reads earlier values; returns the number of the value it writes."""
        step = len(self.sizes)
        for value in inputs:
            self.last_read[value] = step
        self.sizes.append(size)
        self.last_read.append(step)
        if self.rng.random() < 0.1:
            self.scratch.append((step, self.rng.choice((4, 16, 64)) * KIB))
        return step


def model_like(count: int, seed: int = 0) -> Problem:
    """A problem of `count` buffers; equal arguments give equal problems."""
    rng = random.Random(seed)
    network = Network(rng)
    value = network.op(256 * KIB)
    skips: list[int] = []
    while len(network.sizes) + len(network.scratch) < count:
        value = rng.choice(BLOCKS)(network, value)
        if rng.random() < 0.02:
            skips.append(value)
        if len(skips) > 3:
            value = network.op(network.sizes[value], value, skips.pop(0))
    buffers = [
        Buffer(step, size, step, last + 1)
        for step, (size, last) in enumerate(zip(network.sizes, network.last_read, strict=True))
    ]
    buffers += [Buffer(f"scratch{step}", size, step, step + 1, role="scratch") for step, size in network.scratch]
    return Problem(tuple(buffers[:count]))


def _chain(network: Network, value: int) -> int:
    """Consecutive convolutions; the feature map may shrink or grow."""
    size = network.sizes[value]
    for _ in range(network.rng.randint(1, 4)):
        size = min(4096, max(16, size // KIB * network.rng.choice((1, 1, 1, 1, 2)) // network.rng.choice((1, 1, 1, 2))))
        size *= KIB
        value = network.op(size, value)
    return value


def _residual(network: Network, value: int) -> int:
    size = network.sizes[value]
    inner = network.op(size // 2, value)
    inner = network.op(size // 2, inner)
    return network.op(size, network.op(size, inner), value)


def _branches(network: Network, value: int) -> int:
    """Several paths of different length and width, concatenated."""
    size = network.sizes[value]
    ends: list[int] = []
    for _ in range(network.rng.randint(2, 5)):
        end = value
        width = network.rng.choice((3, 4, 6, 8))
        for _ in range(network.rng.randint(1, 3)):
            end = network.op(size * network.rng.choice((1, 2)) // width, end)
        ends.append(end)
    return network.op(sum(network.sizes[end] for end in ends), *ends)


def _dense(network: Network, value: int) -> int:
    """Every layer reads all layers before it."""
    growth = max(KIB, network.sizes[value] // 8)
    layers = [value]
    for _ in range(network.rng.randint(3, 8)):
        joined = network.op(sum(network.sizes[layer] for layer in layers), *layers)
        layers.append(network.op(growth, network.op(4 * growth, joined)))
    return network.op(network.sizes[value], *layers)


def _attention(network: Network, value: int) -> int:
    size = network.sizes[value]
    query, key, content = (network.op(size, value) for _ in range(3))
    scores = network.op(network.rng.choice((1, 2, 3)) * size, query, key)
    mixed = network.op(size, network.op(network.sizes[scores], scores), content)
    value = network.op(size, mixed, value)
    return network.op(size, network.op(4 * size, value), value)


BLOCKS: tuple[Callable[[Network, int], int], ...] = (_chain, _chain, _residual, _branches, _dense, _attention)


def main(arguments: Sequence[str]) -> None:
    """Prints one row per number of buffers."""
    print(f"{'buffers':>8} {'seconds':>8} {'ratio':>7} {'steps':>9}  {'proven':6} method")
    for count in (int(argument) for argument in arguments):
        problem = model_like(count)
        start = time.perf_counter()
        plan = solve(problem)
        seconds = time.perf_counter() - start
        check(problem, plan)
        proven = "yes" if plan.optimal else "no"
        print(f"{count:8} {seconds:8.2f} {plan.ratio:7.4f} {plan.steps:9}  {proven:6} {plan.method}")


if __name__ == "__main__":
    main(sys.argv[1:] or ["1000", "10000", "100000"])
