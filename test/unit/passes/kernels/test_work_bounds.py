"""What a model has to do, and what a kernel: operations and bytes, counted by hand beside."""

from __future__ import annotations

from onnx import ModelProto
from text_models import model_of

from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.lowering.onnx_to_graph import import_onnx
from mini_infer.lowering.pipelines import PLAIN_GRAPH, parse_passes, run_passes
from mini_infer.passes.work_bounds import Work, work_of_model


def work(model: ModelProto) -> Work:
    ctx = MiniContext()
    module = import_onnx(model, ctx=ctx)
    run_passes(ctx, module, parse_passes(PLAIN_GRAPH))
    return work_of_model(module)


def constant(name: str, *shape: int) -> str:
    size = 1
    for each in shape:
        size *= each
    return f"float[{','.join(map(str, shape))}] {name} = {{{','.join(['1'] * size)}}}"


def test_a_convolution_counts_as_a_direct_one() -> None:
    weight = constant("w", 8, 4, 3, 3)
    text = f"g (float[1,4,10,10] x) => (float[1,8,10,10] y) <{weight}> {{ y = Conv<pads=[1,1,1,1]>(x, w) }}"
    assert work(model_of(text)) == Work(flops=2 * 800 * 36, nbytes=4 * (288 + 400 + 800))


def test_groups_are_counted() -> None:
    weight = constant("w", 4, 1, 3, 3)
    text = f"g (float[1,4,5,5] x) => (float[1,4,3,3] y) <{weight}> {{ y = Conv<group=4>(x, w) }}"
    assert work(model_of(text)) == Work(flops=2 * 36 * 9, nbytes=4 * (36 + 100 + 36))


def test_a_weight_that_two_products_read_is_read_once() -> None:
    weight = constant("w", 6, 6)
    text = f"g (float[2,6] x) => (float[2,6] y) <{weight}> {{ a = MatMul(x, w) r = Relu(a) y = MatMul(r, w) }}"
    assert work(model_of(text)) == Work(flops=2 * 2 * 72, nbytes=4 * (36 + 12 + 12))


def test_of_a_table_only_what_is_taken_counts() -> None:
    table = constant("t", 50, 4)
    text = f"g (int64[3] i) => (float[3,4] y) <{table}> {{ y = Gather(t, i) }}"
    assert work(model_of(text)) == Work(flops=0, nbytes=4 * 12 + 3 * 8 + 4 * 12)
