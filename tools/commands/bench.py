"""`mini-infer bench`: latencies beside other engines, and beside what the machine could do."""

from __future__ import annotations

from typing import Annotated

import typer

from ..option_values import listed
from ..verbs import Chosen, Files, Seed, Work


def bench(
    models: Annotated[
        list[str], typer.Argument(help=".onnx, .mlir and .mi files; of folders the .onnx in them.", metavar="MODEL")
    ],
    *,
    against: Annotated[
        str,
        typer.Option(
            metavar="PEERS",
            help="Peers: onnxruntime, openvino; on a GPU torch, torch-compile, onnxruntime-cuda.",
            show_default=False,
        ),
    ] = "",
    input: Files = None,
    seed: Seed = None,
    chosen: Chosen,
    beside: Annotated[
        str | None,
        typer.Option(metavar="NAME.npz", help="A file beside each model: inputs in.NAME, float64 results f64.NAME."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, metavar="N", help="Rounds of alternation.")] = 5,
    runs: Annotated[int, typer.Option(min=1, metavar="N", help="Inferences of each engine in a round.")] = 20,
    warmup: Annotated[
        int, typer.Option(min=0, metavar="N", help="Untimed inferences of each engine at the start.")
    ] = 5,
    duration: Annotated[
        float | None,
        typer.Option(
            min=0.001, max=86400, metavar="SECONDS", help="Time of each engine on a model, instead of a number of runs."
        ),
    ] = None,
    chart: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Draw ratios and fractions of the limit: FILE.png, FILE.svg, FILE.pdf."),
    ] = None,
    profile: Annotated[bool, typer.Option(help="Show the time of each kernel, and its least possible.")] = False,
) -> Work:
    """Time models against other engines, each in a process of its own, and against the machine's limits."""
    from ..bench import benchmark
    from ..bench.models import Given
    from ..bench.turns import Amount

    if duration is not None:
        chosen.refuse("with --duration", "runs")
    compiled = chosen.is_compiled(*models, also=("profile",))
    if chosen["range"]:
        chosen.refuse("with --range", "beside")
    if chosen["device"] == "cuda-emulated":
        chosen.refuse("with --device cuda-emulated, which has no clock", "profile")
    chosen.check_winograd(*models)
    options = chosen.options(at=not compiled)
    given, amount = Given(input or [], seed, chosen.at, beside), Amount(rounds, runs, warmup, duration)
    peers = listed(against)
    return lambda console: benchmark.bench(
        models, options, peers, given, amount, console, profiled=profile, chart=chart
    )
