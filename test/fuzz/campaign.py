"""Many random graphs, broken files and hostile models, each in a process of its own; what fails is made small."""

from __future__ import annotations

import gc
import multiprocessing
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import chain
from pathlib import Path
from pkgutil import walk_packages
from tempfile import TemporaryDirectory
from typing import Any, cast

import numpy as np
import onnx
from fuzz.at_shapes import AT_SHAPES, judged_at_shapes
from fuzz.caches import WITH_CACHES, growing, judged_with_caches
from fuzz.graphs import grown
from fuzz.growth import Case
from fuzz.hostile import CASES, file_of, lay_out
from fuzz.judge import OPTIONS, TILED, Verdict, judged, passes_of, referred
from fuzz.minimize import minimized
from fuzz.mutate import mutated
from fuzz.ranges import ranged
from fuzz.running import SECONDS, limited, outcome
from fuzz.shares import judged_by_shares
from isolated import Died
from models.small import SMALL_MODELS
from onnx import ModelProto

from mini_infer.dialects.graph.values import Array

TOGETHER = 10  # graphs in one process
GRAPH_SECONDS = SECONDS * 2 * len(OPTIONS)  # a graph is compiled for every set of options, for two of them twice


@dataclass(frozen=True)
class Trial:
    """What is tried: the graph or the file of a seed, or a hostile model by its number."""

    kind: str  # "graph", "file", "hostile"
    seed: int
    found: Path | None = None  # where failing cases are saved
    sets: int = len(OPTIONS)  # of options
    operators: tuple[str, ...] = ()  # that the graph is to hold


@dataclass(frozen=True)
class Finding:
    """How a trial ended: `failure` is empty where all is well, `end` says how in a word or two."""

    trial: Trial
    end: str
    failure: str = ""


def warm_up() -> None:
    """Imports and initialises what trials need, before processes part."""
    for part in ("dialects", "passes", "lowering", "runtime"):
        for module in walk_packages(import_module(f"mini_infer.{part}").__path__, f"mini_infer.{part}."):
            with suppress(ImportError):  # of a device that isn't there
                import_module(module.name)
    model = SMALL_MODELS["mlp"]()
    judged(Case(model, {"x": np.zeros((2, 20), np.float32)}), {"default": {}})
    outcome(model)
    gc.collect()
    gc.freeze()  # what is there by now lives on; a process of one model ends before it is worth looking for garbage


def tried(trial: Trial) -> Finding:
    """Carries a trial out."""
    return {"graph": _graph, "file": _file, "hostile": _hostile}[trial.kind](trial)


def all_tried(trials: Sequence[Trial], jobs: int) -> Iterator[Finding]:
    """Carries trials out on several processes, in any order."""
    warm_up()
    graphs = [trial for trial in trials if trial.kind == "graph"]
    batches = [graphs[start : start + TOGETHER] for start in range(0, len(graphs), TOGETHER)]
    batches += [[trial] for trial in trials if trial.kind != "graph"]
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        yield from chain.from_iterable(pool.imap_unordered(_together, batches))


def _together(trials: Sequence[Trial]) -> list[Finding]:
    """Graphs in one process, which takes time to part from this one; each in its own where something is wrong."""
    if len(trials) == 1:
        return [tried(trials[0])]
    try:
        verdicts = limited(lambda: [_grown_and_judged(trial) for trial in trials], GRAPH_SECONDS)
    except Exception:
        return [tried(trial) for trial in trials]
    pairs = zip(trials, verdicts, strict=True)
    return [tried(trial) if verdict.wrong else _finding(trial, verdict) for trial, verdict in pairs]


