"""Every command and every snippet of the documentation runs as it is written, page by page, in one folder."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from isolated import isolated
from markdown_it import MarkdownIt
from mini_lit import import_tools
from models.build import ModelBuilder
from onnx import ModelProto

from mini_infer.tools.demos.llama import LlamaSizes, llama
from mini_infer.tools.mini_infer import app
from mini_infer.tools.mini_opt.command import main as mini_opt

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "CONTRIBUTING.md", *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md"))]
PROGRAMS: Mapping[str, Callable[[Sequence[str]], int | None]] = {"mini-opt": mini_opt, "mini-infer": app}
# These set up environments, run this test, compile a model of full size, or need a GPU, and are tested elsewhere.
LEFT_OUT = {
    "make demo",
    "make test",
    "make test-all",
    "make test-cuda",
    "make fuzz",
    "pip install .",
    "mini-infer demo",
    "mini-infer generate phi/ --tokenizer phi/tokenizer.json --prompt 'Once upon a time' --temperature 0.7",
    "mini-infer run MODEL.onnx --device cuda",
    "mini-infer run bert.onnx --device cuda --range tokens=1,128,512",
    "mini-infer generate llama.onnx --device cuda --prompt 5 17 130 --tokens 20",
}
MODELS = ("resnet50.onnx", "vgg16.onnx", "build/resnet50.onnx", "MODEL.onnx", "YOUR.onnx")


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """The code of a page in order: its language, "" where the block is indented, and its text."""
    for token in MarkdownIt().parse((ROOT / page).read_text(encoding="utf-8")):
        if token.type in ("fence", "code_block"):
            yield token.info, token.content


def commands(page: str) -> list[list[str]]:
    """The commands of a page as words; a line that begins with no program of ours is output."""
    lines = [line for info, text in blocks(page) if info in ("", "sh") for line in text.splitlines()]
    first = (*PROGRAMS, ".venv/", "make ", "pip ")
    words = [shlex.split(line, comments=True) for line in lines if line.startswith(first)]
    return [[each[0].removeprefix(".venv/bin/"), *each[1:]] for each in words]


def picture_model(batch: int | str = 1) -> ModelProto:
    """A small network with the names that the pages use: image -> scores."""
    b = ModelBuilder("small")
    x = b.node("Conv", b.input("image", [batch, 3, 16, 16]), b.weight(8, 3, 3, 3), pads=[1, 1, 1, 1])
    x = b.node("Flatten", b.node("GlobalAveragePool", b.node("Relu", x)))
    scores = b.node("Gemm", x, b.weight(8, 5))
    model = b.model([scores])
    model.graph.output[0].name = model.graph.node[-1].output[0] = "scores"
    return model


def text_model() -> ModelProto:
    """A small network for any number of tokens."""
    b = ModelBuilder("text")
    x = b.node("MatMul", b.input("x", [1, "tokens", 12]), b.weight(12, 8))
    return b.model([b.node("Softmax", x)])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the pages name."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / "build").mkdir()
    for name in MODELS:
        (tmp_path / name).write_bytes(picture_model().SerializeToString())
    (tmp_path / "classifier.onnx").write_bytes(picture_model("batch").SerializeToString())
    (tmp_path / "bert.onnx").write_bytes(text_model().SerializeToString())
    (tmp_path / "llama.onnx").write_bytes(llama("attention", LlamaSizes(layers=1)).SerializeToString())
    (tmp_path / "problem.csv").write_text("id,lower,upper,size\na,0,2,4096\nb,1,4,512\nc,2,5,4096\n")
    for name in ("test/meaning/relu.mlir", "test/passes/graph/fold-constants.mlir", "test/data/minimalloc/C.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(words: Sequence[str]) -> int:
    """The exit status of a command, run in this process; what it would measure for seconds takes a tenth of one."""
    shorter = ["0.1" if before in ("--seconds", "--duration") else word for before, word in pairwise(words)]
    try:
        return PROGRAMS[words[0]](shorter) or 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)


def run_page(page: str) -> str:
    """Runs commands until one fails: that one, or the empty string."""
    for words in commands(page):
        if words[0] in PROGRAMS and shlex.join(words) not in LEFT_OUT and (status := run(words)):
            return f"{shlex.join(words)}: exit status {status}"
    return ""


@pytest.mark.parametrize(
    "page",
    [
        # of which tests of bench, tune and the cache run the like
        pytest.param(page, marks=pytest.mark.slow) if page in ("docs/measuring.md", "docs/caching.md") else page
        for page in PAGES
    ],
)
def test_commands_run(page: str, folder: Path) -> None:
    import_tools()
    assert isolated(lambda: run_page(page), 280) == ""


@cache
def makefile() -> str:
    """All rules, those of make itself too, in make's own words."""
    return subprocess.run(["make", "-C", ROOT, "-qp"], capture_output=True, text=True, check=False).stdout


@pytest.mark.parametrize("page", PAGES)
def test_commands_are_known(page: str) -> None:
    for words in commands(page):
        if words[0] == "make":
            assert all(f"\n{target}:" in makefile() for target in words[1:] if "=" not in target), shlex.join(words)
        elif words[0] not in PROGRAMS:
            assert shlex.join(words) in LEFT_OUT or (ROOT / ".venv/bin" / words[0]).is_file(), shlex.join(words)


def run_snippets(page: str) -> str:
    """Runs the Python of a page, one snippet after the other, until one fails: what it raised."""
    names: dict[str, Any] = {"np": np, "x": np.ones((1, 3, 16, 16), np.float32)}
    for info, text in blocks(page):
        if info == "python":
            try:
                exec(compile(text, page, "exec"), names)
            except Exception:
                return traceback.format_exc()
    return ""


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=pytest.mark.slow) if page in ("docs/ray.md", "docs/pytorch.md") else page
        for page in PAGES
        if page != "docs/api.md"  # signatures without bodies, held to the code by test_api_page
    ],
)
def test_snippets_run(page: str, folder: Path) -> None:
    if page == "docs/ray.md":
        pytest.importorskip("ray", reason="Ray is not installed: pip install 'mini-infer[ray]'")
        run_apart(page)  # a process that had a cluster can't be forked: its threads hold locks
        return
    if page == "docs/pytorch.md":
        for package in ("torch", "onnxscript"):
            pytest.importorskip(package, reason="PyTorch is not installed: pip install 'mini-infer[torch]'")
        run_apart(page)  # PyTorch has threads of its own
        return
    import_tools()
    assert isolated(lambda: run_snippets(page), 280) == ""


def run_apart(page: str) -> None:
    """Runs the Python of a page in a process of its own."""
    code = f"import sys, test_documentation as each; sys.exit(each.run_snippets({page!r}) or None)"
    paths = os.pathsep.join(map(str, (ROOT, ROOT / "test", ROOT / "test" / "tools")))
    command, environment = [sys.executable, "-c", code], {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    for token in MarkdownIt().parse((ROOT / page).read_text(encoding="utf-8")):
        for child in token.children or []:
            link = str(child.attrs.get("href", child.attrs.get("src", "")))
            if link and "://" not in link:
                assert (ROOT / page).parent.joinpath(link.partition("#")[0]).exists(), link


def test_the_pages_have_commands_and_snippets() -> None:
    assert len(commands("README.md")) >= 10 and len(commands("docs/walkthrough.md")) >= 8
    assert sum(info == "python" for page in PAGES for info, _ in blocks(page)) >= 3
    assert os.path.islink(ROOT / "mini_infer/tools")
