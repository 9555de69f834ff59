"""Resources shared by the workers of one node: the compiled model, its weights, and the cores.

A model is compiled once per node: by the first worker that opens it, while the others wait and then find it in the
cache (docs/caching.md); a .mi file is compiled already. Weights are memory-mapped, so a node holds them once, however
many workers it has.
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
from ..asynchronous.batch_axis import rows_of
from ..compile.entry import compile
from ..config import EngineConfig
from ..engine import Engine
from ..file_cache import make_private
from ..kept.artifact import load, signature
from ..kept.cache_folders import cache_folder
from ..profile import OptimizationProfile
from ..specs import TensorSpec
from .batched_rows import Rows


def ray_module(name: str) -> Any:
    """A module of Ray. Raises ConfigError if Ray is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ConfigError(f"{name} can't be imported ({error}): pip install 'mini-infer[ray]'") from None


@dataclass(frozen=True)
class Model:
    """The description of a model that is sent to workers; it holds plain values only.

    source: a path that exists on every node, of a model or a .mi file; bytes; or a reference to bytes in Ray's object
    store.

    rows: the largest number of rows of one inference, for a model whose first axis is a dynamic dimension, `dim`.
    """

    source: Any
    threads: int = 1
    dim: str | None = None
    rows: int = 1
    pin: bool = True
    cache: str | bool | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def shared(self) -> Model:
        """The same model with its bytes in Ray's object store, of which a node has one copy."""
        if not isinstance(self.source, bytes):
            return self
        return replace(self, source=ray_module("ray").put(self.source))

    def check(self) -> None:
        """Raises, in the driver process, the errors that workers would raise for the model and its options.

        The model is imported, not compiled: it must exist, be valid and supported, and its inputs and outputs must have
        rows. A .mi file need not be runnable on this CPU.
        """
        if self._is_built:
            self._check_unused()
            rows_of(*(_settled(specs) for specs in signature(self.source)))
            return
        from ..compile.source import source_of
        from ..module_interface import input_specs, output_specs

        module, _ = source_of(self.source).load(EngineConfig.of(threads=self.threads, **self._options))
        rows_of(_settled(input_specs(module)), _settled(output_specs(module)))

    def open(self) -> Rows:
        """The compiled model, on cores of its own. Raises ConfigError for options given with a .mi file."""
        if self._is_built:
            return self._on_cores(self._loaded(self.source))
        source = self.source if isinstance(self.source, str | bytes) else ray_module("ray").get(self.source)
        options = self._options
        with alone():
            engine = compile(source, self.threads, cache=self.cache, **options)
            if cache_folder(self.cache) is not None:  # the process that compiled it maps the cached file, too
                engine = compile(source, self.threads, cache=self.cache, **options)
        return self._on_cores(engine)

    @property
    def _is_built(self) -> bool:
        return isinstance(self.source, str) and self.source.endswith(".mi")

    @property
    def _options(self) -> dict[str, Any]:
        """EngineConfig's options, with the profile for `dim` and `rows`."""
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
    """Specs at the optimal shape of their profile."""
    from ..shapes.settled_records import settled  # imported here: it brings the planner, which workers may not need

    return settled(tuple(specs), now)


def node_folder() -> Path:
    """A folder private to this user on this node. Raises ConfigError if another user owns it."""
    folder = Path(tempfile.gettempdir(), f"mini_infer-{os.geteuid()}")
    make_private(folder)
    status = folder.lstat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise ConfigError(f"{folder} belongs to somebody else, or may be written to by others")
    return folder


@contextmanager
def alone() -> Generator[None]:
    """A lock between this user's processes on this node; released when its holder dies."""
    with (node_folder() / "opening.lock").open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


_TAKEN: list[IO[bytes]] = []
"""Lock files of this process's cores; the system releases the locks when it ends."""


def take_cores(count: int) -> tuple[int, ...]:
    """Pins this process to `count` cores that no other worker of this node has taken.

    Returns their numbers; if not enough are left, () without pinning.
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
