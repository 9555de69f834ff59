"""The suite of memory problems: its solutions hold, its verifier rejects wrong ones, its bounds are none too high."""

from __future__ import annotations

import ast
import csv
import io
import random
import sys
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path

import pytest

from mini_infer.passes.memory.analysis.aliasing import share
from mini_infer.passes.memory.analysis.program_order import EXHAUSTIVE, best_order
from mini_infer.tools.memory.problem_csv import read_problem

from . import solvers, verify
from .__main__ import HERE, LONG_TEXT, problems
from .cells import published, watts_strogatz
from .order_problem import order_problem_text, read_order_problem, solution_text

OFFSETS = "id,lower,upper,size,alignment,gaps\na,0,4,64,64,\nb,2,6,64,64,\nc,0,9,128,64,4-6\n"
ORDER = """\
kind,id,bytes,of,kept,reads,makes,inplace,after
value,x,8,,fixed,,,,
value,a,100,,,,,,
value,b,100,,,,,,
value,c,10,,,,,,
value,y,4,,output,,,,
task,make,0,,,x,a,,
task,relu,5,,,a,b,0>0,
task,sum,0,,,a,c,,
task,end,0,,,b c,y,,
"""


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def complaint(problem: str, solution: str) -> str:
    with pytest.raises(verify.Mistake) as caught:
        verify.check(rows(problem), rows(solution))
    return str(caught.value)


def test_all_solutions_hold() -> None:
    assert verify.check_all() == len(problems())


