"""Memory problems of ONNX models: offsets of their buffers, and orders of their kernel calls, fused and unfused."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
from onnx import ModelProto, numpy_helper
from xdsl.dialects.builtin import ModuleOp

from mini_infer.dialects.graph.host import blocks_of, kernels_of, main_of
from mini_infer.dialects.graph.ops.structure import CallOp
from mini_infer.lowering.pipelines import PassRun
from mini_infer.passes.memory.analysis.aliasing import read_programs
from mini_infer.passes.memory.report.memory_plan import MemoryPlan
from mini_infer.runtime.compile.module_to_plan import plan_memory
from mini_infer.runtime.compile.source import source_of
from mini_infer.runtime.config import EngineConfig

from .order_problem import OrderProblem

CPU = "x86-64-v4"  # whose kernels, for one thread, decide about fusion and scratch


def problems_of(model: ModelProto, fused: bool) -> tuple[str, OrderProblem]:
    """A model's offset problem as CSV text, and its order problem, in which the calls stand in the model's order."""
    config = EngineConfig.of(threads=1, tuned=False, enable_graph_optimization=fused)
    found: list[OrderProblem] = []

    def observer(done: PassRun, module: ModuleOp) -> None:
        if done.name == "pack-weights":
            found.append(_order_problem(module))

    module, ctx = source_of(model).load(config)
    plan = plan_memory(module, ctx, config, observer, machine=CPU)
    return offset_problem_text(plan), found[-1]


def at_batch(model: ModelProto, batch: int) -> ModelProto:
    """A copy of a model with another first dimension of all inputs, and of shapes that are constants of reshapes."""
    copy = ModelProto()
    copy.CopyFrom(model)
    del copy.graph.value_info[:]
    for value in (*copy.graph.input, *copy.graph.output):
        if value.type.tensor_type.shape.dim:
            value.type.tensor_type.shape.dim[0].dim_value = batch
    shapes = {node.input[1] for node in copy.graph.node if node.op_type in ("Reshape", "Expand")}
    for tensor in copy.graph.initializer:
        sizes = numpy_helper.to_array(tensor) if tensor.name in shapes else np.array([])
        if sizes.ndim == 1 and sizes.size > 1 and sizes[0] == 1:
            tensor.CopyFrom(numpy_helper.from_array(np.array([batch, *sizes[1:]], sizes.dtype), tensor.name))
    return copy


def offset_problem_text(plan: MemoryPlan) -> str:
    """The buffers of a plan in MiniMalloc's format, with alignment and gaps."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "lower", "upper", "size", "alignment", "gaps"])
    named = _unique([buffer.name for buffer in plan.buffers])
    for name, each in zip(named, plan.buffers, strict=True):
        size = -(-each.bytes // plan.alignment) * plan.alignment
        gaps = " ".join(f"{low}-{high}" for low, high in each.gaps)
        writer.writerow([name, each.birth, each.death, size, plan.alignment, gaps])
    return text.getvalue()


def _order_problem(module: ModuleOp) -> OrderProblem:
    """The program of main's outermost block, whose loops are tasks."""
    main = main_of(module)
    program = read_programs(blocks_of(main, "memory problems"), kernels_of(module), 1)[0]
    names = [_word(op.callee.string_value() if isinstance(op, CallOp) else op.name) for op in program.ops]
    tasks = [f"{name}.{number}" for number, name in enumerate(names)]
    return OrderProblem(program, tasks, [f"v{number}" for number in range(len(program.storage))])


def _unique(names: Sequence[str]) -> list[str]:
    seen = Counter[str]()
    found: list[str] = []
    for name in map(_word, names):
        seen[name] += 1
        found.append(f"{name}#{seen[name]}" if seen[name] > 1 else name)
    return found


def _word(name: str) -> str:
    return re.sub(r"[\s,]+", "_", name)
