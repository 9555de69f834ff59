"""Every level can be written down, read back, and taken on to the same code."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from command_runs import cli, complaint, told

import mini_infer as mi
from mini_infer.dialects.graph.blobs import BlobStore
from mini_infer.lowering.module_text import own_errors, read_module
from mini_infer.lowering.pipelines import PATHS, parse_passes, run_passes
from mini_infer.lowering.registry import LEVEL_OF_PASS
from mini_infer.tools.mini_opt.command import main

LEVELS = PATHS["cpu"]
MODEL = """
func.func @main(%x: tensor<4x16xf32> {{graph.name = "x"}}) -> (tensor<4x8xf32> {{graph.name = "y"}}) {{
  %w = graph.weight #graph.blob<"w.bin", 0, 512, "{digest}"> : tensor<16x8xf32>
  %a = graph.matmul %x, %w : (tensor<4x16xf32>, tensor<16x8xf32>) -> tensor<4x8xf32> loc("layer1/matmul")
  %b = graph.relu %a : tensor<4x8xf32> loc("layer1/relu")
  %c = graph.exp %b : tensor<4x8xf32> loc("layer2/exp")
  %d = graph.transpose %c {{permutation = array<i64: 1, 0>}} : (tensor<4x8xf32>) -> tensor<8x4xf32> loc("t")
  %e = graph.reshape %d {{shape = array<i64: 4, 8>}} : (tensor<8x4xf32>) -> tensor<4x8xf32> loc("flat")
  %f = graph.neg %e : tensor<4x8xf32> loc("layer3/neg")
  func.return %f : tensor<4x8xf32>
}}
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_model(tmp_path)


def write_model(folder: Path) -> Path:
    """MODEL and its weights."""
    weight = np.linspace(-1, 1, 128, dtype=np.float32).reshape(16, 8)
    weight.tofile(folder / "w.bin")
    path = folder / "model.mlir"
    path.write_text(MODEL.format(digest=BlobStore().add(weight).digest.data))
    return path


def lowered(source: Path, level: str, folder: Path) -> Path:
    """The module at a level, for this machine where it doesn't state another."""
    folder.mkdir(exist_ok=True)
    output = folder / f"{level}.mlir"
    host = [] if "kernel.target" in source.read_text() else ["--host"]
    assert main([str(source), "--to", level, "-o", str(output), *host]) == 0
    return output


def without_file_names(path: Path) -> str:
    return re.sub(r'"[^"]*(\.weights|w\.bin)"', '"weights"', path.read_text())


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_goes_on_to_the_same_code(level: str, model: Path, tmp_path: Path) -> None:
    direct = lowered(model, "llvm", tmp_path / "direct")
    stopped = lowered(model, level, tmp_path / "stopped")
    resumed = lowered(stopped, "llvm", tmp_path / "resumed")
    assert without_file_names(resumed) == without_file_names(direct)


@pytest.mark.parametrize("level", PATHS["cuda"])
def test_a_level_of_a_gpu_goes_on_to_the_same_launches(level: str, model: Path, tmp_path: Path) -> None:
    model.write_text(
        f'builtin.module attributes {{kernel.target = #kernel.gpu<"sm_90a">}} {{{model.read_text()}}}', encoding="utf-8"
    )
    direct = lowered(model, "launches", tmp_path / "direct")
    stopped = lowered(model, level, tmp_path / "stopped")
    resumed = lowered(stopped, "launches", tmp_path / "resumed")
    assert without_file_names(resumed) == without_file_names(direct)
    assert "gpu.launch_func" in direct.read_text()


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_is_recognised(level: str, model: Path, tmp_path: Path) -> None:
    stopped = lowered(model, level, tmp_path)
    again = lowered(stopped, level, tmp_path / "again")
    assert without_file_names(again) == without_file_names(stopped)


def test_there_is_no_way_up(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stopped = lowered(model, "arena", tmp_path)
    assert main([str(stopped), "--to", "kernels"]) == 1
    assert capsys.readouterr().err == "mini-opt: error: the module is at the arena level already, below kernels\n"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ("llvm-ir", r"^define void @main\("),
        ("asm", r"^main:"),
        ("memory-plan", r"\barena\b"),
    ],
)
def test_targets_bring_the_module_to_their_level(
    target: str, expected: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(model), "-t", target]) == 0
    assert re.search(expected, capsys.readouterr().out, re.MULTILINE)


