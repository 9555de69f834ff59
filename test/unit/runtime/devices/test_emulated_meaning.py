"""Each op's meaning, as test/meaning states it, on an emulated GPU: interpreted and as compiled text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gpu_runs import EMULATORS

from mini_infer.lowering.module_text import read_module
from mini_infer.runtime.compile.module_to_plan import build_plan
from mini_infer.runtime.config import EngineConfig
from mini_infer.tools.mini_opt.check_results import agree, expected_values, given_values

FOLDER = Path(__file__).parents[3] / "meaning"
# What is refused everywhere.
LEFT_OUT = ("refused",)
FILES = sorted(path.stem for path in FOLDER.glob("*.mlir") if path.stem not in LEFT_OUT)


def check(name: str, config: EngineConfig) -> None:
    module, ctx = read_module(FOLDER / f"{name}.mlir")
    inputs, expected = given_values(module), expected_values(module)
    plan = build_plan(module, ctx, config)
    with np.errstate(all="ignore"):
        results = plan.create_execution_context().run(inputs)
    for output, (value, tolerance) in expected.items():
        found = results[output]
        assert agree(found, value, tolerance), f"{output}: {found.tolist()}, expected {value.tolist()}"


@pytest.mark.thinned(41)
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("emulator", EMULATORS)
def test_fused(name: str, emulator: str) -> None:
    check(name, EngineConfig(device="cuda-emulated", emulator=emulator))


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_kernel_for_every_op(name: str) -> None:
    check(name, EngineConfig(device="cuda-emulated", enable_graph_optimization=False))
