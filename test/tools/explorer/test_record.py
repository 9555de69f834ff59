"""The record of a compile: everything in it refers to what it is about, and answers come from it."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from models.light import seeded_light_model
from onnx.parser import parse_model

import mini_infer as mi
from mini_infer.tools.mini_opt.command import main as mini_opt

LOOP = """
<ir_version: 8, opset_import: ["" : 17]>
looping (float[4,8] x, float[8,8] w) => (float[4,8] y, float[4,8] z) {
  trip = Constant<value = int64 {5}>()
  cond = Constant<value = bool {1}>()
  a = MatMul(x, w)
  y, scans = Loop(trip, cond, a) <body = body (int64 i, bool c, float[4,8] s)
      => (bool c2, float[4,8] s2, float[4,8] o) {
     c2 = Identity(c)
     m = MatMul(s, w)
     r = Relu(m)
     s2 = Add(r, s)
     o = Tanh(s2)
  }>
  axes = Constant<value = int64[1] {0}>()
  z = ReduceSum<keepdims=0>(scans, axes)
}
"""
CHAIN = """
<ir_version: 8, opset_import: ["" : 17]>
chain (float[1,8,12,12] x, float[16,8,3,3] w) => (float[1,16,6,6] y)
<float[16] b = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}>
{
  [conv_1] c = Conv<pads=[1,1,1,1]>(x, w, b)
  [relu_1] r = Relu(c)
  [pool_1] p = MaxPool<kernel_shape=[2,2], strides=[2,2]>(r)
  [soft_1] s = Softmax<axis=1>(p)
  [neg_1] n = Neg(s)
  [exp_1] y = Exp(n)
}
"""


@cache
def chain() -> mi.CompileRecord:
    return mi.explore(parse_model(CHAIN), threads=1, compile_threads=1)


@cache
def looping() -> mi.CompileRecord:
    return mi.explore(parse_model(LOOP), threads=1, compile_threads=1)


def check_references(record: mi.CompileRecord) -> None:
    """All numbers are of what there is."""
    record.check()


def test_a_module_at_the_arenas_level_is_explored(tmp_path: Path) -> None:
    (tmp_path / "chain.onnx").write_bytes(parse_model(CHAIN).SerializeToString())
    for level in ("graph", "kernels", "buffers", "arena", "loops"):
        assert mini_opt([str(tmp_path / "chain.onnx"), "--to", level, "-o", str(tmp_path / "m.mlir")]) == 0
        if level == "loops":
            with pytest.raises(mi.ConfigError, match=r"m\.mlir is below the arena's level"):
                mi.explore(tmp_path / "m.mlir")
            continue
        record = mi.explore(tmp_path / "m.mlir", measure=level == "arena")
        record.check()
        assert record.memory.arena == chain().memory.arena
        assert "What binds:" in record.explain("memory")


def lines_of(record: mi.CompileRecord, level: str, what: str, number: int) -> list[str]:
    """The lines of a level whose mark has a node, a step or a tensor."""
    (text,) = (each for each in record.texts if each.level == level)
    chosen = {at for at, mark in enumerate(record.marks) if number in getattr(mark, what)}
    return [line for line, mark in zip(text.lines, text.marks, strict=True) if mark in chosen]


def number(record: mi.CompileRecord, name: str, what: str = "nodes") -> int:
    return next(at for at, each in enumerate(getattr(record, what)) if each.name == name)


@pytest.mark.parametrize("record", [chain, looping], ids=["chain", "loop"])
def test_all_references_hold(record: Any) -> None:
    check_references(record())
    levels = [text.level for text in record().texts]
    assert levels == ["import", "graph", "kernels", "buffers", "arena", "loops", "llvm", "assembly"]


def test_a_node_is_found_in_every_level() -> None:
    record = chain()
    relu = number(record, "relu_1")
    (step,) = record.nodes[relu].steps
    assert {record.nodes[each].name for each in record.steps[step].nodes} >= {"conv_1", "relu_1"}
    for level in ("import", "graph", "kernels", "buffers", "arena"):
        assert any("relu" in line for line in lines_of(record, level, "nodes", relu)), level
    for level in ("loops", "llvm", "assembly"):
        assert lines_of(record, level, "steps", step), level


def test_an_instruction_leads_to_its_tensor() -> None:
    """Loads of the weights in assembly are told by the weights' name, through LLVM IR and loops."""
    record = chain()
    texts = {text.level: text for text in record.texts}
    weights = number(record, "w", "tensors")
    found = 0
    for line, source in zip(texts["assembly"].lines, texts["assembly"].sources, strict=True):
        loops = texts["llvm"].sources[source - 1] if source else 0
        if not loops or texts["loops"].marks[loops - 1] < 0:
            continue
        mark = record.marks[texts["loops"].marks[loops - 1]]
        if weights in mark.tensors and "load" in texts["loops"].lines[loops - 1]:
            assert "%" in line
            found += 1
    assert found, "instructions that read the weights"


