"""The planner by itself: CSV problems, their mistakes, `allocate` from Python and from the command line."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest
from command_runs import complaint, told
from models.small import SMALL_MODELS
from typer.testing import CliRunner

import mini_infer as mi
from mini_infer.tools.memory.problem_csv import read_problem, with_offsets
from mini_infer.tools.mini_infer import app

EXAMPLE = """\
id,lower,upper,size
b1,0,3,4
b2,3,9,4
b3,0,9,4
b4,9,21,4
b5,0,21,4
"""

# Two buffers of 6 live in turn, beside one of 4 that is free for others in between.
GAPS = """\
id,lower,upper,size,gaps
long,0,9,4,3-6
early,0,3,6,
middle,3,6,10,
late,6,9,6,
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "problem.csv"
    path.write_text(text)
    return path


def cli(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, ["allocate", *map(str, arguments)])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_the_example_fits_its_capacity(tmp_path: Path) -> None:
    plan = mi.allocate(written(tmp_path, EXAMPLE), capacity=12)
    assert (plan.height, plan.lower_bound, plan.optimal) == (12, 12, True)
    assert plan.offsets.keys() == {"b1", "b2", "b3", "b4", "b5"}


def test_buffers_of_a_program_of_ones_own() -> None:
    plan = mi.allocate([mi.Buffer("a", 100, 0, 2), mi.Buffer("b", 60, 1, 3), mi.Buffer("c", 90, 2, 4)], alignment=64)
    assert plan.height == 192 and all(offset % 64 == 0 for offset in plan.offsets.values())
    with pytest.raises(mi.PlanError, match=r"^alignment 48 is not a power of two"):
        mi.allocate([mi.Buffer("a", 100, 0, 2)], alignment=48)


@pytest.mark.parametrize("strategy", mi.STRATEGIES)
def test_every_strategy_can_be_asked_for(strategy: str, tmp_path: Path) -> None:
    plan = mi.allocate(written(tmp_path, EXAMPLE), strategy=strategy)
    assert plan.strategy == strategy and plan.height >= plan.lower_bound == 12


def test_gaps_are_free_for_others(tmp_path: Path) -> None:
    assert mi.allocate(written(tmp_path, GAPS)).height == 10
    assert mi.allocate(written(tmp_path, GAPS.replace("3-6", ""))).height == 14


def test_pinned_and_aligned_buffers_are_honoured(tmp_path: Path) -> None:
    text = "id,lower,upper,size,alignment,offset\na,0,2,8,1,16\nb,0,2,8,32,\nc,0,2,8,,\n"
    plan = mi.allocate(written(tmp_path, text))
    assert plan.offsets["a"] == 16 and plan.offsets["b"] % 32 == 0
    assert plan.height == 24 and plan.optimal, "the pinned one's end"


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("id,start,upper,size", "a,2,5,7"),
        ("buffer,begin,upper,size", "a,2,5,7"),
        ("buffer_id,start,end,size", "a,2,4,7"),
        ("size,upper,lower,id", "7,5,2,a"),
        (" id , lower , upper , size ", " a , 2 , 5 , 7 "),
        ("\ufeffid,lower,upper,size", "a,2,5,7"),
        ("id,lower,upper,size\n", '"a",2,5,+7\n'),
    ],
)
def test_columns_have_several_names_and_any_order(header: str, row: str, tmp_path: Path) -> None:
    (buffer,) = read_problem(written(tmp_path, f"{header}\n{row}\n")).buffers
    assert (buffer.id, buffer.birth, buffer.death, buffer.size) == ("a", 2, 5, 7)


def test_an_end_includes_its_step_in_gaps_too(tmp_path: Path) -> None:
    (buffer,) = read_problem(written(tmp_path, "id,start,end,size,gaps\na,0,9,4,2-3 6-7\n")).buffers
    assert buffer.live == ((0, 2), (4, 6), (8, 10))


