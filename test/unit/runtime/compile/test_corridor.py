"""Compiling is one corridor: source, identity, found or built, kept, engine, whatever the model and the device.

A stop is a function of another file of the runtime that is given the model, or what became of it, on its way to an
engine; a return is a stop in a file that there was one in before. What an object tells of itself (properties) and what
only watches (observers, and all that passes call) is no stop.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from pathlib import Path
from types import FrameType
from typing import Any, cast

import pytest
from models.builder import ModelBuilder
from xdsl.dialects.builtin import ModuleOp

import mini_infer as mi
from mini_infer.runtime import engine
from mini_infer.runtime.compile.cached_build import CachedBuild
from mini_infer.runtime.compile.module_to_plan import Lowered
from mini_infer.runtime.compile.plan_builder import Builder
from mini_infer.runtime.compile.source import Source
from mini_infer.runtime.compute_device import LoadedPlan
from mini_infer.runtime.native.machine_code import MachineCode
from mini_infer.runtime.progress import StepCounter
from mini_infer.runtime.shapes.shape_family import ShapeFamily
from mini_infer.runtime.specs import Signature

MOST_STOPS, MOST_RETURNS = 22, 7
RUNTIME = Path(engine.__file__).resolve().parent
FOLLOWED = (
    *(Source, CachedBuild, Builder, ModuleOp, Signature, Lowered, MachineCode, LoadedPlan),
    *(engine.CompiledModel, ShapeFamily, mi.Engine),
)
PROFILE = mi.OptimizationProfile(dims={"batch": (1, 4, 16)})
CASES: dict[str, dict[str, Any]] = {"static": {}, "dynamic": {"profile": PROFILE}}


@pytest.fixture
def model(tmp_path: Path) -> Path:
    b = ModelBuilder("corridor")
    x = b.input("x", ["batch", 8])
    file = tmp_path / "model.onnx"
    file.write_bytes(b.model([b.node("Relu", b.node("MatMul", x, b.weight(8, 8)))]).SerializeToString())
    return file


def stops(run: Callable[[], object], model: Path) -> list[str]:
    """The files that the model goes through, one after the other."""
    found: list[str] = []

    def called(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        name = _file_of(code.co_filename) if event == "call" else ""
        if not name or code.co_name.startswith("<"):
            return
        given = [frame.f_locals.get(name) for name in code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]]
        if not any(each is model or isinstance(each, FOLLOWED) for each in given) or _only_tells(frame, given):
            return
        if not found or found[-1] != name:
            found.append(name)

    sys.setprofile(called)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


@cache
def _file_of(path: str) -> str:
    """A file of the runtime, from there; "" for any other."""
    file = Path(path).resolve()
    return str(file.relative_to(RUNTIME)) if file.is_relative_to(RUNTIME) else ""


def _only_tells(frame: FrameType, given: list[Any]) -> bool:
    asked = getattr(cast("object", type(given[0])), frame.f_code.co_name, None) if given else None
    return isinstance(asked, property | cached_property) or any(map(_only_watches, _callers(frame)))


def _only_watches(frame: FrameType) -> bool:
    code = frame.f_code
    return code.co_name == "observer" or code is StepCounter.__call__.__code__ or "pipelines" in code.co_filename


def _callers(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and those that led to it."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def check(files: list[str], needed: tuple[str, ...]) -> None:
    returns = len(files) - len({*files})
    assert len(files) <= MOST_STOPS and returns <= MOST_RETURNS, files
    missing = [each for each in needed if each not in files]
    assert not missing, files


SOURCE, IDENTITY, BUILT = "compile/source.py", "compile/cached_build.py", "compile/plan_builder.py"
KEPT, FOUND, ENGINE = "kept/model_cache.py", "kept/kept_plans.py", "shapes/start_engine.py"


@pytest.mark.parametrize("case", CASES)
def test_a_model_that_is_built_and_kept(case: str, model: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"threads": 1, "shapes": {} if case == "dynamic" else {"x": [4, 8]}, **CASES[case]}
    mi.compile(model, cache=False, **options)  # which imports what it takes

    def compile() -> mi.Engine:
        return mi.compile(model, cache=tmp_path / "cache", **options)

    check(stops(compile, model), (SOURCE, ENGINE, IDENTITY, BUILT, KEPT, FOUND))
    found = stops(compile, model)
    assert BUILT not in found
    check(found, (SOURCE, ENGINE, IDENTITY))


@pytest.mark.parametrize("options", [*CASES.values(), {"device": "cuda-emulated"}], ids=[*CASES, "GPU"])
def test_a_model_that_is_built_only(options: dict[str, Any], model: Path) -> None:
    options = {"shapes": {} if "profile" in options else {"x": [4, 8]}, **options}
    mi.compile(model, cache=False, **options)
    files = stops(lambda: mi.compile(model, cache=False, **options), model)
    check(files, (SOURCE, ENGINE, BUILT))
    assert IDENTITY not in files and KEPT not in files


@pytest.mark.parametrize("case", CASES)
def test_a_file_for_a_cpu(case: str, model: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"threads": 1, "shapes": {} if case == "dynamic" else {"x": [4, 8]}, **CASES[case]}
    path = tmp_path / "model.mi"
    mi.build(model, path, cpus=["native"], **options)
    check(stops(lambda: mi.build(model, path, cpus=["native"], **options), model), (SOURCE, BUILT, FOUND))
    check(stops(lambda: mi.load(path), path), ("kept/artifact.py",))
