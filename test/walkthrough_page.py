"""docs/walkthrough.md, whose outputs are those of its commands: `make docs` puts them in, and makes its pictures.

Between two comments stands what a command prints, or writes to its file; the first says of which, and which lines:

    <!-- mini-opt docs/block.mlir --to kernels -o kernels.mlir: from "graph.kernel @conv" to "}" -->

    <!-- end -->

Lines are shortened by rule, and not by hand: what tells nothing here (locations, layouts of buffers, windows of
convolutions, types of operands) is left out, and what is still longer than a line of the page is broken at a comma.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import shutil
import textwrap
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from command_runs import told

from mini_infer.tools.mini_opt.command import main as mini_opt

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "walkthrough.md"
COMMAND = "PYTHONPATH=.:test .venv/bin/python -m walkthrough_page"
WIDTH = 118  # of a line of output, behind the indentation that makes it a block
_OUTPUT = re.compile(r"(<!-- (mini-opt [^\n]*?)(?:: from \"(.+?)\" to \"(.+?)\")? -->\n\n).*?(<!-- end -->)", re.DOTALL)
_PICTURE = re.compile(r"^    (mini-infer draw .* -o (docs/\S+))$", re.MULTILINE)
_WINDOW = r"(?:strides|pads|dilations|groups|kernel) = (?:array<i64: [^>]*>|1 : i64)"
_NO_BREAK, HARD = re.compile(r"(?<=[^,\s]) (?!: |-> )"), "\N{NO-BREAK SPACE}"
_SHORTER = (
    (re.compile(r' loc\("[^"]*"\)'), ""),
    (re.compile(rf"{_WINDOW}(?:, {_WINDOW})*"), "..."),
    (re.compile(r", strided<[^>]*>"), ""),
    (re.compile(r" : \([^()]*, [^()]*\) -> "), " : (...) -> "),
)


def page() -> str:
    """The page with the present outputs of its commands."""
    return _OUTPUT.sub(lambda found: f"{found[1]}{block(*found.group(2, 3, 4))}\n{found[5]}", PAGE.read_text("utf-8"))


def block(command: str, first: str | None, last: str | None) -> str:
    """The lines of a command's output, shortened, as a block of the page."""
    lines = output(command).splitlines()
    if first is not None and last is not None:
        starts = [number for number, line in enumerate(lines) if first in line]
        ends = [number for number, line in enumerate(lines) if last in line and number > min(starts, default=0)]
        assert starts and ends, f"{PAGE.name}: {command} has no lines from {first!r} to {last!r}"
        lines = lines[starts[0] : ends[0] + 1]
    text = textwrap.dedent("\n".join(lines)).strip("\n")
    return "".join(f"    {line}".rstrip() + "\n" for each in text.splitlines() for line in shortened(each))


def shortened(line: str) -> Iterator[str]:
    """A line without what tells nothing here, in as many lines as it needs."""
    for pattern, shorter in _SHORTER:
        line = pattern.sub(shorter, line)
    inside = " " * (len(line) - len(line.lstrip()) + 4)
    kept = _NO_BREAK.sub(HARD, line)
    parts = textwrap.wrap(kept, WIDTH, subsequent_indent=inside, break_long_words=False, break_on_hyphens=False)
    yield from (part.replace(HARD, " ") for part in parts or [""])


@cache
def output(command: str) -> str:
    """What a command prints; of one with `-o`, what it writes."""
    words = shlex.split(command)[1:]
    with TemporaryDirectory() as folder, chdir(folder), redirect_stderr(io.StringIO()):
        shutil.copytree(ROOT / "docs", "docs", ignore=shutil.ignore_patterns("*.md", "*.png", "*.svg"))
        with redirect_stdout(io.StringIO()) as printed:
            assert mini_opt(words) == 0, command
        return Path(words[words.index("-o") + 1]).read_text("utf-8") if "-o" in words else printed.getvalue()


def pictures() -> dict[str, str]:
    """The commands that make the page's pictures, by their files."""
    return {file: command for command, file in _PICTURE.findall(PAGE.read_text("utf-8"))}


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    os.chdir(ROOT)
    for each in pictures().values():
        told(*shlex.split(each)[1:])
