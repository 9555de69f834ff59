"""The arena's height under each planning strategy, as a multiple of the lower bound: a Markdown table.

    python -m mini_infer.tools.bench.strategies build/resnet50.onnx --cpu x86-64-v4

Kernels, their order and sharing are decided once for each model; every strategy then places the same buffers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ...passes.planning import STRATEGIES, Buffer, Problem, lower_bound, solve
from ...runtime.compile.module_to_plan import plan_memory
from ...runtime.compile.source import source_of
from ...runtime.config import EngineConfig
from ..one_line_errors import run_alone

if TYPE_CHECKING:
    from ...lowering.onnx_to_graph.model_file import ModelSource


def heights(model: ModelSource, cpu: str = "") -> dict[str, float]:
    """The arena's height over the lower bound for each strategy, on one thread of a CPU (by default this machine's).

    Raises MiniInferError for a model that can't be compiled.
    """
    config = EngineConfig(threads=1)
    module, ctx = source_of(model).load(config)
    memory = plan_memory(module, ctx, config, machine=cpu)
    buffers = (
        Buffer(each.number, each.bytes, each.birth, each.death, gaps=each.gaps, name=each.name)
        for each in memory.buffers
    )
    problem = Problem(tuple(buffers), alignment=memory.alignment)
    least = lower_bound(problem).height
    return {strategy: solve(problem, strategy).height / least for strategy in STRATEGIES}


def table(found: Mapping[str, Mapping[str, float]]) -> str:
    """The heights of each model by strategy, one column per model."""
    rows: list[Sequence[str]] = [("strategy", *found), ["---"] * (1 + len(found))]
    rows += [(f"`{each}`", *(f"{model[each]:.2f}" for model in found.values())) for each in STRATEGIES]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main(
    models: Annotated[list[Path], typer.Argument(help="ONNX files.")],
    cpu: Annotated[str, typer.Option(help="LLVM's name of the CPU that kernels are scheduled for.")] = "",
) -> None:
    """Prints the table."""
    print(table({path.stem: heights(path, cpu) for path in models}))


if __name__ == "__main__":
    run_alone(main)