def test_the_verifier_needs_nothing_but_python() -> None:
    tree = ast.parse((HERE / "verify.py").read_text())
    imported = [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    imported += [node.module or "." for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    assert {each.split(".")[0] for each in imported} <= sys.stdlib_module_names


def test_offsets_are_checked() -> None:
    good = "id,offset\na,0\nb,64\nc,128\n"
    assert verify.check(rows(OFFSETS), rows(good)) == 256
    assert verify.live_bytes(rows(OFFSETS), 3) == 256 and verify.live_bytes(rows(OFFSETS), 4) == 64
    assert complaint(OFFSETS, good.replace("b,64", "b,0")) == "a and b are live at step 2 and share bytes"
    assert complaint(OFFSETS, good.replace("b,64", "b,32")) == "b: offset 32 is negative or not aligned to 64"
    assert complaint(OFFSETS, "id,offset\na,0\nb,64\n") == "the solution does not have every buffer once"
    # At steps 4 and 5 the bytes of c are free for others.
    assert verify.check(rows("id,lower,upper,size,gaps\na,0,9,8,4-6\nb,4,6,8,\n"), rows("id,offset\na,0\nb,0\n")) == 8


def test_orders_are_checked() -> None:
    good = "task,inplace\nmake,\nsum,\nrelu,0>0\nend,\n"
    assert verify.check(rows(ORDER), rows(good)) == 115
    assert verify.check(rows(ORDER), rows(good.replace("0>0", ""))) == 215
    assert complaint(ORDER, "task,inplace\nmake,\nrelu,0>0\nsum,\nend,\n").startswith("relu: operand 0 is kept")
    assert complaint(ORDER, "task,inplace\nrelu,\nmake,\nsum,\nend,\n") == "relu runs before make, which it needs"
    assert complaint(ORDER, good.replace("sum,", "sum,0>0")) == "sum: 0>0 is no pair that may be in place"
    assert complaint(ORDER, "task,inplace\nmake,\n") == "the order does not have every task once"
    assert verify.Tasks(rows(ORDER)).needed("relu") == 105
    again = rows(ORDER.replace("a,b,0>0,", "a,b,0>0,end"))
    with pytest.raises(verify.Mistake, match="runs before"):
        verify.check(again, rows(good))


def test_operands_in_the_same_bytes_are_overwritten_together_or_not_at_all() -> None:
    problem = """\
kind,id,bytes,of,kept,reads,makes,inplace,after
value,a,8,,,,,,
value,b,8,a,,,,,
value,c,8,,,,,,
task,make,0,,,,a,,
task,view,0,,,a,b,,
task,add,0,,,a b,c,0>0 1>0,
"""
    assert complaint(problem, "task,inplace\nmake,\nview,\nadd,0>0\n") == "add: operand 1 has the bytes of operand 0"


def test_mistakes_of_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, text in (("p.csv", OFFSETS), ("s.csv", "id,offset\na,0\nb,64\nc,128\n"), ("bad.csv", "id,offset\na,x\n")):
        (tmp_path / name).write_text(text)
    p, s, bad = (str(tmp_path / name) for name in ("p.csv", "s.csv", "bad.csv"))
    assert verify.main([p, s]) == 0 and capsys.readouterr().out == "256\n"
    assert verify.main([p, bad]) == 1 and "ValueError" in capsys.readouterr().err
    assert verify.main([p, str(tmp_path / "none.csv")]) == 1 and verify.main([p]) == 2


def random_problem(seed: int) -> str:
    """Six tasks, each of which reads one or two values and may write over one of them; one output at most."""
    draw = random.Random(seed)
    values, tasks = ["value,v0,64,,fixed,,,,"], list[str]()
    for number in range(6):
        reads = sorted({draw.randrange(number + 1) for _ in range(2)})
        size = 64 * draw.randint(1, 3)
        kept = "output" if number == 5 and seed % 2 else ""
        values.append(f"value,v{number + 1},{size},,{kept},,,,")
        alike = [place for place, read in enumerate(reads) if values[read].split(",")[2] == str(size)]
        pairs = " ".join(f"{place}>0" for place in alike)
        text = " ".join(f"v{read}" for read in reads)
        tasks.append(f"task,t{number},{draw.choice((0, 32))},,,{text},v{number + 1},{pairs},")
    return "\n".join(["kind,id,bytes,of,kept,reads,makes,inplace,after", *values, *tasks]) + "\n"


@pytest.mark.parametrize("seed", range(40))
def test_the_search_through_sets_against_all_orders(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(random_problem(seed))
    problem, tasks = read_order_problem(path), verify.Tasks(verify.rows_of(path))
    program = problem.program

    def is_order(order: Sequence[int]) -> bool:
        return all(order.index(other) < step for step, task in enumerate(order) for other in program.tasks[task].after)

    peaks = {order: solvers.peak_of(program, order) for order in permutations(range(6)) if is_order(order)}
    for order, peak in peaks.items():
        solution = rows(solution_text(problem, order, share(program, order).pairs))
        assert tasks.height([(row["task"], row["inplace"].split()) for row in solution]) == peak
    least = min(peaks.values())
    found, bound = solvers.sets(program, max(peaks.values()) + 1)
    assert found is not None and bound <= least and peaks[tuple(found)] >= least
    if not any(program.output):
        assert peaks[tuple(found)] == bound == least
    assert max(map(tasks.needed, tasks.tasks)) <= least
    assert solvers.sets(program, bound) == (None, bound), "there is no order below it"


def test_a_search_through_sets_goes_on_from_the_beam_search() -> None:
    """Of a stage of RandWire the first finds the least peak, which the second alone doesn't."""
    program = read_order_problem(HERE / "problems" / "order-randwire-ws-seed3.csv").program
    (best,) = (row for row in verify.rows_of(HERE / "best.csv") if row["problem"] == "order-randwire-ws-seed3")
    few, both = (share(program, best_order(program, 10_000, steps)).peak for steps in (0, EXHAUSTIVE))
    assert few > both == int(best["height"])


def test_a_problem_is_read_as_it_was_written(tmp_path: Path) -> None:
    for name, problem in published().items():
        path = tmp_path / f"{name}.csv"
        path.write_text(order_problem_text(problem))
        assert read_order_problem(path) == problem
        stored = problems()[f"order-{name}"]
        assert read_order_problem(stored) == problem, "the stored problem is the one of this code"


def test_graphs_of_watts_and_strogatz() -> None:
    assert watts_strogatz(6, 2, 0.0, 1) == [(0, 1), (0, 5), (1, 2), (2, 3), (3, 4), (4, 5)]
    edges = watts_strogatz(32, 4, 0.75, 1)
    assert len(edges) == len(set(edges)) == 64 and all(low < high for low, high in edges)
    assert edges != watts_strogatz(32, 4, 0.75, 2)


@pytest.mark.parametrize("name", [*(each for each in problems() if "offsets-resnet" in each), "minimalloc-C"])
def test_other_solvers_place_validly(name: str) -> None:
    path = problems()[name]
    buffers = read_problem(path).buffers
    for place in (solvers.tflite, solvers.xla):
        offsets = place(buffers)
        solution = [{"id": str(each), "offset": str(offset)} for each, offset in offsets.items()]
        assert verify.check(verify.rows_of(path), solution) == solvers.height(buffers, offsets)


def test_the_suite_is_small() -> None:
    files = [path for path in HERE.rglob("*.*") if path.suffix in (".csv", ".gz")]
    assert sum(path.stat().st_size for path in files) < 10**6
    assert all(path.stat().st_size <= LONG_TEXT for path in (HERE / "problems").iterdir())
