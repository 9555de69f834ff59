"""Small float64 modules at the graph level, and the check that passes keep their meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from xdsl.builder import Builder
from xdsl.dialects.builtin import ModuleOp, f64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from mini_infer.dialects.graph.base import GraphOp, named_location
from mini_infer.dialects.graph.blobs import MiniContext, blob_store
from mini_infer.dialects.graph.interpreter import interpret
from mini_infer.dialects.graph.ops.structure import ConstantOp, WeightOp
from mini_infer.dialects.graph.values import Array, element_type_of, shape_of, tensor
from mini_infer.lowering.pipelines import parse_passes

SMALL = 64  # larger arrays become weights


class Graph:
    """A module under construction: `g(AddOp, x, y)` adds an op and gives its result."""

    def __init__(self, *shapes: Sequence[int]) -> None:
        self.ctx = MiniContext()
        self.main = FuncOp("main", ([tensor(f64, shape) for shape in shapes], []))
        self.module = ModuleOp([self.main])
        self.inputs: list[SSAValue] = list(self.main.body.block.args)
        self._builder = Builder(InsertPoint.at_end(self.main.body.block))
        self._names = 0

    def insert(self, op: GraphOp) -> SSAValue:
        """Adds an op, named like an ONNX node; gives its first result."""
        self._names += 1
        op.location = named_location(f"node_{self._names}")
        self._builder.insert(op)
        return op.results[0]

    def __call__(self, kind: Callable[..., GraphOp], *operands: Any, **attributes: Any) -> SSAValue:
        """Adds an op; operands that are numbers or arrays become constants."""
        values = [self.constant(operand) if _is_data(operand) else operand for operand in operands]
        return self.insert(kind(*values, **attributes))

    def constant(self, data: Any) -> SSAValue:
        """A constant of the data's type, or a weight where there is much of it."""
        array = np.asarray(data)
        if array.size <= SMALL:
            return self.insert(ConstantOp.from_numpy(array))
        blob = blob_store(self.ctx).add(array)
        return self.insert(WeightOp(blob, tensor(element_type_of(array.dtype), array.shape)))

    def finish(self, *results: SSAValue) -> ModuleOp:
        """Ends the function."""
        self._builder.insert(ReturnOp(*results))
        self.main.update_function_type()
        self.module.verify()
        return self.module

    def run(self) -> dict[str, Array]:
        """The results for inputs that are always the same."""
        random = np.random.default_rng(7)
        given = {f"input{i}": random.standard_normal(shape_of(x)) for i, x in enumerate(self.main.args)}
        return interpret(self.module, given, blob_store(self.ctx))

    def apply(self, passes: str) -> None:
        """Runs passes and verifies the module after each."""
        for each in parse_passes(passes):
            each.apply(self.ctx, self.module)
            self.module.verify()

    def ops(self) -> Counter[str]:
        """How often each op stands in the module, weights and constants left out."""
        names = [op.name.removeprefix("graph.") for op in self.module.walk() if isinstance(op, GraphOp)]
        return Counter(name for name in names if name not in ("weight", "constant"))

    def only(self, kind: type[GraphOp]) -> Any:
        """The one op of a kind."""
        (op,) = [op for op in self.module.walk() if isinstance(op, kind)]
        return op


def _is_data(operand: Any) -> bool:
    return isinstance(operand, (int, float, np.ndarray, np.generic))


def same_after(graph: Graph, passes: str, *results: SSAValue, tolerance: float = 1e-12) -> Counter[str]:
    """Finishes a graph, runs passes, checks that the meaning stayed; gives the ops that are left."""
    graph.finish(*results)
    before = graph.run()
    graph.apply(passes)
    after = graph.run()
    assert before.keys() == after.keys()
    for name, expected in before.items():
        largest = max(np.abs(expected).max(initial=0), 1e-3) if expected.dtype.kind == "f" else 1
        np.testing.assert_allclose(after[name], expected, rtol=0, atol=tolerance * largest, err_msg=name)
    return graph.ops()
