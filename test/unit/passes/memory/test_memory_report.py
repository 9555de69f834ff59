"""The memory plan as records."""

from __future__ import annotations

from dataclasses import replace

import pytest
from memory_programs import ProgramBuilder
from models.small import SMALL_MODELS
from xdsl.dialects.builtin import DictionaryAttr, ModuleOp
from xdsl.ir import SSAValue

from mini_infer import plan_memory
from mini_infer.dialects.errors import PlanError
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.graph.host import main_of
from mini_infer.dialects.graph.ops.elementwise import AddOp
from mini_infer.dialects.graph.ops.movement import ConcatOp
from mini_infer.dialects.graph.ops.unary import AbsOp, NegOp, ReluOp
from mini_infer.dialects.kernel.kernel_attributes import InterfaceAttr
from mini_infer.lowering.pipelines import parse_passes, run_passes
from mini_infer.passes.memory import plan_arena
from mini_infer.passes.memory.analysis.buffers import PLAN
from mini_infer.passes.memory.report.memory_records import TensorRecord
from mini_infer.passes.memory.report.memory_report import MemoryPlan, memory_plan
from mini_infer.passes.planning import Plan, Problem, solve

BUFFERS = "mark-inplace,bufferize,elide-copies"
LOOSE = InterfaceAttr.of(strided_operands=[0], strided_results=[0])


def program() -> tuple[MiniContext, ModuleOp]:
    """Two parts of a concatenation, node0 and (by way of node1) node2; its sum with itself is returned.

    Each value of 8 x 8 floats takes 256 bytes.
    """
    builder = ProgramBuilder([(8, 8)], threads=2)
    loose = InterfaceAttr.of(inplace=[(0, 0)], strided_operands=[0], strided_results=[0])
    (a,) = builder.call(lambda v: [AbsOp(v[0])], builder.inputs, loose)
    (b,) = builder.call(lambda v: [NegOp(v[0])], builder.inputs, InterfaceAttr.of(per_thread=128))
    (c,) = builder.call(lambda v: [ReluOp(v[0])], [b], loose)
    both = InterfaceAttr.of(strided_operands=[0, 1], strided_results=[0])
    (d,) = builder.call(lambda v: [ConcatOp(v, 0)], [a, c], both)
    (e,) = builder.call(lambda v: [AddOp(v[0], v[0])], [d], InterfaceAttr.of())
    return builder.context, builder.finish([e])


def plan_of(strategy: str = "auto", buffers: str = BUFFERS) -> MemoryPlan:
    ctx, module = program()
    run_passes(ctx, module, parse_passes(f"{buffers},plan-arena{{strategy={strategy}}},verify-arena"))
    return memory_plan(module)


def two_parts(builder: ProgramBuilder, axis: int) -> SSAValue:
    """The concatenation of two values, which nothing keeps from lying in it."""
    parts = [builder.call(lambda v, op=op: [op(v[0])], builder.inputs, LOOSE)[0] for op in (AbsOp, NegOp)]
    both = InterfaceAttr.of(strided_operands=[0, 1], strided_results=[0])
    return builder.call(lambda v: [ConcatOp(v, axis)], parts, both)[0]


def tensors_of(builder: ProgramBuilder, result: SSAValue) -> dict[str, TensorRecord]:
    """The plan's tensors of a program with that result, by their names."""
    ctx, module = builder.context, builder.finish([result])
    run_passes(ctx, module, parse_passes(f"{BUFFERS},plan-arena,verify-arena"))
    return {tensor.name: tensor for tensor in memory_plan(module).tensors}


def by_name(name: str, buffers: str = BUFFERS) -> TensorRecord:
    return next(tensor for tensor in plan_of(buffers=buffers).tensors if tensor.name == name)


