"""A walk through the page of a compile, as pictures: from a node to its instructions, its tensors and its bytes.

    PYTHONPATH=.:test .venv/bin/python -m explorer_walk resnet50.onnx docs

docs/explorer.md shows them. Needs a Chromium (such as chromium-headless-shell).
"""

from __future__ import annotations

import base64
import io
import tempfile
import time
from pathlib import Path
from typing import Annotated

import typer
from browser import Page, open_page
from PIL import Image

import mini_infer as mi

SIZE = (1280, 800)


def main(
    model: Annotated[str, typer.Argument(help="An ONNX model with convolutions and ReLUs.")],
    folder: Annotated[Path, typer.Argument(help="Where the pictures are written.")],
) -> None:
    """Writes explorer-node.png, explorer-instruction.png and explorer-memory.png."""
    record = mi.explore(model, threads=1)
    relus = [each for each in record.nodes if each.operator == "Relu" and each.steps]
    node = relus[len(relus) // 4]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        record.write(Path(scratch, "page.html"))
        with open_page(Path(scratch, "page.html"), Path(scratch, "profile")) as page:
            page.call(
                "Emulation.setDeviceMetricsOverride", width=SIZE[0], height=SIZE[1], deviceScaleFactor=1, mobile=False
            )
            while not page.ask("document.documentElement.dataset.ready"):
                time.sleep(0.02)
            page.ask(f"explorer.select(explorer.record.named('node', {node.name!r}))")
            _save(page, folder / "explorer-node.png")
            page.ask("explorer.setLevel(explorer.left, 'loops')")
            page.ask(
                "explorer.right.choose(explorer.right.matches.find("
                "line => explorer.right.lines[line].includes('vfmadd') || explorer.right.lines[line].includes('fmla')))"
            )
            _save(page, folder / "explorer-instruction.png")
            page.ask("explorer.setLevel(explorer.left, 'kernels'); explorer.setLevel(explorer.right, 'arena')")
            tensor = record.tensors[node.outputs[0]].name
            page.ask(f"explorer.select(explorer.record.named('tensor', {tensor!r}))")
            _save(page, folder / "explorer-memory.png")


def _save(page: Page, file: Path) -> None:
    page.ask("new Promise(done => setTimeout(done, 200))")
    data = base64.b64decode(page.call("Page.captureScreenshot", format="png")["data"])
    Image.open(io.BytesIO(data)).convert("RGB").quantize(128).save(file, optimize=True)


if __name__ == "__main__":
    typer.run(main)
