"""What mini-opt shows of passes: their options, the pipeline as text, modules in files, and what changed."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from command_runs import cli, saved
from engine_cases import MODELS
from typer.core import TyperGroup
from typer.main import get_command

from mini_infer.lowering.pipelines import parse_passes, pipeline_text
from mini_infer.lowering.registry import PASSES, load_pass, pass_options
from mini_infer.runtime.compile.engine_phases import engine_phases
from mini_infer.runtime.config import EngineConfig
from mini_infer.tools.mini_infer import app
from mini_infer.tools.mini_opt.command import main

MODULE = """
func.func @twice(%a: i32) -> i32 {
  %b = arith.addi %a, %a : i32
  %c = arith.addi %a, %a : i32
  %d = arith.addi %b, %c : i32
  func.return %d : i32
}
"""


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "module.mlir"
    path.write_text(MODULE)
    return path


def files_below(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if each.is_file())


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_a_pipeline_is_a_text_that_makes_the_same_passes(device: str) -> None:
    options: dict[str, Any] = {"planner": "beam", "beam_width": 3, "max_workspace_size": 99}
    every = engine_phases(EngineConfig(device=device, disable_inplace=["add", "mul"], enable_profiling=True, **options))
    passes = [each for phase in every for each in parse_passes(phase.passes)]
    assert any(each.spec().parameters for each in passes)
    assert list(parse_passes(pipeline_text(passes))) == passes


def test_the_dumped_pipeline_makes_the_same_module(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = str(saved(MODELS["perceptron"](), tmp_path))
    assert main([model, "--to", "loops", "--dump-pass-pipeline"]) == 0
    first = capsys.readouterr()
    pipeline = first.err.splitlines()[0]
    assert main([model, "-p", pipeline, "--dump-pass-pipeline"]) == 0
    again = capsys.readouterr()
    assert (again.out, again.err) == (first.out, first.err)


def test_a_folder_with_the_module_after_every_pass(module: Path, tmp_path: Path) -> None:
    tree = tmp_path / "new" / "tree"
    assert (
        main([str(module), "-p", "licm,cse,dce", "--print-ir-tree-dir", str(tree), "-o", str(tmp_path / "o.mlir")]) == 0
    )
    folder = tree / "builtin_module_no-symbol-name"
    assert files_below(folder) == ["000_licm.mlir", "001_cse.mlir", "002_dce.mlir"]
    assert [each.read_text().count("arith.addi") for each in sorted(folder.iterdir())] == [3, 2, 2]
    assert main([str(folder / "000_licm.mlir"), "-p", "cse,dce", "-o", str(tmp_path / "p.mlir")]) == 0
    assert (tmp_path / "p.mlir").read_text() == (tmp_path / "o.mlir").read_text()


def test_files_of_what_is_asked_for_only(module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module.write_text(f"builtin.module @one {{{MODULE}}}\n// -----\nbuiltin.module @two {{{MODULE}}}")
    words = [
        "-p",
        "licm,cse",
        "--print-ir-before=cse",
        "--print-ir-after-change",
        "--print-ir-diff",
        "--split-input-file",
    ]
    assert main([str(module), *words, "--print-ir-tree-dir", str(tmp_path / "tree")]) == 0
    assert capsys.readouterr().err == ""
    assert files_below(tmp_path / "tree") == [
        "builtin_module_one/001_cse.before.mlir",
        "builtin_module_one/001_cse.diff",
        "builtin_module_one/001_cse.mlir",
        "builtin_module_two/003_cse.before.mlir",
        "builtin_module_two/003_cse.diff",
        "builtin_module_two/003_cse.mlir",
    ]


def test_a_folder_that_can_not_be_made(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(module), "-p", "cse", "--print-ir-tree-dir", str(module)]) == 1
    assert capsys.readouterr().err == f"mini-opt: error: {module}: File exists\n"


def test_a_diff_holds_what_a_pass_changed_and_nothing_else(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(module), "-p", "licm,cse,dce", "--print-ir-diff"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line for line in lines if line.startswith(("-", "+"))] == [
        "--- before cse",
        "+++ after cse",
        "-    %c = arith.addi %a, %a : i32",
        "-    %d = arith.addi %b, %c : i32",
        "+    %d = arith.addi %b, %b : i32",
    ]


def test_values_keep_their_names_in_diffs(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = MODULE.replace("%a", "%0").replace("%b", "%1").replace("%c", "%2").replace("%d", "%3")
    module.write_text(text + text.replace("@twice", "@again"))
    assert main([str(module), "-p", "cse", "--print-ir-diff"]) == 0
    changed = [line for line in capsys.readouterr().err.splitlines()[2:] if line.startswith(("-", "+"))]
    assert [line[0] for line in changed] == ["-", "-", "+"] * 2  # as before, in either function
    assert changed[0] == "-    %2 = arith.addi %0, %0 : i32"
    assert changed[2] == "+    %3 = arith.addi %1, %1 : i32"


def test_passes_are_listed_with_their_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--list-passes"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in listed)
    start = next(number for number, line in enumerate(listed) if line.startswith("  plan-arena "))
    assert listed[start + 1].split() == ["strategy", "str", "=", "auto"]
    assert listed[start + 3].split() == ["capacity", "int", "|", "None", "=", "none"]
    for name in PASSES:
        assert any(line.startswith(f"  {name} ") for line in listed)
        assert [each.name for each in pass_options(name)] == [each.name for each in fields(load_pass(name))]


def test_help_of_mini_infer_fits_80_columns() -> None:
    program = get_command(app)
    assert isinstance(program, TyperGroup)
    listed = cli("--help").stdout
    for name, command in program.commands.items():
        assert command.help and command.help in " ".join(listed.split())  # none of it is cut off
        shown = cli(name, "--help").stdout
        assert all(len(line) <= 80 for line in [*listed.splitlines(), *shown.splitlines()])
        assert all(option in shown for parameter in command.params for option in parameter.opts if option[0] == "-")


def test_help_of_mini_opt_fits_80_columns(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert "passes at the graph level:" in shown
    assert all(len(line) <= 80 for line in shown.splitlines())
