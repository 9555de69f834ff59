"""mini-infer: what each command tells, that every error is one line, and that files appear whole or not at all."""

from __future__ import annotations

import csv
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_cases import MODELS, inputs
from import_cases import model_of
from models.build import ModelBuilder
from models.dynamic import attention, dynamic_model
from onnx import ModelProto, TensorProto, helper
from typer.testing import CliRunner, Result

import mini_infer as mi
from mini_infer.dialects.graph.unary import TanhOp
from mini_infer.dialects.graph.values import Array
from mini_infer.tools import benching, comparing, demo_model
from mini_infer.tools.bench_report import Measured
from mini_infer.tools.cli import app
from mini_infer.tools.command_names import shell_name

OUTPUT = "perceptron/gemm_4"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(mi.__file__).parents[1])}  # for processes of their own


def cli(*arguments: str | Path) -> Result:
    """Runs mini-infer; whatever is no error of the user's is raised."""
    result = CliRunner().invoke(app, [str(each) for each in arguments], env={"COLUMNS": "160"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def told(*arguments: str | Path) -> str:
    """What a command prints; it must succeed and complain of nothing."""
    result = cli(*arguments)
    assert (result.exit_code, result.stderr) == (0, "")
    return result.stdout


def complaint(*arguments: str | Path, status: int = 1) -> str:
    """What a command complains of: one line on standard error, nothing on standard output."""
    result = cli(*arguments)
    assert (result.exit_code, result.stdout) == (status, "")
    assert re.fullmatch(r"mini-infer: error: .+\n", result.stderr)
    return result.stderr.removeprefix("mini-infer: error: ").rstrip("\n")


def saved(model: ModelProto, folder: Path) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A file with the perceptron, which has one input and one output."""
    return saved(MODELS["perceptron"](), tmp_path)


@pytest.fixture
def any_rows(tmp_path: Path) -> Path:
    """A file with attention over any number n of rows."""
    return saved(dynamic_model(attention), tmp_path)


@pytest.fixture
def lookup(tmp_path: Path) -> Path:
    """A file with the model of two inputs and two outputs."""
    return saved(MODELS["lookup"](), tmp_path)


def test_run_tells_outputs_time_and_memory(model: Path) -> None:
    text = told("run", model, "-j", "1", "--repeat", "3")
    assert re.search(r"model\.onnx: 3 kernel calls of 3 kernels, compiled in [\d.]+ s \(passes [\d.]+ s\)", text)
    assert re.search(rf"{OUTPUT} +float32 +4x8 +-?[\d.]+ +-?[\d.]+ +[\d.]+", text)
    assert re.search(r"latency on 1 thread\(s\): median [\d.]+ ms, min [\d.]+ ms of 3", text)
    assert re.search(
        r"memory: weights [\d.]+ kB, arena 1.536 kB \(lower bound 1.536 kB, without reuse 1.536 kB, 0.0 % saved\)", text
    )


def test_run_tells_where_the_time_of_the_compile_went(model: Path) -> None:
    """Steps add up to the whole: passes, LLVM's phases, the weights."""
    lines = [line.split() for line in told("run", model, "--repeat", "1", "--timing").splitlines()]
    start = lines.index(["step", "ms", "%", "in", "other", "processes"])
    end = next(index for index, line in enumerate(lines) if line[:1] == ["compile"])
    steps = {" ".join(line[:-2]): float(line[-2]) for line in lines[start + 1 : end]}
    assert {"import", "fold-constants", "lower-kernels", "LLVM: optimize", "LLVM: generate", "weights", "load"} <= {
        *steps
    }
    assert sum(steps.values()) == pytest.approx(float(lines[end][1]), abs=0.1 * len(steps))
    assert lines[end + 1][:3] == ["before:", "Python's", "modules"]


@pytest.mark.parametrize("options", [[], ["--check-memory"]])
def test_run_explains_the_schedules(tmp_path: Path, options: list[str]) -> None:
    """Each kernel's candidates with what they cost; the cheapest is taken. A check compiles twice, it explains once."""
    b = ModelBuilder("picture")
    path = saved(b.model([b.node("Conv", b.input("x", [1, 3, 40, 40]), b.weight(8, 3, 3, 3))]), tmp_path)
    lines = told("run", path, "-j", "1", *options, "--explain").splitlines()
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines if line.startswith("│")]
    (start,) = (index for index, row in enumerate(rows) if row[:2] == ["conv_0", "contraction"])
    candidates = [rows[start], *takewhile(lambda row: not row[0], rows[start + 1 :])]
    assert {"panels", "direct"} <= {row[2] for row in candidates}
    cheapest = min(candidates, key=lambda row: float(row[4]))
    assert [row for row in candidates if row[5]] == [cheapest]


def test_run_explains_nothing_where_nothing_is_chosen(tmp_path: Path) -> None:
    path = tmp_path / "buffers.mlir"
    path.write_text('builtin.module attributes {mini_infer.level = "buffers"} { func.func @main() { func.return } }')
    message = "--explain does nothing at the buffers level: kernels have their schedules"
    assert complaint("run", path, "--explain") == message


def test_run_tells_what_was_rewritten(tmp_path: Path) -> None:
    b = ModelBuilder("swish")
    x = b.input("x", [4, 4])
    path = saved(b.model([b.node("Mul", x, b.node("Sigmoid", x))]), tmp_path)
    assert "rewrites: recompose-silu 1" in told("run", path, "-j", "1")


@pytest.mark.parametrize("options", [[], ["--no-optimize"], ["--no-plan-memory"], ["--reference"], ["-j", "2"]])
def test_run_writes_what_it_computed(model: Path, options: list[str]) -> None:
    given, results = model.with_name("in.npz"), model.with_name("new") / "out.npz"
    np.savez(given, x=inputs("perceptron")["x"])
    assert f"outputs written to {results}" in told("run", model, "-i", given, "-o", results, *options)
    with np.load(results) as loaded:
        expected = mi.compile(model, threads=1)(inputs("perceptron"))[OUTPUT]
        np.testing.assert_allclose(loaded[OUTPUT], expected, rtol=0, atol=2e-6)
    assert [file.name for file in results.parent.iterdir()] == ["out.npz"]


def test_inputs_come_from_files_or_a_seed(lookup: Path) -> None:
    ids, other = lookup.with_name("ids.npy"), lookup.with_name("other=1.npy")
    np.save(ids, np.arange(5))
    np.save(other, np.full((5, 1), 2, np.float32))
    results: list[Array] = []
    for arguments in ([], ["--seed", "1"], ["-i", f"ids={ids}"], ["-i", f"ids={ids}", "-i", f"scale={other}"]):
        told("run", lookup, "--reference", "-o", lookup.with_name("out.npz"), *arguments)
        with np.load(lookup.with_name("out.npz")) as loaded:
            results.append(loaded["lookup/mul_1"])
    assert len({array.tobytes() for array in results}) == 4
    table = mi.compile(lookup, threads=1)(np.arange(5), np.ones((5, 1), np.float32))[0]
    np.testing.assert_array_equal(results[3], 2 * table)


def test_run_binds_dimensions(tmp_path: Path) -> None:
    b = ModelBuilder("dynamic")
    path = saved(b.model([b.node("Relu", b.input("x", ["rows", 3]))]), tmp_path)
    assert re.search(r"dynamic/relu_0 +float32 +5x3", told("run", path, "--dim", "rows=5", "-j", "1"))
    assert "rows" in complaint("run", path)


@pytest.mark.parametrize("command", ["run", "plan", "bench", "compare"])
def test_every_command_takes_dimensions_and_shapes(command: str, tmp_path: Path) -> None:
    b = ModelBuilder("dynamic")
    path = saved(b.model([b.node("Relu", b.input("x:0", ["", "columns"]))]), tmp_path)
    few = ["--rounds", "1", "--runs", "1"] if command == "bench" else []
    told(command, path, "--shape", "x:0=5,3", "-j", "1", *few)
    assert "x:0" in complaint(command, path, "--dim", "columns=3", "-j", "1", *few)
    assert "rows" in complaint(command, path, "--dim", "rows=3", "--shape", "x:0=5,3", "-j", "1", *few)


@pytest.mark.parametrize("command", ["run", "plan", pytest.param("bench", marks=pytest.mark.slow), "compare"])
def test_every_command_takes_values_of_inputs(command: str, tmp_path: Path) -> None:
    inputs = {"x": np.ones((4, 3), np.float32), "axes": np.array([0])}
    model = model_of([helper.make_node("ReduceSum", ["x", "axes"], ["y"])], inputs, {}, ["y"])
    model.graph.output[0].type.tensor_type.elem_type = TensorProto.FLOAT  # ONNX Runtime asks for it
    path = saved(model, tmp_path)
    arguments = [command, path, "-j", "1", *(["--rounds", "1", "--runs", "1"] if command == "bench" else [])]
    if command == "bench":
        arguments += ["--against", "onnxruntime"]
    np.save(tmp_path / "axes.npy", np.array([0]))
    np.savez(tmp_path / "axes.npz", axes=np.array([0]))
    for value in ("axes=[1]", f"axes={tmp_path / 'axes.npy'}", str(tmp_path / "axes.npz")):
        assert "refused" not in told(*arguments, "--specialize", value)
    assert "depends on axes" in complaint(*arguments)


def test_plan_tells_what_binds_and_on_demand_all(model: Path) -> None:
    text = told("plan", model, "-j", "1")
    assert re.search(r"arena +1,536 bytes +0.002 MB, proven minimal \(strategy auto: [a-z-]+\)\n", text)
    assert re.search(r"lower bound +1,536 bytes +0.002 MB at step 1 \([a-z_0-9]+\), ratio 1.0000\n", text)
    assert re.search(r"live at step 1, which binds:\n  perceptron/gemm_0 +640 B +[a-z_0-9]+\n", text)
    table = told("plan", model, "-j", "1", "--table")
    assert re.search(r"tensor +bytes +MB +start +end +address +mark +reused by\n", table)
    assert re.search(r"perceptron/gemm_0 +640 +0.001 +0 +2 +0", table)


def test_plan_says_what_shares_bytes(tmp_path: Path) -> None:
    b = ModelBuilder("chain")
    x = b.input("x", [8, 64])
    for kind in ("Softmax", "LogSoftmax", "Softmax"):
        x = b.node(kind, b.node("Transpose", x, perm=[1, 0]), axis=0)
    path = saved(b.model([x]), tmp_path)
    assert " over chain/" in told("plan", path, "-j", "1", "--table")
    assert " over chain/" not in told("plan", path, "-j", "1", "--table", "--no-plan-memory")
    assert re.search(
        r"optimised +[\d,]+ bytes +[\d.]+ MB in \d pools",
        told("plan", path, "-j", "1", "--strategy", "pools", "--pools"),
    )


def test_plan_writes_a_table_for_programs(model: Path) -> None:
    table = model.with_name("plan.csv")
    told("plan", model, "-j", "1", "--csv", table, "--alignment", "64")
    with table.open(newline="") as stream:
        rows = list(csv.reader(stream))
    assert rows == [
        ["tensor_name", "size", "offset", "start_time", "end_time"],
        ["perceptron/gemm_0", "640", "0", "0", "2"],
        ["perceptron/gemm_2", "640", "640", "1", "3"],
    ]


def test_compare_finds_no_difference(model: Path) -> None:
    text = told("compare", model, "-j", "1")
    assert re.search(r"output +mini_infer +onnxruntime", text)
    assert re.search(rf"{OUTPUT} +\d\.\d\de-0[678] +\d\.\d\de-0[678]", text)
    assert "every node of the unfused pipeline is within 0.0001" in text


def test_compare_names_the_first_node_that_differs(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = TanhOp.evaluate
    monkeypatch.setattr(TanhOp, "evaluate", lambda op, *x: tuple(y + 0.01 for y in right(op, *x)))  # pyright: ignore
    result = cli("compare", model, "-j", "1")
    assert (result.exit_code, result.stderr) == (1, "")
    assert re.search(
        r"first node that differs, unfused: perceptron/tanh_3 \(graph\.tanh\), error \d\.\d\de-0[12]", result.stdout
    )


def test_compare_takes_a_tolerance(model: Path) -> None:
    result = cli("compare", model, "-j", "1", "--tolerance", "1e-12")
    assert result.exit_code == 1
    assert "first node that differs, unfused: perceptron/gemm_0 (graph.matmul)" in result.stdout


def test_compare_says_when_only_optimising_makes_the_difference(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(comparing, "_first_difference", lambda *_: None)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    result = cli("compare", model, "-j", "1", "--tolerance", "1e-12")
    assert result.exit_code == 1
    assert "so the outputs part in what optimising adds" in result.stdout


def test_bench_stands_beside_a_peer_and_profiles(model: Path) -> None:
    text = told("bench", model, "-j", "1", "--rounds", "1", "--runs", "2", "--against", "onnxruntime", "--profile")
    assert "latency in ms, 1 thread(s)" in text
    assert re.search(r"engine +median +p90 +p99 +min +per second +ours/theirs: median +min +load s", text)
    number = r" +\d+\.\d+"
    assert re.search(rf"mini_infer{6 * number} *\n", text)
    assert re.search(rf"onnxruntime{8 * number} *\n", text)
    assert re.search(r"\d+\.\d +\d+\.\d % +matmul_relu_0 +perceptron/gemm_0", text)


@pytest.mark.parametrize(
    ("worker", "message"),
    [
        ('print(\'{"error": "Refusal: opset 99"}\')', "mini_infer: Refusal: opset 99"),
        ("raise SystemExit(3)", "mini_infer ended with status 3"),
        ("print('{\"load\": 1}', flush=True); input(); raise SystemExit(4)", "mini_infer ended with status 4"),
    ],
)
def test_bench_tells_how_an_engine_fails(
    worker: str, message: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (model.parent / "failing_worker.py").write_text(worker)
    monkeypatch.chdir(model.parent)
    monkeypatch.setattr(benching, "WORKER", "failing_worker")
    assert complaint("bench", model) == message


def test_bench_gives_json_for_the_same_threads_as_run(model: Path) -> None:
    found = json.loads(told("bench", model, "--duration", "0.01", "--warmup", "0", "--profile", "--json"))
    assert found["threads"] == mi.EngineConfig().thread_count
    ours = found["engines"]["mini_infer"]
    assert ours["inferences"] % 20 == 0 and ours["inferences"] * ours["mean_ms"] >= 10
    assert ours["min_ms"] <= ours["median_ms"] <= ours["p90_ms"] <= ours["p99_ms"]
    assert ours["per_second"] == pytest.approx(1e3 / ours["mean_ms"])  # pyright: ignore[reportUnknownMemberType]
    assert {each["node"] for each in found["kernels"]} == {"perceptron/gemm_0", "perceptron/gemm_2", OUTPUT}
    assert found["dropped"] == {}


def test_latencies_are_counted_as_they_are_told() -> None:
    found = Measured.of([0.001 * each for each in range(1, 102)], load=2)
    assert (found.inferences, found.load_s) == (101, 2)
    expected = {"median_ms": 51, "p90_ms": 91, "p99_ms": 100, "min_ms": 1, "mean_ms": 51, "per_second": 1000 / 51}
    assert {name: getattr(found, name) for name in expected} == pytest.approx(expected)  # pyright: ignore[reportUnknownMemberType]


FAILING_PEER = """
import sys
from mini_infer.tools import bench_worker
if sys.argv[1] == "mini_infer":
    bench_worker.main()
elif {loads}:
    print('{{"load": 1}}', flush=True); input(); print('{{"times": []}}', flush=True); input(); raise SystemExit(4)
else:
    print('{{"error": "Refusal: opset 99"}}')
"""


@pytest.mark.parametrize(
    ("peer", "loads", "why"),
    [
        ("openvino", False, "openvino is not installed: pip install openvino"),
        ("onnxruntime", False, "onnxruntime: Refusal: opset 99"),
        ("onnxruntime", True, "onnxruntime ended with status 4"),
    ],
)
def test_a_peer_that_fails_is_left_out_alone(
    peer: str, loads: bool, why: str, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (model.parent / "failing_peer.py").write_text(FAILING_PEER.format(loads=loads))
    monkeypatch.setenv("PYTHONPATH", f"{model.parent}:{ENVIRONMENT['PYTHONPATH']}")
    monkeypatch.setattr(benching, "WORKER", "failing_peer")
    monkeypatch.setattr(benching, "find_spec", lambda name: None if name == "openvino" else name)  # pyright: ignore
    result = cli("bench", model, "-j", "1", "--rounds", "1", "--runs", "1", "--against", peer, "--json")
    assert (result.exit_code, result.stderr) == (0, f"mini-infer: warning: left out: {why}\n")
    found = json.loads(result.stdout)
    assert list(found["engines"]) == ["mini_infer"] and found["dropped"] == {peer: why}


def test_demo_builds_and_runs_a_resnet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_model, "STAGES", ((1, 8), (2, 16)))
    path = tmp_path / "build" / "resnet.onnx"
    text = told("demo", "--model", path, "--image", "32", "-j", "1")
    assert re.search(r"built .*resnet\.onnx, [\d.]+ kB, in [\d.]+ s", text.replace("\n", ""))
    assert re.search(r"rewrites: .*fold-batch-norm 12", text)
    assert re.search(r"softmax/out +float32 +1x1000 +[\d.e-]+ +0\.001 +[\d.]+", text)
    assert "without reuse" in text
    x = np.zeros((1, 3, 32, 32), np.float32)
    np.testing.assert_allclose(mi.compile(path, threads=1)(x).sum(), 1, rtol=1e-5)


def test_the_demos_last_words_are_commands_that_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_model, "STAGES", ((1, 8),))
    text = told("demo", "--model", tmp_path / "my model.onnx", "--image", "32", "-j", "1")
    found = re.search(r"\nNow yours: (.*)\nLook inside: (.*)\n$", text)
    assert found is not None
    run, look = (shlex.split(words) for words in found.groups())
    assert run[1:] == ["run", "YOUR.onnx"] and shutil.which(run[0])
    shown = subprocess.run(look, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert shown.returncode == 0 and "graph.kernel @" in shown.stdout
    assert re.fullmatch(r"mini-opt: note: [\d,]+ bytes of new weights are left out; .*\n", shown.stderr)


def test_a_command_is_named_so_that_the_shell_finds_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    programs = tmp_path / "my env" / "bin"
    programs.mkdir(parents=True)
    (programs / "tool").write_text("#!/bin/sh\n")
    (programs / "tool").chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(programs / "python"))
    assert shell_name("tool") == f"'{programs}/tool'"
    monkeypatch.chdir(tmp_path)
    assert shell_name("tool") == "'my env/bin/tool'"
    assert shell_name("other-tool") == "other-tool"
    monkeypatch.setenv("PATH", str(programs))
    assert shell_name("tool") == "tool"


def test_the_demos_model_is_a_resnet50() -> None:
    graph = demo_model.resnet50().graph
    assert sum(node.op_type == "Conv" for node in graph.node) == 53
    assert 25e6 < sum(np.prod(weight.dims) for weight in graph.initializer) < 26e6


WRONG: dict[str, tuple[list[str], str]] = {
    "no file": (["run", "nothing.onnx"], r"nothing\.onnx"),
    "a folder": (["run", "."], r"\."),
    "no model": (["plan", "text.onnx"], r"text\.onnx"),
    "dimension": (["run", "model.onnx", "--dim", "rows"], "--dim rows: expected NAME=SIZE with a size of at least 1"),
    "size 0": (["plan", "model.onnx", "--dim", "rows=0"], "--dim rows=0: expected NAME=SIZE"),
    "unknown dimension": (["compare", "model.onnx", "--dim", "rows=1"], "--dim: no input has a dynamic dimension rows"),
    "value": (["run", "model.onnx", "--specialize", "x=one"], "--specialize x=one: expected NAME=VALUE, such as axes="),
    "value's file": (["run", "model.onnx", "--specialize", "x=no.npy"], r"no\.npy: no such file"),
    "values' file": (["plan", "model.onnx", "--specialize", "no.npz"], r"no\.npz: no such file"),
    "unknown value": (["plan", "model.onnx", "--specialize", "y=1"], "--specialize: there is no input y"),
    "no input file": (["run", "model.onnx", "-i", "x.npy"], r"x\.npy: no such file"),
    "folder as input": (["compare", "model.onnx", "-i", "x=."], r"\.: is a folder"),
    "text as input": (
        ["run", "model.onnx", "-i", "text.onnx"],
        r"text\.onnx: not a \.npy or \.npz file of plain arrays",
    ),
    "unknown input": (["bench", "model.onnx", "-i", "y=good.npy"], "there is no input y; the model has x"),
    "shape of an input": (["run", "model.onnx", "-i", "good.npy"], r"input 'x' has shape \[3\] instead of \[4, 24\]"),
    "planner": (["plan", "model.onnx", "--strategy", "best"], "--strategy is 'best'; it must be one of naive, "),
    "alignment": (["plan", "model.onnx", "--alignment", "3"], "--alignment is 3"),
    "csv": (["plan", "model.onnx", "--csv", "text.onnx/plan.csv"], "text.onnx/plan.csv: can't be written: "),
    "output": (
        ["run", "model.onnx", "--reference", "-o", "folder.npz"],
        "folder.npz: can't be written: Is a directory",
    ),
    "output's name": (["run", "model.onnx", "-o", "model.onnx"], "--output model.onnx: the name must end in .npz"),
    "shape": (
        ["plan", "model.onnx", "--shape", "x=4,x"],
        "--shape x=4,x: expected NAME=SIZE,SIZE,... with sizes of at",
    ),
    "shape that doesn't fit": (["run", "model.onnx", "--shape", "x=4,24,1"], "x"),
    "peer": (
        ["bench", "model.onnx", "--against", "tflite,openvino"],
        "--against tflite: there are onnxruntime, openvino",
    ),
}


USELESS: dict[str, str] = {
    "run --reference -j 1": "--threads does nothing with --reference",
    "run --reference --no-optimize": "--no-optimize does nothing with --reference",
    "run --reference --repeat 3": "--repeat does nothing with --reference",
    "run --reference --check-memory": "--check-memory does nothing with --reference",
    "run --check-memory --repeat 3": "--repeat does nothing with --check-memory",
    "run --precision tf32": "--precision does nothing on the device 'cpu'",
    "run --device cuda --threads 2": "--threads does nothing on the device 'cuda'",
    "plan --device cuda --gpu sm_20": "--gpu is 'sm_20'; it must be one of sm_80, sm_90a, sm_100a",
    "run --reference --device cuda": "--device does nothing with --reference",
    "run --device gpu": "--device 'gpu' is not supported; there is 'cpu', 'cuda'",
    "plan --no-plan-memory --strategy pools": "--strategy pools does nothing with --no-plan-memory",
    "plan --no-plan-memory --disable-inplace add": "--disable-inplace does nothing with --no-plan-memory",
    "plan --no-plan-memory --strategy beam --beam-width 2": "--strategy beam does nothing with --no-plan-memory",
    "plan --no-plan-memory --beam-width 2": "--beam-width does nothing with --no-plan-memory",
    "plan --no-plan-memory --pools": "--pools does nothing with --no-plan-memory",
    "plan --disable-inplace addd": "order-kernels: there is no op graph.addd to disable; is add meant?",
    "plan --disable-inplace Call": "order-kernels: there is no op graph.Call to disable",
    "bench --duration 1 --rounds 2": "--rounds does nothing with --duration",
}


@pytest.mark.parametrize("words", USELESS)
def test_options_that_would_do_nothing_are_refused(words: str, model: Path) -> None:
    assert complaint(*words.split(), model).startswith(USELESS[words])


def test_ops_may_be_named_as_in_onnx(tmp_path: Path) -> None:
    b = ModelBuilder("chain")
    x = b.input("x", [8, 64])
    for _ in range(3):
        x = b.node("Softmax", b.node("Transpose", x, perm=[1, 0]), axis=0)
    path = saved(b.model([x]), tmp_path)
    plans = {
        names: told("plan", path, "-j", "1", "--table", "--disable-inplace", names).splitlines()[1:]
        for names in ("softmax", "Softmax", "softmax,BatchNormalization,AveragePool,Gemm,LeakyRelu", "add")
    }
    found = list(plans.values())
    assert found[0] == found[1] == found[2] != found[3]


def test_a_plan_for_a_gpu_needs_none(model: Path) -> None:
    lines = told("plan", model, "--device", "cuda", "--gpu", "sm_90a", "--precision", "tf32", "--table")
    assert "proven minimal" in lines and "gemm_0" in lines


@pytest.mark.parametrize("case", WRONG)
def test_a_mistake_is_one_line(case: str, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = model.parent
    (folder / "text.onnx").write_text("no model")
    (folder / "folder.npz").mkdir()
    np.save(folder / "good.npy", np.zeros(3, np.float32))
    before = sorted(folder.rglob("*"))
    monkeypatch.chdir(folder)
    arguments, message = WRONG[case]
    result = cli(*arguments)
    assert result.exit_code == 1
    assert re.fullmatch(rf"mini-infer: error: .*{message}.*\n", result.stderr)
    assert sorted(folder.rglob("*")) == before


def test_which_input_a_file_is_must_be_said(lookup: Path) -> None:
    np.save(lookup.with_name("a.npy"), np.arange(5))
    assert "which input is it? Write NAME=" in complaint("run", lookup, "-i", lookup.with_name("a.npy"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Missing command."),
        (["run"], "Missing argument 'MODEL'."),
        (["fly"], "No such command 'fly'."),
        (["run", "m.onnx", "--fast"], "No such option: --fast"),
        (["run", "m.onnx", "-j", "0"], "Invalid value for '--threads' / '-j': "),
        (["bench", "m.onnx", "--runs", "many"], "Invalid value for '--runs': "),
        (["run", "m.onnx", "--seed", "-1"], "Invalid value for '--seed': "),
        (["compare", "m.onnx", "--seed", "-1"], "Invalid value for '--seed': "),
    ],
)
def test_a_wrong_command_line_is_one_line_and_status_2(arguments: list[str], message: str) -> None:
    assert complaint(*arguments, status=2).startswith(message)


def test_warnings_are_lines(model: Path) -> None:
    damaged = ModelProto.FromString(model.read_bytes())
    damaged.graph.node.add(op_type="Relu", name="lonely", input=["x"], output=["nobody"])
    result = cli("plan", saved(damaged, model.parent), "-j", "1")
    assert result.exit_code == 0
    assert re.fullmatch(r"(mini-infer: warning: .+\n)*", result.stderr)


def test_a_closed_pipe_is_no_error(model: Path) -> None:
    command: list[Any] = [sys.executable, "-m", "mini_infer.tools.cli", "plan", model]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    errors = process.stderr.read()
    assert (process.wait(), errors) == (1, b"")
    process.stderr.close()


@pytest.mark.parametrize(
    ("command", "status", "errors"),
    [
        ("plan {model} >&-", 1, "mini-infer: error: standard input or output: Bad file descriptor\n"),
        ("--help >&-", 1, "mini-infer: error: standard input or output: Bad file descriptor\n"),
        ("run nothing.onnx >&-", 1, "mini-infer: error: nothing.onnx: no such file\n"),
        ("plan {model} > /dev/full", 1, "mini-infer: error: standard input or output: No space left on device\n"),
        ("run nothing.onnx 2>&-", 1, ""),
    ],
)
def test_closed_or_full_streams_are_one_line(command: str, status: int, errors: str, model: Path) -> None:
    words = f"{sys.executable} -m mini_infer.tools.cli {command.format(model=model)}"
    result = subprocess.run(words, shell=True, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    assert (result.returncode, result.stderr, result.stdout) == (status, errors, "")


def test_interrupting_is_one_line(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(np.random, "default_rng", interrupted)
    assert complaint("run", model, "-j", "1", "-o", model.with_name("out.npz"), status=130) == "interrupted"
    assert [path.name for path in model.parent.iterdir()] == ["model.onnx"]


def test_help_names_every_command() -> None:
    text = told("--help")
    assert all(command in text for command in ("run", "plan", "bench", "compare", "demo"))
    for command in ("run", "plan", "bench", "compare", "demo"):
        assert "--help" in told(command, "--help") and told(command, "-h") == told(command, "--help")


RANGE = ("--range", "n=1,16,100", "-j", "1")


def test_run_at_shapes_of_a_range(any_rows: Path) -> None:
    text = told("run", any_rows, *RANGE, "--repeat", "2")
    assert re.findall(r"^ *(n=\d+) +[\d.]+ +1 +[\d.]+ +[\d.]+ +[\d.]+ kB", text, re.MULTILINE) == [
        "n=16",
        "n=1",
        "n=100",
    ]


def test_run_writes_what_it_makes_of_one_shape(any_rows: Path) -> None:
    given, written = any_rows.with_name("x.npy"), any_rows.with_name("made.npz")
    x = np.random.default_rng(0).standard_normal((2, 77, 12)).astype(np.float32)
    np.save(given, x)
    text = told("run", any_rows, *RANGE, "--at", "n=77", "--repeat", "1", "-i", f"x={given}", "-o", written)
    assert f"outputs written to {written}" in text
    (made,) = np.load(written).values()
    wanted = mi.compile(any_rows, dims={"n": 77}, threads=1)(x)
    np.testing.assert_allclose(made, wanted, rtol=1e-4, atol=1e-6)


def test_plan_at_shapes_of_a_range(any_rows: Path) -> None:
    text = told("plan", any_rows, *RANGE, "--at", "n=3", "--at", "n=100")
    rows = re.findall(r"^ *n=(\d+) +([\d,]+) +([\d,]+) +[\d.]+ +1 *$", text, re.MULTILINE)
    assert [row[0] for row in rows] == ["3", "100"]
    (small, largest) = (int(row[1].replace(",", "")) for row in rows)
    assert small < largest
    assert f"a context has room for all shapes: {largest:,} bytes" in text


def test_bench_at_shapes_of_a_range(any_rows: Path) -> None:
    amount = ("--rounds", "1", "--runs", "1", "--warmup", "0", "--at", "n=9", "--at", "n=8")
    found = json.loads(told("bench", any_rows, *RANGE, *amount, "--json"))
    assert [each["engines"]["mini_infer"]["inferences"] for each in found.values()] == [1, 1]
    assert list(found) == ["n=9", "n=8"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--at", "n=3"), "--at does nothing without --range"),
        ((*RANGE, "--at", "n=101"), "--at n=101: n is from 1 to 100"),
        ((*RANGE, "--at", "m=3"), "--at m=3: there is no --range of m"),
        ((*RANGE, "--at", "n=x"), "--at n=x: expected NAME=SIZE,NAME=SIZE,..."),
        (("--range", "n=3"), "--range n=3: expected NAME=MIN,OPT,MAX with 0 <= MIN <= OPT <= MAX"),
        (("--range", "m=1,2,3"), "profile: no input has a dynamic dimension m; there are: n"),
    ],
)
def test_ranges_that_are_none(options: tuple[str, ...], message: str, any_rows: Path) -> None:
    for command in ("run", "plan", "bench"):
        assert complaint(command, any_rows, *options) == message


@pytest.mark.parametrize(
    ("command", "option"), [("run", "--reference"), ("run", "--timing"), ("plan", "--table"), ("bench", "--profile")]
)
def test_what_is_for_one_shape_only(command: str, option: str, any_rows: Path) -> None:
    assert complaint(command, any_rows, *RANGE, option) == f"{option} does nothing with --range"
