"""Writes memory problems, solves them, and prints the table of all solvers.

PYTHONPATH=.:test .venv/bin/python -m memory_problems table [NAME...]       all solvers, as Markdown
PYTHONPATH=.:test .venv/bin/python -m memory_problems write MODEL.onnx...   problems of models, and published ones
PYTHONPATH=.:test .venv/bin/python -m memory_problems best [NAME...]        solutions better than the known ones
"""

from __future__ import annotations

import csv
import gzip
import io
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from onnx import ModelProto

from mini_infer.dialects.errors import MiniInferError
from mini_infer.passes.memory.analysis.aliasing import share
from mini_infer.passes.memory.analysis.program_order import prove_order
from mini_infer.passes.planning import Problem, lower_bound, solve
from mini_infer.tools.memory.problem_csv import read_problem

from . import solvers
from .cells import published
from .models import at_batch, problems_of
from .order_problem import order_problem_text, read_order_problem, solution_text
from .verify import Tasks, bound_of, check, is_order, rows_of

HERE = Path(__file__).parent
MINIMALLOC = HERE.parent / "data" / "minimalloc"
FEW_TASKS = 8  # an order of fewer is no problem
LONG_TEXT = 10_000  # bytes
COLUMNS: Sequence[str] = ("problem", "file", "height", "bound", "attained", "by")


def problems() -> dict[str, Path]:
    """All problems by name: those of this folder, and MiniMalloc's."""
    found = {f"minimalloc-{path.stem}": path for path in sorted(MINIMALLOC.glob("*.csv"))}
    return found | {path.name.split(".csv")[0]: path for path in sorted((HERE / "problems").iterdir())}


def write(models: Sequence[str]) -> None:
    """Writes the published problems, and those of models, fused and unfused, one picture or sequence and eight."""
    folder = HERE / "problems"
    folder.mkdir(exist_ok=True)
    for name, problem in published().items():
        _store(folder / f"order-{name}.csv", order_problem_text(problem))
    for file in models:
        path = Path(file)
        name = path.resolve().parent.name if path.stem == "model" else path.stem
        model = ModelProto.FromString(path.read_bytes())
        for batch in (1, 8):
            for fused in (True, False):
                variant = f"{name}-{'fused' if fused else 'unfused'}-{batch}"
                try:
                    offsets, order = problems_of(at_batch(model, batch), fused)
                except MiniInferError as error:
                    print(f"{variant}: {error}")
                    continue
                _store(folder / f"offsets-{variant}.csv", offsets)
                if len(order.tasks) >= FEW_TASKS:
                    _store(folder / f"order-{variant}.csv", order_problem_text(order))


def _store(path: Path, text: str) -> None:
    """Writes a problem, packed by gzip if it is long; equal texts give equal files."""
    if len(text) > LONG_TEXT:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(text.encode(), mtime=0))
    else:
        path.write_text(text)


def best(names: Sequence[str]) -> None:
    """Solves problems, and keeps what is lower than the known solution, or has none."""
    known = {row["problem"]: row for row in rows_of(HERE / "best.csv")} if (HERE / "best.csv").exists() else {}
    (HERE / "best").mkdir(exist_ok=True)
    for name, path in _chosen(names):
        problem = rows_of(path)
        solution, bound, attained, by = _order_solution(path) if is_order(problem) else _offset_solution(path)
        height = check(problem, list(csv.DictReader(io.StringIO(solution))))
        if attained != "search" and bound_of(problem, attained) != bound:
            raise AssertionError(f"{name}: {attained} does not attain {bound} bytes")
        before = known.get(name)
        if before is None or (height, -bound) < (int(before["height"]), -int(before["bound"])):
            (HERE / "best" / f"{name}.csv").write_text(solution)
            file = path.relative_to(HERE) if HERE in path.parents else Path("..") / path.relative_to(HERE.parent)
            facts = (name, str(file), str(height), str(bound), attained, by)
            known[name] = dict(zip(COLUMNS, facts, strict=True))
            print(f"{name}: {height:,} bytes, at least {bound:,}: {attained}", flush=True)
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(known[name] for name in sorted(known))
    (HERE / "best.csv").write_text(text.getvalue())


def _offset_solution(path: Path) -> tuple[str, int, str, str]:
    """Offsets by `auto`, and the step at which most bytes are live."""
    problem = Problem(read_problem(path).buffers, alignment=1)
    plan = solve(problem, "auto")
    lines = [f"{name},{offset}" for name, offset in plan.offsets.items()]
    bound = lower_bound(problem)
    return "\n".join(["id,offset", *lines]) + "\n", bound.height, f"step {bound.step}", plan.method


def _order_solution(path: Path) -> tuple[str, int, str, str]:
    """The best order found, and the largest lower bound: of one task, or of the search through sets."""
    problem = read_order_problem(path)
    program = problem.program
    orders = {"given order": [*range(len(program.tasks))], "beam": solvers.beam(program)}
    least = min(solvers.peak_of(program, order) for order in orders.values())
    tasks = Tasks(rows_of(path))
    attained = max(tasks.tasks, key=tasks.needed)
    bound, attained = tasks.needed(attained), f"task {attained}"
    if bound < least:
        further, proven = solvers.sets(program, least)
        orders |= {} if further is None else {"sets of executed tasks": further}
        proof = prove_order(program)
        orders["order-kernels"] = list(proof.order)
        if max(proven, proof.bound) > bound:
            bound, attained = max(proven, proof.bound), "search"
    by = min(orders, key=lambda name: solvers.peak_of(program, orders[name]))
    return solution_text(problem, orders[by], share(program, orders[by]).pairs), bound, attained, by


def table(names: Sequence[str]) -> str:
    """The heights of all solvers, as multiples of the best bound, as two Markdown tables."""
    known = {row["problem"]: row for row in rows_of(HERE / "best.csv")}
    offsets: list[Sequence[str]] = [("problem", "buffers", "bound, bytes", *solvers.ALLOCATORS, "best known")]
    orders: list[Sequence[str]] = [("problem", "tasks", "bound, bytes", "given order", *solvers.ORDERERS, "best known")]
    for name, path in _chosen(names):
        bound, height = int(known[name]["bound"]), int(known[name]["height"])
        if is_order(rows_of(path)):
            program = read_order_problem(path).program
            found = (range(len(program.tasks)), *(orderer(program) for orderer in solvers.ORDERERS.values()))
            peaks = (solvers.peak_of(program, order) for order in found)
            ratios = [f"{peak / bound:.3f}" for peak in (*peaks, height)]
            orders.append((name, str(len(program.tasks)), f"{bound:,}", *ratios))
        else:
            buffers = read_problem(path).buffers
            heights = [solvers.height(buffers, place(buffers)) for place in solvers.ALLOCATORS.values()]
            ratios = [f"{each / bound:.3f}" for each in (*heights, height)]
            offsets.append((name, str(len(buffers)), f"{bound:,}", *ratios))
    return "\n\n".join(_markdown(rows) for rows in (offsets, orders) if len(rows) > 1)


def _markdown(rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([lines[0], "|---" * len(rows[0]) + "|", *lines[1:]])


def _chosen(names: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """The problems whose names contain one of these; all if none are given."""
    for name, path in problems().items():
        if not names or any(each in name for each in names):
            yield name, path


def main(words: Sequence[str]) -> int:
    """Does what the command line says."""
    verb, *names = words or [""]
    if verb == "table":
        print(table(names))
    elif verb == "best":
        best(names)
    elif verb == "write":
        write(names)
    else:
        print((__doc__ or "").strip(), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