def test_tensors_of_the_graph_are_all_told() -> None:
    record = chain()
    by_name = {each.name: each for each in record.tensors}
    assert {"x", "w", "b", "c", "r", "p", "s", "n", "y"} <= by_name.keys()
    assert by_name["c"].role == "removed" and "conv" in by_name["c"].fate
    assert (by_name["x"].role, by_name["y"].role, by_name["b"].role) == ("input", "output", "weight")
    placed = [each for each in record.tensors if each.offset is not None]
    assert placed and all(each.end is not None and each.end <= record.memory.arena for each in placed)


def test_calls_are_measured_and_limited() -> None:
    record = chain()
    calls = [each for each in record.steps if each.schedule]
    assert record.run_us is not None and record.outside_us is not None
    assert all(each.us is not None and each.us > 0 and each.limit_us is not None for each in calls)
    assert all(each.limited_by in ("arithmetic", "memory") for each in calls)
    total = sum(each.us or 0 for each in calls)
    assert total + record.outside_us == pytest.approx(record.run_us)
    assert looping().steps and max(each.runs for each in looping().steps) == 5


def test_passes_tell_what_they_changed() -> None:
    record = chain()
    form = next(each for each in record.passes if each.name == "form-kernels")
    assert form.before != form.after
    assert any(sign == "-" and "graph.relu" in text for sign, text, _ in form.changes)
    assert any(sign == "+" and "graph.kernel @" in text for sign, text, _ in form.changes)
    relu = number(record, "relu_1")
    assert any(mark >= 0 and relu in record.marks[mark].nodes for _, _, mark in form.changes)
    idle = next(each for each in record.passes if each.name == "recompose-gelu")
    assert not idle.changes and idle.before == idle.after


def test_a_record_is_the_same_after_writing_and_reading(tmp_path: Path) -> None:
    file = tmp_path / "chain.json"
    chain().write(file)
    again = mi.CompileRecord.read(file)
    assert json.dumps(again.facts()) == json.dumps(chain().facts())
    assert repr(again) == repr(chain())


def test_code_for_a_gpu_is_told() -> None:
    record = mi.explore(parse_model(CHAIN), device="cuda-emulated")
    check_references(record)
    assert [text.level for text in record.texts][-2:] == ["launches", "cuda"]
    (step,) = record.nodes[number(record, "soft_1")].steps
    assert any("__global__" in line for line in lines_of(record, "cuda", "steps", step))
    assert any("gpu.launch_func" in line for line in lines_of(record, "launches", "steps", step))
    assert record.run_us is None and all(each.us is None for each in record.steps)


def test_given_inputs_are_measured_and_checked() -> None:
    x, w = np.zeros((1, 8, 12, 12), np.float32), np.zeros((16, 8, 3, 3), np.float32)
    assert mi.explore(parse_model(CHAIN), {"x": x, "w": w}, threads=1).run_us
    with pytest.raises(mi.InvalidInputError, match="input 'w' is missing"):
        mi.explore(parse_model(CHAIN), {"x": x}, threads=1)
    with pytest.raises(mi.InvalidInputError, match="input 'x'"):
        mi.explore(parse_model(CHAIN), {"x": x[0], "w": w}, threads=1)


def test_what_has_several_shapes_is_refused() -> None:
    with pytest.raises(mi.ConfigError, match="one shape is explored"):
        mi.explore(parse_model(CHAIN), enable_dynamic_shapes=True)
    with pytest.raises(mi.ConfigError, match="check_memory"):
        mi.explore(parse_model(CHAIN), check_memory=True)


def test_a_page_or_json_is_written(tmp_path: Path) -> None:
    with pytest.raises(mi.ConfigError, match=r"\.html or \.json"):
        chain().write(tmp_path / "chain.txt")
    with pytest.raises(mi.ConfigError, match="JSON is of one"):
        chain().write(tmp_path / "chain.json", against=chain())
    told: dict[str, Any] = chain().facts()
    other = {**told, "version": 0}
    typed = {**told, "steps": [{**told["steps"][0], "limit_us": "x"}, *told["steps"][1:]]}
    beyond = {**told, "memory": {**told["memory"], "binding_step": 99}}
    short = {**told, "texts": [{**told["texts"][0], "marks": list[int]()}, *told["texts"][1:]]}
    wrong = {
        "{": "Invalid JSON",
        "[" * 200_000: "no record of a compile: ",
        "[]": "no record of a compile: ",
        "{}": "title: Field required",
        json.dumps(other): "version 0",
        json.dumps(typed): r"steps\.0\.limit_us: Input should be a valid number",
        json.dumps(beyond): "memory : 99 is out of range",
        json.dumps(short): "text import: .* lines, and not one mark for each",
    }
    for text, what in wrong.items():
        (tmp_path / "wrong.json").write_text(text)
        with pytest.raises(mi.ConfigError, match=what):
            mi.CompileRecord.read(tmp_path / "wrong.json")
    with pytest.raises(mi.ConfigError, match="No such file"):
        mi.CompileRecord.read(tmp_path / "missing.json")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["wrong.json"]


