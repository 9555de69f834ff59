"""Programs that import onnxruntime, run by `python -m mini_infer.onnxruntime`, and `install()`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import onnxruntime_models as models
import pytest

ROOT = Path(__file__).resolve().parents[4]
SAYS = """
import sys
import onnxruntime as ort
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument, NoSuchFile
from onnxruntime.capi import _pybind_state as C
import onnxruntime.capi.onnxruntime_inference_collection as collection
import beside
print(__name__, sys.argv, beside.WORD, ort.get_build_info().split()[0])
print(collection.InferenceSession is ort.InferenceSession, C.InvalidArgument is InvalidArgument, ort.__version__[0])
try:
    ort.InferenceSession("nowhere.onnx")
except NoSuchFile as error:
    print(str(error)[:40])
try:
    import onnxruntime.training
except ImportError as error:
    print(error)
sys.exit(7)
"""


def python(*arguments: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
    """A process of Python that has the package on its path."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program in a folder of its own, beside a module that it imports."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "beside.py").write_text("WORD = 'found'\n")
    (folder / "says.py").write_text(SAYS)
    return folder / "says.py"


EXPECTED = """True True 1
[ONNXRuntimeError] : 3 : NO_SUCHFILE : L
No module named 'onnxruntime.training'
"""


def test_a_program_runs_as_by_python_itself(program: Path, tmp_path: Path) -> None:
    done = python("-m", "mini_infer.onnxruntime", program, "a", "--b", folder=tmp_path)
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == f"__main__ ['{program}', 'a', '--b'] found mini_infer\n{EXPECTED}"


def test_a_module_runs_as_by_python_itself(program: Path) -> None:
    done = python("-m", "mini_infer.onnxruntime", "-m", "says", "-m", folder=program.parent)
    assert (done.returncode, done.stderr) == (7, "")
    assert done.stdout == f"__main__ ['{program}', '-m'] found mini_infer\n{EXPECTED}"


def test_an_error_of_a_program_is_shown_with_its_lines(tmp_path: Path) -> None:
    (tmp_path / "fails.py").write_text("import onnxruntime\nraise ValueError('no')\n")
    done = python("-m", "mini_infer.onnxruntime", "fails.py", folder=tmp_path)
    assert done.returncode == 1
    assert 'fails.py", line 2' in done.stderr and done.stderr.endswith("ValueError: no\n")


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        ([], 1, "usage: python -m mini_infer.onnxruntime [-m module | program.py] arguments...\n"),
        (["-m"], 1, "usage: python -m mini_infer.onnxruntime [-m module | program.py] arguments...\n"),
        (["nowhere.py"], 2, "can't open file"),
        (["-m", "no_such_module"], 1, "No module named no_such_module"),
    ],
)
def test_what_cant_be_run_is_an_error(arguments: list[str], status: int, said: str, tmp_path: Path) -> None:
    done = python("-m", "mini_infer.onnxruntime", *arguments, folder=tmp_path)
    assert done.returncode == status and said in done.stderr and "Traceback" not in done.stderr


def test_install_is_for_imports_that_follow(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(models.relu())
    code = """
import mini_infer.onnxruntime
mini_infer.onnxruntime.install()
mini_infer.onnxruntime.install()
import onnxruntime
print(onnxruntime is mini_infer.onnxruntime, onnxruntime.InferenceSession("model.onnx").get_inputs()[0])
"""
    done = python("-c", code, folder=tmp_path)
    assert done.stdout == "True NodeArg(name='x', type='tensor(float)', shape=[2, 4])\n", done.stderr
    done = python("-c", "import onnxruntime, mini_infer.onnxruntime as o; o.install()", folder=tmp_path)
    assert done.stderr.endswith("RuntimeError: onnxruntime is imported already: call install() before\n")


def test_a_later_start_imports_no_compiler(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(models.unnamed())
    code = """
import sys, numpy as np, mini_infer.onnxruntime as ort
session = ort.InferenceSession("model.onnx")
for shape in ((2, 3), (2, 4), (2, 5)):
    session.run(None, {"x": np.ones(shape, np.float32)})
print([name for name in ("onnx", "xdsl", "llvmlite", "numba") if name in sys.modules])
"""
    os.environ["MINI_INFER_CACHE"] = str(tmp_path / "kept")
    try:
        first, later = (python("-c", code, folder=tmp_path).stdout for _ in range(2))
    finally:
        os.environ["MINI_INFER_CACHE"] = "off"
    assert "onnx" in first and later == "[]\n"
