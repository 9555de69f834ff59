"""Models without the data of large weights: which are removed, and what replaces them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx.numpy_helper import from_array, to_array
from onnx.parser import parse_model

import mini_infer as mi
from mini_infer.tools.bench.gpu_day.hollow_models import filled, hollow, name_of, read_model

LARGE = (60, 50)
RANDOM = np.random.default_rng(0)
WEIGHTS = {
    "w": RANDOM.normal(3, 2, LARGE).astype(np.float32),
    "half": RANDOM.normal(-1, 0.1, LARGE).astype(np.float16),
    "brain": RANDOM.normal(0, 1, LARGE).astype(ml_dtypes.bfloat16),
    "variance": RANDOM.uniform(0.1, 9, LARGE),
    "small": RANDOM.normal(0, 1, (20, 10)).astype(np.float32),
    "mask": np.where(np.tri(60, 50), 0, np.finfo(np.float32).min).astype(np.float32),
    "endless": np.where(np.tri(60, 50), RANDOM.normal(0, 1, LARGE), -np.inf).astype(np.float32),
    "table": RANDOM.integers(0, 1000, LARGE),
}
REMOVED = ("w", "half", "brain", "variance")


def model() -> onnx.ModelProto:
    made = parse_model(
        '<ir_version: 10, opset_import: ["": 20], metadata_props: ["who": "me"]> '
        "g (float[50] x) => (float[60] y) { y = MatMul(w, x) }"
    )
    made.graph.initializer.extend(from_array(array, name) for name, array in WEIGHTS.items())
    return made


def test_weights_whose_values_matter_stay() -> None:
    original, bare = model(), hollow(model())
    for weight in bare.graph.initializer:
        assert (not weight.ByteSize() > 1000) == (weight.name in REMOVED or weight.name == "small"), weight.name
    made = filled(bare)
    assert {each.key: each.value for each in made.metadata_props} == {"who": "me"}
    for one, other in zip(original.graph.initializer, made.graph.initializer, strict=True):
        before, after = to_array(one), to_array(other)
        assert (one.name, before.dtype, before.shape) == (other.name, after.dtype, after.shape)
        assert (before.tobytes() == after.tobytes()) == (one.name not in REMOVED)
        if one.name in REMOVED:
            before, after = before.astype(np.float64), after.astype(np.float64)
            assert abs(before.mean() - after.mean()) < 0.15 * before.std()
            assert 0.85 < after.std() / before.std() < 1.15
            assert before.min() <= after.min() and after.max() <= before.max()
    assert filled(bare).SerializeToString() == made.SerializeToString()
    assert filled(original).SerializeToString() == original.SerializeToString()


def run(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mini_infer.tools.bench.gpu_day.hollow_models", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_files_are_written_and_read(tmp_path: Path) -> None:
    file, bare, back = tmp_path / "product.onnx", tmp_path / "bare", tmp_path / "back"
    file.write_bytes(model().SerializeToString())
    assert run(str(file), "--into", str(bare)).returncode == 0
    (found,) = bare.iterdir()
    assert found.name == "product.onnx.gz" and name_of(found) == name_of(file) == "product"
    x, read = np.ones(50, np.float32), read_model(found)
    assert isinstance(read, onnx.ModelProto) and read_model(file) == file
    assert np.isfinite(mi.compile(read)(x)).all()
    assert run(str(found), "--into", str(back), "--fill").returncode == 0
    assert (back / "product.onnx").read_bytes() == read.SerializeToString()


@pytest.mark.parametrize(("name", "content"), [("missing.onnx", None), ("broken.onnx", b"\xff"), ("x.onnx.gz", b"no")])
def test_files_that_cannot_be_read(tmp_path: Path, name: str, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    done = run(str(tmp_path / name), "--into", str(tmp_path))
    assert done.returncode == 1 and f"{name}: can't be read: " in done.stderr and done.stderr.count("\n") == 1
