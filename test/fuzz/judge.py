"""Is what a compiled graph gives right? Held against onnx.reference, in its own types and in float64, and ONNX Runtime.

Exact results are the same as a peer's in every bit. Floats may be as far from float64 as the coarsest type lets them
that was on the way, or a few times as far as a peer's own: a cancellation costs everyone digits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from everything_tiled import everything_streamed, everything_tiled
from fuzz.growth import BFLOAT16, Case, distance, wide_array, widened
from fuzz.growth import onnx_type as type_number
from fuzz.reference import evaluate, runtime_of
from onnx import GraphProto, ModelProto, TensorProto, helper, numpy_helper

import mini_infer as mi
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.onnx_to_graph.model_description import with_inferred_shapes
from mini_infer.runtime.plan import InferencePlan

OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "without graph optimisation": {"enable_graph_optimization": False},
    "2 threads": {"threads": 2},
    "128 bits, pools": {"vector_bits": 128, "planner": "pools", "memory_alignment": 64},
    "checked memory": {"check_memory": True},  # the next one too: it compiles both and compares them
    "without memory planning": {"enable_memory_planning": False},
    "tiled batches": {},
    "bands of rows": {},
    "on a GPU": {"device": "cuda-emulated", "gpu": "sm_90a", "threads": None, "compile_threads": None},
    "on a GPU, by warpgroups": {
        "device": "cuda-emulated",
        "gpu": "sm_90a",
        "precision": "3xtf32",  # nearly that of f32
        "threads": None,
        "compile_threads": None,
    },
}
TILED, STREAMED = "tiled batches", "bands of rows"
FORCED: Mapping[str, Callable[[], AbstractContextManager[None]]] = {
    TILED: everything_tiled,
    STREAMED: everything_streamed,
}
"""What passes do other than usual where a label has such words in it."""
# These differ from "default" in memory and in who does the work: not one bit may differ.
SAME_BITS = ("2 threads", "checked memory", "without memory planning")

BASE = {"threads": 1, "compile_threads": 1}

TOLERANCE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 2e-5, np.dtype(np.float16): 2e-2, BFLOAT16: 1e-1}
FACTOR = 8  # of a peer's own error
ROUNDED = 1e-1  # of products whose left-hand side may be rounded to 8 bits, as ONNX Runtime does where it pays for it
BELIEVED = 20  # tolerances: a peer that is further off means something else

Results = Mapping[str, Array]


@dataclass(frozen=True)
class Verdict:
    """What is wrong with a graph's results, or why there are none; empty where all is well."""

    wrong: tuple[str, ...] = ()
    refused: str = ""
    compiles: int = 0  # of a graph with ranges: how often code was made


def judged(case: Case, options: Mapping[str, Mapping[str, Any]] = OPTIONS) -> Verdict:
    """Compiles and runs a graph with every set of options. Graphs are small and valid: only what is not supported is
    refused, whatever else ends in an error is wrong."""
    wanted = expected(case)
    wrong: list[str] = []
    default: Results = {}
    for label, chosen in options.items():
        if label == "without memory planning" and "checked memory" in options:
            continue
        try:
            with passes_of(label):
                found = run(case, chosen)
        except mi.UnsupportedError as error:
            return Verdict(tuple(wrong), refused=str(error))
        except Exception as error:  # whatever it is, a valid graph has found it
            wrong.append(f"{label}: {type(error).__name__}: {error}")
            continue
        if label in SAME_BITS:
            wrong += [f"{label}: {name}: other bits" for name in default if not same_bits(default[name], found[name])]
        elif not default:
            default = found
        wrong += [f"{label}: {fact}" for fact in differences(found, *wanted)]
    return Verdict(tuple(wrong))


def passes_of(label: str) -> AbstractContextManager[None]:
    """What passes do other than usual where models are compiled with options of such a label."""
    return next((forced() for words, forced in FORCED.items() if words in label), nullcontext())


def expected(case: Case) -> tuple[Results, list[Results], Mapping[str, float]]:
    """The results in float64, those of each peer in the graph's own types, onnx.reference first, and `tolerances`."""
    exact = referred(in_float64(case.model), {name: wide_array(array) for name, array in case.inputs.items()})
    peers = [referred(case.model, case.inputs)]
    with suppress(Exception):  # whatever ONNX Runtime lacks
        peers.append(runtime(case))
    return exact, peers, tolerances(case.model)


def tolerances(model: ModelProto) -> dict[str, float]:
    """What a value may be off by as the coarsest float lets it that is on the way to it; 0 where there is none."""
    found: dict[str, float] = {}
    _tolerances(with_inferred_shapes(model).graph, found)
    return found


