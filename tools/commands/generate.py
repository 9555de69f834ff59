"""`mini-infer generate`: continue prompts with a language model."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from ...dialects.errors import ConfigError
from ..json_reports import Facts
from ..verbs import Chosen, Work

USUAL_TOP_K = 50


def generate(
    model: Annotated[str, typer.Argument(help="An .onnx file, or a folder with a genai_config.json.", metavar="MODEL")],
    words: Annotated[
        list[str] | None, typer.Argument(help="More of the prompt: --prompt 5 17 230.", metavar="[WORDS]...")
    ] = None,
    *,
    prompt: Annotated[
        list[str] | None,
        typer.Option("--prompt", "-p", metavar="TEXT", help="Tokens, or text with --tokenizer; one for each sequence."),
    ] = None,
    prompt_file: Annotated[
        list[str] | None, typer.Option(metavar="FILE", help="The same in a file; may be repeated.")
    ] = None,
    tokenizer: Annotated[
        str | None, typer.Option(metavar="FILE", help="A tokenizer.json, for text instead of numbers.")
    ] = None,
    tokens: Annotated[int, typer.Option("--tokens", "-n", min=1, metavar="N", help="Tokens to generate at most.")] = 64,
    temperature: Annotated[
        float | None,
        typer.Option(min=0, metavar="T", help="Draw tokens; below 1 the likely ones more often.", show_default="0"),
    ] = None,
    top_k: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="K",
            help="Draw from the K most likely tokens; 0: from all, without --top-p.",
            show_default=f"1; with --temperature or --top-p {USUAL_TOP_K}",
        ),
    ] = None,
    top_p: Annotated[
        float | None,
        typer.Option(metavar="P", help="Draw from the likeliest tokens of so much probability.", show_default="1"),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, metavar="N", help="Seed of what is drawn.")] = 0,
    stop: Annotated[
        list[int] | None, typer.Option(metavar="TOKEN", help="A token that ends a sequence; may be repeated.")
    ] = None,
    keep: Annotated[
        bool | None,
        typer.Option("--keep/--no-keep", help="Use the cache of compiled models.", show_default="MINI_INFER_CACHE"),
    ] = None,
    chosen: Chosen,
) -> Work:
    """Continue prompts with a language model, token by token."""
    drawn = temperature != 0 and (temperature is not None or top_p is not None or top_k not in (None, 1))
    if not drawn:
        reason = "without --temperature, --top-k or --top-p"
        if temperature == 0 or top_k == 1:
            reason = "with --temperature 0" if temperature == 0 else "with --top-k 1"
        chosen.refuse(reason, "seed", "top_p", *(("top_k",) if temperature == 0 and top_k != 1 else ()))
    if words and len(prompt or ()) != 1:
        raise ConfigError(f"'{' '.join(words)}' belongs to no prompt: it is for a single --prompt")
    prompts = [" ".join([text, *(words or ())]) for text in prompt or ()]
    if not prompts and not prompt_file:
        raise ConfigError("there is no prompt: give --prompt or --prompt-file")
    options = chosen.options()
    draw = {"top_k": 1}
    if drawn:
        draw = {"top_k": USUAL_TOP_K if top_k is None else top_k, "seed": seed}
        draw |= {"temperature": temperature or 1.0, "top_p": 1.0 if top_p is None else top_p}

    def work(console: Console) -> Facts:
        from ..generated_text import show_generated

        return show_generated(
            model, options, prompts, prompt_file or [], tokenizer, tokens, draw, stop, console, keep=keep
        )

    return work
