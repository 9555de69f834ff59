"""Chains of products by block-quantised weights (MatMulNBits), beside ONNX Runtime, as a table.

    python -m mini_infer.tools.bench.block_products                              every case: more than an hour
    python -m mini_infer.tools.bench.block_products --bits 4 --block 32 --rows 1 --level 4 --threads 1

Both engines take turns in one process. Ratios are ONNX Runtime's times divided by ours: those of the medians and those
of the fastest calls. Errors are root mean squares of the result's, relative to those of the float64 result, ours first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from statistics import median
from time import perf_counter, sleep
from typing import Annotated, Any, TypeAlias

import numpy as np
import typer
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from rich.console import Console

from ...dialects.errors import ConfigError
from ...dialects.graph.values import Array
from ...runtime.compile.entry import compile as compile_model
from ...runtime.devices.cpu.machine_limits import cpu_title
from ..one_line_errors import run_alone

BITS, BLOCKS, LEVELS, ROWS, THREADS = (2, 4, 8), (16, 32, 128, 256), (0, 4), (1, 2, 4, 8, 64, 512), (1, 2)
PAUSE = 0.05  # seconds


@dataclass(frozen=True)
class Case:
    """A chain of `layers` products that alternate between two widths, with symmetric weights."""

    bits: int
    block: int
    level: int
    rows: int
    layers: int
    width: int
    inner: int

    def weights(self) -> Iterator[tuple[Array, Array]]:
        """Each layer's packed bytes [outputs, blocks, bytes] and scales [outputs, blocks]."""
        random = np.random.default_rng(0)
        for layer in range(self.layers):
            inputs, outputs = (self.width, self.inner) if layer % 2 == 0 else (self.inner, self.width)
            blocks = -(-inputs // self.block)
            spread = 2 ** (self.bits - 1) * (inputs / 3) ** 0.5
            numbers = random.integers(0, 256, (outputs, blocks, self.block * self.bits // 8), np.uint8)
            yield numbers, (random.uniform(0.5, 1.5, (outputs, blocks)) / spread).astype(np.float32)

    def model(self) -> ModelProto:
        """The chain as an ONNX model [rows, width] -> [rows, width or inner]."""
        nodes: list[NodeProto] = []
        tensors: list[TensorProto] = []
        for layer, (numbers, scales) in enumerate(self.weights()):
            names = f"w{layer}", f"s{layer}"
            tensors += [
                numpy_helper.from_array(each, name) for each, name in zip((numbers, scales), names, strict=True)
            ]
            size = {"N": len(scales), "K": self.width if layer % 2 == 0 else self.inner}
            options: dict[str, Any] = {
                "bits": self.bits,
                "block_size": self.block,
                "accuracy_level": self.level,
                **size,
            }
            operands, result = [f"x{layer}", *names], f"x{layer + 1}"
            nodes.append(helper.make_node("MatMulNBits", operands, [result], domain="com.microsoft", **options))
        last = self.inner if self.layers % 2 else self.width
        x, y = (
            helper.make_tensor_value_info(name, TensorProto.FLOAT, [self.rows, size])
            for name, size in (("x0", self.width), (f"x{self.layers}", last))
        )
        opsets = [helper.make_opsetid("com.microsoft", 1), helper.make_opsetid("", 17)]
        graph = helper.make_graph(nodes, "products", [x], [y], tensors)
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)

    def reference(self, x: Array) -> Array:
        """The result in float64."""
        y: Array = x.astype(np.float64)
        places = np.arange(0, 8, self.bits, dtype=np.uint8)
        for numbers, scales in self.weights():
            unpacked = numbers[..., np.newaxis] >> places & (2**self.bits - 1)
            levels = unpacked.reshape(*scales.shape, self.block).astype(np.float64) - 2 ** (self.bits - 1)
            wide = (levels * scales[..., np.newaxis]).reshape(len(scales), -1)
            y = y @ wide[:, : y.shape[1]].T
        return y


_Engine: TypeAlias = Callable[[Array], Array]


def _onnxruntime(model: ModelProto, threads: int) -> _Engine:
    try:
        runtime: Any = import_module("onnxruntime")  # has no usable types
    except ImportError as error:
        raise ConfigError(f"{error}: pip install onnxruntime") from None
    options = runtime.SessionOptions()
    options.intra_op_num_threads = threads
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return lambda x: session.run(None, {"x0": x})[0]


def _times(engines: list[_Engine], x: Array, seconds: float) -> list[list[float]]:
    """Seconds of calls of each engine, in turns of several calls; the first of a turn isn't counted.

    Before each turn there is a `PAUSE`: the threads of the engine before it look for work for a while.
    """
    times: list[list[float]] = [[] for _ in engines]
    start = perf_counter()
    engines[0](x)
    calls = max(2, min(20, round(0.02 / (perf_counter() - start))))
    ends = perf_counter() + seconds
    while len(times[0]) < 6 or perf_counter() < ends:
        for engine, found in zip(engines, times, strict=True):
            sleep(PAUSE)
            engine(x)
            for _ in range(calls):
                start = perf_counter()
                engine(x)
                found.append(perf_counter() - start)
    return times


def measure(case: Case, threads: int, seconds: float) -> dict[str, float]:
    """Milliseconds of ours, ratios and errors."""
    model = case.model()
    engine = compile_model(model, threads=threads)
    engines: list[_Engine] = [lambda x: engine(x), _onnxruntime(model, threads)]
    x: Array = np.random.default_rng(1).normal(size=(case.rows, case.width)).astype(np.float32)
    wanted = case.reference(x)
    found = [float(np.sqrt(np.mean((run(x) - wanted) ** 2) / np.mean(wanted**2))) for run in engines]
    ours, theirs = _times(engines, x, seconds)
    return {
        "ms": min(ours) * 1e3,
        "medians": median(theirs) / median(ours),
        "minima": min(theirs) / min(ours),
        "error": found[0],
        "their_error": found[1],
    }


def block_products(
    # Typer takes only lists, and shows them as defaults; nothing changes these.
    bits: Annotated[list[int], typer.Option(help="Bits of a weight.")] = [*BITS],  # noqa: B006
    block: Annotated[list[int], typer.Option(help="Weights of a block.")] = [*BLOCKS],  # noqa: B006
    level: Annotated[list[int], typer.Option(help="accuracy_level.")] = [*LEVELS],  # noqa: B006
    rows: Annotated[list[int], typer.Option(min=1, help="Rows of the left operand.")] = [*ROWS],  # noqa: B006
    threads: Annotated[list[int], typer.Option(min=1, help="Threads of each engine.")] = [*THREADS],  # noqa: B006
    layers: Annotated[int, typer.Option(min=1, help="Products of a chain.")] = 8,
    width: Annotated[int, typer.Option(min=1, help="Columns of the chain's input.")] = 2048,
    inner: Annotated[int, typer.Option(min=1, help="Columns behind every other product.")] = 5632,
    seconds: Annotated[float, typer.Option(min=0.001, help="Time of each case.")] = 2.0,
) -> None:
    """Prints a line for each case."""
    for name, given, allowed in (("bits", bits, BITS), ("level", level, (0, 1, 2, 3, 4))):
        if wrong := [each for each in given if each not in allowed]:
            raise ConfigError(f"--{name} {wrong[0]}: there are {', '.join(map(str, allowed))}")
    if wrong := [each for each in block if each < 16 or each & (each - 1)]:
        raise ConfigError(f"--block {wrong[0]}: blocks are powers of two from 16 on")
    console = Console()
    console.print(f"{cpu_title()}: {layers} layers {width} x {inner}; ONNX Runtime's time / ours")
    for bit, size, accuracy, count, team in product(bits, block, level, rows, threads):
        found = measure(Case(bit, size, accuracy, count, layers, width, inner), team, seconds)
        console.print(
            f"{bit} bits, blocks of {size:3}, level {accuracy}, {count:3} rows, {team} threads: {found['ms']:8.3f} ms, "
            f"ratio of medians {found['medians']:5.2f}, of minima {found['minima']:5.2f}, "
            f"errors {found['error']:.2e} {found['their_error']:.2e}",
            highlight=False,
            soft_wrap=True,
        )


if __name__ == "__main__":
    run_alone(block_products)
