"""What `mini-infer compare` does: outputs against references, then, node by node, where they part.

The outputs of the optimised code are compared with the float64 reference and with ONNX Runtime. To name a node, the
model is compiled once more without fusion and with every intermediate value as an output. With ranges of sizes this is
done at several shapes, with the code of one compile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
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
from ..dialects.graph.caches import CACHE
from ..dialects.graph.host_code import attributes_of_arguments, main_of
from ..dialects.graph.interpret import interpret
from ..dialects.graph.settling import settled
from ..dialects.graph.structure import ConstantOp, WeightOp
from ..dialects.symbolic.sizes import value_at
from ..lowering.levels import level_of
from ..runtime.build import build_plan, import_model
from ..runtime.compiling import build_dynamic
from ..runtime.config import EngineConfig
from ..runtime.signature import input_specs
from ..runtime.specs import ordered_shapes
from .arrays import load_inputs
from .at_shapes import Shape, Sizes, shapes_at

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


@dataclass(frozen=True)
class _Subject:
    """A model at one shape: its graph, with numbers for sizes, and what runs its code."""

    shape: str  # as `--at` takes it; "" where there is only one
    module: ModuleOp
    ctx: MiniContext
    inputs: Mapping[str, Array]
    compiled: Callable[[], Mapping[str, Array]]
    unfused: Callable[[], Mapping[str, Array]]  # every value by the names that `_expose_values` gives


def compare(
    model: str,
    options: Mapping[str, Any],
    files: Sequence[str],
    seed: int,
    tolerance: float,
    console: Console,
    at: Sequence[Sizes] = (),
) -> bool:
    """Prints the comparison; whether every output and every node is within `tolerance` of the reference.

    Of ranges of sizes, at each of `at`.
    """
    config = EngineConfig.of(**options)
    if config.profile is None:
        return _is_within(model, config, _at_one_shape(model, config, files, seed), tolerance, console)
    subjects = _at_shapes(model, config, shapes_at(model, options, at), files, seed, console)
    within = [_is_within(model, config, each, tolerance, console) for each in subjects]
    return all(within)


def _at_one_shape(model: str, config: EngineConfig, files: Sequence[str], seed: int) -> _Subject:
    module, ctx = import_model(model, config)
    if level_of(module) != "graph":
        raise ConfigError(
            f"compare goes node by node at the graph level; the module is at the {level_of(module)} level"
        )
    inputs = load_inputs(files, input_specs(module), seed)

    def run(module: ModuleOp, config: EngineConfig) -> dict[str, Array]:
        return build_plan(module, ctx, config).create_execution_context().run(inputs)

    def unfused() -> dict[str, Array]:
        exposed = module.clone()
        _expose_values(exposed)
        return run(exposed, replace(config, enable_graph_optimization=False))

    return _Subject("", module, ctx, inputs, lambda: run(module.clone(), config), unfused)


def _at_shapes(
    model: str, config: EngineConfig, shapes: Sequence[Shape], files: Sequence[str], seed: int, console: Console
) -> Iterator[_Subject]:
    """The model at each of the shapes, by as few compiles as an engine needs for all of them."""
    imported: list[tuple[ModuleOp, MiniContext]] = []  # what was compiled, the last one last
    inputs = [load_inputs(files, shape.specs, seed) for shape in shapes]

    def prepare(module: ModuleOp, ctx: MiniContext) -> None:
        imported.append((module.clone(), ctx))
        _expose_values(module)

    with console.status("compiled"):
        engine = build_dynamic(model, config)
    with console.status("compiled node by node, unfused"):
        exposed = build_dynamic(model, replace(config, enable_graph_optimization=False), prepare=prepare)
    compiles = {exposed.plan.family: imported[-1]}
    for shape, given in zip(shapes, inputs, strict=True):
        sizes = {spec.name: spec.shape for spec in shape.specs}
        family = exposed.plan_for(sizes).family
        assert family is not None
        module, ctx = compiles.setdefault(family, imported[-1])
        values = family.values_of(ordered_shapes(exposed.input_names, sizes))
        fixed = settled(module, partial(value_at, values=values))
        yield _Subject(shape.text, fixed, ctx, given, partial(engine, given), partial(exposed, given))


def _is_within(model: str, config: EngineConfig, subject: _Subject, tolerance: float, console: Console) -> bool:
    """Prints the comparison at one shape; whether every output and every node is within `tolerance`."""
    module, inputs = subject.module, subject.inputs
    with console.status("float64 reference"):
        reference = interpret(module, inputs, subject.ctx.blobs, precision=np.float64)
    with console.status("compiled"):
        compiled = subject.compiled()
    with console.status("ONNX Runtime"):
        given = {name: np.asarray(value) for name, value in config.specialize.items()}
        peer, reason = _onnxruntime(model, {**inputs, **given})
    errors = {name: relative_error(compiled[name], expected) for name, expected in reference.items()}
    title = "max|e| / max|reference|" + (f" at {subject.shape}" if subject.shape else "")
    table = Table(title=title, box=None, padding=(0, 2), title_justify="left")
    for title in ("output", "mini_infer", "onnxruntime"):
        table.add_column(title)
    for name, error in errors.items():
        theirs = f"{relative_error(peer[name], reference[name]):.2e}" if name in peer else reason
        table.add_row(name, f"{error:.2e}", theirs)
    console.print(table)
    with console.status("node by node, unfused"):
        different = _first_difference(subject, tolerance)
    within = max(errors.values()) <= tolerance
    if different is not None:
        console.print(f"first node that differs, unfused: {different[0]}, error {different[1]:.2e}")
    else:
        console.print(f"every node of the unfused pipeline is within {tolerance:g}")
        if not within:
            console.print("so the outputs part in what optimising adds: fusion, folding or layout")
    return within and different is None


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


def _first_difference(subject: _Subject, tolerance: float) -> tuple[str, float] | None:
    """The first op, in order, whose compiled value is off by more than `tolerance`, and by how much."""
    exposed = subject.module.clone()
    described = _expose_values(exposed)
    expected = interpret(exposed, subject.inputs, subject.ctx.blobs, precision=np.float64)
    values = subject.unfused()
    for name, op in described.items():
        error = relative_error(values[name], expected[name])
        if error > tolerance:
            return op, error
    return None


def _expose_values(module: ModuleOp) -> dict[str, str]:
    """Makes every computed value an output; how the op of each is described, by the output's name, in order.

    There are no caches then: the outputs that lie in them are others.
    """
    main = main_of(module)
    named = [{name: each.data[name] for name in each.data if name != CACHE} for each in attributes_of_arguments(main)]
    main.arg_attrs = ArrayAttr(map(DictionaryAttr, named))
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
