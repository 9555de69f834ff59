"""`mini-infer quantize`: an ONNX model with weights of few bits, for any runtime."""

from __future__ import annotations

from typing import Annotated

import typer

from ...dialects.arguments import check_choice
from ...dialects.errors import ConfigError
from ...runtime.config import EngineConfig
from ..option_values import listed
from ..verbs import Chosen, Files, Seed, Work


def quantize(
    model: Annotated[str, typer.Argument(help="An .onnx file.", metavar="MODEL")],
    *,
    output: Annotated[str, typer.Option("--output", "-o", metavar="FILE", help="The .onnx file to write.")],
    bits: Annotated[int, typer.Option(metavar="N", help="Bits of a number: 2, 4, 8.")] = 4,
    block: Annotated[int, typer.Option(metavar="N", help="Numbers with one scale: a power of two from 16 on.")] = 32,
    symmetric: Annotated[
        bool,
        typer.Option("--symmetric/--asymmetric", help="0 in the middle of the range, or zero points."),
    ] = True,
    chosen: Chosen,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="NODES", help="Products, or weights, that stay in floats: a name, or a pattern with *."),
    ] = None,
    embeddings: Annotated[bool, typer.Option(help="Quantise tables that Gather reads, too.")] = False,
    error_budget: Annotated[
        float | None,
        typer.Option(min=0, metavar="ERROR", help="Largest relative error of the outputs for -i, or of a weight."),
    ] = None,
    input: Files = None,
    seed: Seed = None,
    format: Annotated[
        str, typer.Option(metavar="KIND", help="How weights are written: matmulnbits (com.microsoft), qdq (opset 21).")
    ] = "matmulnbits",
) -> Work:
    """Write an ONNX model whose weights of MatMul and Gemm have 2, 4 or 8 bits, in blocks."""
    from ...passes.graph.quantization.block_quantiser import check_block
    from ..quantization.quantised_model import BITS, FORMS, QuantisedForm

    check_choice("--bits", bits, BITS)
    check_block("--block", block)
    activations = EngineConfig.of(**chosen.options()).activations
    check_choice("--format", format, FORMS)
    if format == "qdq" and (activations == "int8" or embeddings):
        given = "--embeddings" if embeddings else "--activations int8"
        raise ConfigError(f"{given} does nothing with --format qdq")
    if seed is not None and not input:
        raise ConfigError("--seed does nothing without --input")
    if not output.endswith(".onnx"):
        raise ConfigError(f"--output {output}: the name must end in .onnx")
    from ..quantization.quantize_model import Request, quantize_model

    how = QuantisedForm(block, format, activations == "int8")
    asked = Request(model, output, bits, symmetric, how, listed(keep), embeddings, error_budget, input or [], seed)
    return lambda console: quantize_model(asked, console)
