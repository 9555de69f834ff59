"""`mini-infer compare A --with B`: two models layer by layer, by the ONNX tensors that both have.

The first model is the reference: one in floats beside a quantised one, or one model under two sets of options. A
layer's error grows by the ratio of the error of its result to the largest one that reaches it, through whatever tensors
only the first model has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from ...dialects.errors import ConfigError
from ...dialects.graph.values import Array, is_float_dtype
from ...lowering.onnx_to_graph.check import ordered_nodes
from ...lowering.onnx_to_graph.model_file import load_model
from ...runtime.compile.intermediates import Intermediates
from ...runtime.compile.source import source_of
from ...runtime.config import EngineConfig
from ...runtime.module_interface import input_specs
from ..arrays import load_inputs
from ..json_reports import Facts, arrays
from ..reports.figure_files import write_figure
from .error_chart import draw_errors
from .layer_error import LayerError
from .rounding import relative_error
from .tolerances import Tolerances


@dataclass(frozen=True)
class Compared:
    """A file, and the options to compile it with; `versus` are those that only it has, as texts."""

    file: str
    options: Mapping[str, Any]
    versus: Sequence[str] = ()

    @property
    def title(self) -> str:
        """The file's name, and what is special."""
        return " ".join([Path(self.file).name, *(["with", ", ".join(self.versus)] if self.versus else [])])


HIDDEN = 100
"""A node that makes errors so many times smaller hides them behind large numbers, as adding a mask of -1e9 does."""
MOST_TOLD = 5  # layers named for their growth


def compare_layers(
    first: Compared,
    second: Compared,
    files: Sequence[str],
    seed: int | None,
    tolerances: Tolerances,
    plot: str | None,
    console: Console,
) -> Facts:
    """Prints the errors of the second model's tensors, and returns them; `right`: its outputs are within tolerances."""
    model, other = first.file, second.file
    config = EngineConfig.of(**first.options)
    module, _ = source_of(model).load(config)
    inputs = load_inputs(files, input_specs(module), seed)
    with console.status(first.title):
        values = Intermediates(source_of(model), config)(inputs)
    with console.status(second.title):
        other_config = EngineConfig.of(**second.options)
        given = _inputs_of(other, other_config, inputs, model)
        others = Intermediates(source_of(other), other_config)(given)
    graph = load_model(model).proto.graph
    outputs = [each.name for each in graph.output]
    tolerances.check(outputs)
    errors = list(_errors(graph, values, others))
    if not errors:
        raise ConfigError(f"{model} and {other} have no tensor in common: tensors are compared by their ONNX names")
    right = _are_right(errors, outputs, tolerances, other)
    told = "in order" if len(errors) == len(values) - len(inputs) else "in order; others are in one model only"
    console.print(f"{len(errors)} tensors of {second.title} beside {first.title}, {told}:", soft_wrap=True)
    console.print(_table(errors, outputs))
    _tell_growth(errors, console)
    if plot is not None:
        write_figure(draw_errors(errors, outputs, f"{second.title} beside {first.title}"), plot)
    tensors = [
        {
            "name": each.name,
            "node": each.node,
            "operator": each.operator,
            "error": each.error,
            "rms": each.rms,
            "entering": each.entering,
            "growth": each.growth,
            "output": each.name in outputs,
        }
        for each in errors
    ]
    names = {"model": model, "other": other, "versus": list(second.versus)}
    return {**names, "inputs": arrays(inputs), "right": right, "tensors": tensors}


def _are_right(errors: Sequence[LayerError], outputs: Sequence[str], tolerances: Tolerances, other: str) -> bool:
    """Whether all outputs with a tolerance are within it. Raises ConfigError for one that wasn't compared."""
    found = {each.name: each.error for each in errors}
    right = True
    for name in outputs:
        tolerance = tolerances.for_output(name)
        if tolerance is not None and name not in found:
            raise ConfigError(f"--tolerance: {other} has no output {name} of the same shape and kind")
        right = right and (tolerance is None or found[name] <= tolerance)
    return right


def _inputs_of(other: str, config: EngineConfig, inputs: Mapping[str, Array], model: str) -> dict[str, Array]:
    """The inputs of the other model: those of the first by name, floats in its own types."""
    module, _ = source_of(other).load(config)
    found: dict[str, Array] = {}
    for spec in input_specs(module):
        if spec.name not in inputs:
            raise ConfigError(f"{other} has an input {spec.name}, which {model} has not")
        array = inputs[spec.name]
        both_float = is_float_dtype(array.dtype) and is_float_dtype(spec.dtype)
        found[spec.name] = array.astype(spec.dtype) if both_float else array
    return found


def _errors(graph: Any, values: Mapping[str, Array], others: Mapping[str, Array]) -> Iterator[LayerError]:
    """The tensors that both have with one shape, and of one kind of numbers, in the order of the graph."""
    largest: dict[str, float] = {}  # the error that a tensor brings to what reads it
    for node_name, node in ordered_nodes(graph):
        entering = max((largest[name] for name in node.input if name in largest), default=None)
        for name in node.output:
            if name in values and name in others and _are_alike(values[name], others[name]):
                error, rms = relative_error(others[name], values[name]), _rms_ratio(others[name], values[name])
                yield LayerError(name, node_name, node.op_type, error, rms, entering)
                hides = entering is not None and error < entering / HIDDEN
                largest[name] = entering if hides and entering is not None else error
            elif entering is not None:
                largest[name] = entering


def _are_alike(array: Array, other: Array) -> bool:
    floats = [is_float_dtype(each.dtype) for each in (array, other)]
    return array.shape == other.shape and (all(floats) or (not any(floats) and array.dtype == other.dtype))


def _rms_ratio(value: Array, reference: Array) -> float:
    """The root mean square of the difference, relative to that of the reference; over finite numbers."""
    left, right = value.astype(np.float64), reference.astype(np.float64)
    finite = np.isfinite(left) & np.isfinite(right)
    if not finite.any():
        return 0.0
    off, scale = (float(np.sqrt(np.mean(np.square(each[finite])))) for each in (left - right, right))
    return off / (scale or 1.0)


def _table(errors: Sequence[LayerError], outputs: Sequence[str]) -> Table:
    table = Table(box=None, padding=(0, 2))
    table.add_column("tensor")
    table.add_column("operator")
    for heading in ("max|e| / max|ref|", "rms", "growth"):
        table.add_column(heading, justify="right")
    for each in errors:
        growth = "" if each.growth is None else f"{each.growth:.2f}"
        name = f"{each.name} (output)" if each.name in outputs else each.name
        table.add_row(name, each.operator, f"{each.error:.2e}", f"{each.rms:.2e}", growth)
    return table


def _tell_growth(errors: Sequence[LayerError], console: Console) -> None:
    """The layers at which the error grows most."""
    grown = sorted((each for each in errors if (each.growth or 0.0) > 1.0), key=lambda each: -(each.growth or 0.0))
    if grown:
        told = ", ".join(f"{each.node} ({each.operator}) {each.growth:.1f} times" for each in grown[:MOST_TOLD])
        console.print(f"the error grows most in {told}", soft_wrap=True)
