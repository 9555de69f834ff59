"""What `mini-infer build`, `run` and `cache` do with compiled models."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_runs import complaint, told

CPU = ("--cpu", "native", "-j", "1")


@pytest.fixture
def cache(with_cache: Path) -> Path:
    """Where commands keep models."""
    return with_cache


def test_what_was_run_is_found_and_listed(model: Path, cache: Path) -> None:
    assert ", compiled in " in told("run", model, "-j", "1", "--repeat", "1")
    assert ", found compiled, loaded in " in told("run", model, "-j", "1", "--repeat", "1")
    assert ", compiled in " in told("run", model, "-j", "1", "--repeat", "1", "--no-keep")
    assert ", compiled in " in told("run", model, "-j", "1", "--repeat", "1", "--timing")
    listed = told("cache")
    assert "model.onnx" in listed and "1 models, " in listed and f"of at most 8.000 GB, in {cache}" in listed
    (entry,) = (cache / "models").iterdir()
    entry.write_bytes(b"")
    assert "(damaged)" in told("cache", "list")
    assert told("cache", "where").strip() == str(cache)
    assert f"in {cache} forgotten" in told("cache", "clear")
    assert "0 models, 0 B of at most" in told("cache")


def test_what_cannot_be_forgotten_is_said(cache: Path) -> None:
    (cache / "models" / "x.entry").mkdir(parents=True)
    assert re.fullmatch(f"{cache}: .* in 1 files can't be removed", complaint("cache", "clear"))


def test_there_may_be_so_much(model: Path, cache: Path) -> None:
    told("run", model, "-j", "1", "--repeat", "1")
    assert told("cache", "limit") == "models take at most 8.000 GB\n"
    assert told("cache", "limit", "1G") == "models take at most 1.000 GB\n"
    assert "1 models, " in told("cache")
    told("cache", "limit", "10")
    assert "0 models, " in told("cache")
    told("run", model, "-j", "1", "--repeat", "1")  # is more than there may be
    assert "0 models, " in told("cache", "--folder", cache)
    assert "is a number of bytes such as 500M or 20G, not 'x'" in complaint("cache", "limit", "x")


def test_nothing_is_kept_unless_it_is_asked_for(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("MINI_INFER_CACHE", "off")
    told("run", model, "-j", "1", "--repeat", "1")
    assert not (tmp_path / "xdg").exists()
    told("run", model, "-j", "1", "--repeat", "1", "--keep")
    assert len([*(tmp_path / "xdg" / "mini_infer" / "models").iterdir()]) == 1


def test_a_file_is_built_and_run(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "model.mi"
    said = told("build", model, "-o", file, *CPU)
    assert "model.onnx compiled for native in " in said and f"{file}: " in said
    assert "model.mi: " in told("run", file, "--repeat", "1")
    file.write_bytes(file.read_bytes()[:-1])
    assert f"{file}: it is cut short" in complaint("run", file)


def test_a_file_is_compiled_already(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "model.mi"
    told("build", model, "-o", file, *CPU)
    for given in (("-j", "2"), ("--winograd", "off"), ("--dim", "n=1"), ("--no-optimize",), ("--keep",), ("--timing",)):
        assert "does nothing with a .mi file, which is compiled already" in complaint("run", file, *given)
    for command in ("plan", "bench", "compare"):
        assert "does nothing with a .mi file, which is compiled already" in complaint(command, file, "-j", "2")
    assert "not an ONNX model: it is compiled already" in complaint("tune", file)
    assert "not an ONNX model: it is compiled already" in complaint("build", file, "-o", tmp_path / "other.mi")


def test_a_file_for_many_shapes(any_rows: Path, tmp_path: Path) -> None:
    file = tmp_path / "model.mi"
    told("build", any_rows, "-o", file, *CPU, "--range", "n=1,8,16", "--at", "n=1")
    assert "found compiled, loaded" in told("run", file, "--repeat", "1")
    assert re.search(r"n=1 .*\n +n=12 ", told("run", file, "--repeat", "1", "--at", "n=1", "--at", "n=12"))
    assert complaint("run", file, "--at", "n=17") == "--at n=17: n is from 1 to 16"
    rows = re.findall(r"n=(\d+) +([\d,]+) ", told("plan", file, "--at", "n=1", "--at", "n=16"))
    assert [row[0] for row in rows] == ["1", "16"] and rows[0][1] < rows[1][1]


def test_a_compiled_file_has_its_plan(model: Path, tmp_path: Path) -> None:
    file, picture = tmp_path / "model.mi", tmp_path / "arena.svg"
    told("build", model, "-o", file, "--prove-order", *CPU)
    said, wanted = told("plan", file, "--plot", picture), told("plan", model, "-j", "1")
    assert said.splitlines()[1:-1] == wanted.splitlines()[1:]
    assert picture.read_text().startswith("<?xml")
    assert complaint("plan", file, "--at", "n=1") == f"--at does nothing with {file}, which is for one shape"
    assert "--strategy does nothing with a .mi file" in complaint("plan", file, "--strategy", "pools")


def test_what_does_nothing_is_refused(model: Path, tmp_path: Path) -> None:
    file = tmp_path / "model.mi"
    assert "--force does nothing without --emit c" in complaint("build", model, "-o", file, "--force")
    assert "--at does nothing without --range" in complaint("build", model, "-o", file, "--at", "n=1")
    assert "the name must end in .mi" in complaint("build", model, "-o", tmp_path / "model")
    assert "--emit d: there is only c" in complaint("build", model, "-o", file, "--emit", "d")
    assert "there is no CPU level 'z80'" in complaint("build", model, "-o", file, "--cpu", "z80")
    assert "--keep does nothing with --timing" in complaint("run", model, "--keep", "--timing")
    assert "--keep does nothing with --device cuda-emulated" in complaint(
        "run", model, "--keep", "--device", "cuda-emulated"
    )
    assert "cache what: there are list, where, clear, limit" in complaint("cache", "what")
    assert "7 does nothing with cache clear" in complaint("cache", "clear", "7")
