"""Depthwise convolutions: windows, strides, borders channels that fill no register or have several filters."""

from __future__ import annotations

import re
from typing import Any

import pytest
from depthwise_cases import BORDERS, KERNELS, SHAPES, depthwise, excited, filtered
from graph_runs import EVERY, Case, Model, Target, build, check, schedule_of, spread
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.contraction import ConvOp
from mini_infer.dialects.graph.ops.elementwise import AddOp
from mini_infer.dialects.graph.ops.movement import ConcatOp, SliceOp
from mini_infer.dialects.graph.ops.reduction import ReduceSumOp, SoftmaxOp
from mini_infer.dialects.graph.ops.unary import ExpOp, ReluOp, SiluOp
from mini_infer.dialects.kernel.targets import cpu_of
from mini_infer.lowering import pipelines
from mini_infer.lowering.loops_to_llvm.emit_llvm_ir import emit_llvm_ir
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.native.cpu_targets import machine_of, target_attribute
from mini_infer.runtime.native.llvmlite_calls import emit_assembly

LARGE = [
    depthwise((1, 12, 17, 5), (9, 9)),
    depthwise((2, 12, 17, 37), (8, 7), (2, 3), pads=(3, 0, 4, 6)),
    depthwise((1, 32, 9, 16), (11, 5), (1, 2), dilations=(3, 2)),
    depthwise((1, 40, 3, 7), (64, 1)),
    depthwise((1, 5, 40, 20), (3, 31)),
    depthwise((1, 4, 4, 16), (13, 13)),
    depthwise((1, 3, 9, 16), (9, 9), pads=(12, 4, 12, 4)),
]


def line(
    shape: tuple[int, int, int], kernel: int, stride: int, pads: tuple[int, int], dilation: int = 1, each: int = 1
) -> Case:
    """A depthwise convolution [batch, length, channels] of rank 1 with an epilogue."""

    def case(m: Model) -> SSAValue:
        channels = shape[-1]
        window: dict[str, Any] = {"strides": [stride], "pads": pads, "dilations": [dilation], "groups": channels}
        weight, bias = m.weight(channels * each, 1, kernel, scale=0.3), m.weight(channels * each)
        y = m(ConvOp(m.input(*shape), weight, bias, **window, layout="NHWC"))
        return m(AddOp(m(ReluOp(y)), m.weight(channels * each)))

    return case


LINES = [
    line((1, 40, 37), 4, 1, (3, 0)),
    line((2, 31, 16), 5, 2, (2, 1)),
    line((3, 20, 7), 3, 1, (8, 8), 8),
    line((1, 50, 20), 31, 1, (15, 15)),
]
# Filters that fill registers and that do not, of channels that do and do not; tiles of one row and of several.
SEVERAL = [
    depthwise((1, 6, 9, 16), (3, 3), each=2),
    depthwise((2, 7, 15, 21), (3, 3), (2, 1), pads=(1, 0, 2, 1), each=2),
    depthwise((1, 12, 8, 5), (3, 3), dilations=(2, 3), pads=(2, 3, 2, 3), each=3),
    depthwise((1, 5, 16, 10), (5, 5), each=3),
    depthwise((1, 6, 17, 8), (3, 3), each=4),
    depthwise((2, 9, 5, 7), (7, 7), (2, 2), each=4),
    depthwise((1, 5, 9, 2), (2, 3), pads=(0, 0, 0, 0), each=3),
    depthwise((1, 40, 3, 6), (40, 1), each=2),
    line((1, 40, 24), 3, 1, (1, 1), each=2),
    line((2, 31, 15), 5, 2, (2, 1), each=3),
    line((1, 50, 9), 7, 1, (12, 0), 2, each=4),
]
# Groups of several channels: as many filters, fewer and more, that fill a register and that do not.
SMALL_GROUPS = [
    depthwise((1, 7, 30, 32), (3, 3), each=4, of=4),
    depthwise((2, 9, 11, 40), (3, 3), (2, 2), each=2, of=2),
    depthwise((1, 5, 9, 21), (3, 3), (1, 2), pads=(1, 0, 2, 1), each=3, of=3),
    depthwise((1, 8, 9, 20), (3, 3), dilations=(2, 3), pads=(2, 3, 2, 3), each=2, of=4),
    depthwise((2, 6, 17, 6), (5, 5), each=4, of=2),
    depthwise((1, 9, 8, 12), (1, 1), (2, 2), each=4, of=2),
]
GROUPS = {
    "several": SEVERAL,
    "lines": LINES,
    "large": LARGE,
    "kernels": KERNELS,
    "borders": BORDERS,
    "shapes": SHAPES,
}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("group", GROUPS)
def test_depthwise(group: str) -> None:
    for run in spread(GROUPS[group][::2]):
        assert set(run.schedules) == {"depthwise"}


