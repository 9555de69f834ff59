"""CachedBuild: looks up a model's compiled code in the cache by its content, and otherwise compiles and stores it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import BufferedReader
from typing import TypeAlias, cast

from ...dialects.errors import MiniInferError
from ...dialects.json_text import read_json
from ...dialects.regular_file import open_inside, open_regular
from ..config import EngineConfig
from ..engine import CompiledModel
from ..file_cache import key_of
from ..kept.begun_model import BegunModel
from ..kept.cache_folders import CacheFolder
from ..kept.keys import Digests, compiler_text, machine_text, options_text, stamp
from ..kept.model_cache import find, keep
from ..memory.host_memory import bytes_of
from ..operators.operator_identity import operators_text
from ..progress import LOG, Progress, StepCounter
from ..shapes.cut_dimensions import cut_dimensions, overfull_sizes
from .source import Best, ModuleSource, Source

_Parts: TypeAlias = tuple[dict[str, list[tuple[int, int]]], list[str], list[tuple[str, str, int]]]


@dataclass(frozen=True)
class Identity:
    """A model's digest, and what is known of it without reading it."""

    digest: bytes
    inputs: tuple[str, ...]
    """The names of its inputs that are not initialisers."""
    operators: str = ""
    """The users' operators in it."""
    stamps: tuple[bytes, ...] = ()
    """States of its files. Identities with equal stamps are of the same model, with no write in between."""


@dataclass(frozen=True)
class _Content:
    """The digest of a file's bytes, and the file's state when it was read."""

    digest: bytes
    stamp: bytes = b""


@dataclass(frozen=True)
class CachedBuild:
    """Compiles a model for one configuration with `build`, through the cache of compiled models in `folder`.

    A model that can't be identified, such as a module's text, is compiled without the cache.
    """

    source: Source
    config: EngineConfig
    folder: CacheFolder
    build: Callable[[Best, BegunModel | None], CompiledModel]
    """Compiles it, with its weights in the file that is begun, if one is."""
    progress: Callable[[Progress], None] | None = None
    _settled: list[EngineConfig] = field(default_factory=list[EngineConfig])
    """The configuration that code is kept for, once the first is there."""

    def __call__(self, best: Best) -> CompiledModel:
        """The model compiled for the shapes `best`. Raises as `build` does."""
        before = self._identity
        if before is not None and (found := self._found(before, best)) is not None:
            StepCounter(("load",), self.progress).next()
            return found
        self.folder.warn_where_unwritable()
        begun = None if before is None else BegunModel.within(self.folder)
        try:
            return self._built(before, best, begun)
        finally:
            if begun is not None:
                begun.drop()

    def _built(self, before: Identity | None, best: Best, begun: BegunModel | None) -> CompiledModel:
        """The model compiled, and stored if it is still the one whose identity was `before`."""
        made = self.build(best, begun)
        if not self._settled:
            self._settled.append(self.config if self._is_cut(made) else replace(self.config, cache_memory=None))
        if before is not None and before == self.identity():  # so this is what was compiled
            key = self._key(before, best, self._settled[0])
            if keep(self.folder, key, self.source.name, made, begun):
                # Weights are those of the file then, mapped; the ones in memory go first.
                statistics = made.statistics
                del made
                found = find(self.folder, key, self.config)
                return self.build(best, None) if found is None else replace(found, statistics=statistics)
        return made

    def _is_cut(self, made: CompiledModel) -> bool:
        """Whether `cache_memory` has made something smaller."""
        if self.config.cache_memory is None:
            return False
        return bool(cut_dimensions(made.plan.inputs, self.config) or overfull_sizes(made.plan))

    def _found(self, identity: Identity, best: Best) -> CompiledModel | None:
        """What is kept of it: a `cache_memory` that cuts nothing of the profile does not change the code."""
        start, without = time.perf_counter(), replace(self.config, cache_memory=None)
        for config in self._settled or (without, self.config)[: 1 if self.config.cache_memory is None else 2]:
            found = find(self.folder, self._key(identity, best, config), self.config)
            if found is not None:
                self._settled[:] = [config]
                LOG.info("found compiled, loaded in %.3f s", time.perf_counter() - start)
                return found
        return None

    def input_names(self) -> tuple[str, ...]:
        """The inputs that a call passes, in order; known without the importer for a model compiled before."""
        if self._identity is None:
            return self.source.input_names(self.config)
        given = self.config.specialize.keys() | self.source.weights.keys()
        return tuple(name for name in self._identity.inputs if name not in given)

    @cached_property
    def _identity(self) -> Identity | None:
        """The model's identity when it was first asked for; an unknown model is read for it."""
        return self.identity(read=True)

    @cached_property
    def _compiler(self) -> str:
        return compiler_text(self.folder.facts)

    @cached_property
    def _digests(self) -> Digests:
        return Digests(self.folder.facts)

    def _key(self, identity: Identity, best: Best, config: EngineConfig) -> str:
        """The cache key: the model, the compiler, this machine, the configuration and the shapes `best`."""
        shapes = best if config.is_dynamic else None
        texts = (self._compiler, machine_text(), options_text(config, shapes))
        return key_of(b"compiled", identity.digest, *(text.encode() for text in (*texts, identity.operators)))

    def identity(self, *, read: bool = False) -> Identity | None:
        """The model's identity; None if it can't be cached, or if it isn't known without reading the model.

        With `read` an unknown model is read for the names of its external data and its inputs.
        """
        path = self.source.path
        if isinstance(self.source, ModuleSource):
            return None
        try:
            content = self._content()
            parts = None if content is None else self._parts(content, read)
            if content is None or parts is None:
                return None
            operators = operators_text((domain, name, version) for domain, name, version in parts[2])
            if operators is None:
                return None
            found = [content]
            for name, array in self.source.weights.items():
                found.append(_Content(self._digests.of_bytes(name.encode()) + self._digests.of_bytes(bytes_of(array))))
            for name, ranges in parts[0].items():
                if path is None:  # external data lies beside a file
                    return None
                found.append(self._read(open_inside(path.absolute().parent, name), ranges))
        except (OSError, MiniInferError):  # compiling it will say what is wrong
            return None
        digest = bytes.fromhex(key_of(*(each.digest for each in found)))
        return Identity(digest, tuple(parts[1]), operators, tuple(each.stamp for each in found))

    def _content(self) -> _Content | None:
        """The content of the model's file, or of the bytes or message that are a model in memory."""
        model: object = self.source.model
        if isinstance(model, str | os.PathLike):
            return self._read(open_regular(cast("str", model)))
        if isinstance(model, bytes | bytearray | memoryview):
            return _Content(self._digests.of_bytes(bytes(model)))
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

    def _parts(self, content: _Content, read: bool) -> _Parts | None:
        """The ranges of files that are the model's external data, its inputs and operators: stored facts, or read."""
        key = key_of(b"parts with operators", content.digest)
        told = self.folder.facts.get(key)
        if told is None and read:
            from ...lowering.onnx_to_graph.model_file import parts_of

            told = json.dumps(parts_of(self.source.model)).encode()
            if self._content() != content:  # it was changed before it was read
                return None
            self.folder.facts.put(key, told)
        return None if told is None else read_json(told)
