"""Tables of the documentation that state what the compiler decides: their commands give what they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from models.light import seeded_light_model
from onnx import ModelProto

from mini_infer.dialects.graph.ops.structure import KernelOp
from mini_infer.dialects.kernel.kernel_attributes import ScheduleAttr
from mini_infer.passes.planning import STRATEGIES, Problem, solve
from mini_infer.runtime.compile.module_to_plan import plan_memory
from mini_infer.runtime.compile.source import source_of
from mini_infer.runtime.config import EngineConfig
from mini_infer.tools.bench.strategies import heights
from mini_infer.tools.bench.variants import layer
from mini_infer.tools.demos.resnet50 import resnet50
from mini_infer.tools.memory.problem_csv import read_problem

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
MODELS: dict[str, Callable[[], ModelProto]] = {
    "ResNet-50": resnet50,
    "DenseNet-121": lambda: seeded_light_model("densenet121"),
    "ShuffleNet": lambda: seeded_light_model("shufflenet"),
}


def rows(page: str, heading: str) -> list[list[str]]:
    """The cells of the table whose first column has that heading, without its two first lines."""
    lines = (DOCS / page).read_text(encoding="utf-8").splitlines()
    start = next(number for number, line in enumerate(lines) if line.startswith(f"| {heading} |"))
    end = next(number for number in range(start, len(lines)) if not lines[number].startswith("|"))
    table = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines[start:end]]
    return [table[0], *table[2:]]


@pytest.mark.parametrize(
    "name", ["ResNet-50", *(pytest.param(each, marks=pytest.mark.slow) for each in ("DenseNet-121", "ShuffleNet"))]
)
def test_heights_of_strategies(name: str) -> None:
    titles, *stated = rows("memory.md", "strategy")
    found = heights(MODELS[name](), "x86-64-v4")
    assert {row[0]: row[titles.index(name)] for row in stated} == {each: f"{found[each]:.2f}" for each in STRATEGIES}


@pytest.mark.parametrize("name", ["C", "D", "J"])
def test_heights_of_fits_on_hard_problems(name: str) -> None:
    """What `auto` finds there takes a minute: test_planning_hard."""
    titles, *stated = rows("memory.md", "hard problem")
    (row,) = (row for row in stated if row[0] == name)
    problem = Problem(read_problem(ROOT / "test" / "data" / "minimalloc" / f"{name}.csv").buffers, alignment=1)
    for title, cell in zip(titles, row, strict=True):
        if title in STRATEGIES and title != "auto":
            plan = solve(problem, title)
            assert (title, cell) == (title, f"{plan.height / plan.lower_bound:.3f}")


def test_tiles_of_layers() -> None:
    """How many results a tile of Winograd's transforms has a side, and whether its filters are packed by rows alone."""
    titles, *stated = rows("convolutions.md", "layer")
    config, found = EngineConfig(threads=1, tuned=False), dict[str, str]()
    for each in (row[0] for row in stated):
        module, ctx = source_of(layer(each)).load(config)
        plan_memory(module, ctx, config, machine="x86-64-v4")
        kernels = [op for op in module.walk() if isinstance(op, KernelOp) and "conv" in op.sym_name.data]
        (schedule,) = (kernel.schedule for kernel in kernels)
        assert isinstance(schedule, ScheduleAttr)
        options = schedule.numbers()
        found[each] = f"{options['tile']}{', by rows' * options.get('half', 0)}" if "tile" in options else "none"
    assert found == {row[0]: row[titles.index("tiles of")] for row in stated}
