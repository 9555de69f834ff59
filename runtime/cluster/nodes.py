"""What the workers of one node have in common: the compiled model, its weights, and the cores.

A model is compiled once on a node: the first worker that opens it does, and the others, who wait for that, find it in
the cache (docs/caching.md); a .mi file is compiled already. Its weights are mapped, so that the node has them in memory
once, however many workers there are.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from ...dialects.errors import ConfigError
from ...dialects.sizes.sizes import now
from ..compile.entry import compile
from ..config import EngineConfig
from ..engine import Engine
from ..file_cache import make_private
from ..kept.artifact import load, signature
from ..kept.cache_folders import cache_folder
from ..profile import OptimizationProfile
from ..specs import TensorSpec
from .rows import Rows, rows_of


def ray_module(name: str) -> Any:
    """A module of Ray's, which has types of its own; raises ConfigError where Ray is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ConfigError(f"{name} can't be imported ({error}): pip install 'mini-infer[ray]'") from None


@dataclass(frozen=True)
class Model:
    """What a worker opens. It goes to workers, so it holds plain values only.

    source: a path that every node has, of a model or of a .mi file; bytes; or a reference to bytes among Ray's objects.
    rows: the most rows of one inference, for a model whose first axis is a dynamic dimension, `dim`.
    """

    source: Any
    threads: int = 1
    dim: str | None = None
    rows: int = 1
    pin: bool = True
    cache: str | bool | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def shared(self) -> Model:
        """The same with bytes among Ray's objects, of which a node has one copy."""
        if not isinstance(self.source, bytes):
            return self
        return replace(self, source=ray_module("ray").put(self.source))

    def check(self) -> None:
        """Raises, in the process that asks for workers, what they would raise for the model and its options.

        The model is imported, not compiled: so it has to be there, valid and supported, and its inputs and outputs
        have to have rows. Of a .mi file it doesn't matter whether this CPU could run it.
        """
        if self._is_built:
            self._check_unused()
            rows_of(*(_settled(specs) for specs in signature(self.source)))
            return
        from ..compile.module_to_plan import import_model
        from ..signature import input_specs, output_specs

        module, _ = import_model(self.source, EngineConfig.of(threads=self.threads, **self._options))
        rows_of(_settled(input_specs(module)), _settled(output_specs(module)))

    def open(self) -> Rows:
        """The compiled model, on cores of its own. Raises ConfigError for options that a .mi file has no use for."""
        if self._is_built:
            return self._on_cores(self._loaded(self.source))
        source = self.source if isinstance(self.source, str | bytes) else ray_module("ray").get(self.source)
        options = self._options
        with alone():
            engine = compile(source, self.threads, cache=self.cache, **options)
            if cache_folder(self.cache) is not None:  # who has compiled it maps what was kept, as all others
                engine = compile(source, self.threads, cache=self.cache, **options)
        return self._on_cores(engine)

    @property
    def _is_built(self) -> bool:
        return isinstance(self.source, str) and self.source.endswith(".mi")

    @property
    def _options(self) -> dict[str, Any]:
        """EngineConfig's, with the profile that `dim` and `rows` ask for."""
        if self.dim is None:
            return dict(self.options)
        return {**self.options, "profile": OptimizationProfile(dims={self.dim: (1, self.rows, self.rows)})}

    def _check_unused(self) -> None:
        given = {"dim": self.dim, "cache": self.cache, **self.options}
        if useless := [name for name, value in given.items() if value is not None]:
            raise ConfigError(f"{', '.join(useless)} can't be given for {self.source}, which is compiled")

    def _loaded(self, path: str) -> Engine:
        self._check_unused()
        engine = load(path)
        if engine.plan.threads > self.threads:
            raise ConfigError(f"{path} is compiled for {engine.plan.threads} threads; threads is {self.threads}")
        return engine

    def _on_cores(self, engine: Engine) -> Rows:
        if self.pin:
            take_cores(self.threads)
        return Rows(engine)


def _settled(specs: Sequence[TensorSpec]) -> tuple[TensorSpec, ...]:
    """Specs at the shape that a profile is made for."""
    from ..shapes.shape_family import settled  # with the planner, which a worker may have no use for

    return settled(tuple(specs), now)


def node_folder() -> Path:
    """A folder of this node and this user alone. Raises ConfigError where somebody else has made it."""
    folder = Path(tempfile.gettempdir(), f"mini_infer-{os.geteuid()}")
    make_private(folder)
    status = folder.lstat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise ConfigError(f"{folder} belongs to somebody else, or may be written to by others")
    return folder


@contextmanager
def alone() -> Generator[None]:
    """One process of this user at a time on this node; one that dies makes way."""
    with (node_folder() / "opening.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


_TAKEN: list[IO[bytes]] = []
"""Files whose locks say which cores are this process's; the system gives them back when it ends."""


def take_cores(count: int) -> tuple[int, ...]:
    """Keeps this process on so many cores that no other worker of this node has taken.

    Gives their numbers; where there are not so many left the process stays where it was, and there are none.
    """
    taken: list[tuple[int, IO[bytes]]] = []
    for core in sorted(os.sched_getaffinity(0)):
        if len(taken) == count:
            break
        file = (node_folder() / f"core-{core}.lock").open("ab")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
        else:
            taken.append((core, file))
    if len(taken) < count:
        for _, file in taken:
            file.close()
        return ()
    cores = tuple(core for core, _ in taken)
    os.sched_setaffinity(0, cores)
    _TAKEN.extend(file for _, file in taken)
    return cores
