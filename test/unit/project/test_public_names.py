"""What users are told of: every public name has its docstring, and every name that docs use is there."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import api_page
import pytest

import mini_infer as mi

ROOT = Path(__file__).resolve().parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_page_of_public_names_is_up_to_date() -> None:
    assert api_page.PAGE.read_text(encoding="utf-8") == api_page.page(), f"make it anew: {api_page.COMMAND}"


def test_the_page_has_every_public_name() -> None:
    assert sorted(name for names in api_page.SECTIONS.values() for name in names) == sorted(mi.__all__)


def test_a_name_without_a_docstring_is_found() -> None:
    for doc in (None, " ", "Plain(x: int)"):
        with pytest.raises(ValueError, match=r"mi\.Plain has no docstring"):
            api_page.documented("mi.Plain", doc)


def test_dir_shows_public_names_only() -> None:
    assert [name for name in dir(mi) if not name.startswith("__")] == sorted(mi.__all__)
    assert "__version__" in dir(mi)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_in_docs_are_there(page: Path) -> None:
    """`mi.compile` and the like, and modules that are commands; `mini_infer.level` is an attribute in IR,
    and `mini_infer.operators` a group of entry points."""
    text = page.read_text(encoding="utf-8")
    for name in re.findall(r"\bmi\.([A-Za-z_]\w*)", text):
        assert name in [*mi.__all__, "__version__"], f"mi.{name}"
    for name in re.findall(r"\bmini_infer\.(?!level\b|py\b|operators\b)([A-Za-z_]\w*(?:\.\w+)*)", text):
        module, _, inside = name.partition(".")
        if module == "onnxruntime":
            assert not inside or hasattr(importlib.import_module("mini_infer.onnxruntime"), inside)
        elif name not in mi.__all__:
            assert name.startswith("tools."), f"mini_infer.{name} is no public name"
            importlib.import_module(f"mini_infer.{name}")
