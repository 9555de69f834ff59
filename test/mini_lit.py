"""How lit runs our tests: inside its worker processes, with everything imported already.

Starting Python and importing xDSL takes longer than nearly every test. So where RUN lines are made only of
mini-opt, filecheck and `not`, joined by pipes, these are called as functions, in a process forked for the test
so that a crash or an endless loop has the test's name; a test that holds anything else goes to lit's own shell.
The test's folder is the working directory, and %t lies below .lit/.
"""

from __future__ import annotations

import contextlib
import gc
import io
import os
import re
import shlex
import sys
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

import lit.Test
from filecheck.main import main as filecheck
from isolated import Died, isolated
from lit.formats import ShTest
from typing_extensions import override

from mini_infer.lowering.registry import DIALECTS, PASSES
from mini_infer.runtime.native.cpu_targets import host_target
from mini_infer.tools.mini_opt.command import main as mini_opt

RUN_LINE = re.compile(r"RUN:\s*(.*)")
LIT_FEATURES = re.compile(r"\b(REQUIRES|UNSUPPORTED|XFAIL|DEFINE|REDEFINE|ALLOW_RETRIES):|\bEND\.")
SECONDS = 300  # for one test; the slowest take half a minute, and many times that on a busy machine
COMPILED_FIRST = Path(__file__).parent / "meaning" / "relu.mlir"
MERGE_STREAMS = "\0merge"  # stands for 2>&1 while a line is taken apart


def run_lines(text: str) -> list[str]:
    """The RUN lines of a test, with those that end in a backslash joined to the next."""
    joined: list[str] = []
    continued = False
    for match in RUN_LINE.finditer(text):
        line = match[1].rstrip()
        if continued:
            joined[-1] = joined[-1].removesuffix("\\") + line
        else:
            joined.append(line)
        continued = line.endswith("\\")
    return joined


@dataclass
class Command:
    """One program of a pipeline, as words, with its redirections."""

    words: list[str] = field(default_factory=list[str])
    negated: bool = False
    merged: bool = False
    stdin: str | None = None
    stdout: str | None = None


def parse_run_line(line: str) -> list[Command] | None:
    """The pipeline of a RUN line; None where it holds more than this file carries out."""
    lexer = shlex.shlex(line.replace("2>&1", f" {MERGE_STREAMS} "), posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    lexer.commenters = ""
    pipeline = [Command()]
    tokens = iter(lexer)
    for token in tokens:
        command = pipeline[-1]
        if token == "|":
            pipeline.append(Command())
        elif token == MERGE_STREAMS:
            command.merged = True
        elif token == "<":
            command.stdin = next(tokens, None)
        elif token == ">":
            command.stdout = next(tokens, None)
        elif not command.words and token == "not":
            command.negated = not command.negated
        elif (token and set(token) <= set("();<>|&")) or "$" in token or "`" in token:
            return None
        else:
            command.words.append(token)
    programs = {command.words[0] if command.words else "" for command in pipeline}
    return pipeline if programs <= PROGRAMS.keys() else None


def weaknesses(text: str) -> list[str]:
    """Why a test would pass whatever the tools do; empty when it can fail."""
    lines = run_lines(text)
    found = [] if lines else ["has no RUN line"]
    found += [f"neither reads %s nor %t: {line}" for line in lines if "%s" not in line and "%t" not in line]
    found += [f"throws its output away: {line}" for line in lines if not _has_consequence(line)]
    if lines and not any(re.search(r"\bfilecheck\s+%s|--verify-diagnostics\b", line) for line in lines):
        found.append("checks nothing: no RUN line ends in `filecheck %s`, none has --verify-diagnostics")
    if any("--verify-diagnostics" in line for line in lines) and "expected-" not in text:
        found.append("expects no diagnostics")
    return found


def _has_consequence(line: str) -> bool:
    return bool(re.search(r"\bfilecheck\b|\s-o\b|>\s*%t|\bdiff\b|\bcmp\b|--verify-diagnostics\b", line))


def _filecheck(arguments: Sequence[str]) -> int:
    filecheck(["filecheck", *arguments])
    return 0


PROGRAMS: dict[str, Callable[[Sequence[str]], int]] = {
    "filecheck": _filecheck,
    "mini-opt": mini_opt,
}


@dataclass(frozen=True)
class Result:
    """What a program left behind."""

    status: int
    output: bytes
    errors: str


def call(program: Callable[[Sequence[str]], int], arguments: Sequence[str], given: bytes, merged: bool) -> Result:
    """Calls a program as if it were a process; its bugs (exceptions) are raised."""
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    errors = output if merged else io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True)
    standard_input, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
            status = program(arguments)
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stdin = standard_input
    return Result(status, output.buffer.getvalue(), "" if merged else errors.buffer.getvalue().decode())


