"""Faults that a pass is made to commit, and what `mini-infer bisect` must name: the pass, the kernel and the node."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import cast

import numpy as np
import pytest
from memory_faults import move_a_buffer, shorten_a_lifetime
from models.light import seeded_light_model
from models.small import SMALL_MODELS
from onnx import ModelProto
from xdsl.context import Context
from xdsl.dialects import arith, func, llvm, memref, vector
from xdsl.dialects.builtin import (
    DenseArrayBase,
    FloatAttr,
    IntegerAttr,
    ModuleOp,
    StringAttr,
    UnitAttr,
    f64,
    i64,
)
from xdsl.ir import Attribute, Operation
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from mini_infer.dialects.graph.base import node_name
from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.dialects.graph.host import main_of
from mini_infer.dialects.graph.ops.structure import CallOp as TensorCall
from mini_infer.dialects.graph.ops.structure import KernelOp, WeightOp
from mini_infer.dialects.graph.values import type_of
from mini_infer.dialects.kernel.calls import CallOp
from mini_infer.lowering.registry import load_pass

SPOILT = "test.spoilt"


@dataclass
class Site:
    """Where a fault was made: its node and its kernel, "" where they are not to be named."""

    node: str = ""
    kernel: str = ""


Change = Callable[[Operation], object]
Make = Callable[[ModuleOp, MiniContext], Site | None]
"""Changes a module after a pass; None where there is nothing to change."""


@dataclass(frozen=True)
class Fault:
    """A fault of a pass on a model."""

    name: str
    model: str
    by: str
    make: Make
    told: str | None = None
    """What is named in place of the pass."""

    def plant(self, monkeypatch: pytest.MonkeyPatch) -> list[Site]:
        """Makes the pass commit the fault, once in each module; returns the list of the sites."""
        made = load_pass(self.by)
        right, sites = made.apply, list[Site]()

        def apply(each: ModulePass, ctx: Context, op: ModuleOp) -> None:
            right(each, ctx, op)
            if SPOILT not in op.attributes:
                site = self.make(op, cast("MiniContext", ctx))
                if site is not None:
                    op.attributes[SPOILT] = UnitAttr()
                    sites.append(site)

        monkeypatch.setattr(made, "apply", apply)
        return sites


@cache
def model_named(name: str) -> ModelProto:
    """A small model, or a light one."""
    return SMALL_MODELS[name]() if name in SMALL_MODELS else seeded_light_model(name)


def site_of(op: Operation) -> Site:
    """An op's node, and its kernel."""
    kernel = op.parent_op()
    if isinstance(op, CallOp | TensorCall):
        return Site(node_name(op), op.callee.string_value())
    return Site(node_name(op), kernel.sym_name.data if isinstance(kernel, KernelOp) else "")


def named(module: ModuleOp, node: str, kind: str) -> Iterator[Operation]:
    """The ops of a kind of the node whose name ends so."""
    for op in module.walk():
        if op.name == kind and (not node or node_name(op).endswith(f"/{node}")):
            yield op


def at(node: str, kind: str, *changes: Change) -> Make:
    """Changes of the first op of a kind and a node."""

    def make(module: ModuleOp, ctx: MiniContext) -> Site | None:
        op = next(named(module, node, kind), None)
        if op is None:
            return None
        found = site_of(op)
        for change in changes:
            change(op)
        return found

    return make


def swap(first: int = 0, second: int = 1) -> Callable[[Operation], None]:
    def change(op: Operation) -> None:
        op.operands[first], op.operands[second] = op.operands[second], op.operands[first]

    return change


def drop(op: Operation) -> None:
    """Users of the result take the first operand."""
    Rewriter.replace_op(op, [], [op.operands[0]])


def put(name: str, value: Attribute | float | list[int]) -> Change:
    """Another value of a property."""
    if isinstance(value, list):
        made: Attribute = DenseArrayBase.from_list(i64, value)
    elif isinstance(value, float):
        made = FloatAttr(value, f64)
    else:
        made = IntegerAttr(value, i64) if isinstance(value, int) else value

    def change(op: Operation) -> None:
        assert name in op.properties and op.properties[name] != made, f"{op.name} has {op.properties}"
        op.properties[name] = made

    return change