WRONG = {
    "no columns": ("", "line 1: column 'id' is missing; needed are id, lower, upper, size"),
    "no size": ("id,lower,upper\na,0,1\n", "line 1: column 'size' is missing"),
    "unknown column": ("id,lower,upper,size,algnment\n", "line 1: there is no column 'algnment'; there are id, "),
    "column twice": ("id,lower,start,upper,size\n", "line 1: column 'lower' stands twice"),
    "few fields": (EXAMPLE + "b6,1\n", "line 7: 2 fields, but the header has 4"),
    "many fields": ("id,lower,upper,size\n\na,0,1,2,3\n", "line 3: 5 fields, but the header has 4"),
    "no integer": ("id,lower,upper,size\na,0,1,4.5\n", "line 2: size '4.5' is not an integer"),
    "no lower": ("id,lower,upper,size\na,,1,4\n", "line 2: lower '' is not an integer"),
    "no id": ("id,lower,upper,size\n,0,1,4\n", "line 2: the id is empty"),
    "id twice": (EXAMPLE + "b3,1,2,3\n", "line 7: id 'b3' stands in line 4 already"),
    "never live": ("id,lower,upper,size\na,3,3,4\n", r"line 2: a: lifetime \[3, 3\) is empty"),
    "negative": ("id,lower,upper,size\na,0,3,-4\n", "line 2: a: size -4 is negative"),
    "alignment 24": ("id,lower,upper,size,alignment\na,0,3,4,24\n", "line 2: a: alignment 24 is not a power of two"),
    "alignment": ("id,lower,upper,size,alignment\na,0,3,4,0\n", "line 2: a: alignment 0 is not a power of two"),
    "pinned": (
        "id,lower,upper,size,alignment,offset\na,0,3,4,8,4\n",
        "line 2: a: pinned offset 4 is not a multiple of 8",
    ),
    "gap": ("id,lower,upper,size,gaps\na,0,9,4,3:4\n", "line 2: gap '3:4' is not of the form FROM-TO"),
    "gap outside": (
        "id,lower,upper,size,gaps\na,0,9,4,7-12\n",
        r"line 2: a: gap \[7, 12\) is empty, out of order or not",
    ),
    "gap in part": ("id,lower,upper,size,gaps\na,0,9,4,3-4@0:2\n", "line 2: gap '3-4@0:2': gaps that keep a part"),
    "quotes": ('id,lower,upper,size\n"a,0,1,4\n', "line 2: unexpected end of data"),
}


@pytest.mark.parametrize("mistake", WRONG)
def test_mistakes_name_their_line(mistake: str, tmp_path: Path) -> None:
    text, message = WRONG[mistake]
    path = written(tmp_path, text)
    with pytest.raises(mi.InvalidInputError, match=f"^{re.escape(str(path))}, {message}"):
        mi.allocate(path)
    status, told, complaint = cli(path)
    assert (status, told) == (1, "") and re.fullmatch(r"mini-infer: error: .+\n", complaint)


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "binary.csv").write_bytes(b"id\xff\xfe")
    for name, fact in (("none.csv", "No such file"), ("binary.csv", "not a text file"), (".", "it is a folder")):
        with pytest.raises(mi.InvalidInputError, match=fact):
            mi.allocate(tmp_path / name)


def test_what_cannot_fit_names_the_fewest_buffers(tmp_path: Path) -> None:
    path = written(tmp_path, EXAMPLE)
    with pytest.raises(mi.PlanError, match=r"b1 \(4\), b3 \(4\), b5 \(4\) are live together at step 0: 12 bytes"):
        mi.allocate(path, capacity=11)
    status, _, complaint = cli(path, "--capacity", 11)
    assert status == 1 and "the capacity is 11" in complaint


def test_a_strategy_that_needs_too_much_is_refused(tmp_path: Path) -> None:
    with pytest.raises(mi.PlanError, match=r"strategy naive .*20 bytes, the capacity is 12"):
        mi.allocate(written(tmp_path, EXAMPLE), strategy="naive", capacity=12)


def test_unknown_strategies_are_named_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(mi.ConfigError, match="strategy is 'best'; it must be one of naive, pools, "):
        mi.allocate(written(tmp_path, EXAMPLE), strategy="best")


