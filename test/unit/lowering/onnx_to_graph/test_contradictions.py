"""Branches whose shapes contradict each other: errors of the runs that take them, and notes of the compile."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpu_runs import EMULATORS
from import_cases import onnxruntime
from onnx import ModelProto
from text_models import model_of, numbers

import mini_infer as mi
from mini_infer.lowering.module_text import read_module
from mini_infer.runtime.compile.module_to_plan import build_plan
from mini_infer.runtime.config import EngineConfig
from mini_infer.tools.mini_opt.command import main as mini_opt

GOOD = "p = Neg(x)  q = Add(p, x)"
# Fifteen elements for twelve; Reshape is checked when it is run, by ONNX Runtime too.
BAD = "wide = Constant <value = int64[2] {3, 5}> ()  p = Reshape(x, wide)  q = Identity(x)"
FACT = r"If_0/Reshape_1 \(Reshape\): 12 elements can't take the shape \[3, 5\]"


def branches(then: str, otherwise: str, first: str = "", condition: str = "c") -> ModelProto:
    """A branch that a truth value decides, of two results."""
    renamed = otherwise.replace("p = ", "r = ").replace("q = ", "s = ").replace("(p", "(r").replace("wide", "large")
    return model_of(f"""
    g (float[4,3] x, bool c, float limit) => (float[a,b] y, float[e,f] z) {{
      {first} y, z = If ({condition}) <
        then_branch = t () => (float[i,j] p, float[k,l] q) {{ {then} }},
        else_branch = e () => (float[m,n] r, float[o,u] s) {{ {renamed} }}
      >
    }}""")


def inputs_of(model: ModelProto, **values: Any) -> dict[str, Any]:
    given = {"x": numbers(4, 3), "limit": np.array(0, np.float32), **values}
    return {each.name: np.asarray(given[each.name]) for each in model.graph.input}


WAYS: list[dict[str, Any]] = [
    {"threads": 1},
    {"threads": 1, "enable_graph_optimization": False, "enable_memory_planning": False},
    {"threads": 2, "check_memory": True},
    {"device": "cuda-emulated"},
    {"device": "cuda-emulated", "emulator": "compiled"},
]


@pytest.mark.parametrize("way", WAYS, ids=str)
@pytest.mark.parametrize("bad", ["then_branch", "else_branch"])
def test_a_side_that_contradicts_itself_is_an_error_of_the_run(bad: str, way: dict[str, Any]) -> None:
    """ONNX Runtime refuses it in the same run; the next one knows nothing of it."""
    taken = bad == "then_branch"
    model = branches(BAD, GOOD) if taken else branches(GOOD, BAD)
    message = rf"^If_0 \(If\): its {bad} can't be run: {FACT}; which one is taken depends on c: bind with specialize"
    with pytest.warns(UserWarning, match=rf"{message}; a run that takes it fails with this error$"):
        engine = mi.compile(model, **way)
    right = inputs_of(model, c=not taken)
    wanted = onnxruntime(model, right)
    wrong = inputs_of(model, c=taken)
    with pytest.raises(Exception, match="Reshape"):
        onnxruntime(model, wrong)
    for _ in range(2):
        with pytest.raises(mi.InvalidInputError, match=f"{message}$"):
            engine(wrong)
        for found, expected in zip(engine(right).values(), wanted, strict=True):
            np.testing.assert_array_equal(found, expected)


def test_bound_buffers_are_told_too() -> None:
    model = branches(GOOD, BAD)
    with pytest.warns(UserWarning, match=FACT):
        context = mi.compile(model, threads=1).plan.create_execution_context()
    for name, array in inputs_of(model, c=False).items():
        if name in context.plan.input_names:
            context.bind_input(name, array)
    for name in ("y", "z"):
        context.bind_output(name, np.empty((4, 3), np.float32))
    with pytest.raises(mi.InvalidInputError, match=FACT):
        context.execute()


def test_two_sides_that_contradict_themselves_are_refused() -> None:
    message = rf"^If_0 \(If\): neither branch can be run: then_branch: {FACT}; else_branch: {FACT}$"
    with pytest.raises(mi.InvalidModelError, match=message):
        mi.compile(branches(BAD, BAD))


def test_a_condition_that_is_known_takes_the_side_that_can_be() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        engine = mi.compile(branches(GOOD, BAD), specialize={"c": np.array(True)}, threads=1)
    assert not engine.plan.checks
    with pytest.raises(mi.InvalidModelError, match=f"^{FACT}$"):
        mi.compile(branches(GOOD, BAD), specialize={"c": np.array(False)}, threads=1)


def test_only_inputs_of_few_values_are_to_be_bound() -> None:
    """A branch that a sum of floats decides has no value to be bound to."""
    first = "sum = ReduceSum <keepdims = 0> (x)  large = Greater(sum, limit)"
    with pytest.warns(UserWarning, match=r"shape \[3, 5\]; a run that takes it fails with this error$"):
        mi.compile(branches(GOOD, BAD, first, "large"), threads=1)


def test_what_is_malformed_is_refused_wherever_it_stands() -> None:
    for what, message in (
        ("Relu <no = 1> (x)", "the operator has no attribute no"),
        ("Transpose <perm = 1> (x)", "attribute perm must be INTS, got INT"),
        ("Gemm (x)", "1 operands, but the operator has 2 to 3"),
    ):
        with pytest.raises(mi.InvalidModelError, match=rf"^(If_0/)?\w+ \(\w+\): {message}"):
            mi.compile(branches(GOOD, BAD.replace("Reshape(x, wide)", what)))


def test_a_constant_index_may_be_out_of_range_in_a_side() -> None:
    bad = "i = Constant <value = int64[2] {0, 4}> ()  p = Gather(x, i)  q = Identity(x)"
    with pytest.warns(UserWarning, match=r"If_0/Gather_1 \(Gather\): index 4 is outside of a dimension of 4 elements"):
        engine = mi.compile(branches(GOOD, bad), threads=1)
    np.testing.assert_array_equal(engine(inputs_of(branches(GOOD, bad), c=True))["y"], -numbers(4, 3))


NESTED = """
    g (float[4] x, bool c, bool d) => (float[4] y) {
      y = If (c) <
        then_branch = t () => (float[4] p) { p = Neg(x) },
        else_branch = e () => (float[4] q) {
          q = If (d) <
            then_branch = ft () => (float[4] qt) { a = Constant <value = int64 {5}> ()  qt = Reshape(x, a) },
            else_branch = fe () => (float[4] qe) { SIDE }
          >
        }
      >
    }"""


def nested(side: str) -> ModelProto:
    return model_of(NESTED.replace("SIDE", side).replace("int64 {5}", "int64[1] {5}"))


def test_branches_in_branches_tell_of_the_innermost_that_can_be_told_of() -> None:
    one = nested("qe = Tanh(x)")
    with pytest.warns(UserWarning, match=r"^If_0/If_0 \(If\): its then_branch can't be run") as told:
        engine = mi.compile(one, threads=1)
    assert len(told) == 1
    for c, d in ((True, True), (True, False), (False, False)):
        given = {"x": numbers(4), "c": np.array(c), "d": np.array(d)}
        np.testing.assert_allclose(engine(given)["y"], onnxruntime(one, given)[0], rtol=1e-6)
    with pytest.raises(mi.InvalidInputError, match=r"^If_0/If_0 \(If\): its then_branch .* depends on d"):
        engine(x=numbers(4), c=np.array(False), d=np.array(True))
    both = nested("b = Constant <value = int64[1] {3}> ()  qe = Reshape(x, b)")
    message = r"^If_0 \(If\): its else_branch can't be run: If_0/If_0 \(If\): neither branch can be run.* depends on c"
    with pytest.warns(UserWarning, match=message):
        engine = mi.compile(both, threads=1)
    found = engine({"x": numbers(4), "c": np.array(True), "d": np.array(True)})
    np.testing.assert_array_equal(found["y"], -numbers(4))


def test_a_turn_of_a_loop_may_take_it() -> None:
    text = """
    g (int64 n, float[4] x) => (float[4] y) {
      two = Constant <value = int64 {2}> ()
      y = Loop (n, , x) <
        body = l (int64 i, bool on, float[4] before) => (bool go, float[4] after) {
          go = Identity(on)
          early = Less(i, two)
          after = If (early) <
            then_branch = t () => (float[4] p) { p = Add(before, x) },
            else_branch = e () => (float[4] q) { a = Constant <value = int64[1] {5}> ()  q = Reshape(before, a) }
          >
        }
      >
    }"""
    with pytest.warns(UserWarning, match="its else_branch can't be run"):
        engine = mi.compile(model_of(text), threads=2)
    np.testing.assert_allclose(engine(np.array(2), numbers(4)), 3 * numbers(4), rtol=1e-6)
    with pytest.raises(mi.InvalidInputError, match=r"^Loop_1/If_2 \(If\): its else_branch can't be run"):
        engine(np.array(3), numbers(4))


def test_shapes_of_run_time_decide_which_side_can_be() -> None:
    """Another shape at which the other side can be is another compile."""
    text = """
    g (float[n] x, bool c) => (float[m] y) {
      y = If (c) <
        then_branch = t () => (float[p0] p) {
          a = Constant <value = int64[2] {2, 4}> ()
          b = Reshape(x, a)
          d = ReduceSum <keepdims = 0> (b)
          p = Add(x, d)
        },
        else_branch = e () => (float[q0] q) { q = Tanh(x) }
      >
    }"""
    profile = mi.OptimizationProfile(dims={"n": (1, 6, 9)})
    with pytest.warns(UserWarning, match=r"its then_branch can't be run: .* can't take the shape \[2, 4\]"):
        engine = mi.compile(model_of(text), profile=profile, threads=1)
    for size in (6, 5, 8, 9):
        x = numbers(size)
        np.testing.assert_allclose(engine(x, np.array(False)), np.tanh(x), rtol=1e-5)
        if size == 8:
            np.testing.assert_allclose(engine(x, np.array(True)), x + x.sum(), rtol=1e-5)
        else:
            with pytest.raises(mi.InvalidInputError, match="its then_branch can't be run"):
                engine(x, np.array(True))


def test_what_is_kept_knows_of_it(tmp_path: Path) -> None:
    model = branches(GOOD, BAD)
    with pytest.warns(UserWarning, match=FACT):
        mi.compile(model, threads=1, cache=tmp_path)
    engine = mi.compile(model, threads=1, cache=tmp_path)
    with pytest.raises(mi.InvalidInputError, match=FACT):
        engine(inputs_of(model, c=False))


@pytest.mark.filterwarnings("default::UserWarning")
def test_mini_opt_shows_it_at_every_level(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Text of every level reads back and ends in the same run."""
    path = tmp_path / "model.onnx"
    model = branches(GOOD, BAD)
    path.write_bytes(model.SerializeToString())
    assert mini_opt([str(path), "--to", "graph"]) in (0, None)
    told = capsys.readouterr()
    assert "mini-opt: warning: If_0 (If): its else_branch can't be run" in told.err
    assert 'graph.fail {message = "If_0 (If): its else_branch can' in told.out
    for level in ("graph", "kernels", "buffers", "arena", "loops", "llvm"):
        text = tmp_path / f"{level}.mlir"
        mini_opt([str(path), "--to", level, "-o", str(text)])
        module, ctx = read_module(text)
        module.verify()
        context = build_plan(module, ctx, EngineConfig.of(threads=1)).create_execution_context()
        given = inputs_of(model, c=False)
        with pytest.raises(mi.InvalidInputError, match=FACT):
            context.run(given)
        np.testing.assert_array_equal(context.run(inputs_of(model, c=True))["y"], -numbers(4, 3))


@pytest.mark.parametrize("emulator", EMULATORS)
def test_a_gpu_notes_a_failure(emulator: str, tmp_path: Path) -> None:
    text = tmp_path / "fails.mlir"
    text.write_text(
        'func.func @main(%x: tensor<700xf32> {graph.name = "x"}) -> (tensor<700xf32> {graph.name = "y"}) {\n'
        '  %z = graph.fail {message = "no"} : tensor<700xf32>\n  %y = graph.add %x, %z : tensor<700xf32>\n'
        "  func.return %y : tensor<700xf32>\n}\n"
    )
    module, ctx = read_module(text)
    plan = build_plan(module, ctx, EngineConfig(device="cuda-emulated", emulator=emulator))
    with pytest.raises(mi.InvalidInputError, match=r"^no$"):
        plan.create_execution_context().run({"x": numbers(700)})
