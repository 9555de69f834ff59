"""Planning problems as CSV, in MiniMalloc's format.

    id,lower,upper,size
    b1,0,3,4

A row is a buffer of `size` bytes that is live in steps [lower, upper). Optional columns: `alignment` (bytes), `offset`
(bytes: pinned there; empty for a free buffer), `gaps` ("5-7 9-12": half-open steps in which its bytes are free for
others). As in MiniMalloc, `start` and `begin` are synonyms of `lower`, `buffer` and `buffer_id` of `id`, and where a
column `end` replaces `upper`, it and the ends of the gaps are inclusive.

What `mini-infer plan --csv` writes is read, too: a buffer for each of its column `buffer`, named after the first tensor
there, with the column's bytes and steps, at no place yet.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from ...dialects.arguments import checked_path
from ...dialects.errors import InvalidInputError, PlanError
from ...dialects.regular_file import read_regular
from ...passes.planning import Buffer, Id

REQUIRED = ("id", "lower", "upper", "size")
OPTIONAL = ("alignment", "offset", "gaps")
MEANINGS = {"start": "lower", "begin": "lower", "end": "upper", "buffer": "id", "buffer_id": "id"}


@dataclass(frozen=True)
class ProblemTable:
    """The buffers of a CSV file, and its original rows."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    buffers: tuple[Buffer, ...]


def read_problem(path: str | Path) -> ProblemTable:
    """Reads a problem. Raises InvalidInputError naming the file, the line and the error."""
    try:
        text = read_regular(checked_path("problem", path, InvalidInputError)).decode("utf-8-sig")
    except OSError as error:
        raise InvalidInputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{path}: not a text file ({error.reason} at byte {error.start})") from None
    try:
        return _parsed(text)
    except _Mistake as mistake:
        raise InvalidInputError(f"{path}, {mistake}") from None


def with_offsets(table: ProblemTable, offsets: Mapping[Id, int]) -> str:
    """The CSV text of the problem with the buffers' offsets in its column `offset`."""
    kept = [index for index, name in enumerate(table.header) if name.strip() != "offset"]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*(table.header[index] for index in kept), "offset"])
    for row, buffer in zip(table.rows, table.buffers, strict=True):
        writer.writerow([*(row[index] for index in kept), offsets[buffer.id]])
    return text.getvalue()


class _Mistake(Exception):
    """An error in a line."""

    def __init__(self, line: int, fact: str) -> None:
        super().__init__(f"line {line}: {fact}")


def _parsed(text: str) -> ProblemTable:
    lines = _lines(text)
    number, header = next(lines, (1, ()))
    if header[:1] == ("tensor_name",):
        return _of_plan(number, header, lines)
    columns = _columns(number, header)
    last_is_included = "end" in (name.strip() for name in header)
    rows: list[tuple[str, ...]] = []
    buffers: list[Buffer] = []
    seen: dict[str, int] = {}
    for number, row in lines:
        if len(row) != len(header):
            raise _Mistake(number, f"{len(row)} fields, but the header has {len(header)}")
        cells = {name: row[index].strip() for name, index in columns.items()}
        if cells["id"] in seen:
            raise _Mistake(number, f"id '{cells['id']}' stands in line {seen[cells['id']]} already")
        seen[cells["id"]] = number
        rows.append(row)
        buffers.append(_buffer(number, cells, 1 if last_is_included else 0))
    return ProblemTable(tuple(header), tuple(rows), tuple(buffers))


PLAN = ("tensor_name", "buffer", "buffer_size", "buffer_live", "alignment")
"""The columns of a memory plan that are read."""


def _of_plan(number: int, header: Sequence[str], lines: Iterator[tuple[int, tuple[str, ...]]]) -> ProblemTable:
    """The buffers of a memory plan."""
    if missing := [name for name in PLAN if name not in header]:
        raise _Mistake(number, f"column '{missing[0]}' of a memory plan is missing")
    rows: dict[str, tuple[str, ...]] = {}
    buffers: dict[str, Buffer] = {}
    for number, row in lines:
        if len(row) != len(header):
            raise _Mistake(number, f"{len(row)} fields, but the header has {len(header)}")
        name, buffer, size, live, alignment = (row[header.index(each)].strip() for each in PLAN)
        if not buffer or buffer in buffers:
            continue
        spans = [_gap(number, text, 0) for text in live.split()]
        if not spans:
            raise _Mistake(number, f"buffer {buffer} is never live")
        gaps = " ".join(f"{end}-{start}" for (_, end), (start, _) in pairwise(spans))
        cells = {"id": name, "lower": str(spans[0][0]), "upper": str(spans[-1][1]), "size": size}
        cells |= {"alignment": alignment, "gaps": gaps}
        buffers[buffer] = _buffer(number, cells, 0)
        rows[buffer] = tuple(cells.values())
    return ProblemTable((*REQUIRED, "alignment", "gaps"), tuple(rows.values()), tuple(buffers.values()))


def _lines(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """The non-empty lines, split into fields."""
    reader = csv.reader(io.StringIO(text), strict=True)
    try:
        for row in reader:
            if any(cell.strip() for cell in row):
                yield reader.line_num, tuple(row)
    except csv.Error as error:
        raise _Mistake(reader.line_num, str(error)) from None


def _columns(number: int, header: Sequence[str]) -> dict[str, int]:
    """The position of each column."""
    columns: dict[str, int] = {}
    for index, given in enumerate(header):
        name = MEANINGS.get(given.strip(), given.strip())
        if name not in (*REQUIRED, *OPTIONAL):
            known = ", ".join((*REQUIRED, *OPTIONAL))
            raise _Mistake(number, f"there is no column '{given.strip()}'; there are {known}")
        if name in columns:
            raise _Mistake(number, f"column '{name}' stands twice")
        columns[name] = index
    if missing := [name for name in REQUIRED if name not in columns]:
        raise _Mistake(number, f"column '{missing[0]}' is missing; needed are {', '.join(REQUIRED)}")
    return columns


def _buffer(number: int, cells: Mapping[str, str], after_last: int) -> Buffer:
    """The buffer of a row; `after_last` is added to the ends of its intervals."""
    if not cells["id"]:
        raise _Mistake(number, "the id is empty")
    offset = cells.get("offset", "")
    gaps = tuple(_gap(number, text, after_last) for text in cells.get("gaps", "").split())
    try:
        return Buffer(
            id=cells["id"],
            size=_integer(number, "size", cells["size"]),
            birth=_integer(number, "lower", cells["lower"]),
            death=_integer(number, "upper", cells["upper"]) + after_last,
            alignment=_integer(number, "alignment", cells.get("alignment") or "1"),
            offset=_integer(number, "offset", offset) if offset else None,
            gaps=gaps,
        )
    except PlanError as error:
        raise _Mistake(number, str(error)) from None


def _gap(number: int, text: str, after_last: int) -> tuple[int, int]:
    found = re.fullmatch(r"(-?\d+)-(-?\d+)", text)
    if found is None and "@" in text:
        raise _Mistake(number, f"gap '{text}': gaps that keep a part of the bytes are not supported")
    if found is None:
        raise _Mistake(number, f"gap '{text}' is not of the form FROM-TO")
    return int(found[1]), int(found[2]) + after_last


def _integer(number: int, column: str, text: str) -> int:
    if not re.fullmatch(r"[+-]?\d+", text):
        raise _Mistake(number, f"{column} '{text}' is not an integer")
    return int(text)
