"""mini-opt and the files it reads and writes: whole or not at all, weights beside the module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mini_infer.dialects.graph import BlobStore
from mini_infer.tools.mini_opt import main

MODULE = "func.func @f(%a: i32) -> i32 {\n  func.return %a : i32\n}\n"


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "in" / "module.mlir"
    path.parent.mkdir()
    path.write_text(MODULE)
    return path


def weight_module(blob: str) -> str:
    return (
        "func.func @main() -> tensor<4xf32> {\n"
        f"  %w = graph.weight {blob} : tensor<4xf32>\n"
        "  func.return %w : tensor<4xf32>\n}\n"
    )


def in_file(path: Path, array: np.ndarray[tuple[int], np.dtype[np.float32]], name: str) -> str:
    """Text for a blob that holds `array` in a new file `path`, called `name` in the text."""
    path.write_bytes(array.tobytes())
    digest = BlobStore().add(array).digest.data
    return f'#graph.blob<"{name}", 0, {array.nbytes}, "{digest}">'


def files_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def run(*arguments: str | Path, text: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mini_infer.tools.mini_opt", *map(str, arguments)]
    return subprocess.run(command, input=text, capture_output=True, text=True, check=False)


def test_standard_input_to_standard_output() -> None:
    result = run("-p", "cse", text=MODULE)
    assert (result.returncode, result.stderr) == (0, "")
    assert "func.func @f" in result.stdout


def test_output_file_is_replaced_whole(module: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.mlir"
    output.write_text("before")
    assert main([str(module), "-o", str(output)]) == 0
    assert "func.func @f" in output.read_text()
    assert files_in(tmp_path) == ["in", "out.mlir"]


def test_failure_leaves_the_output_file_alone(module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.mlir"
    output.write_text("before")
    module.write_text(MODULE.replace("-> i32", "-> i64"))
    assert main([str(module), "-o", str(output)]) == 1
    assert capsys.readouterr().err.startswith("mini-opt: error: ")
    assert output.read_text() == "before"
    assert files_in(tmp_path) == ["in", "out.mlir"]


def test_output_may_replace_the_input(module: Path) -> None:
    assert main([str(module), "-p", "cse", "-o", str(module)]) == 0
    assert "func.func @f" in module.read_text()


def test_device_is_written_to_and_not_replaced(module: Path) -> None:
    assert main([str(module), "-o", "/dev/null"]) == 0
    assert Path("/dev/null").is_char_device()


def test_full_disk_is_an_error(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(module), "-o", "/dev/full"]) == 1
    assert capsys.readouterr().err == "mini-opt: error: can't write /dev/full: No space left on device\n"


def test_full_standard_output_is_one_error(module: Path) -> None:
    command = [sys.executable, "-m", "mini_infer.tools.mini_opt", str(module)]
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr == "mini-opt: error: can't write to standard output: No space left on device\n"


def test_closed_pipe_is_silent(module: Path) -> None:
    module.write_text(MODULE * 1 + "".join(MODULE.replace("@f", f"@f{i}") for i in range(3000)))
    command = f"{sys.executable} -m mini_infer.tools.mini_opt {module} | head -n 1"
    result = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ("builtin.module {\n", "")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"func.func @f(", "expected"),
        (b'func.func @f() attributes {a = "' + 60 * b"x ", "before closing string literal"),
        (b"\xff\xfe\x00", "invalid start byte at byte 0"),
        (b"func.func @f() { func.return }\nfunc.func @g( {", "module.mlir:2:"),
    ],
)
def test_broken_text_is_an_error(
    module: Path, content: bytes, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    module.write_bytes(content)
    assert main([str(module)]) == 1
    errors = capsys.readouterr().err
    assert errors.startswith("mini-opt: error: ")
    assert message in errors.lower()


def test_weights_in_files_are_named_from_the_output(module: Path, tmp_path: Path) -> None:
    blob = in_file(module.parent / "w.bin", np.arange(4, dtype=np.float32), "w.bin")
    module.write_text(weight_module(blob))
    assert main([str(module), "-o", str(tmp_path / "out.mlir")]) == 0
    assert '#graph.blob<"in/w.bin", 0, 16,' in (tmp_path / "out.mlir").read_text()


def test_weights_are_named_from_the_working_directory_on_standard_output(
    module: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    blob = in_file(module.parent / "w.bin", np.arange(4, dtype=np.float32), "w.bin")
    module.write_text(weight_module(blob))
    monkeypatch.chdir(tmp_path)
    assert main(["in/module.mlir"]) == 0
    assert '#graph.blob<"in/w.bin", 0, 16,' in capsys.readouterr().out


# fold-constants makes a new weight of these two.
FOLDABLE = """
func.func @main() -> tensor<4096xf32> {{
  %w = graph.weight {blob} : tensor<4096xf32>
  %v = graph.neg %w : tensor<4096xf32>
  func.return %v : tensor<4096xf32>
}}
"""
WEIGHT = np.arange(4096, dtype=np.float32)


def test_new_weights_are_refused_on_standard_output(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module.write_text(FOLDABLE.format(blob=in_file(module.parent / "w.bin", WEIGHT, "w.bin")))
    assert main([str(module), "-p", "fold-constants,dce"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == (
        "mini-opt: error: the module has 16384 bytes of new weights, which can't stand in its text; "
        "write it with -o FILE.mlir, and they go to FILE.weights\n"
    )


def test_new_weights_go_to_a_file_beside_the_output(module: Path, tmp_path: Path) -> None:
    module.write_text(FOLDABLE.format(blob=in_file(module.parent / "w.bin", WEIGHT, "w.bin")))
    output = tmp_path / "out.mlir"
    assert main([str(module), "-p", "fold-constants,dce", "-o", str(output)]) == 0
    assert files_in(tmp_path) == ["in", "out.mlir", "out.weights"]
    assert '#graph.blob<"out.weights", 0, 16384,' in output.read_text()
    np.testing.assert_array_equal(np.fromfile(tmp_path / "out.weights", np.float32), -WEIGHT)


def test_weights_survive_when_their_own_file_is_replaced(module: Path) -> None:
    weights = module.with_suffix(".weights")
    kept = in_file(weights, WEIGHT, weights.name)
    text = FOLDABLE.format(blob=kept)
    text = text.replace("-> tensor<4096xf32>", "-> (tensor<4096xf32>, tensor<4096xf32>)")
    text = text.replace("return %v : tensor<4096xf32>", "return %v, %w : tensor<4096xf32>, tensor<4096xf32>")
    module.write_text(text)
    assert main([str(module), "-p", "fold-constants,dce", "-o", str(module)]) == 0
    written = np.fromfile(weights, np.float32)
    assert sorted(written) == sorted([*WEIGHT, *-WEIGHT])
    assert main([str(module), "-p", "fold-constants,dce", "-o", str(module)]) == 0


def test_several_modules_with_new_weights_are_refused(
    module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = FOLDABLE.format(blob=in_file(module.parent / "w.bin", WEIGHT, "w.bin"))
    module.write_text(f"{one}// -----\n{one}")
    output = tmp_path / "out.mlir"
    assert main([str(module), "--split-input-file", "-p", "fold-constants,dce", "-o", str(output)]) == 1
    assert "several modules with new weights" in capsys.readouterr().err
    assert files_in(tmp_path) == ["in"]
