"""mini-infer compare: it names the kernel at fault, and no node of a healthy model, of whatever types."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command_runs import cli, complaint, saved, told
from models.builder import ModelBuilder
from onnx import ModelProto, TensorProto, helper, numpy_helper
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from mini_infer.dialects.graph.base import describe
from mini_infer.dialects.graph.host import kernels_of, main_of
from mini_infer.dialects.graph.ops.elementwise import AddOp, MulOp, SubOp
from mini_infer.dialects.graph.ops.structure import CallOp, KernelOp
from mini_infer.dialects.graph.ops.unary import NegOp, ReluOp, SigmoidOp, TanhOp
from mini_infer.passes.graph.channels_last import ChannelsLast
from mini_infer.passes.memory.bufferize import Bufferize
from mini_infer.runtime.compile import plan_builder as compiling
from mini_infer.runtime.compile.module_to_plan import build_plan
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.native.cpu_targets import target_attribute
from mini_infer.tools.comparison import comparison as comparing

SWAPPED: dict[type[Operation], Callable[..., Operation]] = {
    AddOp: SubOp,
    SubOp: AddOp,
    MulOp: AddOp,
    TanhOp: SigmoidOp,
    SigmoidOp: TanhOp,
    ReluOp: NegOp,
}
RIGHT = "every node of the unfused pipeline is right, as rounding goes"


def chain(seed: int) -> ModelProto:
    """Two to six layers, each of which reads the one before it."""
    random = np.random.default_rng(seed)
    b = ModelBuilder("chain", seed)
    x, channels = b.input("x", [1, 4, 9, 8]), 4
    for _ in range(random.integers(2, 7)):
        match random.choice(["conv", "matmul", "number", "unary", "softmax", "pool", "norm", "transpose"]):
            case "conv":
                outputs = int(random.integers(3, 9))
                x = b.node("Conv", x, b.weight(outputs, channels, 3, 3), b.weight(outputs), pads=[1, 1, 1, 1])
                channels = outputs
            case "matmul":
                x = b.node("MatMul", x, b.weight(8, 8))
            case "number":
                x = b.node(str(random.choice(["Add", "Sub", "Mul"])), x, b.weight(channels, 1, 1))
            case "unary":
                x = b.node(str(random.choice(["Tanh", "Sigmoid", "Relu", "Gelu"])), x)
            case "softmax":
                x = b.node("Softmax", x, axis=int(random.integers(1, 4)))
            case "pool":
                x = b.node("AveragePool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1])
            case "norm":
                x = b.node("LayerNormalization", x, b.uniform(0.8, 1.2, 8), b.uniform(-0.1, 0.1, 8))
            case _:
                x = b.node("Add", b.node("Transpose", x, perm=[0, 1, 3, 2]), b.weight(channels, 8, 9))
                x = b.node("Transpose", x, perm=[0, 1, 3, 2])
    return b.model([b.node("Tanh", x)])


def spoil(kernel: KernelOp) -> None:
    """Another op for one of a kernel's, or one more behind them all where none can be swapped."""
    block = kernel.body.block
    for op in block.ops:
        if made := SWAPPED.get(type(op)):
            new = made(*op.operands) if made is not NegOp else NegOp(op.operands[0])
            block.insert_op_before(new, op)
            op.results[0].replace_all_uses_with(new.results[0])
            op.detach()
            return
    last = block.last_op
    assert last is not None
    more = SigmoidOp(last.operands[0])
    block.insert_op_before(more, last)
    last.operands[0] = more.results[0]


