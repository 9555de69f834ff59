"""The page of a compile in a browser: one selection through all panes, from a file, without a network."""

from __future__ import annotations

import base64
import io
import re
import time
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import BROWSER, Page, open_page
from matplotlib.image import imread
from models.light import seeded_light_model

import mini_infer as mi

needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed (such as chromium-headless-shell)")
MODEL = "squeezenet"
SIZES = [(1280, 800), (1920, 1080)]

# Texts that stick out of what holds them: of boxes that neither scroll nor cut, and of the picture's rectangles.
OUTSIDE = """(() => {
  const wrong = [], page = document.documentElement;
  if (page.scrollWidth > innerWidth || page.scrollHeight > innerHeight) wrong.push("the page itself");
  for (const section of document.querySelectorAll("main > section, header")) {
    const box = section.getBoundingClientRect();
    const told = each => wrong.push(`${section.id}: ${each.textContent.slice(0, 40)}`);
    const outside = box.right > innerWidth + 0.5 || box.bottom > innerHeight + 0.5;
    if (outside || box.width < 100 || box.height < 20) wrong.push(section.id);
    for (const each of section.querySelectorAll(".bar > *, .time > *, td, h2, h3, header > *")) {
      const own = each.getBoundingClientRect(), style = getComputedStyle(each), around = each.parentElement;
      if (!own.width || style.overflow !== "visible") continue;
      if (each.scrollWidth > each.clientWidth + 1 && style.display !== "inline") told(each);
      if (around.className === "bar" && own.right > around.getBoundingClientRect().right + 1) told(each);
    }
  }
  for (const text of document.querySelectorAll("#memory text")) {
    const own = text.getBoundingClientRect(), svg = text.ownerSVGElement.getBoundingClientRect();
    if (own.left < svg.left - 1 || own.right > svg.right + 1) wrong.push(`memory: ${text.textContent}`);
    const rect = text.previousElementSibling;
    if (text.classList.contains("axis") || rect?.tagName !== "rect") continue;
    const around = rect.getBoundingClientRect();
    if (own.left < around.left - 2 || own.right > around.right + 2) wrong.push(`memory: ${text.textContent}`);
  }
  return wrong;
})()"""


@pytest.fixture(scope="module")
def record() -> mi.CompileRecord:
    return mi.explore(seeded_light_model(MODEL), threads=1)


@pytest.fixture(scope="module")
def file(record: mi.CompileRecord, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("explorer") / "page.html"
    record.write(path)
    return path


@pytest.fixture(scope="module")
def page(file: Path, tmp_path_factory: pytest.TempPathFactory) -> Generator[Page]:
    with open_page(file, tmp_path_factory.mktemp("profile")) as opened:
        ready(opened)
        yield opened
        assert opened.errors == [], "what the console said until the last test was done"


def ready(page: Page, seconds: float = 20) -> None:
    """Waits until the page is drawn."""
    end = time.monotonic() + seconds
    while not page.ask("document.documentElement.dataset.ready"):
        assert time.monotonic() < end, page.errors
        time.sleep(0.02)


def sized(page: Page, width: int, height: int) -> None:
    page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
    page.ask("new Promise(done => requestAnimationFrame(() => setTimeout(done, 50)))")


def screenshot(page: Page) -> np.ndarray[Any, np.dtype[np.float32]]:
    """The page's pixels: height by width by red, green, blue."""
    data = base64.b64decode(page.call("Page.captureScreenshot", format="png")["data"])
    return imread(io.BytesIO(data))[:, :, :3]


def box(page: Page, selector: str) -> Mapping[str, float]:
    """Where an element is, in pixels."""
    rectangle = f"document.querySelector('{selector}').getBoundingClientRect()"
    return page.ask(f"(({{x, y, width, height}}) => ({{x, y, width, height}}))({rectangle})")


def share(pixels: np.ndarray[Any, np.dtype[np.float32]], around: Mapping[str, float], colour: str) -> float:
    """Which part of a box has a colour, such as "#ffe08a"."""
    left, top = int(around["x"]), int(around["y"])
    part = pixels[top : top + int(around["height"]), left : left + int(around["width"])]
    wanted = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)], np.float32)
    return float((np.abs(part - wanted).max(axis=2) < 0.02).mean())


def click(page: Page, selector: str) -> None:
    page.ask(f"document.querySelector('{selector}').dispatchEvent(new MouseEvent('click', {{bubbles: true}}))")


def search(page: Page, text: str) -> list[str]:
    """Types a text into the search; what it finds."""
    page.ask(f"document.getElementById('query').value = {text!r}")
    page.ask("document.getElementById('query').dispatchEvent(new Event('input'))")
    return page.ask("[...document.querySelectorAll('#found div')].map(row => row.innerText)")


