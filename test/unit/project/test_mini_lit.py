"""How RUN lines are read and carried out inside lit's workers."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

import mini_lit
import pytest
from isolated import Died, isolated
from lit.formats import ShTest
from mini_lit import MiniLit, call, parse_run_line, run_lines, run_pipeline, run_test


def run(line: str) -> str:
    pipeline = parse_run_line(line)
    assert pipeline is not None
    return run_pipeline(pipeline)


def test_continued_lines_are_joined() -> None:
    assert run_lines("// RUN: mini-opt %s \\\n// RUN:   -p cse\n// RUN: other") == [
        "mini-opt %s -p cse",
        "other",
    ]


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("mini-opt a -p 'cse, dce' | filecheck a", [["mini-opt", "a", "-p", "cse, dce"], ["filecheck", "a"]]),
        ("not mini-opt a 2>&1 | filecheck a", [["mini-opt", "a"], ["filecheck", "a"]]),
        ("filecheck a < b", [["filecheck", "a"]]),
        ("mini-opt a -p '' --to 'b'", [["mini-opt", "a", "-p", "", "--to", "b"]]),
    ],
)
def test_pipelines_are_read(line: str, words: Sequence[Sequence[str]]) -> None:
    pipeline = parse_run_line(line)
    assert pipeline is not None
    assert [command.words for command in pipeline] == words


@pytest.mark.parametrize(
    "line",
    [
        "cat a | filecheck b",
        "mini-opt a && mini-opt b",
        "mini-opt $A",
        "mini-opt `a`",
        "mini-opt a;",
        "mini-opt a || mini-opt b",
        "not",
    ],
)
def test_the_rest_is_left_to_the_shell(line: str) -> None:
    assert parse_run_line(line) is None


@pytest.fixture
def checked(tmp_path: Path) -> Path:
    path = tmp_path / "test.mlir"
    path.write_text("// CHECK: func.func @f\nfunc.func @f() {\n  func.return\n}\n")
    return path


def test_agreement_passes(checked: Path) -> None:
    assert run(f"mini-opt {checked} | filecheck {checked}") == ""


def test_difference_fails(checked: Path) -> None:
    checked.write_text(checked.read_text().replace("CHECK: func.func @f", "CHECK: func.func @g"))
    assert "exit status 1" in run(f"mini-opt {checked} | filecheck {checked}")


def test_a_program_that_fails_fails_the_line(checked: Path) -> None:
    assert "there is no pass 'nothing'" in run(f"mini-opt {checked} -p nothing")
    assert "exit status 0" in run(f"not mini-opt {checked}")


def test_redirections(checked: Path, tmp_path: Path) -> None:
    assert run(f"mini-opt {checked} > {tmp_path}/out.mlir") == ""
    assert run(f"filecheck {checked} < {tmp_path}/out.mlir") == ""
    assert run(f"not mini-opt {checked} -p nothing 2>&1 > {tmp_path}/errors") == ""
    assert "no pass" in (tmp_path / "errors").read_text()


def test_what_goes_into_a_file_goes_no_further(checked: Path, tmp_path: Path) -> None:
    assert "exit status" in run(f"mini-opt {checked} > {tmp_path}/out.mlir | filecheck {checked}")


def test_errors_are_piped_on_only_if_asked_for(checked: Path, tmp_path: Path) -> None:
    complaint = tmp_path / "complaint"
    complaint.write_text("CHECK: there is no pass")
    assert run(f"not mini-opt {checked} -p nothing 2>&1 | filecheck {complaint}") == ""
    assert "exit status" in run(f"not mini-opt {checked} -p nothing | filecheck {complaint}")


def test_not_twice_is_nothing(checked: Path) -> None:
    assert run(f"not not mini-opt {checked}") == ""
    assert "exit status" in run(f"not not mini-opt {checked} -p nothing")


@pytest.mark.parametrize(("end", "status"), [(None, 0), (0, 0), (3, 3), ("a word", 1)])
def test_a_program_may_end_early(end: int | str | None, status: int) -> None:
    def program(arguments: Sequence[str]) -> int:
        print(*arguments, sys.stdin.read())
        sys.exit(end)

    found = call(program, ["a"], b"given", False)
    assert (found.status, found.output, found.errors) == (status, b"a given\n", "")


@pytest.mark.parametrize(("status", "line"), [(0, ""), (1, "not "), (2, "not ")])
def test_any_status_but_zero_is_a_failure(status: int, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def program(_: Sequence[str]) -> int:
        return status

    monkeypatch.setitem(mini_lit.PROGRAMS, "mini-opt", program)
    assert run(f"{line}mini-opt") == ""
    assert f"exit status {status}" in run("mini-opt" if line else "not mini-opt")


class Described:
    """A test as lit describes it."""

    def __init__(self, source: Path) -> None:
        self.source = source

    def getSourcePath(self) -> str:
        return str(self.source)

    def getExecPath(self) -> str:
        return str(self.source.parent / "scratch" / self.source.name)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("// RUN: mini-opt %s | filecheck %s\n// CHECK: func.func @f", "PASS"),
        ("// RUN: mini-opt %s | filecheck %s\n// CHECK: func.func @g", "FAIL"),
        ("// RUN: mini-opt %s -o %t\n// RUN: filecheck %s < %t\n// CHECK: func.func @g", "FAIL"),
        ("// RUN: mini-opt test.mlir | filecheck %S/test.mlir\n// CHECK: func.func @f", "PASS"),
        ("// RUN: mini-opt %s | filecheck %s\n// REQUIRES: nothing\n// CHECK: func.func @f", "shell"),
        ("// RUN: mini-opt %s | grep f", "shell"),
        ("// nothing", "shell"),
    ],
)
def test_what_lit_is_told(text: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def shell(*_: object) -> tuple[str, str]:
        return "shell", ""

    monkeypatch.setattr(ShTest, "execute", shell)
    source = tmp_path / "test.mlir"
    source.write_text(f"{text}\nfunc.func @f() {{\n  func.return\n}}\n")
    (found, _) = cast(Any, MiniLit(False)).execute(Described(source), None)
    assert (found if isinstance(found, str) else found.name) == code


def test_a_mistake_of_a_tool_fails_its_test(checked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(_: Sequence[str]) -> int:
        raise IndexError("no such thing")

    monkeypatch.setitem(mini_lit.PROGRAMS, "mini-opt", mistaken)
    pipeline = parse_run_line(f"mini-opt {checked}")
    assert pipeline is not None
    assert run_test([pipeline], checked.parent).endswith("IndexError: no such thing\n")


def kill(*_: object) -> int:
    """Ends this process as a crash does, without the report that pytest prints of a crash."""
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def test_a_function_in_a_process_of_its_own_answers_or_raises() -> None:
    assert isolated(os.getpid, 60) != os.getpid()
    with pytest.raises(ZeroDivisionError):
        isolated(lambda: 1 // 0, 60)


@pytest.mark.parametrize(
    ("function", "told"),
    [
        (kill, "killed by SIGKILL"),
        (partial(os._exit, 7), "ended with exit status 7"),
        (partial(time.sleep, 60), "timed out after 1 s"),
    ],
)
def test_a_process_that_dies_is_told(function: Callable[[], object], told: str) -> None:
    with pytest.raises(Died, match=told):
        isolated(function, 1)


def test_a_crash_of_a_tool_fails_its_test_alone(checked: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline = parse_run_line(f"mini-opt {checked}")
    assert pipeline is not None
    assert run_test([pipeline], checked.parent) == ""
    monkeypatch.setitem(mini_lit.PROGRAMS, "mini-opt", kill)
    assert run_test([pipeline], checked.parent) == "killed by SIGKILL"
