"""mini-infer and mini-opt as a shell knows them: their versions, the words that it completes, lines of errors."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from command_runs import ENVIRONMENT
from models.builder import ModelBuilder
from typer.testing import CliRunner

import mini_infer as mi
from mini_infer.tools import mini_infer as cli
from mini_infer.tools.mini_opt import command as mini_opt


@pytest.mark.parametrize("program", ["mini-infer", "mini-opt"])
def test_the_version_is_told(program: str) -> None:
    result = CliRunner().invoke({"mini-infer": cli, "mini-opt": mini_opt}[program].app, ["--version"])
    assert result.exit_code == 0 and result.stdout.split()[-1] == mi.__version__


@pytest.mark.parametrize(
    ("program", "words", "completions"),
    [
        ("mini-infer", "pl", ["plan"]),
        ("mini-infer", "bench --js", ["--json"]),
        ("mini-opt", "--to bu", ["buffers"]),
        ("mini-opt", "-p cse,fold", ["cse,fold-constants", "cse,fold-batch-norm", "cse,fold-kernels"]),
    ],
)
def test_the_shell_completes_words(program: str, words: str, completions: list[str]) -> None:
    variable = f"_{program.replace('-', '_').upper()}_COMPLETE"
    typed = f"{program} {words}"
    environment = ENVIRONMENT | {variable: "complete_bash", "COMP_WORDS": typed, "COMP_CWORD": str(typed.count(" "))}
    module = {"mini-infer": "mini_infer", "mini-opt": "mini_opt.command"}[program]
    command = [sys.executable, "-m", f"mini_infer.tools.{module}"]
    result = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert (result.stdout.split(), result.stderr) == (completions, "")


def test_names_in_a_message_cannot_break_its_line(tmp_path: Path) -> None:
    model = tmp_path / "m.onnx"
    builder = ModelBuilder("names")
    proto = builder.model([builder.node("Relu", builder.input("x", [3]))])
    proto.graph.node[0].op_type, proto.graph.node[0].name = "Reluu", "a\nb\x1b[31m"
    model.write_bytes(proto.SerializeToString())
    for app in (cli.app, mini_opt.app):
        error = CliRunner().invoke(app, ["run", str(model)] if app is cli.app else [str(model)]).stderr
        assert error.count("\n") == 1 and r"a\nb\x1b[31m" in error


def test_of_a_long_line_only_what_is_near_the_mistake_is_shown(tmp_path: Path) -> None:
    text = tmp_path / "long.mlir"
    text.write_text(f'"func.return"() {{a = "{"x" * 3000}", b = }} : () -> () {"y" * 3000}')
    place, line, carets, message = CliRunner().invoke(mini_opt.app, [str(text)]).stderr.splitlines()
    assert place.endswith("long.mlir:1:3030")
    assert len(line) == 160 and line[carets.index("^") - 4 :].startswith("b = }")
    assert message == " " * carets.index("^") + "attribute expected"
