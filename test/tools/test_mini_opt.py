"""mini-opt and the files it reads and writes: whole or not at all, weights beside the module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from import_cases import model_of
from models.build import ModelBuilder
from xdsl.transforms.common_subexpression_elimination import CommonSubexpressionElimination

from mini_infer.dialects.graph.blobs import BlobStore
from mini_infer.tools.mini_opt.command import main

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
    command = [sys.executable, "-m", "mini_infer.tools.mini_opt.command", *map(str, arguments)]
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
    assert capsys.readouterr().err == "mini-opt: error: /dev/full: can't be written: No space left on device\n"


def test_full_standard_output_is_one_error(module: Path) -> None:
    command = [sys.executable, "-m", "mini_infer.tools.mini_opt.command", str(module)]
    with Path("/dev/full").open("w") as full:
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr == "mini-opt: error: standard input or output: No space left on device\n"


def test_closed_pipe_is_silent(module: Path) -> None:
    module.write_text(MODULE * 1 + "".join(MODULE.replace("@f", f"@f{i}") for i in range(1500)))
    command = f"{sys.executable} -m mini_infer.tools.mini_opt.command {module} | head -n 1"
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


NOTE = "mini-opt: note: 16,384 bytes of new weights are left out; -o FILE.mlir puts them into FILE.weights\n"


@pytest.mark.parametrize("output", ["-", "/dev/stdout", "/dev/null"])
def test_new_weights_are_left_out_where_no_file_can_lie_beside(output: str, module: Path) -> None:
    module.write_text(FOLDABLE.format(blob=in_file(module.parent / "w.bin", WEIGHT, "w.bin")))
    result = run(module, "-p", "fold-constants,dce", "-o", output)
    assert (result.returncode, result.stderr) == (0, NOTE)
    digest = BlobStore().add(-WEIGHT).digest.data
    assert (f'graph.weight #graph.blob<"", 0, 16384, "{digest}">' in result.stdout) == (output != "/dev/null")
    assert files_in(module.parent) == ["module.mlir", "w.bin"]


def test_weights_that_were_left_out_are_missed_where_they_are_read(
    module: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module.write_text(FOLDABLE.format(blob='#graph.blob<"", 0, 16384, "abc">'))
    assert main([str(module), "-p", "cse"]) == 0
    assert capsys.readouterr().err == ""  # they are not missed a second time
    assert main([str(module), "-p", "fold-constants"]) == 1
    assert "blob abc was only in memory and is gone; write it beside the module" in capsys.readouterr().err


def test_altered_weights_are_refused(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module.write_text(FOLDABLE.format(blob=in_file(module.parent / "w.bin", WEIGHT, "w.bin")))
    (module.parent / "w.bin").write_bytes((WEIGHT + 1).tobytes())
    assert main([str(module), "-p", "fold-constants"]) == 1
    assert "w.bin has changed: digest " in capsys.readouterr().err


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


def folded(module: Path, output: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """Folds a module of new weights to `output`, which must fail and change no file; the complaint."""
    before = {path: path.read_bytes() for path in output.parent.rglob("*") if path.is_file()}
    assert main([str(module), "-p", "fold-constants,dce", "-o", str(output)]) == 1
    assert {path: path.read_bytes() for path in output.parent.rglob("*") if path.is_file()} == before
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1
    return captured.err.removeprefix("mini-opt: error: ").rstrip("\n")


def test_weights_lie_beside_a_module_only(module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module.write_text(FOLDABLE.format(blob=in_file(module.parent / "w.bin", WEIGHT, "w.bin")))
    assert main([str(module), "-p", "fold-constants,dce", "-o", str(tmp_path / "out.mlir")]) == 0
    refused = "the module has 16384 bytes of new weights, which lie beside a .mlir file; "
    for name in ("out.txt", "out", "out.mlir.txt"):
        assert folded(module, tmp_path / name, capsys).startswith(refused)
    for name in ("out.weights", "other.weights"):
        error = f"-o {tmp_path / name}: .weights is for the weights beside a module; write it to FILE.mlir"
        assert folded(module, tmp_path / name, capsys) == error


def test_what_has_no_new_weights_goes_to_any_name(module: Path, tmp_path: Path) -> None:
    assert main([str(module), "-o", str(tmp_path / "out.txt")]) == 0
    assert main([str(module), "-o", str(tmp_path / "out")]) == 0
    assert files_in(tmp_path) == ["in", "out", "out.txt"]


def test_files_that_the_module_reads_are_never_replaced(
    module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module.write_text(FOLDABLE.format(blob=in_file(tmp_path / "w.bin", WEIGHT, "../w.bin")))
    error = f"-o {tmp_path / 'w.bin'}: weights of the module lie in that file; write it to another"
    assert folded(module, tmp_path / "w.bin", capsys) == error
    assert main([str(module), "-t", "mlir", "--to", "graph", "-o", str(tmp_path / "w.bin")]) == 1


def test_weights_of_others_are_never_replaced(module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    refused = f"the new weights would replace {tmp_path / 'out.weights'}, which is not (or not only) out.mlir's; "
    blob = in_file(tmp_path / "out.weights", WEIGHT, "../out.weights")
    module.write_text(FOLDABLE.format(blob=blob))  # reads them; there is no out.mlir
    assert folded(module, tmp_path / "out.mlir", capsys).startswith(refused)
    (tmp_path / "out.mlir").write_text(FOLDABLE.format(blob=blob.replace("../", "")))  # both read them
    assert folded(module, tmp_path / "out.mlir", capsys).startswith(refused)
    module.write_text(FOLDABLE.format(blob=in_file(module.parent / "w.bin", WEIGHT, "w.bin")))
    (tmp_path / "out.mlir").write_text(MODULE)  # it does not read them
    assert folded(module, tmp_path / "out.mlir", capsys).startswith(refused)


def onnx_with_data_beside(folder: Path) -> Path:
    """net.onnx, whose weight lies in net.weights."""
    b = ModelBuilder("net")
    y = b.node("MatMul", b.input("x", [2, 32]), b.weight(32, 64))
    path = folder / "net.onnx"
    onnx.save_model(b.model([y]), path, save_as_external_data=True, location="net.weights", size_threshold=0)  # pyright: ignore[reportUnknownMemberType]
    return path


def test_external_data_of_a_model_is_never_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = onnx_with_data_beside(tmp_path)
    before = (tmp_path / "net.weights").read_bytes()
    assert main([str(model), "--to", "kernels", "-o", str(tmp_path / "net.mlir")]) == 1
    assert "the new weights would replace" in capsys.readouterr().err
    assert (tmp_path / "net.weights").read_bytes() == before and files_in(tmp_path) == ["net.onnx", "net.weights"]
    assert main([str(model), "--to", "kernels", "-o", str(tmp_path / "packed.mlir")]) == 0
    assert files_in(tmp_path) == ["net.onnx", "net.weights", "packed.mlir", "packed.weights"]


@pytest.mark.parametrize("arguments", [["net.onnx", "--to", "graph"], ["net.onnx", "-t", "llvm-ir"]])
def test_a_model_is_not_replaced_by_a_module(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    before = onnx_with_data_beside(tmp_path).read_bytes()
    monkeypatch.chdir(tmp_path)
    assert main([*arguments, "-o", "./net.onnx"]) == 1
    expected = "mini-opt: error: -o ./net.onnx: that is the input, which only a module may replace\n"
    assert capsys.readouterr().err == expected
    assert (tmp_path / "net.onnx").read_bytes() == before


@pytest.mark.parametrize(
    ("command", "status", "errors"),
    [
        ("{module} >&-", 1, "mini-opt: error: standard input or output: Bad file descriptor\n"),
        ("{module} -o {module} >&-", 0, ""),
        ("--help >&-", 1, "mini-opt: error: standard input or output: Bad file descriptor\n"),
        ("<&-", 1, "mini-opt: error: standard input or output: Bad file descriptor\n"),
        ("nothing.mlir 2>&-", 1, ""),
    ],
)
def test_closed_streams_are_one_line(command: str, status: int, errors: str, module: Path) -> None:
    words = f"{sys.executable} -m mini_infer.tools.mini_opt.command {command.format(module=module)}"
    result = subprocess.run(words, shell=True, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stderr, result.stdout) == (status, errors, "")


def test_interrupting_is_one_line_and_leaves_nothing(
    module: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(CommonSubexpressionElimination, "apply", interrupted)
    assert main([str(module), "-p", "cse", "-o", str(module.parent / "out.mlir")]) == 130
    assert capsys.readouterr().err == "mini-opt: error: interrupted\n"
    assert files_in(module.parent) == ["module.mlir"]


def test_new_weights_can_be_left_out_of_a_file(
    module: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module.write_text(FOLDABLE.format(blob=in_file(module.parent / "w.bin", WEIGHT, "w.bin")))
    output = tmp_path / "out.txt"
    assert main([str(module), "-p", "fold-constants,dce", "--elide-weights", "-o", str(output)]) == 0
    assert capsys.readouterr().err == "mini-opt: note: 16,384 bytes of new weights are left out\n"
    assert '#graph.blob<"", 0, 16384, ' in output.read_text() and files_in(tmp_path) == ["in", "out.txt"]


def test_shapes_are_bound_while_importing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    b = ModelBuilder("dynamic")
    model = b.model([b.node("Relu", b.input("x:0", ["rows", "columns"]))])
    path = tmp_path / "dynamic.onnx"
    path.write_bytes(model.SerializeToString())
    assert main([str(path), "--to", "graph", "--shape", "x:0=5,3"]) == 0
    assert "tensor<5x3xf32>" in capsys.readouterr().out
    assert main([str(path), "--to", "graph", "--dim", "rows=7", "--dim", "columns=2"]) == 0
    assert "tensor<7x2xf32>" in capsys.readouterr().out
    assert main([str(path), "--shape", "y=5,3"]) == 1
    assert capsys.readouterr().err.startswith("mini-opt: error: ")


def test_values_of_inputs_are_constants(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inputs = {"x": np.ones((5, 3), np.float32), "axes": np.array([1])}
    model = model_of([onnx.helper.make_node("ReduceSum", ["x", "axes"], ["y"])], inputs, {}, ["y"])
    path = tmp_path / "sums.onnx"
    path.write_bytes(model.SerializeToString())
    assert main([str(path), "--to", "graph", "--specialize", "axes=[1]"]) == 0
    assert "func.func @main(%0: tensor<5x3xf32>" in capsys.readouterr().out
    assert main([str(path), "--to", "graph"]) == 1
    assert "it depends on axes: bind with specialize" in capsys.readouterr().err


def test_text_that_is_nested_too_deeply_is_an_error(module: Path, capsys: pytest.CaptureFixture[str]) -> None:
    module.write_text("func.func @f() attributes {a = " + 20_000 * "[" + "} { func.return }")
    assert main([str(module)]) == 1
    assert capsys.readouterr().err == f"mini-opt: error: {module} is nested too deeply\n"


@pytest.fixture
def any_rows(tmp_path: Path) -> Path:
    """A model of one relu on any number of rows."""
    b = ModelBuilder("any_rows")
    path = tmp_path / "rows.onnx"
    path.write_bytes(b.model([b.node("Relu", b.input("x", ["n", 3]))]).SerializeToString())
    return path


def test_a_range_of_sizes_is_shown_and_read_again(any_rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    written = any_rows.with_suffix(".mlir")
    assert main([str(any_rows), "--range", "n=1,4,16", "-o", str(written)]) == 0
    assert "#kernel.symbols<dim n = 4 in [1, 16]>" in written.read_text()
    assert "graph.relu %0 : tensor<(n)x3xf32>" in written.read_text()
    assert main([str(written), "-p", "cse"]) == 0
    assert capsys.readouterr().out == written.read_text()


@pytest.mark.parametrize("wrong", ["n=1,4", "n=5,4,16", "n=-1,1,2", "n", "=1,2,3", "n=1,2,x"])
def test_a_range_that_is_none(any_rows: Path, wrong: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(any_rows), "--range", wrong]) == 1
    assert f"--range {wrong}: expected NAME=MIN,OPT,MAX with 0 <= MIN <= OPT <= MAX" in capsys.readouterr().err


def test_a_range_of_an_unknown_dimension(any_rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(any_rows), "--range", "m=1,2,3"]) == 1
    assert "no input has a dynamic dimension m; there are: n" in capsys.readouterr().err