def test_a_target_needs_its_level(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(model), "--to", "graph", "-t", "asm"]) == 1
    errors = capsys.readouterr().err
    assert errors == "mini-opt: error: -t asm needs a module at the llvm level; this one is at the graph level\n"


def test_host_is_written_on_the_module(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(model), "--host", "-p", ""]) == 0
    assert "kernel.target = #kernel.cpu<" in capsys.readouterr().out


def outputs(*arguments: str | Path) -> dict[str, bytes]:
    """What `mini-infer run` computes of a module, by name."""
    results = Path(arguments[0]).with_name("results.npz")
    result = cli("run", *arguments, "-o", results)
    assert result.exit_code == 0
    assert re.fullmatch(r"(mini-infer: note: .* has kernels for another CPU than this: .*\n)?", result.stderr)
    with np.load(results) as loaded:
        return {name: loaded[name].tobytes() for name in loaded.files}


@cache
def from_kernels(host: str) -> dict[str, bytes]:
    """What MODEL computes by way of the level of kernels, for a target of its own or for this machine."""
    with TemporaryDirectory() as folder:
        direct = Path(folder) / "direct.mlir"
        assert main([str(write_model(Path(folder))), "--to", "kernels", *host.split(), "-o", str(direct)]) == 0
        return outputs(direct)


@pytest.mark.parametrize("host", ["", "--host"])
@pytest.mark.parametrize("level", LEVELS)
def test_a_level_goes_on_to_the_same_result(level: str, host: str, model: Path, tmp_path: Path) -> None:
    """On a target without threads, and on this machine's, both as the runtime would compile it."""
    stopped = tmp_path / f"{level}.mlir"
    assert main([str(model), "--to", level, *host.split(), "-o", str(stopped)]) == 0
    found = outputs(stopped)
    # The targets' vectors differ, which shows in the last digits: the graph level is compiled for this machine.
    if level != "graph" or host:
        assert found == from_kernels(host)
    assert list(found) == ["y"]
    x = np.linspace(-2, 2, 64, dtype=np.float32).reshape(4, 16)
    engine = mi.compile(stopped)
    assert [call.node for call in engine.plan.calls][:2] == ["layer1/matmul", "t"]
    a = np.exp(np.maximum(x @ np.fromfile(model.with_name("w.bin"), np.float32).reshape(16, 8), 0))
    np.testing.assert_allclose(engine(x), -a.T.reshape(4, 8), rtol=1e-5)


TABLE = """
func.func @main(%i: tensor<4xi64> {{graph.name = "i"}}) -> (tensor<4x5xf32> {{graph.name = "y"}}) {{
  %w = graph.weight #graph.blob<"w.bin", 0, 60, "{digest}"> : tensor<3x5xf32>
  %y = graph.gather %w, %i {{axis = 0 : i64}} : (tensor<3x5xf32>, tensor<4xi64>) -> tensor<4x5xf32> loc("embedding")
  func.return %y : tensor<4x5xf32>
}}
"""


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_goes_on_to_the_same_complaint(level: str, tmp_path: Path) -> None:
    weight = np.arange(15, dtype=np.float32).reshape(3, 5)
    weight.tofile(tmp_path / "w.bin")
    path = tmp_path / "table.mlir"
    path.write_text(TABLE.format(digest=BlobStore().add(weight).digest.data))
    stopped = lowered(path, level, tmp_path / "stopped")
    np.testing.assert_array_equal(mi.compile(stopped)(np.array([0, -3, 2, -1])), weight[[0, 0, 2, 2]])
    np.save(tmp_path / "i.npy", np.array([0, 1, 3, 2]))
    wrong = "embedding (graph.gather): index 3 is outside of a dimension of 3 elements"
    assert complaint("run", stopped, "-i", f"i={tmp_path / 'i.npy'}") == wrong
    text = stopped.read_text()
    if "graph.checks" in text:
        for checks, message in (
            ("graph.names = []", "@main takes a status, but graph.checks does not say of what"),
            ("graph.checks = []", "@main takes a status, but graph.checks does not say of what"),
            ('graph.checks = ["a"]', '@main: graph.checks holds "a" instead of an op and a size, or a message'),
            (
                'graph.checks = [["a", 3 : i64], ["b", 4 : i64]]',
                "@main takes 8 bytes of status; the module tells of 16",
            ),
        ):
            stopped.write_text(re.sub(r"graph\.checks = \[\[.*?\]\]", checks, text))
            assert complaint("run", stopped) == message