def weight(of: str) -> Make:
    """Other values in the weight that the node's op reads last."""

    def make(module: ModuleOp, ctx: MiniContext) -> Site | None:
        for op in module.walk():
            if node_name(op).endswith(f"/{of}"):
                for operand in op.operands:
                    if isinstance(operand.owner, WeightOp):
                        made = operand.owner
                        array = ctx.blobs.read(made.blob, type_of(made.result))
                        made.properties["blob"] = ctx.blobs.add(np.ascontiguousarray(array[::-1]))
                        return Site(node_name(op))
        return None

    return make


def in_call(callee: str, change: Change) -> Make:
    """A change of the first call of a kernel in main."""

    def make(module: ModuleOp, ctx: MiniContext) -> Site | None:
        for op in main_of(module).body.walk():
            if isinstance(op, CallOp | TensorCall) and op.callee.string_value() == callee:
                change(op)
                return Site("", callee)
        return None

    return make


def erase(op: Operation) -> None:
    Rewriter.erase_op(op)


def in_function(prefix: str, kind: type[Operation], change: Change, number: int = 0, kernel: str = "") -> Make:
    """A change of an op in the first function whose name begins so."""

    def make(module: ModuleOp, ctx: MiniContext) -> Site | None:
        for function in module.ops:
            name = function.properties.get("sym_name")
            if isinstance(name, StringAttr) and name.data.startswith(prefix):
                found = [op for op in function.walk() if isinstance(op, kind)]
                if len(found) > number:
                    change(found[number])
                    return Site("", kernel)
        return None

    return make


def becomes(kind: type[Operation]) -> Change:
    """Another op of the same operands."""

    def change(op: Operation) -> None:
        made = kind.create(operands=op.operands, result_types=[op.results[0].type], properties=dict(op.properties))
        Rewriter.replace_op(op, made)

    return change


def in_arena(change: Callable[[ModuleOp, Random], bool]) -> Make:
    def make(module: ModuleOp, ctx: MiniContext) -> Site | None:
        return Site() if change(module, Random(1)) else None

    return make


def swapped_weights(module: ModuleOp, ctx: MiniContext) -> Site | None:
    """The views of two weights of one type at each other's place."""
    views: dict[Attribute, memref.ViewOp] = {}
    for op in main_of(module).body.walk():
        if isinstance(op, memref.ViewOp) and "buffer" not in op.attributes:
            other = views.setdefault(op.result.type, op)
            if other is not op:
                op.operands[1], other.operands[1] = other.operands[1], op.operands[1]
                return Site("", _callee(other))
    return None


def _callee(view: Operation) -> str:
    call = next(iter(view.results[0].uses)).operation
    assert isinstance(call, CallOp)
    return call.callee.string_value()


def another_buffer(module: ModuleOp, ctx: MiniContext) -> Site | None:
    """A call reads an earlier buffer of the same type than it should."""
    seen: dict[Attribute, list[Operation]] = {}
    for op in main_of(module).body.block.ops:
        if isinstance(op, CallOp):
            for number, operand in enumerate(op.ins):
                others = [each for each in seen.get(operand.type, ()) if each.results[0] is not operand]
                if others and "alloc" in operand.owner.name if isinstance(operand.owner, Operation) else False:
                    op.operands[number] = others[0].results[0]
                    return Site("", op.callee.string_value())
        elif op.name == "memref.alloc":
            seen.setdefault(op.results[0].type, []).append(op)
    return None


