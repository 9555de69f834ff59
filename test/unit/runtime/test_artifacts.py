"""Compiled models in files for several CPUs: the best code is taken, and what is broken or foreign is named."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from command_runs import ENVIRONMENT
from models import dynamic
from models.build import SMALL_MODELS, ModelBuilder, example_inputs
from models.dynamic import dynamic_model
from models.small import mlp

import mini_infer as mi
from mini_infer.runtime.kept import artifact, keys
from mini_infer.runtime.kept import kept_plans as plans
from mini_infer.runtime.kept.container import HEAD, MAGIC, VERSION, summed_digest
from mini_infer.runtime.kept.cpu_levels import level_named, usual_levels
from mini_infer.runtime.kept.cpus import host_cpu

HOST = host_cpu()
LEVELS = [name for name in usual_levels(HOST) if level_named(name, HOST).suits(HOST)]

PROGRAM = """
import json, sys
import numpy as np
import mini_infer as mi

model = mi.load(sys.argv[1])
with np.load(sys.argv[2]) as given:
    found = model(dict(given))
np.savez(sys.argv[3], **found)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules} & {"onnx", "xdsl", "llvmlite", "numba"})))
"""


def has_code_for(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """This machine seems to have just what a level asks for."""
    level = level_named(name, HOST)
    flags = HOST.flags if level.model else frozenset(level.flags)
    seeming = replace(HOST, flags=flags, model=level.model or "another")
    monkeypatch.setattr(artifact, "host_cpu", lambda: seeming)


@pytest.mark.thinned(8)
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_each_cpu_has_its_own_code(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, file = SMALL_MODELS[name](), tmp_path / "model.mi"
    assert mi.build(model, file, 2, cpus=LEVELS) == file.stat().st_size
    given = example_inputs(model)
    expected = mi.compile(model, 2)(given)
    assert all(np.array_equal(expected[each], found) for each, found in mi.load(file)(given).items())
    kept = set[bytes]()
    for level in LEVELS:
        has_code_for(monkeypatch, level)
        loaded = mi.load(file)
        kept.add(cast("Any", loaded.plan.code).image.data)
        for each, found in loaded(given).items():
            np.testing.assert_allclose(found, expected[each], rtol=1e-4, atol=1e-5)
    assert len(kept) >= min(2, len(LEVELS))


def test_another_process_loads_it_without_the_compiler(tmp_path: Path) -> None:
    model = SMALL_MODELS["resnet"]()
    mi.build(model, tmp_path / "model.mi", 2, cpus=["native"])
    np.savez(tmp_path / "inputs.npz", **cast("Any", example_inputs(model)))
    command = [sys.executable, "-c", PROGRAM, *(tmp_path / name for name in ("model.mi", "inputs.npz", "outputs.npz"))]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
    expected = mi.compile(model, 2)(example_inputs(model))
    with np.load(tmp_path / "outputs.npz") as found:
        assert all(np.array_equal(expected[name], found[name]) for name in expected)


def test_equal_weights_are_there_once(tmp_path: Path) -> None:
    b = ModelBuilder("table")
    model = b.model([b.node("Gather", b.weight(4000, 64), b.input("ids", [3], np.int64))])  # no CPU packs a table
    one = mi.build(model, tmp_path / "one.mi", 1, cpus=["native"])
    weights = mi.load(tmp_path / "one.mi").plan.weights.nbytes
    both = mi.build(model, tmp_path / "both.mi", 1, cpus=["native", LEVELS[-2]] if len(LEVELS) > 1 else ["native"])
    assert both < one + weights / 2


def rows(count: int) -> dict[str, tuple[int, int]]:
    return {"x": (count, 6), "y": (count, 6)}


def numbers(count: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(count)
    return {name: rng.standard_normal(shape).astype(np.float32) for name, shape in rows(count).items()}


def test_a_model_for_many_shapes_has_code_for_those_that_were_named(tmp_path: Path) -> None:
    model, file = dynamic_model(dynamic.moved), tmp_path / "model.mi"
    profile = mi.OptimizationProfile(dims={"n": (1, 8, 64), "m": (1, 8, 64)})
    expected = mi.compile(model, 1, profile=profile)
    mi.build(model, file, 1, cpus=["native"], profile=profile, at=[rows(1), rows(2), rows(9)])
    found = mi.load(file)
    for count in (1, 2, 8, 64):
        a, b = expected(numbers(count)), found(numbers(count))
        assert all(np.array_equal(a[name], b[name]) for name in a)
    with pytest.raises(mi.InvalidInputError, match="dimension 0 is 65"):
        found(numbers(65))


def test_shapes_that_there_is_no_code_for_are_named(tmp_path: Path) -> None:
    model, file = dynamic_model(dynamic.moved), tmp_path / "model.mi"
    mi.build(model, file, 1, cpus=["native"], enable_dynamic_shapes=True, at=[rows(8)])
    found = mi.load(file)
    found(numbers(9))
    with pytest.raises(
        mi.InvalidInputError, match=r"no code for the shapes x=\[1, 6\], y=\[1, 6\]: build it with these"
    ):
        found(numbers(1))


def test_broken_files_are_refused_by_name(tmp_path: Path) -> None:
    model, file = mlp(), tmp_path / "model.mi"
    mi.build(model, file, 1, cpus=["native"])
    whole = file.read_bytes()
    pages = range(0, len(whole), 4096)
    places = [next((at for at in range(page, page + 4096) if whole[at]), None) for page in pages]
    broken = {
        "is cut short": [b"", whole[:50], whole[:200], whole[:-1]],
        "bytes instead of": [whole + b"\0"],
        "is no compiled model": [b"x" * 5000],
        f"is of version 7; this is for version {VERSION}": [whole[:8] + b"\7" + whole[9:]],
        "damaged|cut short": [whole[:at] + bytes([whole[at] ^ 8]) + whole[at + 1 :] for at in places[1:] if at],
    }
    for message, cases in broken.items():
        for case in cases:
            file.write_bytes(case)
            with pytest.raises(mi.InvalidModelError, match=f"model.mi: it.*({message})"):
                mi.load(file)
    with pytest.raises(mi.InvalidModelError, match=r"none\.mi: can't be read: No such file"):
        mi.load(tmp_path / "none.mi")
    with pytest.raises(mi.InvalidModelError, match=r"load takes the path of a \.mi file, not NoneType"):
        mi.load(None)  # pyright: ignore[reportArgumentType]  -- the mistake that the error is about


def test_words_that_changed_places_are_seen() -> None:
    data = np.random.default_rng(0).integers(0, 256, (3 << 20) + 5, np.uint8)
    words = data[: 3 << 20].view(np.uint64)
    whole, known = summed_digest(data), words.copy()
    for one, other in ((0, 1), (5, 516), (511, 512), (1000, 1511), (7, 1023), (512, 1024), (300_000, 300_001)):
        for length in (1, 512):  # a page or a word, within a page or across its end
            a, b = (slice(place, place + length) for place in (one, max(other, one + length)))
            words[a], words[b] = known[b], known[a]
            assert summed_digest(data) != whole
            words[:] = known
    for half in data[: 3 << 20].view(np.uint32).reshape(-1, 2).T:
        half[[100, 600]] = half[[600, 100]]
        assert summed_digest(data) != whole
        words[:] = known
    assert summed_digest(data[:-1]) != whole and summed_digest(data) == whole


def test_a_header_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    text = b"[" * 100_000 + b"]" * 100_000
    head = HEAD.pack(MAGIC, VERSION, 0, HEAD.size, len(text), hashlib.sha256(text).digest())
    (tmp_path / "deep.mi").write_bytes(head + text)
    with pytest.raises(mi.InvalidModelError, match=r"deep\.mi: is no compiled model: .*nested too deeply"):
        mi.load(tmp_path / "deep.mi")


def test_a_report_that_is_none_is_an_error_where_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mi.build(mlp(), tmp_path / "model.mi", 1, cpus=["native"])
    engine = mi.load(tmp_path / "model.mi")
    monkeypatch.setattr(plans, "read_json", str)
    with pytest.raises(mi.InvalidModelError, match="the compiled model has no plan of its memory: "):
        print(engine.plan.memory)


def test_a_file_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mi.build(mlp(), tmp_path / "model.mi", 1, cpus=["native"])
    monkeypatch.setattr(artifact, "interface_text", lambda: "another")
    with pytest.raises(mi.InvalidModelError, match=r"model\.mi: it was made by mini_infer .* build it again"):
        mi.load(tmp_path / "model.mi")
    assert keys.interface_text() != "another"


def test_code_for_other_cpus_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = "aarch64" if HOST.architecture == "x86_64" else "x86-64-v2"
    mi.build(mlp(), tmp_path / "model.mi", 2, cpus=[other])
    with pytest.raises(mi.InvalidModelError, match=rf"model\.mi: it has code for {other}; this CPU \(.*\) is none"):
        mi.load(tmp_path / "model.mi")
    monkeypatch.setattr(artifact, "host_cpu", lambda: replace(HOST, flags=frozenset[str]()))
    mi.build(mlp(), tmp_path / "own.mi", 1, cpus=["native"])
    with pytest.raises(mi.InvalidModelError, match=r"own\.mi: it has code for native; this CPU"):
        mi.load(tmp_path / "own.mi")


def test_what_cannot_be_built_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mi.ConfigError, match="there is no CPU level 'z80'; there are x86-64, x86-64-v2"):
        mi.build(mlp(), tmp_path / "model.mi", cpus=["z80"])
    with pytest.raises(mi.ConfigError, match="a file is for CPUs, without check_memory"):
        mi.build(mlp(), tmp_path / "model.mi", check_memory=True)
    with pytest.raises(mi.ConfigError, match="a file for any shapes needs shapes to compile for"):
        mi.build(mlp(), tmp_path / "model.mi", enable_dynamic_shapes=True)
    with pytest.raises(mi.ConfigError, match="cpus is 'native'; it must be a list of names"):
        mi.build(mlp(), tmp_path / "model.mi", cpus="native")
    with pytest.raises(mi.ConfigError, match="at does nothing without a profile or dynamic shapes"):
        mi.build(mlp(), tmp_path / "model.mi", at=[{"x": (1, 64)}])
    with pytest.raises(mi.ConfigError, match="path is None; it must be the path of a file"):
        mi.build(mlp(), None)  # pyright: ignore[reportArgumentType]  -- the mistake that the error is about
    with pytest.raises(mi.MiniInferError, match="can't be written"):
        mi.build(mlp(), tmp_path, 1, cpus=["native"])
    assert not list(tmp_path.iterdir())


def test_what_was_there_stays_until_the_new_file_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "model.mi"
    mi.build(mlp(), file, 1, cpus=["native"])
    before, engine = file.read_bytes(), mi.load(file)

    def failing(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(artifact, "write", failing)
        mi.build(mlp(1), file, 1, cpus=["native"])
    assert file.read_bytes() == before and list(tmp_path.iterdir()) == [file]
    given = example_inputs(mlp())
    expected = engine(given)
    mi.build(mlp(1), file, 1, cpus=["native"])
    assert all(np.array_equal(expected[name], found) for name, found in engine(given).items())  # of the file that was
