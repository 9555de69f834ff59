"""mini-infer plan: the reports it writes, and what of them it refuses; mini-infer run --check-memory."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from command_runs import cli, complaint, saved, told
from engine_cases import MODELS
from models.build import ModelBuilder
from models.small import SMALL_MODELS
from onnx import helper
from rich.console import Console
from text_models import pictures

import mini_infer as mi
from mini_infer.passes.memory import plan_arena
from mini_infer.passes.planning import Plan, Problem, solve
from mini_infer.tools.bench.memory_chart import draw_arenas
from mini_infer.tools.mini_opt.command import main as mini_opt
from mini_infer.tools.waiting import working


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "net" / "model.onnx"
    path.parent.mkdir()
    path.write_bytes(MODELS["perceptron"]().SerializeToString())
    return path


def test_reports_are_written_on_demand_and_titled_by_the_model(model: Path) -> None:
    picture, page, table = (model.parent / "made" / name for name in ("arena.svg", "arena.html", "plan.csv"))
    text = told("plan", model, "-j", "1", "--plot", picture, "--html", page, "--csv", table).replace("\n", "")
    assert "live at step 1, which binds:" in text
    assert all(f"written: {file}" in text for file in (picture, page, table))
    title = "net: arena 1.536 kB = lower bound"
    assert title in picture.read_text() and f"<title>{title}</title>" in page.read_text()
    assert table.read_text().startswith("tensor_name,size,offset,start_time,end_time,")


def test_plan_tells_where_every_tensor_lies(model: Path) -> None:
    """Those of the arena with their addresses, and all inputs, outputs and weights together."""
    text = told("plan", model, "-j", "1")
    places = re.findall(r"^ +([\d,]+) +640  (\[\d,\d\))  (\S+) +(\S+)$", text, re.MULTILINE)
    assert places == [
        ("0", "[0,2)", "perceptron/relu_1", "matmul_relu_0"),
        ("768", "[1,3)", "perceptron/tanh_3", "matmul_tanh_0"),
    ]
    packed = mi.plan_memory(model, threads=1).bytes_of("weight")  # in panels as wide as vectors are here
    for role, nbytes, count in (("inputs", "384", 1), ("outputs", "128", 1), ("weights", f"{packed:,}", 6)):
        assert re.search(rf"^{role} +{nbytes} bytes .* \({count}\), outside of the arena$", text, re.MULTILINE)
    live = text.partition("live at step 1, which binds:\n")[2].splitlines()
    assert [line.split()[:2] for line in live] == [["perceptron/relu_1", "0"], ["perceptron/tanh_3", "768"]]


@pytest.mark.parametrize(
    ("option", "file", "message"),
    [
        ("--plot", "arena.html", "--plot arena.html: the name must end in .png, .svg, .pdf"),
        ("--html", "arena.htm", "--html arena.htm: the name must end in .html"),
        ("--csv", "plan", "--csv plan: the name must end in .csv"),
    ],
)
def test_a_report_of_another_kind_is_refused(option: str, file: str, message: str, model: Path) -> None:
    assert complaint("plan", model, option, file) == message


def test_a_capacity_that_is_too_small_is_refused(model: Path) -> None:
    assert "1536 bytes, the capacity is 1000" in complaint("plan", model, "-j", "1", "--capacity", "1000")


def test_beams_have_a_width(model: Path) -> None:
    """It gets to the planner, and is refused where nothing would come of it."""
    assert "strategy beam" in told("plan", model, "-j", "1", "--strategy", "beam", "--beam-width", "3")
    message = "--beam-width does nothing with --strategy auto"
    assert complaint("plan", model, "-j", "1", "--beam-width", "3") == message


def test_the_width_of_a_beam_gets_to_the_planner(monkeypatch: pytest.MonkeyPatch) -> None:
    widths: list[int] = []

    def solve_and_tell(problem: Problem, strategy: str, **options: int) -> Plan:
        widths.append(options["width"])
        return solve(problem, strategy, width=options["width"])

    monkeypatch.setattr(plan_arena, "solve", solve_and_tell)
    mi.plan_memory(SMALL_MODELS["mlp"](), threads=1, planner="beam", beam_width=3)
    assert widths == [3]


def test_ops_can_be_kept_from_working_in_place(model: Path) -> None:
    told("plan", model, "-j", "1", "--disable-inplace", "add, relu")
    message = "--disable-inplace: there is no op graph.relux to disable; is relu meant?"
    for word in "relux", "graph.relux":
        assert complaint("plan", model, "-j", "1", "--disable-inplace", f"add,{word}") == message
    assert complaint("run", model, "--disable-inplace", "a b") == "--disable-inplace: there is no op 'a b' to disable"


def test_plan_tells_how_good_the_order_is(model: Path) -> None:
    """Unless told not to, or without memory planning, where no order would change anything."""
    text = told("plan", model, "-j", "1")
    assert re.search(r"^any order +1,536 bytes .* at least; the arena is proven minimal over all orders$", text, re.M)
    assert "any order" not in told("plan", model, "-j", "1", "--no-prove-order")
    assert "any order" not in told("plan", model, "-j", "1", "--no-plan-memory")
    message = "--no-prove-order does nothing with --no-plan-memory"
    assert complaint("plan", model, "--no-plan-memory", "--no-prove-order") == message


def test_a_module_with_a_plan_gets_its_order_proven(model: Path, tmp_path: Path) -> None:
    planned = tmp_path / "planned.mlir"
    mini_opt([str(model), "--to", "arena", "-o", str(planned)])
    assert "proven minimal over all orders" in told("plan", planned)
    assert mi.plan_memory(planned).order_bound_bytes is None


def test_pools_are_told_beside_the_table(model: Path) -> None:
    text = told("plan", model, "-j", "1", "--table", "--pools", "--strategy", "pools")
    assert "reused by" in text and "in 2 pools" in text
    assert "there are no pools" in told("plan", model, "-j", "1", "--pools")


def test_run_can_check_memory(model: Path) -> None:
    text = told("run", model, "-j", "1", "--check-memory")
    assert "memory check: the same bits on poisoned memory, twice, and without any reuse of memory" in text
    assert "latency" not in text


def test_progress_shows_on_a_terminal_only(capsys: pytest.CaptureFixture[str]) -> None:
    for terminal in (False, True):
        with working(Console(force_terminal=terminal), "planning") as now:
            now("drawing")
        assert ("drawing" in capsys.readouterr().out) == terminal


@pytest.fixture
def in_place_model(tmp_path: Path) -> Path:
    """x -> three matrix products, a sum of two of which is written over one of them."""
    b = ModelBuilder("sum")
    x = b.node("MatMul", b.input("x", [8, 16]), b.weight(16, 32))
    left, right = b.node("Softmax", x, axis=0), b.node("Softmax", x)
    total = b.node("Softmax", b.node("Add", left, right))
    return saved(b.model([b.node("MatMul", total, b.weight(32, 4))]), tmp_path)


def test_compare_tells_what_each_step_of_memory_planning_buys(model: Path, in_place_model: Path) -> None:
    found = json.loads(told("plan", in_place_model, model, "--compare", "--rounds", "2", "-j", "1", "--json", "-"))
    assert found["rounds"] == 2 and [each["model"] for each in found["models"]] == [str(in_place_model), str(model)]
    for each, path in zip(found["models"], (in_place_model, model), strict=True):
        rows = {row["planning"]: row for row in each["rows"]}
        assert list(rows) == ["off", "pools", "in place", "all"]
        off, whole = rows["off"]["arena_bytes"], rows["all"]
        planned = mi.plan_memory(path, threads=1)
        assert (whole["arena_bytes"], whole["lower_bound_bytes"]) == (planned.arena_bytes, planned.lower_bound_bytes)
        unplanned = mi.plan_memory(path, threads=1, enable_memory_planning=False)
        assert off == unplanned.arena_bytes and rows["off"]["saved"] == 0
        for row in rows.values():
            assert whole["arena_bytes"] <= row["arena_bytes"] <= off
            assert row["lower_bound_bytes"] <= row["arena_bytes"]
            assert row["saved"] == pytest.approx(1 - row["arena_bytes"] / off)
            assert 0 < row["min_ms"] <= row["median_ms"]
    of_sum = {row["planning"]: row["arena_bytes"] for row in found["models"][0]["rows"]}
    assert of_sum["all"] < of_sum["pools"] < of_sum["off"] > of_sum["in place"], "both parts save, together most"


def test_compare_prints_a_table_and_draws_a_chart(in_place_model: Path, tmp_path: Path) -> None:
    chart = tmp_path / "arenas.svg"
    text = told("plan", in_place_model, "--compare", "--rounds", "1", "-j", "1", "--plot", chart)
    assert re.search(r"memory planning +arena MB +saved +lower bound MB +median ms +min ms", text)
    assert re.search(r"^  off +[\d.]+ +0.0 % ", text, re.MULTILINE) and f"written: {chart}" in text
    drawn = chart.read_text()
    assert all(f">{each}<" in drawn for each in ("off", "pools", "in place", "all", tmp_path.name))
    kept = told("plan", in_place_model, "--compare", "--rounds", "1", "-j", "1", "--disable-inplace", "softmax,add")
    of_all = [re.search(rf"^  {step} +([\d.]+)", kept, re.MULTILINE) for step in ("pools", "all")]
    assert all(of_all) and text != kept


def test_compared_models_of_one_name_are_told_apart_by_their_folders(in_place_model: Path, tmp_path: Path) -> None:
    copies = [tmp_path / folder / "net.onnx" for folder in ("left", "right")]
    for each in copies:
        each.parent.mkdir()
        each.write_bytes(in_place_model.read_bytes())
    text = told("plan", *copies, "--compare", "--rounds", "1", "-j", "1")
    assert "left, 1 thread(s)" in text and "right, 1 thread(s)" in text


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--compare", "--table"), "--table does nothing with --compare"),
        (("--compare", "--no-plan-memory"), "--no-plan-memory does nothing with --compare"),
        (("--compare", "--range", "n=1,2,3"), "--range does nothing with --compare"),
        (
            ("--compare", "--device", "cuda-emulated"),
            "--compare does nothing with --device cuda-emulated, which has no",
        ),
        (("--compare", "--plot", "arenas.html"), "--plot arenas.html: there are pictures as .png, .svg, .pdf"),
        (("--rounds", "3"), "--rounds does nothing without --compare"),
        (("other.onnx",), "plan shows one model, and 2 are given; --compare takes several"),
        (("compiled.mi", "--compare"), "--compare does nothing with compiled.mi, which is compiled already"),
        (("--normalised",), "--normalised does nothing without --plot"),
    ],
)
def test_what_compare_does_not_go_with(options: tuple[str, ...], message: str, model: Path) -> None:
    assert complaint("plan", model, *options).startswith(message)


def test_buffers_that_are_placed_are_not_compared(model: Path, tmp_path: Path) -> None:
    placed = tmp_path / "placed.mlir"
    assert mini_opt([str(model), "--to", "arena", "-o", str(placed)]) in (0, None)
    assert complaint("plan", placed, "--compare") == (
        "--compare plans buffers anew; the module is at the arena level already"
    )


def test_plans_that_change_results_are_found(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = iter([1.0, 1.0, 2.0])

    def run(self: mi.ExecutionContext, inputs: object) -> dict[str, float]:
        return {"y": next(found)}

    monkeypatch.setattr(mi.ExecutionContext, "run", run)
    message = complaint("plan", model, "--compare", "-j", "1")
    assert message == f"{model}: memory planning 'pools' gives other results than none"


def test_run_takes_the_options_of_buffers(in_place_model: Path, tmp_path: Path) -> None:
    """They get to the plan, and the outputs stay as they are."""
    arenas: list[int] = []
    for number, options in enumerate(((), ("--disable-inplace", "add,softmax"), ("--alignment", "4096"))):
        outputs = tmp_path / f"{number}.npz"
        text = told("run", in_place_model, "-j", "1", "--repeat", "1", "-o", outputs, "--json", "-", *options)
        arenas.append(json.loads(text)["memory"]["arena_bytes"])
        first, now = (np.load(tmp_path / f"{each}.npz") for each in (0, number))
        assert all((now[name] == first[name]).all() for name in first.files)
    assert arenas[0] < arenas[1] and arenas[2] % 4096 == 0 and arenas[0] % 4096
    message = complaint("run", in_place_model, "--no-plan-memory", "--disable-inplace", "add")
    assert message == "--disable-inplace does nothing with --no-plan-memory"
    assert "must be a power of two" in complaint("bench", in_place_model, "--alignment", "100")
    message = complaint("bench", in_place_model, "--disable-inplace", "add", "--chart", "times.txt")
    assert message.startswith("--chart times.txt: "), "which is looked at after the options"


@pytest.mark.filterwarnings("always:nodes connected to nothing")
def test_plan_tells_modifications_and_isolated_nodes(tmp_path: Path) -> None:
    b = ModelBuilder("net")
    x = b.node("Relu", b.node("Relu", b.input("x", [4])))
    made = b.model([x])
    made.graph.node.append(helper.make_node("Constant", [], ["lost"], name="alone", value_float=1.0))
    path = saved(made, tmp_path)
    for command, options in (("plan", ()), ("run", ("--repeat", "1"))):
        result = cli(command, path, "-j", "1", *options)
        assert "nodes connected to nothing, ignored: alone" in result.stderr
        assert "nodes connected to nothing, ignored: alone" in result.stdout
        found = json.loads(cli(command, path, "-j", "1", *options, "--json", "-").stdout)
        assert found["isolated"] == ["alone"]
        assert found["modifications"] == sum(found["rewrites"].values()) > 0
        assert f"; {found['modifications']} modifications in all\n" in result.stdout
    kept = tmp_path / "kept.mi"
    cli("build", path, "-o", kept, "--cpu", "native", "-j", "1")
    assert "nodes connected to nothing, ignored: alone" in told("plan", kept)


def test_consumers_are_told(in_place_model: Path, tmp_path: Path) -> None:
    found = json.loads(told("plan", in_place_model, "-j", "1", "--no-optimize", "--json", "-"))
    tensors = {each["name"]: each for each in found["tensors"]}
    assert tensors["x"]["consumers"] == ["sum/matmul_0"] and tensors["x"]["producer"] == ""
    assert (tensors["x"]["start"], tensors["x"]["end"]) == (0, len(found["steps"])), "inputs live from the first step"
    first = tensors["sum/matmul_0"]
    assert (first["producer"], first["consumers"]) == ("sum/matmul_0", ["sum/softmax_1", "sum/softmax_2"])
    output = tensors["sum/matmul_5"]
    assert (output["role"], output["consumers"], output["end"]) == ("output", [], len(found["steps"]))


def test_models_of_one_name_have_bars_of_their_own() -> None:
    figure = draw_arenas([("net", {"off": 100, "all": 25}), ("net", {"off": 10, "all": 8})])
    (axes,) = figure.axes
    assert [each.get_text() for each in axes.get_yticklabels()] == ["net", "net"]
    assert [[bar.get_width() for bar in bars] for bars in axes.containers] == [[100, 100], [25, 80]]


def test_what_compare_cannot_take_is_not_proposed(tmp_path: Path) -> None:
    b = ModelBuilder("text")
    path = saved(b.model([b.node("Relu", b.input("x", ["tokens", 4]))]), tmp_path)
    assert "--range" in complaint("plan", path) and "--range" not in complaint("plan", path, "--compare")
    assert "  all  " in told("plan", path, "--compare", "--rounds", "1", "-j", "1", "--dim", "tokens=3")


def test_why_a_tensor_keeps_its_bytes(model: Path) -> None:
    lines = told("plan", model, "-j", "1", "--why", "perceptron/relu_1", "--why", "perceptron/gemm_0", "--why", "x")
    heads = ("perceptron/relu_1: 640", "perceptron/gemm_0: inside", "\nx: ")
    assert sorted(map(lines.index, heads)) == [*map(lines.index, heads)]
    assert "read last at step 1 by matmul_tanh_0: perceptron/gemm_2, perceptron/tanh_3" in lines
    assert re.search(r"perceptron/tanh_3 +640 B +\[1,3\) +made by the call that reads it last", lines)
    assert "perceptron/gemm_0: inside of kernel matmul_relu_0 (step 0)" in lines
    assert "x: 384 B in an input's or an output's memory, outside of the arena, which shares nothing" in lines
    assert "address" not in lines, "the table of places is for a command that asks nothing else"
    assert complaint("plan", model, "-j", "1", "--why", "relu").startswith("the plan has no tensor 'relu'")


def test_steps_and_interference(model: Path) -> None:
    text = told("plan", model, "-j", "1", "--steps", "--interference", "table", "--removed")
    rows = [line.split() for line in text.splitlines()]
    assert ["1", "1,536", "768", "768", "0", "<-", "binds", "matmul_tanh_0"] in [row[:8] for row in rows]
    assert "2 colours: with so many buffers, no fewer, each tensor has one to itself while live" in text
    assert "\nlargest clique by bytes: 2 tensors, 1,280 bytes at step 1: perceptron/relu_1, perceptron/tanh_3" in text
    assert ["perceptron/gemm_2", "inside", "of", "kernel", "matmul_tanh_0", "(step", "1)"] in rows
    graph = told("plan", model, "-j", "1", "--interference", "dot")
    assert '"perceptron/relu_1" -- "perceptron/tanh_3";' in graph
    assert "--interference is 'png'" in complaint("plan", model, "--interference", "png")
    assert complaint("plan", model, "--compare", "--steps") == "--steps does nothing with --compare"


def test_answers_for_programs(model: Path, tmp_path: Path) -> None:
    told("plan", model, "-j", "1", "--json", tmp_path / "plan.json")
    found = json.loads((tmp_path / "plan.json").read_text())
    assert found["interference"]["edges"] == [["perceptron/relu_1", "perceptron/tanh_3"]]
    assert found["interference"]["largest_clique"]["number"]["names"] == ["perceptron/relu_1", "perceptron/tanh_3"]
    assert [each["live"] for each in found["peaks"]][1] == found["memory"]["lower_bound_bytes"]
    removed = {each["name"]: each for each in found["removed"]}
    assert removed["perceptron/gemm_0"]["fate"] == "fused" and removed["perceptron/gemm_0"]["steps"] == [0]
    assert found["memory"]["scratch_bytes"] == 0 and found["memory"]["model_weights_bytes"] > 0


@pytest.fixture
def convolutions(tmp_path: Path) -> Path:
    """A file with convolutions that may run by bands of rows."""
    return saved(pictures(), tmp_path)


def test_the_frontier_is_printed_drawn_and_written(convolutions: Path, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("frontier.svg", "frontier.html", "frontier.csv", "frontier.json")]
    written = [
        text
        for option, file in zip(("--plot", "--html", "--csv", "--json"), files, strict=True)
        for text in (option, file)
    ]
    text = told("plan", convolutions, "-j", "1", "--frontier", "--measure", *written)
    drawn, page, table, facts = (file.read_text() for file in files)
    points = json.loads(facts)["points"]
    lines = re.findall(
        r"^ *([\d,]+) +[\d.]+ +([\d.]+) +([\d.]+) +([\d.]+)  (bands of .*|whole values, .*)$", text, re.MULTILINE
    )
    assert [int(line[0].replace(",", "")) for line in lines] == [point["arena_bytes"] for point in points]
    assert [line[-1] for line in lines] == [point["chosen"] for point in points]
    assert all(point["estimated_ms"] > 0 and point["measured_ms"] > 0 for point in points)
    assert len(table.splitlines()) == len(points) + 1
    assert "measured" in drawn and "model.onnx: from" in page and "http" not in page.partition("<body>")[2][:200]
    assert f"{points[0]['largest_call']} alone needs" in text


def test_a_plan_within_memory_is_one_of_the_frontier(convolutions: Path) -> None:
    text = told("plan", convolutions, "-j", "1", "--memory", "1M")
    (nbytes,) = re.findall(r"^arena +([\d,]+) bytes", text, re.MULTILINE)
    assert 10**6 >= int(nbytes.replace(",", "")) > 5 * 10**5


def test_what_does_not_fit_is_one_line(convolutions: Path) -> None:
    assert complaint("plan", convolutions, "-j", "1", "--memory", "10K").startswith(
        "no plan of the model fits in 10,000 bytes: the smallest of "
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--measure"], "--measure does nothing without --frontier"),
        (["--frontier", "--memory", "1M"], "--memory does nothing with --frontier"),
        (["--frontier", "--table"], "--table does nothing with --frontier"),
        (["--frontier", "--range", "x=1,2,3"], "--frontier does nothing with --range"),
    ],
)
def test_what_does_nothing_with_or_without_a_frontier(convolutions: Path, options: list[str], message: str) -> None:
    assert message in complaint("plan", convolutions, *options)
