"""mini-infer generate: tokens and text as they come, and what it complains of."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_runs import cli, complaint
from models.small import SMALL_MODELS
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from mini_infer.runtime.config import EngineConfig
from mini_infer.runtime.native.cpu_targets import target_attribute
from mini_infer.tools.demos.llama import LlamaSizes, llama

pytestmark = pytest.mark.usefixtures("with_cache")
SIZES = LlamaSizes(vocabulary=50, hidden=64, inner=40, layers=1, heads=4, key_heads=2, capacity=40)
TOLD = r"{}: 1 thread\(s\), loaded in [\d.]+ s; prompt [\d.]+ tokens/s, then [\d.]+ tokens/s \([\d.]+ ms a step\)\n"


@pytest.fixture
def language_model(tmp_path: Path) -> Path:
    file = tmp_path / "llama.onnx"
    file.write_bytes(llama("scatter", SIZES, seed=3).SerializeToString())
    return file


def test_numbers(language_model: Path, tmp_path: Path) -> None:
    """A single sequence as it comes, several one a line; what is drawn by a seed, with a JSON report."""
    result = cli("generate", language_model, "-j", "1", "-n", "4", "--prompt", "20", "31", "5", "6")
    assert (result.exit_code, result.stdout.split()) == (0, ["47", "16", "24", "37"])
    assert re.fullmatch(TOLD.format(re.escape(str(language_model))), result.stderr)
    (tmp_path / "prompts.txt").write_text("20 31 5 6\n\n3 3 8\n")
    files = ("--prompt-file", tmp_path / "prompts.txt")
    both = cli("generate", language_model, "-j", "1", "-n", "3", *files).stdout.splitlines()
    assert [line.split() for line in both] == [["47", "16", "24"], ["27", "27", "27"]]
    found = tmp_path / "found.json"
    drawn = ("--temperature", "0.8", "--seed", "5", "--stop", "16", "--json", found)
    result = cli("generate", language_model, "-j", "1", "-n", "3", "-p", "3 3 8", *drawn)
    facts = json.loads(found.read_text())
    assert facts["command"] == "generate" and facts["prompts"] == [[3, 3, 8]]
    assert [str(token) for token in facts["tokens"][0]] == result.stdout.split() == facts["texts"][0].split()
    assert facts["capacity"] == 40 and facts["prompt_seconds"] > 0


@pytest.mark.skipif(not target_attribute(EngineConfig()).multiplies_bf16, reason="this CPU multiplies no bf16")
def test_products_of_bf16(language_model: Path) -> None:
    """Rounded as they are, these logits order the tokens as exact ones do."""
    given = ("-j", "1", "-n", "3", "--prompt", "20", "31", "5", "6")
    result = cli("generate", language_model, *given, "--precision", "bf16")
    assert (result.exit_code, result.stdout.split()) == (0, ["47", "16", "24"])


def test_many_tokens_take_no_room_for_a_prompt_of_as_many(tmp_path: Path) -> None:
    """An arena for a prompt of 2^17 tokens at once would have 128 GB of masks."""
    file = tmp_path / "concat.onnx"
    file.write_bytes(llama("concat", SIZES, seed=3).SerializeToString())
    given = ("-p", "20 31 5 6", "--stop", "24")
    result = cli("generate", file, "-j", "1", "-n", "100000", *given)
    assert (result.exit_code, result.stdout.split()) == (0, ["47", "16", "24"])


def test_text(language_model: Path, tmp_path: Path) -> None:
    words = Tokenizer(models.WordLevel({f"w{number}": number for number in range(50)}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.decoder = decoders.WordPiece()
    words.save(str(tmp_path / "tokenizer.json"))
    given = ("--tokenizer", tmp_path / "tokenizer.json", "-p", "w20 w31 w5 w6")
    result = cli("generate", language_model, "-j", "1", "-n", "4", *given)
    assert (result.exit_code, result.stdout) == (0, "w47 w16 w24 w37\n")


def test_what_is_wrong(language_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other, text = tmp_path / "other.onnx", tmp_path / "text.json"
    other.write_bytes(SMALL_MODELS["mlp"]().SerializeToString())
    text.write_text("no tokenizer")
    for arguments, message in (
        ([other, "-p", "1"], "not a language model: it has no input 'input_ids' of tokens [batch, tokens]"),
        ([tmp_path / "none.onnx", "-p", "1"], "none.onnx: no such file"),
        ([language_model], "there is no prompt: give --prompt or --prompt-file"),
        ([language_model, "-p", "one"], "'one' is no list of tokens; text needs --tokenizer"),
        ([language_model, "-p", "1", "-p", "2", "3"], "'3' belongs to no prompt: it is for a single --prompt"),
        ([language_model, "-p", "1", "--seed", "1"], "--seed does nothing without --temperature, --top-k or --top-p"),
        ([language_model, "-p", "1", "-n", "60"], "a prompt of 1 tokens with 60 more exceeds the capacity of 40"),
        ([language_model, "-p", "a", "--tokenizer", text], "text.json: not a tokenizer: "),
    ):
        assert message in complaint("generate", *arguments)
    monkeypatch.setitem(__import__("sys").modules, "tokenizers", None)
    missing = complaint("generate", language_model, "-p", "a", "--tokenizer", text)
    assert missing.endswith("needs the package tokenizers: pip install 'mini-infer[generate]'")
