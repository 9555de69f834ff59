"""The interactive page of a memory plan, opened in a browser."""

from __future__ import annotations

import time
from collections.abc import Generator
from typing import Any

import pytest
from browser import BROWSER, Page, open_page
from models.light import seeded_light_model

import mini_infer as mi

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed (such as chromium-headless-shell)")

# The views of the two plots, and what the first kind of rectangle of the upper one is drawn from.
PLOTS = """
  const plots = [];
  const dig = view => { if (view.model.type === "Figure") plots.push(view); (view.child_views ?? []).forEach(dig); };
  for (const root of window.Bokeh?.index?.roots ?? []) dig(root);
  const drawn = plots[0]?.model.renderers.filter(each => each.glyph.type === "Quad" && "name" in each.data_source.data);
"""
READY = f"(() => {{ {PLOTS} return plots.length === 2 && plots.every(plot => plot.has_finished()); }})()"
FIRST = f"""(() => {{ {PLOTS}
  const data = drawn[0].data_source.data, box = plots[0].canvas_view.el.getBoundingClientRect();
  const x = plots[0].frame.x_scale.compute((data.left[0] + data.right[0]) / 2);
  const y = plots[0].frame.y_scale.compute((data.bottom[0] + data.top[0]) / 2);
  return {{name: data.name[0], kernel: data.kernel[0], size: data.size[0], x: box.left + x, y: box.top + y}};
}})()"""
TOOLTIPS = """(() => {
  const texts = [];
  const dig = node => node.querySelectorAll("*").forEach(each => {
    if (each.shadowRoot) dig(each.shadowRoot);
    if (String(each.className).includes("tooltip-content")) texts.push(each.innerText);
  });
  dig(document);
  return texts.join("|");
})()"""
NAMES = f"""(() => {{ {PLOTS}
  const texts = plots[0].model.renderers.find(each => each.glyph.type === "Text").data_source.data;
  return Array.from(texts.shown).filter(text => text).length;
}})()"""
ZOOM = f"""(() => {{ {PLOTS}
  plots[0].model.x_range.end = plots[0].model.x_range.start + 6;
  return plots.map(plot => plot.model.x_range.end);
}})()"""


def when(page: Page, script: str, seconds: float = 20) -> Any:
    """What a script gives as soon as it gives something; nothing after so many seconds."""
    end = time.monotonic() + seconds
    while not (found := page.ask(script)) and time.monotonic() < end:
        time.sleep(0.1)
    return found


@pytest.fixture(scope="module")
def plan() -> mi.MemoryPlan:
    return mi.plan_memory(seeded_light_model("squeezenet"), threads=1)


@pytest.fixture(scope="module")
def page(plan: mi.MemoryPlan, tmp_path_factory: pytest.TempPathFactory) -> Generator[Page]:
    folder = tmp_path_factory.mktemp("page")
    mi.write_report(plan, folder / "arena.html", "squeezenet <1.0>")
    with open_page(folder / "arena.html", folder / "profile") as opened:
        assert when(opened, READY)
        yield opened
        assert opened.errors == [], "what the console said until the last test was done"


def test_the_page_is_drawn_without_complaint(page: Page) -> None:
    assert page.errors == []
    assert page.ask("document.title").startswith("squeezenet <1.0>: arena ")


def test_pointing_at_a_rectangle_tells_its_tensor(page: Page, plan: mi.MemoryPlan) -> None:
    first = page.ask(FIRST)
    tensor = next(each for each in plan.tensors if each.name == first["name"])
    assert (first["kernel"], first["size"]) == (tensor.kernel, f"{tensor.bytes:,} bytes")
    for nudge in range(2):
        page.point_at(first["x"] + nudge, first["y"])
    told = when(page, TOOLTIPS)
    for fact in (tensor.name, tensor.kernel, tensor.node, f"{tensor.bytes:,} bytes"):
        assert fact in told
    assert f"steps {tensor.birth} to {tensor.death - 1}" in told
    assert f"addresses {tensor.offset:,} to {tensor.end:,}" in told


def test_zooming_shows_more_names_and_moves_both_plots(page: Page) -> None:
    before = page.ask(NAMES)
    assert before > 3, "names that fit without zooming"
    assert page.ask(ZOOM) == [6, 6]
    assert when(page, f"{NAMES} !== {before}")
