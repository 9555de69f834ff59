"""What the passes changed: how often each pattern of each pass applied, kept with the context.

A pass reports `count(ctx, "fold-batch-norm", "conv-batch-norm")`, and what is not a number of changes by
`measure(ctx, "plan-arena", "bytes saved", 4096)`; whoever ran the pipeline asks `pass_statistics(ctx)` afterwards.
Time is told by `with timed(ctx, "weights")`.
What no pass needs to report, as it shows in the IR, is counted by `Difference`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..dialects.xdsl_repairs import kept_in
from .counts import PassStatistics, take


def pass_statistics(ctx: Context) -> PassStatistics:
    """The statistics of a context; they live as long as it does."""
    return kept_in(ctx, "pass_statistics", PassStatistics)


@contextmanager
def timed(ctx: Context, step: str) -> Generator[None]:
    """Counts the time until the end of the block as that of a step."""
    start = time.perf_counter()
    try:
        yield
    finally:
        take(pass_statistics(ctx).seconds, step, time.perf_counter() - start)


def count(ctx: Context, pass_name: str, what: str, times: int = 1) -> None:
    """Reports that a pass changed `what` so many times; zero is not reported."""
    if times:
        pass_statistics(ctx).add(pass_name, what, times)


def measure(ctx: Context, pass_name: str, what: str, amount: int) -> None:
    """Reports an amount of what a pass made, such as bytes; those of several modules are added up."""
    amounts = pass_statistics(ctx).amounts
    amounts[pass_name, what] = amounts.get((pass_name, what), 0) + amount


class Difference:
    """Counts the ops that come and go in a module between two looks, an op whose attributes change as both."""

    def __init__(self, module: ModuleOp) -> None:
        self._before = _ops(module)

    def count(self, ctx: Context, pass_name: str, module: ModuleOp) -> None:
        """Adds to the statistics what a pass did since the last look; "ops made 0" where it did nothing."""
        before, self._before = self._before, _ops(module)
        statistics = pass_statistics(ctx)
        statistics.add(pass_name, "ops made", (self._before - before).total())
        statistics.add(pass_name, "ops gone", (before - self._before).total())


def _ops(module: ModuleOp) -> Counter[object]:
    return Counter(
        (
            op.name,
            frozenset(op.properties.items()),
            frozenset(op.attributes.items()),
            tuple(value.type for value in (*op.operands, *op.results)),
        )
        for op in module.walk()
    )
