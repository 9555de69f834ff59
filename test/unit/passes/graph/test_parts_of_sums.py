"""Long inner sums are made of parts: they round less, and the parts' sums stay in registers."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
from contraction_cases import conv, product
from graph_runs import THREE, Case, Model, Target, build, check, compiled, execute, spread
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.contraction import ConvOp
from mini_infer.dialects.graph.ops.movement import ConcatOp
from mini_infer.dialects.graph.ops.unary import ExpOp, ReluOp
from mini_infer.dialects.kernel.targets import cpu_of
from mini_infer.lowering import pipelines
from mini_infer.lowering.kernels_to_loops.tiles.split_sums import PART, Parts, parts_of
from mini_infer.lowering.loops_to_llvm.emit_llvm_ir import emit_llvm_ir
from mini_infer.runtime.compile.engine_phases import engine_phases
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.native.cpu_targets import machine_of, target_attribute
from mini_infer.runtime.native.llvmlite_calls import emit_assembly

LOOP = re.compile(r"^(\.\w+):.*((?:\n(?!\.L).*)*?)\n\s+(?:j\w+|b\.\w+)\s+\1$", re.MULTILINE)
LONG: list[Case] = [
    product(7, 6000, 20, weight=True),
    product(7, 6000, 20),
    product(1, 40000, 20, weight=True),
    conv((1, 6, 7, 300), 20, (5, 3), pads=(2, 1, 2, 1)),
    conv((1, 9, 9, 32), 20, (7, 7), pads=(3,) * 4),
    conv((1, 6, 7, 1100), 20, (3, 3), pads=(1,) * 4),
    conv((1, 6, 7, 1100), 20, (3, 3), pads=(2,) * 4, dilations=(2, 2)),
]


def test_long_sums_round_less() -> None:
    """By max |error| / max |result|. One sum of each of these is off by 1e-6 to 2.5e-6.

    Winograd's transforms, which one of them takes, are off by more than parts save.
    """
    spread(LONG, [replace(target, winograd="off") for target in THREE], bound=8e-7)
    check(LONG[5:6], Target(), bound=2e-6)


def test_parts_are_cut_alike_in_all_tiles() -> None:
    """Where results lie decides how pixels are cut into tiles, and so which taps are one loop."""

    def joined(channels: int, axis: int, taps: int) -> Case:
        def case(m: Model) -> SSAValue:
            x = m(ExpOp(m.input(2, 3, 9, channels, scale=0.3)))
            y = m(ConvOp(x, m.weight(channels, channels, taps, taps), pads=(taps // 2,) * 4, layout="NHWC"))
            return m(ConcatOp([y, m(ReluOp(x))], axis))

        return case

    m = build([joined(channels, axis, taps) for channels, taps in ((64, 3), (352, 3), (544, 1)) for axis in (2, 3)])
    planned, bufferised = (compiled(m, Target(plan=plan))[0] for plan in (True, False))
    assert len(planned.calls) < len(bufferised.calls)
    expected = execute(bufferised, m.inputs)
    for name, result in execute(planned, m.inputs).items():
        np.testing.assert_array_equal(result, expected[name], name)


@pytest.mark.parametrize(
    ("depth", "run", "taps", "chains", "parts"),
    [
        (PART, PART, 1, 1, ("none", 0)),
        (PART + 1, PART + 1, 1, 1, ("runs", PART)),
        (8 * PART, 8 * PART, 1, 8, ("none", 0)),
        (9 * PART, 9 * PART, 1, 8, ("runs", 8 * PART)),
        (9 * 64, 64, 3, 1, ("filter rows", 2)),
        (9 * 256, 256, 3, 1, ("filter rows", 1)),
        (9 * 512, 512, 3, 1, ("runs", 512)),
        (9 * 640, 640, 3, 1, ("runs", 320)),  # so many divide a tap
        (9 * 521, 521, 3, 1, ("filter rows", 1)),  # nothing does
        (9 * 521, 521, 9, 1, ("none", 0)),
    ],
)
def test_how_long_parts_are(depth: int, run: int, taps: int, chains: int, parts: tuple[Parts, int]) -> None:
    assert parts_of(depth, run, taps, chains) == parts


@pytest.mark.parametrize("cpu", ["x86-64-v3", "x86-64-v4", "aarch64-linux-gnu:neoverse-n1"])
def test_sums_stay_in_registers(cpu: str) -> None:
    """The totals wait outside of the inner loop, which has nothing to do with the stack and moves no registers."""
    m = build([product(84, 1024, 64, weight=True), conv((1, 3, 156, 512), 32, (3, 3), pads=(1,) * 4, bias=False)])
    m.module.attributes["kernel.target"] = target_attribute(EngineConfig(threads=1), cpu)
    pipelines.run_phases(m.ctx, m.module, engine_phases(EngineConfig(winograd="off"))[2:])
    text = emit_assembly(emit_llvm_ir(m.module), machine_of(cpu_of(m.module)))
    loops = [found[2] for found in LOOP.finditer(text) if re.search(r"vfmadd|fmla", found[2])]
    assert len(loops) >= 2
    for loop in loops:
        assert not re.search(r"%rsp|\[sp|vmovaps\s+%\wmm\d+, %|mov\s+v", loop), loop
