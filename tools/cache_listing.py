"""`mini-infer cache`: shows, clears or limits the cache of compiled models."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

from rich.console import Console
from rich.table import Table

from ..dialects.errors import ConfigError, MiniInferError
from ..dialects.regular_file import open_regular
from ..runtime.kept.cache_folders import CacheFolder, cache_folder
from ..runtime.kept.container import Container
from ..runtime.kept.records import KeptError
from .json_reports import Facts
from .reports.plan_tables import size_text

ACTIONS = ("list", "where", "clear", "limit")
_UNITS = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))


def manage(action: str, size: str | None, folder: str | None, console: Console) -> Facts:
    """Performs one of ACTIONS on the given cache folder, or on the default one; returns the report for programs."""
    if action not in ACTIONS:
        raise ConfigError(f"cache {action}: there are {', '.join(ACTIONS)}")
    if size is not None and action != "limit":
        raise ConfigError(f"{size} does nothing with cache {action}")
    kept = cache_folder(True if folder is None else folder)
    assert kept is not None
    found: dict[str, Any] = {"folder": str(kept.folder)}
    if action == "where":
        console.print(str(kept.folder), soft_wrap=True)
    elif action == "clear":
        found["forgotten_bytes"] = _clear(kept, console)
    elif action == "limit":
        found["limit_bytes"] = limit = kept.limit if size is None else kept.set_limit(size)
        console.print(f"models take at most {size_text(limit)}")
    else:
        found |= {"limit_bytes": kept.limit, "models": _list(kept, console)}
    return found


def _list(kept: CacheFolder, console: Console) -> list[dict[str, Any]]:
    table = Table(box=None, padding=(0, 2))
    for title in ("model", "size", "used", "CPU", "threads"):
        table.add_column(title, justify="right" if title in ("size", "used", "threads") else "left")
    models: list[dict[str, Any]] = []
    weights = {name: each.st_size for name, each in kept.weights.entries()}
    total = sum(weights.values())
    for key, status in kept.models.entries():
        total += status.st_size
        nbytes = status.st_size + sum(weights.get(name, 0) for name in set(kept.models.parts_in(key)))
        about, used = _about(kept, key), datetime.fromtimestamp(int(status.st_mtime), UTC)
        models.append({"key": key, "bytes": nbytes, "used": used.isoformat(), **about})
        model = "(damaged)" if about["damaged"] else about["model"] or "(no file)"
        threads = "" if about["threads"] is None else str(about["threads"])
        table.add_row(model, size_text(nbytes), f"{_age(status.st_mtime)} ago", about["cpu"] or "", threads)
    if models:
        console.print(table)
    console.print(f"{len(models)} models, {size_text(total)} of at most {size_text(kept.limit)}, in {kept.folder}")
    return models


def _about(kept: CacheFolder, key: str) -> dict[str, Any]:
    """The description of an entry; reading it doesn't mark it as used."""
    try:
        with open_regular(kept.models.folder / f"{key}.entry", links=False) as file:
            about = Container(file).about
        return {"model": about["model"], "cpu": about["cpu"], "threads": about["threads"], "damaged": False}
    except (OSError, KeptError, KeyError, TypeError):
        return {"model": None, "cpu": None, "threads": None, "damaged": True}


def _age(then: float) -> str:
    seconds = max(0, int(time.time() - then))
    return next(f"{seconds // unit} {name}" for name, unit in _UNITS if seconds >= unit or unit == 1)


def _clear(kept: CacheFolder, console: Console) -> int:
    """Clears the cache; returns the number of deleted bytes."""
    entries = [(cache, *each) for cache in kept.caches for each in cache.entries()]
    for cache, key, _ in entries:
        cache.drop(key)
    there = {(cache.folder, key) for cache in kept.caches for key, _ in cache.entries()}
    if left := [status.st_size for cache, key, status in entries if (cache.folder, key) in there]:
        raise MiniInferError(f"{kept.folder}: {size_text(sum(left))} in {len(left)} files can't be removed")
    forgotten = sum(status.st_size for _, _, status in entries)
    console.print(f"{size_text(forgotten)} in {kept.folder} forgotten")
    return forgotten
