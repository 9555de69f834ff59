"""mini-infer: run, plan, bench and compare ONNX models from the command line; plan the memory of anything."""

from __future__ import annotations

import typer

from .commands.allocate import allocate
from .commands.bench import bench
from .commands.bisect import bisect
from .commands.build import build
from .commands.cache import cache
from .commands.compare import compare
from .commands.demo import demo
from .commands.draw import draw
from .commands.explore import explain, explore
from .commands.generate import generate
from .commands.machine import machine
from .commands.operators import operators
from .commands.plan import plan
from .commands.quantize import quantize
from .commands.run import run
from .commands.tune import tune
from .one_line_errors import OneLineErrors
from .verbs import command
from .versions import Version

app = typer.Typer(
    cls=OneLineErrors,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # its tables cut names of options off
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.callback()
def program(version: Version = False) -> None:
    """Compile ONNX models into one native function over one planned memory arena, and run them."""


VERBS = (
    *(run, generate, build, cache, plan, allocate, draw, bench, machine, operators, quantize, tune),
    *(compare, bisect, explore, explain, demo),
)
for verb in VERBS:
    app.command(verb.__name__)(command(verb, with_json=verb is not demo))


def main() -> None:
    """Entry point of the command."""
    app(prog_name="mini-infer")


if __name__ == "__main__":
    main()
