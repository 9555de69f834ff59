"""Compiled models that are kept: found again where nothing changed, and never where something did or is broken."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from command_runs import ENVIRONMENT, saved
from models import dynamic
from models.build import SMALL_MODELS, ModelBuilder, example_inputs
from models.builder import open_dimensions
from models.dynamic import dynamic_model
from models.small import mlp
from onnx import ModelProto, TensorProto, ValueInfoProto, external_data_helper

import mini_infer as mi
from mini_infer.lowering.loops_to_llvm import split_module
from mini_infer.runtime.compile import plan_builder as compiling
from mini_infer.runtime.compile.source import Source
from mini_infer.runtime.file_cache import FileCache
from mini_infer.runtime.kept import keys
from mini_infer.runtime.kept.cache_folders import CacheFolder, cache_folder
from mini_infer.runtime.kept.container import VERSION
from mini_infer.runtime.native import llvm_processes as compilers
from mini_infer.runtime.native import llvm_worker

Array = np.ndarray[Any, np.dtype[Any]]

DYNAMIC = (
    dynamic.elementwise,
    dynamic.matmul,
    dynamic.convolutions,
    dynamic.softmax,
    dynamic.normalised,
    dynamic.attention,
)

PROGRAM = """
import json, sys
import numpy as np
import mini_infer as mi

file, cache, inputs, options = sys.argv[1:5]
model = mi.compile(file, cache=cache, **json.loads(options))
with np.load(inputs) as given:
    found = model(dict(given))
np.savez(sys.argv[5], **found)
print(json.dumps(sorted({name.partition(".")[0] for name in sys.modules} & {"onnx", "xdsl", "llvmlite", "numba"})))
"""


@pytest.fixture
def compiles(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A number for each time that something was compiled."""
    found: list[int] = []
    built = compiling.build_plan

    def noting(*given: Any, **options: Any) -> Any:
        found.append(len(found))
        return built(*given, **options)

    monkeypatch.setattr(compiling, "build_plan", noting)
    return found


def entries(cache: Path) -> list[Path]:
    return sorted((cache / "models").glob("*.entry"))


def same(a: dict[str, Array], b: dict[str, Array]) -> bool:
    return a.keys() == b.keys() and all(a[name].tobytes() == b[name].tobytes() for name in a)


@pytest.mark.thinned(3)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_what_is_found_gives_the_same_bits_and_says_the_same_of_itself(
    name: str, threads: int, tmp_path: Path, compiles: list[int]
) -> None:
    model = SMALL_MODELS[name]()
    given = example_inputs(model)
    made = mi.compile(model, threads, cache=tmp_path)
    found = mi.compile(model, threads, cache=tmp_path)
    assert len(compiles) == 1
    assert same(made(given), found(given))
    assert repr(made) == repr(found) and made.plan.memory == found.plan.memory
    assert [*made.statistics.rows()] == [*found.statistics.rows()]
    for each in fields(made.plan):
        if each.name not in ("report", "weights", "code", "config"):
            assert getattr(made.plan, each.name) == getattr(found.plan, each.name), each.name
    assert not found.plan.weights.writable


