"""A compile with the module after each pass, which can be gone on with from any of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import VerifyException

from ...dialects.errors import InvalidModelError
from ...dialects.graph.blobs import MiniContext
from ...dialects.graph.values import Array
from ...lowering.levels import Level, level_of
from ...lowering.module_text import own_errors
from ...lowering.pipelines import PATHS, PassRun, Phase, parse_passes, remaining_phases, run_passes
from ...runtime.compile.engine_phases import engine_phases
from ...runtime.compile.memory_frontier import fitting_changes
from ...runtime.compile.module_to_plan import build_plan, set_target
from ...runtime.compute_device import compute_device
from ...runtime.config import EngineConfig

LEFT_OUT: frozenset[str] = frozenset(
    {
        *("insert-checks", "advise-weights", "poison-dead", "share-threads"),
        *("insert-cancellation-points", "profile-kernels", "expand-math"),
    }
)
"""Passes between the arena and machine code without which the code computes the same."""


@dataclass(frozen=True)
class State:
    """The module after the first `number` passes."""

    number: int
    module: ModuleOp

    @cached_property
    def level(self) -> Level | None:
        """Its level; None where it contradicts what it states."""
        try:
            return level_of(self.module)
        except InvalidModelError:
            return None

    @cached_property
    def complaint(self) -> str:
        """What the verifier says of it; "" where it is valid."""
        try:
            self.module.verify()
        except VerifyException as error:
            return str(error).splitlines()[0]
        return ""


@dataclass(frozen=True)
class Step:
    """A pass of the pipeline: its place counted from 0, and which of the passes of its name it is, counted from 1."""

    number: int
    phase: Level
    made: ModulePass
    turn: int
    turns: int

    @property
    def text(self) -> str:
        """The pass's name, and which one it is where there are several."""
        several = f" ({self.turn} of {self.turns} in the pipeline)" if self.turns > 1 else ""
        return f"{self.made.name}{several}"


@dataclass
class WatchedCompile:
    """Compiles a module and runs it. `states[n]` is the module before step n, as far down as observers see it whole."""

    imported: ModuleOp
    ctx: MiniContext
    config: EngineConfig
    inputs: Mapping[str, Array]
    states: list[State] = field(default_factory=list[State])
    failure: str = ""
    """The error of the pass behind the last state, or of the code generator."""

    def __post_init__(self) -> None:
        module = self.imported.clone()
        set_target(module, self.ctx, self.config)
        fitting = self.config.memory_bytes is not None and level_of(module) == "graph"
        self._changes = fitting_changes(module, self.ctx, self.config) if fitting else ()
        self.states.append(State(0, module))

    @cached_property
    def steps(self) -> Sequence[Step]:
        """All passes, in order."""
        module = self.states[0].module
        every = engine_phases(self.config, self._changes)
        path, level = PATHS[compute_device(self.config.place).kind], level_of(module)
        selected: list[Phase] = []
        if path.index(level) < path.index("arena"):
            selected += remaining_phases(module, "arena", every)
        below = path[max(path.index(level), path.index("arena")) + 1 :]
        selected += [phase for phase in every if phase.level in below]
        made = [(phase, each) for phase in selected for each in parse_passes(phase.passes)]
        names = [each.name for _, each in made]
        return [
            Step(number, phase.level, each, names[: number + 1].count(each.name), names.count(each.name))
            for number, (phase, each) in enumerate(made)
        ]

    def run(self) -> Mapping[str, Array] | None:
        """The outputs of the compiled code; None after a failure."""
        whole = [each for each in self.steps if each.phase != "llvm"]  # LLVM's passes see a part at a time

        def observer(done: PassRun, module: ModuleOp) -> None:
            if len(self.states) <= len(whole):
                assert whole[len(self.states) - 1].made.name == done.name
                self.states.append(State(len(self.states), module.clone()))

        module = self.states[0].module.clone()
        try:
            plan = build_plan(module, self.ctx, self.config, observer, changes=self._changes)
            return plan.create_execution_context().run(self.inputs)
        except Exception as error:  # a wrong module makes passes fail in any way
            self.failure = _first_line(error)
            return None

    @property
    def failed(self) -> Step | None:
        """The pass that failed; None where all passes ran, or none did."""
        whole = [each for each in self.steps if each.phase != "llvm"]
        if not self.failure or len(self.states) > len(whole):
            return None
        last = self.states[-1]
        if last.number and last.complaint:  # the verifier at a phase's end
            wrong = last.number
            while wrong > 1 and self.states[wrong - 1].complaint:
                wrong -= 1
            return self.steps[wrong - 1]
        return self.steps[last.number]

    def after(self, state: State, passes: Sequence[ModulePass]) -> ModuleOp:
        """A copy of a state's module after passes."""
        module = state.module.clone()
        with own_errors():
            run_passes(self.ctx, module, passes)
        return module

    def gone_on(self, state: State, without: Collection[str] = ()) -> Mapping[str, Array]:
        """The outputs of code made of a state by the passes that are left, but for some. Raises as passes do."""
        left = [each.made for each in self.steps[state.number :] if each.made.name not in without]
        module = self.after(state, left)
        return build_plan(module, self.ctx, self.config).create_execution_context().run(self.inputs)


def _first_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return text[0] if text else type(error).__name__
