"""Whatever a module says, mini-opt ends in a result or in one message: never in an exception."""

from __future__ import annotations

import contextlib
import io
import random
import re
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from isolated import isolated
from mini_lit import parse_run_line, run_lines

from mini_infer.tools.mini_opt.command import main

TESTS = Path(__file__).resolve().parents[1]
TOKEN = re.compile(r'"[^"\n]*"|[%@^#!]?[\w.$-]+|->|\s+|.')
NUMBERS = ("0", "1", "-1", "2", "7", "64", "2147483648", "9223372036854775808", "1000000000000000000000000000000")


def modules() -> Iterator[tuple[str, list[str]]]:
    """Small modules of the lit tests with what mini-opt is to do with them, "%s" for the file."""
    for file in sorted(TESTS.glob("*/**/*.mlir")):
        text = file.read_text()
        for line in run_lines(text) if len(text) < 4000 else ():
            words = next(iter(parse_run_line(line) or ())).words if parse_run_line(line) else []
            if words[:1] == ["mini-opt"] and "%s" in words and not any("%t" in word for word in words):
                yield re.sub(r"//.*", "", text), words[1:]


def mutated(text: str, chance: random.Random) -> str:
    """The text with one to three tokens missing, doubled or replaced, by others of their kind or any, or cut short."""
    tokens = TOKEN.findall(text)
    for _ in range(chance.randint(1, 3)):
        places = [place for place, token in enumerate(tokens) if token.strip()] or [0]
        place = chance.choice(places[:-1] or places)
        token = tokens[place]
        match chance.choice(
            ("missing", "doubled", "number", "number", "kin", "kin", "kin", "any", "everywhere", "end")
        ):
            case "missing":
                tokens[place] = ""
            case "doubled":
                tokens[place] = f"{token} {token}"
            case "number":
                tokens[place] = re.sub(r"\d+", lambda _: chance.choice(NUMBERS), token)
            case "any":
                tokens[place] = tokens[chance.choice(places)]
            case "end" if chance.random() < 0.2:
                del tokens[place:]
            case how:
                kin = [tokens[at] for at in places if _kind(tokens[at]) == _kind(token)]
                other = chance.choice(kin)
                for at in places if how == "everywhere" else [place]:
                    tokens[at] = other if tokens[at] == token else tokens[at]
    return "".join(tokens)


def _kind(token: str) -> str:
    """What may stand for a token without being a mistake of grammar: a shape, a type, an op, a name, a number, ..."""
    shape = re.sub(r"\d+", "0", re.sub(r"(\d+x)+", "x", token))
    return shape if token[0].isdigit() else re.sub(r"\w+", "w", token)


def exceptions(seed: int, count: int, folder: Path) -> list[str]:
    """What mini-opt does not tell of in a message, of so many modules."""
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    chance, cases = random.Random(seed), list(modules())
    found: list[str] = []
    file = folder / "module.mlir"
    for number in range(count):
        text, words = chance.choice(cases)
        file.write_text(mutated(text, chance))
        told = io.StringIO()
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(told):
                status = main([str(file) if word == "%s" else word for word in words])
            assert status == 0 or "mini-opt: error: " in told.getvalue() or "expected" in told.getvalue()
        except BaseException as error:
            found.append(f"{number}: {words}: {type(error).__name__}: {error}\n{file.read_text()}")
    return found


def check(seed: int, count: int, folder: Path) -> None:
    found = isolated(lambda: exceptions(seed, count, folder), seconds=600)
    assert not found, "\n".join(found)


def test_mutated_modules(tmp_path: Path) -> None:
    check(1, 30, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 6))
def test_more_mutated_modules(seed: int, tmp_path: Path) -> None:
    check(seed, 500, tmp_path)
