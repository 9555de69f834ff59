"""Devices: memory, code and runs are asked of them by name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest
from models.build import SMALL_MODELS, example_inputs
from typing_extensions import override

import mini_infer as mi
from mini_infer.runtime.cpu_device import Cpu
from mini_infer.runtime.device import Array, Code

COMPILERS = (
    "import sys, mini_infer as mi; mi.Tensor.empty([2], 'f4'); print({'llvmlite', 'onnx', 'xdsl'} & {*sys.modules})"
)


class Noting(Cpu):
    """The CPU under another name, which notes what it is asked for."""

    def __init__(self) -> None:
        self.allocated: list[int] = []
        self.runs: list[int] = []

    @override
    def allocate(self, nbytes: int, alignment: int) -> Array:
        self.allocated.append(nbytes)
        return super().allocate(nbytes, alignment)

    @override
    def runner(self, code: Code, threads: int) -> Callable[[int], None]:
        run = super().runner(code, threads)

        def noted(pointers: int) -> None:
            self.runs.append(threads)
            run(pointers)

        return noted


def test_memory_and_runs_come_from_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    noting = Noting()
    monkeypatch.setattr("mini_infer.runtime.cpu_device.DEVICE", noting)
    model = SMALL_MODELS["mlp"]()
    engine, inputs = mi.compile(model, 1), example_inputs(model)
    first, second = engine(inputs), engine(inputs)
    assert noting.allocated == [engine.plan.arena_bytes]
    assert noting.runs == [1, 1]
    for name, array in first.items():
        np.testing.assert_array_equal(array, second[name])


def test_a_device_that_is_not_there() -> None:
    with pytest.raises(mi.ConfigError, match=r"^device 'tpu' is not supported; there is 'cpu'$"):
        mi.Storage.allocate(8, device="tpu")


def test_tensors_alone_import_no_compiler() -> None:
    told = subprocess.run([sys.executable, "-c", COMPILERS], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "set()"
