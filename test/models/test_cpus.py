"""Code for other CPUs than this one: no object calls what a machine need not have. `-t check` runs such code too.

Every file of test/meaning is compiled for the plainest CPU, and run, where it is checked; here each CPU gets a spread
of the files and a model or two, and in the slow test all of them.
"""

from __future__ import annotations

from pathlib import Path
from unittest.mock import patch

import pytest
from everything_shared import everything_shared
from models.build import SMALL_MODELS
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

from mini_infer.dialects.graph.blobs import MiniContext
from mini_infer.lowering.loops_to_llvm import split_module
from mini_infer.lowering.onnx_to_graph import import_onnx
from mini_infer.lowering.registry import dialect_factories
from mini_infer.runtime.compile import module_to_plan as build
from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.devices.cpu.cpu_device import DEVICE
from mini_infer.runtime.native.allowed_calls import ALLOWED
from mini_infer.runtime.native.call_checks import undefined_symbols

CPUS = (
    "x86_64-linux-gnu:x86-64-v2",
    "x86_64-linux-gnu:x86-64-v3",
    "x86_64-linux-gnu:x86-64-v4",
    "x86_64-linux-gnu:sapphirerapids",
    "x86_64-linux-gnu:znver5",
    "aarch64-linux-gnu:neoverse-n1",
    "arm64-apple-darwin:apple-m1",
)
MEANINGS = sorted(path for path in (Path(__file__).parents[1] / "meaning").glob("*.mlir") if path.stem != "refused")
SLOWEST = {"conv_transpose", "conv", "conv-groups", "conv-types", "attention", "resize", "lstm", "avg_pool"}
QUICK = [path for path in MEANINGS if path.stem not in SLOWEST]
STEP = 5 * len(CPUS)


def calls_of(module: ModuleOp, ctx: MiniContext, cpu: str, *, fused: bool = True, profiled: bool = False) -> set[str]:
    """What the whole object of a module for a CPU leaves to the linker."""
    whole = patch.object(split_module, "PART_OPS", 10**9)
    with whole, patch.object(DEVICE, "load") as loaded, everything_shared():
        config = EngineConfig(threads=2, enable_graph_optimization=fused, enable_profiling=profiled)
        build.build_plan(module, ctx, config, machine=cpu)
    ((code,),) = loaded.call_args[0]
    return undefined_symbols(code)


def check_meaning(path: Path, cpu: str, variants: tuple[bool, ...] = (True,)) -> None:
    for fused in variants:
        ctx = MiniContext()
        for name, make in dialect_factories().items():
            ctx.register_dialect(name, make)
        module = Parser(ctx, path.read_text(encoding="utf-8"), str(path)).parse_module()
        assert calls_of(module, ctx, cpu, fused=fused) <= ALLOWED


def check_model(name: str, cpu: str) -> None:
    ctx = MiniContext()
    module = import_onnx(SMALL_MODELS[name](), ctx=ctx)
    calls = calls_of(module, ctx, cpu, profiled=True)
    assert calls <= ALLOWED
    assert "clock_gettime" in calls  # the object is a whole one, and it was read


@pytest.mark.thinned(3)
@pytest.mark.parametrize("cpu", CPUS)
def test_a_spread_for_each_cpu(cpu: str) -> None:
    number = CPUS.index(cpu)
    for path in QUICK[number::STEP]:
        check_meaning(path, cpu)
    check_model(("mlp", "transformer", "mlp", "decoder", "lstm", "mobilenet", "mlp")[number], cpu)


@pytest.mark.slow
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("path", MEANINGS, ids=lambda path: path.stem)
def test_every_meaning_for_each_cpu(path: Path, cpu: str) -> None:
    check_meaning(path, cpu, (True, False))


@pytest.mark.slow
@pytest.mark.parametrize("cpu", CPUS)
@pytest.mark.parametrize("name", SMALL_MODELS)
def test_every_model_for_each_cpu(name: str, cpu: str) -> None:
    check_model(name, cpu)
