"""What `mini-infer compare` does: outputs against references, then, node by node, where they part.

The outputs of the optimised code are compared with the float64 reference and with ONNX Runtime. To name a node, the
model is compiled once more without fusion and with every intermediate value as an output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias, cast

import numpy as np
from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, StringAttr
from xdsl.dialects.func import ReturnOp
from xdsl.ir import SSAValue

from ..dialects.errors import ConfigError
from ..dialects.graph.base import describe
from ..dialects.graph.blobs import MiniContext
from ..dialects.graph.host_code import main_of
from ..dialects.graph.interpret import interpret
from ..dialects.graph.structure import ConstantOp, WeightOp
from ..lowering.levels import level_of
from ..runtime.build import build_plan, import_model
from ..runtime.config import EngineConfig
from ..runtime.signature import input_specs
from .arrays import load_inputs

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"


def relative_error(value: Array, reference: Array) -> float:
    """max|value - reference| / max|reference| over what is finite; inf where other elements are finite."""
    left, right = value.astype(np.float64), reference.astype(np.float64)
    finite = np.isfinite(right)
    if not np.array_equal(np.isfinite(left), finite):
        return float("inf")
    if not finite.any():
        return 0.0
    scale = float(np.max(np.abs(right[finite])))
    return float(np.max(np.abs(left[finite] - right[finite]))) / (scale or 1.0)


def compare(
    model: str,
    options: Mapping[str, Any],
    files: Sequence[str],
    seed: int,
    tolerance: float,
    console: Console,
) -> bool:
    """Prints the comparison; whether every output and every node is within `tolerance` of the reference."""
    config = EngineConfig.of(**options)
    unfused = replace(config, enable_graph_optimization=False)
    module, ctx = import_model(model, config)
    if level_of(module) != "graph":
        raise ConfigError(
            f"compare goes node by node at the graph level; the module is at the {level_of(module)} level"
        )
    inputs = load_inputs(files, input_specs(module), seed)
    with console.status("float64 reference"):
        reference = interpret(module, inputs, ctx.blobs, precision=np.float64)
    with console.status("compiled"):
        compiled = _run(module.clone(), ctx, config, inputs)
    with console.status("ONNX Runtime"):
        given = {name: np.asarray(value) for name, value in config.specialize.items()}
        peer, reason = _onnxruntime(model, {**inputs, **given})
    errors = {name: relative_error(compiled[name], expected) for name, expected in reference.items()}
    table = Table(title="max|e| / max|reference|", box=None, padding=(0, 2), title_justify="left")
    for title in ("output", "mini_infer", "onnxruntime"):
        table.add_column(title)
    for name, error in errors.items():
        theirs = f"{relative_error(peer[name], reference[name]):.2e}" if name in peer else reason
        table.add_row(name, f"{error:.2e}", theirs)
    console.print(table)
    with console.status("node by node, unfused"):
        different = _first_difference(module, ctx, unfused, inputs, tolerance)
    within = max(errors.values()) <= tolerance
    if different is not None:
        console.print(f"first node that differs, unfused: {different[0]}, error {different[1]:.2e}")
    else:
        console.print(f"every node of the unfused pipeline is within {tolerance:g}")
        if not within:
            console.print("so the outputs part in what optimising adds: fusion, folding or layout")
    return within and different is None


def _run(module: ModuleOp, ctx: MiniContext, config: EngineConfig, inputs: Mapping[str, Array]) -> dict[str, Array]:
    return build_plan(module, ctx, config).create_execution_context().run(inputs)


def _onnxruntime(model: str, inputs: Mapping[str, Array]) -> tuple[dict[str, Array], str]:
    """Outputs by name; or none, and the reason."""
    try:
        runtime: Any = import_module("onnxruntime")
    except ImportError:
        return {}, "not installed"
    if Path(model).suffix == ".mlir":
        return {}, "takes no .mlir"
    settings = runtime.SessionOptions()
    settings.log_severity_level = 4  # what goes wrong is raised
    try:
        session = runtime.InferenceSession(model, settings, providers=["CPUExecutionProvider"])
        names = [output.name for output in session.get_outputs()]
        return dict(zip(names, session.run(None, dict(inputs)), strict=True)), ""
    except Exception as error:  # its own types, which share no other base
        return {}, f"refused: {type(error).__name__}"


def _first_difference(
    module: ModuleOp, ctx: MiniContext, config: EngineConfig, inputs: Mapping[str, Array], tolerance: float
) -> tuple[str, float] | None:
    """The first op, in order, whose compiled value is off by more than `tolerance`, and by how much."""
    exposed = module.clone()
    described = _expose_values(exposed)
    expected = interpret(exposed, inputs, ctx.blobs, precision=np.float64)
    values = _run(exposed, ctx, config, inputs)
    for name, op in described.items():
        error = relative_error(values[name], expected[name])
        if error > tolerance:
            return op, error
    return None


def _expose_values(module: ModuleOp) -> dict[str, str]:
    """Makes every computed value an output; how the op of each is described, by the output's name, in order."""
    main = main_of(module)
    block = main.body.block
    values: list[SSAValue] = []
    described: dict[str, str] = {}
    for op in block.ops:
        if not isinstance(op, ConstantOp | ReturnOp | WeightOp):
            for result in op.results:
                described[f"value{len(values)}"] = describe(op)
                values.append(result)
    cast("ReturnOp", block.last_op).detach()
    block.add_op(ReturnOp(*values))
    main.update_function_type()
    main.res_attrs = ArrayAttr([DictionaryAttr({"graph.name": StringAttr(name)}) for name in described])
    return described
