"""mini-infer plan: the reports it writes, and what of them it refuses; mini-infer run --check-memory."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from command_runs import complaint, told
from engine_cases import MODELS
from models.small import SMALL_MODELS
from rich.console import Console

import mini_infer as mi
from mini_infer.passes.memory import plan_arena
from mini_infer.passes.planning import Plan, Problem, solve
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
    assert table.read_text().startswith("tensor_name,size,offset,start_time,end_time\n")


def test_plan_tells_where_every_tensor_lies(model: Path) -> None:
    """Those of the arena with their addresses, and all inputs, outputs and weights together."""
    text = told("plan", model, "-j", "1")
    places = re.findall(r"^ +([\d,]+) +640  (\[\d,\d\))  (\S+) +(\S+)$", text, re.MULTILINE)
    assert places == [
        ("0", "[0,2)", "perceptron/gemm_0", "matmul_relu_0"),
        ("768", "[1,3)", "perceptron/gemm_2", "matmul_tanh_0"),
    ]
    packed = mi.plan_memory(model, threads=1).bytes_of("weight")  # in panels as wide as vectors are here
    for role, nbytes, count in (("inputs", "384", 1), ("outputs", "128", 1), ("weights", f"{packed:,}", 6)):
        assert re.search(rf"^{role} +{nbytes} bytes .* \({count}\), outside of the arena$", text, re.MULTILINE)
    live = text.partition("live at step 1, which binds:\n")[2].splitlines()
    assert [line.split()[:2] for line in live] == [["perceptron/gemm_0", "0"], ["perceptron/gemm_2", "768"]]


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
    assert complaint("plan", model, "-j", "1", "--disable-inplace", "add,relux") == message


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