@pytest.mark.parametrize("level", LEVELS[:4])
def test_a_level_has_a_memory_plan(level: str, model: Path, tmp_path: Path) -> None:
    text = told("plan", lowered(model, level, tmp_path), "--table")
    assert re.search(r"layer1/matmul +\d+", text) and re.search(r"lower bound", text)


def test_what_a_level_no_longer_knows_is_refused(model: Path, tmp_path: Path) -> None:
    kernels, arena, loops = (lowered(model, level, tmp_path) for level in ("kernels", "arena", "loops"))
    assert complaint("plan", loops) == "the module is at the loops level already, below arena"
    assert complaint("run", "--reference", arena) == "--reference evaluates tensors; the module is at the arena level"
    assert complaint("compare", kernels).endswith("at the graph level; the module is at the kernels level")
    assert outputs(kernels, "--reference").keys() == {"y"}
    assert "takes no .mlir" in told("compare", lowered(model, "graph", tmp_path), "-j", "1")


@pytest.mark.parametrize(
    ("level", "option", "message"),
    [
        ("graph", ["--dim", "n=4"], "--dim is for ONNX models; the inputs of a module are fixed"),
        ("graph", ["--shape", "x=4,16"], "--shape is for ONNX models; the inputs of a module are fixed"),
        (
            "kernels",
            ["-j", "3"],
            "--threads is decided above the kernels level; the module is at the kernels level, with threads 1",
        ),
        (
            "arena",
            ["--no-optimize"],
            "--no-optimize is decided above the kernels level; the module is at the arena level",
        ),
        ("buffers", ["--no-plan-memory"], "--no-plan-memory is decided above the buffers level; "),
        (
            "llvm",
            ["--check-memory"],
            "--check-memory is decided above the buffers level; the module is at the llvm level",
        ),
        (
            "llvm",
            ["--compile-threads", "2"],
            "--compile-threads is decided above the llvm level; the module is at the llvm level",
        ),
    ],
)
def test_options_that_come_too_late_are_refused(
    level: str, option: list[str], message: str, model: Path, tmp_path: Path
) -> None:
    assert complaint("run", lowered(model, level, tmp_path), *option).startswith(message)
    assert outputs(lowered(model, "kernels", tmp_path), "-j", "1")  # what it is already


def test_options_that_come_in_time_are_taken(model: Path, tmp_path: Path) -> None:
    kernels, buffers = lowered(model, "kernels", tmp_path), lowered(model, "buffers", tmp_path)
    assert outputs(kernels, "--no-plan-memory") == outputs(kernels)
    assert "memory check: the same bits" in told("run", kernels, "--check-memory")
    assert "strategy pools" in told("plan", buffers, "--strategy", "pools")


def test_weights_that_are_not_those_of_the_module_are_refused(model: Path, tmp_path: Path) -> None:
    elided = tmp_path / "elided.mlir"
    assert main([str(model), "--to", "kernels", "--elide-weights", "-o", str(elided)]) == 0
    assert re.search(
        rf"graph.weight: \d+ bytes of weights were left out when {elided} was written", complaint("run", elided)
    )
    written = lowered(model, "loops", tmp_path)
    weights = written.with_suffix(".weights")
    changed = bytearray(weights.read_bytes())
    changed[3] ^= 1
    weights.write_bytes(changed)
    assert re.search(r"loops\.weights has changed: digest \w+ instead of \w+", complaint("run", written))
    weights.unlink()
    assert "can't read the weights in" in complaint("run", written)


