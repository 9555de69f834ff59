"""`mini-infer generate`: tokens as they come, as numbers or as text, and how fast they came."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

from rich.console import Console
from typing_extensions import override

from ..dialects.errors import ConfigError, InvalidInputError, InvalidModelError
from ..dialects.regular_file import read_regular
from ..runtime.generation.generator import Generator
from ..runtime.generation.model_sizes import USUAL_CHUNK
from .json_reports import Facts
from .waiting import working

LEAST_CAPACITY = 256
"""Tokens. Room is a power of two of at least so many, so that what was compiled for one prompt does for others."""


class Numbers:
    """Tokens as numbers."""

    def encoded(self, text: str) -> list[int]:
        """The tokens of a text."""
        try:
            return [int(word) for word in text.split()]
        except ValueError:
            raise InvalidInputError(f"'{text}' is no list of tokens; text needs --tokenizer") from None

    def prompts(self, content: str) -> list[str]:
        """The prompts in a file: one a line."""
        return [line for line in content.splitlines() if line.strip()]

    def stream(self) -> Callable[[int], str]:
        """A function of each token in turn that gives what it adds to the text."""
        return lambda token: f"{token} "


class Text(Numbers):
    """Tokens as text, by the package tokenizers."""

    def __init__(self, file: str) -> None:
        try:
            self._package: Any = import_module("tokenizers")
        except ImportError:
            raise ConfigError("--tokenizer needs the package tokenizers: pip install 'mini-infer[generate]'") from None
        content = read_regular(file)
        try:
            self._tokenizer = self._package.Tokenizer.from_buffer(content)
        except Exception as error:  # the package raises no class of its own
            raise InvalidModelError(f"{file}: not a tokenizer: {error}") from None

    @override
    def encoded(self, text: str) -> list[int]:
        return list(self._tokenizer.encode(text).ids)

    @override
    def prompts(self, content: str) -> list[str]:
        return [content]

    @override
    def stream(self) -> Callable[[int], str]:
        decoder = self._package.decoders.DecodeStream(skip_special_tokens=True)
        return lambda token: decoder.step(self._tokenizer, token) or ""


def show_generated(
    model: str,
    options: Mapping[str, Any],
    prompts: Sequence[str],
    files: Sequence[str],
    tokenizer: str | None,
    tokens: int,
    drawn: Mapping[str, Any],
    stop: Sequence[int] | None,
    console: Console,
    *,
    keep: bool | None,
) -> Facts:
    """Prints what follows the prompts, a single sequence as it comes, and to standard error how fast it came."""
    spelling = Numbers() if tokenizer is None else Text(tokenizer)
    texts = [*prompts, *(text for file in files for text in spelling.prompts(_content(file)))]
    given = [spelling.encoded(text) for text in texts]
    if not given or not all(given):
        raise InvalidInputError("a prompt has no tokens")
    notes = Console(stderr=True, markup=False, highlight=False, soft_wrap=True)
    start = time.perf_counter()
    longest = max(map(len, given))
    capacity, chunk = (max(LEAST_CAPACITY, 1 << (each - 1).bit_length()) for each in (longest + tokens, longest))
    draw = dict(drawn)
    with working(notes, "loading") as tell:
        generator = Generator(
            model,
            capacity=capacity,
            sequences=len(given),
            chunk=chunk if chunk <= USUAL_CHUNK else None,  # so that the arena isn't for a prompt of all the tokens
            top_k=draw.pop("top_k"),
            cache=keep,
            progress=lambda step: tell(step.step),
            **options,
        )
    seconds = time.perf_counter() - start
    streams, told = [spelling.stream() for _ in given], ["" for _ in given]
    found: list[list[int]] = [[] for _ in given]
    times = [time.perf_counter()]
    for step in generator.generate(given, tokens, stop=stop, **draw):
        times.append(time.perf_counter())
        for number, token in enumerate(step):
            if token is not None:
                found[number].append(token)
                text = streams[number](token)
                told[number] += text
                if len(given) == 1:
                    console.print(text, end="", soft_wrap=True)
                    console.file.flush()
    console.print("" if len(given) == 1 else "\n".join(told), soft_wrap=True)
    facts = _facts(given, found, times)
    plan = generator.engine.plan
    where = plan.config.place if plan.launches else f"{plan.threads} thread(s)"
    notes.print(f"{model}: {where}, loaded in {seconds:.2f} s; {_speed(facts)}")
    return {
        "model": model,
        "threads": generator.engine.plan.threads,
        "seconds": seconds,
        "capacity": generator.capacity,
        "prompts": given,
        "tokens": found,
        "texts": told,
        **facts,
    }


def _content(file: str) -> str:
    try:
        return read_regular(file).decode()
    except UnicodeDecodeError as error:
        raise InvalidInputError(f"{file}: no text in UTF-8: {error}") from None


def _facts(prompts: Sequence[Sequence[int]], found: Sequence[Sequence[int]], times: Sequence[float]) -> dict[str, Any]:
    """Speeds, from the time of the beginning and those of each step."""
    steps = [after - before for before, after in pairwise(times[1:])]
    return {
        "prompt_seconds": times[1] - times[0],
        "prompt_tokens_per_second": sum(map(len, prompts)) / (times[1] - times[0]),
        "step_ms": statistics.median(steps) * 1e3 if steps else None,
        "tokens_per_second": sum(len(each) - 1 for each in found) / sum(steps) if steps else None,
    }


def _speed(facts: Mapping[str, Any]) -> str:
    text = f"prompt {facts['prompt_tokens_per_second']:.1f} tokens/s"
    if facts["step_ms"] is None:
        return text
    return f"{text}, then {facts['tokens_per_second']:.1f} tokens/s ({facts['step_ms']:.2f} ms a step)"
