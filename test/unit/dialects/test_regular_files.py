"""What lies where a file should be, and is none, is refused by name: nothing waits for it, and nothing reads it."""

from __future__ import annotations

import contextlib
import io
import os
import socket
import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from command_runs import complaint
from fuzz.hostile import external
from isolated import isolated
from models.build import ModelBuilder

import mini_infer as mi
from mini_infer.dialects.errors import MiniInferError
from mini_infer.dialects.regular_file import OutsideError, open_inside, open_regular, read_regular
from mini_infer.runtime.compile.plan_builder import import_all
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.kept.cache_folders import USUAL_LIMIT, CacheFolder
from mini_infer.runtime.kept.tuning_store import TuningStore
from mini_infer.tools.arrays import load_array
from mini_infer.tools.memory.problem_csv import read_problem
from mini_infer.tools.mini_opt.command import main as mini_opt

import_all(EngineConfig())  # once, and not in each process that a test starts
SECONDS = 10  # after which a process that waits is ended


def _socket(path: Path) -> None:
    socket.socket(socket.AF_UNIX).bind(path.name)  # the whole path would be too long


KINDS: Mapping[str, Callable[[Path], object]] = {
    "a pipe": os.mkfifo,
    "a folder": os.mkdir,
    "a socket": _socket,
    "a device": lambda path: path.symlink_to("/dev/zero"),
}

MODULE = """builtin.module {{ func.func @main() -> tensor<4096xf32> {{
  %0 = graph.weight #graph.blob<"{file}", 0, 16384, "0"> : tensor<4096xf32>
  func.return %0 : tensor<4096xf32>
}} }}"""


def with_weights(path: Path, cache: bool) -> None:
    module = path.with_name("module.mlir")
    module.write_text(MODULE.format(file=path.name))
    mi.compile(module, 1, cache=path.parent / "cache" if cache else False)


def with_external_data(path: Path, cache: bool) -> None:
    model = path.with_name("model.onnx")
    model.write_bytes(external(path.name).SerializeToString())
    mi.compile(model, 1, cache=path.parent / "cache" if cache else False)


def compiled(path: Path, cache: bool) -> None:
    mi.compile(path, 1, cache=path.parent / "cache" if cache else False)


COMPILED: Mapping[str, Callable[[Path, bool], object]] = {
    "it.onnx": compiled,
    "it.mlir": compiled,
    "it.weights": with_weights,
    "it.bin": with_external_data,
}
READ: Mapping[str, Callable[[Path], object]] = {
    "it.mi": mi.load,
    "it.npy": lambda path: load_array(str(path)),
    "it.csv": read_problem,
}


def told(work: Callable[[], object]) -> str:
    """What some work raises, in a process that doesn't wait for long."""

    def raised() -> str:
        with pytest.raises(MiniInferError) as found:
            work()
        return str(found.value)

    return isolated(raised, SECONDS)


def check_refused(work: Callable[[], object], name: str, kind: str) -> None:
    found = told(work)
    if name == "it.bin" and kind == "a device":
        assert found == "initialiser w: external data 'it.bin' lies outside the model's folder"
    else:
        assert name in found and (f"it is {kind}, not a file" in found or f"{name}: is {kind}" in found)