class Planted:
    """A fault in one kernel of the optimised code, or of the unfused."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, optimised: bool, number: int) -> None:
        self.optimised, self.number, self.now_optimised = optimised, number, False
        self.kernel, self.node = "", ""
        right = Bufferize.apply

        def noting(module: ModuleOp, ctx: Any, config: Any, *more: Any, **options: Any) -> Any:
            self.now_optimised = config.enable_graph_optimization
            return build_plan(module, ctx, config, *more, **options)

        def apply(bufferize: Bufferize, ctx: Context, module: ModuleOp) -> None:
            if self.optimised == self.now_optimised:
                self.spoil(module)
            right(bufferize, ctx, module)

        monkeypatch.setattr(comparing, "build_plan", noting)
        monkeypatch.setattr(compiling, "build_plan", noting)  # for ranges
        monkeypatch.setattr(Bufferize, "apply", apply)

    def spoil(self, module: ModuleOp) -> None:
        calls = [op for op in main_of(module).body.block.ops if isinstance(op, CallOp)]
        self.kernel = self.kernel or calls[self.number % len(calls)].callee.string_value()
        first = next(op for op in calls if op.callee.string_value() == self.kernel)
        self.node = describe(first).split(" ")[0]
        spoil(kernels_of(module)[self.kernel])


@pytest.mark.thinned(7)
@pytest.mark.parametrize("seed", range(30))
def test_the_kernel_that_is_at_fault_is_named(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = Planted(monkeypatch, optimised=seed % 2 == 0, number=seed // 2)
    result = cli("compare", saved(chain(seed), tmp_path), "-j", "1")
    if planted.optimised:
        assert result.exit_code == 1
        assert RIGHT in result.stdout
        assert re.search(rf"optimising adds: kernel {planted.kernel} of .*{planted.node} \(graph\.", result.stdout)
    else:
        assert result.exit_code == 0
        assert re.search(rf"first node that differs, unfused: {planted.node} \(graph\.", result.stdout)
        assert "the outputs are right all the same" in result.stdout


@pytest.mark.slow
def test_the_kernel_that_is_at_fault_is_named_with_ranges(any_rows: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = Planted(monkeypatch, optimised=True, number=0)
    result = cli("compare", any_rows, "--range", "n=1,16,100", "--at", "n=7", "-j", "1")
    assert (result.exit_code, result.stderr) == (1, "")
    assert re.search(rf"optimising adds: kernel {planted.kernel} of .*{planted.node} \(graph\.", result.stdout)


def test_a_fault_that_every_node_s_code_shares_is_named_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What reads a wrong value is not blamed for it, and the exit status tells of the outputs."""
    b = ModelBuilder("chain")
    x = b.node("Exp", b.node("MatMul", b.node("Tanh", b.input("x", [4, 8])), b.weight(8, 8)))
    right = TanhOp.evaluate
    monkeypatch.setattr(TanhOp, "evaluate", lambda op, *x: tuple(y + 0.5 for y in right(op, *x)))  # pyright: ignore
    result = cli("compare", saved(b.model([x]), tmp_path), "-j", "1")
    assert result.exit_code == 1
    assert re.search(
        r"first node that differs, unfused: chain/tanh_0 \(graph\.tanh\), error .+, allowed 1\.0e-04\n", result.stdout
    )


def test_what_the_graph_passes_do_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = ChannelsLast.apply

    def apply(channels_last: ChannelsLast, ctx: Context, module: ModuleOp) -> None:
        for op in list(module.walk()):
            if isinstance(op, TanhOp):
                op.results[0].replace_all_uses_with(_before(op, SigmoidOp(op.operands[0])))
        right(channels_last, ctx, module)

    monkeypatch.setattr(ChannelsLast, "apply", apply)
    result = cli("compare", saved(chain(1), tmp_path), "-j", "1")
    assert result.exit_code == 1
    assert "so the outputs part in what optimising adds: a graph pass changes what is computed" in result.stdout


def _before(op: Operation, new: Operation) -> SSAValue:
    block = op.parent
    assert block is not None
    block.insert_op_before(new, op)
    return new.results[0]


def test_what_is_wrong_in_the_whole_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def first_run(module: ModuleOp, ctx: Any, config: Any) -> Any:
        monkeypatch.undo()
        for op in module.walk():
            if isinstance(op, TanhOp):
                op.results[0].replace_all_uses_with(_before(op, SigmoidOp(op.operands[0])))
        return build_plan(module, ctx, config)

    monkeypatch.setattr(comparing, "build_plan", first_run)
    result = cli("compare", saved(chain(1), tmp_path), "-j", "1")
    assert result.exit_code == 1
    assert "each kernel is right by itself, so memory is shared wrongly; see `run --check-memory`" in result.stdout


def with_bodies() -> ModelProto:
    """A branch and a loop that are decided at run time, and a node behind them."""

    def branch(kind: str) -> Any:
        nodes = [helper.make_node(kind, ["x"], ["t"]), helper.make_node("Add", ["t", "x"], [kind])]
        return helper.make_graph(nodes, kind, [], [_info(kind, TensorProto.FLOAT, 4, 8)])

    turn = helper.make_graph(
        [
            helper.make_node("Add", ["s", "x"], ["more"]),
            helper.make_node("Tanh", ["more"], ["next"]),
            helper.make_node("Identity", ["go"], ["on"]),
        ],
        "turn",
        [_info("i", TensorProto.INT64), _info("go", TensorProto.BOOL), _info("s", TensorProto.FLOAT, 4, 8)],
        [_info("on", TensorProto.BOOL), _info("next", TensorProto.FLOAT, 4, 8)],
    )
    nodes = [
        helper.make_node("If", ["c"], ["y"], "if", then_branch=branch("Sigmoid"), else_branch=branch("Exp")),
        helper.make_node("Loop", ["n", "", "y"], ["z"], "loop", body=turn),
        helper.make_node("Neg", ["z"], ["out"], "neg"),
    ]
    inputs = [_info("c", TensorProto.BOOL), _info("n", TensorProto.INT64), _info("x", TensorProto.FLOAT, 4, 8)]
    graph = helper.make_graph(nodes, "bodies", inputs, [_info("out", TensorProto.FLOAT, 4, 8)])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def _info(name: str, kind: int, *shape: int) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def test_branches_and_loops_are_compared_by_their_results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(with_bodies(), tmp_path)
    assert f"{RIGHT}; 2 with bodies (If, Loop, Scan) by what they give\n" in told("compare", path, "-j", "1")
    right = TanhOp.evaluate
    monkeypatch.setattr(TanhOp, "evaluate", lambda op, *x: tuple(y + 0.5 for y in right(op, *x)))  # pyright: ignore
    np.save(tmp_path / "n.npy", np.array(3))
    result = cli("compare", path, "-j", "1", "-i", f"n={tmp_path / 'n.npy'}")
    assert result.exit_code == 1
    assert re.search(r"first node that differs, unfused: loop \(scf\.\w+\), error", result.stdout)


