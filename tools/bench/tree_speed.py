"""Times of a tree ensemble for 1 to 10,000 rows, beside ONNX Runtime and, of a LightGBM model, beside lleaves.

    python -m mini_infer.tools.bench.tree_speed                       1,000 random complete trees of depth 8
    python -m mini_infer.tools.bench.tree_speed --trees 100 --depth 6 --threads 2
    python -m mini_infer.tools.bench.tree_speed --lightgbm model.txt  a model saved by LightGBM

Each engine runs alone, in turn, on the same rows, which are drawn anew for each run: a branch predictor learns the ways
of rows that it meets again. Microseconds of a call are medians.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Annotated, Any

import numpy as np
import typer
from google.protobuf.message import DecodeError
from onnx import ModelProto, TensorProto, helper

from ...dialects.errors import ConfigError
from ...dialects.graph.values import Array
from ...runtime.compile.entry import compile as compile_model
from ..one_line_errors import run_alone

ROWS = (1, 10, 100, 1_000, 10_000)
BATCHES = 8
"""Different rows that runs take in turn."""


def random_ensemble(trees: int, depth: int, features: int, seed: int = 0) -> ModelProto:
    """A TreeEnsembleRegressor [N, features] -> [N, 1] of complete trees with random thresholds and leaves."""
    random = np.random.default_rng(seed)
    inner, total = (1 << depth) - 1, (2 << depth) - 1
    places: Array = np.arange(total)
    below: Array = np.where(places < inner, 2 * places + 1, 0)
    tree: Array = np.repeat(np.arange(trees), total)
    leaf: Array = np.arange(inner, total)
    attributes: dict[str, Any] = {
        "n_targets": 1,
        "nodes_treeids": tree,
        "nodes_nodeids": np.tile(places, trees),
        "nodes_featureids": random.integers(0, features, trees * total),
        "nodes_values": random.normal(size=trees * total).astype(np.float32),
        "nodes_truenodeids": np.tile(below, trees),
        "nodes_falsenodeids": np.tile(below + (below > 0), trees),
        "target_treeids": np.repeat(np.arange(trees), len(leaf)),
        "target_nodeids": np.tile(leaf, trees),
        "target_ids": np.zeros(trees * len(leaf), np.int64),
        "target_weights": random.normal(size=trees * len(leaf)).astype(np.float32),
    }
    given = {name: each.tolist() if isinstance(each, np.ndarray) else each for name, each in attributes.items()}
    given["nodes_modes"] = (["BRANCH_LEQ"] * inner + ["LEAF"] * len(leaf)) * trees
    node = helper.make_node("TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", **given)
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", n]) for name, n in (("x", features), ("y", 1)))
    opsets = [helper.make_opsetid("ai.onnx.ml", 3), helper.make_opsetid("", 17)]
    return helper.make_model(helper.make_graph([node], "trees", [x], [y]), opset_imports=opsets, ir_version=8)


@dataclass(frozen=True)
class _Peer:
    """An engine: its name, and what makes a function of rows for a number of them."""

    name: str
    of_rows: Callable[[int], Callable[[Array], Any]]


def _onnxruntime(model: ModelProto, name: str, threads: int) -> _Peer | None:
    try:
        runtime: Any = import_module("onnxruntime")  # has no usable types
    except ImportError:
        return None
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return _Peer("onnxruntime", lambda _: lambda x: session.run(None, {name: x})[0])


def _lleaves(file: str, threads: int) -> _Peer | None:
    try:
        lleaves: Any = import_module("lleaves")  # has no types
    except ImportError:
        return None
    compiled = lleaves.Model(model_file=file)
    try:
        compiled.compile()
    except AttributeError as error:  # lleaves 1.3 needs llvmlite 0.44 or older
        print(f"lleaves can't compile with the llvmlite that is installed: {error}", file=sys.stderr)
        return None
    return _Peer("lleaves", lambda _: lambda x: compiled.predict(x.astype(np.float64), n_jobs=threads))


def _ours(model: ModelProto, name: str, width: int, threads: int) -> _Peer:
    def of_rows(rows: int) -> Callable[[Array], Any]:
        engine = compile_model(model, shapes={name: [rows, width]}, threads=threads)
        return lambda x: engine(x)

    return _Peer("mini_infer", of_rows)


def _microseconds(run: Callable[[Array], Any], batches: list[Array], seconds: float) -> float:
    """The median of runs for some time, at least three."""
    times: list[float] = []
    run(batches[0])
    ends = perf_counter() + seconds
    while len(times) < 3 or perf_counter() < ends:
        x = batches[len(times) % len(batches)]
        start = perf_counter()
        run(x)
        times.append(perf_counter() - start)
    return median(times) * 1e6


def measure(model: ModelProto, threads: int, seconds: float, lightgbm: str | None = None) -> list[Mapping[str, Any]]:
    """For each number of rows, each engine's microseconds by its name; a peer that isn't installed is left out."""
    given = model.graph.input[0]
    sizes = [each.dim_value for each in given.type.tensor_type.shape.dim]
    if len(sizes) != 2 or not sizes[1]:
        raise ConfigError(f"input {given.name} declares no number of features: its shape must be rows by features")
    width = sizes[1]
    made = [_ours(model, given.name, width, threads), _onnxruntime(model, given.name, threads)]
    peers = [each for each in (*made, _lleaves(lightgbm, threads) if lightgbm else None) if each is not None]
    random = np.random.default_rng(1)
    found: list[Mapping[str, Any]] = []
    for rows in ROWS:
        batches = [random.normal(size=(rows, width)).astype(np.float32) for _ in range(BATCHES)]
        runs = {peer.name: peer.of_rows(rows) for peer in peers}
        times = {name: _microseconds(run, batches, seconds) for name, run in runs.items()}
        found.append({"rows": rows, **times})
    return found


def _read_onnx(file: str) -> ModelProto:
    try:
        return ModelProto.FromString(Path(file).read_bytes())
    except DecodeError:
        raise ConfigError(f"{file} is no ONNX model") from None


def _read_lightgbm(file: str) -> ModelProto:
    try:
        lightgbm: Any = import_module("lightgbm")
        convert: Any = import_module("onnxmltools").convert_lightgbm
        types: Any = import_module("onnxmltools.convert.common.data_types")
    except ImportError as error:
        raise ConfigError(f"{error}: pip install lightgbm onnxmltools") from None
    booster = lightgbm.Booster(model_file=file)
    inputs = [("x", types.FloatTensorType([None, booster.num_feature()]))]
    return convert(booster, initial_types=inputs, target_opset=15, zipmap=False)


def tree_speed(
    trees: Annotated[int, typer.Option(min=1, help="Random trees.")] = 1000,
    depth: Annotated[int, typer.Option(min=1, max=16, help="Their depth.")] = 8,
    features: Annotated[int, typer.Option(min=1, help="Features of a row.")] = 32,
    threads: Annotated[int, typer.Option(min=1, help="Threads of each engine.")] = 1,
    seconds: Annotated[float, typer.Option(min=0.001, help="Time for each engine and number of rows.")] = 1.0,
    model: Annotated[str | None, typer.Option(help="An ONNX model of trees in their place.")] = None,
    lightgbm: Annotated[str | None, typer.Option(help="A model saved by LightGBM, in their place.")] = None,
) -> None:
    """Prints a table of microseconds for each call."""
    if model is not None and lightgbm is not None:
        raise ConfigError("--model and --lightgbm are two models; give one of them")
    if model is not None:
        proto = _read_onnx(model)
    else:
        proto = random_ensemble(trees, depth, features) if lightgbm is None else _read_lightgbm(lightgbm)
    for row in measure(proto, threads, seconds, lightgbm):
        ours = row["mini_infer"]
        peers = [(name, time) for name, time in row.items() if name not in ("rows", "mini_infer")]
        told = "".join(f"   {name} {time:12.1f} us, {time / ours:5.2f} times" for name, time in peers)
        print(f"{row['rows']:6} rows   mini_infer {ours:12.1f} us{told}")


if __name__ == "__main__":
    run_alone(tree_speed)
