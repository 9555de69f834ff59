"""What each op states of itself, and the tables that fill themselves from that."""

from __future__ import annotations

from collections.abc import Iterator
from inspect import isabstract
from typing import TypeVar

import numpy as np
import pytest
from graph_cases import values_of

from mini_infer.dialects.graph import ops
from mini_infer.dialects.graph.base import ElementwiseOp, GraphOp, MovementOp
from mini_infer.dialects.graph.dialect import Graph
from mini_infer.dialects.graph.ops.attention import AttentionOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, DivOp
from mini_infer.dialects.graph.ops.external import ExternalCallOp
from mini_infer.dialects.graph.ops.movement import ReshapeOp
from mini_infer.dialects.graph.ops.structure import CallOp, KernelOp, YieldOp
from mini_infer.dialects.graph.ops.unary import ExpOp
from mini_infer.dialects.graph.ops.windows import MaxPoolOp
from mini_infer.dialects.graph.packing.attribute import PACKINGS
from mini_infer.dialects.graph.packing.packings import Packing
from mini_infer.dialects.graph.values import Array
from mini_infer.dialects.modules import module_named, modules_below
from mini_infer.passes.kernels.schedules import schedules_for

OPS = [op for op in Graph.operations if issubclass(op, GraphOp)]
# Their elements are there, or known, and cost nothing beside the bytes; the last two are few instructions among others.
FREE = {
    *("constant", "fail", "iota", "sizes", "unpack", "weight", "batch_norm", "block_weight", "stacked_block_weight"),
    *("empty", "extract_rows", "insert_rows"),
}


Class = TypeVar("Class")


def subclasses(kind: type[Class]) -> Iterator[type[Class]]:
    """All classes below one."""
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


def test_the_dialect_has_every_op_that_is_defined() -> None:
    defined = {
        each for each in subclasses(GraphOp) if "get_irdl_definition" in vars(each) and "mini_infer" in each.__module__
    }
    assert {*Graph.operations} == defined | {KernelOp, CallOp, YieldOp}
    assert len({op.name for op in Graph.operations}) == len([*Graph.operations])


def test_modules_are_found_by_their_files() -> None:
    assert module_named(ops.__name__, "unary").ExpOp is ExpOp
    assert len(modules_below(ops.__name__)) > 20


def test_every_packing_is_found_by_its_kind() -> None:
    assert {*PACKINGS.values()} == {each for each in subclasses(Packing) if not isabstract(each)}
    assert all(each.kind == kind for kind, each in PACKINGS.items())


@pytest.mark.parametrize("op", OPS)
def test_a_form_has_schedules_on_every_device(op: type[GraphOp]) -> None:
    devices = ("cpu",) if op is ExternalCallOp else ("cpu", "cuda")  # users compile their functions for CPUs
    assert all(schedules_for(device, op.FORM) for device in devices)


@pytest.mark.parametrize("op", OPS)
def test_an_op_states_what_it_costs(op: type[GraphOp]) -> None:
    states = op.products is not GraphOp.products or vars(op).get("instructions") is not None
    costs = op.INSTRUCTIONS > 0 or states
    assert costs or issubclass(op, MovementOp) or op.name.removeprefix("graph.") in FREE
    if issubclass(op, ElementwiseOp):
        assert op.CODE in ("short", "usual", "long")
        assert op.CODE != "short" or op.INSTRUCTIONS == 1


def zeros(*shape: int) -> Array:
    return np.zeros(shape, np.float32)


def test_costs() -> None:
    a, b, row = values_of([zeros(3, 4), zeros(4, 5), zeros(4)])
    assert (AddOp(a, row).products, AddOp(a, row).instructions) == (0, 12)
    assert DivOp(a, row).instructions == 4 * 12
    assert (MatmulOp(a, b).products, MatmulOp(a, b).instructions) == (3 * 4 * 5, 0)
    assert (ReshapeOp(a, (12,)).products, ReshapeOp(a, (12,)).instructions) == (0, 0)
    x, w = values_of([zeros(1, 4, 8, 8), zeros(6, 2, 3, 3)])
    assert ConvOp(x, w, groups=2).products == 6 * 6 * 6 * 2 * 9
    assert MaxPoolOp(x, (2, 2), strides=(2, 2)).instructions == 2 * 4 * 16 * 4
    q, k, v = values_of([zeros(1, 4, 3, 8), zeros(1, 2, 5, 8), zeros(1, 2, 5, 6)])
    attention = AttentionOp(q, k, v, scale=1.0)
    assert (attention.products, attention.instructions) == (4 * 3 * 5 * (8 + 6), 16 * 4 * 3 * 5)


def test_what_a_compiler_may_evaluate() -> None:
    x, w, row = values_of([zeros(1, 4, 8, 8), zeros(6, 4, 3, 3), zeros(4)])
    assert ExpOp(row).is_cheap()
    assert not ConvOp(x, w).is_cheap()
