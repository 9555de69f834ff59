"""Verdicts on the modules of a compile, each by itself: by a reference interpreter, without the passes behind it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any, Literal

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp

from ...dialects.errors import InvalidInputError
from ...dialects.graph.blobs import BlobStore
from ...dialects.graph.host import kernels_of, main_of
from ...dialects.graph.interpreter import interpret
from ...dialects.graph.values import Array
from ...dialects.kernel.calls import BarrierOp, CallOp
from ...passes.memory.analysis.access_sets import AccessSets
from ...passes.memory.analysis.buffer_interpreter import is_interpretable, run_module
from ...passes.memory.analysis.buffers import Places
from ...passes.memory.analysis.main_steps import steps_of
from ..comparison.references import References
from ..comparison.rounding import Looseness, Verdict, of_ops
from .watched_compile import State

Way = Literal["float64", "own types"]
"""How a module is evaluated. Rounding has no part in the first, so a difference in it is one in meaning."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on the worst output; `failure` tells why there is no value."""

    output: str
    verdict: Verdict
    failure: str = ""

    @property
    def is_right(self) -> bool:
        return not self.failure and self.verdict.is_right


class BufferReferences(References):
    """Those of a module on buffers or on an arena: its own evaluation, as there is none in float64."""

    @cached_property
    @override
    def exact(self) -> Mapping[str, Array]:
        return run_module(self.module, self.ctx.blobs, self.inputs)

    @cached_property
    @override
    def own(self) -> Mapping[str, Array]:
        return self.exact

    @override
    def _looseness(self) -> list[Looseness]:
        bodies = (op for kernel in kernels_of(self.module).values() for op in kernel.walk())
        return [of_ops(bodies, self._step)] * len(self.exact)


class Judge:
    """Judges outputs by references, `only` one of them if named."""

    def __init__(self, references: References, only: str | None = None) -> None:
        self.references, self.only = references, only
        self.unfused: Mapping[str, Array] | None = None
        """Outputs of code whose every node is known to be right."""

    def of_outputs(self, found: Mapping[str, Array], unfused: Mapping[str, Array] | None = None) -> Judgement:
        """The verdict on the worst of the outputs; `unfused` are a further reference, by default the judge's."""
        missing = [name for name in self.references.exact if name not in found]
        if missing:
            return Judgement(missing[0], Verdict(inf, 0.0), f"there is no output {missing[0]}")
        for name, array in self.references.exact.items():
            if found[name].shape != array.shape:
                return Judgement(name, Verdict(inf, 0.0), f"output {name} has shape {list(found[name].shape)}")
        verdicts = self.references.verdicts(found, unfused or self.unfused)
        if self.only is not None:
            verdicts = {self.only: verdicts[self.only]}
        worst = max(verdicts, key=lambda name: verdicts[name].error / (verdicts[name].allowed or 1e-300))
        return Judgement(worst, verdicts[worst])

    def of_run(self, run: Callable[[], Mapping[str, Array]]) -> Judgement:
        """The verdict on what a run gives; one that fails is wrong."""
        try:
            return self.of_outputs(run())
        except Exception as error:  # a wrong module makes evaluations fail in any way
            lines = str(error).strip().splitlines() or [type(error).__name__]
            return Judgement(self.only or next(iter(self.references.exact)), Verdict(inf, 0.0), lines[0])

    def of_state(self, state: State, way: Way, *, barriers: bool = False) -> Judgement:
        """The verdict on a state that `can_evaluate`; with `barriers`, they must part calls that conflict."""

        def run() -> Mapping[str, Array]:
            if barriers and (fact := _missing_barrier(state.module)):
                raise InvalidInputError(fact)
            return evaluated(state, self.references.inputs, self.references.ctx.blobs, way)

        return self.of_run(run)


def can_evaluate(state: State, way: Way) -> bool:
    """Whether there is an interpreter for a state."""
    if state.level in ("graph", "kernels"):
        return True
    return way == "own types" and state.level in ("buffers", "arena") and is_interpretable(state.module)


def evaluated(state: State, inputs: Mapping[str, Array], store: BlobStore, way: Way) -> Mapping[str, Array]:
    """The outputs of a state."""
    if state.level in ("graph", "kernels"):
        precision: Any = np.float64 if way == "float64" else None
        return interpret(state.module, inputs, store, precision=precision)
    return run_module(state.module, store, inputs)


def _missing_barrier(module: ModuleOp) -> str:
    """The first step that conflicts with one before it in its block without a barrier between; "" if there is none."""
    places = Places()
    for number, step in enumerate(steps_of(main_of(module))):
        touched, before = AccessSets.by(step, places), step.prev_op
        while before is not None and not isinstance(before, BarrierOp) and not before.regions:
            if isinstance(before, CallOp) and AccessSets.by(before, places).conflicts(touched):
                return f"no barrier parts step {number} from {before.callee.string_value()}, whose bytes it uses"
            before = before.prev_op
    return ""
