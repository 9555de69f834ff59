"""Help of mini-infer and mini-opt at 80 columns, and what they say when they are given nothing to do."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from command_runs import ENVIRONMENT, cli
from typer.testing import CliRunner

from mini_infer.tools.mini_infer import app
from mini_infer.tools.mini_opt import command as mini_opt

GROUP: Any = typer.main.get_command(app)
COMMANDS: dict[str, tuple[typer.Typer, list[str], Any]] = {
    "mini-infer": (app, [], GROUP),
    **{f"mini-infer {name}": (app, [name], command) for name, command in GROUP.commands.items()},
    "mini-opt": (mini_opt.app, [], typer.main.get_command(mini_opt.app)),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_is_readable_at_80_columns(name: str) -> None:
    """No line is longer, no option's name is cut off, and no word, which may be one to copy, is broken."""
    program, words, command = COMMANDS[name]
    result = CliRunner().invoke(program, [*words, "--help"], env={"COLUMNS": "80"})
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert [line for line in lines if len(line) > 80] == []
    assert [line for line in lines if re.search(r"\w-$|^ +[;,.]", line)] == []
    options = [each for parameter in command.params for each in (*parameter.opts, *parameter.secondary_opts)]
    shown = [each for each in options if each.startswith("-")]
    assert [each for each in shown if not re.search(rf"(?<![\w-]){each}(?![\w-])", result.stdout)] == []


def test_the_bare_command_shows_its_usage() -> None:
    result = cli()
    assert (result.exit_code, result.stdout) == (2, "")
    assert re.search(r"^Usage: .*^  run +Compile a model", result.stderr, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize(
    ("words", "typed", "expected"),
    [
        ([], b"", r"Usage: mini-opt .*fold-constants"),
        (
            ["-p", "cse"],
            b"builtin.module {}\n\x04",
            r"mini-opt: note: reading a module from the terminal, until Ctrl-D",
        ),
    ],
)
def test_mini_opt_says_on_a_terminal_that_it_reads(words: list[str], typed: bytes, expected: str) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "mini_infer.tools.mini_opt.command", *words]
    os.write(ours, typed)
    try:
        result = subprocess.run(command, stdin=theirs, capture_output=True, text=True, env=ENVIRONMENT, timeout=60)
    finally:
        os.close(ours)
        os.close(theirs)
    assert re.match(expected, result.stderr, re.DOTALL)
    assert (result.returncode, "builtin.module" in result.stdout) == ((0, True) if typed else (2, False))


def test_mini_opt_reads_what_is_piped_into_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mini_infer.tools.mini_opt.command"]
    result = subprocess.run(command, input="builtin.module {}", capture_output=True, text=True, env=ENVIRONMENT)
    assert (result.returncode, result.stderr, result.stdout.strip()) == (0, "", "builtin.module {\n}")
