"""Parts of a module that are compiled apart: what goes together."""

from __future__ import annotations

import pytest
from gpu_runs import parse
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from mini_infer.lowering.loops_to_llvm import split_module

KERNELS = "\n".join(
    f"""
func.func private @{name}(%x: memref<4xf32>) {{
  %c0 = arith.constant 0 : index
  %v = memref.load %x[%c0] : memref<4xf32>
  memref.store %v, %x[%c0] : memref<4xf32>
  func.return
}}"""
    for name in ("one", "two", "three")
)
MAIN = """
func.func @main(%x: memref<4xf32>) {
  func.call @one(%x) : (memref<4xf32>) -> ()
  func.call @two(%x) : (memref<4xf32>) -> ()
  func.call @three(%x) : (memref<4xf32>) -> ()
  func.return
}"""
KERNEL_OPS = 5  # with the function itself


def bodies(module: ModuleOp) -> list[str]:
    """The functions that a part has and doesn't only declare."""
    return [op.sym_name.data for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]


@pytest.mark.parametrize(
    ("room", "expected"),
    [
        (2 * KERNEL_OPS, [["main"], ["one", "two"], ["three"]]),
        (2 * KERNEL_OPS - 1, [["main"], ["one"], ["two"], ["three"]]),
    ],
)
def test_a_part_is_filled_to_the_last_op(room: int, expected: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(split_module, "PART_OPS", room)
    parts = split_module.split_module(parse(MAIN + KERNELS))
    assert [bodies(part.module) for part in parts] == expected