@pytest.mark.slow
@pytest.mark.parametrize("target", EVERY, ids=str)
def test_depthwise_on_every_target(target: Target) -> None:
    for cases in GROUPS.values():
        check(cases, target)


@pytest.mark.thinned(3)
def test_small_groups_of_channels() -> None:
    """Where their filters fill half a register or less; where they fill more, and products waste less, it is panels."""
    for run in check(SMALL_GROUPS, Target(512)):
        assert set(run.schedules) == {"depthwise"}
    schedules = {schedule for run in spread(SMALL_GROUPS) for schedule in run.schedules}
    assert schedules == {"depthwise", "panels"}


def test_channels_are_shared_by_many_threads() -> None:
    """A small picture with many channels has too few tiles for the threads, so channels are cut, not always evenly."""
    (run,) = check([depthwise((1, 3, 3, 5 * 16), (3, 3))], Target(512, 5))
    assert schedule_of(run.kernel(run.names[0])).numbers()["chunks"] == 5
    (run,) = check([depthwise((1, 3, 3, 5 * 5), (3, 3), each=3)], Target(512, 5))
    assert schedule_of(run.kernel(run.names[0])).numbers()["chunks"] == 5
    (run,) = check([depthwise((1, 4, 4, 97), (3, 3))], Target(128, 5))
    assert schedule_of(run.kernel(run.names[0])).numbers()["chunks"] > 5