def test_the_certificate() -> None:
    plan = plan_of()
    # The concatenation's 512 bytes live from step 0, and 256 of scratch at step 1.
    assert (plan.arena_bytes, plan.lower_bound_bytes, plan.binding_step) == (768, 768, 1)
    assert plan.optimal and plan.ratio == 1.0
    assert plan.original_bytes == 768
    assert plan.steps == ("k0", "k1", "k2", "k4"), "the concatenation has vanished"
    assert plan.strategy == "auto" and plan.alignment == 256
    assert plan.proven_bound_bytes == 768 and plan.exhausted == ""


def test_what_a_search_proved_and_why_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if a search had proven a byte more than is live, and then used up its steps."""

    def gives_up(problem: Problem, strategy: str, *, budget: int) -> Plan:
        return replace(solve(problem, strategy, budget=budget), proven_bound=769, optimal=False, exhausted="budget")

    monkeypatch.setattr(plan_arena, "solve", gives_up)
    ctx, module = program()
    run_passes(ctx, module, parse_passes(f"{BUFFERS},plan-arena"))
    plan = memory_plan(module)
    assert (plan.proven_bound_bytes, plan.lower_bound_bytes, plan.exhausted) == (769, 768, "budget")
    assert not plan.optimal


def test_inputs_and_outputs_are_the_callers() -> None:
    caller = [tensor for tensor in plan_of().tensors if tensor.persistent]
    assert [(tensor.name, tensor.role, tensor.bytes, tensor.offset) for tensor in caller] == [
        ("x0", "input", 256, None),
        ("y0", "output", 512, None),
    ]
    # The output is what the last call makes, from that step on.
    output = caller[1]
    assert (output.birth, output.death, output.node, output.kernel) == (3, 4, "node4", "k4")


def test_an_output_of_parts_is_there_from_the_first_part() -> None:
    builder = ProgramBuilder([(8, 8)])
    tensors = tensors_of(builder, two_parts(builder, 0))
    assert {name: (each.role, each.birth, each.persistent) for name, each in tensors.items()} == {
        "x0": ("input", 0, True),
        "y0": ("output", 0, True),
        "node0": ("intermediate", 0, True),
        "node1": ("intermediate", 1, True),
    }
    assert set(tensors["y0"].shared_with) == {"node0", "node1"}


def test_an_output_is_what_was_written_last() -> None:
    """Two calls work in the output's bytes, the second over what the first has left there."""
    builder = ProgramBuilder([(8, 8)])
    over = InterfaceAttr.of(inplace=[(0, 0)])
    (first,) = builder.call(lambda v: [AbsOp(v[0])], builder.inputs, InterfaceAttr.of())
    (second,) = builder.call(lambda v: [NegOp(v[0])], [first], over)
    tensors = tensors_of(builder, second)
    assert {name: (each.role, each.birth, each.inplace) for name, each in tensors.items()} == {
        "x0": ("input", 0, False),
        "node0": ("intermediate", 0, False),
        "y0": ("output", 1, True),
    }


def test_names_are_of_one_tensor_each() -> None:
    """Weights are called after initialisers, and folded ones after the nodes that take them."""
    names = [tensor.name for tensor in plan_memory(SMALL_MODELS["resnet"](), threads=1).tensors]
    assert len(set(names)) == len(names)
    assert {"resnet/relu_6", "resnet/conv_4 weight", "resnet/conv_4 weight#2"} <= set(names)


def test_what_reuse_saves() -> None:
    """node0 to node2 and a scratch of 256 bytes each; node2 over node1, and the scratch's bytes are nobody else's."""
    plan = plan_of()
    assert (plan.total_bytes, plan.saved_bytes, plan.saving) == (1024, 256, 0.25)
    assert replace(plan, total_bytes=0, arena_bytes=0).saving == 0.0
    # Apart, each with a place of its own, the concatenation's 512 bytes included.
    assert (plan_of("naive", "bufferize").total_bytes, plan_of("naive", "bufferize").saving) == (1536, 0.0)


