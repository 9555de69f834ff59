"""`mini-infer explore` and `mini-infer explain`: makes or reads the record of a compile, and writes what is asked."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console

from ...dialects.errors import ConfigError
from ...runtime.config import EngineConfig
from ..arrays import load_inputs
from ..json_reports import Facts
from ..waiting import working
from .collect import record_of
from .compile_record import CompileRecord
from .explain import check_question


@dataclass(frozen=True)
class Subject:
    """A model with the options of its compile, or the file of a record."""

    model: str
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    files: Sequence[str] = ()
    seed: int | None = None
    measure: bool = True

    def record(self, console: Console) -> CompileRecord:
        """The record, with a spinner while the model is compiled and measured."""
        if self.model.endswith(".json"):
            return CompileRecord.read(self.model)
        with working(console, "import") as now:
            return record_of(
                self.model,
                EngineConfig.of(**self.options),
                lambda specs: load_inputs(self.files, specs, self.seed),
                measure=self.measure,
                now=now,
            )


def check_output(output: str, against: str | None) -> None:
    """Raises ConfigError for files that can't be what they are to be."""
    if Path(output).suffix not in (".html", ".json"):
        raise ConfigError(f"--output {output}: the name must end in .html or .json")
    if against is not None and output.endswith(".json"):
        raise ConfigError("--against is for a page; a record is of one compile")
    file = Path(output).resolve()
    if not file.parent.is_dir():
        raise ConfigError(f"--output {output}: there is no such folder")
    if file.is_dir() or not os.access(file.parent, os.W_OK):
        raise ConfigError(f"--output {output}: {'that is a folder' if file.is_dir() else 'the folder is read-only'}")


def write_explored(subject: Subject, output: str, against: str | None, console: Console) -> Facts:
    """Writes the page or the record, and says what it is of."""
    other = None if against is None else CompileRecord.read(against)
    record = subject.record(console)
    record.write(output, against=other)
    size = Path(output).stat().st_size
    console.print(
        f"{record.title}: ONNX nodes {len(record.nodes)}, kernel calls {len(record.steps)}, compiled in "
        f"{record.seconds:.2f} s"
    )
    console.print(f"wrote {output}, {size / 1e6:.2f} MB", soft_wrap=True)
    return {**_facts(record), "output": output, "output_bytes": size}


def explain_explored(subject: Subject, question: str, name: str | None, console: Console) -> Facts:
    """Prints the answer to a question."""
    check_question(question, name)
    record = subject.record(console)
    text = record.explain(question, name)
    console.print(text, end="", soft_wrap=True)
    return {**_facts(record), "question": question, "name": name, "answer": text}


def _facts(record: CompileRecord) -> dict[str, Any]:
    return {
        "model": record.model,
        "threads": record.threads,
        "seconds": record.seconds,
        "run_us": record.run_us,
        "nodes": len(record.nodes),
        "calls": len(record.steps),
        "arena_bytes": record.memory.arena,
        "lower_bound_bytes": record.memory.lower_bound,
    }
