"""mini-infer plan: the reports it writes, and what of them it refuses; mini-infer run --check-memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from engine_cases import MODELS
from models.small import SMALL_MODELS
from rich.console import Console
from typer.testing import CliRunner

import mini_infer as mi
from mini_infer.passes.memory import plan_arena
from mini_infer.passes.planning import Plan, Problem, solve
from mini_infer.tools.cli import app
from mini_infer.tools.progress import working


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "net" / "model.onnx"
    path.parent.mkdir()
    path.write_bytes(MODELS["perceptron"]().SerializeToString())
    return path


def cli(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(each) for each in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout.replace("\n", ""), result.stderr.strip()


def test_reports_are_written_on_demand_and_titled_by_the_model(model: Path) -> None:
    picture, page, table = (model.parent / "made" / name for name in ("arena.svg", "arena.html", "plan.csv"))
    status, told, complaint = cli("plan", model, "-j", 1, "--plot", picture, "--html", page, "--csv", table)
    assert (status, complaint) == (0, "")
    assert "live at step 1, which binds:" in told
    assert all(f"written: {file}" in told for file in (picture, page, table))
    title = "net: arena 1.536 kB = lower bound"
    assert title in picture.read_text() and f"<title>{title}</title>" in page.read_text()
    assert table.read_text().startswith("tensor_name,size,offset,start_time,end_time\n")


@pytest.mark.parametrize(
    ("option", "file", "message"),
    [
        ("--plot", "arena.html", "--plot arena.html: the name must end in .png, .svg, .pdf"),
        ("--html", "arena.htm", "--html arena.htm: the name must end in .html"),
        ("--csv", "plan", "--csv plan: the name must end in .csv"),
    ],
)
def test_a_report_of_another_kind_is_refused(option: str, file: str, message: str, model: Path) -> None:
    assert cli("plan", model, option, file) == (1, "", f"mini-infer: error: {message}")


def test_a_capacity_that_is_too_small_is_refused(model: Path) -> None:
    status, _, complaint = cli("plan", model, "-j", 1, "--capacity", 1000)
    assert status == 1 and "1536 bytes, the capacity is 1000" in complaint


def test_beams_have_a_width(model: Path) -> None:
    """It gets to the planner, and is refused where nothing would come of it."""
    told = cli("plan", model, "-j", 1, "--strategy", "beam", "--beam-width", 3)
    assert told[0] == 0 and "strategy beam" in told[1]
    complaint = cli("plan", model, "-j", 1, "--beam-width", 3)[2]
    assert complaint == "mini-infer: error: --beam-width does nothing with --strategy auto"


def test_the_width_of_a_beam_gets_to_the_planner(monkeypatch: pytest.MonkeyPatch) -> None:
    widths: list[int] = []

    def solve_and_tell(problem: Problem, strategy: str, **options: int) -> Plan:
        widths.append(options["width"])
        return solve(problem, strategy, width=options["width"])

    monkeypatch.setattr(plan_arena, "solve", solve_and_tell)
    mi.plan_memory(SMALL_MODELS["mlp"](), threads=1, planner="beam", beam_width=3)
    assert widths == [3]


def test_ops_can_be_kept_from_working_in_place(model: Path) -> None:
    assert cli("plan", model, "-j", 1, "--disable-inplace", "add, relu")[0] == 0
    complaint = cli("plan", model, "-j", 1, "--disable-inplace", "add,relux")[2]
    assert complaint == "mini-infer: error: order-kernels: there is no op graph.relux to disable; is relu meant?"


def test_pools_are_told_beside_the_table(model: Path) -> None:
    _, told, _ = cli("plan", model, "-j", 1, "--table", "--pools", "--strategy", "pools")
    assert "reused by" in told and "in 2 pools" in told
    _, told, _ = cli("plan", model, "-j", 1, "--pools")
    assert "there are no pools" in told


def test_run_can_check_memory(model: Path) -> None:
    status, told, _ = cli("run", model, "-j", 1, "--check-memory")
    assert status == 0
    assert "memory check: the same bits on poisoned memory, twice, and without any reuse of memory" in told
    assert "latency" not in told


def test_progress_shows_on_a_terminal_only(capsys: pytest.CaptureFixture[str]) -> None:
    for terminal in (False, True):
        with working(Console(force_terminal=terminal), "planning") as now:
            now("drawing")
        assert ("drawing" in capsys.readouterr().out) == terminal
