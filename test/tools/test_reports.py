"""Reports of a memory plan: tables, CSV, the picture, and what they are drawn from."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from models.build import ModelBuilder
from models.light import seeded_light_model
from models.small import SMALL_MODELS
from typing_extensions import Unpack

import mini_infer as mi
from mini_infer.passes.memory.report.memory_plan import MemoryPlan
from mini_infer.passes.memory.report.memory_records import BufferRecord, TensorRecord
from mini_infer.tools.reports.gantt import draw_plan
from mini_infer.tools.reports.labels import fitting_label, short_names
from mini_infer.tools.reports.page import page_html
from mini_infer.tools.reports.palette import colour_of
from mini_infer.tools.reports.plan_tables import headline, percent, size_text, subtitle
from mini_infer.tools.reports.rectangles import Block, blocks_of
from mini_infer.tools.reports.reuse import next_users, overwritten_by, reusers


def tensor(name: str, birth: int, death: int, offset: int, size: int, buffer: int, **more: object) -> TensorRecord:
    record = TensorRecord(name, size, birth, death, False, "intermediate", offset, buffer=buffer, extent=size)
    return replace(record, **more)


def small_plan() -> MemoryPlan:
    """Four steps. b is written over a in place; c and d are halves of every row of one buffer, which e views;
    s is scratch where a was. z lies in the output y before it."""
    x = TensorRecord("x", 512, 0, 4, True, "input", None)
    a = tensor("/net/a", 0, 2, 0, 512, 0, overlapping=("/net/b",), kernel="conv_0", node="/net/a")
    b = tensor("/net/b", 1, 3, 0, 512, 0, overlapping=("/net/a",), kernel="relu_0", inplace=True)
    c = tensor("/net/c", 1, 4, 512, 256, 1, overlapping=("/net/e",), extent=384)
    d = tensor("/net/d", 2, 4, 640, 256, 1, overlapping=("/net/e",), extent=384)
    e = tensor("/net/e", 3, 4, 512, 512, 1, overlapping=("/net/c", "/net/d"), role="view")
    s = tensor("/net/f scratch", 3, 4, 0, 100, 2, role="scratch", kernel="softmax_0")
    buffers = (
        BufferRecord(0, "/net/b", 512, 0, 0, 3),
        BufferRecord(1, "/net/e", 512, 512, 1, 4),
        BufferRecord(2, "/net/f scratch", 100, 0, 3, 4, scratch=True),
    )
    y = TensorRecord("y", 2_000_000, 3, 4, True, "output", None)
    z = TensorRecord("z", 2_000_000, 2, 4, True, "intermediate", None)
    w = TensorRecord("w", 1_500_000, 0, 4, True, "weight", None)
    return MemoryPlan(
        arena_bytes=1024,
        lower_bound_bytes=1024,
        tensors=(x, y, w, a, b, c, d, e, s, z),
        strategy="auto",
        optimal=True,
        binding_step=1,
        method="greedy-by-size",
        total_bytes=1792,
        original_bytes=1280,
        steps=("conv_0", "relu_0", "conv_1", "softmax_0"),
        buffers=buffers,
    )


@cache
def plan_of(name: str, **options: Unpack[mi.CompileOptions]) -> MemoryPlan:
    model = seeded_light_model(name) if name not in SMALL_MODELS else SMALL_MODELS[name]()
    return mi.plan_memory(model, threads=1, **options)


def rows_of(table: str) -> list[list[str]]:
    """The lines of a table behind its first empty line, cut at runs of blanks."""
    body = table.split("\n\n", 1)[1]
    return [line.split() for line in body.splitlines()]


def test_who_takes_the_bytes_next() -> None:
    users = next_users(small_plan())
    assert users["/net/a"] == ["/net/b"], "in place"
    assert users["/net/b"] == ["/net/f scratch"]
    assert users["/net/c"] == users["/net/e"] == []


def test_only_the_next_user_of_each_byte_is_named() -> None:
    first = tensor("first", 0, 1, 0, 512, 0)
    half = tensor("half", 1, 2, 0, 256, 1)
    whole = tensor("whole", 2, 3, 0, 512, 2)
    last = tensor("last", 3, 4, 0, 512, 3)
    plan = replace(small_plan(), tensors=(first, half, whole, last))
    assert next_users(plan) == {"first": ["half", "whole"], "half": ["whole"], "whole": ["last"], "last": []}


def test_what_is_written_over_in_place() -> None:
    assert overwritten_by(small_plan()) == {"/net/b": "/net/a"}


def test_what_has_bytes_of_another_buffer() -> None:
    """Not b, which is in place, nor d, whose bytes lie between those of c; y's bytes are the caller's."""
    plan = small_plan()
    assert reusers(plan) == {"/net/f scratch"}
    before = tensor("before", 0, 1, 700, 100, 3)
    assert reusers(replace(plan, tensors=(*plan.tensors, before))) == {"/net/c", "/net/d", "/net/f scratch"}


def test_the_table_tells_how_good_the_order_is() -> None:
    bounds = {1024: "proven minimal over all orders", 1000: "within 2.4 % of that"}
    for bound, told in bounds.items():
        lines = mi.plan_table(replace(small_plan(), order_bound_bytes=bound)).splitlines()
        assert lines[2] == f"any order     {bound:>14,} bytes      0.001 MB at least; the arena is {told}"


def test_the_table_tells_everything() -> None:
    assert mi.plan_table(small_plan()).splitlines() == [
        "arena                  1,024 bytes      0.001 MB, proven minimal (strategy auto: greedy-by-size)",
        "lower bound            1,024 bytes      0.001 MB at step 1 (relu_0), ratio 1.0000",
        "without reuse          1,792 bytes      0.002 MB; reuse saves 768 bytes, 42.9 %",
        "  tensors              1,536 bytes      0.002 MB; of these alone the arena saves 33.3 %",
        "  scratch                256 bytes      0.000 MB of all calls, one after the other; nobody would keep it",
        "  its price                0 bytes      0.000 MB of the arena, which live tensors at their peak don't need",
        "inputs                   512 bytes      0.001 MB (1), outside of the arena",
        "outputs            2,000,000 bytes      2.000 MB (1), outside of the arena",
        "weights            1,500,000 bytes      1.500 MB (1), outside of the arena",
        "",
        "tensor              bytes     MB  start  end  address  mark                    made by    read by  reused by",
        "x                     512  0.001      0    4           (input)",
        "/net/a                512  0.001      0    2        0                          /net/a              /net/b",
        "/net/b                512  0.001      1    3        0  (In-place) over /net/a  relu_0    "
        "          /net/f scratch",
        "/net/c                256  0.000      1    4      512",
        "/net/d                256  0.000      2    4      640",
        "/net/e                512  0.001      3    4      512  (view)",
        "/net/f scratch        100  0.000      3    4        0  (scratch) (Reused)      softmax_0",
        "z               2,000,000  2.000      2    4           (in an output)",
        "y               2,000,000  2.000      3    4           (output)",
        "w               1,500,000  1.500      0    4           (weight)",
    ]


def test_a_plan_of_offsets_has_no_pools() -> None:
    lines = mi.pool_table(small_plan()).splitlines()
    assert lines[0] == "Strategy auto gives every buffer its own offset: there are no pools."
    assert "original               1,792 bytes      0.002 MB, every tensor by itself" in lines
    assert "saving                   768 bytes      0.001 MB, 42.9 %" in lines


@pytest.mark.parametrize("strategy", ["pools", "pools-first-fit"])
def test_pools_and_their_tensors(strategy: str) -> None:
    plan = plan_of("resnet", planner=strategy)
    rows = rows_of(f"\n\n{mi.pool_table(plan)}")
    pools = [row for row in rows[1:] if row and row[0].isdigit()]
    assert [int(row[1].replace(",", "")) for row in pools] == [size for _, size in plan.pools]
    named = " ".join(" ".join(row[3:]) for row in pools)
    inside = [each for each in plan.tensors if each.offset is not None and each.role != "view"]
    assert all(each.name in named for each in inside)
    assert any(row[:2] == ["optimised", f"{plan.arena_bytes:,}"] for row in rows)


def test_csv_is_the_plan_in_numbers(tmp_path: Path) -> None:
    plan = plan_of("resnet")
    mi.write_report(plan, tmp_path / "plan.csv")
    with (tmp_path / "plan.csv").open(newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header[:5] == ["tensor_name", "size", "offset", "start_time", "end_time"]
    assert header[5:] == [
        *("role", "buffer", "buffer_size", "buffer_live", "alignment", "kernel", "producer", "consumers", "note")
    ]
    inside = [each for each in plan.tensors if each.offset is not None]
    assert [(row[0], *map(int, row[1:5]), *row[5:7], row[10]) for row in rows if row[2]] == [
        (each.name, each.bytes, each.offset, each.birth, each.death, each.role, str(each.buffer), each.kernel)
        for each in inside
    ]
    others = [(row[0], row[-1]) for row in rows if not row[2]]
    outside = [(each.name, "") for each in plan.tensors if each.offset is None]
    assert others == outside + [(each.name, each.text) for each in plan.removed]
    assert plan.removed


def test_sizes_have_units() -> None:
    assert [size_text(count) for count in (0, 999, 1000, 5218304, 3 * 10**9)] == [
        "0 B",
        "999 B",
        "1.000 kB",
        "5.218 MB",
        "3.000 GB",
    ]
    assert percent(0.75) == "75.0 %"


def test_the_headline_says_how_good_the_plan_is() -> None:
    plan = small_plan()
    assert headline(plan) == "arena 1.024 kB = lower bound"
    assert headline(replace(plan, arena_bytes=1280, optimal=False)) == "arena 1.280 kB, 1.250 x lower bound"
    proven = replace(plan, arena_bytes=1280)
    assert headline(proven) == "arena 1.280 kB, 1.250 x lower bound, proven minimal"
    assert subtitle(plan) == (
        "4 kernel calls, 5 tensors of 1.792 kB; strategy auto: greedy-by-size; step 1 binds (relu_0)"
    )


def test_blocks_cut_at_what_is_written_in_place() -> None:
    blocks = {block.tensor.name: block for block in blocks_of(small_plan()) if block.tensor is not None}
    assert (blocks["/net/a"].start, blocks["/net/a"].end, blocks["/net/a"].kind) == (0, 1, "tensor")
    assert (blocks["/net/b"].start, blocks["/net/b"].end, blocks["/net/b"].kind) == (1, 3, "in place")
    assert blocks["/net/f scratch"].kind == "scratch"
    assert colour_of(blocks["/net/f scratch"]) not in {colour_of(blocks["/net/a"]), colour_of(blocks["/net/c"])}


def test_interleaved_parts_are_drawn_one_above_the_other() -> None:
    """Rows of 256 bytes: c has the first 128 of each, d the others."""
    blocks = {block.tensor.name: block for block in blocks_of(small_plan()) if block.tensor is not None}
    assert (blocks["/net/c"].low, blocks["/net/c"].high, blocks["/net/c"].interleaved) == (512, 768, True)
    assert (blocks["/net/d"].low, blocks["/net/d"].high, blocks["/net/d"].interleaved) == (768, 1024, True)
    assert (blocks["/net/e"].low, blocks["/net/e"].high, blocks["/net/e"].kind) == (512, 1024, "view")


def test_bytes_kept_for_parts_to_come_are_drawn_below() -> None:
    blocks = blocks_of(small_plan())
    kept = [block for block in blocks if block.kind == "reserved"]
    assert [(block.start, block.end, block.low, block.high) for block in kept] == [(1, 4, 512, 1024)]
    assert blocks[0].kind == "reserved" and blocks[-1].kind == "view"


@pytest.mark.parametrize("name", ["resnet", "squeezenet", pytest.param("densenet121", marks=pytest.mark.slow)])
def test_no_two_blocks_cover_each_other(name: str) -> None:
    """What is drawn filled never overlaps; nor does it leave the arena."""
    plan = plan_of(name)
    blocks = [block for block in blocks_of(plan) if block.kind not in ("view", "reserved")]
    assert {block.tensor.name for block in blocks if block.tensor} == {
        each.name for each in plan.tensors if each.offset is not None and each.role != "view"
    }
    for step in range(len(plan.steps)):
        live = sorted((block for block in blocks if block.start <= step < block.end), key=_low)
        assert all(below.high <= above.low for below, above in pairwise(live))
        assert not live or (live[0].low >= 0 and live[-1].high <= plan.arena_bytes)


def _low(block: Block) -> int:
    return block.low


def test_a_name_fits_or_is_left_out() -> None:
    lying = fitting_label(["conv"], 100, 20)
    assert lying is not None and (lying.text, lying.size, lying.upright) == ("conv", 9.0, False)
    upright = fitting_label(["conv"], 12, 60)
    assert upright is not None and upright.upright
    small = fitting_label(["a rather long name", "name"], 26, 9)
    assert small is not None and (small.text, small.size) == ("name", 7.0)
    assert fitting_label(["conv"], 5, 5) is None


def test_names_lose_what_they_have_in_common() -> None:
    forms = short_names(["/model/block.0/conv1/Conv", "/model/block.0/conv2/Conv", "/model/head/Gemm"])
    assert forms["/model/head/Gemm"] == ("head/Gemm", "Gemm")
    assert forms["/model/block.0/conv1/Conv"] == ("block.0/conv1/Conv", "0/conv1/Conv", "conv1/Conv")
    assert short_names(["stem", "stage1.0.conv1"])["stage1.0.conv1"] == ("stage1.0.conv1", "0.conv1", "conv1")
    # An end that others have as well is no name of any of them.
    forms = short_names(["layer1.0.conv2", "layer1.1.conv2", "layer2.1.conv2", "conv2"])
    assert forms["layer1.1.conv2"] == ("layer1.1.conv2",) and forms["conv2"] == ("conv2",)
    assert forms["layer1.0.conv2"] == ("layer1.0.conv2", "0.conv2")
    assert short_names(["node_Conv_1", "node_Conv_2"])["node_Conv_1"] == ("1",)
    assert short_names(["conv"]) == {"conv": ("conv",)}


def test_the_picture_shows_what_it_should() -> None:
    figure = draw_plan(plan_of("resnet"), "resnet")
    arena, live = figure.axes
    assert len(arena.patches) >= len(plan_of("resnet").buffers)
    titles = [text.get_text() for text in figure.texts]
    assert titles[0].startswith("resnet: arena ") and "kernel calls" in titles[1]
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert "tensor" in legend and any(text.startswith("lower bound") for text in legend)
    bound = plan_of("resnet").lower_bound_bytes
    for axes in (arena, live):
        lines = [np.asarray(line.get_xydata()) for line in axes.lines]
        assert any((line[:, 1] == bound).all() for line in lines)
        assert any((line[:, 0] == plan_of("resnet").binding_step + 0.5).all() for line in lines)


@pytest.mark.parametrize("kind", ["png", "svg", "pdf"])
def test_equal_plans_give_equal_pictures(kind: str, tmp_path: Path) -> None:
    for name in ("one", "other"):
        mi.write_report(plan_of("mlp"), tmp_path / f"{name}.{kind}", "mlp")
    assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"other.{kind}").read_bytes()


def test_names_in_the_picture_can_be_searched(tmp_path: Path) -> None:
    mi.write_report(small_plan(), tmp_path / "plan.svg", "<model>")
    texts = {element.text for element in ElementTree.parse(tmp_path / "plan.svg").iter() if element.text}
    assert "<model>: arena 1.024 kB = lower bound" in texts
    assert {"a", "b", "c", "d"} <= texts


@pytest.mark.parametrize("name", ["plan.png", "plan.html", "plan.txt"])
def test_a_plan_of_nothing_can_be_told(name: str, tmp_path: Path) -> None:
    empty = MemoryPlan(0, 0, (), "auto", True, 0)
    mi.write_report(empty, tmp_path / name)
    assert (tmp_path / name).stat().st_size > 0
    assert mi.pool_table(empty) and empty.live_bytes() == []


def test_other_kinds_of_reports_are_refused(tmp_path: Path) -> None:
    with pytest.raises(mi.ConfigError, match=r"plan.doc: there are reports as .png, .svg, .pdf, .html, .csv and .txt"):
        mi.write_report(small_plan(), tmp_path / "plan.doc")
    with pytest.raises(mi.MiniInferError, match="can't be written"):
        (tmp_path / "file").touch()
        mi.write_report(small_plan(), tmp_path / "file" / "plan.csv")


def test_csv_quotes_names_that_need_it() -> None:
    from mini_infer.tools.reports import csv_table

    odd = replace(small_plan(), tensors=(tensor('a,"b"', 0, 1, 0, 4, 0),))
    assert list(csv.reader(io.StringIO(csv_table(odd))))[1][0] == 'a,"b"'


def test_the_page_needs_no_network(tmp_path: Path) -> None:
    mi.write_report(small_plan(), tmp_path / "arena.html", "<script>")
    text = (tmp_path / "arena.html").read_text(encoding="utf-8")
    assert "<script src=" not in text.lower() and "<link" not in text.lower()
    assert "<title>&lt;script&gt;: arena 1.024 kB" in text
    assert len(text) < 3e6


def texts_of(figure: Any) -> list[list[str]]:
    return [
        [label.get_text() for label in axis.get_ticklabels()]
        for each in figure.axes
        for axis in (each.yaxis, each.xaxis)
    ]


def test_axes_of_the_chart_can_be_normalised(tmp_path: Path) -> None:
    """From 0 to 1, whatever the number of steps and bytes; the peak is in the title."""
    figure = draw_plan(small_plan(), "net", normalised=True)
    up, _, live, across = texts_of(figure)
    assert up == [f"{tenth / 10:g}" for tenth in range(11)] == across and live == ["0", "0.5", "1"]
    assert any("arena 1.024 kB" in each.get_text() for each in figure.texts)
    file = tmp_path / "arena.svg"
    mi.write_report(small_plan(), file, normalised=True)
    assert "part of all steps" in file.read_text() and ">b<" in file.read_text()
    with pytest.raises(mi.ConfigError, match=r"^normalised does nothing for arena.csv: it is for png, svg, pdf"):
        mi.write_report(small_plan(), "arena.csv", normalised=True)


def test_who_reads_a_tensor_is_told_by_node() -> None:
    b = ModelBuilder("net")
    x = b.node("MatMul", b.input("x", [8, 16]), b.weight(16, 32))
    halves = b.node("Concat", b.node("Softmax", x, axis=0), b.node("Softmax", x), axis=1)
    model = b.model([b.node("MatMul", halves, b.weight(64, 4))])
    plan = mi.plan_memory(model, threads=1)
    read_by = {each.name: (each.producer, each.consumers) for each in plan.tensors}
    softmaxes = ("net/softmax_1", "net/softmax_2")
    assert read_by["x"] == ("", ("net/matmul_0",))
    assert read_by["net/matmul_0"] == ("net/matmul_0", softmaxes)
    assert {read_by[each][1] for each in softmaxes} == {("net/matmul_4",)}, "as parts of the concatenation"
    assert {readers for each, (_, readers) in read_by.items() if "weight" in each} == {
        ("net/matmul_0",),
        ("net/matmul_4",),
    }
    assert read_by["net/matmul_4"] == ("net/matmul_4", ())


def test_the_page_names_every_tensor() -> None:
    """Those of the arena in rectangles, all others in lists."""
    plan = plan_of("resnet")
    page = page_html(plan)
    listed = [each for each in plan.tensors if each.offset is None]
    assert all(f"&lt;b&gt;{each.name}&lt;/b&gt;" in page for each in (*listed, *plan.removed))
    assert "inside of its kernel: resnet/conv_" in page
    assert all(each.name in page for each in plan.tensors)
