"""Progress of a compile, reported to the caller's callback and to Python's logging."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ModuleOp

    from ..lowering.pipelines import PassRun

LOG = logging.getLogger("mini_infer")
"""Every pass with its time at level DEBUG; what was made of a model at level INFO."""


@dataclass(frozen=True)
class Progress:
    """`done` of `total` steps are done, and `step` begins now ("done" at the end)."""

    done: int
    total: int
    step: str


class StepCounter:
    """Counts the steps of a compile and reports each; an observer of passes."""

    def __init__(self, names: Sequence[str], tell: Callable[[Progress], None] | None) -> None:
        self._names = (*names, "done")
        self._tell = tell
        self._done = -1
        self.next()

    def change(self, names: Sequence[str]) -> None:
        """Replaces the steps to come; those done stay."""
        self._names = (*names, "done")

    def next(self) -> None:
        """Completes a step."""
        self._done += 1
        if self._tell is not None:
            self._tell(Progress(self._done, len(self._names) - 1, self._names[self._done]))

    def __call__(self, run: PassRun, module: ModuleOp) -> None:
        LOG.debug("%s: %.3f s", run.name, run.seconds)
        self.next()