def run_pipeline(pipeline: Sequence[Command]) -> str:
    """Runs a pipeline; the empty string when all went well, otherwise what to tell."""
    given = b""
    for command in pipeline:
        if command.stdin is not None:
            given = Path(command.stdin).read_bytes()
        result = call(PROGRAMS[command.words[0]], command.words[1:], given, command.merged)
        if (result.status != 0) != command.negated:
            shown = (result.output.decode() if command.words[0] != "filecheck" else given.decode())[:20_000]
            return f"{shlex.join(command.words)}: exit status {result.status}\n{result.errors}\n{shown}"
        given = result.output
        if command.stdout is not None:
            Path(command.stdout).write_bytes(given)
            given = b""
    return ""


class _Test(Protocol):
    def getSourcePath(self) -> str: ...
    def getExecPath(self) -> str: ...


class MiniLit(ShTest):  # pyright: ignore[reportUntypedBaseClass]
    """A test format: see the top of this file."""

    @override
    def execute(self, test: _Test, litConfig: object) -> object:
        source, scratch = Path(test.getSourcePath()), Path(f"{test.getExecPath()}.tmp")
        text = source.read_text(encoding="utf-8")
        pipelines = [parse_run_line(_substitute(line, source, scratch)) for line in run_lines(text)]
        if not pipelines or None in pipelines or LIT_FEATURES.search(text):
            return super().execute(test, litConfig)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        scratch.parent.mkdir(parents=True, exist_ok=True)
        complaint = run_test(cast("list[list[Command]]", pipelines), source.parent)
        return (lit.Test.FAIL, complaint) if complaint else (lit.Test.PASS, "")


def run_test(pipelines: Sequence[Sequence[Command]], folder: Path, seconds: int = SECONDS) -> str:
    """Runs pipelines in `folder`, in a process of their own; the empty string when all went well."""

    def run() -> str:
        os.chdir(folder)
        try:
            return next((told for pipeline in pipelines if (told := run_pipeline(pipeline))), "")
        except Exception:
            return traceback.format_exc()

    import_tools()
    try:
        return cast("str", isolated(run, seconds))
    except Died as end:
        return str(end)


@cache
def import_tools() -> None:
    """Imports what tests use, and compiles a module for what is made at first use, for all processes forked later."""
    for entry in (
        *PASSES.values(),
        *DIALECTS.values(),
        "numpy",
        "onnx",
        "mini_infer.runtime.compile.module_to_plan",
        "mini_infer.tools.mini_opt.opt_run",
    ):
        import_module(entry.partition(":")[0])
    host_target()
    with contextlib.suppress(Exception):  # where it fails, its own test tells
        call(mini_opt, [str(COMPILED_FIRST), "-t", "check"], b"", merged=False)
    gc.freeze()  # or each forked process looks through all of it for garbage, and so copies it
    gc.set_threshold(100_000, 20, 50)


def _substitute(line: str, source: Path, scratch: Path) -> str:
    values = {"%s": str(source), "%t": str(scratch), "%S": str(source.parent), "%%": "%"}
    return re.sub("%[stS%]", lambda match: values[match[0]], line)
