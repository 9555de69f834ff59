"""mini-infer bisect: it names the pass at fault, the kernel and the node, and nothing in a healthy model."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from bisect_faults import FAULTS, Fault, model_named
from command_runs import cli, complaint, saved, told
from models.builder import ModelBuilder

from mini_infer.tools.mini_opt.command import main as mini_opt

QUICK = ("canonical-epsilon", "kernel-relu", "lstm-packed", "overlap", "stops", "llvm")
"""Of each level."""


@pytest.mark.parametrize(
    "fault", [pytest.param(each, marks=[] if each.name in QUICK else pytest.mark.slow, id=each.name) for each in FAULTS]
)
def test_the_pass_at_fault_is_named(fault: Fault, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, sites = saved(model_named(fault.model), tmp_path), fault.plant(monkeypatch)
    report = tmp_path / "found.json"
    result = cli("bisect", path, "-j", "1", "--json", report)
    assert sites, "nothing was spoilt"
    assert (result.exit_code, result.stderr) == (1, ""), result.stdout
    found = json.loads(report.read_text())
    site = sites[0]
    assert found["culprit"] == (fault.told or fault.by), result.stdout
    if site.kernel:
        assert found["kernel"] == site.kernel, result.stdout
    if site.node:
        assert site.node in found["nodes"], result.stdout


PLANTED = {each.name: each for each in FAULTS}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return saved(model_named("mlp"), tmp_path)


def test_nothing_is_wrong_with_a_healthy_model(path: Path) -> None:
    text = told("bisect", path, "-j", "1")
    assert text.startswith("nothing is wrong: the worst output is mlp/softmax_7, error ")


def test_a_tolerance_that_the_types_cannot_meet_blames_no_pass(path: Path) -> None:
    result = cli("bisect", path, "-j", "1", "--tolerance", "1e-13")
    assert result.exit_code == 1
    assert result.stdout.startswith("no pass is to blame: output mlp/softmax_7 has error ")
    assert "evaluated op by op in its own types is no better" in result.stdout
    assert cli("bisect", path, "-j", "1", "--tolerance", "1e-13", "--tolerance", "mlp/softmax_7=1e-3").exit_code == 0


def test_the_output_to_judge_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What only the last output depends on is not wrong in the first."""
    path = saved(model_named("transformer"), tmp_path)
    PLANTED["last-output"].plant(monkeypatch)
    first, last = "transformer/layernormalization_59", "transformer/tanh_62"
    assert cli("bisect", path, "-j", "1", "--output", first).exit_code == 0
    result = cli("bisect", path, "-j", "1", "--output", last)
    assert result.exit_code == 1
    assert result.stdout.startswith(f"cse (1 of 2 in the pipeline) makes output {last} wrong")


def test_a_reproducer_is_the_module_before_the_pass(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, relu = tmp_path / "before.mlir", 'loc("mlp/relu_1")'
    PLANTED["canonical-relu"].plant(monkeypatch)
    result = cli("bisect", path, "-j", "1", "-o", file)
    assert f"mini-opt {file} --run-reproducer" in result.stdout
    assert re.search(r"^- %\d+ = graph\.relu .*" + re.escape(relu), result.stdout, re.MULTILINE)
    assert file.read_text().startswith("// configuration: --pass-pipeline=canonicalize-graph --verify-each\n")
    assert relu in file.read_text()
    assert mini_opt([str(file), "--run-reproducer"]) == 0
    assert relu not in capsys.readouterr().out
    # The file is a model, too: the pass is at fault in it. What can't be written is told, behind all the rest.
    again = cli("bisect", file, "-j", "1", "-o", tmp_path / "none" / "x.mlir")
    assert again.exit_code == 1 and again.stdout.startswith("canonicalize-graph (1 of 2 in the pipeline) makes output ")
    assert "there is no reproducer: " in again.stdout and relu in again.stdout


@pytest.mark.parametrize("level", ["kernels", "buffers", "arena"])
def test_a_module_at_a_lower_level_is_a_model(level: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, file = saved(model_named("mlp"), tmp_path), tmp_path / "module.mlir"
    assert mini_opt([str(path), "--to", level, "-o", str(file)]) == 0
    assert told("bisect", file, "-j", "1").startswith("nothing is wrong: the worst output is mlp/softmax_7, error ")
    PLANTED["stops"].plant(monkeypatch)
    result = cli("bisect", file, "-j", "1")
    assert result.exit_code == 1 and result.stdout.startswith("insert-cancellation-points makes output ")


def test_what_bisect_complains_of(path: Path, tmp_path: Path) -> None:
    file = tmp_path / "module.mlir"
    assert mini_opt([str(path), "--to", "loops", "-o", str(file)]) == 0
    assert complaint("bisect", file) == "bisect needs a reference, which a module at the loops level has not"
    assert complaint("bisect", path, "--output", "z") == "--output: there is no output z; outputs are mlp/softmax_7"
    assert complaint("bisect", path, "-o", "x.txt") == "--reproducer x.txt: the name must end in .mlir"
    for verb in ("bisect", "compare"):
        wanted = "--tolerance: there is no output z; outputs are mlp/softmax_7"
        assert complaint(verb, path, "--tolerance", "z=1") == wanted
        wanted = "--tolerance x: expected ERROR or OUTPUT=ERROR with an error of at least 0"
        assert complaint(verb, path, "--tolerance", "x") == wanted
        assert complaint(verb, path, "--tolerance", "1", "--tolerance", "2") == (
            "--tolerance 2: the default is given twice"
        )


def test_models_with_caches_are_refused(tmp_path: Path) -> None:
    b = ModelBuilder("cached")
    model = b.model([b.node("Concat", b.input("past", [1, 2, 4]), b.input("x", [1, 1, 4]), axis=1)])
    file, output = tmp_path / "module.mlir", model.graph.output[0].name
    assert mini_opt([str(saved(model, tmp_path)), "--cache", f"past={output}", "--to", "graph", "-o", str(file)]) == 0
    assert complaint("bisect", file) == "bisect is for models without caches, which are inputs and outputs at once"


def test_one_shape_is_asked_for(any_rows: Path, tmp_path: Path) -> None:
    file = tmp_path / "module.mlir"
    assert mini_opt([str(any_rows), "--range", "n=1,4,8", "--to", "graph", "-o", str(file)]) == 0
    assert complaint("bisect", file) == "bisect is for one shape, and the model has ranges of sizes"
    assert told("bisect", any_rows, "--dim", "n=3", "-j", "1").startswith("nothing is wrong: ")
