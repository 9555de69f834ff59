"""The cases of ONNX's own suite: models with inputs and the outputs that are expected.

Making those of single nodes takes onnx ten seconds, so they are made once and kept in build/, a file for each version.
"""

from __future__ import annotations

import fcntl
import pickle
import re
import tempfile
import warnings
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

import onnx
from onnx import ModelProto, TensorProto, numpy_helper
from onnx.backend.test import loader
from onnx.backend.test.runner import Runner

KINDS = ("node", "simple", "pytorch-converted", "pytorch-operator", "real")
_KEPT = Path(__file__).parents[2] / "build" / f"onnx-suite-{onnx.__version__}.zip"


@dataclass(frozen=True)
class Case:
    """A model, and sets of inputs with the outputs that it should make of them."""

    name: str
    kind: str
    model: ModelProto
    data: list[tuple[list[Any], list[Any]]]
    rtol: float
    atol: float


@cache
def names() -> dict[str, str]:
    """The kind of each case, by its name."""
    with zipfile.ZipFile(_kept()) as kept:
        nodes = sorted(kept.namelist())
    return dict.fromkeys(nodes, "node") | {
        case.name: kind for kind in KINDS[1:] for case in sorted(_stored(kind), key=lambda case: case.name)
    }


def matching(patterns: Iterable[str]) -> list[str]:
    """The names in which one of the regular expressions is found; all where there is none."""
    wanted = [re.compile(pattern) for pattern in patterns]
    return [name for name in names() if not wanted or any(each.search(name) for each in wanted)]


def load(name: str) -> Case:
    """One case."""
    kind = names()[name]
    if kind == "node":
        with zipfile.ZipFile(_kept()) as kept:
            return _node(kept, name)
    case = next(case for case in _stored(kind) if case.name == name)
    model, data = _real(case) if kind == "real" else _from_folder(Path(case.model_dir))
    return Case(name, kind, model, data, case.rtol, case.atol)


def nodes() -> Iterator[Case]:
    """The cases of single nodes, and of what they are expanded to."""
    with zipfile.ZipFile(_kept()) as kept:
        for name in sorted(kept.namelist()):
            yield _node(kept, name)


def _node(kept: zipfile.ZipFile, name: str) -> Case:
    model, data, rtol, atol = pickle.loads(kept.read(name))
    return Case(name, "node", ModelProto.FromString(model), data, rtol, atol)


@cache
def _stored(kind: str) -> list[Any]:
    return cast("list[Any]", loader.load_model_tests(kind=kind))


@cache
def _kept() -> Path:
    _KEPT.parent.mkdir(exist_ok=True)
    with _KEPT.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # others wait for the first
        if not _KEPT.exists():
            _keep()
    return _KEPT


def _keep() -> None:
    with tempfile.TemporaryDirectory(dir=_KEPT.parent) as folder:
        made = Path(folder, _KEPT.name)
        with warnings.catch_warnings(), zipfile.ZipFile(made, "w") as kept:
            warnings.simplefilter("ignore")
            for case in _stored("node"):
                data = [tuple([_plain(value) for value in values] for values in pair) for pair in case.data_sets]
                kept.writestr(case.name, pickle.dumps((case.model.SerializeToString(), data, case.rtol, case.atol)))
        made.rename(_KEPT)


def _plain(value: Any) -> Any:
    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else value


def _from_folder(folder: Path) -> tuple[ModelProto, list[tuple[list[Any], list[Any]]]]:
    model = ModelProto.FromString((folder / "model.onnx").read_bytes())

    def values(set_folder: Path, what: str, infos: Iterable[onnx.ValueInfoProto]) -> list[Any]:
        files = [set_folder / f"{what}_{index}.pb" for index in range(len(list(set_folder.glob(f"{what}_*.pb"))))]
        return [_read(file, info) for file, info in zip(files, infos, strict=False)]

    folders = sorted(folder.glob("test_data_set*"))
    graph = model.graph
    return model, [(values(each, "input", graph.input), values(each, "output", graph.output)) for each in folders]


def _read(file: Path, info: onnx.ValueInfoProto) -> Any:
    content = file.read_bytes()
    if info.type.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(content))
    if info.type.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(content))
    return numpy_helper.to_array(TensorProto.FromString(content))


def _real(case: Any) -> tuple[ModelProto, list[tuple[list[Any], list[Any]]]]:
    """A real network whose weights are made by its own nodes: the inputs are made, the outputs lie beside it."""
    path = Path(onnx.__file__).parents[1] / case.url
    model = ModelProto.FromString(path.read_bytes())
    weights = {initializer.name for initializer in model.graph.initializer}
    inputs = [Runner.generate_dummy_data(info) for info in model.graph.input if info.name not in weights]
    count = range(len(model.graph.output))
    outputs = [_read(path.with_name(f"{path.stem}_output_{index}.pb"), model.graph.output[index]) for index in count]
    return model, [(inputs, outputs)]