def lead(page: Page, address: str) -> None:
    """Goes to an address of the page."""
    changed = "addEventListener('hashchange', done, {once: true})"
    page.ask(f"new Promise(done => {{ {changed}; location.hash = {address!r}; }}).then(() => null)")


def key(page: Page, name: str) -> None:
    page.ask(f"dispatchEvent(new KeyboardEvent('keydown', {{key: {name!r}, bubbles: true}})) && null")


def test_the_file_refers_to_nothing_else(file: Path) -> None:
    text = file.read_text()
    assert not re.findall(r"""(?:src|href)\s*=\s*["']?(?!\$)\w+:""", text) and "import(" not in text
    assert not re.findall(r"https?://(?!www\.w3\.org/)", text)
    assert file.stat().st_size < 5e6


@needs_browser
def test_a_click_on_a_node_goes_through_all_panes(page: Page, record: mi.CompileRecord) -> None:
    sized(page, 1280, 800)
    node = next(at for at, each in enumerate(record.nodes) if each.operator == "Relu" and each.steps)
    click(page, f'#graph .node[data-kind=node][data-id="{node}"]')
    assert page.ask("explorer.selection") == {"kind": "node", "id": node}
    shown = page.ask("[explorer.left, explorer.right].map(pane => pane.matches.length)")
    assert min(shown) > 0, "lines of the graph's text, and instructions"
    assert page.ask("document.querySelectorAll('#left .row.strong').length") > 0
    assert page.ask("document.querySelectorAll('#right .row.strong').length") > 0
    assert page.ask("document.querySelectorAll('#times .strong').length") == len(record.nodes[node].steps)
    assert page.ask("document.querySelectorAll('#memory rect.strong').length") > 0
    details = page.ask("document.querySelector('#details').innerText")
    assert record.nodes[node].name in details and record.steps[record.nodes[node].steps[0]].kernel in details
    pixels = screenshot(page)
    for pane, least in (("#left", 0.01), ("#right", 0.1), ("#times", 0.01), ("#graph", 0.005)):
        assert share(pixels, box(page, f"{pane} .body"), "#ffe08a") > least, f"{pane} shows the selection"


@needs_browser
def test_an_instruction_leads_to_its_tensors(page: Page, record: mi.CompileRecord) -> None:
    texts = {text.level: text for text in record.texts}
    line = next(
        at
        for at, mark in enumerate(texts["assembly"].marks)
        if mark >= 0 and record.marks[mark].tensors and texts["assembly"].sources[at]
    )
    page.ask("explorer.setLevel(explorer.right, 'assembly')")
    page.ask("explorer.setLevel(explorer.left, 'loops')")
    page.ask(f"explorer.right.goTo({line})")
    page.ask(f"document.querySelector('#right .row[data-line=\"{line}\"]').click()")
    told = page.ask("document.querySelector('#details').innerText")
    mark = record.marks[texts["assembly"].marks[line]]
    assert any(record.tensors[each].name in told for each in mark.tensors)
    loops = texts["llvm"].sources[texts["assembly"].sources[line] - 1]
    assert page.ask("explorer.left.matches") == [loops - 1]
    assert page.ask(f"document.querySelector('#left .row[data-line=\"{loops - 1}\"]').className").find("strong") >= 0


@needs_browser
def test_a_rectangle_tells_who_keeps_it_alive(page: Page, record: mi.CompileRecord) -> None:
    at, block = next(
        (at, each)
        for at, each in enumerate(record.memory.blocks)
        if each.tensor is not None and record.tensors[each.tensor].read_at
    )
    click(page, f'#memory rect[data-at="{at}"]')
    assert block.tensor is not None
    tensor = record.tensors[block.tensor]
    told = page.ask("document.querySelector('#details').innerText")
    last = max(tensor.read_at)
    assert f"step {last} {record.steps[last].kernel}, which reads it last" in told


@needs_browser
def test_addresses_lead_to_selections(page: Page, record: mi.CompileRecord) -> None:
    name = next(each.name for each in record.tensors if each.offset is not None)
    page.ask(f"explorer.select(explorer.record.named('tensor', {name!r}))")
    page.ask("explorer.setLevel(explorer.left, 'arena')")
    address = page.ask("location.hash")
    page.ask("explorer.select(null)")
    assert page.ask("document.querySelectorAll('.row.strong').length") == 0
    lead(page, address)
    assert page.ask("explorer.record.nameOf(explorer.selection)") == name
    assert page.ask("explorer.left.level") == "arena"
    lead(page, "#tensor=no-such&left=no")
    assert page.ask("explorer.selection") is None


