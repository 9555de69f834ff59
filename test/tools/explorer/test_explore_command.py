"""`mini-infer explore` and `mini-infer explain`: files, answers, and what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_runs import cli
from models.small import SMALL_MODELS
from typer.testing import Result


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a model, and the record of its compile."""
    made = tmp_path_factory.mktemp("explored")
    (made / "mlp.onnx").write_bytes(SMALL_MODELS["mlp"]().SerializeToString())
    assert run("explore", made / "mlp.onnx", "-o", made / "mlp.json", "-j", 1).exit_code == 0
    return made


def run(*words: object) -> Result:
    return cli(*map(str, words))


def test_a_page_and_a_record_are_written(folder: Path) -> None:
    done = run("explore", folder / "mlp.onnx", "-o", folder / "mlp.html", "-j", 1, "--json", "-")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert told["output_bytes"] == (folder / "mlp.html").stat().st_size
    assert told["calls"] > 0 and told["arena_bytes"] >= told["lower_bound_bytes"] and told["run_us"] > 0
    assert (folder / "mlp.html").read_text().startswith("<!DOCTYPE html>")


def test_a_record_is_taken_for_a_model(folder: Path) -> None:
    assert run("explore", folder / "mlp.json", "-o", folder / "again.html").exit_code == 0
    plain = run("explore", folder / "mlp.json", "-o", folder / "both.html", "--against", folder / "mlp.json")
    assert plain.exit_code == 0 and "wrote" in plain.stdout
    assert (folder / "both.html").stat().st_size > (folder / "again.html").stat().st_size


def test_questions_are_answered_from_a_record(folder: Path) -> None:
    for words, part in ((["memory"], "What binds:"), (["time"], "Calls by what is lost")):
        done = run("explain", folder / "mlp.json", *words)
        assert done.exit_code == 0 and part in done.stdout
    told = json.loads(run("explain", folder / "mlp.json", "memory", "--json", "-").stdout)
    assert told["question"] == "memory" and "What binds:" in told["answer"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["explore", "mlp.onnx", "-o", "x.txt"], "--output x.txt: the name must end in .html or .json"),
        (["explore", "mlp.onnx", "-o", "no/such/x.html"], "there is no such folder"),
        (["explore", "mlp.onnx", "-o", "x.json", "--against", "mlp.json"], "--against is for a page"),
        (["explore", "mlp.onnx", "-o", "x.html", "--against", "no.json"], "no.json: No such file or directory"),
        (["explore", "mlp.mi", "-o", "x.html"], "mlp.mi is compiled already"),
        (["explore", "no.onnx", "-o", "x.html"], "no.onnx"),
        (["explore", "mlp.json", "-o", "x.html", "-j", "2"], "--threads does nothing with a record"),
        (["explain", "mlp.onnx", "memry"], "explain 'memry' (did you mean memory?)"),
        (["explain", "mlp.json", "tensor", "nothing"], "there is no tensor 'nothing'"),
    ],
)
def test_mistakes_get_one_line_and_leave_nothing(
    words: list[str], message: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    before = sorted(each.name for each in folder.iterdir())
    done = run(*words)
    assert done.exit_code != 0
    assert message in done.stderr and len(done.stderr.strip().splitlines()) == 1
    assert sorted(each.name for each in folder.iterdir()) == before
