"""Plans of a model between the fastest and the smallest, and the fastest of those that fit in so many bytes.

What is chosen: whether layers run by bands of rows (stream-rows), and how high these are; and what less scratch may
cost (limit-scratch), which is a choice among schedules: Winograd's transforms or none, operands packed at once or in
parts. Each choice is compiled down to the arena; its time is the estimate of passes/model_time.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp

from ...dialects.errors import PlanError
from ...dialects.graph.base import GraphOp
from ...dialects.graph.blobs import MiniContext
from ...dialects.graph.host import main_of
from ...dialects.graph.values import nbytes_of, type_of
from ...dialects.sizes.sizes import now
from ...lowering.levels import LEVELS
from ...lowering.pipelines import parse_passes, run_passes
from ...passes.kernels.choose_schedule import AnySchedule, choices_of
from ...passes.kernels.measured_schedules import tuned_schedules
from ...passes.memory.analysis.main_steps import steps_of
from ...passes.memory.report.largest_step import LargestStep, largest_step, step_name
from ...passes.memory.report.memory_report import plan_summary
from ...passes.model_time import estimated_seconds
from ..config import EngineConfig
from ..progress import LOG
from .engine_phases import engine_phases

LEAST_BAND = 64
"""Bytes: lower bands are of a row each."""

LOSSES = (0, 3, 10, 30, 100)
"""Percent of the time of a plan that less scratch may cost, in turn."""

QUICK = 40_000
"""Steps of the planner's search for a first plan, which mostly is a few per cent larger than what more would find."""

TRIES = 3
"""Capacities of scratch that are tried for one height of bands: live bytes are exact only once buffers are placed."""

BANDS_WITHOUT_GAIN = 2
"""Heights of bands, one after the other, after which lower ones are not expected to need less."""


@dataclass(frozen=True)
class MemoryPoint:
    """One plan of a model: its arena, its estimated time, and what was chosen for it."""

    arena_bytes: int
    seconds: float
    """Estimated, of an inference."""
    band: int
    """Bytes of a band of rows; 0 where values are whole."""
    changes: tuple[str, ...]
    """Changes of the pipeline, as for `lowering.pipelines.phases`."""
    scratch: str
    """What limits scratch."""
    largest: LargestStep = field(repr=False)
    """The call that needs most for itself."""
    binding: str
    """The first ONNX node of the call at which most is live."""
    lower_bound: int
    """Bytes that any placement of its buffers needs."""
    proven: bool
    """Whether the arena was proven to be minimal for the order of calls."""

    @property
    def text(self) -> str:
        """What was chosen, in words."""
        return f"{f'bands of {self.band:,} bytes' if self.band else 'whole values'}, {self.scratch}"


@dataclass(frozen=True, repr=False)
class MemoryFrontier:
    """Plans of a model, of which none is both smaller and faster than another: the smallest first."""

    points: tuple[MemoryPoint, ...]
    tried: int
    """The number of plans that were compared."""
    least_step: LargestStep
    """Of the largest steps of all plans the smallest: no choice needs less than this for a single call."""

    @override
    def __repr__(self) -> str:
        first, last = self.points[0].arena_bytes, self.points[-1].arena_bytes
        return f"{type(self).__name__}({len(self.points)} of {self.tried} plans, arenas of {first:,} to {last:,} bytes)"

    def fastest_within(self, nbytes: int) -> MemoryPoint:
        """The fastest plan whose arena has at most so many bytes. Raises PlanError if there is none."""
        fitting = [each for each in self.points if each.arena_bytes <= nbytes]
        if not fitting:
            raise self.refusal(nbytes)
        return min(fitting, key=lambda each: (each.seconds, each.arena_bytes))

    def refusal(self, nbytes: int) -> PlanError:
        """The error for a number of bytes in which no plan fits: which one is smallest, and what binds."""
        least = self.points[0]
        step = least.largest if least.largest.bytes > nbytes else self.least_step
        parts = ", ".join(
            f"{size:,} of {what}"
            for what, size in (("operands", step.operands), ("results", step.results), ("scratch", step.scratch))
            if size
        )
        whole = f"{step.node} alone needs {step.bytes:,} ({parts})"
        alone = f"in each of them a call needs more: {whole}" if step.bytes > nbytes else f"of its calls, {whole}"
        proof = ", proven minimal for its order" if least.proven else ""
        return PlanError(
            f"no plan of the model fits in {nbytes:,} bytes: the smallest of {self.tried} has an arena of "
            f"{least.arena_bytes:,} ({least.text}{proof}), with most live at {least.binding}; {alone}"
        )