def of_floats(model: ModelProto, kind: int) -> ModelProto:
    """The model with floats of another type for those of 32 bits."""
    dtype = helper.tensor_dtype_to_np_dtype(kind)
    for tensor in model.graph.initializer:
        tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(dtype), tensor.name))
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.elem_type = kind
    return model


@pytest.mark.parametrize(
    ("kind", "allowed"),
    [(TensorProto.FLOAT16, "2.0e-03"), (TensorProto.BFLOAT16, "1.6e-02"), (TensorProto.DOUBLE, "1.0e-10")],
)
def test_a_healthy_model_of_other_floats_is_not_blamed(kind: int, allowed: str, tmp_path: Path) -> None:
    text = told("compare", saved(of_floats(chain(8), kind), tmp_path), "-j", "1")
    assert f"{RIGHT}\n" in text
    assert re.search(rf"chain/tanh_\d+ .+ {allowed} *\n", text)


def test_a_healthy_quantised_model_is_not_blamed(tmp_path: Path) -> None:
    """Where 8 bits stand for a number, it may be next to the reference's; what follows is computed from it."""
    b = ModelBuilder("bytes")
    x, scale, zero = b.input("x", [64, 32]), b.number(0.031), b.constant(np.array(3, np.int8))
    for _ in range(3):
        x = b.node("DequantizeLinear", b.node("QuantizeLinear", x, scale, zero), scale, zero)
        x = b.node("MatMul", x, b.weight(32, 32))
    model = b.model([x, b.node("QuantizeLinear", x, scale, zero)], [np.float32, np.int8])
    text = told("compare", saved(model, tmp_path), "-j", "1")
    assert f"{RIGHT}\n" in text
    assert len(re.findall(r" 1\.6e-02 *\n", text)) == 2


def test_precision_of_products_is_allowed_for(tmp_path: Path) -> None:
    b = ModelBuilder("wide")
    path = saved(b.model([b.node("MatMul", b.input("x", [64, 64]), b.weight(64, 64))]), tmp_path)
    text = told("compare", path, "--device", "cuda-emulated", "--precision", "bf16")
    assert f"{RIGHT}\n" in text and " 1.6e-02" in text
    if target_attribute(EngineConfig()).multiplies_bf16:
        text = told("compare", path, "--precision", "bf16")
        assert f"{RIGHT}\n" in text and " 1.6e-02" in text


def test_a_compiled_file_is_compared_with_its_model(any_rows: Path, tmp_path: Path) -> None:
    """At the shapes that it has code for; a file of another model is told."""
    file, other = tmp_path / "m.mi", tmp_path / "other.onnx"
    assert complaint("compare", file).startswith(f"{file} has no graph to compare with: name the model")
    assert complaint("compare", any_rows, "--of", any_rows) == "--of does nothing without a .mi file"
    assert cli("build", any_rows, "--range", "n=1,4,8", "--cpu", "native", "-o", file).exit_code == 0
    assert "at n=3" in told("compare", file, "--of", any_rows, "--at", "n=3")
    assert "n is from 1 to 8" in complaint("compare", file, "--of", any_rows, "--at", "n=9")
    assert "--dim does nothing with a .mi file" in complaint("compare", file, "--of", any_rows, "--dim", "n=3")
    model = ModelProto.FromString(any_rows.read_bytes())
    for weight in model.graph.initializer:
        if weight.data_type == TensorProto.FLOAT:
            weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) + 1, weight.name))
    other.write_bytes(model.SerializeToString())
    result = cli("compare", file, "--of", other, "--at", "n=3")
    assert result.exit_code == 1 and "the outputs part in the file: the model compiled here" in result.stdout
    model.graph.output[0].name = model.graph.node[-1].output[0] = "else"
    other.write_bytes(model.SerializeToString())
    assert f"{file} wasn't compiled of {other}: its outputs are" in complaint("compare", file, "--of", other)