DOUBLE = """
<ir_version: 8, opset_import: ["" : 17]>
double (float[4,4] x, float[4,4] w) => (float[4,4] y) {
  [same] a = Softmax(x)
  [same] b = MatMul(a, w)
  [same] y = Softmax(b)
}
"""


def test_nodes_of_one_name_are_told_apart() -> None:
    record = mi.explore(parse_model(DOUBLE), threads=1, measure=False)
    record.check()
    assert [each.name for each in record.nodes] == ["same", "same#2", "same#3"]
    assert [each.steps for each in record.nodes] == [[0], [1], [2]]
    assert "MatMul" in record.explain("node", "same#2").splitlines()[0]


def test_bytes_of_explanations_are_those_of_the_arena() -> None:
    """Sizes are padded, as plans pad them: what would be left without a tensor is what a plan would take."""
    record = mi.explore(parse_model(DOUBLE), threads=1, measure=False)
    told = record.explain("memory")
    left = [int(each) for each in re.findall(r"most alive would be (\d+) B", told)]
    assert all(each % record.memory.alignment == 0 for each in left)
    shares = [int(each) for each in re.findall(r" (\d+)% ", told)]
    assert sum(shares) == pytest.approx(100, abs=2)


# answers


def test_memory_is_explained() -> None:
    record = chain()
    told = record.explain("memory")
    binding = record.memory.binding_step
    assert f"What binds: step {binding} {record.steps[binding].kernel}" in told and "What would help:" in told
    alive = [each for each in record.tensors if each.offset is not None and each.birth <= binding < each.death]
    assert any(each.name in told for each in alive)


def test_time_is_explained() -> None:
    told = chain().explain("time")
    assert "Calls by what is lost against their limits:" in told and "taken; " in told
    told = mi.explore(parse_model(CHAIN), threads=1, measure=False).explain("time")
    assert "not measured" in told and "Calls by estimated time:" in told


def test_a_tensor_and_a_node_are_explained() -> None:
    told = chain().explain("tensor", "c")
    assert "made by node conv_1 (Conv)" in told and "became: inside of kernel" in told
    told = chain().explain("tensor", "p")
    assert "kept alive by step" in told and "alive at steps" in told
    for level in ("import", "graph", "kernels", "buffers", "arena", "loops", "llvm", "assembly"):
        assert f"\n  {level}: " in told, level
    told = chain().explain("node", "relu_1")
    assert "in one kernel with conv_1" in told and "changed by " in told and "\n  assembly: " in told


def test_answers_are_one_screen() -> None:
    record = mi.explore(seeded_light_model("squeezenet"), threads=1, measure=False)
    check_references(record)
    names = [("node", each.name) for each in record.nodes] + [("tensor", each.name) for each in record.tensors]
    for question, name in [("memory", None), ("time", None), *names]:
        lines = record.explain(question, name).splitlines()
        assert len(lines) <= 45 and max(map(len, lines)) <= 118, (question, name)


@pytest.mark.parametrize(
    ("question", "message"),
    [
        (("memry",), r"explain 'memry' \(did you mean memory\?\): there are memory, time, tensor, node"),
        (("memory", "x"), "takes no name"),
        (("tensor",), "the name of a tensor is missing"),
        (("tensor", "rr"), "there is no tensor 'rr'"),
        (("node", "relu1"), "there is no node 'relu1'.*relu_1"),
    ],
)
def test_wrong_questions_are_refused(question: tuple[str, ...], message: str) -> None:
    with pytest.raises(mi.ConfigError, match=message):
        chain().explain(*question)


def test_models_in_files_have_their_names(tmp_path: Path) -> None:
    (tmp_path / "net").mkdir()
    for name, title in (("chain.onnx", "chain.onnx"), ("model.onnx", "net/model.onnx")):
        (tmp_path / "net" / name).write_bytes(parse_model(CHAIN).SerializeToString())
        assert mi.explore(tmp_path / "net" / name, threads=1, measure=False).title == title
