"""ONNX's own suite: every case passes, or is listed in refused.txt and refused with the reason that is given there.

`make test` tries the small models, one of the real networks, each 32nd of the single nodes and each third of PyTorch's,
`make test-all` every case.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from backend import verdicts
from backend.cases import KINDS, names
from backend.listed import LIST, refused
from backend.verdicts import SECONDS, Trials

from mini_infer.dialects.graph.values import Array
from mini_infer.runtime.backend import PreparedModel

REFUSED = refused()
UPDATE = "PYTHONPATH=.:test .venv/bin/python -m backend --update"


# Each so-manieth case of a kind is tried always; of the real networks, which test_light_models.py plans, those named.
STEPS = {"node": 32, "simple": 1, "pytorch-converted": 3, "pytorch-operator": 3}
QUICK = {"test_squeezenet"}


def is_quick(index: int, name: str, kind: str) -> bool:
    return name in QUICK if kind == "real" else index % STEPS[kind] == 0


CASES = [
    pytest.param(name, marks=[] if is_quick(index, name, kind) else [pytest.mark.slow])
    for index, (name, kind) in enumerate(names().items())
]


@pytest.fixture(scope="module")
def trials() -> Iterator[Trials]:
    """The process in which cases are tried."""
    made = Trials()
    yield made
    made.end()


@pytest.mark.timeout(3 * SECONDS)
@pytest.mark.parametrize("name", CASES)
def test_case(name: str, trials: Trials) -> None:
    verdict = trials.verdict(name)
    ended = f"{verdict.outcome}: {verdict.reason}"
    if name not in REFUSED:
        assert verdict.outcome == "passed", f"{ended} (where it can't be done, list it: {UPDATE} '^{name}$')"
    elif verdict.outcome == "passed":
        pytest.fail(f"it passes, so it is refused no more: {UPDATE} '^{name}$'")
    else:
        assert ended == f"unsupported: {REFUSED[name]}", f"the list is to say so: {UPDATE} '^{name}$'"


def test_the_list_is_in_order_and_of_cases_that_there_are() -> None:
    lines = LIST.read_text(encoding="utf-8").splitlines()
    assert lines == sorted(set(lines))
    assert len(REFUSED) == len(lines)
    assert REFUSED.keys() <= names().keys()
    assert set(names().values()) == set(KINDS)


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        ("os.kill(os.getpid(), signal.SIGSEGV)", "crash: SIGSEGV"),
        ("os._exit(3)", "crash: exit status 3"),
        ("time.sleep(60)", "hang: no answer in 1 s"),
        ("raise KeyError('x')", "error: KeyError: 'x'"),
    ],
)
def test_what_a_case_does_to_its_process_harms_no_other(
    body: str, outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*_: object, **__: object) -> None:
        exec(f"import os, signal, time; {body}")

    trials = Trials(1 if "hang" in outcome else SECONDS)
    with monkeypatch.context() as patch:
        patch.setattr(verdicts.MiniInferBackend, "prepare", run)
        verdict = trials.verdict("test_abs")
    assert f"{verdict.outcome}: {verdict.reason}" == outcome
    trials.seconds = SECONDS
    if verdict.outcome != "error":  # the process has what was patched when it was forked
        assert trials.verdict("test_abs").outcome == "passed"
    trials.end()


def test_a_wrong_result_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    right = PreparedModel.run

    def doubled(prepared: PreparedModel, inputs: Any) -> tuple[Array, ...]:
        return (2 * right(prepared, inputs)[0],)

    monkeypatch.setattr(PreparedModel, "run", doubled)
    trials = Trials()
    verdict = trials.verdict("test_abs")
    trials.end()
    assert verdict.outcome == "wrong" and "Not equal to tolerance" in verdict.reason
