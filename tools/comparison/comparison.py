"""`mini-infer compare`: compares outputs with references, then locates the first wrong node.

The outputs of the optimised code are compared with the float64 reference and with ONNX Runtime, up to the errors that
`rounding` allows. To locate a node, the model is compiled again without fusion and with every value as an output: each
node is evaluated on the values the code computed for its operands, so that an error is attributed to the node that made
it. If no node is wrong but outputs are, the kernels of the optimised code are examined in the same way. Bodies of loops
and branches are compared by their results only. With ranges of sizes this is done at several shapes, with the code of
one compile. A compiled file is compared with the model it was compiled from, at its own shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from ...dialects.errors import ConfigError
from ...dialects.graph.base import describe, node_name
from ...dialects.graph.blobs import MiniContext
from ...dialects.graph.host import kernels_of, main_of
from ...dialects.graph.interpreter import interpret, output_names
from ...dialects.graph.ops.structure import CallOp
from ...dialects.graph.values import Array
from ...lowering.levels import level_of
from ...lowering.onnx_to_graph.model_file import parts_of
from ...runtime.compile.module_to_plan import build_plan, schedule_kernels
from ...runtime.compile.plan_builder import Builder
from ...runtime.compile.source import source_of
from ...runtime.compile.source_to_engine import build_engine
from ...runtime.config import EngineConfig
from ...runtime.kept.artifact import load
from ...runtime.module_interface import input_specs
from .. import json_reports as facts
from ..arrays import load_inputs
from ..asked_shapes import Shape, Sizes, shapes_at, shapes_of
from ..json_reports import Facts
from .exposed_values import ExposedCode, ExposedRanges, Prepare, expose_values
from .references import References
from .rounding import PRECISION, Verdict, relative_error
from .tolerances import Tolerances


@dataclass(frozen=True)
class _Subject:
    """A model at one shape: its graph, with numbers for sizes, and its code."""

    shape: str  # as `--at` takes it; "" where there is only one
    module: ModuleOp
    ctx: MiniContext
    inputs: Mapping[str, Array]
    compiled: Callable[[], Mapping[str, Array]]
    nodes: Callable[[], ExposedCode]
    """Every ONNX op a kernel of its own."""
    kernels: Callable[[], ExposedCode]
    """The kernels of the optimised code."""
    again: Callable[[], Mapping[str, Array]] | None = None
    """What the model gives compiled here and now, where `compiled` is a file's."""


def compare(
    model: str,
    options: Mapping[str, Any],
    files: Sequence[str],
    seed: int | None,
    tolerances: Tolerances,
    console: Console,
    at: Sequence[Sizes] = (),
    of: str | None = None,
) -> Facts:
    """Prints the comparison, and returns it for programs; `right`: every output is, by `rounding` or its tolerance.

    With ranges of sizes, at each of `at`. A .mi file is compared with the model `of` which it was compiled.
    """
    config = EngineConfig.of(**options)
    if of is not None:
        subjects: Iterator[_Subject] = _of_file(model, of, config, at, files, seed)
    elif config.profile is None:
        subjects = iter([_at_one_shape(model, config, files, seed)])
    else:
        subjects = _at_shapes(model, config, shapes_at(model, options, at, files), files, seed, console)
    shapes = [_Comparison(of or model, config, each, tolerances, console).facts() for each in subjects]
    return {"model": model, "right": all(each["right"] for each in shapes), "shapes": shapes}


def _at_one_shape(model: str, config: EngineConfig, files: Sequence[str], seed: int | None) -> _Subject:
    module, ctx = source_of(model).load(config)
    if level_of(module) != "graph":
        raise ConfigError(
            f"compare goes node by node at the graph level; the module is at the {level_of(module)} level"
        )
    inputs = load_inputs(files, input_specs(module), seed)

    def run(module: ModuleOp, config: EngineConfig) -> Mapping[str, Array]:
        return build_plan(module.clone(), ctx, config).create_execution_context().run(inputs)

    def exposed(config: EngineConfig, prepare: Prepare) -> ExposedCode:
        copy = module.clone()
        prepare(copy, ctx)
        outputs = expose_values(copy)
        return ExposedCode(copy, ctx, outputs, lambda: run(copy, config))

    nodes, kernels = (partial(exposed, *how) for how in _ways(config))
    return _Subject("", module, ctx, inputs, lambda: run(module, config), nodes, kernels)


