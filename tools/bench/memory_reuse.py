"""The effect of each step of memory planning on a ResNet-50: bytes of the arena, and latency.

    python -m mini_infer.tools.bench.memory_reuse --batch 32 --threads 2

The same kernels run every time; only the places of their buffers differ, so the results are equal bit by bit.
"""

from __future__ import annotations

import statistics
import time
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from ...dialects.errors import MiniInferError
from ...lowering.pipelines import DEVICE_GRAPH, GRAPH, KERNELS, parse_passes, run_passes, with_options
from ...runtime.compile.module_to_plan import build_plan
from ...runtime.compile.source import source_of
from ...runtime.config import EngineConfig
from ...runtime.native.cpu_targets import target_attribute
from ...runtime.plan import ExecutionContext
from ..demos.resnet50 import resnet50
from ..one_line_errors import run_alone

CLOSING = "verify-arena,insert-barriers"
VARIANTS = {
    "no reuse": f"bufferize,elide-copies,plan-arena{{strategy=naive}},{CLOSING}",
    "pools": f"bufferize,elide-copies,plan-arena{{strategy=pools}},{CLOSING}",
    "pools, in place": f"mark-inplace,bufferize,elide-copies,plan-arena{{strategy=pools}},{CLOSING}",
    "one arena, in place": f"order-kernels,mark-inplace,bufferize,elide-copies,plan-arena,{CLOSING}",
}


def measure(
    batch: Annotated[int, typer.Option(min=1, help="Pictures at a time.")] = 32,
    image: Annotated[int, typer.Option(min=32, help="Pixels on each side.")] = 224,
    threads: Annotated[int, typer.Option(min=1)] = 1,
    rounds: Annotated[int, typer.Option(min=1, help="Rounds of alternation.")] = 5,
    fuse: Annotated[bool, typer.Option(help="Fuse ops into kernels, as compiled models are.")] = True,
) -> None:
    """Prints arena bytes, their ratio to no reuse, median and minimum latency."""
    config = EngineConfig(threads=threads)
    model = resnet50(image, batch=batch)
    inputs = {"image": np.random.default_rng(0).standard_normal((batch, 3, image, image)).astype(np.float32)}
    kernels = with_options(KERNELS, {"form-kernels": {} if fuse else {"fuse": "false"}})
    contexts: dict[str, ExecutionContext] = {}
    expected: Any = None
    for name, passes in VARIANTS.items():
        module, ctx = source_of(model).load(config)
        module.attributes["kernel.target"] = target_attribute(config)
        run_passes(ctx, module, parse_passes(f"{GRAPH},{DEVICE_GRAPH},{kernels},{passes}"))
        contexts[name] = build_plan(module, ctx, config).create_execution_context()
        outputs = contexts[name].run(inputs)["softmax/out"]
        expected = outputs if expected is None else expected
        if not np.array_equal(outputs, expected):
            raise MiniInferError(f"'{name}' gives other results than without reuse")
    times: dict[str, list[float]] = {name: [] for name in contexts}
    for _ in range(rounds):
        for name, context in contexts.items():
            start = time.perf_counter()
            context.run(inputs)
            times[name].append(time.perf_counter() - start)
    table = Table(title=f"ResNet-50, batch {batch}, {threads} thread(s)", box=None, padding=(0, 2))
    for title in ("buffers", "arena MB", "of no reuse", "median ms", "min ms"):
        table.add_column(title, justify="left" if title == "buffers" else "right")
    most = contexts["no reuse"].plan.arena_bytes
    for name, context in contexts.items():
        size = context.plan.arena_bytes
        row = [f"{size / 1e6:.1f}", f"{100 * size / most:.1f} %"]
        row += [f"{statistics.median(times[name]) * 1e3:.1f}", f"{min(times[name]) * 1e3:.1f}"]
        table.add_row(name, *row)
    Console().print(table)


if __name__ == "__main__":
    run_alone(measure)
