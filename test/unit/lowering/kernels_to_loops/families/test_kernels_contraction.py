"""Matrix products and convolutions: sizes that fit no tile, all kinds of operands, borders, groups, element types."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from contraction_cases import FLAGS, GROUPS, SIZES, conv, product
from graph_runs import EVERY, Case, Model, Target, build, check, execute, spread
from graph_runs import compiled as compiled_graph
from xdsl.ir import SSAValue

from mini_infer.dialects.graph.ops.contraction import ConvOp, MatmulOp
from mini_infer.dialects.graph.ops.movement import ConcatOp
from mini_infer.dialects.graph.ops.reduction import SoftmaxOp
from mini_infer.dialects.graph.ops.unary import ExpOp, ReluOp, TanhOp
from mini_infer.dialects.kernel.targets import cpu_of
from mini_infer.lowering import pipelines
from mini_infer.lowering.loops_to_llvm.emit_llvm_ir import emit_llvm_ir
from mini_infer.runtime.native.cpu_targets import machine_of, target_attribute
from mini_infer.runtime.native.llvmlite_calls import emit_assembly


def test_sizes_of_products() -> None:
    chosen = [SIZES[index] for index in range(0, len(SIZES), 13)]
    runs = spread(chosen)
    assert {name.partition("_")[0] for run in runs for name in run.names} == {"matmul"}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("group", GROUPS)
def test_contractions(group: str) -> None:
    spread(GROUPS[group][::2])


@pytest.mark.slow
@pytest.mark.parametrize("target", EVERY, ids=str)
def test_contractions_on_every_target(target: Target) -> None:
    for cases in (SIZES, *GROUPS.values()):
        for start in range(0, len(cases), 20):
            check(cases[start : start + 20], target)


def test_double_precision() -> None:
    double: list[Case] = [product(5, 33, 17, a=a, b=b, left=(2,), right=(2,), dtype=np.float64) for a, b in FLAGS]
    double.append(product(19, 33, 37, weight=True, dtype=np.float64))
    double.append(conv((1, 9, 11, 5), 17, (3, 3), pads=(1,) * 4, dtype=np.float64))
    double.append(conv((1, 9, 11, 8), 8, (3, 3), pads=(1,) * 4, groups=8, dtype=np.float64))
    for run in spread(double, bound=1e-14):
        assert {"computed_panels"} < {*run.schedules} <= {"computed_panels", "panels", "panels_by_rows"}


@pytest.mark.thinned(3)
@pytest.mark.parametrize("dtype", [np.int32, np.int16, np.uint16, np.int64, np.float16])
def test_other_types_are_slow_but_right(dtype: Any) -> None:
    cases = [
        product(5, 33, 17, dtype=dtype),
        product(5, 33, 17, b=True, weight=True, dtype=dtype),
        *(conv((1, 5, 6, 4), 6, (3, 3), pads=(1,) * 4, groups=2, layout=x, dtype=dtype) for x in ("NHWC", "NCHW")),
        conv((1, 5, 6, 4), 4, (3, 3), pads=(1,) * 4, groups=4, dtype=dtype),
    ]
    for run in spread(cases, bound=2e-3):
        assert set(run.schedules) == {"elements"}


def test_empty_operands() -> None:
    empty = [product(0, 3, 4), product(3, 0, 4), product(3, 4, 0, weight=True), conv((0, 5, 5, 3), 4, (3, 3))]
    check(empty, Target())


def test_filters_that_are_computed_and_what_other_families_take() -> None:
    def computed(m: Model) -> SSAValue:
        return m(ConvOp(m.input(2, 5, 6, 3), m(TanhOp(m.input(4, 3, 3, 3))), m.input(4), pads=(1,) * 4, layout="NHWC"))

    def depthwise(m: Model) -> SSAValue:
        return m(ConvOp(m.input(2, 5, 6, 4), m(TanhOp(m.input(4, 1, 3, 3))), groups=4, layout="NHWC"))

    large = conv((1, 9, 9, 20), 20, (13, 13), pads=(6,) * 4, groups=20)
    (run,) = check([computed, depthwise, conv((1, 5, 6, 4), 6, (3, 3), layout="NCHW"), large], Target())
    # Two filters are computed, by tanh, and packed; one picture is not channels-last.
    assert sorted(run.schedules) == ["depthwise", "depthwise", *["elements"] * 5, "panels"]


def test_planning_memory_changes_no_bit() -> None:
    """Parts of a concatenation are written with its strides, and how the sums are cut must not depend on that."""

    def joined(rows: int, axis: int, kernel: int) -> Case:
        def case(m: Model) -> SSAValue:
            x = m(ExpOp(m.input(2, 8, rows, 6, scale=0.3)))
            if kernel:
                y = m(ConvOp(x, m.weight(6, 6, kernel, kernel), pads=(kernel // 2,) * 4, layout="NHWC"))
            else:
                y = m(MatmulOp(x, m.weight(6, 6)))
            return m(SoftmaxOp(m(ConcatOp([y, m(ReluOp(x))], axis)), 3))

        return case

    m = build([joined(rows, axis, kernel) for rows in (1, 3, 5) for axis, kernel in ((2, 0), (3, 0), (1, 1), (2, 3))])
    planned, bufferised = (compiled_graph(m, Target(plan=plan))[0] for plan in (True, False))
    assert len(planned.calls) < len(bufferised.calls)
    expected = execute(bufferised, m.inputs)
    for name, result in execute(planned, m.inputs).items():
        np.testing.assert_array_equal(result, expected[name], name)


def test_the_inner_loop_of_the_widest_tile() -> None:
    """28 sums stay in registers: each step loads two vectors, broadcasts 14 numbers and does nothing else.

    Of two products, so that the tile's function is told its strides.
    """
    m = build([product(28, 64, 64, weight=True), product(56, 96, 96, weight=True)])
    m.module.attributes["kernel.target"] = target_attribute(Target().config(), "x86-64-v4")
    pipelines.run_phases(m.ctx, m.module, pipelines.phases()[2:])
    text = emit_assembly(emit_llvm_ir(m.module), machine_of(cpu_of(m.module)))
    tile = text.partition("\ntile_14x32:")[2].partition("ret")[0]
    loop = re.search(r"^(\.\w+):.*((?:\n(?!\.L).*)*?)\n\s+j\w+\s+\1\n", tile, re.MULTILINE)
    assert loop is not None
    sums = re.findall(r"vfmadd\w+\s.*%(zmm\d+)(?: .*)?$", loop[2], re.MULTILINE)
    assert len(sums) == len(set(sums)) == 28
    broadcasts = len(re.findall(r"vbroadcastss|\{1to16\}", loop[2]))
    assert broadcasts >= 14
    assert "rsp" not in loop[2] and "rbp" not in loop[2]
    assert len(re.findall(r"vmovup\w\s.*\(", loop[2])) == 2