@pytest.mark.parametrize("cache", [True, False], ids=["cached", "uncached"])
@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_not_compiled(
    kind: str, name: str, cache: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    KINDS[kind](tmp_path / name)
    check_refused(lambda: COMPILED[name](tmp_path / name, cache), name, kind)


@pytest.mark.parametrize("name", READ)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_file_is_not_read(kind: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    KINDS[kind](tmp_path / name)
    check_refused(lambda: READ[name](tmp_path / name), name, kind)


def small_model(folder: Path) -> Path:
    b = ModelBuilder("small")
    path = folder / "model.onnx"
    path.write_bytes(b.model([b.node("Relu", b.input("x", [4]))]).SerializeToString())
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_an_entry_of_the_cache_that_is_no_file_is_none(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, cache = small_model(tmp_path), tmp_path / "cache"
    mi.compile(model, 1, cache=cache)
    for entry in cache.glob("*/*.entry"):
        entry.unlink()
        monkeypatch.chdir(entry.parent)
        KINDS[kind](entry)
    monkeypatch.chdir(cache)
    KINDS[kind](cache / "limit")
    assert isolated(lambda: mi.compile(model, 1, cache=cache)(np.ones(4, np.float32)).tolist(), SECONDS) == [1.0] * 4
    assert isolated(lambda: CacheFolder(cache).limit, SECONDS) == USUAL_LIMIT


@pytest.mark.parametrize("kind", KINDS)
def test_a_tuning_file_that_is_none(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = TuningStore(tmp_path / "cpu.json", "")
    KINDS[kind](store.file)

    def warned() -> tuple[str, str]:
        with warnings.catch_warnings(record=True) as found:
            warnings.simplefilter("always")
            assert store.load() == {}
        return store.digest(), str(found[0].message)

    digest, message = isolated(warned, SECONDS)
    assert digest == "" and f"cpu.json can't be used (it is {kind}, not a file)" in message


def test_a_lock_of_the_tuner_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "cpu.lock")
    assert "cpu.json: can't be written: " in told(lambda: TuningStore(tmp_path / "cpu.json", "").add({}))


@pytest.mark.parametrize(
    "words",
    [
        ["run", "it.onnx"],
        ["run", "it.mi"],
        ["plan", "it.mlir"],
        ["run", "model.onnx", "-i", "x=it.npy"],
        ["plan", "model.onnx", "--specialize", "x=it.npy"],
        ["allocate", "it.csv"],
    ],
    ids=" ".join,
)
def test_commands_say_so_in_one_line(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small_model(tmp_path)
    (pipe,) = [each.removeprefix("x=") for each in words if "it." in each]
    os.mkfifo(pipe)
    assert f"{pipe}: " in (message := isolated(lambda: complaint(*words), SECONDS)) and "it is a pipe" in message


@pytest.mark.parametrize("options", [[], ["--run-reproducer"]], ids=str)
def test_mini_opt_says_so_in_one_line(options: list[str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "it.mlir")

    def message() -> str:
        with contextlib.redirect_stderr(io.StringIO()) as found:
            assert mini_opt([str(tmp_path / "it.mlir"), *options]) == 1
        return found.getvalue()

    assert isolated(message, SECONDS) == f"mini-opt: error: {tmp_path / 'it.mlir'}: it is a pipe, not a file\n"


@pytest.mark.parametrize("cache", [True, False], ids=["cached", "uncached"])
@pytest.mark.parametrize("location", ["../secret", "link", "folder/secret", "{absolute}"])
def test_a_path_outside_of_the_folder_is_not_opened(location: str, cache: bool, tmp_path: Path) -> None:
    folder, secret = tmp_path / "model", tmp_path / "secret"
    folder.mkdir()
    secret.write_bytes(bytes(24))
    (folder / "link").symlink_to(secret)
    (folder / "folder").symlink_to(tmp_path)
    model = folder / "model.onnx"
    model.write_bytes(external(location.format(absolute=secret)).SerializeToString())

    def opened() -> tuple[str, list[str]]:
        files: list[str] = []
        sys.addaudithook(
            lambda event, given: files.append(os.path.realpath(str(given[0]))) if event == "open" else None
        )
        with pytest.raises(mi.InvalidModelError) as found:
            mi.compile(model, 1, cache=tmp_path / "cache" if cache else False)
        return str(found.value), files

    message, files = isolated(opened, SECONDS)
    assert message.endswith("lies outside the model's folder")
    assert str(model) in files and str(secret) not in files and str(tmp_path) not in files


def test_what_lies_inside_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to(tmp_path / "sub" / "file")
    (tmp_path / "around").symlink_to(tmp_path / "around")
    for name in ("link", "sub/file", "sub/../link", "sub/../../" + tmp_path.name + "/link"):
        with open_inside(tmp_path, name) as file:
            assert file.read() == read_regular(tmp_path / "link") == b"content" and os.get_blocking(file.fileno())
    with pytest.raises(OSError, match="it is a link, not a file"):
        open_regular(tmp_path / "link", links=False)
    with pytest.raises(OSError, match="it is a link, not a file"):
        open_inside(tmp_path, "around")
    with pytest.raises(OutsideError):
        open_inside(tmp_path / "sub", "../around")


def test_a_file_that_becomes_another_after_it_was_looked_at_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"")
    plain = path.stat()
    path.unlink()
    os.mkfifo(path)
    monkeypatch.setattr(os, "stat", lambda *_, **__: plain)  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    with pytest.raises(OSError, match="it is a pipe, not a file"):
        open_regular(path)
