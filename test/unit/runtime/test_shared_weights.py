"""Weights that kept models have in common: one file, and one copy in memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runs import ENVIRONMENT
from models.builder import ModelBuilder, rng
from onnx import ModelProto

import mini_infer as mi
from mini_infer.runtime.kept.cache_folders import CacheFolder

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="where memory is shared is told by Linux"),
    pytest.mark.usefixtures("with_cache"),
]
SIZE = 640  # a square of it has 1.6 MB
Array = np.ndarray[Any, np.dtype[Any]]


def variant(head: int) -> ModelProto:
    """A trunk of two products and a head of its own."""
    b = ModelBuilder("variant")
    x = b.input("x", [2, SIZE])
    for _ in range(2):
        x = b.node("Relu", b.node("MatMul", x, b.weight(SIZE, SIZE)))
    return b.model([b.node("MatMul", x, b.constant(rng(head).normal(size=(SIZE, SIZE)).astype(np.float32)))])


def inputs() -> dict[str, Array]:
    return {"x": rng("x").normal(size=(2, SIZE)).astype(np.float32)}


def files(folder: Path, part: str) -> list[Path]:
    return sorted((folder / part).glob("*.entry"))


def results(engine: mi.Engine) -> list[bytes]:
    return [array.tobytes() for array in engine(inputs()).values()]


def test_models_with_one_trunk_have_one_copy_of_its_weights(tmp_path: Path) -> None:
    expected = {head: results(mi.compile(variant(head), cache=False)) for head in (1, 2)}
    engines = {head: mi.compile(variant(head), cache=tmp_path) for head in (1, 2)}
    assert len(files(tmp_path, "models")) == 2 and len(files(tmp_path, "weights")) == 4
    assert all(each.stat().st_size >= 4 * SIZE * SIZE for each in files(tmp_path, "weights"))
    assert all(each.stat().st_mode & 0o777 == 0o600 for each in files(tmp_path, "weights"))
    assert {head: results(engine) for head, engine in engines.items()} == expected


def test_engines_of_a_process_map_the_same_pages(tmp_path: Path) -> None:
    engines = [mi.compile(variant(1), cache=tmp_path) for _ in range(4)]
    for each in engines:
        results(each)
    assert len({each.plan.weights.address for each in engines}) == 4
    assert proportional_bytes(tmp_path) < 1.1 * sum(each.stat().st_size for each in files(tmp_path, "weights"))


def proportional_bytes(folder: Path) -> int:
    """Memory of this process for a folder's weights, each page divided by the number of its mappings (PSS)."""
    total, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        name, _, rest = line.partition(":")
        if " " in name:  # the first line of a mapping
            inside = f"{folder}/weights/" in line
        elif inside and name == "Pss":
            total += 1024 * int(rest.split()[0])
    return total


@pytest.mark.parametrize("damage", ["changed", "cut", "gone"])
def test_a_model_whose_weights_are_damaged_is_made_again(tmp_path: Path, damage: str) -> None:
    expected = results(mi.compile(variant(1), cache=tmp_path))
    before = files(tmp_path, "weights")
    data = before[0].read_bytes()
    before[0].unlink()
    if damage != "gone":
        wrong = bytes(8) + data[8:] if damage == "changed" else data[:-1]
        before[0].write_bytes(wrong)
        before[0].chmod(0o600)
    assert results(mi.compile(variant(1), cache=tmp_path)) == expected
    assert [each.name for each in files(tmp_path, "weights")] == [each.name for each in before]
    assert before[0].read_bytes() == data
    assert results(mi.compile(variant(1), cache=tmp_path)) == expected


def test_damaged_weights_are_not_taken_for_another_model(tmp_path: Path) -> None:
    expected = results(mi.compile(variant(2), cache=False))
    mi.compile(variant(1), cache=tmp_path)
    for each in files(tmp_path, "weights"):
        each.write_bytes(bytes(each.stat().st_size))
    assert results(mi.compile(variant(2), cache=tmp_path)) == expected
    assert results(mi.compile(variant(2), cache=tmp_path)) == expected


def test_weights_go_a_while_after_the_last_model_that_has_them(tmp_path: Path) -> None:
    for head in (1, 2):
        mi.compile(variant(head), cache=tmp_path)
    folder = CacheFolder(tmp_path)
    (newest, _), (oldest, _) = folder.models.entries()
    alone = {*folder.models.parts_in(oldest)} - {*folder.models.parts_in(newest)}
    assert len(alone) == 1
    folder.models.drop(oldest)
    folder.models.shrink()
    assert len(files(tmp_path, "weights")) == 4  # a model that is just being made may have them
    for each in files(tmp_path, "weights"):
        os.utime(each, (0, 0))
    folder.models.shrink()
    assert {each.stem for each in files(tmp_path, "weights")} == {*folder.models.parts_in(newest)}


def test_a_limit_counts_common_weights_once(tmp_path: Path) -> None:
    for head in (1, 2):
        mi.compile(variant(head), cache=tmp_path)
    folder = CacheFolder(tmp_path)
    total = sum(each.stat().st_size for part in ("models", "weights") for each in files(tmp_path, part))
    folder.set_limit(str(total))
    assert len(files(tmp_path, "models")) == 2
    folder.set_limit(str(total - 1))
    assert len(files(tmp_path, "models")) == 1


def test_the_command_tells_of_weights_and_clears_them(tmp_path: Path) -> None:
    mi.compile(variant(1), cache=tmp_path)
    command = [sys.executable, "-m", "mini_infer.tools.mini_infer", "cache"]

    def told(*more: str) -> str:
        run = subprocess.run([*command, *more, "--folder", str(tmp_path)], env=ENVIRONMENT, capture_output=True)
        return run.stdout.decode()

    assert "1 models, 5." in told()
    told("clear")
    assert not files(tmp_path, "weights") and not files(tmp_path, "models")
