"""Tables of the documentation that state what the compiler decides: their commands give what they say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from models.light import seeded_light_model
from onnx import ModelProto

from mini_infer.passes.planning import STRATEGIES
from mini_infer.tools.bench.strategies import heights
from mini_infer.tools.demo_model import resnet50

DOCS = Path(__file__).parents[2] / "docs"
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
