"""What mini-opt makes code for: this machine for a model, what the text states for a module, or what an option says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from command_runs import cli, complaint, saved
from models.build import ModelBuilder

from mini_infer.dialects.kernel.targets import CpuAttr
from mini_infer.lowering.module_text import read_module
from mini_infer.runtime.compile.module_to_plan import lower
from mini_infer.runtime.compile.source import source_of
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.native.cpu_targets import apart_from_host, target_attribute
from mini_infer.runtime.native.llvmlite_calls import Machine
from mini_infer.tools.mini_opt.command import main

MODULE = """
func.func @main(%x: tensor<4x8xf32> {graph.name = "x"}) -> (tensor<4x8xf32> {graph.name = "y"}) {
  %y = graph.exp %x : tensor<4x8xf32>
  func.return %y : tensor<4x8xf32>
}
"""
NOTE = "mini-opt: note: the code is not for this machine: cpu = "
ANOTHER = "aarch64-linux-gnu:neoverse-n1"
PORTABLE = "x86_64-linux-gnu:x86-64"


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """Convolutions, whose schedules differ from CPU to CPU."""
    b = ModelBuilder("network")
    x = b.node("Relu", b.node("Conv", b.input("image", [1, 3, 12, 12]), b.weight(32, 3, 3, 3)))
    return saved(b.model([b.node("Relu", b.node("Conv", x, b.weight(32, 32, 1, 1)))]), tmp_path)


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "module.mlir"
    path.write_text(MODULE)
    return path


def target_in(file: Path) -> CpuAttr:
    target = read_module(file)[0].attributes["kernel.target"]
    assert isinstance(target, CpuAttr)
    return target


def code_of(file: Path) -> tuple[list[bytes], bytes]:
    """The object code that an engine makes of a file, and its weights."""
    config = EngineConfig(compile_threads=1)
    module, ctx = source_of(str(file)).load(config)
    lowered = lower(module, ctx, config)
    return [bytes(each) for each in lowered.compilation.objects()], lowered.weights().tobytes()


def test_a_model_is_compiled_for_this_machine_as_an_engine_does_it(
    network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for level in ("graph", "kernels", "arena"):
        written = tmp_path / f"{level}.mlir"
        assert main([str(network), "--to", level, "-o", str(written)]) == 0
        assert apart_from_host(target_in(written)) == ""
        assert code_of(written) == code_of(network)
    assert capsys.readouterr().err == ""
    result = cli("run", tmp_path / "kernels.mlir", "--repeat", "1")
    assert (result.exit_code, result.stderr) == (0, "")


def test_an_option_wins(network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = tmp_path / "portable.mlir"
    assert main([str(network), "--to", "kernels", "--cpu", PORTABLE, "-o", str(written)]) == 0
    assert target_in(written).cpu.data == PORTABLE
    host = target_attribute(EngineConfig()).cpu.data
    error = capsys.readouterr().err
    assert error.startswith(f"{NOTE}{PORTABLE} instead of {host}") and error.count("\n") == 1
    assert main([str(network), "--to", "arena", "--gpu", "sm_80"]) == 0
    captured = capsys.readouterr()
    assert 'kernel.target = #kernel.gpu<"sm_80"' in captured.out and "not for this machine" not in captured.err


def test_text_keeps_the_target_that_it_states(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module.write_text(f"builtin.module attributes {{kernel.target = {CpuAttr.of(cpu=ANOTHER)}}} {{{MODULE}}}")
    assert main([str(module), "--to", "kernels"]) == 0
    captured = capsys.readouterr()
    assert f'#kernel.cpu<"{ANOTHER}"' in captured.out
    assert captured.err.startswith(f"{NOTE}{ANOTHER} instead of ") and captured.err.endswith("; see --host\n")


def test_a_note_stands_only_where_the_target_matters(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(module), "--to", "graph"]) == 0
    assert main([str(module), "--to", "kernels", "--host"]) == 0
    assert capsys.readouterr().err == ""
    assert main([str(module), "--to", "llvm"]) == 0
    assert capsys.readouterr().err.startswith(f"{NOTE}generic instead of ")


@pytest.mark.parametrize(("form", "comment"), [("llvm-ir", "; target: {}\n"), ("asm", "/* target: {} */\n")])
def test_texts_of_code_begin_with_their_target(
    form: str, comment: str, network: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(network), "-t", form]) == 0
    captured = capsys.readouterr()
    target = target_attribute(EngineConfig(threads=1))
    assert captured.out.startswith(comment.format(target)) and captured.err == ""
    assert main([str(network), "-t", form, "--cpu", ANOTHER]) == 0
    assert captured.out != (again := capsys.readouterr()).out
    assert again.out.startswith(comment.split("{")[0] + f'#kernel.cpu<"{ANOTHER}"') and again.err.startswith(NOTE)


@pytest.mark.parametrize("level", ["kernels", "loops", "llvm"])
def test_instructions_that_this_machine_lacks_are_refused(level: str, tmp_path: Path) -> None:
    """LLVM would end the process."""
    b = ModelBuilder("bytes")
    y = b.node("MatMulInteger", b.input("x", [8, 64], np.uint8), b.constant(np.ones((64, 64), np.int8)))
    other = "x86_64-linux-gnu:cascadelake" if Machine().architecture != "x86_64" else ANOTHER
    written = tmp_path / "bytes.mlir"
    model = saved(b.model([y], [np.int32]), tmp_path)
    assert main([str(model), "--to", level, "--cpu", other, "-o", str(written)]) == 0
    assert "the module's kernels are for a CPU that has " in complaint("run", written)


def test_running_kernels_of_another_target_is_noted(
    network: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "portable.mlir"
    assert main([str(network), "--to", "kernels", "--cpu", ANOTHER, "-o", str(written)]) == 0
    capsys.readouterr()
    result = cli("run", written, "--repeat", "1")
    note = f"mini-infer: note: {written} has kernels for another CPU than this: "
    assert result.exit_code == 0 and result.stderr.startswith(note) and result.stderr.count("\n") == 1
    assert main([str(network), "--to", "graph", "--cpu", ANOTHER, "-o", str(written)]) == 0
    capsys.readouterr()
    assert cli("run", written, "--repeat", "1").stderr == ""  # which has no kernels yet
