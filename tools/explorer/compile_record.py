"""CompileRecord: the record of a compile with what is made of it: a page, JSON, answers."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Self

from typing_extensions import override

from ...dialects.arguments import check_kind, checked_path
from ...dialects.atomic_file import atomic_file
from ...dialects.errors import ConfigError
from ...dialects.regular_file import read_regular
from .explain import explain
from .explorer_page import page_html
from .record_data import VERSION, RecordData


class CompileRecord(RecordData):
    """All that is told about a compile: `mini_infer.explore` makes it."""

    @override
    def __repr__(self) -> str:
        return (
            f"CompileRecord({self.title}: {len(self.nodes)} nodes, {len(self.steps)} kernel calls, "
            f"arena {self.memory.arena} bytes, {self.label[:80]})"
        )

    @property
    def label(self) -> str:
        """What tells it from another compile of the same model: its options."""
        return ", ".join(f"{name}={value}" for name, value in self.options.items()) or "defaults"

    def label_beside(self, other: CompileRecord) -> str:
        """What tells it from that compile: the model, or the options that differ."""
        if self.title != other.title:
            return self.title
        own = {name: value for name, value in self.options.items() if other.options.get(name) != value}
        return ", ".join(f"{name}={value}" for name, value in own.items()) or "defaults"

    def explain(self, question: str, name: str | None = None) -> str:
        """The answer to a question, as text of one screen.

        "memory": what binds, who keeps it alive, what would help. "time": kernels by what is lost against their
        limits, with the schedules that were not taken. "tensor" and "node", with the name of one: its life through all
        levels, and what became of it. Raises ConfigError for another question, or an unknown name.
        """
        return explain(self, question, name)

    def write(self, path: str | Path, *, against: Self | None = None) -> None:
        """Writes the record: .html, a page that needs nothing else, or .json, which `read` takes.

        The page shows it beside another, `against`, if that is given. Raises ConfigError for another suffix,
        MiniInferError if the file can't be written.
        """
        kind = checked_path("path", path).suffix
        if kind not in (".html", ".json"):
            raise ConfigError(f"{path}: a compile is written as .html or .json")
        if against is None:
            records, labels = [self], [self.label]
        elif kind == ".json":
            raise ConfigError(f"{path}: two compiles are shown by a page; JSON is of one")
        else:
            check_kind("against", against, CompileRecord)
            records = [self, against]
            labels = [self.label_beside(against), against.label_beside(self)]
        as_json = json.dumps(self.facts(), separators=(",", ":")) if kind == ".json" else ""
        text = as_json or page_html(records, labels)
        with atomic_file(path) as stream:
            stream.write(text.encode())

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The record in a .json file. Raises ConfigError for any other file, and for one that can't be read."""
        from pydantic import TypeAdapter, ValidationError

        file = checked_path("path", path)
        try:
            found = TypeAdapter(RecordData).validate_json(read_regular(file), strict=True)
            found.check()
        except OSError as error:
            raise ConfigError(f"{file}: {error.strerror}") from None
        except ValidationError as error:
            first = error.errors()[0]
            told = ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
            raise ConfigError(f"{file}: no record of a compile: {told}") from None
        except ValueError as error:
            raise ConfigError(f"{file}: no record of a compile: {error}") from None
        if found.version != VERSION:
            raise ConfigError(f"{file}: a record of version {found.version}; this is for version {VERSION}")
        return cls(**{each.name: getattr(found, each.name) for each in fields(found)})