def fitting_changes(module: ModuleOp, ctx: MiniContext, config: EngineConfig) -> tuple[str, ...]:
    """The changes of the pipeline for the fastest plan within `memory`, of a module at the graph level with a target.

    Raises PlanError if no plan fits. The module is left as it is.
    """
    nbytes = config.memory_bytes
    assert nbytes is not None, "memory is given"
    trials = _Trials(module, ctx, config)
    best: MemoryPoint | None = None
    for band in chain((0,), trials.bands()):
        found = trials.within(band, nbytes)
        if found is not None and (best is None or found.seconds < best.seconds):
            best = found
        elif best is not None:
            break  # lower bands take longer
    if best is None:
        raise trials.frontier().refusal(nbytes)
    return best.changes


def frontier_of(
    module: ModuleOp, ctx: MiniContext, config: EngineConfig, tell: Callable[[str], object]
) -> MemoryFrontier:
    """The frontier of a module at the graph level with a target; it is left as it is."""
    trials = _Trials(module, ctx, config, tell)
    least = min(each.arena_bytes for each in trials.with_losses(0))
    gained, without_gain = False, 0
    for band in trials.bands():
        found = min(each.arena_bytes for each in trials.with_losses(band))
        gained, without_gain = gained or found < least, 0 if found < least else without_gain + 1
        least = min(least, found)
        if gained and without_gain == BANDS_WITHOUT_GAIN:
            break
    return trials.frontier()