def test_another_process_finds_it_without_the_compiler(tmp_path: Path) -> None:
    model = SMALL_MODELS["resnet"]()
    file, given = saved(model, tmp_path), example_inputs(model)
    made = mi.compile(file, 2, cache=tmp_path / "cache")(given)
    np.savez(tmp_path / "inputs.npz", **cast("Any", given))
    command = [sys.executable, "-c", PROGRAM, file, tmp_path / "cache", tmp_path / "inputs.npz", '{"threads": 2}']
    command.append(tmp_path / "outputs.npz")
    untuned = ENVIRONMENT | {"XDG_CACHE_HOME": str(tmp_path)}  # whatever was measured on this machine
    done = subprocess.run(command, env=untuned, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
    with np.load(tmp_path / "outputs.npz") as found:
        assert same(made, dict(found))
    assert len(entries(tmp_path / "cache")) == 1


@pytest.mark.parametrize("build", DYNAMIC)
def test_a_model_for_many_shapes_is_found(build: dynamic.Build, tmp_path: Path, compiles: list[int]) -> None:
    model = dynamic_model(build)
    profile = mi.OptimizationProfile(dims=dict.fromkeys(open_dimensions(model), (2, 6, 40)))
    made = mi.compile(model, 1, profile=profile, cache=tmp_path)
    count = len(compiles)
    found = mi.compile(model, 1, profile=profile, cache=tmp_path)
    assert len(compiles) == count
    assert repr(made) == repr(found) and made.plan.memory == found.plan.memory
    for size in (2, 6, 8, 31):
        shapes = {each.name: _shape(each, size) for each in model.graph.input}
        rng = np.random.default_rng(size)
        types = {spec.name: spec.dtype for spec in made.plan.inputs}
        given = {each: rng.integers(0, 2, shape).astype(types[each]) for each, shape in shapes.items()}
        assert same(made(given), found(given)), size
        assert made.plan_for(shapes).memory == found.plan_for(shapes).memory


def _shape(info: ValueInfoProto, size: int) -> tuple[int, ...]:
    return tuple(dim.dim_value or size for dim in info.type.tensor_type.shape.dim)


def test_shapes_that_turn_up_later_are_found_too(tmp_path: Path, compiles: list[int]) -> None:
    model = dynamic_model(dynamic.matmul)
    for _ in range(2):
        engine = mi.compile(model, 1, enable_dynamic_shapes=True, cache=tmp_path)
        for rows in (1, 5):
            engine(np.ones((rows, 12), np.float32))
    assert len(compiles) == len(entries(tmp_path)) <= 2


def changed(change: Callable[[ModelProto], None]) -> ModelProto:
    model = mlp()
    change(model)
    return model


def test_what_decides_something_makes_another_entry(tmp_path: Path, compiles: list[int]) -> None:
    def weight(model: ModelProto) -> None:
        raw = bytearray(model.graph.initializer[0].raw_data)
        raw[2] ^= 1
        model.graph.initializer[0].raw_data = bytes(raw)

    model = mlp()
    options: Sequence[dict[str, Any]] = (
        {},
        {"threads": 2},
        {"memory_alignment": 64},
        {"enable_graph_optimization": False},
        {"enable_profiling": True},
        {"disable_inplace": ("add",)},
        {"vector_bits": 128},
        {"planner": "greedy-by-size"},
        {"max_workspace_size": 10**6},
    )
    for each in options:
        mi.compile(model, cache=tmp_path, **cast("Any", {"threads": 1, **each}))
    mi.compile(changed(weight), 1, cache=tmp_path)
    assert len(compiles) == len(entries(tmp_path)) == len(options) + 1
    for each in options:  # and those that decide nothing do not
        mi.compile(model, cache=tmp_path, **cast("Any", {"threads": 1, "compile_threads": 2, **each}))
    assert len(compiles) == len(options) + 1


def test_values_that_a_model_is_specialised_for_decide(tmp_path: Path, compiles: list[int]) -> None:
    model = mlp()
    for value in (0.0, 1.0, 0.0):
        mi.compile(model, 1, specialize={"x": np.full((2, 20), value, np.float32)}, cache=tmp_path)
    assert len(compiles) == 2


def test_external_data_decides(tmp_path: Path, compiles: list[int]) -> None:
    model = mlp()
    file, given = tmp_path / "model.onnx", example_inputs(model)
    external_data_helper.convert_model_to_external_data(model, location="weights", size_threshold=0)
    external_data_helper.write_external_data_tensors(model, str(tmp_path))
    file.write_bytes(model.SerializeToString())
    first = mi.compile(file, 1, cache=tmp_path / "cache")(given)
    data = bytearray((tmp_path / "weights").read_bytes())
    data[:400] = bytes(400)
    (tmp_path / "weights").write_bytes(data)
    second = mi.compile(file, 1, cache=tmp_path / "cache")(given)
    assert len(compiles) == 2 and not same(first, second)
    (tmp_path / "weights").unlink()
    with pytest.raises(mi.InvalidModelError, match="weights' is missing"):
        mi.compile(file, 1, cache=tmp_path / "cache")


def test_a_model_that_changes_in_place_is_noticed_whatever_its_time_says(tmp_path: Path, compiles: list[int]) -> None:
    first, second = mlp(), mlp(seed=1)
    file = saved(first, tmp_path)
    before = file.stat()
    mi.compile(file, 1, cache=tmp_path / "cache")
    file.write_bytes(second.SerializeToString())
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_size == before.st_size
    mi.compile(file, 1, cache=tmp_path / "cache")
    assert len(compiles) == 2


def with_external_weight(folder: Path) -> Path:
    """A model that adds a weight, which lies in the file `weights`, to x."""
    b = ModelBuilder("external")
    model = b.model([b.node("Add", b.input("x", [4096]), b.constant(np.zeros(4096, np.float32), "w"))])
    external_data_helper.convert_model_to_external_data(model, location="weights", size_threshold=0)
    external_data_helper.write_external_data_tensors(model, str(folder))
    return saved(model, folder)


def weight_of(file: Path, cache: Path) -> float:
    """The weight that an engine of the model has."""
    return float(mi.compile(file, 1, cache=cache)(np.zeros(4096, np.float32))[0])


def test_weights_that_are_written_through_a_mapping_are_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: now() + 10**10)  # so that the file has been still for long
    file = with_external_weight(tmp_path)
    weights = np.memmap(tmp_path / "weights", np.float32, "r+")
    weights[:] = 1
    for value in (2, 3, 2):
        weights[:] = value
        assert weight_of(file, tmp_path / "cache") == value
    assert len(entries(tmp_path / "cache")) == 2


