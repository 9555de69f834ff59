"""Runs a plan call by call and checks that each writes only its own bytes of the arena.

A stray write may have no effect on any result: to dead bytes that are overwritten before they are read. So the arena is
compared with its previous contents after each call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from typing_extensions import override
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ....dialects.errors import PlanError, UnsupportedError
from ....dialects.graph.base import node_name
from ....dialects.graph.host import main_of
from ....lowering.pipelines import Observer, PassRun
from ....passes.geometry.boxes import Box
from ....passes.memory.analysis.buffers import Places, argument_with_role
from ....passes.memory.analysis.main_steps import calls_of
from ....passes.memory.share_threads import STAGE, ShareThreads
from ....passes.pass_counts import PassStatistics
from ...device import Array, device_named
from ...devices.cpu.cpu_device import Cpu, CpuSession
from ...native.team import team
from ...plan import ExecutionContext, InferencePlan
from ..plan_builder import Builder

# How a stage is handed over to who has it done: the function, what to call it with, how many shares and seats it has.
_SHARE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)


@dataclass(frozen=True)
class Writer:
    """A call, and the bytes of the arena that it may write: its results and its scratch."""

    kernel: str
    node: str
    own: tuple[Box, ...]

    @override
    def __str__(self) -> str:
        return f"{self.node} (kernel '{self.kernel}')" if self.node else f"kernel '{self.kernel}'"


@dataclass(frozen=True)
class WatchedPlan:
    """A plan in which every call is a stage, with the stages by name."""

    plan: InferencePlan
    writers: Mapping[str, Writer]

    @classmethod
    def build(cls, builder: Builder) -> tuple[WatchedPlan, PassStatistics]:
        """For a configuration with `check_memory`. Raises UnsupportedError for an unsupported device."""
        config = builder.config
        if not isinstance(device_named(config.place), Cpu):
            raise UnsupportedError(f"check_memory is not supported on the device '{config.device}'")
        stages = _Stages(builder.observer)
        made = replace(builder, observer=stages)()
        return cls(made.plan, stages.writers), made.statistics


@dataclass
class _Stages:
    """An observer of passes that records the stages once they exist, before another observer."""

    then: Observer | None
    writers: dict[str, Writer] = field(default_factory=dict[str, Writer])

    def __call__(self, run: PassRun, module: ModuleOp) -> None:
        if run.name == ShareThreads.name:
            self.writers.update(_writers(module))
        if self.then is not None:
            self.then(run, module)


def _writers(module: ModuleOp) -> Iterator[tuple[str, Writer]]:
    arena = argument_with_role(main_of(module, ShareThreads.name), "arena")
    assert arena is not None
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data.startswith(STAGE):
            (call,), places = calls_of(op), Places()
            written = [places[value] for value in (*call.outs, *call.scratch)]
            own = tuple(place.bytes for place in written if place.root is op.args[arena.index])
            yield op.sym_name.data, Writer(call.callee.string_value(), node_name(call), own)


class WatchingContext(ExecutionContext):
    """A context whose `execute` raises PlanError, after the run, if a call wrote bytes other than its own."""

    def __init__(self, watched: WatchedPlan, arena: Array) -> None:
        super().__init__(watched.plan, arena)
        code, helpers = watched.plan.code, team()
        helpers.grow(watched.plan.threads)
        self._writers = {code.address(f"call_{stage}"): writer for stage, writer in watched.writers.items()}
        assert isinstance(self._session, CpuSession)  # see WatchedPlan.build
        self._entry, self._session.entry = self._session.entry, self._run_watched
        self._have_done = _SHARE(helpers.share)
        self._share = _SHARE(self._watch)
        self._arena_bytes = self._before = arena
        self._fault = ""

    def _run_watched(self, pointers: int, _: int | None) -> None:
        self._before, self._fault = self._arena_bytes.copy(), ""
        self._entry(pointers, ctypes.cast(self._share, ctypes.c_void_p))
        if self._fault:
            raise PlanError(self._fault)

    def _watch(self, stage: int, arguments: int, shares: int, seats: int) -> None:
        """Runs a stage, and compares. Exceptions raised here would be lost, as native code is in between."""
        self._have_done(stage, arguments, shares, seats)
        writer, found = self._writers[stage], self._arena_bytes
        changed = found != self._before
        for box in writer.own:
            _window(changed, box)[...] = False
            _window(self._before, box)[...] = _window(found, box)
        if changed.any() and not self._fault:
            places = np.flatnonzero(changed)
            self._fault = (
                f"memory check: {writer} wrote {places.size} bytes of the arena that are not its own, "
                f"from byte {places[0]} to {places[-1]}"
            )


def _window(memory: Array, box: Box) -> Array:
    """A view of a box of bytes."""
    if not box.count:
        return memory[:0]
    return np.ndarray(box.sizes, memory.dtype, memory.data, box.offset, box.strides)
