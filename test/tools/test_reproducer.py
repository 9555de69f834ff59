"""A pass that fails leaves a file with which it fails again, where mini-opt is asked for one."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_runs import saved
from engine_cases import MODELS
from xdsl.dialects.builtin import IntAttr, ModuleOp
from xdsl.dialects.func import FuncOp

from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.passes.memory.elide_copies import ElideCopies
from mini_infer.passes.memory.plan_arena import PlanArena
from mini_infer.tools.mini_opt.command import main

OPTION = "--pass-pipeline-crash-reproducer"
WRONG = """
graph.kernel @relu(%x: tensor<8xf32>) -> tensor<8xf32> {
  %r = graph.relu %x : tensor<8xf32>
  graph.yield %r : tensor<8xf32>
}
func.func @main(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = graph.relu %x : tensor<8xf32> loc("early")
  func.return %a : tensor<8xf32>
}
"""
COMPLAINT = "early (graph.relu): bufferize takes calls, reshapes, weights, loops, branches and scalars only"


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    """A module that bufferize refuses."""
    file = tmp_path / "wrong.mlir"
    file.write_text(WRONG)
    return file


def error_of(capsys: pytest.CaptureFixture[str]) -> str:
    error = capsys.readouterr().err
    assert error.startswith("mini-opt: error: ") and error.count("\n") == 1
    return error.removeprefix("mini-opt: error: ").rstrip("\n")


def test_the_module_before_the_pass_and_the_passes_from_it_on(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = wrong.with_name("again.mlir")
    passes = "cse,bufferize,plan-arena{strategy=pools alignment=64}"
    assert main([str(wrong), "-p", passes, OPTION, str(file)]) == 1
    assert error_of(capsys) == f"{COMPLAINT}; to reproduce it: mini-opt {file} --run-reproducer"
    pipeline = '--pass-pipeline=bufferize,plan-arena{strategy="pools" alignment=64}'
    assert file.read_text().startswith(f"// configuration: '{pipeline}' --verify-each\nbuiltin.module {{\n")
    assert main([str(file), "--run-reproducer"]) == 1
    assert error_of(capsys) == COMPLAINT
    assert main([str(file), "-p", "dce"]) == 0  # it is a module like any other


def test_a_crash_is_one_line_and_its_module_goes_on_to_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def crash(*_: object) -> None:
        raise ZeroDivisionError("by zero")

    model, file = saved(MODELS["perceptron"](), tmp_path), tmp_path / "again.mlir"
    assert main([str(model), "-t", "llvm-ir"]) == 0
    expected = capsys.readouterr().out
    with monkeypatch.context() as patched:
        patched.setattr(PlanArena, "apply", crash)
        assert main([str(model), "-t", "llvm-ir", OPTION, str(file)]) == 1
        told = f"plan-arena crashed: ZeroDivisionError: by zero; to reproduce it: mini-opt {file} --run-reproducer"
        assert error_of(capsys) == told
        with pytest.raises(ZeroDivisionError):  # for whoever looks for the mistake
            main([str(file), "--run-reproducer"])
    assert sorted(each.name for each in tmp_path.iterdir()) == ["again.mlir", "again.weights", "model.onnx"]
    assert main([str(file), "--run-reproducer", "-t", "llvm-ir"]) == 0
    assert capsys.readouterr().out == expected


def test_a_pass_that_leaves_a_wrong_module_is_named_as_well(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def spoil(_: ElideCopies, ctx: MiniContext, module: ModuleOp) -> None:
        next(op for op in module.walk() if isinstance(op, FuncOp)).properties["function_type"] = IntAttr(1)

    monkeypatch.setattr(ElideCopies, "apply", spoil)
    model, file = saved(MODELS["perceptron"](), tmp_path), tmp_path / "again.mlir"
    assert main([str(model), "--to", "arena", OPTION, str(file)]) == 1
    assert error_of(capsys).endswith(f"; to reproduce it: mini-opt {file} --run-reproducer")
    assert file.read_text().startswith("// configuration: --pass-pipeline=elide-copies,plan-arena,verify-arena,")


def test_a_file_that_can_not_be_written(wrong: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "nowhere" / "again.mlir"
    assert main([str(wrong), "-p", "bufferize", OPTION, str(file)]) == 1
    expected = f"{COMPLAINT}; there is no reproducer: {file}: can't be written: No such file or directory"
    assert error_of(capsys) == expected


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-p", "cse", OPTION, "again.txt"], f"{OPTION} again.txt: the name must end in .mlir"),
        (["-p", "cse", OPTION, "wrong.mlir"], f"{OPTION} wrong.mlir: that is the input"),
        (["-p", "cse", OPTION, "a.mlir", "--verify-diagnostics"], f"{OPTION} and --verify-diagnostics exclude each"),
        (["--run-reproducer"], "--run-reproducer: wrong.mlir does not begin with // configuration: --pass-pipeline="),
        (["--run-reproducer", "-p", "cse"], "--run-reproducer takes a FILE, and the passes that it states"),
    ],
)
def test_options_that_make_no_sense(
    words: list[str], message: str, wrong: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(wrong.parent)
    assert main([wrong.name, *words]) == 1
    assert error_of(capsys).startswith(message)
    assert [each.name for each in wrong.parent.iterdir()] == [wrong.name]


@pytest.mark.parametrize("line", ["--pass-pipeline='cse", "--pass-pipeline=cse --host", "--verify-each", ""])
def test_first_lines_that_are_none(line: str, wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong.write_text(f"// configuration: {line}\n{WRONG}")
    assert main([str(wrong), "--run-reproducer"]) == 1
    assert "does not begin with" in error_of(capsys)


def test_mistakes_in_options_and_runs_that_succeed_leave_no_file(
    wrong: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = wrong.with_name("again.mlir")
    wrong.write_text(f'builtin.module attributes {{mini_infer.level = "graph"}} {{{WRONG.split("}", 1)[1]}}}')
    assert main([str(wrong), "-p", "insert-barriers", OPTION, str(file)]) == 1
    assert error_of(capsys).startswith("insert-barriers works at the arena level")
    assert main([str(wrong), "-p", "cse", OPTION, str(file)]) == 0
    assert not file.exists()