@needs_browser
def test_search_finds_names_and_text(page: Page, record: mi.CompileRecord) -> None:
    node = record.nodes[5].name
    assert any(node in row for row in search(page, node))
    enter = "new KeyboardEvent('keydown', {key: 'Enter', bubbles: true})"
    page.ask(f"document.getElementById('query').dispatchEvent({enter})")
    assert page.ask("explorer.record.nameOf(explorer.selection)") == node
    assert any("lines of" in row for row in search(page, "func.func"))
    assert search(page, "") == []


@needs_browser
def test_keys_move_through_levels_lines_and_calls(page: Page, record: mi.CompileRecord) -> None:
    page.ask("explorer.used = explorer.left; explorer.select({kind: 'step', id: 1})")
    key(page, "3")
    assert page.ask("explorer.left.level") == record.texts[2].level
    key(page, "ArrowRight")
    assert page.ask("explorer.selection") == {"kind": "step", "id": 2}
    key(page, "n")
    first = page.ask("explorer.left.cursor")
    assert first in page.ask("explorer.left.matches")
    key(page, "ArrowDown")
    key(page, "Enter")
    assert page.ask("explorer.selection.kind") == "line" and page.ask("explorer.selection.id") == first + 1
    key(page, "g")
    assert page.ask("explorer.graph.kind") == "step"
    key(page, "g")
    key(page, "?")
    assert page.ask("document.getElementById('keys').hidden") is False
    key(page, "Escape")
    key(page, "f")
    assert page.ask("document.querySelectorAll('.whole').length") == 1
    key(page, "Escape")
    assert page.ask("document.querySelectorAll('.whole').length") == 0
    key(page, "Escape")
    assert page.ask("explorer.selection") is None


@needs_browser
def test_passes_show_what_they_changed(page: Page) -> None:
    page.ask("explorer.select(null)")
    links = "[...document.querySelectorAll('#details a.to[data-kind=pass]')]"
    page.ask(f"{links}.find(link => link.textContent === 'form-kernels').click()")
    pane = "#left" if page.ask("explorer.used === explorer.left") else "#right"
    assert page.ask(f"document.querySelectorAll('{pane} .row.added, {pane} .row.gone').length") > 0


@needs_browser
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_no_text_sticks_out(page: Page, size: tuple[int, int], dark: bool) -> None:
    sized(page, *size)
    page.ask(f"document.documentElement.classList.toggle('dark', {str(dark).lower()})")
    for selection in (
        "null",
        "{kind: 'node', id: 3}",
        "{kind: 'step', id: 3}",
        "{kind: 'line', level: 'loops', id: 60}",
    ):
        page.ask(f"explorer.select({selection})")
        assert page.ask(OUTSIDE) == []
    pixels = screenshot(page)
    background = "#1c222b" if dark else "#ffffff"
    for pane in ("#left", "#right", "#details", "#times", "#memory"):
        assert share(pixels, box(page, f"{pane} .body"), background) > 0.1, f"{pane} is drawn"
    page.ask("document.documentElement.classList.remove('dark')")


@needs_browser
def test_two_compiles_stand_side_by_side(record: mi.CompileRecord, tmp_path: Path) -> None:
    other = mi.explore(seeded_light_model(MODEL), threads=1, winograd="off")
    other.write(tmp_path / "two.html", against=record)
    with open_page(tmp_path / "two.html", tmp_path / "profile") as page:
        ready(page)
        sized(page, 1280, 800)
        labels = page.ask("[...document.querySelectorAll('#records button')].map(button => button.innerText)")
        assert labels == ["A: winograd=off", "B: defaults"]
        page.ask("explorer.setLevel(explorer.left, 'kernels')")
        assert page.ask("[explorer.left.level, explorer.right.level]") == ["kernels", "kernels"]
        changed = page.ask("[explorer.left, explorer.right].map(pane => pane.signs.filter(sign => sign).length)")
        assert min(changed) > 0 and max(changed) < len(record.texts[2].lines)
        node = next(at for at, each in enumerate(record.nodes) if each.steps)
        page.ask(f"explorer.select({{kind: 'node', id: {node}}})")
        assert min(page.ask("[explorer.left, explorer.right].map(pane => pane.matches.length)")) > 0
        key(page, "c")
        assert page.ask("explorer.at") == 1 and page.ask("explorer.selection.id") == node
        page.ask("explorer.select(null)")
        assert "A | B" in page.ask("document.querySelector('#details').innerText")
        assert page.ask(OUTSIDE) == []
        assert page.errors == []
