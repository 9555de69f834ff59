"""Layers that are run entry by entry give what they give for the whole batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest
from everything_tiled import everything_tiled
from graph_runs import Model, Target, compiled, execute
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects import scf
from xdsl.ir import SSAValue

import mini_infer as mi
from mini_infer.dialects.graph.base import GraphOp
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.ops.attention import AttentionOp
from mini_infer.dialects.graph.ops.contraction import ConvOp, ConvTransposeOp, MatmulOp
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp, SubOp, WhereOp
from mini_infer.dialects.graph.ops.indexing import GatherOp
from mini_infer.dialects.graph.ops.movement import ConcatOp, PadOp, ReshapeOp, SliceOp, TransposeOp
from mini_infer.dialects.graph.ops.normalization import InstanceNormOp, LayerNormOp, RmsNormOp
from mini_infer.dialects.graph.ops.reduction import ReduceMeanOp, SoftmaxOp
from mini_infer.dialects.graph.ops.resize import ResizeOp
from mini_infer.dialects.graph.ops.unary import ReluOp
from mini_infer.dialects.graph.ops.windows import AvgPoolOp, MaxPoolOp
from mini_infer.dialects.graph.values import shape_of
from mini_infer.dialects.kernel.targets import CpuAttr
from mini_infer.lowering.pipelines import parse_passes, run_passes
from mini_infer.passes.graph.tile_batch import batched_operands

CACHE = 64


def pictures(m: Model) -> SSAValue:
    """Convolutions, pools, and what moves between them."""
    x = m.input(3, 4, 8, 6)
    y = m(ConvOp(x, m.weight(4, 4, 3, 3), m.weight(4), pads=[1, 1, 1, 1]))
    y = m(ReluOp(m(AddOp(y, x))))
    y = m(ConcatOp([y, m(MaxPoolOp(y, [3, 3], pads=[1, 1, 1, 1]))], 1))
    y = m(MulOp(y, m(ReduceMeanOp(y, [2, 3], keepdims=True))))
    y = m(InstanceNormOp(y, m.weight(8), m.weight(8)))
    y = m(PadOp(m(SliceOp(y, [0, 2, 0, 0], [3, 6, 8, 6])), [0, 0, 1, 0], [0, 0, 1, 0], mode="reflect"))
    y = m(AvgPoolOp(y, [2, 2], strides=[2, 2]))
    y = m(ResizeOp(y, (3, 4, 10, 6), mode="linear"))
    return m(ConvTransposeOp(y, m.weight(4, 2, 2, 2), strides=[2, 2]))


def tokens(m: Model) -> SSAValue:
    """Attention over embedded tokens, and norms."""
    x = m(GatherOp(m.weight(30, 16), m.input(3, 9, data=np.arange(27).reshape(3, 9)), 0))
    heads: list[SSAValue] = []
    for _ in range(3):
        y = m(MatmulOp(x, m.weight(16, 16)))
        heads.append(m(TransposeOp(m(ReshapeOp(y, (3, 9, 2, 8))), (0, 2, 1, 3))))
    y = m(AttentionOp(heads[0], heads[1], heads[2], m.input(3, 1, 1, 9), scale=0.4))
    y = m(ReshapeOp(m(TransposeOp(y, (0, 2, 1, 3))), (3, 9, 16)))
    y = m(LayerNormOp(m(AddOp(x, m(MatmulOp(y, m.weight(16, 16))))), m.weight(16), m.weight(16), axis=2))
    y = m(RmsNormOp(m(SoftmaxOp(y, 1)), m.weight(16), axis=2))
    return m(MatmulOp(y, m(TransposeOp(y, (0, 2, 1)))))


def tables(m: Model) -> SSAValue:
    """What one layer reads an entry of, and another one as a whole."""
    x = m.input(3, 16)
    y = m(GatherOp(x, m.input(3, 8, data=np.arange(24).reshape(3, 8) % 3), 0))
    y = m(AddOp(y, m(ReshapeOp(x, (3, 1, 16)))))
    y = m(MatmulOp(m(MatmulOp(y, x, transpose_b=True)), x))
    return m(MatmulOp(y, m.weight(16, 16)))


def ranks(m: Model) -> SSAValue:
    """Operands of each rank and of one entry, beside those of all."""
    x = m.input(3, 4, 5)
    y = m(AddOp(m(AddOp(x, m.input())), m.input(5)))
    y = m(MulOp(m(MulOp(m.input(4, 1), y)), m.input(1, 4, 5)))
    y = m(MatmulOp(m(MatmulOp(y, m.input(5, 5))), m.input(1, 5, 5)))
    y = m(WhereOp(m(ReshapeOp(m.input(3, data=np.array([1, 0, 1], np.bool_)), (3, 1, 1))), y, m.input(1, 1)))
    return m(SubOp(m.input(1, 1, 1), y))


def tiled(m: Model) -> scf.ForOp:
    """Runs tile-batch on a module, for a CPU with a very small cache, and gives the only loop."""
    m.module.attributes["kernel.target"] = CpuAttr.of(l2=CACHE)
    run_passes(m.ctx, m.module, parse_passes("tile-batch,dce"))
    m.module.verify()
    (loop,) = [op for op in m.main.walk() if isinstance(op, scf.ForOp)]
    return loop


def finished(case: Callable[[Model], SSAValue]) -> Model:
    """The module of a case."""
    m = Model()
    m.outputs("y", [case(m)])
    m.finish()
    return m


@pytest.mark.parametrize("case", [pictures, tokens, tables, ranks])
def test_all_layers_are_in_the_loop_and_mean_the_same(case: Callable[[Model], SSAValue]) -> None:
    m = finished(case)
    expected = interpret(m.module, m.inputs, m.ctx.blobs, precision=np.float64)
    before = Counter(op.name for op in m.main.body.block.ops if op.name != "graph.weight")
    loop = tiled(m)
    assert before.keys() & {op.name for op in m.main.body.block.ops} == {"func.return"}
    assert before - Counter(op.name for op in loop.body.block.ops) == Counter({"func.return": 1})
    found = interpret(m.module, m.inputs, m.ctx.blobs, precision=np.float64)
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, rtol=1e-12, atol=1e-12)


def a_scalar(m: Model) -> GraphOp:
    """A scalar as a batch of one."""
    return ReshapeOp(m.input(), (1, 1, 1))


def one_of_several(m: Model) -> GraphOp:
    """A slice that one index chooses for all entries: rows of it, not of the table, are the result's first axis."""
    return GatherOp(m.input(4, 3, 2), m.input(data=np.array(1)), 0)


