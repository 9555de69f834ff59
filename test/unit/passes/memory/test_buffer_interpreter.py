"""The interpreter of buffers refuses what it should: each by a program that only that rule sees."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from mini_infer.dialects.errors import InvalidModelError, PlanError
from mini_infer.dialects.graph.blobs import blob_store
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.module_text import module_context, parse_module
from mini_infer.passes.memory.analysis.buffer_interpreter import run_module

X = np.arange(1, 5, dtype=np.float32)
HEAD = """
graph.kernel @neg(%x: tensor<4xf32>) -> tensor<4xf32> {
  %r = graph.neg %x : tensor<4xf32>
  graph.yield %r : tensor<4xf32>
}
func.func @main(
    %x: memref<4xf32> {graph.name = "x", graph.role = "input"},
    %y: memref<4xf32> {graph.name = "y", graph.role = "output"},
    %arena: memref<64xi8> {graph.role = "arena"}
  ) {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
"""


def view(name: str, at: int, number: int, death: int = 9) -> str:
    """A buffer of the arena."""
    return (
        f"%{name} = memref.view %arena[%c{at}][] {{buffer = {number}, birth = 0, death = {death}}}"
        " : memref<64xi8> to memref<4xf32>\n"
    )


def call(source: str, result: str, scratch: str = "") -> str:
    more = f" scratch(%{scratch} : memref<4xf32>)" if scratch else ""
    return f"kernel.call @neg ins(%{source} : memref<4xf32>) outs(%{result} : memref<4xf32>){more}\n"


def run(*ops: str) -> Array:
    """What y is after these ops."""
    ctx = module_context(Path())
    text = HEAD + "".join(ops) + "func.return\n}"
    module = parse_module(ctx, text.encode(), "program.mlir")
    assert isinstance(module, ModuleOp)
    module.verify()
    return run_module(module, blob_store(ctx), {"x": X})["y"]


def test_what_is_right_is_run() -> None:
    found = run(view("a", 0, 0), view("b", 16, 1), call("x", "a"), call("a", "b", "a"), call("b", "y"))
    np.testing.assert_array_equal(found, -X)


def test_bytes_that_another_has_written_are_not_read() -> None:
    """They hold the right numbers: the second buffer has the same as the first."""
    again = (view("a", 0, 0), view("b", 0, 1), call("x", "a"), call("x", "b"))
    with pytest.raises(PlanError, match=r"^step 2: @neg reads bytes of .* that another has written"):
        run(*again, call("a", "y"))
    np.testing.assert_array_equal(run(*again, call("b", "y")), X)


def test_bytes_that_were_scratch_meanwhile_are_not_read() -> None:
    with pytest.raises(PlanError, match=r"^step 2: @neg reads bytes of .* that another has written"):
        run(view("a", 0, 0), view("s", 0, 1), call("x", "a"), call("x", "y", "s"), call("a", "y"))


def test_one_byte_of_another_is_enough() -> None:
    line = "%c12 = arith.constant 12 : index\n"
    with pytest.raises(PlanError, match=r"^step 2: @neg reads bytes of .* that another has written"):
        run(line, view("a", 0, 0), view("b", 12, 1), call("x", "a"), call("x", "b"), call("a", "y"))


def test_scratch_is_garbage_where_nobody_keeps_account() -> None:
    alloc = "%a = memref.alloc() : memref<4xf32>\n"
    assert np.isnan(run(alloc, call("x", "a"), call("x", "y", "a"), call("a", "y"))).all()


def test_memory_is_garbage_at_first() -> None:
    assert np.isnan(run("%a = memref.alloc() : memref<4xf32>\n", call("a", "y"))).all()
    assert np.isnan(run()).all()


def test_a_buffer_is_garbage_once_it_is_dead() -> None:
    alive = (view("a", 0, 0, death=2), call("x", "a"), call("a", "y"))
    np.testing.assert_array_equal(run(*alive), X)
    assert np.isnan(run(view("a", 0, 0, death=1), *alive[1:])).all()


def test_inputs_stay_as_they_are() -> None:
    with pytest.raises(PlanError, match=r"^input x was written"):
        run(call("x", "x"), call("x", "y"))


def test_a_call_reads_before_it_writes() -> None:
    np.testing.assert_array_equal(run(view("a", 0, 0), call("x", "a"), call("a", "a"), call("a", "y")), -X)


def test_main_holds_what_the_interpreter_knows() -> None:
    with pytest.raises(InvalidModelError, match=r"^memref.dealloc: the interpreter of buffers does"):
        run("%a = memref.alloc() : memref<4xf32>\n", "memref.dealloc %a : memref<4xf32>\n")