def test_the_command_tells_how_good_the_plan_is(tmp_path: Path) -> None:
    status, told, complaint = cli(written(tmp_path, EXAMPLE), "--capacity", 16, "--time-limit", 5)
    assert (status, complaint) == (0, "")
    for line in (
        r"buffers +5",
        r"height +12 bytes, proven minimal",
        r"lower bound +12 bytes at step 0",
        r"ratio +1\.0000",
        r"capacity +16 bytes: it fits",
        r"seconds +\d+\.\d\d, strategy auto: [a-z-]+",
    ):
        assert re.search(rf"^{line}$", told, re.MULTILINE)


def test_the_command_writes_the_offsets(tmp_path: Path) -> None:
    target = tmp_path / "out" / "plan.csv"
    status, told, _ = cli(written(tmp_path, GAPS), "-o", target)
    assert status == 0 and f"written: {target}" in told.replace("\n", "")
    with target.open(newline="") as stream:
        header, *rows = csv.reader(stream)
    assert header == ["id", "lower", "upper", "size", "gaps", "offset"]
    assert rows[0][:5] == ["long", "0", "9", "4", "3-6"]
    assert max(int(row[5]) + int(row[3]) for row in rows) == 10


def test_offsets_that_were_given_are_replaced_and_the_plan_is_a_problem(tmp_path: Path) -> None:
    path = written(tmp_path, "id,offset,lower,upper,size\na,8,0,2,8\nb,,0,2,8\n")
    table = read_problem(path)
    plan = mi.allocate(table.buffers)
    text = with_offsets(table, plan.offsets)
    assert text == "id,lower,upper,size,offset\na,0,2,8,8\nb,0,2,8,0\n"
    assert mi.allocate(written(tmp_path, text)).offsets == plan.offsets


def test_a_memory_plan_is_read_back(tmp_path: Path) -> None:
    """Placing the buffers of a plan again takes as much as the plan: gaps and all."""
    model = SMALL_MODELS["unet"]()
    plan = mi.plan_memory(model, threads=1)
    mi.write_report(plan, tmp_path / "plan.csv")
    table = read_problem(tmp_path / "plan.csv")
    first = {each.buffer: each.name for each in reversed(plan.tensors)}
    found = {each.id: (each.size, each.birth, each.death, each.gaps) for each in table.buffers}
    assert found == {first[each.number]: (each.bytes, each.birth, each.death, each.gaps) for each in plan.buffers}
    placed = mi.allocate(tmp_path / "plan.csv", alignment=plan.alignment)
    assert (placed.height, placed.lower_bound) == (plan.arena_bytes, plan.lower_bound_bytes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("tensor_name,size\na,1\n", "line 1: column 'buffer' of a memory plan is missing"),
        ("tensor_name,buffer,buffer_size,buffer_live,alignment\na,0,64,,256\n", "line 2: buffer 0 is never live"),
        ("tensor_name,buffer,buffer_size,buffer_live,alignment\na,0,64,3,256\n", "line 2: gap '3' is not of the form"),
    ],
)
def test_a_malformed_plan_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "plan.csv").write_text(text)
    with pytest.raises(mi.InvalidInputError, match=re.escape(message)):
        read_problem(tmp_path / "plan.csv")


def test_a_placed_problem_is_drawn(tmp_path: Path) -> None:
    problem, picture = tmp_path / "p.csv", tmp_path / "p.svg"
    problem.write_text("id,lower,upper,size,gaps\nfirst,3,9,4096,5-7\nsecond,5,7,4096,\n")
    assert f"written: {picture}" in told("allocate", problem, "--plot", picture).replace("\n", "")
    assert "p: arena 4.096 kB = lower bound" in picture.read_text()
    assert complaint("allocate", problem, "--plot", "p.txt") == "--plot p.txt: there are pictures as .png, .svg, .pdf"


def test_the_beams_width(tmp_path: Path) -> None:
    problem = tmp_path / "p.csv"
    problem.write_text("id,lower,upper,size\na,0,2,4\nb,1,3,8\n")
    assert "strategy beam" in told("allocate", problem, "--strategy", "beam", "--beam-width", "1")
    assert "--beam-width does nothing with the strategy 'auto'" in complaint("allocate", problem, "--beam-width", "1")
