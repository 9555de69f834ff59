"""What a terminal shows while something takes its time."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn


@contextmanager
def working(console: Console, what: str) -> Generator[Callable[[str], None]]:
    """A spinner with the time so far, gone when done; only on terminals. Gives a function to say what is done now."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task(what)
        yield lambda text: progress.update(task, description=text)
