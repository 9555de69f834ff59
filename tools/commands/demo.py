"""`mini-infer demo`: a ResNet-50 from nothing to its memory plan."""

from __future__ import annotations

import time
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from ..json_reports import Facts
from ..verbs import Chosen, Work


def demo(
    model: Annotated[
        str, typer.Option(metavar="FILE", help="Where the demo's model is written.")
    ] = "build/resnet50.onnx",
    image: Annotated[int, typer.Option(min=32, metavar="N", help="Height and width of the picture.")] = 224,
    batch: Annotated[int, typer.Option(min=1, metavar="N", help="Pictures at a time.")] = 1,
    *,
    chosen: Chosen,
) -> Work:
    """Build a ResNet-50 with seeded weights, compile it, run it, and show where its memory went."""
    from ...dialects.atomic_file import atomic_file
    from ..command_names import shell_name
    from ..demos.resnet50 import resnet50
    from ..reports.plan_summary import show_summary
    from ..reports.plan_tables import size_text
    from ..run_model import run_compiled

    def work(console: Console) -> Facts:
        start = time.perf_counter()
        with console.status("building a ResNet-50 with seeded weights"), atomic_file(model) as stream:
            stream.write(resnet50(image, batch=batch).SerializeToString())
        size = size_text(Path(model).stat().st_size)
        console.print(f"built {model}, {size}, in {time.perf_counter() - start:.1f} s\n")
        engine, found = run_compiled(model, chosen.options(), [], None, 20, None, console)
        show_summary(engine.plan.memory, console)
        yours, inside = (
            f"{shell_name('mini-infer')} run YOUR.onnx",
            f"{shell_name('mini-opt')} {quote(model)} --to kernels",
        )
        hint = Text.assemble("\nNow yours: ", (yours, "bold"), "\nLook inside: ", (inside, "bold"))
        console.print(hint, soft_wrap=True)
        return found

    return work
