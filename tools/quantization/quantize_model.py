"""Quantises the weights of an ONNX model within a budget of error, writes the model, and says what was done."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from onnx import ModelProto
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...dialects.errors import ConfigError
from ...lowering.onnx_to_graph.model_file import ModelFile, load_model
from ...passes.graph.quantization.block_quantiser import BlockNumbers, quantised
from ...passes.graph.quantization.rounded_weights import is_finite
from ..json_reports import Facts
from ..reports.plan_tables import size_text
from ..waiting import working
from .error_budget import Calibration, fewest_left, output_error, product_error, relative_error
from .model_writing import write_model
from .quantised_model import QuantisedForm, quantised_model
from .weight_layers import WeightLayer, kept, weight_layers

BUDGET, KEPT, TABLE, EMPTY = "budget", "kept", "table", "no elements"
SHALLOW, INFINITE = "less deep than a block", "not finite"
"""Why a weight stays in floats."""


@dataclass(frozen=True)
class Request:
    """What is asked for; see the command's options."""

    model: str
    output: str
    bits: int
    symmetric: bool
    how: QuantisedForm
    keep: Sequence[str]
    embeddings: bool
    budget: float | None
    inputs: Sequence[str]
    seed: int | None


@dataclass
class _Result:
    """A layer, what it can be quantised to, and why it stays as it is, if it does."""

    layer: WeightLayer
    bytes: int
    also: int = 0  # bytes of what is written beside its numbers: a table that stays in floats
    stays: str = ""
    numbers: BlockNumbers | None = None
    weight_error: float = 0.0
    output_error: float | None = None

    @property
    def error(self) -> float:
        """The error by which layers are compared."""
        return self.weight_error if self.output_error is None else self.output_error

    @property
    def bytes_after(self) -> int:
        """Bytes of the weight as it is written."""
        if self.stays or self.numbers is None:
            return self.bytes
        zeros = 0 if self.numbers.zeros is None else self.numbers.zeros.size * self.numbers.bits // 8
        return self.numbers.bytes.nbytes + self.numbers.scales.nbytes + zeros + self.also


def quantize_model(asked: Request, console: Console) -> Facts:
    """Quantises a model, writes it, and reports."""
    file, output = load_model(asked.model), Path(asked.output)
    if output.exists() and output.samefile(asked.model):
        raise ConfigError(f"--output {asked.output} is the model itself")
    asked.how.check(file.proto, asked.bits)
    with working(console, "quantising") as tell:
        results = _results(asked, file, tell)
        error = None
        if asked.inputs:
            error = _measured(asked, file, results, tell)
        elif asked.budget is not None:
            for each in results:
                if not each.stays and each.error > asked.budget:
                    each.stays = BUDGET
        tell("writing")
        files = write_model(_written(file, results, asked), file, output)
    sizes = {str(each): each.stat().st_size for each in files}
    return {"model": asked.model, **_told(asked, results, error, console), "files": sizes}


def _results(asked: Request, file: ModelFile, tell: Callable[[str], None]) -> list[_Result]:
    """Every layer, quantised where it can be."""
    layers = weight_layers(file.proto.graph)
    left, results = kept(layers, asked.keep), list[_Result]()
    for layer in layers:
        matrix = layer.matrix(file)
        apart = layer.gathers and not asked.how.has_tables(layer, asked.bits)
        result = _Result(layer, matrix.nbytes, matrix.nbytes if apart else 0)
        results.append(result)
        if not layer.products and (apart or not asked.embeddings):
            result.stays = TABLE
        elif layer.tensor.name in left:
            result.stays = KEPT
        elif matrix.size == 0:
            result.stays = EMPTY
        elif layer.shape[1] < asked.how.block:
            result.stays = SHALLOW
        elif not is_finite(matrix, matrix.dtype):
            result.stays = INFINITE
        else:
            tell(f"quantising {layer.name}")
            symmetric = asked.symmetric
            result.numbers = quantised(
                matrix, asked.bits, asked.how.block, symmetric=symmetric, scale_type=matrix.dtype
            )
            result.weight_error = relative_error(result.numbers.dequantised(), matrix)
    return results


def _written(file: ModelFile, results: Sequence[_Result], asked: Request, left: Collection[int] = ()) -> ModelProto:
    """A copy of the model with all layers quantised that don't stay as they are."""
    chosen = {index: each.numbers for index, each in enumerate(results) if not each.stays and index not in left}
    return quantised_model(file, {index: each for index, each in chosen.items() if each is not None}, asked.how)


def _measured(asked: Request, file: ModelFile, results: Sequence[_Result], tell: Callable[[str], None]) -> float:
    """The error of the model's outputs; leaves the worst layers so that it is within the budget."""
    runs, graph = Calibration(asked.model, file, asked.inputs, asked.seed), file.proto.graph
    order = [index for index, each in enumerate(results) if not each.stays]
    made = {name for node in graph.node for name in node.output} | {each.name for each in graph.input}
    read = {use.node.input[0] for index in order for use in results[index].layer.products}
    names = [each.name for each in graph.output]
    tell("running the model in floats")
    wanted = runs.results(_written(file, results, asked, left=order), read & made)
    for index in order:
        each = results[index]
        assert each.numbers is not None
        tell(f"measuring {each.layer.name}")
        matrix = each.layer.matrix(file).astype(np.float32)
        each.output_error = product_error(each.layer, matrix, each.numbers.dequantised(), wanted)
    order.sort(key=lambda index: -results[index].error)

    def error(left: Collection[int]) -> float:
        tell(f"running the model with {len(order) - len(left)} of {len(order)} weights quantised")
        return output_error(runs.results(_written(file, results, asked, left)), wanted, names)

    count, found = (0, error(())) if asked.budget is None else fewest_left(order, asked.budget, error)
    for index in order[:count]:
        results[index].stays = BUDGET
    return found


def _told(asked: Request, results: Sequence[_Result], error: float | None, console: Console) -> Facts:
    """Prints the table of layers and the totals; the facts."""
    table = Table(box=None, padding=(0, 2))
    for title in ("layer", "rows x depth", "error of weight", "of result", "before", "after", ""):
        table.add_column(title, justify="left" if title in ("layer", "") else "right")
    for each in results:
        rows, depth = each.layer.shape
        errors = (each.weight_error if each.numbers else None, each.output_error)
        texts = ("" if found is None else f"{found:.4f}" for found in errors)
        sizes = size_text(each.bytes), size_text(each.bytes_after)
        table.add_row(each.layer.name, f"{rows} x {depth}", *texts, *sizes, each.stays and f"in floats: {each.stays}")
    if results:
        console.print(table)
    before, after = sum(each.bytes for each in results), sum(each.bytes_after for each in results)
    done = sum(not each.stays for each in results)
    counts = f"{done} of {len(results)} weights in {asked.bits} bits"
    sizes = f"{size_text(before)} before, {size_text(after)} after"
    console.print(Text.assemble((asked.output, "bold"), f": {counts}, {sizes}"))
    if error is not None:
        within = "" if asked.budget is None else f", of {asked.budget:g} that are allowed"
        console.print(f"relative error of the outputs: {error:.4f}{within}")
    layers = [
        {
            "name": each.layer.name,
            "weight": each.layer.tensor.name,
            "rows": each.layer.shape[0],
            "depth": each.layer.shape[1],
            "weight_error": each.weight_error if each.numbers else None,
            "output_error": each.output_error,
            "stays": each.stays or None,
            "bytes_before": each.bytes,
            "bytes_after": each.bytes_after,
        }
        for each in results
    ]
    return {"layers": layers, "error": error}
