"""mini-infer: every error is one line, and files appear whole or not at all."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runs import ENVIRONMENT, cli, complaint, saved, told
from onnx import ModelProto

from mini_infer.tools.mini_opt import command as mini_opt

WRONG: dict[str, tuple[list[str], str]] = {
    "no file": (["run", "nothing.onnx"], r"nothing\.onnx"),
    "a folder": (["run", "."], r"\."),
    "no model": (["plan", "text.onnx"], r"text\.onnx"),
    "dimension": (["run", "model.onnx", "--dim", "rows"], "--dim rows: expected NAME=SIZE with a size of at least 1"),
    "size 0": (["plan", "model.onnx", "--dim", "rows=0"], "--dim rows=0: expected NAME=SIZE"),
    "unknown dimension": (["compare", "model.onnx", "--dim", "rows=1"], "--dim: no input has a dynamic dimension rows"),
    "value": (["run", "model.onnx", "--specialize", "x=one"], "--specialize x=one: expected NAME=VALUE, such as axes="),
    "nested value": (["run", "model.onnx", "--specialize", f"x={'[' * 50_000}"], r"--specialize x=\[+: expected NAME="),
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
    "run --precision tf32": "--precision is 'tf32'; on the device 'cpu' it must be fp32 or bf16",
    "run --device cuda --threads 2": "--threads does nothing on the device 'cuda'",
    "plan --device cuda --gpu sm_20": "--gpu is 'sm_20'; it must be one of sm_80, sm_90a, sm_100a",
    "run --reference --cache x=y": "--cache does nothing with --reference",
    "run --reference --device cuda": "--device does nothing with --reference",
    "run --device gpu": "--device 'gpu' is not supported; there is 'cpu', 'cuda'",
    "plan --no-plan-memory --strategy pools": "--strategy pools does nothing with --no-plan-memory",
    "plan --no-plan-memory --disable-inplace add": "--disable-inplace does nothing with --no-plan-memory",
    "plan --no-plan-memory --strategy beam --beam-width 2": "--strategy beam does nothing with --no-plan-memory",
    "plan --no-plan-memory --beam-width 2": "--beam-width does nothing with --no-plan-memory",
    "plan --no-plan-memory --pools": "--pools does nothing with --no-plan-memory",
    "plan --disable-inplace addd": "--disable-inplace: there is no op graph.addd to disable; is add meant?",
    "plan --disable-inplace Call": "--disable-inplace: there is no op graph.Call to disable",
    "bench --duration 1 --runs 2": "--runs does nothing with --duration",
    "bench --device cuda-emulated --profile": "--profile does nothing with --device cuda-emulated, which has no clock",
    "run --no-optimize --winograd off": "--winograd does nothing with --no-optimize",
    "plan --no-optimize --winograd compact": "--winograd does nothing with --no-optimize",
    "bench --no-optimize --winograd off": "--winograd does nothing with --no-optimize",
    "run --precision bf16 --no-optimize": "--precision does nothing with enable_graph_optimization=False",
}


@pytest.mark.parametrize("words", USELESS)
def test_options_that_would_do_nothing_are_refused(words: str, model: Path) -> None:
    assert complaint(*words.split(), model).startswith(USELESS[words])


def test_a_seed_of_nothing_is_refused(model: Path) -> None:
    given = model.with_name("x.npy")
    np.save(given, np.zeros((4, 24), np.float32))
    for command in ("run", "run --reference", "compare", "bench"):
        message = complaint(*command.split(), model, "-i", f"x={given}", "--seed", "1")
        assert message == "--seed does nothing: no input is left to be made"


def test_a_time_limit_of_no_search_is_refused(tmp_path: Path) -> None:
    problem = tmp_path / "problem.csv"
    problem.write_text("id,lower,upper,size\n0,0,2,8\n")
    message = complaint("allocate", problem, "--strategy", "pools", "--time-limit", "1")
    assert message == "--time-limit does nothing with the strategy 'pools', which does not search"
    told("allocate", problem, "--strategy", "exact", "--time-limit", "1")


def test_a_cpu_is_not_chosen_for_kernels_that_are_scheduled(model: Path) -> None:
    kernels = model.with_name("kernels.mlir")
    assert mini_opt.main([str(model), "--to", "kernels", "-o", str(kernels)]) == 0
    into = {"c": model.with_name("c"), "mi": model.with_name("model.mi")}
    for options in (["-o", into["c"], "--emit", "c", "--cpu", "x86-64-v2"], ["-o", into["mi"], "--cpu", "x86-64-v2"]):
        message = complaint("build", kernels, *options)
        assert message.startswith("--cpu x86-64-v2 is decided above the kernels level; the module is at the kernels")
    assert not any(path.exists() for path in into.values())
    told("build", kernels, "-o", into["mi"], "--cpu", "native")


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
    command: list[Any] = [sys.executable, "-m", "mini_infer.tools.mini_infer", "plan", model]
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
    words = f"{sys.executable} -m mini_infer.tools.mini_infer {command.format(model=model)}"
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
    assert all(command in text for command in ("run", "plan", "bench", "compare", "machine", "tune", "demo"))
    for command in ("run", "plan", "bench", "compare", "machine", "tune", "demo"):
        assert "--help" in told(command, "--help") and told(command, "-h") == told(command, "--help")
