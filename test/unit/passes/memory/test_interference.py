"""The interference graph of a plan, against its definition, and why a tensor's bytes are not shared."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from models.small import SMALL_MODELS

import mini_infer as mi
from mini_infer.passes.memory.report.memory_plan import MemoryPlan
from mini_infer.passes.memory.report.memory_records import BufferRecord, TensorRecord


def tensor(name: str, birth: int, death: int, nbytes: int = 256, **facts: Any) -> TensorRecord:
    given: dict[str, Any] = {
        "persistent": False,
        "role": "intermediate",
        "offset": 0,
        "buffer": 0,
        "read_at": (death - 1,),
        **facts,
    }
    given |= {"read_at": (death - 1,), **facts}
    return TensorRecord(name, nbytes, birth, death, **given)


def plan_of(*tensors: TensorRecord, steps: int = 5, **facts: Any) -> MemoryPlan:
    names = tuple(f"k{step}" for step in range(steps))
    nodes = tuple((f"n{step}",) for step in range(steps))
    return MemoryPlan(1024, 1024, tensors, "auto", True, 1, steps=names, step_nodes=nodes, **facts)


CHAIN = plan_of(tensor("a", 0, 2), tensor("b", 1, 3, 512), tensor("c", 1, 4, 128), tensor("d", 3, 5), tensor("e", 4, 5))


def test_edges_are_between_tensors_of_one_step() -> None:
    graph = CHAIN.interference
    assert list(graph) == ["a", "b", "c", "d", "e"]
    assert graph.neighbours("b") == ("a", "c") and graph.degree("b") == 2
    assert graph.has_edge("c", "d") and not graph.has_edge("b", "d") and not graph.has_edge("a", "a")
    assert sorted(graph.edges()) == [("a", "b"), ("a", "c"), ("b", "c"), ("c", "d"), ("d", "e")]


def test_colours_and_cliques() -> None:
    graph = CHAIN.interference
    assert graph.colours() == (("a", "d"), ("b", "e"), ("c",))
    assert (graph.largest_clique().step, graph.largest_clique().names) == (1, ("a", "b", "c"))
    assert graph.largest_clique("bytes").bytes == 256 + 512 + 128
    few = plan_of(tensor("a", 0, 2), tensor("b", 1, 2), tensor("big", 3, 4, 4096)).interference
    assert few.largest_clique().names == ("a", "b") and few.largest_clique("bytes").names == ("big",)


def test_an_operand_that_is_overwritten_does_not_interfere() -> None:
    operand = tensor("a", 0, 2, overlapping=("a", "b"))
    graph = plan_of(operand, tensor("b", 1, 3, overlapping=("a", "b"), inplace=True)).interference
    assert not graph.has_edge("a", "b") and graph.colours() == (("a", "b"),)


def test_what_a_loop_carries_lives_throughout_it() -> None:
    carried, later = tensor("a", 0, 2), tensor("b", 3, 4, buffer=1)
    buffers = (BufferRecord(0, "a", 256, 0, 0, 5), BufferRecord(1, "b", 256, 256, 3, 4))
    assert plan_of(carried, later, buffers=buffers, loops=((1, 5),)).interference.has_edge("a", "b")
    assert not plan_of(carried, later, buffers=buffers).interference.has_edge("a", "b")


@pytest.mark.parametrize("name", ["resnet", "transformer", "lstm"])
def test_graphs_of_models(name: str) -> None:
    """Interfering tensors have no byte in common; colours and cliques are as many as each other, and so optimal."""
    plan = mi.plan_memory(SMALL_MODELS[name](), threads=2)
    graph = plan.interference
    named = dict(graph.items())
    for first, second in combinations(graph, 2):
        one, other = named[first], named[second]
        assert graph.has_edge(first, second) == (
            (first, second) in set(graph.edges()) or (second, first) in graph.edges()
        )
        if graph.has_edge(first, second) and one.extent == one.bytes and other.extent == other.bytes:
            assert one.end is not None and other.end is not None and one.offset is not None and other.offset is not None
            assert one.end <= other.offset or other.end <= one.offset
    colours = graph.colours()
    assert sorted(each for names in colours for each in names) == sorted(graph)
    assert not any(graph.has_edge(*pair) for names in colours for pair in combinations(names, 2))
    assert len(colours) == len(graph.largest_clique())
    assert graph.largest_clique("bytes").bytes <= plan.lower_bound_bytes


def test_why_a_tensor_is_not_shared() -> None:
    found = CHAIN.why("b")
    assert (found.last_step, found.kept_by) == (2, ("n2",))
    assert [each.name for each in found.conflicts] == ["a", "c"]
    with pytest.raises(mi.ConfigError, match="no tensor 'bb'"):
        CHAIN.why("bb")
    with pytest.raises(mi.ConfigError, match="no tensor 'x'"):
        CHAIN.interference.degree("x")
    outside = plan_of(tensor("x", 0, 5, persistent=True, role="input", offset=None)).why("x")
    assert outside.tensor is not None and outside.last_step is None and not outside.conflicts


def test_steps_add_up() -> None:
    """What is live at a step is what was live before it, less what ended, and what begins; in whole buffers."""
    plan = mi.plan_memory(SMALL_MODELS["resnet"](), threads=2)
    records = plan.step_records()
    live = 0
    for each in records:
        live += each.made
        assert each.live == live and each.scratch <= each.made
        live -= each.freed
    assert live == 0
    assert records[plan.binding_step].live == max(each.live for each in records) == plan.lower_bound_bytes
    assert (records[0].kernel, records[0].nodes) == (plan.steps[0], plan.step_nodes[0])


def test_savings_with_and_without_scratch() -> None:
    plan = plan_of(
        tensor("a", 0, 2, 2000), tensor("a scratch", 0, 1, 100, role="scratch"), total_bytes=2304, alignment=256
    )
    assert (plan.scratch_bytes, plan.intermediate_bytes) == (256, 2048)
    assert plan.intermediate_saving == 0.5 and plan.saving == 1280 / 2304


def test_weights_as_in_the_model_and_as_packed() -> None:
    model = SMALL_MODELS["resnet"]()
    plan = mi.plan_memory(model, threads=1)
    assert plan.model_weight_bytes == sum(len(each.raw_data) for each in model.graph.initializer)
    assert plan.bytes_of("weight") != plan.model_weight_bytes
