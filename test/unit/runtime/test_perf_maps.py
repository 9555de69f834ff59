"""Names of machine code for Linux's perf: /tmp/perf-PID.map has each function of a plan with its address and size."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from pathlib import Path

import pytest
from engine_cases import engine, inputs
from models.small import SMALL_MODELS

import mini_infer as mi
from mini_infer.runtime.native.images.loaded import LoadedImage
from mini_infer.runtime.profiling import perf_map


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setattr(perf_map, "FOLDER", str(tmp_path))


def functions_of(file: Path) -> dict[str, tuple[int, int]]:
    """Address and size of each function, read as perf does."""
    found: dict[str, tuple[int, int]] = {}
    for line in file.read_text(encoding="utf-8").splitlines():
        match = re.fullmatch(r"([0-9a-f]+) ([0-9a-f]+) (\w+)", line)
        assert match is not None, line
        found[match[3]] = int(match[1], 16), int(match[2], 16)
    return found


def test_each_kernel_has_its_address_and_size(tmp_path: Path) -> None:
    plan = mi.compile(SMALL_MODELS["mobilenet"](), threads=1).plan
    file = plan.write_perf_map()
    assert file == tmp_path / f"perf-{os.getpid()}.map"
    functions = functions_of(file)
    assert {f"kernel_{call.kernel}" for call in plan.calls} | {"main", "mini_infer_run"} <= set(functions)
    code = plan.code
    assert isinstance(code, LoadedImage)
    exported = dict(code.image.links.exports)
    assert all(functions[name][0] == code.address(name) for name in functions.keys() & exported.keys())
    ranges = sorted(functions.values())
    assert all(size > 0 and start + size <= after for (start, size), (after, _) in pairwise(ranges))
    assert sum(ranges[-1]) - ranges[0][0] <= code.image.links.writable


def test_a_kept_model_has_the_same_names(tmp_path: Path) -> None:
    mi.build(SMALL_MODELS["mlp"](), tmp_path / "model.mi", threads=1)
    loaded, made = mi.load(tmp_path / "model.mi").plan, mi.compile(SMALL_MODELS["mlp"](), threads=1).plan
    told = functions_of(loaded.write_perf_map())
    (tmp_path / f"perf-{os.getpid()}.map").unlink()
    assert {name: size for name, (_, size) in told.items()} == {
        name: size for name, (_, size) in functions_of(made.write_perf_map()).items()
    }


def test_plans_are_told_one_after_the_other() -> None:
    engine("perceptron").plan.write_perf_map()
    file = engine("lookup").plan.write_perf_map()
    assert [line.split()[2] for line in file.read_text().splitlines()].count("main") == 2


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine")
    file = tmp_path / f"perf-{os.getpid()}.map"
    file.symlink_to(elsewhere)
    with pytest.raises(mi.MiniInferError, match=f"{file}: can't be written: "):
        engine("perceptron").plan.write_perf_map()
    assert elsewhere.read_text() == "mine"


def test_code_of_a_gpu_has_no_names() -> None:
    plan = mi.compile(SMALL_MODELS["mlp"](), device="cuda-emulated").plan
    with pytest.raises(mi.UnsupportedError, match=r"names for perf are of machine code of the device .cpu., on s"):
        plan.write_perf_map()


def test_nothing_is_written_unasked(tmp_path: Path) -> None:
    engine("perceptron")(inputs("perceptron")["x"])
    assert list(tmp_path.iterdir()) == []
