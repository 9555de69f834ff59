"""The pages of docs/ that tell what is supported are what their generator makes."""

from __future__ import annotations

import pytest
from backend.pages import COMMAND, DOCS, PAGES
from backend.support import number_of, operators, plain, tried


@pytest.mark.parametrize(
    "name", ["operators", pytest.param("types", marks=[pytest.mark.slow, pytest.mark.timeout(1800)])]
)
def test_a_page_is_as_it_is_made(name: str) -> None:
    assert (DOCS / f"{name}.md").read_text(encoding="utf-8") == PAGES[name](), f"{COMMAND} {name}"


def test_types_are_tried_by_compiling() -> None:
    known = operators()
    assert "" in tried(known["Abs"]).values()
    found = tried(known["Det"] if known["Det"].passed else known["CumSum"])
    assert set(found) >= {"float", "double"}
    assert number_of("float16") == 10 and number_of("string") == 8
    assert tried(known["Identity"])["string"] != ""


def test_a_reason_is_told_without_names_of_nodes() -> None:
    assert plain("Pad_0 (Pad): mode is odd") == "mode is odd"
    assert plain("operators that are not supported: Det (Det_0)") == "operators that are not supported: Det"
