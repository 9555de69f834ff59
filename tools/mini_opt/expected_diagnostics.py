"""Expected diagnostics for `mini-opt --verify-diagnostics`, in MLIR's notation.

    // expected-error @below {{relu takes a float}}
    %a = graph.relu %x : tensor<4xi32>

`expected-error` and `expected-warning` give a part of a message, as a regular expression with the suffix `-re`; a
number before it is a repetition count. The line is the comment's own unless `@above`, `@below`, `@+2`, `@-1` or
`@unknown` is given. A pass's error is attributed to a line if it names the op by its `loc("node")`; one without a name
matches any line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, cast

from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.utils.exceptions import ParseError, VerifyException

from ...dialects.errors import MiniInferError
from ...dialects.graph.base import describe

Kind = Literal["error", "warning"]
_START = re.compile(r"//.*?expected-(?:error|warning)")
_DIRECTIVE = re.compile(
    r"expected-(?P<kind>error|warning)(?P<regex>-re)?\s*"
    r"(?:@(?P<place>above|below|unknown|[+-]\d+))?\s*(?P<times>\d+)?\s*\{\{(?P<text>.*?)\}\}"
)


@dataclass(frozen=True)
class Diagnostic:
    """A diagnostic of a module; `lines` are the candidates for its line, empty if unknown."""

    kind: Kind
    message: str
    lines: frozenset[int] = frozenset()

    @override
    def __str__(self) -> str:
        return f"{self.kind}: {self.message}"


@dataclass(frozen=True)
class _Expectation:
    kind: Kind
    pattern: re.Pattern[str]
    shown: str
    written: int  # the line of the comment
    line: int | None

    def meets(self, found: Diagnostic) -> bool:
        in_place = self.line is None or not found.lines or self.line in found.lines
        return self.kind == found.kind and in_place and self.pattern.search(found.message) is not None


def complaints(text: str, file: str, first: int, found: Sequence[Diagnostic]) -> list[str]:
    """Expected diagnostics that are missing, and unexpected ones; `first` is the number of the text's first line."""
    told: list[str] = []
    left = list(found)
    for each in _expectations(text.splitlines(), first, told, file):
        met = next((diagnostic for diagnostic in left if each.meets(diagnostic)), None)
        if met is None:
            told.append(f'{file}:{each.written}: expected {each.kind} "{each.shown}" was not produced')
        else:
            left.remove(met)
    for each in left:
        told.append(f"{file}:{min(each.lines, default=first)}: unexpected {each}")
    return told


def _expectations(lines: Sequence[str], first: int, told: list[str], file: str) -> Iterator[_Expectation]:
    for index, line in enumerate(lines):
        if not _START.search(line):
            continue
        directives = list(_DIRECTIVE.finditer(line))
        if len(directives) != len(re.findall("expected-(?:error|warning)", line)):
            told.append(f"{file}:{first + index}: what is expected can't be read; the form is @below {{{{text}}}}")
        for each in directives:
            line_meant = _line_meant(each["place"], index, lines)
            pattern = re.compile(each["text"] if each["regex"] else re.escape(each["text"]))
            for _ in range(int(each["times"] or 1)):
                number = None if line_meant is None else first + line_meant
                yield _Expectation(cast("Kind", each["kind"]), pattern, each["text"], first + index, number)


def _line_meant(place: str | None, index: int, lines: Sequence[str]) -> int | None:
    """The index of the line that a directive refers to; lines with directives are skipped."""
    match place:
        case None:
            return index
        case "unknown":
            return None
        case "above" | "below":
            step = 1 if place == "below" else -1
            index += step
            while 0 <= index < len(lines) and _START.search(lines[index]):
                index += step
            return index
        case _:
            return index + int(place)


def lines_of(error: MiniInferError, module: ModuleOp | None, places: Mapping[Operation, int]) -> frozenset[int]:
    """Candidate lines for an error: where parsing failed, or of the op that is wrong or named."""
    if isinstance(error.__cause__, ParseError):
        return frozenset({error.__cause__.span.get_location().line})
    if isinstance(error.__cause__, VerifyException) and module is not None:
        wrong = next((op for op in module.walk() if not _is_valid(op)), None)
        return frozenset({places[wrong]} if wrong is not None and wrong in places else ())
    return frozenset(
        line for op, line in places.items() if str(error).startswith((f"{describe(op)}: ", f"{describe(op)}, "))
    )


def _is_valid(op: Operation) -> bool:
    try:
        op.verify(verify_nested_ops=False)
    except VerifyException:
        return False
    return True
