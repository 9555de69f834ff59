"""`mini-infer build --emit c`: C programs compute the same bits as engines, and refuse what they should."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import HERE, c_program, cut
from command_runs import complaint, saved, told
from engine_cases import MODELS, inputs
from everything_shared import everything_shared
from models.build import SMALL_MODELS, example_inputs
from models.judging import assert_same_bits
from onnx import ModelProto
from text_models import model_of, numbers

import mini_infer as mi
from mini_infer.dialects.atomic_file import write_folder
from mini_infer.dialects.graph.values import Array
from mini_infer.runtime.c_export.c_interface import c_names, model_name
from mini_infer.runtime.machine_facts import may_use_amx
from mini_infer.runtime.native.cpu_targets import host_target
from mini_infer.tools.mini_opt.command import main as mini_opt

ONE: dict[str, Any] = {"threads": 1, "compile_threads": 1}
TYPES = ("float16", "bfloat16", "double", "int8", "uint8", "int16", "int32", "uint64", "bool")


@pytest.mark.thinned(5)
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_a_program_computes_what_an_engine_does(name: str, threads: int, tmp_path: Path) -> None:
    model = SMALL_MODELS[name]()
    with everything_shared():
        program = c_program(model, tmp_path, "-fopenmp", threads=threads)
    assert program.interface.threads == threads
    given = example_inputs(model)
    assert_same_bits(program(given), mi.compile(model, **ONE)(given))


@pytest.mark.thinned(4)
@pytest.mark.parametrize("type", TYPES)
def test_every_type_goes_in_and_out(type: str, tmp_path: Path) -> None:
    body = "a = Cast <to = 1> (x) w = Add (a, y) z = Identity (x)"
    model = model_of(f"g ({type}[3, 5] x, float[3, 5] y) => ({type}[3, 5] z, float[3, 5] w) {{ {body} }}")
    engine = mi.compile(model, **ONE)
    dtype = engine.plan.inputs[0].dtype
    given: dict[str, Array] = {"x": (numbers(3, 5) * 3).astype(dtype), "y": numbers(3, 5, seed=1)}
    assert_same_bits(c_program(model, tmp_path)(given), engine(given))


def test_a_result_of_unknown_size_comes_with_its_count(tmp_path: Path) -> None:
    model = model_of("g (float[2, 3] x) => (int64[2, n] y) { y = NonZero (x) }")
    engine, program = mi.compile(model, **ONE), c_program(model, tmp_path)
    given: dict[str, Array] = {"x": np.array([[0, 3, 0], [-1, 0, 2]], np.float32)}
    found = cut(program(given), program, engine.plan.output_names, engine.plan.cuts)
    assert_same_bits(found, engine(given))
    assert "[2, <=6]" in (tmp_path / "m.h").read_text()
    assert 'how much there is along axis 1 of "y"' in (tmp_path / "m.h").read_text()


def test_a_cache_is_one_parameter_in_and_out(tmp_path: Path) -> None:
    model = model_of(
        "g (float[4, 3] x, float[4, 3] c) => (float[4, 3] c2, float[4, 3] y) { c2 = Add (c, x) y = Neg (c2) }"
    )
    given: dict[str, Array] = {"x": numbers(4, 3), "c": numbers(4, 3, seed=1)}
    expected = mi.compile(model, **ONE)(given)
    found = c_program(model, tmp_path, caches={"c": "c2"})(given)
    assert_same_bits({"c2": found["c"], "y": found["y"]}, expected)
    assert "float *c," in (tmp_path / "m.h").read_text()


def test_a_program_without_threads_does_the_work_of_all(tmp_path: Path) -> None:
    model = MODELS["perceptron"]()
    with everything_shared():
        program = c_program(model, tmp_path, threads=2)
    assert program.interface.threads == 2
    assert_same_bits(program(inputs("perceptron")), mi.compile(model, **ONE)(inputs("perceptron")))


def test_a_program_runs_layers_a_band_of_rows_at_a_time(tmp_path: Path) -> None:
    body = """
        p = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (x, v)
        q = Relu (p)
        y = Conv <pads = [1, 1, 1, 1]> (q, w)
        """
    given = {"x": numbers(1, 3, 64, 16), "v": numbers(8, 3, 3, 3, seed=1), "w": numbers(4, 8, 3, 3, seed=2)}
    read = ", ".join(f"float{list(array.shape)} {name}" for name, array in given.items())
    model = model_of(f"g ({read}) => (float[1, 4, 32, 8] y) {{ {body} }}")
    graph, bands = tmp_path / "graph.mlir", tmp_path / "bands.mlir"
    assert mini_opt([str(saved(model, tmp_path)), "--to", "graph", "-o", str(graph)]) == 0
    assert mini_opt([str(graph), "-p", "stream-rows{band=1000}", "-o", str(bands)]) == 0
    assert "scf.for" in bands.read_text()
    assert_same_bits(c_program(bands, tmp_path / "c")(given), mi.compile(bands, **ONE)(given))


def test_weights_may_be_a_part_of_the_program(tmp_path: Path) -> None:
    model = MODELS["perceptron"]()
    program = c_program(model, tmp_path, embed=True)
    (tmp_path / "m.weights").unlink()
    assert_same_bits(program(inputs("perceptron")), mi.compile(model, **ONE)(inputs("perceptron")))


def test_an_object_shows_two_functions_and_keeps_nothing(tmp_path: Path) -> None:
    HERE.need()
    if shutil.which("nm") is None or shutil.which("size") is None:
        pytest.skip("nm and size are not installed")
    mi.emit_c(SMALL_MODELS["transformer"]().SerializeToString(), tmp_path, name="m", **ONE)
    shown = _told("nm", "-g", tmp_path / "m.o").split("\n")
    assert [line.split()[-1] for line in shown if " T " in line] == ["m_check_weights", "m_run"]
    assert _told("size", tmp_path / "m.o").split("\n")[1].split()[1:3] == ["0", "0"]  # data and bss


def _told(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


class Library:
    """A model, by itself one of two inputs and outputs, called as C code is, with memory that may be wrong."""

    def __init__(self, folder: Path, model: ModelProto | None = None) -> None:
        HERE.need()
        made = mi.emit_c((model or MODELS["lookup"]()).SerializeToString(), folder, name="m", **ONE)
        subprocess.run(["cc", "-shared", "m.o", "-lm", "-o", "libm_model.so"], cwd=folder, check=True)
        self.functions = ctypes.CDLL(str(folder / "libm_model.so"))
        self.interface = made.interface
        self.weights = aligned(made.interface.weights_bytes)
        self.weights[:] = np.fromfile(folder / "m.weights", np.uint8)
        self.arena = aligned(made.interface.arena_bytes + 1)
        self.memory = [aligned(each.spec.nbytes + 8) for each in made.interface.parameters]

    def run(self, *, wrong: dict[int, int | None] | None = None) -> int:
        """The status of a run in which parameters, by number, lie so many bytes further on, or nowhere."""
        pointers: list[int | None] = [each.ctypes.data for each in (self.weights, self.arena, *self.memory)]
        for number, distance in (wrong or {}).items():
            before = pointers[number]
            assert before is not None
            pointers[number] = None if distance is None else before + distance
        return int(self.functions.m_run(*map(ctypes.c_void_p, pointers)))

    def check(self, nbytes: int) -> int:
        """The status of weights of so many bytes."""
        return int(self.functions.m_check_weights(ctypes.c_void_p(self.weights.ctypes.data), ctypes.c_size_t(nbytes)))


def aligned(nbytes: int) -> Array:
    """Bytes of which the first lies at a multiple of 256."""
    memory = np.zeros(nbytes + 256, np.uint8)
    start = -memory.ctypes.data % 256
    return memory[start : start + nbytes]


def test_a_run_says_what_is_wrong_with_its_arguments(tmp_path: Path) -> None:
    library = Library(tmp_path)
    ok, null, alignment, weights, index = range(5)
    assert library.run() == ok
    for number in range(len(library.memory) + 2):
        arena_is_unused = number == 1 and not library.interface.arena_bytes
        assert library.run(wrong={number: None}) == (ok if arena_is_unused else null)
        assert library.run(wrong={number: 2}) == (ok if arena_is_unused else alignment)
    ids = library.memory[0][:40].view(np.int64)
    ids[2] = 8
    assert library.run() == index
    ids[2] = -8
    assert library.run() == ok
    library.weights[16] ^= 1
    assert library.run() == weights


def test_a_branch_that_can_not_be_run_has_a_status_of_its_own(tmp_path: Path) -> None:
    """Beside an index, whose place in the status is another."""
    text = """
    g (float[4] x, bool c, int64 i) => (float[4] y, float z) {
      z = Gather(x, i)
      y = If (c) <
        then_branch = t () => (float[4] p) { p = Neg(x) },
        else_branch = e () => (float[4] q) { n = Constant <value = int64[1] {5}> ()  q = Reshape(x, n) }
      >
    }"""
    with pytest.warns(UserWarning, match="its else_branch can't be run"):
        library = Library(tmp_path, model_of(text))
    _, taken, index = library.memory[:3]
    statuses: dict[tuple[int, int], int] = {}
    for taken[0], index[:8].view(np.int64)[0] in ((1, 3), (0, 3), (1, 4), (0, 4), (1, 0)):
        statuses[int(taken[0]), int(index[0])] = library.run()
    assert statuses == {(1, 3): 0, (0, 3): 5, (1, 4): 4, (0, 4): 5, (1, 0): 0}
    assert "M_ERROR_FAILED = 5, /* a branch was taken" in (tmp_path / "m.h").read_text()


@pytest.mark.skipif(host_target().vector_bits < 512, reason="this CPU has no AVX-512, which CPUs with AMX have")
def test_a_program_asks_for_the_registers_of_amx(tmp_path: Path) -> None:
    """What the system refuses on a CPU without them, where the code would end the program."""
    text = """
    g (float[64, 64] x) => (float[64, 64] y) {
      s = Constant <value_ints = [64, 64]> ()  z = ConstantOfShape (s)  w = EyeLike (z)
      y = MatMul (x, w)
    }"""
    program = c_program(model_of(text), tmp_path, cpu="x86_64-linux-gnu:sapphirerapids", precision="bf16")
    if may_use_amx():
        x = np.arange(4096, dtype=np.float32).reshape(64, 64) % 256
        np.testing.assert_array_equal(program({"x": x})["y"], x)
        return
    (tmp_path / "x.bin").write_bytes(bytes(64 * 64 * 4))
    done = program.run(["m.weights", "x.bin", "y.out"])
    assert done.returncode != 0 and "status 6" in done.stderr


def test_weights_are_checked_to_the_last_byte(tmp_path: Path) -> None:
    library = Library(tmp_path)
    whole = library.interface.weights_bytes
    assert library.check(whole) == 0
    assert library.check(whole - 1) == 3
    library.weights[-1] ^= 1
    assert (library.run(), library.check(whole)) == (0, 3)
    assert int(library.functions.m_check_weights(None, ctypes.c_size_t(whole))) == 1


def test_any_number_of_threads_run_at_once(tmp_path: Path) -> None:
    program = c_program(MODELS["perceptron"](), tmp_path)
    expected = program(inputs("perceptron"))
    (tmp_path / "many.c").write_text(_MANY)
    subprocess.run(
        ["cc", "-O1", "-fopenmp", "many.c", "m.o", "-lm", "-o", "many"], cwd=tmp_path, check=True, timeout=100
    )
    command = ["./many", "m.weights", "x.bin"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=100, check=True)
    ((name, array),) = expected.items()
    found = np.frombuffer(done.stdout, np.float32).reshape(4, *array.shape)
    for each in found:
        assert_same_bits({name: each}, {name: array})


_MANY = """
#include <stdio.h>
#include <stdlib.h>
#include "m.h"
static char weights[M_WEIGHTS_BYTES] __attribute__((aligned(M_WEIGHTS_ALIGNMENT)));
static char arenas[4][(M_ARENA_BYTES + 255) / 256 * 256] __attribute__((aligned(M_ARENA_ALIGNMENT)));
static float in[M_X_ELEMENTS], out[4][4 * 8];
static void load(const char *path, void *to, size_t bytes) {
  if (fread(to, 1, bytes, fopen(path, "rb")) != bytes) exit(1);
}
int main(int count, char **paths) {
  if (count != 3) return 1;
  load(paths[1], weights, sizeof weights);
  load(paths[2], in, sizeof in);
#pragma omp parallel for num_threads(4)
  for (int i = 0; i < 4; i++)
    for (int again = 0; again < 200; again++)
      if (m_run(weights, arenas[i], in, out[i]) != M_OK) exit(2);
  return fwrite(out, 1, sizeof out, stdout) != sizeof out;
}
"""


def test_the_command_says_what_it_made(tmp_path: Path) -> None:
    model, folder = saved(MODELS["perceptron"](), tmp_path), tmp_path / "out"
    text = told(
        "build", model, "--emit", "c", "-o", folder, "--name", "net", "--embed", "--cpu", "x86_64-linux-gnu:x86-64-v3"
    )
    names = sorted(path.name for path in folder.iterdir())
    assert names == ["net.h", "net.o", "net.weights", "net_example.c", "net_weights.S"]
    assert all(name in text for name in names)
    assert "compiled for x86_64-linux-gnu:x86-64-v3" in text
    assert "model.onnx: machine code for x86_64-linux-gnu:x86-64-v3" in (folder / "net.h").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.onnx", "out"]


def test_files_that_are_there_stay_unless_told_otherwise(tmp_path: Path) -> None:
    model, folder = saved(MODELS["perceptron"](), tmp_path), tmp_path / "out"
    folder.mkdir()
    (folder / "net.h").write_text("mine")
    (folder / "other").write_text("mine")
    command = ("build", model, "--emit", "c", "-o", folder, "--name", "net")
    assert complaint(*command) == f"{folder}: net.h would be overwritten"
    assert sorted(path.name for path in folder.iterdir()) == ["net.h", "other"]
    told(*command, "--force")
    assert "NET_H" in (folder / "net.h").read_text()
    assert (folder / "other").read_text() == "mine"


def test_a_folder_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    def broken() -> Any:
        yield b"some"
        raise OSError("no more")

    with pytest.raises((mi.MiniInferError, OSError)):
        write_folder(tmp_path / "new", {"a": [b"whole"], "b": broken()})
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("")
    with pytest.raises(mi.MiniInferError, match="file: is no folder"):
        write_folder(tmp_path / "file", {"a": [b"whole"]})


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--name", "1st"), "--name 1st: expected letters, digits and underscores, a letter first"),
        (("--emit", "rust"), "--emit rust: there is only c"),
        (("--cpu", "z80"), "LLVM knows no CPU 'z80'"),
        (("--threads", "4096"), "threads is 4096; code is made for at most "),
    ],
)
def test_what_c_code_can_not_be_is_refused(arguments: tuple[str, ...], told: str, tmp_path: Path) -> None:
    model = saved(MODELS["perceptron"](), tmp_path)
    emit = () if "--emit" in arguments else ("--emit", "c")
    assert told in complaint("build", model, "-o", tmp_path / "out", *emit, *arguments)
    assert not (tmp_path / "out").exists()


def test_options_that_code_has_no_use_for_are_refused(tmp_path: Path) -> None:
    with pytest.raises(mi.ConfigError, match=r"^enable_profiling does nothing in C code"):
        mi.emit_c(SMALL_MODELS["mlp"](), tmp_path / "c", enable_profiling=True)
    with pytest.raises(mi.ConfigError, match=r"^check_memory does nothing in C code"):
        mi.emit_c(SMALL_MODELS["mlp"](), tmp_path / "c", check_memory=True)


def test_ranges_of_shapes_are_refused(tmp_path: Path) -> None:
    model = SMALL_MODELS["mlp"]().SerializeToString()
    with pytest.raises(mi.UnsupportedError, match="C code is for one shape: give sizes instead of ranges"):
        mi.emit_c(model, tmp_path / "out", enable_dynamic_shapes=True)
    with pytest.raises(mi.ConfigError, match="C code is for CPUs; the device is 'cuda-emulated'"):
        mi.emit_c(model, tmp_path / "out", device="cuda-emulated")


def test_names_are_those_that_c_can_have() -> None:
    assert model_name("vit-b.16") == "vit_b_16"
    assert model_name("3d") == "model_3d"
    assert model_name("-") == "model"
    names = ["x", "X", "a/b:0", "a_b_0", "0", "int", "weights", "größe", "", "size_t"]
    assert c_names(names) == ["x", "X_2", "a_b_0", "a_b_0_2", "t0", "int_", "weights_2", "gr_e", "t", "size_t_"]