def test_a_plan_is_judged_and_gets_its_barriers_before_it_is_run(model: Path, tmp_path: Path) -> None:
    planned = tmp_path / "planned.mlir"
    passes = "form-kernels,choose-schedule,pack-weights,bufferize,plan-arena"
    assert main([str(model), "--host", "-p", passes, "-o", str(planned)]) == 0
    assert "kernel.barrier" not in planned.read_text()
    assert "kernel.barrier" in lowered(planned, "arena", tmp_path / "arena").read_text()
    assert outputs(planned) == outputs(lowered(planned, "llvm", tmp_path / "llvm"))
    planned.write_text(planned.read_text().replace("arena_bytes = ", "arena_bytes = 1"))
    assert re.fullmatch(r"@main takes \d+ bytes of arena; the module tells of 1\d+", complaint("run", planned))


@pytest.mark.parametrize("level", ["kernels", "llvm"])
def test_a_module_for_another_cpu_runs_on_this_one(level: str, model: Path, tmp_path: Path) -> None:
    """Its schedules stay as they are; no instruction is used that this machine may lack."""
    target = '#kernel.cpu<"sapphirerapids" has ["round"], vector_bits = 512, registers = 32, l2 = 2097152, '
    target += "threads = 1, gflops = 256, gbytes = 30>"
    model.write_text(f"builtin.module attributes {{kernel.target = {target}}} {{{model.read_text()}}}")
    stopped = tmp_path / "stopped.mlir"
    assert main([str(model), "--to", level, "-o", str(stopped)]) == 0
    assert target in stopped.read_text()
    x = np.zeros((4, 16), np.float32)
    np.testing.assert_array_equal(mi.compile(stopped)(x), -np.ones((4, 8), np.float32))


def test_weights_that_are_not_all_there_are_refused(model: Path, tmp_path: Path) -> None:
    loops = lowered(model, "loops", tmp_path)
    loops.write_text(re.sub(r"kernel\.weights = \[.*?\]\]", "kernel.weights = []", loops.read_text()))
    assert re.fullmatch(r"@main takes \d+ bytes of weights; the module tells of 0", complaint("run", loops))


def test_inputs_and_outputs_need_no_names(tmp_path: Path) -> None:
    path = tmp_path / "nameless.mlir"
    path.write_text(
        "func.func @main(%a: tensor<3xf32>, %b: tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>) {\n"
        "  %c = graph.add %a, %b : tensor<3xf32>\n"
        "  %d = graph.exp %c : tensor<3xf32>\n"
        "  func.return %c, %d : tensor<3xf32>, tensor<3xf32>\n}\n"
    )
    for level in LEVELS:
        assert mi.compile(lowered(path, level, tmp_path / "lowered")).input_names == ("input0", "input1")
        assert outputs(lowered(path, level, tmp_path / "lowered")).keys() == {"output0", "output1"}


def unstated(path: Path) -> Path:
    """The module in a file without the level that it states."""
    path.write_text(re.sub(r'mini_infer\.level = "\w+", |(, )?mini_infer\.level = "\w+"', "", path.read_text()))
    return path


def test_an_unstated_level_is_the_graphs(model: Path, tmp_path: Path) -> None:
    again = lowered(unstated(lowered(model, "graph", tmp_path)), "llvm", tmp_path / "again")
    assert without_file_names(again) == without_file_names(lowered(model, "llvm", tmp_path / "direct"))


