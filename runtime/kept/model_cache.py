"""Compiled models in a folder, found again by what decides them."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from ...dialects.errors import MiniInferError
from ...dialects.json_text import read_json
from ...dialects.plain_file import open_inside, open_plain
from ...dialects.sizes.guards import Guards
from ...passes.counts import PassStatistics
from ..config import EngineConfig
from ..file_cache import key_of
from ..native.team import team_image
from ..plan import InferencePlan
from ..progress import LOG
from .cache_folders import CacheFolder
from .container import Blob, Container, write
from .cpus import host_cpu
from .kept_plans import KeptPlan, can_be_kept, plain_plan, read_plan
from .keys import Digests, compiler_text, machine_text, options_text, stamp
from .records import KeptError

if TYPE_CHECKING:
    from ...lowering.onnx_to_graph.model_file import ModelSource


@dataclass(frozen=True)
class Identity:
    """What a model is: a digest of all that it consists of, and what is known of it without reading it."""

    digest: bytes
    name: str
    inputs: tuple[str, ...]
    """The names of its inputs that are no initialisers."""
    stamps: tuple[bytes, ...] = ()
    """Of its files. Two identities with the same were taken of one model, to which nothing was written in between."""


@dataclass(frozen=True)
class _Content:
    """What was read of a file: the digest of its bytes, and which file it was in which state."""

    digest: bytes
    stamp: bytes = b""


class KeptModels:
    """The models of a folder, for one configuration."""

    def __init__(self, folder: CacheFolder, config: EngineConfig) -> None:
        self._folder, self._config = folder, config
        self._digests = Digests(folder.facts)
        self._compiler = compiler_text(self._digests)

    def identity(self, model: ModelSource, *, read: bool = False) -> Identity | None:
        """What a model is; None for one that can't be kept, and for one that nothing is known of.

        With `read` it is read where nothing is known of it, as its external data and its inputs.
        """
        path = Path(model) if isinstance(model, str | os.PathLike) else None
        if path is not None and path.suffix == ".mlir":
            return None
        try:
            content = self._content(model)
            parts = None if content is None else self._parts(content, model, read)
            if content is None or parts is None:
                return None
            found = [content]
            for name, ranges in parts[0].items():
                if path is None:  # external data lies beside a file
                    return None
                found.append(self._read(open_inside(path.absolute().parent, name), ranges))
        except (OSError, MiniInferError):  # compiling it will say what is wrong
            return None
        digest = bytes.fromhex(key_of(*(each.digest for each in found)))
        return Identity(digest, "" if path is None else path.name, tuple(parts[1]), tuple(each.stamp for each in found))

    def _content(self, model: object) -> _Content | None:
        """What a model's file holds, or the bytes or the message that are a model in memory."""
        if isinstance(model, str | os.PathLike):
            return self._read(open_plain(cast("str", model)))
        if isinstance(model, bytes | bytearray | memoryview):
            return _Content(self._digests.of_bytes(bytes(cast("bytes", model))))
        serialize = getattr(model, "SerializeToString", None)
        if not callable(serialize):
            return None
        from google.protobuf.message import EncodeError

        try:
            return _Content(self._digests.of_bytes(cast("bytes", serialize(deterministic=True))))
        except EncodeError:  # no message has more than 2 GB
            return None

    def _read(self, file: BufferedReader, ranges: Sequence[tuple[int, int]] | None = None) -> _Content:
        with file:
            status = os.fstat(file.fileno())
            return _Content(self._digests.of_file(file, ranges), stamp(status))

    def _parts(
        self, content: _Content, model: ModelSource, read: bool
    ) -> tuple[dict[str, list[tuple[int, int]]], list[str]] | None:
        """The ranges of files that are a model's external data, and its inputs: as known by its content, or read."""
        key = key_of(b"parts", content.digest)
        told = self._folder.facts.get(key)
        if told is None and read:
            from ...lowering.onnx_to_graph.model_file import parts_of

            told = json.dumps(parts_of(model)).encode()
            if self._content(model) != content:  # it was changed before it was read
                return None
            self._folder.facts.put(key, told)
        return None if told is None else read_json(told)

    def key(self, identity: Identity, best: Mapping[str, Sequence[int]] | None = None) -> str:
        """The name under which a model is kept that was compiled for this configuration, this machine and `best`."""
        texts = (self._compiler, machine_text(), options_text(self._config, best))
        return key_of(b"compiled", identity.digest, *(text.encode() for text in texts))

    def find(self, key: str) -> KeptPlan | None:
        """The plan that was kept under a name; None where there is none that is whole."""
        start = time.perf_counter()
        file = self._folder.models.open(key)
        if file is None:
            return None
        with file:
            try:
                container = Container(file)
                if container.about["key"] != key:
                    raise KeptError("it was kept under another name")
                found = read_plan(container, container.about["plan"], self._config)
            except (KeptError, OSError, ValueError, KeyError, TypeError, IndexError) as error:
                LOG.info("a kept model is not used: %s", error)
                self._folder.models.drop(key)
                return None
        LOG.info("found compiled, loaded in %.3f s", time.perf_counter() - start)
        return found

    def keep(
        self, key: str, identity: Identity, plan: InferencePlan, guards: Guards | None, statistics: PassStatistics
    ) -> None:
        """Keeps a plan. What is no CPU's, or can't be written, is compiled again the next time."""
        if not can_be_kept(plan):
            return
        blobs: list[Blob] = []
        about: dict[str, Any] = {
            "key": key,
            "model": identity.name,
            "cpu": host_cpu().title,
            "threads": plan.threads,
            "plan": plain_plan(plan, guards, statistics, blobs, team_image() if plan.threads > 1 else None),
        }

        def fill(file: BinaryIO) -> None:
            write(file, about, blobs)

        if not self._folder.models.write(key, fill):
            LOG.info("the compiled model can't be kept in %s", self._folder.folder)