@pytest.mark.parametrize("mapped", [True, False])
def test_what_is_kept_is_what_was_imported(mapped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = with_external_weight(tmp_path)
    weights = np.memmap(tmp_path / "weights", np.float32, "r+")

    def fill(value: float) -> None:
        if mapped:
            weights[:] = value
        else:
            with (tmp_path / "weights").open("r+b") as stream:
                stream.write(np.full(4096, value, np.float32).tobytes())

    imported = Source.load

    def changing(*given: Any) -> Any:
        fill(2)
        return imported(*given)

    fill(1)
    with monkeypatch.context() as patch:
        patch.setattr(Source, "load", changing)
        assert weight_of(file, tmp_path / "cache") == 2  # it was changed after it was looked for
        assert not entries(tmp_path / "cache")
        fill(1)

        def changing_back(*given: Any) -> Any:
            found = changing(*given)
            fill(1)
            return found

        patch.setattr(Source, "load", changing_back)
        with pytest.raises(mi.InvalidModelError, match="weights has changed: digest"):
            weight_of(file, tmp_path / "cache")
    assert weight_of(file, tmp_path / "cache") == 1


def test_a_file_that_is_cut_short_while_it_is_compiled_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, imported = with_external_weight(tmp_path), Source.load

    def cutting(*given: Any) -> Any:
        found = imported(*given)
        os.truncate(tmp_path / "weights", 0)
        return found

    monkeypatch.setattr(Source, "load", cutting)
    with pytest.raises(mi.InvalidModelError, match="weights was cut short while it was read"):
        weight_of(file, tmp_path / "cache")


def test_only_what_a_model_names_of_its_external_data_is_read(tmp_path: Path, compiles: list[int]) -> None:
    file = with_external_weight(tmp_path)
    weight_of(file, tmp_path / "cache")
    os.truncate(tmp_path / "weights", 2**43)  # zeros that take no room, and a quarter of an hour to be read
    weight_of(file, tmp_path / "cache")
    assert len(compiles) == 1


def test_a_model_in_memory_has_no_external_data_though_its_file_is_known(tmp_path: Path) -> None:
    file = with_external_weight(tmp_path)
    weight_of(file, tmp_path / "cache")
    with pytest.raises(mi.InvalidModelError, match="'weights' lies beside the model file; import the model from its"):
        mi.compile(file.read_bytes(), 1, cache=tmp_path / "cache")


def test_digests_are_of_one_folder_alone(tmp_path: Path) -> None:
    """So nobody can make two models that have the same."""
    one, again, other = (keys.Digests(FileCache(tmp_path / name)).of_bytes(b"a model") for name in "aab")
    assert one == again != other


def test_damaged_entries_are_made_again(tmp_path: Path, compiles: list[int]) -> None:
    model = mlp()
    given = example_inputs(model)
    expected = mi.compile(model, 1, cache=tmp_path)(given)
    (entry,) = entries(tmp_path)
    whole = entry.read_bytes()
    for damaged in _damages(whole):
        entry.unlink()
        entry.write_bytes(damaged)
        entry.chmod(0o600)
        before = len(compiles)
        assert same(mi.compile(model, 1, cache=tmp_path)(given), expected)
        assert len(compiles) == before + 1 and entry.stat().st_size == len(whole)


def _damages(whole: bytes) -> list[bytes]:
    """Cut short, grown, and one bit changed in each page that means something."""
    found = [b"", whole[:7], whole[:60], whole[:-1], whole[:-4096], whole + b"\0"]
    found.append(whole[:8] + bytes([VERSION + 1]) + whole[9:])
    meaningful = [at for at in range(0, len(whole), 4096) if any(whole[at : at + 4096])]
    for at in meaningful:
        place = next(index for index in range(at, at + 4096) if whole[index])
        found.append(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
    return found


def test_entries_that_changed_places_are_made_again(tmp_path: Path, compiles: list[int]) -> None:
    models = [mlp(), mlp(seed=1)]
    given = example_inputs(models[0])
    expected = [mi.compile(model, 1, cache=tmp_path)(given) for model in models]
    one, other = entries(tmp_path)
    one.rename(tmp_path / "aside")
    other.rename(one)
    (tmp_path / "aside").rename(other)
    for model, right in zip(models, expected, strict=True):
        assert same(mi.compile(model, 1, cache=tmp_path)(given), right)
    assert len(compiles) == 4


def test_others_can_neither_write_nor_put_links_there(tmp_path: Path, compiles: list[int]) -> None:
    model = mlp()
    mi.compile(model, 1, cache=tmp_path / "cache")
    (entry,) = entries(tmp_path / "cache")
    for folder in (tmp_path / "cache", entry.parent):
        assert folder.stat().st_mode & 0o777 == 0o700
    assert entry.stat().st_mode & 0o777 == 0o600
    entry.chmod(0o622)
    mi.compile(model, 1, cache=tmp_path / "cache")
    assert len(compiles) == 2
    entry.chmod(0o600)
    entry.parent.chmod(0o777)
    with pytest.warns(UserWarning, match="can't be kept in .*: others may write to it"):
        mi.compile(model, 1, cache=tmp_path / "cache")
    assert len(compiles) == 3
    entry.parent.chmod(0o700)
    moved = entry.rename(tmp_path / "elsewhere")
    entry.symlink_to(moved)
    before = len(compiles)
    mi.compile(model, 1, cache=tmp_path / "cache")
    assert len(compiles) == before + 1


def test_what_was_not_used_for_longest_goes(tmp_path: Path) -> None:
    kept = CacheFolder(tmp_path)
    models = {name: mlp(seed) for seed, name in enumerate("abc")}
    names: dict[str, Path] = {}
    for age, (name, model) in enumerate(models.items()):
        before = set(entries(tmp_path))
        mi.compile(model, 1, cache=tmp_path)
        (names[name],) = set(entries(tmp_path)) - before
        os.utime(names[name], (age, age))
    size = names["a"].stat().st_size
    assert kept.set_limit(f"{size * 5 // 2}") == size * 5 // 2
    assert not names["a"].exists() and names["b"].exists() and names["c"].exists()
    abandoned = tmp_path / "models" / "x.unfinished"
    abandoned.write_bytes(b"")
    os.utime(abandoned, (0, 0))
    kept.models.shrink()
    assert not abandoned.exists()


@pytest.mark.parametrize(
    ("text", "limit"),
    [("20G", 20 * 10**9), ("500mb", 500 * 10**6), ("7", 7), ("1.5G", None), ("9" * 5000, None), ("much", None)],
)
def test_limits_are_sizes(text: str, limit: int | None, tmp_path: Path) -> None:
    if limit is None:
        with pytest.raises(mi.ConfigError, match="a limit is a number of bytes such as 500M or 20G, not"):
            CacheFolder(tmp_path).set_limit(text)
    else:
        assert CacheFolder(tmp_path).set_limit(text) == CacheFolder(tmp_path).limit == limit


def test_where_models_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("MINI_INFER_CACHE", "off")
    users = CacheFolder(tmp_path / "mini_infer")
    assert cache_folder() is cache_folder(False) is None and cache_folder(True) == users
    monkeypatch.delenv("MINI_INFER_CACHE")
    assert cache_folder() == cache_folder(True) == users
    monkeypatch.setenv("MINI_INFER_CACHE", str(tmp_path / "x"))
    assert cache_folder() == cache_folder(True) == CacheFolder(tmp_path / "x")
    assert cache_folder(tmp_path / "y") == CacheFolder(tmp_path / "y", named=True) and cache_folder(False) is None
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("MINI_INFER_CACHE", "~/x")
    assert cache_folder() == CacheFolder(tmp_path / "x")
    assert cache_folder("~/y") == CacheFolder(tmp_path / "y", named=True)
    with pytest.raises(mi.ConfigError, match="~nobody-of-that-name/x: "):
        cache_folder("~nobody-of-that-name/x")
    with pytest.raises(mi.ConfigError, match="cache is 3; it must be True, False or a folder"):
        mi.compile(mlp(), cache=3)  # pyright: ignore[reportArgumentType]
    with pytest.raises(mi.ConfigError, match="cache is ''; it must be True, False or a folder"):
        mi.compile(mlp(), cache="")  # which would be wherever the program was started


def test_a_folder_that_cannot_be_used_keeps_nothing(tmp_path: Path, compiles: list[int]) -> None:
    (tmp_path / "file").write_text("in the way")
    for _ in range(2):
        with pytest.warns(UserWarning, match="can't be kept in .*below: a file lies there"):
            mi.compile(mlp(), 1, cache=tmp_path / "file" / "below")
    assert len(compiles) == 2


def test_what_cannot_be_kept_is_compiled(tmp_path: Path) -> None:
    model = mlp()
    mi.compile(model, 1, check_memory=True, cache=tmp_path)
    mi.compile(model, device="cuda-emulated", cache=tmp_path)
    assert not entries(tmp_path)


def test_weights_that_cannot_be_written_at_once_are_kept_at_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, full = mlp(), OSError(errno.ENOSPC, "no space left")

    def failing(*_: object) -> int:
        raise full

    given = example_inputs(model)
    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", failing)
        made = mi.compile(model, 1, cache=tmp_path)(given)
    assert len(entries(tmp_path)) == 1
    assert same(made, mi.compile(model, 1, cache=tmp_path)(given)) and same(made, mi.compile(model, 1)(given))


def test_what_is_not_finished_leaves_no_file(tmp_path: Path) -> None:
    def stop(now: mi.Progress) -> None:
        if now.step == "machine code":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mi.compile(mlp(), 1, cache=tmp_path, progress=stop)
    assert not [*(tmp_path / "models").iterdir()]


def test_parts_in_which_nothing_changed_are_not_compiled_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_module, "PART_OPS", 400)
    done: list[llvm_worker.Part] = []
    compile_part = llvm_worker.compiled

    def noting(part: llvm_worker.Part) -> llvm_worker.Compiled:
        done.append(part)
        return compile_part(part)

    monkeypatch.setattr(compilers, "compiled", noting)
    options: dict[str, Any] = {"compile_threads": 1, "cache": tmp_path}
    first, other = SMALL_MODELS["transformer"](), SMALL_MODELS["transformer"]()
    mi.compile(first, 1, **options)
    whole = len(done)
    for weight in other.graph.initializer:  # a model that was trained on: the same kernels, and other weights
        if weight.data_type == TensorProto.FLOAT and len(weight.raw_data) > 400:
            weight.raw_data = (-np.frombuffer(weight.raw_data, np.float32)).tobytes()
    found = mi.compile(other, 1, **options)
    assert len(done) == whole > 2
    given = {name: np.zeros_like(value) for name, value in example_inputs(other).items()}
    assert same(found(given), mi.compile(other, 1, cache=False)(given))
    kept = sorted((tmp_path / "objects").glob("*.entry"))
    assert len(kept) == whole
    kept[0].write_bytes(kept[0].read_bytes()[:-1])  # one that is damaged is compiled again
    entries(tmp_path)[0].unlink()
    entries(tmp_path)[0].unlink()
    del done[:]
    mi.compile(first, 1, **options)
    assert len(done) == 1


def test_names_are_of_what_is_kept_there(tmp_path: Path) -> None:
    kept = FileCache(tmp_path)
    kept.put("a", b"1")
    os.utime(tmp_path / "a.entry", (1, 1))
    kept.put("b", b"2")
    assert [name for name, _ in kept.entries()] == ["b", "a"]
    kept.drop("a")
    assert kept.get("a") is None and kept.get("b") == b"2"


def test_a_folder_where_nothing_can_be_kept_is_said_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "open").mkdir(mode=0o777)
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "open" / "models").mkdir()
    (tmp_path / "open" / "models").chmod(0o777)
    for name, why in (("file", "a file lies there"), ("open", "others may write to it, or it is another user's")):
        with pytest.warns(UserWarning) as warned:
            mi.compile(mlp(), 1, cache=tmp_path / name)
        assert [str(each.message) for each in warned] == [
            f"compiled models can't be kept in {tmp_path / name}: {why}",
        ]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mi.compile(mlp(), 1, cache=True)  # the usual folder is nobody's choice
        mi.compile(mlp(), 1, cache=tmp_path / "new")