@pytest.mark.parametrize(
    ("level", "fact"),
    [
        ("kernels", "there are no kernels"),
        ("buffers", "@main takes no buffers"),
        ("arena", "@main takes no buffers"),
        ("loops", "@main takes no buffers"),
        ("llvm", "@main is no llvm.func"),
    ],
)
def test_an_unstated_level_below_the_graphs_is_refused(
    level: str, fact: str, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped = unstated(lowered(model, level, tmp_path))
    message = (
        f"the module does not state its level, and at the graph level {fact}; write builtin.module attributes "
        '{mini_infer.level = "..."} with one of graph, kernels, buffers, arena, loops, llvm, launches'
    )
    with pytest.raises(mi.InvalidModelError) as raised:
        mi.compile(stopped)
    assert str(raised.value) == complaint("run", stopped) == complaint("plan", stopped) == message
    for option in (["--to", "llvm"], ["-t", "asm"], ["-p", "", "-t", "memory-plan"]):
        assert main([str(stopped), *option]) == 1
        assert capsys.readouterr().err == f"mini-opt: error: {message}\n"


def test_a_pipeline_takes_an_unstated_module_and_states_its_level(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stopped = unstated(lowered(model, "buffers", tmp_path))
    assert main([str(stopped), "-p", "elide-copies"]) == 0
    assert "mini_infer.level" not in capsys.readouterr().out
    planned = tmp_path / "planned.mlir"
    assert main([str(stopped), "-p", "elide-copies,plan-arena", "-o", str(planned)]) == 0
    assert 'mini_infer.level = "arena"' in planned.read_text()
    assert outputs(planned) == outputs(lowered(model, "arena", tmp_path / "direct"))
    assert main([str(stopped), "-p", "plan-arena,elide-copies"]) == 1
    assert "elide-copies works at the buffers level; the module is at the arena level" in capsys.readouterr().err


@pytest.mark.parametrize("level", LEVELS)
def test_a_pass_on_an_unstated_module_of_another_level_ends_in_no_traceback(
    level: str, model: Path, tmp_path: Path
) -> None:
    module, ctx = read_module(unstated(lowered(model, level, tmp_path)))
    refused: set[str] = set()
    for name in LEVEL_OF_PASS:
        changed = module.clone()
        try:
            with own_errors():
                run_passes(ctx, changed, parse_passes(name))
                changed.verify()
        except mi.MiniInferError:
            refused.add(name)
    assert "form-kernels" in refused or level == "graph"


@pytest.mark.parametrize(
    ("level", "text", "fact"),
    [
        ("graph", "func.func @main(%x: tensor<2xf32>) -> memref<2xf32>", "@main takes no buffers"),
        ("buffers", 'func.func @main(%x: memref<2xi8> {graph.role = "arena"})', "@main takes no arena"),
        ("arena", "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32>", "@main takes no tensors"),
        ("llvm", "func.func @main(%x: memref<2xf32>)", "@main is no func.func"),
        ("loops", "llvm.func @main(%x: !llvm.ptr)", "@main is no llvm.func"),
    ],
)
def test_what_cannot_be_at_the_stated_level_is_refused(
    level: str, text: str, fact: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "module.mlir"
    path.write_text(
        f'builtin.module attributes {{mini_infer.level = "{level}"}} {{\n{text} {{ "test.termop"() : () -> () }}\n}}'
    )
    assert main([str(path), "--to", "llvm", "--disable-verify"]) == 1
    expected = f"the module states the {level} level (mini_infer.level), where {fact}"
    assert capsys.readouterr().err == f"mini-opt: error: {expected}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("func.func @main(", "Expected argument or type"),
        ("func.func @f() { func.return }", "the module has no function @main"),
        ("func.func @main(%x: i32) -> i64 { func.return %x : i32 }", "expected [i64], got [i32]"),
        ("func.func @main(%x: i32) -> i32 { func.return %x : i32 }", "@main: 'input0' is i32, no tensor and no buffer"),
        (
            "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { func.return %x : tensor<?xf32> }",
            "'input0' has dimensions of unknown size",
        ),
        ("func.func @main(%x: tensor<2xi7>) -> tensor<2xi7> { func.return %x : tensor<2xi7> }", "i7"),
        (
            "func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {\n"
            "  %y = arith.addf %x, %x : tensor<2xf32>\n  func.return %y : tensor<2xf32>\n}",
            "arith.addf",
        ),
        (
            'builtin.module attributes {mini_infer.level = "arena"} {\n'
            "func.func @main(%x: memref<2xf32>) { func.return }\n}",
            "@main takes what has no role; graph.role must say: ",
        ),
        (
            'builtin.module attributes {mini_infer.level = "llvm"} {\n'
            "llvm.func @main(%x: !llvm.ptr) { llvm.return }\n}",
            "@main takes what has no role",
        ),
        ("func.func @main(tensor<2xf32>) -> tensor<2xf32>", "the module has no function @main"),
    ],
)
def test_text_that_is_no_model_is_refused(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "text.mlir"
    path.write_text(text)
    result = cli("run", path)
    assert (result.exit_code, result.stdout) == (1, "") and message in result.stderr
    assert complaint("run", path.with_name("nothing.mlir")).endswith("nothing.mlir: No such file or directory")
