"""Every tensor of an ONNX model is found in the memory plan, or the plan tells where it went."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from models.build import ModelBuilder, example_inputs
from models.small import SMALL_MODELS
from onnx import ModelProto, TensorProto, helper
from onnx.reference import ReferenceEvaluator

import mini_infer as mi
from mini_infer.passes.memory.report.memory_plan import MemoryPlan
from mini_infer.tools.mini_opt.command import main as mini_opt


def names_of(model: ModelProto) -> list[str]:
    graph = model.graph
    made = [name for node in graph.node for name in node.output if name]
    return [*(each.name for each in graph.input), *(each.name for each in graph.initializer), *made]


def fate(plan: MemoryPlan, name: str) -> tuple[str, str, tuple[str, ...]]:
    _, removed = plan.find(name)
    assert removed is not None
    return removed.fate, removed.into, removed.kernels


@pytest.mark.parametrize("optimize", [True, False])
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_every_tensor_of_a_model_is_told_of(name: str, optimize: bool) -> None:
    model = SMALL_MODELS[name]()
    plan = mi.plan_memory(model, threads=1, enable_graph_optimization=optimize)
    kept, removed = {each.name for each in plan.tensors}, {each.name: each for each in plan.removed}
    for each in names_of(model):
        assert (each in kept) != (each in removed), each
    for each in removed.values():
        assert each.fate != "fused" or each.steps, each
        assert [plan.steps[step] for step in each.steps] == list(each.kernels)


def is_moved(found: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether arrays have the same elements, up to rounding and the order of axes."""
    orders = (wanted.transpose(order) for order in permutations(range(wanted.ndim)))
    return any(np.allclose(found.ravel(), each.ravel(), rtol=1e-3, atol=1e-4) for each in orders)


@pytest.mark.parametrize("name", ["resnet", "mobilenet", "transformer", "lstm", "unet"])
def test_a_tensor_by_name_has_the_values_that_onnx_gives_it(name: str) -> None:
    model = SMALL_MODELS[name]()
    engine = mi.compile(model, threads=1, enable_memory_planning=False)
    inputs = example_inputs(model)
    with engine.create_context() as context:
        context.run(inputs)
        names = set(names_of(model))
        found = {
            each.name: context.tensor(each.name).numpy().copy()
            for each in engine.plan.memory.tensors
            if each.name in names and each.offset is not None
        }
    assert len(found) > 3
    del model.graph.output[:]
    model.graph.output.extend(helper.make_tensor_value_info(each, TensorProto.FLOAT, None) for each in found)
    wanted = cast("list[np.ndarray]", cast("Any", ReferenceEvaluator(model)).run(None, inputs))
    wrong = [each for each, value in zip(found, wanted, strict=True) if not is_moved(found[each], value)]
    assert not wrong


def model_with_all_fates() -> ModelProto:
    b = ModelBuilder("fates")
    x = b.input("x", [2, 4, 6, 6])
    conv = b.node("Conv", x, b.weight(4, 4, 1, 1))
    norm = b.node("BatchNormalization", conv, *(b.uniform(0.5, 1, 4) for _ in range(4)))
    same = b.node("Identity", b.node("Relu", norm))
    b.node("Exp", same)
    power = b.node("Pow", b.weight(4, 1, 1), b.number(2.0))
    return b.model([b.node("Softmax", b.node("Mul", b.node("MaxPool", same, kernel_shape=[2, 2]), power))])


def test_what_becomes_of_a_tensor() -> None:
    model = model_with_all_fates()
    plan = mi.plan_memory(model, threads=1)
    conv, norm, relu, same, dead, power, pool, product, _ = (node.output[0] for node in model.graph.node)
    assert {fate(plan, name)[0] for name in (conv, norm)} == {"fused"}
    assert fate(plan, same)[:2] == ("same", relu)
    assert fate(plan, dead)[0] == "unused"
    assert fate(plan, power)[0] == "constant"
    found, gone = plan.find(same)
    assert found == plan.find(relu)[0] and gone is not None and gone.text == f"the same as {relu}"
    assert plan.find(conv)[1] != plan.find(pool)[1]
    assert plan.find(product) is not None