def _of_file(
    file: str, model: str, given: EngineConfig, at: Sequence[Sizes], files: Sequence[str], seed: int | None
) -> Iterator[_Subject]:
    """The model that a file was compiled from, at shapes that the file has code for.

    Raises ConfigError for a model with other inputs or outputs.
    """
    engine = load(file)

    def check(what: str, ours: Iterable[str], theirs: Iterable[str]) -> None:
        if set(ours) != set(theirs):
            listed = f"{what} are {', '.join(ours)}, not {', '.join(theirs)}"
            raise ConfigError(f"{file} wasn't compiled of {model}: its {listed}")

    names = [[spec.name for spec in specs] for specs in (engine.plan.inputs, engine.plan.outputs)]
    check("inputs", names[0], [name for name in parts_of(model)[1] if name not in given.specialize])
    config = replace(
        engine.config, specialize=given.specialize, profile=None, enable_dynamic_shapes=False, dims={}, tuned=False
    )
    for shape in shapes_of(engine, file, at, files):
        sizes = {spec.name: [int(size) for size in spec.shape] for spec in shape.specs}
        subject = _at_one_shape(model, replace(config, shapes=sizes), files, seed)
        check("outputs", names[1], output_names(main_of(subject.module)))
        compiled = partial(engine, subject.inputs)
        yield replace(subject, shape=shape.text, compiled=compiled, again=subject.compiled)


def _ways(config: EngineConfig) -> tuple[tuple[EngineConfig, Prepare], tuple[EngineConfig, Prepare]]:
    """The two configurations: code by nodes, which on a CPU rounds no operands, and code by kernels."""
    return (unfused(config), lambda module, ctx: None), (config, partial(schedule_kernels, config=config))


def unfused(config: EngineConfig) -> EngineConfig:
    """The configuration of code by nodes."""
    precision = "fp32" if config.device == "cpu" else config.precision
    return replace(config, enable_graph_optimization=False, precision=precision)


def _at_shapes(
    model: str, config: EngineConfig, shapes: Sequence[Shape], files: Sequence[str], seed: int | None, console: Console
) -> Iterator[_Subject]:
    """The model at each of the shapes, with as few compiles as an engine needs for all of them."""
    inputs = [load_inputs(files, shape.specs, seed) for shape in shapes]
    with console.status("compiled"):
        engine = build_engine(Builder(source_of(model), config))
    plain, optimised = _ways(config)
    with console.status("compiled node by node, unfused"):
        nodes = ExposedRanges(model, *plain)
    kernels = cache(lambda: ExposedRanges(model, *optimised))
    for shape, given in zip(shapes, inputs, strict=True):
        module, code = nodes.at(shape, given)
        yield _Subject(
            shape.text,
            module,
            code.ctx,
            given,
            partial(engine, given),
            lambda code=code: code,
            lambda shape=shape, given=given: kernels().at(shape, given)[1],
        )


