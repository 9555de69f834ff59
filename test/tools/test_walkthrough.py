"""docs/walkthrough.md holds what its commands print, and the pictures that its commands draw."""

from __future__ import annotations

import walkthrough_page
from walkthrough_page import ROOT, shortened


def test_outputs_are_those_of_the_commands() -> None:
    assert walkthrough_page.PAGE.read_text("utf-8") == walkthrough_page.page(), "make it anew: make docs"


def test_pictures_are_there() -> None:
    """That they can be made is tested with all commands of the page; what they show depends on the machine."""
    files = walkthrough_page.pictures()
    assert len(files) == 2 and all((ROOT / file).stat().st_size < 100_000 for file in files)
    assert {f"]({file.removeprefix('docs/')})" in walkthrough_page.PAGE.read_text("utf-8") for file in files} == {True}


def test_lines_are_shortened_by_rule() -> None:
    attributes = 'strides = array<i64: 1, 1>, groups = 1 : i64, layout = "NHWC"'
    line = f'  %1 = graph.conv %0, %w {{{attributes}}} : (f32, f32) -> f32 loc("a")'
    assert [*shortened(line)] == ['  %1 = graph.conv %0, %w {..., layout = "NHWC"} : (...) -> f32']
    first, second = shortened("  call(" + ", ".join(f"mr = {number}" for number in range(20)) + ")")
    assert first.endswith(",") and second.startswith("      mr = ")
