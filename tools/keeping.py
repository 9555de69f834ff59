"""What `mini-infer cache` does: show what is kept, where, forget it, set how much there may be."""

from __future__ import annotations

import time

from rich.console import Console
from rich.table import Table

from ..dialects.errors import ConfigError, MiniInferError
from ..dialects.plain_file import open_plain
from ..runtime.kept.container import Container
from ..runtime.kept.places import CacheFolder, cache_folder
from ..runtime.kept.records import KeptError
from .reports.tables import size_text

ACTIONS = ("list", "where", "clear", "limit")
_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def manage(action: str, size: str | None, folder: str | None, console: Console) -> None:
    """One of ACTIONS on the folder given, or on the one that compiles use."""
    if action not in ACTIONS:
        raise ConfigError(f"cache {action}: there are {', '.join(ACTIONS)}")
    if size is not None and action != "limit":
        raise ConfigError(f"{size} does nothing with cache {action}")
    kept = cache_folder(True if folder is None else folder)
    assert kept is not None
    if action == "where":
        console.print(str(kept.folder), soft_wrap=True)
    elif action == "clear":
        _clear(kept, console)
    elif action == "limit":
        limit = kept.limit if size is None else kept.set_limit(size)
        console.print(f"models take at most {size_text(limit)}")
    else:
        _list(kept, console)


def _list(kept: CacheFolder, console: Console) -> None:
    table = Table(box=None, padding=(0, 2))
    for title in ("model", "size", "used", "CPU", "threads"):
        table.add_column(title, justify="right" if title in ("size", "used", "threads") else "left")
    total, entries = 0, kept.models.entries()
    for key, status in entries:
        model, cpu, threads = _about(kept, key)
        total += status.st_size
        table.add_row(model, size_text(status.st_size), f"{_age(status.st_mtime)} ago", cpu, threads)
    if entries:
        console.print(table)
    console.print(f"{len(entries)} models, {size_text(total)} of at most {size_text(kept.limit)}, in {kept.folder}")


def _about(kept: CacheFolder, key: str) -> tuple[str, str, str]:
    """What an entry says of itself; looking at it is no use of it."""
    try:
        with open_plain(kept.models.folder / f"{key}.entry", links=False) as file:
            about = Container(file).about
        return about["model"] or "(no file)", about["cpu"], str(about["threads"])
    except (OSError, KeptError, KeyError, TypeError):
        return "(damaged)", "", ""


def _age(then: float) -> str:
    seconds = max(0, int(time.time() - then))
    return next(f"{seconds // unit} {name}" for name, unit in _UNITS if seconds >= unit or unit == 1)


def _clear(kept: CacheFolder, console: Console) -> None:
    entries = [(cache, *each) for cache in (kept.models, kept.objects, kept.facts) for each in cache.entries()]
    for cache, key, _ in entries:
        cache.drop(key)
    there = {(cache.folder, key) for cache in (kept.models, kept.objects, kept.facts) for key, _ in cache.entries()}
    if left := [status.st_size for cache, key, status in entries if (cache.folder, key) in there]:
        raise MiniInferError(f"{kept.folder}: {size_text(sum(left))} in {len(left)} files can't be removed")
    console.print(f"{size_text(sum(status.st_size for _, _, status in entries))} in {kept.folder} forgotten")