def test_strided_and_shared_buffers() -> None:
    def cut(axis: int) -> Case:
        """Parts of one buffer are read, and the results are parts of another."""

        def case(m: Model) -> SSAValue:
            shape = (2, 6, 8, 12)
            x = m(ExpOp(m.input(*shape, scale=0.3)))
            ends = [(size // 2 if i == axis else size) for i, size in enumerate(shape)]
            starts = [(size // 2 if i == axis else 0) for i, size in enumerate(shape)]
            parts = [m(SliceOp(x, [0] * 4, ends, [1] * 4)), m(SliceOp(x, starts, shape, [1] * 4))]
            joined = m(ConcatOp([m(ReluOp(filtered(m, part, (3, 3)))) for part in parts], axis))
            return m(SoftmaxOp(joined, 3))

        return case

    for run in spread([cut(axis) for axis in (1, 2, 3)]):
        assert [name[:9] for name in run.names] == ["exp_0", *["conv_relu"] * 2, "softmax_0"]  # nothing is copied


def test_residuals_in_place() -> None:
    def other(m: Model) -> SSAValue:
        residual = m(ExpOp(m.input(1, 6, 6, 20, scale=0.3)))
        return m(ReduceSumOp(m(AddOp(filtered(m, m.input(1, 6, 6, 20), (3, 3)), residual)), (1, 2), False))

    def picture(m: Model) -> SSAValue:
        """A picture can't be written over while it is read."""
        x = m(ExpOp(m.input(1, 6, 6, 20, scale=0.3)))
        return m(ReduceSumOp(m(AddOp(filtered(m, x, (3, 3)), x)), (1, 2), False))

    def several(m: Model) -> SSAValue:
        residual = m(ExpOp(m.input(1, 6, 6, 40, scale=0.3)))
        conv = filtered(m, m.input(1, 6, 6, 20), (3, 3), each=2)
        return m(ReduceSumOp(m(AddOp(conv, residual)), (1, 2), False))

    for case, in_place in ((other, True), (picture, False), (several, True)):
        (run,) = check([case], Target())
        (call,) = [call for call in run.calls() if call.callee.string_value() == "conv_add_0"]
        assert (call.outs[0] in call.ins) == in_place


# Tiles of several rows and of one, epilogues in registers and behind tiles, lanes that are left over, borders only, and
# pictures of several widths whose tiles run the same code.
EXCITED = [
    excited(depthwise((2, 9, 15, 37), (3, 3)), ReluOp),
    excited(depthwise((1, 10, 29, 37), (3, 3)), ReluOp),
    excited(depthwise((1, 12, 21, 16), (5, 5), (2, 2)), SiluOp),
    excited(depthwise((1, 12, 9, 16), (5, 5), (2, 2)), SiluOp),
    excited(depthwise((2, 6, 14, 20), (3, 3), (2, 1)), SiluOp),
    excited(depthwise((1, 5, 4, 7), (3, 3), each=2)),
    excited(depthwise((1, 3, 2, 5 * 16), (3, 3))),
    excited(depthwise((1, 8, 9, 5), (3, 3), pads=(5, 5, 5, 5))),
]


@pytest.mark.thinned(2)
@pytest.mark.parametrize("target", [Target(512), Target(256, 2), Target(128, 5)], ids=str)
def test_means_of_pictures(target: Target) -> None:
    """Those of rows are made with them."""
    (run,) = check(EXCITED, target)
    assert [name.rpartition("_")[0] for name in run.names] == ["conv_reduce_mean", "reduce_mean", "mul"] * len(EXCITED)


@pytest.mark.parametrize("each", [5, 7, 16, 17])
def test_many_filters_of_a_channel(each: int) -> None:
    """They are of one register, or other code does for them."""
    (run,) = check([depthwise((1, 6, 8, 5), (3, 3), each=each)], Target(512))
    assert run.schedules == (["depthwise"] if each <= 16 else ["panels"])


SPILLS = {"x86_64-linux-gnu:znver5": 0, "x86_64-linux-gnu:x86-64-v3": 2, "aarch64-linux-gnu:neoverse-n1": 40}
"""Most moves of a function between registers and the stack, those that LLVM 22 makes."""
FUNCTION = re.compile(r"^(patch_\w*):[^\n]*\n(.*?)^\.Lfunc_end", re.MULTILINE | re.DOTALL)
SPILLED = re.compile(r"-byte Folded (?:Spill|Reload)|-byte (?:Spill|Reload)")
VECTOR = re.compile(r"%[xyz]mm|\b[qv]\d+\b")


@pytest.mark.slow
@pytest.mark.parametrize("cpu", SPILLS)
def test_hardly_a_vector_is_spilled(cpu: str) -> None:
    cases = [depthwise((1, 12, 28, 32), (k, k), each=each) for k in (3, 5, 7) for each in (1, 2)]
    m = build([*cases, excited(cases[0], ReluOp), excited(cases[2], ReluOp)])
    m.module.attributes["kernel.target"] = target_attribute(EngineConfig(threads=1), cpu)
    pipelines.run_phases(m.ctx, m.module, pipelines.phases())
    functions = FUNCTION.findall(emit_assembly(emit_llvm_ir(m.module), machine_of(cpu_of(m.module))))
    assert len(functions) >= 6
    for name, body in functions:
        spills = [line for line in body.splitlines() if SPILLED.search(line) and VECTOR.search(line)]
        assert len(spills) <= SPILLS[cpu], f"{name}: {spills}"
