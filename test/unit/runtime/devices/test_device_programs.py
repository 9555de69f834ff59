"""Loops and branches on GPUs: the CPU's results by both emulators and by CUDA's calls, and what the host waits for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from control_models import BRANCH, CALLS, X, control_model
from endless_models import FOR_EVER, MODELS
from fake_cupy import FakeCupy, fake, text_as_cubin
from gpu_runs import EMULATORS
from text_models import model_of, numbers
from typing_extensions import override

import mini_infer as mi
from mini_infer.dialects.errors import KernelError, UnsupportedError
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.gpu_to_cuda.device_program import For, LaunchWith, Read, steps_of
from mini_infer.runtime.asynchronous.cancellation import RunControl
from mini_infer.runtime.devices.cuda import cuda_device, cuda_session, stretches
from mini_infer.tools.mini_opt.command import main as mini_opt

assert fake  # the fixture


@pytest.fixture
def texts(fake: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> FakeCupy:
    """CuPy's stand-in, by which kernels run as C++."""
    monkeypatch.setattr(cuda_device.Cuda, "objects", text_as_cubin)
    return fake


def same(found: dict[str, Array], wanted: dict[str, Array]) -> None:
    assert found.keys() == wanted.keys()
    for name, array in wanted.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("emulator", EMULATORS)
def test_emulated(name: str, emulator: str) -> None:
    cpu = mi.compile(control_model(name), threads=1)
    gpu = mi.compile(control_model(name), device="cuda-emulated", emulator=emulator)
    for inputs in CALLS[name][1]:
        same(gpu(inputs), cpu(inputs))


@pytest.mark.parametrize("name", CALLS)
def test_eagerly_captured_and_replayed(texts: FakeCupy, name: str) -> None:
    """The same in each run; in the end all launches are replayed."""
    cpu = mi.compile(control_model(name), threads=1)
    gpu = mi.compile(control_model(name), device="cuda")
    for _ in range(4):
        texts.calls.clear()
        for inputs in CALLS[name][1]:
            same(gpu(inputs), cpu(inputs))
    assert "begin_capture" not in texts.names() and "graph.launch" in texts.names()
    assert "launch" not in texts.names()


def test_a_turn_is_one_graph_and_one_wait(texts: FakeCupy) -> None:
    gpu = mi.compile(control_model("until"), device="cuda")
    for turns in (3, 3, 3, 4):
        texts.calls.clear()
        gpu({"x": X * np.float32(0.01), "n": np.array(turns), "c": np.array(True)})
    # What decides on the first turn, and each turn with what decides on the next.
    assert texts.names().count("graph.launch") == 1 + 4
    assert texts.names().count("synchronize") == 1 + 4 + 1
    assert "launch" not in texts.names()


