"""`mini-infer run --dump`: the values of a model's tensors as a file, which gives the inputs of another run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from ..dialects.errors import ConfigError
from ..runtime.compile.entry import intermediates
from .arrays import Array, save_arrays
from .waiting import working


def check_dump(model: str, dump: str | None, tensors: Sequence[str] | None) -> None:
    """Raises ConfigError for a file's name or a model that `--dump` can't take, and for `--tensors` without it."""
    if dump is None:
        if tensors:
            raise ConfigError("--tensors does nothing without --dump")
        return
    if Path(dump).suffix != ".npz":
        raise ConfigError(f"--dump {dump}: the name must end in .npz")
    if Path(model).suffix in (".mi", ".mlir"):
        raise ConfigError(f"--dump {dump}: {model} has no ONNX tensors; the .onnx file has")


def dump_tensors(
    path: str,
    model: str,
    options: Mapping[str, Any],
    inputs: Mapping[str, Array],
    outputs: Mapping[str, Array],
    tensors: Sequence[str] | None,
    console: Console,
) -> int:
    """Writes inputs, tensors, by default all of them, and outputs of a run by ONNX name; returns how many there are."""
    names = None if not tensors else [name for text in tensors for name in text.split(",") if name]
    with working(console, "computing the tensors"):
        found = intermediates(model, inputs, names, **options)
    every = {**inputs, **found, **outputs}
    save_arrays(path, every)
    console.print(f"{len(every)} tensors written to {path}")
    return len(every)
