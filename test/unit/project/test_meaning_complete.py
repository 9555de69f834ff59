"""Every op of the graph dialect has a file in test/meaning/ that states what it means."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mini_infer.dialects.graph.dialect import Graph

FOLDER = Path(__file__).resolve().parents[2] / "meaning"
# What holds the others together has no values of its own to expect, and a user's function has its own meaning.
STRUCTURE = {"call", "constant", "external_call", "kernel", "weight", "yield"}
OPS = sorted(operation.name.removeprefix("graph.") for operation in Graph.operations)


@pytest.mark.parametrize("name", sorted(set(OPS) - STRUCTURE))
def test_op_has_its_meaning_written_down(name: str) -> None:
    text = (FOLDER / f"{name}.mlir").read_text(encoding="utf-8")
    assert re.search(rf"graph\.{name}\b", text)
    assert "// RUN: mini-opt %s -t check | filecheck %s" in text


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.mlir")), ids=lambda path: path.stem)
def test_every_output_is_checked_and_explained(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    if file.stem == "refused":
        assert text.count("// -----") + 1 == len(re.findall(r"// expected-error @\S+ {{.+}}", text))
        return
    assert file.stem.partition("-")[0] in OPS
    outputs = text[: text.index("func.return")].partition("\n    -> (")[2].partition(") {\n")[0]
    names = re.findall(r'graph\.name = "(\w+)"', outputs)
    checks = re.findall(r"  // CHECK: (\w+): reference, unfused, fused agree", text)
    assert names == checks
    # A comment of its own stands above the checks of each op, which may have several results.
    explained = re.findall(r"  // (?!CHECK).*\n  // CHECK: ", text)
    assert len(explained) == len(re.findall(r"\n  %.* = graph\.(?!constant)", text))