CODE = "the code generator: lower-kernels / lower-to-llvm / LLVM"
FAULTS = [
    # passes at the graph level
    Fault("shapes-pads", "resnet", "infer-shapes", at("maxpool_3", "graph.max_pool", put("pads", [2, 2, 0, 0]))),
    Fault(
        "canonical-epsilon",
        "transformer",
        "canonicalize-graph",
        at("layernormalization_24", "graph.layer_norm", put("epsilon", 0.5)),
    ),
    Fault("canonical-alpha", "unet", "canonicalize-graph", at("leakyrelu_1", "graph.leaky_relu", put("alpha", 0.3))),
    Fault("canonical-relu", "mlp", "canonicalize-graph", at("relu_1", "graph.relu", drop)),
    Fault("cse-drops", "transformer", "cse", at("gelu_27", "graph.gelu", drop)),
    Fault("last-output", "transformer", "cse", at("tanh_62", "graph.tanh", drop)),
    Fault("dce-pads", "resnet", "dce", at("conv_4", "graph.conv", put("pads", [2, 2, 0, 0]))),
    Fault("softmax-axis", "squeezenet", "recompose-softmax", at("", "graph.softmax", put("axis", 2))),
    Fault(
        "attention-scale", "transformer", "recompose-attention", at("matmul_18", "graph.attention", put("scale", 0.1))
    ),
    Fault("attention-keys", "transformer", "pad-conv", at("matmul_46", "graph.attention", swap(0, 1))),
    Fault(
        "slice",
        "transformer",
        "merge-products",
        at("matmul_10", "graph.slice", put("starts", [0, 0, 32]), put("stops", [1, 11, 64])),
    ),
    Fault("joined", "squeezenet", "split-concat", at("", "graph.relu", drop)),
    Fault("fold-weight", "resnet", "fold-batch-norm", weight("conv_7")),
    Fault("fold-constant", "transformer", "fold-constants", weight("matmul_25")),
    Fault("layout-relu", "mobilenet", "channels-last", at("relu_8", "graph.relu", drop)),
    Fault("layout-pads", "resnet", "channels-last", at("conv_14", "graph.conv", put("pads", [0, 2, 2, 0]))),
    Fault("transposed-conv", "unet", "split-conv-transpose", at("concat_9", "graph.concat", swap())),
    Fault("pixels", "unet", "group-pixels", at("conv_6", "graph.conv", put("pads", [2, 1, 0, 1]))),
    Fault("silu", "decoder", "recompose-silu", at("", "graph.silu", drop)),
    Fault("gates", "decoder", "pair-gates", at("", "graph.rms_norm", put("epsilon", 0.3))),
    # passes at the kernels level
    Fault("means", "mobilenet", "split-means", at("hardswish_5", "graph.hard_sigmoid", put("alpha", 0.3))),
    Fault("kernel-gelu", "transformer", "form-kernels", at("gelu_27", "graph.gelu", drop)),
    Fault("kernel-relu", "resnet", "form-kernels", at("relu_13", "graph.relu", drop)),
    Fault("schedule", "resnet", "choose-schedule", at("add_9", "graph.add", drop)),
    Fault("packed", "transformer", "pack-weights", in_call("layer_norm_0", swap(1, 2))),
    Fault("lstm-packed", "lstm", "pack-weights", at("lstm_4", "graph.lstm", put("direction", StringAttr("reverse")))),
    # passes on buffers
    Fault("order", "resnet", "order-kernels", in_call("conv_relu_4", swap(0, 3))),
    Fault("buffers", "transformer", "bufferize", another_buffer),
    Fault("copies", "transformer", "elide-copies", in_call("layer_norm_0", swap(1, 2))),
    # passes at the arena level
    Fault("overlap", "unet", "plan-arena", in_arena(move_a_buffer)),
    Fault("dead", "squeezenet", "plan-arena", in_arena(shorten_a_lifetime), "verify-arena"),
    Fault("moved", "resnet", "verify-arena", in_arena(move_a_buffer)),
    Fault("barriers", "resnet", "insert-barriers", in_call("conv_relu_4", swap(0, 3))),
    Fault("weights", "transformer", "place-weights", swapped_weights),
    # passes below
    Fault("stages", "resnet", "share-threads", in_call("reduce_mean_0", erase)),
    Fault("stops", "mlp", "insert-cancellation-points", in_function("main", func.CallOp, erase, 1)),
    Fault(
        "loops-difference",
        "mlp",
        "lower-kernels",
        in_function("kernel_softmax_0", arith.SubfOp, swap(), 0, "softmax_0"),
        CODE,
    ),
    Fault(
        "loops-attention",
        "transformer",
        "lower-kernels",
        in_function("kernel_attention_transpose_0", arith.SubfOp, swap(), 0, "attention_transpose_0"),
        CODE,
    ),
    Fault(
        "loops-store",
        "transformer",
        "lower-kernels",
        in_function("kernel_layer_norm_0", vector.StoreOp, erase, 0, "layer_norm_0"),
        CODE,
    ),
    Fault("expanded", "mlp", "expand-math", in_function("kernel_softmax_0", arith.SubfOp, swap(), 0, "softmax_0")),
    Fault("llvm", "mlp", "lower-to-llvm", in_function("kernel_softmax_0", llvm.FSubOp, swap(), 0, "softmax_0"), CODE),
]