@pytest.mark.parametrize("name", ["resnet", "transformer", "lstm"])
def test_the_total_is_that_of_the_tensors(name: str) -> None:
    plan = plan_memory(SMALL_MODELS[name](), threads=2)
    inside = [each.bytes for each in plan.tensors if each.offset is not None and each.role != "view"]
    assert plan.total_bytes == sum(-(-size // 256) * 256 for size in inside)


def test_a_part_of_a_concatenation() -> None:
    part, whole = by_name("node0"), by_name("node3")
    assert (part.birth, part.death, part.bytes, part.node, part.kernel) == (0, 4, 256, "node0", "k0")
    assert part.shared_with == ("node3",)
    assert whole.role == "view" and whole.bytes == 512
    assert set(whole.shared_with) == {"node0", "node1", "node2"}


def test_a_part_of_every_row_ends_where_its_last_row_does() -> None:
    builder = ProgramBuilder([(8, 8)])
    (result,) = builder.call(lambda v: [AbsOp(v[0])], [two_parts(builder, 1)], LOOSE)
    tensors = tensors_of(builder, result)
    ends = [(tensors[name].bytes, tensors[name].offset, tensors[name].end) for name in ("node0", "node1", "node2")]
    assert ends == [(256, 0, 480), (256, 32, 512), (512, 0, 512)]


def test_in_place() -> None:
    first, second = by_name("node1"), by_name("node2")
    assert (first.birth, first.death, first.inplace) == (1, 3, False)
    assert second.inplace and second.offset == first.offset
    assert (second.birth, second.death) == (2, 4)


def test_scratch_is_told_apart() -> None:
    scratch = by_name("node1 scratch")
    assert (scratch.role, scratch.bytes, scratch.birth, scratch.death) == ("scratch", 256, 1, 2)
    assert scratch.shared_with == ()


def test_reuse_and_liveness_are_found_again() -> None:
    plan = plan_of(buffers="bufferize")
    for tensor in plan.tensors:
        for other in plan.reused_by(tensor):
            found = next(each for each in plan.tensors if each.name == other)
            assert found.death <= tensor.birth or tensor.death <= found.birth
    assert {tensor.name for tensor in plan.live_at(1)} == {"node0", "node1", "node1 scratch"}


def test_pools() -> None:
    plan = plan_of("pools")
    assert sum(size for _, size in plan.pools) == plan.arena_bytes
    assert all(tensor.pool is not None for tensor in plan.tensors if not tensor.persistent)


def test_other_levels_have_no_plan() -> None:
    _, module = program()
    with pytest.raises(PlanError, match="not at the arena level"):
        memory_plan(module)


def test_a_plan_that_leaves_something_unsaid_is_refused() -> None:
    ctx, module = program()
    run_passes(ctx, module, parse_passes(f"{BUFFERS},plan-arena"))
    main = main_of(module, "test")
    said = main.attributes[PLAN]
    assert isinstance(said, DictionaryAttr)
    for key in ("total_bytes", "strategy"):
        main.attributes[PLAN] = DictionaryAttr({name: each for name, each in said.data.items() if name != key})
        with pytest.raises(PlanError, match=f"memory plan: the kernel.plan of main lacks {key}"):
            memory_plan(module)


def test_buffers_are_what_was_planned() -> None:
    plan = plan_of()
    whole, scratch = plan.buffers
    assert (whole.name, whole.bytes, whole.birth, whole.death, whole.scratch) == ("node3", 512, 0, 4, False)
    assert (scratch.bytes, scratch.birth, scratch.death, scratch.scratch) == (256, 1, 2, True)
    assert {tensor.buffer for tensor in plan.tensors if tensor.offset is not None} == {0, 1}
    assert plan.live_bytes() == [512, 768, 512, 512]


def test_live_bytes_reach_the_bound_at_the_binding_step() -> None:
    for strategy in ("auto", "naive", "pools"):
        plan = plan_of(strategy)
        assert max(plan.live_bytes()) == plan.live_bytes()[plan.binding_step] == plan.lower_bound_bytes
