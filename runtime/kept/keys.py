"""Cache keys: digests of the model's content, the compiler, the machine, and the options."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property
from io import BufferedReader
from pathlib import Path
from typing import Any, cast

import numpy as np
import xxhash

from ..config import EngineConfig
from ..device import Array
from ..file_cache import FileCache, key_of
from ..machine_facts import cache_bytes
from ..option_declarations import options_of
from .cpus import host_cpu
from .records import Writer
from .tuning_store import TuningStore

_SOFTWARE = ("llvmlite", "xdsl", "onnx", "numpy", "ml_dtypes")
_SOURCES = ("dialects", "passes", "lowering", "runtime")
_INTERFACE = (
    "lowering/loops_to_llvm/runtime_ir.py",
    "lowering/loops_to_llvm/team_ir.py",
    "runtime/devices/cpu/cpu_device.py",
    "runtime/native/team.py",
    "runtime/native/images/loaded.py",
)
_PIECE = 2**18  # bytes of a file that are read at once: they stay in the second-level cache until they are hashed


class Digests:
    """Digests of a model's content, never of modification times.

    (Writes through a mapping may leave a file's times unchanged for arbitrarily long.) They are 128 bits of XXH3, ten
    times as fast as SHA-256, with a secret seed of the cache's folder: without it, collisions can't be constructed.
    """

    def __init__(self, known: FileCache) -> None:
        self._known = known

    @cached_property
    def seed(self) -> int:
        """The secret seed of the cache's folder."""
        key = key_of(b"seed")
        seed = self._known.get(key)
        if seed is None:
            seed = os.urandom(8)
            self._known.put(key, seed)
            seed = self._known.get(key) or seed  # another process may have been quicker
        return int.from_bytes(seed, "little")

    def of_bytes(self, data: bytes | Array) -> bytes:
        """The digest of a model in memory."""
        return xxhash.xxh3_128_digest(cast("bytes", data), self.seed)

    def of_file(self, file: BufferedReader, ranges: Sequence[tuple[int, int]] | None = None) -> bytes:
        """The digest of a file's content, or of ranges (first byte, bytes) of it. Raises OSError if one is missing."""
        digest, piece = xxhash.xxh3_128(seed=self.seed), memoryview(bytearray(_PIECE))
        for start, nbytes in [(0, sys.maxsize)] if ranges is None else ranges:
            file.seek(start)
            left = nbytes
            while left and (read := file.readinto(piece[: min(left, _PIECE)])):
                digest.update(piece[:read])
                left -= read
            if left and ranges is not None:
                raise OSError(f"the file ends {left} bytes too early")
        return digest.digest()

    def of_sources(self) -> bytes:
        """The digest of this compiler."""
        files = sorted(_sources(), key=lambda found: found[0])
        stamps = [f"{name} ".encode() + stamp(status) for name, status in files]
        key = key_of(b"sources", *stamps)
        known = self._known.get(key)
        if known is None:
            known = _content_of(tuple(name for name, _ in files), key)
            self._known.put(key, known)
        return known


@cache
def _content_of(names: tuple[str, ...], state: str) -> bytes:
    """The digest of files of this package, memoised by `state`, which changes with them."""
    root = Path(__file__).parents[2]
    return bytes.fromhex(key_of(*(part for name in names for part in (name.encode(), (root / name).read_bytes()))))


def stamp(status: os.stat_result) -> bytes:
    """A file's identity, size and times; writes through a mapping may leave all of them unchanged."""
    return b"%d %d %d %d %d" % (
        status.st_dev,
        status.st_ino,
        status.st_size,
        status.st_mtime_ns,
        status.st_ctime_ns,
    )


def _sources() -> Iterator[tuple[str, os.stat_result]]:
    """The files of this package that affect compilation, by name."""
    root = Path(__file__).parents[2]
    folders = [*_SOURCES]
    while folders:
        folder = folders.pop()
        with os.scandir(root / folder) as entries:
            for entry in entries:
                name = f"{folder}/{entry.name}"
                if entry.name.endswith((".py", ".h", ".cuh")):
                    yield name, entry.stat()
                elif entry.is_dir() and entry.name != "__pycache__":
                    folders.append(name)


def version() -> str:
    """This package's version."""
    return str(sys.modules[__name__.partition(".")[0]].__version__)


def interface_text() -> str:
    """The calling convention of code, as the files that define it: other code is incompatible."""
    root = Path(__file__).parents[2]
    return key_of(*((root / name).read_bytes() for name in _INTERFACE))


@cache
def compiler_text(known: FileCache) -> str:
    """The compiler and its dependencies, as text; `known` holds digests of its files by their state.

    As they were when it was first asked for: later changes don't reach the modules that are imported.
    """
    return json.dumps([version(), Digests(known).of_sources().hex(), _versions()])


def _versions() -> list[str]:
    """The versions of other packages, from the names of their .dist-info folders if these are together."""
    spec = importlib.util.find_spec("llvmlite")
    folder = Path(spec.origin).parents[1] if spec is not None and spec.origin else Path()
    pattern = re.compile(rf"({'|'.join(_SOFTWARE)})-[^-]+\.dist-info")
    found = sorted(name for name in os.listdir(folder) if pattern.fullmatch(name))
    if len(found) == len(_SOFTWARE):
        return found
    from importlib import metadata  # which takes 10 ms to import

    return [f"{name} {metadata.version(name)}" for name in _SOFTWARE]


def machine_text() -> str:
    """This machine, as far as code depends on it, and the tuner's measurements."""
    cpu = host_cpu()
    tuned = TuningStore.of(cpu.model).digest()
    return json.dumps([cpu.architecture, cpu.model, sorted(cpu.flags), cache_bytes(2), tuned])


def options_text(config: EngineConfig, best: Mapping[str, Sequence[int]] | None = None) -> str:
    """The options that affect the result; `best` are the optimal shapes if there is no profile."""
    given = {name: getattr(config, name) for name, option in options_of(EngineConfig).items() if not option.not_in_key}
    values = {name: _value(value) for name, value in config.specialize.items()}
    found = {
        "threads": config.thread_count,
        "specialize": values,
        "best": {} if best is None else dict(best),
    }
    return json.dumps(Writer().plain(given | found), sort_keys=True)


def _value(value: Any) -> list[Any]:
    try:
        array = np.asarray(value)
    except ValueError:  # nested lists of different lengths, which the importer refuses
        array = np.empty((), object)
    content = array.tobytes() if array.dtype != object else repr(value).encode()
    return [isinstance(value, np.ndarray), str(array.dtype), [*array.shape], hashlib.sha256(content).hexdigest()]