def test_known_turns_are_one_graph(texts: FakeCupy, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = mi.compile(control_model("scan"), device="cuda")
    assert any(isinstance(step, For) for step in scan.plan.program.steps) and not scan.plan.program.reads
    inputs = CALLS["scan"][1][0]
    first = scan(inputs)
    for _ in range(2):
        texts.calls.clear()
        same(scan(inputs), first)
    assert [name for name in texts.names() if name in ("graph.launch", "launch")] == ["graph.launch"]
    assert texts.names().count("synchronize") == 1
    # Too many launches for one graph are several.
    monkeypatch.setattr(cuda_session, "MOST", 20)
    monkeypatch.setattr(stretches, "LONGEST", 10)
    context = scan.plan.create_execution_context()
    for _ in range(3):
        texts.calls.clear()
        same(context.run(inputs), first)
    assert texts.names().count("graph.launch") > 1


WINDOWS = """
func.func @main(%x: tensor<6x4xf32> {graph.name = "x"}) -> (tensor<6x4xf32> {graph.name = "y"}) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %two = arith.constant 2 : index
  %three = arith.constant 3 : index
  %none = graph.constant dense<0.0> : tensor<6x4xf32>
  %y = scf.for %i = %zero to %three step %one iter_args(%all = %none) -> (tensor<6x4xf32>) {
    %row = arith.muli %i, %two : index
    %part = graph.extract_rows %x, %row {axis = 0 : i64, size = 2 : i64} : (tensor<6x4xf32>, index) -> tensor<2x4xf32>
    %made = graph.softmax %part {axis = 1 : i64} : tensor<2x4xf32>
    %more = graph.insert_rows %all, %made, %row {axis = 0 : i64}
        : (tensor<6x4xf32>, tensor<2x4xf32>, index) -> tensor<6x4xf32>
    scf.yield %more : tensor<6x4xf32>
  }
  func.return %y : tensor<6x4xf32>
}
"""


def test_windows_move_with_the_turns(texts: FakeCupy, tmp_path: Path) -> None:
    path = tmp_path / "windows.mlir"
    path.write_text(WINDOWS)
    inputs = {"x": numbers(6, 4)}
    wanted = mi.compile(path, threads=1)(inputs)
    ways: list[dict[str, Any]] = [{"device": "cuda-emulated"}, {"device": "cuda"}]
    for way in ways:
        engine = mi.compile(path, **way)
        assert any(isinstance(step, LaunchWith) for step in steps_of(engine.plan.program.steps))
        for _ in range(3):
            same(engine(inputs), wanted)


def test_shapes_of_a_profile_share_nothing_that_depends_on_them(texts: FakeCupy) -> None:
    model = model_of(BRANCH.replace("4,6", "n,6"))
    profile = mi.OptimizationProfile(dims={"n": (1, 4, 9)})
    cpu, gpu = (mi.compile(model, profile=profile, device=device) for device in ("cpu", "cuda"))
    for _ in range(3):
        for rows in (4, 9, 2):
            for condition in (True, False):
                inputs = {"x": numbers(rows, 6), "c": np.array(condition)}
                same(gpu(inputs), cpu(inputs))


@pytest.mark.parametrize("level", ["arena", "launches"])
def test_text_of_a_level_gives_the_same_program(level: str, tmp_path: Path) -> None:
    model, text = tmp_path / "until.onnx", tmp_path / "until.mlir"
    model.write_bytes(control_model("until").SerializeToString())
    assert not mini_opt([str(model), "--gpu", "sm_80", "--to", level, "-o", str(text)])
    direct, again = (mi.compile(path, device="cuda-emulated", gpu="sm_80") for path in (model, text))
    assert again.plan.program == direct.plan.program


class OverAfter(RunControl):
    """A run that is cancelled when it has been asked for the so-manieth time whether it is over."""

    def __init__(self, times: int) -> None:
        super().__init__()
        self.left = times

    @property
    @override
    def is_over(self) -> bool:
        self.left -= 1
        self.is_cancelled = self.left < 0
        return self.is_cancelled


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("device", ["cuda", "cuda-emulated"])
def test_a_loop_without_end_is_cancelled(texts: FakeCupy, device: str, model: str) -> None:
    plan = mi.compile(model_of(MODELS[model]), device=device).plan
    context, x = plan.create_execution_context(), np.ones((8, 16), np.float32)
    (first,) = context.run_ordered([np.array(2), x])
    for _ in range(2):
        with pytest.raises(mi.RunCancelledError):
            context.run_ordered([np.array(FOR_EVER), x], OverAfter(40))
        np.testing.assert_array_equal(context.run_ordered([np.array(2), x])[0], first)


def test_a_profile_counts_turns(texts: FakeCupy) -> None:
    inputs = {"x": X * np.float32(0.01), "n": np.array(3), "c": np.array(True)}
    for device in ("cuda-emulated", "cuda"):
        engine = mi.compile(control_model("until"), device=device, enable_profiling=True)
        context = engine.plan.create_execution_context()
        for _ in range(2):
            context.run(inputs)
        runs = [each.runs for each in context.profile()]
        assert runs == [1 if number < 4 else 3 for number in range(len(runs))], device
    turns = [engine.plan.launches[each.call].kernel for each in context.timeline()]
    assert len(turns) == sum(runs) and turns[4:7] == turns[11:14]


def test_errors_within_loops_name_their_node(texts: FakeCupy) -> None:
    text = """
    g (float[5,2] x, int64[1] at, int64 n) => (float[1,2] y) {
      first = Gather <axis = 0> (x, at)
      y = Loop (n, , first) <
        body = l (int64 i, bool on, float[1,2] before) => (bool go, float[1,2] after) {
          go = Identity(on)
          place = Add(at, i)
          row = Gather <axis = 0> (x, place)
          after = Add(before, row)
        }
      >
    }"""
    for device in ("cuda-emulated", "cuda"):
        engine = mi.compile(model_of(text), device=device)
        engine({"x": numbers(5, 2), "at": np.array([2]), "n": np.array(3)})
        with pytest.raises(mi.InvalidInputError, match=r"Gather.*5"):
            engine({"x": numbers(5, 2), "at": np.array([2]), "n": np.array(4)})


def test_the_host_reads_nothing_that_nobody_has_written() -> None:
    plan = mi.compile(control_model("nested"), device="cuda-emulated").plan
    (read,) = [step for step in plan.program.steps if isinstance(step, Read)]
    arena = len(plan.inputs) + len(plan.outputs)
    moved = [replace(step, root=arena, offset=0) if step is read else step for step in plan.program.steps]
    plan = replace(plan, program=replace(plan.program, steps=tuple(moved)))
    with pytest.raises(KernelError, match=f"main: the host reads uninitialised bytes from 0 on in argument {arena}"):
        plan.create_execution_context().run(CALLS["nested"][1][0])


def test_an_inference_of_several_graphs_is_not_timed_as_one(texts: FakeCupy) -> None:
    context = mi.compile(control_model("branch"), device="cuda").plan.create_execution_context()
    session = cast("cuda_session.CudaSession", cast("Any", context)._session)
    with pytest.raises(UnsupportedError, match="loops or branches that hang on its values is no single CUDA graph"):
        session.microseconds(1, 1)


SIGNED = ("addi", "subi", "muli", "divsi", "remsi", "floordivsi", "ceildivsi", "minsi", "maxsi", "andi", "ori", "xori")
COMPARED = ("eq", "ne", "slt", "sle", "sgt", "sge", "ult", "ule", "ugt", "uge")


def arithmetic() -> str:
    """A loop for each operation, whose turns are its result for a and b if that is one of 0 to 9."""
    lines, outputs = list[str](), list[str]()

    def loop(number: str, name: str) -> None:
        lines.extend(
            (
                f"%{name}_least = arith.maxsi {number}, %none : i64",
                f"%{name}_few = arith.minsi %{name}_least, %nine : i64",
                f"%{name}_end = arith.index_cast %{name}_few : i64 to index",
                f"%{name} = scf.for %{name}_i = %c0 to %{name}_end step %c1 iter_args(%{name}_x = %x)",
                "    -> (tensor<1xf32>) {",
                f"  %{name}_y = graph.add %{name}_x, %step : tensor<1xf32>",
                f"  scf.yield %{name}_y : tensor<1xf32>",
                "}",
            )
        )
        outputs.append(name)

    for name in SIGNED:
        lines.append(f"%{name}_n = arith.{name} %a, %b : i64")
        loop(f"%{name}_n", name)
    for name in COMPARED:
        lines.append(f"%{name}_t = arith.cmpi {name}, %a, %b : i64")
        lines.append(f"%{name}_n = arith.ext{'s' if name.startswith('s') else 'u'}i %{name}_t : i1 to i64")
        lines.append(f"%{name}_p = arith.addi %{name}_n, %two : i64")
        loop(f"%{name}_p", name)
    lines += ["%short = arith.trunci %a : i64 to i8", "%wide = arith.extui %short : i8 to i64"]
    loop("%wide", "trunci")
    lines += ["%t = arith.cmpi slt, %a, %b : i64", "%chosen = arith.select %t, %a, %b : i64"]
    loop("%chosen", "select")
    results = ", ".join(f'(tensor<1xf32> {{graph.name = "{name}"}})'[1:-1] for name in outputs)
    body = "\n  ".join(lines)
    return f"""
func.func @main(%x: tensor<1xf32> {{graph.name = "x"}}, %p: tensor<i64> {{graph.name = "a"}},
                %q: tensor<i64> {{graph.name = "b"}}) -> ({results}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %none = arith.constant 0 : i64
  %two = arith.constant 2 : i64
  %nine = arith.constant 9 : i64
  %step = graph.constant dense<1.0> : tensor<1xf32>
  %a = tensor.extract %p[] : tensor<i64>
  %b = tensor.extract %q[] : tensor<i64>
  {body}
  func.return {", ".join(f"%{name}" for name in outputs)} : {", ".join("tensor<1xf32>" for _ in outputs)}
}}
"""


def test_the_host_computes_what_the_cpus_code_does(tmp_path: Path) -> None:
    path = tmp_path / "arithmetic.mlir"
    path.write_text(arithmetic())
    cpu, gpu = mi.compile(path, threads=1), mi.compile(path, device="cuda-emulated")
    for a, b in ((7, 3), (-7, 3), (7, -3), (-7, -3), (4, 4), (-2, 2**40), (2**40 + 5, 2**40)):
        inputs = {"x": np.zeros(1, np.float32), "a": np.array(a), "b": np.array(b)}
        assert gpu(inputs) == cpu(inputs), (a, b)


@pytest.mark.parametrize(
    ("scalar", "message"),
    [
        (
            "%t = arith.cmpf olt, %f, %f : f32",
            "arith.cmpf: on a GPU, loops and branches hang on integers only, got f32",
        ),
        ("%s = arith.shli %n, %n : i64  %t = arith.cmpi eq, %s, %n : i64", "arith.shli: the host of a GPU has no oper"),
    ],
)
def test_what_the_host_does_not_compute_is_refused(tmp_path: Path, scalar: str, message: str) -> None:
    path = tmp_path / "refused.mlir"
    path.write_text(f"""
func.func @main(%x: tensor<4xf32> {{graph.name = "x"}}, %c: tensor<i64> {{graph.name = "c"}}) -> tensor<4xf32> {{
  %f = arith.constant 1.0 : f32
  %n = tensor.extract %c[] : tensor<i64>
  {scalar}
  %y = scf.if %t -> (tensor<4xf32>) {{
    %r = graph.relu %x : tensor<4xf32>
    scf.yield %r : tensor<4xf32>
  }} else {{
    scf.yield %x : tensor<4xf32>
  }}
  func.return %y : tensor<4xf32>
}}
""")
    with pytest.raises(mi.CompileError, match=message):
        mi.compile(path, device="cuda-emulated")