def _tolerances(graph: GraphProto, found: dict[str, float]) -> float:
    """Those of a graph's values, and the largest of them."""
    kinds = [
        (value.name, value.type.tensor_type.elem_type) for value in (*graph.input, *graph.value_info, *graph.output)
    ]
    for name, kind in (*kinds, *((tensor.name, tensor.data_type) for tensor in graph.initializer)):
        found[name] = TOLERANCE.get(helper.tensor_dtype_to_np_dtype(kind), 0.0) if kind else 0.0
    largest = max((found[name] for name, _ in kinds), default=0.0)
    for node in graph.node:
        inner = [_tolerances(attribute.g, found) for attribute in node.attribute if attribute.HasField("g")]
        own = ROUNDED if any(each.name == "accuracy_level" and each.i == 4 for each in node.attribute) else 0.0
        reached = max([*inner, own, *(found.get(name, 0.0) for name in node.input)], default=0.0)
        for name in node.output:
            found[name] = max(found.get(name, 0.0), reached)
        largest = max(largest, reached)
    return largest


def referred(model: ModelProto, inputs: Results) -> Results:
    return dict(zip((value.name for value in model.graph.output), evaluate(model, inputs), strict=True))


def runtime(case: Case) -> Results:
    """What ONNX Runtime gives, with every node as it is."""
    names = [value.name for value in case.model.graph.output]
    if any(array.dtype == BFLOAT16 for array in case.inputs.values()):
        raise ValueError("ONNX Runtime takes no bfloat16 from numpy")
    inputs = {name: np.asarray(array) for name, array in case.inputs.items()}  # it takes no scalars of numpy
    return dict(zip(names, runtime_of(case.model).run(names, inputs), strict=True))


def in_float64(model: ModelProto) -> ModelProto:
    """The model with float64 for every other float."""
    wide = ModelProto()
    wide.CopyFrom(model)
    graph = wide.graph
    nodes = [widened(node) for node in graph.node]
    weights = [
        numpy_helper.from_array(wide_array(numpy_helper.to_array(tensor)), tensor.name) for tensor in graph.initializer
    ]
    for value in (*graph.input, *graph.output):
        kind = value.type.tensor_type
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type) if kind.elem_type else None
        if dtype is not None and type_number(wide_array(np.zeros(0, dtype)).dtype) == TensorProto.DOUBLE:
            kind.elem_type = TensorProto.DOUBLE
    del graph.node[:], graph.initializer[:], graph.value_info[:]
    graph.node.extend(nodes)
    graph.initializer.extend(weights)
    return wide


def run(case: Case, options: Mapping[str, Any]) -> Results:
    """What the compiled model gives, on an arena full of NaN."""
    engine = mi.compile(case.model, **cast(Any, {**BASE, **options}))
    return engine(case.inputs) if options.get("check_memory") else run_on_noise(engine.plan, case.inputs)


def run_on_noise(plan: InferencePlan, inputs: Results) -> Results:
    context = plan.create_execution_context()
    if plan.config.place == "cpu":  # the emulation of a GPU knows by itself what nobody wrote
        context.arena.data[:] = 255
    return context.run(inputs)


def same_bits(one: Array, other: Array) -> bool:
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def differences(
    found: Results, exact: Results, peers: list[Results], coarsest: Mapping[str, float] | None = None
) -> Iterator[str]:
    """Outputs that are not as every peer has them; `coarsest` are `tolerances`, if they aren't those of their types."""
    for name, array in found.items():
        tolerance = max(TOLERANCE.get(array.dtype, 0.0), (coarsest or {}).get(name, 0.0))
        others = [each[name] for each in peers]
        facts = [_difference(array, exact[name], peer, others, tolerance) for peer in others]
        # Peers differ where the standard leaves it open; who agrees with one of them is right.
        if all(facts):
            yield f"{name}: {facts[0]}"


def _difference(array: Array, exact: Array, peer: Array, peers: list[Array], tolerance: float) -> str:
    if array.dtype != peer.dtype or array.shape != peer.shape:
        return f"{array.dtype}{list(array.shape)} instead of {peer.dtype}{list(peer.shape)}"
    if array.dtype not in TOLERANCE:
        return "" if np.array_equal(array, peer) else f"{int((array != peer).sum())} elements differ"
    own = [distance(each, exact) for each in peers if each.shape == exact.shape]
    allowed = max(tolerance, FACTOR * max((each for each in own if each < BELIEVED * tolerance), default=0.0))
    error = distance(array, exact)
    if error <= allowed or distance(array, peer) <= allowed:
        return ""
    return f"off by {error:.2e}, allowed are {allowed:.2e}"
