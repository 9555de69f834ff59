"""Self-checking IR: `mini-opt FILE -t check` runs `main` on values stated in the file, and compares the results.

    func.func @main(%x: tensor<3xf32> {graph.name = "x", graph.value = dense<[-1.0, 0.0, 2.0]> : tensor<3xf32>})
        -> (tensor<3xf32> {graph.name = "y", graph.expect = dense<[0.0, 0.0, 2.0]> : tensor<3xf32>})

The reference interpreter, code with a kernel for every op (for the baseline CPU of this architecture), and optimised
code (for the host CPU) must each give the expected values: integers and booleans exactly, floats within
`graph.tolerance` (relative and absolute; by default 1e-6).
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, DictionaryAttr, FloatAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute

from ...dialects.errors import InvalidInputError, InvalidModelError, MiniInferError
from ...dialects.graph.blobs import MiniContext, blob_store
from ...dialects.graph.interpreter import interpret
from ...dialects.graph.ops.structure import ConstantOp
from ...dialects.symbols import symbol_named

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
TOLERANCE = 1e-6


def check_results(ctx: Context, module: ModuleOp) -> str:
    """One line per output. Raises MiniInferError listing all that differ."""
    from ...runtime.compile.module_to_plan import build_plan
    from ...runtime.config import EngineConfig
    from ...runtime.native.cpu_targets import plainest_cpu

    inputs = given_values(module)
    results = {"reference": interpret(module, inputs, blob_store(ctx))}
    own = cast("MiniContext", ctx)
    for label, optimize, cpu in (("unfused", False, plainest_cpu()), ("fused", True, "")):
        config = EngineConfig(threads=1, enable_graph_optimization=optimize)
        plan = build_plan(module.clone(), own, config, machine=cpu)
        results[label] = plan.create_execution_context().run(inputs)
    lines: list[str] = []
    wrong: list[str] = []
    for name, (expected, tolerance) in expected_values(module).items():
        for label, values in results.items():
            if agree(values[name], expected, tolerance):
                continue
            wrong.append(f"{name}, {label}: {values[name].tolist()}, expected {expected.tolist()}")
        lines.append(f"{name}: {', '.join(results)} agree\n")
    if wrong:
        raise MiniInferError("; ".join(wrong))
    return "".join(lines)


def given_values(module: ModuleOp) -> dict[str, Array]:
    """The input values, by name."""
    return {_name(each): _value(each, "graph.value") for each in _main(module).arg_attrs or ()}


def expected_values(module: ModuleOp) -> dict[str, tuple[Array, float]]:
    """The expected output values with their tolerance, by name."""
    return {
        _name(each): (_value(each, "graph.expect"), _tolerance(each.data.get("graph.tolerance")))
        for each in _main(module).res_attrs or ()
    }


def _tolerance(given: Attribute | None) -> float:
    return given.value.data if isinstance(given, FloatAttr) else TOLERANCE


def _main(module: ModuleOp) -> FuncOp:
    main = symbol_named(module, "main")
    if not isinstance(main, FuncOp):
        raise InvalidModelError("the module has no function @main")
    return main


def _name(attributes: DictionaryAttr) -> str:
    name = attributes.data.get("graph.name")
    if not isinstance(name, StringAttr):
        raise InvalidModelError("every input and output needs a graph.name")
    return name.data


def _value(attributes: DictionaryAttr, key: str) -> Array:
    value = attributes.data.get(key)
    if not isinstance(value, DenseIntOrFPElementsAttr):
        raise InvalidInputError(f"'{_name(attributes)}' has no {key}")
    return ConstantOp(cast("Any", value)).to_numpy()


def agree(value: Array, expected: Array, tolerance: float) -> bool:
    """Whether a value equals the expected one: floats within a tolerance, relative and absolute."""
    if value.shape != expected.shape or value.dtype != expected.dtype:
        return False
    if value.dtype.kind in "biu":
        return np.array_equal(value, expected)
    left, right = value.astype(np.float64), expected.astype(np.float64)
    return np.allclose(left, right, rtol=tolerance, atol=tolerance, equal_nan=True)
