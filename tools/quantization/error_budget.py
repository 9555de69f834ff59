"""What quantisation costs in accuracy, measured; and which weights stay in floats so that it is within a budget."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from onnx import ModelProto, ValueInfoProto

from ...dialects.graph.values import Array, is_float_dtype
from ...lowering.onnx_to_graph.model_file import ModelFile
from ...runtime.compile.entry import compile
from ..arrays import load_inputs
from ..given_sizes import with_given_sizes
from .model_writing import write_model
from .weight_layers import WeightLayer, is_turned

_ROWS = 256  # of a layer's inputs, by which its result's error is measured


def relative_error(found: Array, wanted: Array) -> float:
    """|found - wanted| / |wanted|, by Euclidean norms; of zeros, 0 or infinity."""
    found, wanted = (each.astype(np.float64).reshape(-1) for each in (found, wanted))
    off, size = float(np.linalg.norm(found - wanted)), float(np.linalg.norm(wanted))
    return off / size if size else float("inf") if off else 0.0


class Calibration:
    """A model's results for given inputs, and those of changed copies of it."""

    def __init__(self, model: str, file: ModelFile, inputs: Sequence[str], seed: int | None) -> None:
        self._model, self._file, self._files, self._seed = model, file, inputs, seed
        self._options = with_given_sizes(model, {"dims": {}, "shapes": {}, "specialize": {}}, inputs)

    def results(self, proto: ModelProto, more: Collection[str] = ()) -> dict[str, Array]:
        """The outputs of a copy of the model, and further values, of which inputs may be some."""
        named = {each.name for each in (*proto.graph.output, *proto.graph.input)}
        proto.graph.output.extend(ValueInfoProto(name=name) for name in sorted(set(more) - named))
        with TemporaryDirectory(prefix="mini-infer-") as folder:
            path = Path(folder, Path(self._model).name)
            write_model(proto, self._file, path)
            engine = compile(path, cache=False, **self._options)
            inputs = load_inputs(self._files, engine.plan.inputs, self._seed)
            return {**inputs, **engine(inputs)}


def output_error(found: Mapping[str, Array], wanted: Mapping[str, Array], names: Sequence[str]) -> float:
    """The largest relative error of the outputs that are floats."""
    floats = [name for name in names if is_float_dtype(wanted[name].dtype)]
    return max((relative_error(found[name], wanted[name]) for name in floats), default=0.0)


def product_error(layer: WeightLayer, matrix: Array, found: Array, values: Mapping[str, Array]) -> float | None:
    """The relative error of a layer's products by `found` instead of its matrix; None if no left operand is known."""
    parts: list[tuple[Array, Array]] = []
    for use in layer.products:
        x = values.get(use.node.input[0])
        if x is not None:
            x = x.astype(np.float32)
            rows = x.T if is_turned(use.node) else x.reshape(-1, x.shape[-1])
            rows = rows[:: max(1, len(rows) // _ROWS)]
            parts.append((rows @ found.T, rows @ matrix.T))
    if not parts:
        return None
    return relative_error(*(np.concatenate([part[side].reshape(-1) for part in parts]) for side in (0, 1)))


def fewest_left(order: Sequence[int], budget: float, error: Callable[[Collection[int]], float]) -> tuple[int, float]:
    """How many of the first ones of `order` must be left for an error within the budget, and the error then.

    With all of them left there is none. Leaving more is taken to make it less: the number is found by bisection.
    """
    best = error(())
    if best <= budget:
        return 0, best
    low, high, best = 0, len(order), 0.0  # too few, and enough
    while high - low > 1:
        middle = (low + high) // 2
        if (found := error(order[:middle])) <= budget:
            high, best = middle, found
        else:
            low = middle
    return high, best
