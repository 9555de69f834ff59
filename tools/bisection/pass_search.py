"""The search for the first pass after which an output is wrong.

The modules down to the arena are judged by interpreters, each by itself, so that faults of later passes have no part in
a verdict. Between the arena and machine code there is none: code is compiled without the passes that it can do without,
and then with one more of them at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from ...dialects.graph.values import Array
from .judge import Judge, Judgement, Way, can_evaluate
from .watched_compile import LEFT_OUT, State, Step, WatchedCompile


@dataclass(frozen=True)
class Culprit:
    """What makes an output wrong: a step of the pipeline, or the code generator where there is none.

    `state` is the module before it. `how` tells by what the modules before and after were judged.
    """

    step: Step | None
    state: State
    before: Judgement
    after: Judgement
    how: Way | str
    after_state: State | None = None
    failure: bool = False
    """Whether the step raised an error, so that there is no module after it."""


def find_culprit(compiled: WatchedCompile, judge: Judge, final: Judgement) -> Culprit | None:
    """The culprit of a wrong `final`; None where the model's own types give no better values."""
    states = compiled.states
    for way in ("float64", "own types"):
        known = [state for state in states if can_evaluate(state, way)]
        if not known:
            continue

        def verdict(state: State, way: Way = way) -> Judgement:
            return judge.of_state(state, way, barriers=_has_barriers(compiled, state))

        references = judge.references  # which are the first state's values
        first = judge.of_outputs(references.exact if way == "float64" else references.own)
        last = verdict(known[-1])
        if not first.is_right and compiled.failed is None:
            return None
        if first.is_right and not last.is_right:
            return _between(compiled, known, verdict, first, last, way)
    known = [state for state in states if can_evaluate(state, "own types")]
    right = known[-1]
    if (failed := compiled.failed) is not None:
        before = judge.of_state(right, "own types")
        after = Judgement(final.output, final.verdict, compiled.failure)
        return Culprit(failed, states[failed.number], before, after, "the pass fails", failure=True)
    return _below(compiled, judge, right, final)


def _between(
    compiled: WatchedCompile,
    known: list[State],
    verdict: Callable[[State], Judgement],
    first: Judgement,
    last: Judgement,
    way: Way,
) -> Culprit:
    """By halving: before a pass it is right, and after it wrong, whatever is between others."""
    low, high = 0, len(known) - 1
    before, after = first, last
    while high - low > 1:
        middle = (low + high) // 2
        found = verdict(known[middle])
        if found.is_right:
            low, before = middle, found
        else:
            high, after = middle, found
    step = compiled.steps[known[high].number - 1]
    return Culprit(step, known[low], before, after, f"evaluated in {way}", known[high])


def _below(compiled: WatchedCompile, judge: Judge, right: State, final: Judgement) -> Culprit:
    """Of passes below the state, one that the code can do without, or the rest together."""
    optional = [step for step in compiled.steps[right.number :] if step.made.name in LEFT_OUT]
    before = judge.of_run(lambda: compiled.gone_on(right, [step.made.name for step in optional]))
    if before.is_right:
        for count, step in enumerate(optional, 1):
            left_out = [each.made.name for each in optional[count:]]
            after = judge.of_run(lambda left_out=left_out: compiled.gone_on(right, left_out))
            if not after.is_right:
                return Culprit(step, right, before, after, "compiled without the passes behind it that can be left out")
            before = after
    return Culprit(None, right, judge.of_state(right, "own types"), final, "compiled")


def _has_barriers(compiled: WatchedCompile, state: State) -> bool:
    """Whether insert-barriers has run."""
    return any(step.made.name == "insert-barriers" for step in compiled.steps[: state.number])


def left_out(compiled: WatchedCompile, judge: Judge, step: Step) -> Judgement | None:
    """The verdict on code that is made without a pass; None where it can't be."""

    def run(without: Collection[str] = (step.made.name,)) -> Mapping[str, Array]:
        return compiled.gone_on(compiled.states[0], without)

    found = judge.of_run(run)
    return None if found.failure else found