def options_of(trial: Trial) -> Mapping[str, Mapping[str, Any]]:
    """All sets of options; or the first and some others, by turns; or one, which mostly is the first."""
    first, *others = OPTIONS
    if trial.sets == 1 and trial.seed % 3 == 0:
        first = others[trial.seed // 3 % len(others)]
    start = trial.seed * (trial.sets - 1)
    chosen = [others[(start + index) % len(others)] for index in range(trial.sets - 1)]
    return {label: OPTIONS[label] for label in (first, *chosen)}


def _graph(trial: Trial) -> Finding:
    try:
        verdict = limited(lambda: _grown_and_judged(trial), GRAPH_SECONDS)
    except Died as error:
        verdict = Verdict((str(error),))
    except Exception as error:
        return Finding(trial, "exception", f"of the fuzzer's own: {type(error).__name__}: {error}")
    if verdict.wrong and trial.found is not None:
        try:
            case = limited(lambda: graph_of(trial), GRAPH_SECONDS)
        except Exception:  # a peer dies of it
            return _finding(trial, verdict)
        smaller = minimized(
            case, lambda smaller: _fails(smaller, trial), {} if case.ranges or case.caches else _values(case)
        )
        _save(trial, smaller, "; ".join(verdict.wrong))
    return _finding(trial, verdict)


def graph_of(trial: Trial) -> Case:
    """The graph of a seed; every fourth is for shapes of run time, where it is right for others than its own.

    Every eighth has caches.
    """
    if trial.seed % 8 == 2:
        return growing(grown(trial.seed, trial.operators, caches=True))
    case = grown(trial.seed, trial.operators)
    return ranged(case, trial.seed) if trial.seed % 4 == 0 else case


def _judged(case: Case, trial: Trial) -> Verdict:
    """Each fourth graph of every kind has the shares of its stages done in several orders, on guarded memory."""
    if trial.seed // 8 % 4 == 3:
        with passes_of(TILED if trial.seed // 32 % 2 else ""):
            return judged_by_shares(case)
    if case.caches:
        with passes_of(label := [*WITH_CACHES][trial.seed // 8 % len(WITH_CACHES)]):
            return judged_with_caches(case, label)
    if case.ranges:
        with passes_of(label := [*AT_SHAPES][trial.seed // 4 % len(AT_SHAPES)]):
            return judged_at_shapes(case, label)
    return judged(case, options_of(trial))


def _grown_and_judged(trial: Trial) -> Verdict:
    return _judged(graph_of(trial), trial)


def _finding(trial: Trial, verdict: Verdict) -> Finding:
    end = f"refused: {verdict.refused}" if verdict.refused else "answered"
    if verdict.compiles:
        end += " at all shapes, compiled once" if verdict.compiles == 1 else " at all shapes, compiled for several"
    return Finding(trial, end, "; ".join(verdict.wrong))


def _fails(case: Case, trial: Trial) -> bool:
    """Whether the process is lost or a result wrong; what the reference can't do is no failure of ours."""
    try:
        return bool(limited(lambda: _judged(case, trial), GRAPH_SECONDS).wrong)
    except Died:
        return True
    except Exception:
        return False


def _values(case: Case) -> Mapping[str, Array]:
    """Every value of a graph, by onnx.reference."""
    whole = ModelProto()
    whole.CopyFrom(case.model)
    del whole.graph.output[:]
    for node in whole.graph.node:
        whole.graph.output.extend(onnx.ValueInfoProto(name=name) for name in node.output if name)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return referred(whole, case.inputs)


def _file(trial: Trial) -> Finding:
    data = mutated(trial.seed)
    end, failure = _end(lambda: outcome(data))
    if failure and trial.found is not None:
        _save(trial, _smaller_file(data, failure), failure)
    return Finding(trial, end, failure)


def _smaller_file(data: bytes, failure: str) -> Case | bytes:
    try:
        model = onnx.load_from_string(data)
    except Exception:
        return data
    kind = failure.split(":")[0]
    case = Case(model, {})
    smaller = minimized(case, lambda case: _end(lambda: outcome(case.model.SerializeToString()))[1].startswith(kind))
    return data if smaller is case else smaller


def _hostile(trial: Trial) -> Finding:
    make = list(CASES)[trial.seed]
    with TemporaryDirectory() as folder:
        path = Path(folder, "hostile.onnx")
        path.write_bytes(file_of(make()))
        lay_out(path.parent)
        return Finding(trial, *_end(lambda: outcome(str(path))))


def _end(function: Callable[[], str]) -> tuple[str, str]:
    """How a function of `outcome` ends, and what is wrong with that."""
    try:
        return limited(function), ""
    except Died as error:
        return "lost", str(error)
    except Exception as error:
        return "exception", f"{type(error).__name__}: {error}"


def _save(trial: Trial, case: Case | bytes, failure: str) -> None:
    """Writes a case beside what was found."""
    folder = cast(Path, trial.found)
    folder.mkdir(parents=True, exist_ok=True)
    place = folder / f"{trial.kind}-{trial.seed}"
    place.with_suffix(".txt").write_text(failure)
    if isinstance(case, bytes):
        place.with_suffix(".onnx").write_bytes(case)
        return
    place.with_suffix(".onnx").write_bytes(case.model.SerializeToString())
    if case.inputs:
        np.savez(place.with_suffix(".npz"), **cast(Any, case.inputs))
