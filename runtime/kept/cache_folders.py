"""The folder of the cache of compiled models: the user's, the caller's, or the environment's."""

from __future__ import annotations

import os
import sys
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import cast

from ...dialects.arguments import checked_path, wrong
from ...dialects.errors import ConfigError
from ...dialects.regular_file import read_regular
from ..file_cache import FileCache, make_private, user_cache
from ..memory.byte_sizes import bytes_of
from .container import names_in

VARIABLE = "MINI_INFER_CACHE"
"""A folder; or "off", where nothing is to be kept that isn't asked for."""
USUAL_LIMIT = 8 * 10**9  # bytes of kept models

Cache = bool | str | os.PathLike[str] | None


@dataclass(frozen=True)
class CacheFolder:
    """A cache folder: compiled models, object code of their parts, and digests of files."""

    folder: Path
    named: bool = False
    """Whether the caller chose it, and is to know when nothing can be kept there."""

    def warn_where_unwritable(self) -> None:
        """Warns if a folder that the caller chose is not writable."""
        if self.named and (why := self.models.obstacle()):
            warnings.warn(f"compiled models can't be kept in {self.folder}: {why}", stacklevel=3)

    @cached_property
    def models(self) -> FileCache:
        """Whole models, but for the weights that lie in files of their own."""
        return self._models_within(self.limit)

    @cached_property
    def weights(self) -> FileCache:
        """Large weights, each in a file, which models share; those stay that a model has, whatever their size."""
        return FileCache(self.folder / "weights", sys.maxsize)

    @cached_property
    def objects(self) -> FileCache:
        """Object code of parts of models."""
        return FileCache(self.folder / "objects")

    @cached_property
    def facts(self) -> FileCache:
        """Facts about files: small, and cheap to recompute."""
        return FileCache(self.folder / "facts", 2**24)

    @property
    def caches(self) -> tuple[FileCache, ...]:
        """All of them."""
        return self.models, self.weights, self.objects, self.facts

    @property
    def limit(self) -> int:
        """The size limit of models in bytes, beyond which the least recently used are deleted."""
        try:
            return max(0, int(read_regular(self.folder / "limit")))
        except (OSError, ValueError):
            return USUAL_LIMIT

    def set_limit(self, text: str) -> int:
        """Sets the limit, such as "500M" or "20G"; returns it in bytes. Raises ConfigError for an invalid size."""
        limit = bytes_of("a limit", text)
        make_private(self.folder)
        (self.folder / "limit").write_text(f"{limit}\n")
        self._models_within(limit).shrink()
        return limit

    def _models_within(self, limit: int) -> FileCache:
        return FileCache(self.folder / "models", limit, self.weights, names_in)


def cache_folder(cache: Cache = None) -> CacheFolder | None:
    """The folder for the option `cache` of `compile`; None if caching is off.

    None means as the environment says; without MINI_INFER_CACHE that is True, the user's cache.
    """
    if cache is False:
        return None
    if cache is None or cache is True:
        told = os.environ.get(VARIABLE, "")
        if told == "off" and cache is None:
            return None
        return CacheFolder(user_cache() if told in ("", "off") else _folder(told))
    if not isinstance(cast("object", cache), str | os.PathLike) or os.fspath(cache) == "":
        raise wrong("cache", cache, "True, False or a folder")
    return CacheFolder(_folder(checked_path("cache", cache)), named=True)


def _folder(path: str | os.PathLike[str]) -> Path:
    """A path with `~` expanded. Raises ConfigError for an unknown user."""
    try:
        return Path(path).expanduser().absolute()
    except RuntimeError as error:
        raise ConfigError(f"{os.fspath(path)}: {error}") from None
