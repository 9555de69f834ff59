"""Is what a graph with ranges gives right, at every shape, and compiled once?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import numpy as np
from fuzz.growth import Case
from fuzz.judge import BASE, TILED, Verdict, differences, expected, run_on_noise, same_bits
from fuzz.ranges import resized
from onnx import ModelProto

import mini_infer as mi
from mini_infer.dialects.graph.values import Array
from mini_infer.runtime.shapes.dynamic_engine import DynamicEngine

# Of graphs with ranges; the first word says how these are told.
AT_SHAPES: Mapping[str, Mapping[str, Any]] = {
    "dims": {},
    "open": {"enable_dynamic_shapes": True},
    "shapes": {"vector_bits": 128, "memory_alignment": 64},
    "dims, 2 threads": {"threads": 2},
    "dims, without graph optimisation": {"enable_graph_optimization": False},
    f"dims, {TILED}": {},
    "dims, on a GPU": {"device": "cuda-emulated", "threads": None, "compile_threads": None},
}


def judged_at_shapes(case: Case, label: str) -> Verdict:
    """Compiles a graph with ranges and runs it at several shapes."""
    wrong: list[str] = []
    inputs = case.inputs
    try:
        engine = cast(DynamicEngine, mi.compile(case.model, **cast(Any, {**BASE, **_told(case, label)})))
        for inputs in (case.inputs, *case.others):
            try:
                wanted = expected(Case(case.model, inputs))
            except Exception:  # whatever it is, the numbers don't go with these sizes
                continue
            shapes = {name: array.shape for name, array in inputs.items()}
            found = run_on_noise(engine.plan_for(shapes), inputs)
            again = engine(inputs)
            at = f"{label}: {list(map(list, shapes.values()))}"
            wrong += [f"{at}: {name}: other bits" for name in found if not same_bits(found[name], again[name])]
            wrong += [f"{at}: {fact}" for fact in differences(found, *wanted)]
        wrong += [
            f"{label}: {shapes} is no error" for shapes in _strange(case, label) if not _is_refused(engine, shapes)
        ]
        return Verdict(tuple(wrong), compiles=engine.compiles)
    except mi.UnsupportedError as error:
        return Verdict(tuple(wrong), refused=str(error))
    except (mi.InvalidModelError, mi.InvalidInputError) as error:
        if is_invalid_alone(case.model, inputs):  # the reference looks at less
            return Verdict(tuple(wrong), refused=f"{error}: invalid")
        return Verdict((*wrong, f"{label}: only with ranges {error}"))
    except Exception as error:  # whatever it is, a valid graph has found it
        return Verdict((*wrong, f"{label}: {type(error).__name__}: {error}"))


def is_invalid_alone(model: ModelProto, inputs: Mapping[str, Array]) -> bool:
    """Whether the model, or an index, is invalid where it is compiled for the shapes of these inputs alone."""
    try:
        mi.compile(model, shapes={name: array.shape for name, array in inputs.items()})(dict(inputs))
    except mi.MiniInferError:
        return True
    return False


def is_invalid_somewhere(case: Case) -> bool:
    """Whether it is so at shapes that the case has, or at the ends of its ranges: the reference looks at less."""
    dims, random = named_dims(case.model), np.random.default_rng(0)
    sizes = ({name: span[end] for name, span in case.ranges.items()} for end in range(3))
    ends = (resized(case.inputs, dims, each, random) for each in sizes)
    return any(is_invalid_alone(case.model, inputs) for inputs in (case.inputs, *case.others, *ends))


def _told(case: Case, label: str) -> dict[str, Any]:
    """The options of a label, with the ranges as it tells them."""
    match label.split(",")[0]:
        case "dims":
            profile = mi.OptimizationProfile(dims=case.ranges)
        case "shapes":
            least, most, *_ = case.others
            names = [name for name, shape in named_dims(case.model).items() if any(shape)]
            profile = mi.OptimizationProfile(
                shapes={name: (least[name].shape, case.inputs[name].shape, most[name].shape) for name in names}
            )
        case _:
            profile = None
    return {**AT_SHAPES[label], "profile": profile}


def named_dims(model: ModelProto) -> dict[str, list[str]]:
    """The names of each input's dimensions, "" where there is none."""
    return {value.name: [dim.dim_param for dim in value.type.tensor_type.shape.dim] for value in model.graph.input}


def _strange(case: Case, label: str) -> Iterator[dict[str, list[int]]]:
    """Shapes that are outside of the ranges, or contradict each other."""
    shapes = {name: list(array.shape) for name, array in case.inputs.items()}
    dims = named_dims(case.model)
    for wanted, (_, _, high) in case.ranges.items():
        places = [(name, axis) for name, names in dims.items() for axis, each in enumerate(names) if each == wanted]
        if label != "open":
            yield _with_sizes(shapes, places, high + 1)
        if len(places) > 1:
            name, axis = places[0]
            yield _with_sizes(shapes, places[:1], shapes[name][axis] + 1)


def _with_sizes(shapes: Mapping[str, list[int]], places: Sequence[tuple[str, int]], size: int) -> dict[str, list[int]]:
    return {
        name: [size if (name, axis) in places else each for axis, each in enumerate(shape)]
        for name, shape in shapes.items()
    }


def _is_refused(engine: DynamicEngine, shapes: Mapping[str, Sequence[int]]) -> bool:
    try:
        engine.plan_for(shapes)
    except mi.InvalidInputError:
        return True
    return False
