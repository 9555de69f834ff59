"""`mini-infer run --trace`: the last of some runs, with what its kernels do, and the steps of the compile."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from xdsl.dialects.builtin import ModuleOp

from ..lowering.pipelines import PassRun
from ..passes.pass_counts import PassStatistics
from ..runtime.devices.cpu.machine_limits import LimitProbe
from ..runtime.engine import Engine
from ..runtime.profiling.trace import Step, Trace
from .arrays import in_place
from .bench import gpu_engines
from .bench.kernel_times import FinalCalls
from .json_reports import Facts

BELOW = ("llvm",)
"""Phases of which observers are told in the end: their passes run on one part of the module after the other."""


class CompileSteps:
    """An observer of a compile: its passes with their begins, and its calls."""

    def __init__(self) -> None:
        self._start = time.perf_counter()
        self._steps: list[Step] = []
        self.calls = FinalCalls()
        self._phases: Iterator[tuple[str, str]] = iter(())

    def imported(self, phases: Sequence[tuple[str, str]]) -> None:
        """Notes that the import is over, and the passes to come."""
        self._steps.append(Step("import", 0.0, time.perf_counter() - self._start, "import"))
        self._phases = iter(phases)

    def __call__(self, done: PassRun, module: ModuleOp) -> None:
        self.calls(done, module)
        phase = next(level for name, level in self._phases if name == done.name)  # some may have been left out
        end = time.perf_counter() - self._start
        self._steps.append(Step(done.name, end - done.seconds, done.seconds, phase))

    def steps(self, statistics: PassStatistics) -> list[Step]:
        """The passes when they ran; then, one after the other, those of LLVM and what else was done part by part."""
        found = [each for each in self._steps if each.phase not in BELOW]
        passes = {each.name for each in self._steps}
        rest = [(each.name, each.seconds) for each in self._steps if each.phase in BELOW]
        rest += [(name, taken) for name, taken in statistics.seconds.items() if name not in passes]
        end = max((each.begin + each.seconds for each in found), default=0.0)
        for name, taken in rest:
            found.append(Step(name, end, taken, "machine code"))
            end += taken
        return found


def write_run_trace(
    model: str, engine: Engine, inputs: Mapping[str, Any], runs: int, compiled: CompileSteps, path: str
) -> Facts:
    """Runs an engine that times its kernels, and writes the last run; returns what was written, for programs."""
    shapes = {name: array.shape for name, array in inputs.items()}
    plan = engine.plan_for(shapes)
    if plan.launches:
        costs = gpu_engines.costs(model, plan.config)
        facts = [asdict(costs[launch.call]) for launch in plan.launches]
    else:
        facts = compiled.calls.facts(plan, shapes, LimitProbe(plan.threads).measure())
    with plan.create_execution_context() as context:
        if plan.config.caches:
            inputs = in_place(inputs, context.run(inputs), plan.config.caches)
        for _ in range(runs):
            context.run(inputs)
        turns = context.timeline()
    trace = Trace()
    trace.add_run(turns, facts)
    trace.add_compile(compiled.steps(engine.statistics))
    trace.write(Path(path))
    return {"file": path, "calls": len(turns), "kernels_us": sum(each.nanoseconds for each in turns) / 1e3}
