"""Statistics of passes, kept in the context: how often each pattern of each pass applied.

A pass reports `count(ctx, "fold-batch-norm", "conv-batch-norm")`, and amounts by `measure(ctx, "plan-arena", "bytes
saved", 4096)`; the caller of the pipeline reads `pass_statistics(ctx)`. Times are measured by `with timed(ctx,
"weights")`. `Difference` counts changes that show in the IR, which passes need not report.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ..dialects.xdsl_repairs import kept_in
from .pass_counts import SHOWN_IN_IR, PassStatistics, take


def pass_statistics(ctx: Context) -> PassStatistics:
    """The statistics of a context; they live as long as it does."""
    return kept_in(ctx, "pass_statistics", PassStatistics)


@contextmanager
def timed(ctx: Context, step: str) -> Generator[None]:
    """Adds the time spent in the block to that of a step."""
    start = time.perf_counter()
    try:
        yield
    finally:
        take(pass_statistics(ctx).seconds, step, time.perf_counter() - start)


def count(ctx: Context, pass_name: str, what: str, times: int = 1) -> None:
    """Reports that a pass made `times` changes of kind `what`; zero is not reported."""
    if times:
        pass_statistics(ctx).add(pass_name, what, times)


def measure(ctx: Context, pass_name: str, what: str, amount: int) -> None:
    """Reports an amount, such as bytes; amounts of several modules are summed."""
    amounts = pass_statistics(ctx).amounts
    amounts[pass_name, what] = amounts.get((pass_name, what), 0) + amount


class Difference:
    """Counts the ops added to and removed from a module between two snapshots; a changed op counts as both."""

    def __init__(self, module: ModuleOp) -> None:
        self._before = _ops(module)

    def count(self, ctx: Context, pass_name: str, module: ModuleOp) -> None:
        """Adds a pass's changes since the last snapshot to the statistics; "ops made 0" if there are none."""
        for what, ops in zip(SHOWN_IN_IR, self.step(module), strict=True):
            pass_statistics(ctx).add(pass_name, what, ops)

    def step(self, module: ModuleOp) -> tuple[int, int]:
        """The numbers of ops added and removed since the last snapshot, and takes another."""
        before, self._before = self._before, _ops(module)
        return (self._before - before).total(), (before - self._before).total()


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