class _Trials:
    """Plans of a module that have been tried."""

    def __init__(
        self, module: ModuleOp, ctx: MiniContext, config: EngineConfig, tell: Callable[[str], object] = LOG.info
    ) -> None:
        self.config, self.tell = config, tell
        self._known: dict[tuple[int, tuple[AnySchedule, ...]], MemoryPoint] = {}
        self.graph, self.ctx = module.clone(), _trial_context(ctx)
        self._run(self.graph, self.ctx, until="stream-rows")
        self._scheduled: dict[int, tuple[ModuleOp, MiniContext]] = {}

    def bands(self) -> Iterator[int]:
        """Heights of bands in bytes with which layers are streamed, highest first, until lower ones are no others."""
        ops = (op for op in main_of(self.graph).body.walk() if isinstance(op, GraphOp) and op.operands)
        band = 1 << max((now(nbytes_of(type_of(value))) for op in ops for value in op.results), default=1).bit_length()
        whole = before = str(self._with_schedules(0)[0])
        equal = 0
        while (band := band // 2) >= LEAST_BAND and equal < BANDS_WITHOUT_GAIN:
            text = str(self._with_schedules(band)[0])
            if text != before:
                before, equal = text, 0
                yield band
            elif before != whole:
                equal += 1

    def within(self, band: int, nbytes: int) -> MemoryPoint | None:
        """The fastest plan with bands of one height whose arena has at most so many bytes, if there is one."""
        capacity = nbytes
        for _ in range(TRIES):
            text = f"scratch within {capacity:,} bytes"
            found = self._well_if_near(self._point(band, f"capacity={capacity}", text), nbytes)
            if found.arena_bytes <= nbytes:
                return found
            capacity -= found.arena_bytes - nbytes
            if capacity <= 0:
                break
        last = self._well_if_near(self.with_losses(band)[-1], nbytes)
        return last if last.arena_bytes <= nbytes else None

    def _well_if_near(self, point: MemoryPoint, nbytes: int) -> MemoryPoint:
        """The plan, planned as well as in a compile if it may only fit then."""
        return self._planned_well(point) if point.arena_bytes > nbytes >= point.lower_bound else point

    def with_losses(self, band: int) -> list[MemoryPoint]:
        """Plans with bands of one height and less and less scratch."""
        found: list[MemoryPoint] = []
        for loss in LOSSES:
            text = f"less scratch for at most {loss} % of the time" if loss else "fastest schedules"
            found.append(self._point(band, f"loss={loss}", text))
        return found

    def frontier(self) -> MemoryFrontier:
        """The best of the plans tried, each planned as well as in a compile."""
        points = _best(map(self._planned_well, _best(self._known.values())))
        least = min((each.largest for each in self._known.values()), key=lambda each: each.bytes)
        return MemoryFrontier(tuple(points), len(self._known), least)

    def _with_schedules(self, band: int) -> tuple[ModuleOp, MiniContext]:
        """The module with bands of one height, after choose-schedule."""
        if band not in self._scheduled:
            module, ctx = self.graph.clone(), _trial_context(self.ctx)
            changes = (_streams(band),)
            self._run(module, ctx, changes, start="stream-rows", until="limit-scratch")
            self._scheduled = {band: (module, ctx)}
        return self._scheduled[band]

    def _point(self, band: int, scratch: str, text: str) -> MemoryPoint:
        """The plan with bands of one height and scratch limited by an option of limit-scratch, unless it is known."""
        scheduled, chosen = self._with_schedules(band)
        module, ctx = scheduled.clone(), _trial_context(chosen)
        changes = (_streams(band), f"limit-scratch{{{scratch}}}")
        self._run(module, ctx, changes, start="limit-scratch", until="pack-weights")
        key = band, tuple(each.taken for each in choices_of(ctx))
        if key not in self._known:
            self._run(module, ctx, (*changes, f"plan-arena{{budget={QUICK}}}"), start="pack-weights")
            self._known[key] = found = self._told(module, band, changes, text)
            self.tell(f"{found.text}: arena of {found.arena_bytes:,} bytes, {found.seconds * 1e3:.3f} ms by estimate")
        return self._known[key]

    def _planned_well(self, point: MemoryPoint) -> MemoryPoint:
        """A plan with as long a search for the smallest arena as a compile makes."""
        if point.proven:
            return point
        scheduled, chosen = self._with_schedules(point.band)
        module = scheduled.clone()
        self._run(module, _trial_context(chosen), point.changes, start="limit-scratch")
        return self._told(module, point.band, point.changes, point.scratch)

    def _told(self, module: ModuleOp, band: int, changes: tuple[str, ...], text: str) -> MemoryPoint:
        plan, seconds = plan_summary(main_of(module)), estimated_seconds(module)
        binding = step_name(list(steps_of(main_of(module)))[plan.binding_step])
        return MemoryPoint(
            plan.arena_bytes,
            seconds,
            band,
            changes,
            text,
            largest_step(module),
            binding,
            plan.lower_bound_bytes,
            plan.optimal,
        )

    def _run(
        self, module: ModuleOp, ctx: MiniContext, changes: Sequence[str] = (), start: str = "", until: str = ""
    ) -> None:
        """Runs the passes of the configuration down to the arena, from `start` on and before `until`."""
        levels = LEVELS[: LEVELS.index("arena") + 1]
        phases = engine_phases(self.config, (*changes, "-verify-arena"))
        passes = [each for phase in phases if phase.level in levels for each in parse_passes(phase.passes)]
        names = [each.name for each in passes]
        first = names.index(start) if start else 0
        run_passes(ctx, module, passes[first : names.index(until) if until else None])


def _best(points: Iterable[MemoryPoint]) -> list[MemoryPoint]:
    """Those of which none is both smaller and as fast as another, the smallest first."""
    kept: list[MemoryPoint] = []
    for each in sorted(points, key=lambda each: (each.arena_bytes, each.seconds)):
        if not kept or each.seconds < kept[-1].seconds:
            kept.append(each)
    return kept


def _streams(band: int) -> str:
    return f"stream-rows{{band={band}}}"


def _trial_context(ctx: MiniContext) -> MiniContext:
    """A context with what choose-schedule reads and has written, whose statistics are its own."""
    made = ctx.clone()
    tuned_schedules(made).update(tuned_schedules(ctx))
    choices_of(made).extend(choices_of(ctx))
    return made