class _Comparison:
    """The comparison of a model at one shape."""

    def __init__(
        self, model: str, config: EngineConfig, subject: _Subject, tolerances: Tolerances, console: Console
    ) -> None:
        self.subject, self.tolerances, self.console = subject, tolerances, console
        self._model, self._config = model, config
        step = PRECISION.get(config.precision, 0.0)
        self.references = References(subject.module, subject.ctx, subject.inputs, tolerances, step)
        self._found: dict[str, Any] = {
            "shape": subject.shape,
            "inputs": facts.arrays(subject.inputs),
            "outputs": [],
            "node": None,
            "remarks": [],
        }

    def facts(self) -> dict[str, Any]:
        """Prints the comparison; returns it for programs."""
        right = self.is_right()
        return {**self._found, "right": right}

    def is_right(self) -> bool:
        """Prints the comparison; returns whether every output is right."""
        with self.console.status("float64 reference"):
            exact = self.references.exact
        with self.console.status("compiled"):
            compiled = self.subject.compiled()
        verdicts = self.references.verdicts(compiled)
        self._print_outputs(verdicts, exact, compiled)
        with self.console.status("node by node, unfused"):
            code = self.subject.nodes()
            values = code.run()
            wrong = self.references.first_wrong(code, values)
        right = all(each.is_right for each in verdicts.values())
        if wrong is not None:
            op, verdict = wrong
            self._found["node"] = node_name(op)
            self._say(f"first node that differs, unfused: {describe(op)}, {verdict.text}")
            if right:
                self._say("the outputs are right all the same")
            return right
        self._say(f"every node of the unfused pipeline is {self._within}{_in_bodies(code.module)}")
        if not right:
            unfused = {name: values[value] for name, value in code.outputs.items()}
            right = all(each.is_right for each in self.references.verdicts(compiled, unfused).values())
            if right:
                self._say("and the outputs are no further off than its own: rounding adds up")
        if not right:
            self._say(f"so the outputs part in {self._blame()}")
        return right

    @property
    def _within(self) -> str:
        tolerance = self.tolerances.default
        return "right, as rounding goes" if tolerance is None else f"within {tolerance:g}"

    def _say(self, text: str) -> None:
        self._found["remarks"].append(text)
        self.console.print(text, soft_wrap=True)

    def _print_outputs(
        self, verdicts: Mapping[str, Verdict], exact: Mapping[str, Array], compiled: Mapping[str, Array]
    ) -> None:
        with self.console.status("ONNX Runtime"):
            given = {name: np.asarray(value) for name, value in self._config.specialize.items()}
            peer, reason = _onnxruntime(self._model, {**self.subject.inputs, **given})
        title = "max|e| / max|reference|" + (f" at {self.subject.shape}" if self.subject.shape else "")
        table = Table(title=title, box=None, padding=(0, 2), title_justify="left")
        for title in ("output", "mini_infer", "onnxruntime", "allowed"):
            table.add_column(title)
        outputs: list[dict[str, Any]] = self._found["outputs"]
        for name, verdict in verdicts.items():
            theirs = relative_error(peer[name], exact[name]) if name in peer else None
            told = reason if theirs is None else f"{theirs:.2e}"
            table.add_row(name, f"{verdict.error:.2e}", told, f"{verdict.allowed:.1e}")
            errors = {"error": verdict.error, "allowed": verdict.allowed, "onnxruntime": theirs}
            outputs.append({**facts.arrays({name: compiled[name]})[0], **errors, "right": verdict.is_right})
        self.console.print(table)

    def _blame(self) -> str:
        """The error of the optimised code, or of the file, if each node alone is right."""
        subject = self.subject
        if subject.again is not None:
            again = self.references.verdicts(subject.again())
            if all(each.is_right for each in again.values()):
                return "the file: the model compiled here and now is right"
        return f"what optimising adds: {self._blame_of_optimising()}"

    def _blame_of_optimising(self) -> str:
        subject = self.subject
        with self.console.status("kernel by kernel"):
            code = subject.kernels()
            wrong = self.references.first_wrong(code, code.run())
            if wrong is not None:
                op, verdict = wrong
                return f"{kernel_text(op, code.module)}, {verdict.text}"
            values = interpret(code.module, subject.inputs, code.ctx.blobs, precision=np.float64)
        meant = {name: values[value] for name, value in code.outputs.items()}
        verdicts = self.references.verdicts({**self.references.exact, **meant})
        if all(each.is_right for each in verdicts.values()):
            return "each kernel is right by itself, so memory is shared wrongly; see `run --check-memory`"
        return "a graph pass changes what is computed"


def kernel_text(op: Operation, module: ModuleOp) -> str:
    """A call's kernel with its nodes."""
    if not isinstance(op, CallOp):
        return describe(op)
    name = op.callee.string_value()
    nodes = dict.fromkeys(describe(each) for each in kernels_of(module)[name].body.block.ops if node_name(each))
    return f"kernel {name} of {', '.join(nodes) or describe(op)}"


def _in_bodies(module: ModuleOp) -> str:
    """The note on loops and branches."""
    count = sum(1 for op in main_of(module).body.block.ops if op.regions)
    return f"; {count} with bodies (If, Loop, Scan) by what they give" if count else ""


def _onnxruntime(model: str, inputs: Mapping[str, Array]) -> tuple[dict[str, Array], str]:
    """Outputs by name, and why there are no others: texts and maps can't be compared with places and scores."""
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
        found = zip(names, map(np.asarray, session.run(None, dict(inputs))), strict=True)
        return {name: each for name, each in found if each.dtype != object}, "has labels"
    except Exception as error:  # its own types, which share no other base
        return {}, f"refused: {type(error).__name__}"
