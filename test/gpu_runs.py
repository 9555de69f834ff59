"""For tests of GPU code: kernels written as text are run by the interpreter on arrays."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from functools import cache

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from mini_infer.dialects.gpu.kernels import FuncOp
from mini_infer.dialects.graph.values import Array
from mini_infer.lowering.registry import dialect_factories
from mini_infer.runtime.devices.emulated.checked_memory import GlobalRange
from mini_infer.runtime.devices.emulated.compiled import COMPILERS
from mini_infer.runtime.devices.emulated.gpu_interpreter import Kernel

HAS_COMPILER = any(map(shutil.which, COMPILERS))
NEEDS_COMPILER = pytest.mark.skipif(not HAS_COMPILER, reason="no C++ compiler")
"""Of tests that compile the text of kernels for this machine's CPU."""
EMULATORS = ["interpreter", pytest.param("compiled", marks=NEEDS_COMPILER)]
"""The ways in which GPU code is run without a GPU, as parameters of a test."""


@cache
def context() -> Context:
    """Knows all dialects."""
    made = Context()
    for name, factory in dialect_factories().items():
        made.register_dialect(name, factory)
    return made


def parse(text: str) -> ModuleOp:
    """A verified module."""
    module = Parser(context(), text).parse_module()
    module.verify()
    return module


def kernel_function(arguments: str, body: str, cluster: int = 1, *, cooperative: bool = False) -> FuncOp:
    """A kernel of these arguments; `body` uses %tid and %bid, which are its thread and block, and %s for each array."""
    together = "nvgpu.cooperative" if cooperative else f"gpu.known_cluster_size = array<i32: {cluster}, 1, 1>"
    module = parse(f"""
gpu.module @kernels {{
  gpu.func @tested({arguments}) kernel attributes {{{together}}} {{
    %tid = gpu.thread_id x
    %bid = gpu.block_id x
    {body}
    gpu.return
  }}
}}""")
    function = next(op for op in module.walk() if isinstance(op, FuncOp))
    assert isinstance(function, FuncOp)
    return function


def run(
    function: FuncOp | Kernel,
    arrays: Sequence[Array],
    *,
    threads: int,
    blocks: int = 1,
    shared: int = 0,
    checked: bool = True,
    unwritten: Sequence[int] = (),
) -> None:
    """Run a kernel on arrays, which it may write to; the bytes of those `unwritten` may not be read at first."""
    kernel = function if isinstance(function, Kernel) else Kernel(function)
    places = [
        GlobalRange(
            array.reshape(-1).view(np.uint8), 0, np.zeros(array.nbytes, np.uint8) if number in unwritten else None
        )
        for number, array in enumerate(arrays)
    ]
    kernel.run((blocks, 1, 1), (threads, 1, 1), shared, places, checked=checked)