def test_names_go_through_a_modules_text(tmp_path: Path) -> None:
    """A module that is stopped at the buffers, written and read has the tensors' names of one that went on."""
    model = tmp_path / "model.onnx"
    model.write_bytes(model_with_all_fates().SerializeToString())
    text = tmp_path / "model.mlir"
    mini_opt([str(model), "--to", "buffers", "-o", str(text)])
    plan, again = mi.plan_memory(model, threads=1), mi.plan_memory(text)
    assert [each.name for each in again.tensors] == [each.name for each in plan.tensors]
    assert again.removed == plan.removed and again.step_nodes == plan.step_nodes


def test_a_context_tells_where_a_tensor_is() -> None:
    model = model_with_all_fates()
    conv, _, relu, same, *_ = (node.output[0] for node in model.graph.node)
    folded = model.graph.initializer[0].name
    with mi.compile(model, threads=1).create_context() as context:
        with pytest.raises(mi.InvalidInputError, match=rf"no tensor '{conv}': inside of kernel .*conv_.*\(step \d\)"):
            context.tensor(conv)
        with pytest.raises(
            mi.InvalidInputError, match=r"an input, an output or the weights; Engine.intermediates gives"
        ):
            context.tensor("x")
        with pytest.raises(mi.InvalidInputError, match=r"no tensor 'nobody'; plan\.memory.tensors lists"):
            context.tensor("nobody")
        with pytest.raises(mi.InvalidInputError, match=rf"no tensor '{folded}': folded into a constant of .*conv_"):
            context.tensor(folded)
        if context.plan.memory.find(relu)[1] is None:
            assert context.tensor(same).shape == context.tensor(relu).shape


@pytest.mark.parametrize("name", ["transformer", "unet"])
def test_a_tensor_that_nothing_overwrites_is_there_after_a_run(name: str) -> None:
    """Compared with the same kernels on memory that is not reused."""
    model = SMALL_MODELS[name]()
    inputs, found = example_inputs(model), list[dict[str, np.ndarray]]()
    plans = [mi.compile(model, threads=1, enable_memory_planning=reuse).plan for reuse in (True, False)]
    for plan in plans:
        with plan.create_context() as context:
            context.run(inputs)
            inside = [each.name for each in plan.memory.tensors if each.role == "intermediate" and not each.persistent]
            found.append({each: context.tensor(each).numpy().copy() for each in inside})
    both = [each for each in found[0] if each in found[1] and found[0][each].shape == found[1][each].shape]
    there = {each for each in both if not plans[0].memory.overwritten_by(each)}
    assert there and {each for each in both if np.array_equal(found[0][each], found[1][each])} == there
    assert not any(map(plans[1].memory.overwritten_by, found[1]))


@pytest.mark.parametrize("name", ["resnet", "transformer", "lstm"])
def test_a_context_gives_every_tensor_or_tells_who_has_it(name: str) -> None:
    model = SMALL_MODELS[name]()
    with mi.compile(model, threads=1).create_context() as context:
        for each in names_of(model):
            record, removed = context.plan.memory.find(each)
            if record is not None and record.offset is not None:
                assert context.tensor(each).shape == record.shape
                continue
            with pytest.raises(mi.InvalidInputError) as caught:
                context.tensor(each)
            told = "the memory of an input, an output or the weights" if removed is None else removed.text
            assert told in str(caught.value)


def test_a_layout_of_its_own_keeps_the_models_shape() -> None:
    """On CPUs pictures lie with their channels last; the record tells the shape of the model."""
    plan = mi.plan_memory(SMALL_MODELS["resnet"](), threads=1)
    turned = [each for each in plan.tensors if each.offset is not None and len(each.model_shape or ()) == 4]
    assert any(each.shape != each.model_shape for each in turned)
    assert all(sorted(each.shape) == sorted(each.model_shape or ()) for each in turned)


def test_nodes_of_one_name() -> None:
    """Their names don't tell which of them an op is: what they make is called temporary, and still told of."""
    b = ModelBuilder("twins")
    x = b.input("x", [2, 4])
    model = b.model([b.node("Softmax", b.node("MatMul", b.node("MatMul", x, b.weight(4, 4)), b.weight(4, 4)))])
    first, second, _ = model.graph.node
    first.name = second.name = "twin"
    dead = helper.make_node("Relu", ["x"], ["dead"], name="twin")
    model.graph.node.append(dead)
    plan = mi.plan_memory(model, threads=1, enable_graph_optimization=False)
    assert fate(plan, first.output[0])[0] == fate(plan, second.output[0])[0] == "fused"
    assert fate(plan, "dead")[0] == "unused"
    assert {each.name for each in plan.tensors if each.role == "intermediate"} == {"twin temporary", "twin temporary#2"}
