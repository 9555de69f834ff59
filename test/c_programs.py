"""Models as C programs: the example beside each header, compiled, linked and run on files of raw bytes."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

import mini_infer as mi
from mini_infer.dialects.bounded_crops import cut_shape
from mini_infer.dialects.graph.values import Array
from mini_infer.runtime.c_export.c_interface import CInterface

STRICT = ("-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-O1")


@dataclass(frozen=True)
class Tools:
    """A compiler, and what runs its programs: nothing for this machine's."""

    compiler: str
    runner: tuple[str, ...] = ()

    def need(self) -> None:
        """Skips a test where a tool is missing."""
        for tool in (self.compiler, *self.runner[:1]):
            if shutil.which(tool) is None:
                pytest.skip(f"{tool} is not installed")


HERE = Tools("cc")


@dataclass(frozen=True)
class CProgram:
    """A program that runs a model once."""

    interface: CInterface
    folder: Path
    tools: Tools

    def __call__(self, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """What it writes, by the names of inputs and outputs, cut to what there is."""
        read = [each for each in self.interface.parameters if each.is_input]
        written = [each for each in self.interface.parameters if each.written]
        for each in read:
            room = np.zeros(each.spec.nbytes, np.uint8)
            given = np.ascontiguousarray(inputs[each.spec.name], each.spec.dtype).reshape(-1).view(np.uint8)
            room[: given.nbytes] = given
            room.tofile(self.folder / f"{each.name}.bin")
        files = [] if self.interface.embedded else [f"{self.interface.name}.weights"]
        files += [f"{each.name}.bin" for each in read] + [f"{each.name}.out" for each in written]
        done = self.run(files)
        assert (done.returncode, done.stderr) == (0, "")
        found = {each.spec.name: self._array(f"{each.name}.out", each.spec.dtype) for each in written}
        return {each.spec.name: found[each.spec.name].reshape(each.spec.shape) for each in written}

    def run(self, files: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """The program with such arguments."""
        command = [*self.tools.runner, f"./{self.interface.name}_example", *files]
        return subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=200)

    def _array(self, name: str, dtype: np.dtype[Any]) -> Array:
        return np.frombuffer((self.folder / name).read_bytes(), dtype)


def c_program(
    model: ModelProto | Path,
    folder: Path,
    *flags: str,
    tools: Tools = HERE,
    cpu: str = "",
    embed: bool = False,
    **options: Any,
) -> CProgram:
    """The program of a model, or of a module's file, called "m"; it makes no compiler warn."""
    tools.need()
    chosen: dict[str, Any] = {"threads": 1, "compile_threads": 1, **options}
    source = model if isinstance(model, Path) else model.SerializeToString()
    made = mi.emit_c(source, folder, name="m", cpu=cpu, embed=embed, **chosen)
    sources = ["m_example.c", *["m_weights.S"] * embed, "m.o", *made.interface.kernels]
    command = [tools.compiler, *STRICT, *flags, *sources, "-lm", "-o", "m_example"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return CProgram(made.interface, folder, tools)


def cut(found: Mapping[str, Array], program: CProgram, names: Sequence[str], cuts: Any) -> dict[str, Array]:
    """Outputs of those names as large as the counts behind them say."""
    counts = [int(array) for name, array in found.items() if name not in names]
    whole = {name: found[name] for name in names}
    shapes = (cut_shape(array.shape, number, cuts, counts) for number, array in enumerate(whole.values()))
    return {name: whole[name][tuple(map(slice, shape))] for name, shape in zip(names, shapes, strict=True)}
