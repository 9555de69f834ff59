"""Lifetimes: straight lines, loops, branches, alias groups, gaps."""

from __future__ import annotations

import pytest
from xdsl.dialects import memref
from xdsl.parser import Parser

from mini_infer.dialects.errors import PlanError
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.graph.host import main_of
from mini_infer.lowering.registry import dialect_factories
from mini_infer.passes.memory.analysis.buffers import label
from mini_infer.passes.memory.analysis.liveness import Lifetime, liveness
from mini_infer.passes.memory.plan_arena import PlanArena
from mini_infer.passes.memory.verify_arena import VerifyArena

KERNEL = """
graph.kernel @k(%x: tensor<8xf32>) -> tensor<8xf32> attributes {
  interface = #kernel.interface<inplace = [[0, 0]]>
} {
  %r = graph.relu %x : tensor<8xf32>
  graph.yield %r : tensor<8xf32>
}
"""


def call(source: str, target: str) -> str:
    return f"kernel.call @k ins(%{source} : memref<8xf32>) outs(%{target} : memref<8xf32>)\n"


def alloc(*names: str) -> str:
    return "".join(f'%{name} = memref.alloc() {{name = "{name}"}} : memref<8xf32>\n' for name in names)


def lifetimes(body: str, *, plan: bool = True) -> dict[str, Lifetime]:
    """The lifetimes of a main's allocations; unless told not to, the arena is planned and judged as well."""
    ctx = MiniContext()
    for name, make in dialect_factories().items():
        ctx.register_dialect(name, make)
    text = f"""{KERNEL}
    func.func @main(
        %x: memref<8xf32> {{graph.role = "input"}}, %y: memref<8xf32> {{graph.role = "output"}}, %if: i1) {{
      %c0 = arith.constant 0 : index
      %c9 = arith.constant 9 : index
      %c1 = arith.constant 1 : index
      {body}
      func.return
    }}"""
    module = Parser(ctx, text).parse_module()
    module.verify()
    found = liveness(main_of(module, "test")).lifetimes
    named = {label(root.owner): life for root, life in found.items() if isinstance(root.owner, memref.AllocOp)}
    if plan:
        PlanArena().apply(ctx, module)
        VerifyArena().apply(ctx, module)
    return named


def test_a_line() -> None:
    found = lifetimes(alloc("a", "b") + call("x", "a") + call("a", "b") + call("b", "y"))
    assert found == {"a": Lifetime(0, 2), "b": Lifetime(1, 3)}


def test_views_are_accesses_of_what_they_view() -> None:
    view = "%v = memref.reinterpret_cast %a to offset: [0], sizes: [8], strides: [1] "
    view += ": memref<8xf32> to memref<8xf32>\n"
    found = lifetimes(alloc("a") + call("x", "a") + view + call("x", "y") + call("v", "y"))
    assert found["a"] == Lifetime(0, 3)


def test_a_buffer_has_a_gap_until_it_is_overwritten() -> None:
    body = alloc("a") + call("x", "a") + call("a", "y") + call("x", "y") + call("x", "a") + call("a", "y")
    assert lifetimes(body)["a"] == Lifetime(0, 5, ((2, 3),))


def test_what_a_loop_touches_lives_through_it() -> None:
    loop = "scf.for %i = %c0 to %c9 step %c1 {\n" + alloc("in") + call("a", "in") + call("in", "y") + "}\n"
    found = lifetimes(alloc("a", "b") + call("x", "a") + call("x", "b") + loop + call("b", "y"))
    # %a is read in each turn; %in is made anew in each turn.
    assert found == {"a": Lifetime(0, 4), "b": Lifetime(1, 5), "in": Lifetime(2, 4)}


def test_what_a_loop_writes_for_its_next_turn_lives_through_it() -> None:
    loop = "scf.for %i = %c0 to %c9 step %c1 {\n" + call("a", "y") + call("x", "a") + "}\n"
    found = lifetimes(alloc("a") + call("x", "a") + call("a", "y") + loop)
    assert found == {"a": Lifetime(0, 4)}, "no gap: the next turn reads what this one writes"


def test_branches_exclude_each_other() -> None:
    branch = "scf.if %if {\n" + alloc("t") + call("x", "t") + call("t", "y") + "} else {\n"
    branch += alloc("e") + call("x", "e") + call("e", "y") + "}\n"
    assert lifetimes(branch) == {"t": Lifetime(0, 2), "e": Lifetime(2, 4)}


def test_a_branch_does_not_end_what_the_other_branch_needs() -> None:
    branch = "scf.if %if {\n" + call("x", "y") + "} else {\n" + call("x", "a") + "}\n"
    found = lifetimes(alloc("a") + call("x", "a") + branch + call("a", "y"))
    assert found == {"a": Lifetime(0, 4)}


def test_what_both_branches_make_has_no_gap_between_them() -> None:
    """Where the first branch is taken, what it made counts behind the other one."""
    branch = "scf.if %if {\n" + call("x", "a") + "} else {\n" + call("x", "y") + call("x", "a") + "}\n"
    assert lifetimes(alloc("a") + branch + call("a", "y"))["a"] == Lifetime(0, 4)
    branch = "scf.if %if {\n" + call("x", "y") + call("x", "a") + "}\n"
    assert lifetimes(alloc("a") + call("x", "a") + branch + call("a", "y"))["a"] == Lifetime(0, 4)


def test_what_branches_hand_on_is_one_group() -> None:
    branch = "%r = scf.if %if -> (memref<8xf32>) {\n" + call("x", "a") + "scf.yield %a : memref<8xf32>\n} else {\n"
    branch += call("x", "b") + "scf.yield %b : memref<8xf32>\n}\n"
    found = lifetimes(alloc("a", "b") + branch + call("r", "y"), plan=False)
    assert found["a"] == found["b"] == Lifetime(0, 3)


def test_what_a_loop_carries_is_one_group() -> None:
    loop = "%r = scf.for %i = %c0 to %c9 step %c1 iter_args(%c = %a) -> (memref<8xf32>) {\n"
    loop += call("c", "b") + "scf.yield %b : memref<8xf32>\n}\n"
    found = lifetimes(alloc("a", "b") + call("x", "a") + loop + call("r", "y"), plan=False)
    assert found["a"] == found["b"] == Lifetime(0, 3)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "memref.store %f, %a[%c0] : memref<8xf32>",
            "memref.store in main touches a buffer: only kernel.call and memref.load may",
        ),
        ("scf.execute_region {\nscf.yield\n}", "scf.execute_region in main"),
    ],
)
def test_unknown_ways_to_touch_buffers_are_refused(body: str, message: str) -> None:
    with pytest.raises(PlanError, match=message):
        lifetimes(alloc("a") + "%f = arith.constant 1.0 : f32\n" + body)
