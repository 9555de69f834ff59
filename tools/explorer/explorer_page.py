"""The page of a compile, or of two: one HTML file without references to anything else.

The records are JSON, compressed by gzip and spelled in base64, which browsers decompress themselves. The files in
page/ are its markup, style and scripts.
"""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

from ...dialects.errors import ConfigError
from .page_graphs import graphs_of
from .record_data import RecordData

SCRIPTS = ("record.js", "code_pane.js", "graph_pane.js", "memory_pane.js", "time_pane.js", "details.js", "explorer.js")
COMPARED = ("import", "graph", "kernels", "buffers", "arena", "loops")
"""Levels whose changed lines are told where there are two compiles; in code below them all registers differ."""
MOST_COMPARED = 8_000
"""Lines of a text beyond which it is not compared."""


_VALUE = re.compile(r"%\d+")


def page_html(records: Sequence[RecordData], labels: Sequence[str] = ("",)) -> str:
    """The page of one compile, or of two with what their `labels` call them.

    Raises ConfigError for another number of them, or without the package fast-sugiyama.
    """
    if not 1 <= len(records) <= 2:
        raise ConfigError(f"a page shows one compile or two, and not {len(records)}")
    shown = [
        {**record.facts(), "graphs": graphs_of(record), "label": label}
        for record, label in zip(records, labels, strict=True)
    ]
    changes = _changes(*records) if len(records) == 2 else {}
    text = json.dumps({"records": shown, "changes": changes}, separators=(",", ":"))
    folder = files(__name__.rpartition(".")[0]).joinpath("page")

    def part(name: str) -> str:
        return folder.joinpath(name).read_text("utf-8")

    return Template(part("explorer.html")).substitute(
        title=escape(f"{records[0].title}: a compile by mini_infer"),
        style=part("explorer.css"),
        data=base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode(),
        script="\n".join(map(part, SCRIPTS)),
    )


def _changes(first: RecordData, second: RecordData) -> dict[str, Any]:
    """By level, 1 for each line of either text that the other one doesn't have in its place."""
    found: dict[str, Any] = {}
    texts = {text.level: text for text in first.texts}
    for text in second.texts:
        other = texts.get(text.level)
        if other is None or text.level not in COMPARED or max(len(text.lines), len(other.lines)) > MOST_COMPARED:
            continue
        flags = [1] * len(other.lines), [1] * len(text.lines)
        matcher = SequenceMatcher(None, _bare(other.lines), _bare(text.lines), autojunk=False)
        for start, at, length in matcher.get_matching_blocks():
            flags[0][start : start + length] = [0] * length
            flags[1][at : at + length] = [0] * length
        found[text.level] = flags
    return found


def _bare(lines: Sequence[str]) -> list[str]:
    """Lines without the numbers of values, which differ from the first changed line on."""
    return [_VALUE.sub("%", line) for line in lines]
