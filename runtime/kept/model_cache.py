"""The cache of compiled models: look-up and storage by key."""

from __future__ import annotations

from typing import Any, BinaryIO

from ...dialects.sizes.sizes import bounds_of
from ..config import EngineConfig
from ..engine import CompiledModel
from ..native.team import team_image
from ..progress import LOG
from .begun_model import BegunModel
from .cache_folders import CacheFolder
from .container import Blob, Container, write
from .cpus import host_cpu
from .kept_plans import can_be_kept, plain_plan, read_plan
from .records import KeptError
from .weight_files import WeightFiles


def find(folder: CacheFolder, key: str, config: EngineConfig) -> CompiledModel | None:
    """Loads a compiled model by its key; None if there is none, or a damaged one, which is deleted.

    None also for one whose caches need more than the configuration's `cache_memory`.
    """
    file = folder.models.open(key)
    if file is None:
        return None
    with file:
        try:
            container = Container(file)
            if container.about["key"] != key:
                raise KeptError("it was kept under another name")
            if config.cache_bytes is not None and container.about["cache_bytes"] > config.cache_bytes:
                return None
            return read_plan(container, container.about["plan"], config, WeightFiles(folder.weights, folder.facts))
        except (KeptError, OSError, ValueError, KeyError, TypeError, IndexError) as error:
            LOG.info("a kept model is not used: %s", error)
            folder.models.drop(key)
            return None


def keep(folder: CacheFolder, key: str, name: str, made: CompiledModel, begun: BegunModel | None = None) -> bool:
    """Stores a compiled model, unless its device has no code that can be stored or the folder can't be written.

    In the file `begun` if given. Whether it was stored.
    """
    plan = made.plan
    if not can_be_kept(plan):
        return False
    blobs: list[Blob] = []
    team = team_image() if plan.threads > 1 else None
    about: dict[str, Any] = {
        "key": key,
        "model": name,
        "cpu": host_cpu().title,
        "threads": plan.threads,
        "cache_bytes": sum(bounds_of(cache.room.nbytes)[1] for cache in plan.caches),
        "plan": plain_plan(made, blobs, team, None if begun is None else begun.weights),
    }

    names = [] if begun is None or begun.weights is None else [name for _, name, _ in begun.weights.files]

    def fill(file: BinaryIO) -> None:
        write(file, about, blobs, names)

    if not (folder.models.write(key, fill) if begun is None else begun.keep(key, fill)):
        LOG.info("the compiled model can't be kept in %s", folder.folder)
        return False
    return True
