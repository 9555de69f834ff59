"""mini-infer run, plan and compare: what each command tells, and the files that it writes."""

from __future__ import annotations

import csv
import re
from itertools import takewhile
from pathlib import Path

import numpy as np
import pytest
from command_runs import cli, complaint, saved, told
from control_models import control_model
from engine_cases import inputs
from import_cases import model_of
from models.build import ModelBuilder
from onnx import TensorProto, helper

import mini_infer as mi
from mini_infer.dialects.graph.ops.unary import TanhOp
from mini_infer.dialects.graph.values import Array
from mini_infer.tools.arrays import in_place, seeded_inputs

OUTPUT = "perceptron/gemm_4"


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
    assert {"panels", "elements"} <= {row[2] for row in candidates}
    candidates = [row for row in candidates if row[2]]  # options that take several lines are one candidate
    cheapest = min(candidates, key=lambda row: float(row[4]))
    assert [row for row in candidates if row[5]] == [cheapest]


def test_run_explains_where_the_host_decides(tmp_path: Path) -> None:
    path = saved(control_model("nested"), tmp_path)
    lines = told("run", path, "--device", "cuda-emulated", "--explain").splitlines()
    assert "the host reads what decides on loops and branches in 3 places (mini-opt -t launches)" in lines


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


@pytest.mark.parametrize("command", ["run", "plan", pytest.param("bench", marks=pytest.mark.slow), "compare"])
def test_every_command_takes_caches(command: str, tmp_path: Path) -> None:
    """What is told of a run is so of the first one, and not of those that were timed, which update the cache again."""
    b = ModelBuilder("state")
    before, x = b.input("before", [4, 3]), b.input("x", [4, 3])
    path = saved(b.model([b.node("Add", before, x)]), tmp_path)
    written = tmp_path / "after.npz"
    more = {"run": ["-o", written], "bench": ["--rounds", "1"]}.get(command, [])
    told(command, path, "-j", "1", "--cache", "before=state/add_0", *more)
    if command == "run":
        with np.load(written) as loaded:
            given = seeded_inputs(mi.compile(path, threads=1).plan.inputs, 0)
            np.testing.assert_array_equal(loaded["state/add_0"], given["before"] + given["x"])
    wrong = "--cache before: expected INPUT=OUTPUT"
    assert complaint(command, path, "--cache", "before") == wrong


def test_caches_that_are_timed_are_updated_where_they_are(tmp_path: Path) -> None:
    b = ModelBuilder("decoder")
    past, new = b.input("past", [4, 3]), b.input("new", [1, 3])
    path = saved(b.model([b.node("Concat", past, new, axis=0)]), tmp_path)
    caches = {"past": "decoder/concat_0"}
    engine = mi.compile(path, threads=1, caches=caches)
    given = seeded_inputs(engine.plan.inputs, 0)
    outputs = engine(given)
    placed = in_place(given, outputs, caches)
    again = engine(placed)
    np.testing.assert_array_equal(placed["past"], given["past"])
    assert np.shares_memory(placed["past"], again["decoder/concat_0"])


def test_plan_tells_what_binds_and_on_demand_all(model: Path) -> None:
    text = told("plan", model, "-j", "1")
    assert re.search(r"arena +1,536 bytes +0.002 MB, proven minimal \(strategy auto: [a-z-]+\)\n", text)
    assert re.search(r"lower bound +1,536 bytes +0.002 MB at step 1 \([a-z_0-9]+\), ratio 1.0000\n", text)
    assert re.search(r"live at step 1, which binds:\n  perceptron/relu_1 +0 +640 B +[a-z_0-9]+\n", text)
    table = told("plan", model, "-j", "1", "--table")
    assert re.search(r"tensor +bytes +MB +start +end +address +mark +made by +read by +reused by\n", table)
    assert re.search(r"perceptron/relu_1 +640 +0.001 +0 +2 +0", table)


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
    assert [row[:6] for row in rows[:4]] == [
        ["tensor_name", "size", "offset", "start_time", "end_time", "role"],
        ["perceptron/relu_1", "640", "0", "0", "2", "intermediate"],
        ["perceptron/tanh_3", "640", "640", "1", "3", "intermediate"],
        ["x", "384", "", "0", "3", "input"],
    ]
    assert rows[-1][0] == "perceptron/gemm_2" and rows[-1][5] == "removed"


def test_compare_finds_no_difference(model: Path) -> None:
    text = told("compare", model, "-j", "1")
    assert re.search(r"output +mini_infer +onnxruntime", text)
    assert re.search(rf"{OUTPUT} +\d\.\d\de-0[678] +\d\.\d\de-0[678]", text)
    assert "every node of the unfused pipeline is right, as rounding goes" in text


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


def test_ops_may_be_named_as_in_onnx(tmp_path: Path) -> None:
    b = ModelBuilder("chain")
    x = b.input("x", [8, 64])
    for _ in range(3):
        x = b.node("Softmax", b.node("Transpose", x, perm=[1, 0]), axis=0)
    path = saved(b.model([x]), tmp_path)
    plans = {
        names: told("plan", path, "-j", "1", "--table", "--disable-inplace", names).splitlines()[1:]
        for names in (
            "softmax",
            "Softmax",
            "graph.softmax",
            "softmax,BatchNormalization,AveragePool,Gemm,LeakyRelu",
            "add",
        )
    }
    found = list(plans.values())
    assert found[0] == found[1] == found[2] == found[3] != found[4]


def test_a_plan_for_a_gpu_needs_none(model: Path) -> None:
    lines = told("plan", model, "--device", "cuda", "--gpu", "sm_90a", "--precision", "tf32", "--table")
    assert "proven minimal" in lines and "gemm_0" in lines