def between_entries(m: Model) -> GraphOp:
    """As many pictures as before, but each made of two."""
    return ResizeOp(m.input(3, 2, 4), (3, 2, 4), scales=[1.3, 1, 1], mode="linear")


@pytest.mark.parametrize("case", [a_scalar, one_of_several, between_entries])
def test_what_is_not_by_entries_is_left_as_it_is(case: Callable[[Model], GraphOp]) -> None:
    m = Model()
    op = case(m)
    m.outputs("y", [m(op)])
    m.finish()
    with everything_tiled():
        run_passes(m.ctx, m.module, parse_passes("tile-batch"))
    assert op.parent_block() is m.main.body.block
    assert batched_operands(op, shape_of(op.results[0])[0]) is None


@pytest.mark.parametrize("target", [Target(512), Target(128, threads=2)])
def test_the_loop_as_machine_code(target: Target) -> None:
    m = finished(pictures)
    (expected,) = interpret(m.module, m.inputs, m.ctx.blobs, precision=np.float64).values()
    tiled(m)
    plan, _ = compiled(m, target)
    (found,) = execute(plan, m.inputs).values()
    assert np.abs(found - expected).max() < 4e-6 * np.abs(expected).max()


def test_a_batch_of_run_time() -> None:
    random = np.random.default_rng(0)
    weights = [
        numpy_helper.from_array(random.standard_normal((16, 16, 3, 3)).astype(np.float32) / 12, f"w{i}") for i in (0, 1)
    ]
    nodes = [
        helper.make_node("Conv", ["x", "w0"], ["a"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["a"], ["b"]),
        helper.make_node("Conv", ["b", "w1"], ["y"], pads=[1, 1, 1, 1]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 16, 64, 64]) for name in "xy")
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y], weights))
    profile = mi.OptimizationProfile(dims={"n": (0, 2, 64)})
    engine = mi.compile(model.SerializeToString(), profile=profile, cache=False)
    assert any(name == "tile-batch" for name, _ in engine.statistics.counts)
    given = random.standard_normal((3, 16, 64, 64)).astype(np.float32)
    for rows in (0, 1, 3):
        found = engine({"x": given[:rows]})["y"]
        assert found.shape == (rows, 16, 64, 64)
        for row in range(rows):
            np.testing.assert_array_equal(found[row], engine({"x": given[row : row + 1]})["y"][0])


def test_a_batch_that_has_no_entries_now() -> None:
    """Unique compares neighbours, of which a single element has none: code for it has no loop over them."""
    nodes = [helper.make_node("Unique", ["x"], ["y"])]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [size]) for name, size in (("x", "n"), ("y", "m")))
    model = helper.make_model(helper.make_graph(nodes, "g", [x], [y]))
    with everything_tiled():
        engine = mi.compile(model, profile=mi.OptimizationProfile(dims={"n": (1, 8, 8)}), cache=False)
        for size in (8, 1, 2):
            given = np.arange(size, 0, -1).astype(np.float32) // 2
            np.testing.assert_array_equal(engine({"x": given})["y"], np.unique(given))


@pytest.mark.parametrize("element", [TensorProto.BFLOAT16, TensorProto.FLOAT16])
def test_a_narrow_weight_that_is_widened_before_the_loop(element: int) -> None:
    """The product in the loop reads what was widened, as no weight that is packed for it."""
    kind = helper.tensor_dtype_to_np_dtype(element)
    rng = np.random.default_rng(3)
    weight = numpy_helper.from_array(rng.standard_normal((8, 8)).astype(kind), "w")
    sizes = [7, 8, 8, 8]
    values = [helper.make_tensor_value_info(name, element, sizes) for name in ("x", "y")]
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", values[:1], values[1:], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    given = {"x": rng.standard_normal(sizes).astype(kind)}
    wanted = mi.compile(model, threads=1, cache=False)(given)["y"]
    with everything_tiled():
        found = mi.compile(model, threads=1, cache=False)(given)["y"]
    np.testing.assert_array_equal(found, wanted)
