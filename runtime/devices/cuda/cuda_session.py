"""A session on an NVIDIA GPU: runs a plan's program on a stream of its own, replayed as a CUDA graph.

Copies of the caller's arrays through pinned memory, the launches and the copies back are enqueued together. The first
inference synchronises after every launch, so that a fault is attributed to its kernel; a second one at the same
addresses is captured as a graph, which later ones replay. Where the host decides during an inference, what lies between
its decisions is (stretches.py). Fresh tensors, which lie elsewhere in every run, are copied to and from memory of the
session, whose graph is replayed. An inference follows the caller's stream, which in turn waits for it if it was named.
Launches are enqueued long before they run, so a run that is cancelled, or over its time limit, is completed by the GPU
up to the host's next decision.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from itertools import islice
from typing import Any, TypeAlias

import numpy as np
from typing_extensions import override

from ....dialects.errors import UnsupportedError
from ...asynchronous.cancellation import RunControl
from ...compute_device import LoadedPlan, Wrong
from ...device import Array, Memory
from ...memory.host_memory import bytes_of
from ...memory.tensor import Tensor
from ..launch_device import describe_launch
from ..program_run import SLOT, Due, DueRead, ProgramRun
from ..remote_session import RemoteSession, grown
from .cupy_calls import Gpu, Stream, faults
from .driver_calls import encoded
from .launch_times import LaunchTimes
from .stretches import Stretches, keep_recent

GRAPHS = 32  # graphs of one session, of the shapes and addresses used last; others are launched one by one
MOST = 16384  # launches of an inference that is one graph
SEEN = GRAPHS
"""Shapes and addresses that are remembered, so that a second run at them is captured.

No more than there are graphs: of more in turn, such as those of a cache that has grown by a token at every run, none
would be replayed before it goes.
"""

Addresses: TypeAlias = tuple[int, ...]
Key: TypeAlias = tuple[object, ...]  # the plan, and addresses


def _launched_by_itself(_: Sequence[int], __: RunControl | None) -> None:
    """In the place of a launch: `_run` does it all."""


class CudaSession(RemoteSession):
    """Runs a plan's program, with kernels by name."""

    def __init__(
        self,
        gpu: Gpu,
        plan: LoadedPlan,
        arena: Memory,
        functions: Callable[[str], Any],
        allow_shared: Callable[[str, int], None],
    ) -> None:
        super().__init__(plan, arena, _launched_by_itself)
        self._gpu, self._allow = gpu, allow_shared
        self._functions = {each.kernel: functions(each.kernel) for each in plan.launches}
        self._stream = Stream(gpu)
        self._wrong = gpu.pinned(8 * len(plan.checks))
        self._pinned: dict[int, Array] = {}
        self._nothing = gpu.pinned(0)
        self._is_tried = False  # whether there was a run, which synchronised after each launch
        self._graphs: dict[Key, Any] = {}  # the most recently used last, as in:
        self._seen: dict[Key, None] = {}
        self._slots = gpu.pinned(plan.program.registers * SLOT)
        self._stretches = Stretches(self._stream, self._issue)
        self._profile = LaunchTimes(self._stream, len(plan.launches)) if plan.profiled else None
        self._take(plan)

    @override
    def use(self, plan: LoadedPlan) -> None:
        super().use(plan)
        self._take(plan)

    def _take(self, plan: LoadedPlan) -> None:
        """Switches to a plan's program; its launches may want more shared memory than those of another shape."""
        self._plan = self._stretches.plan = plan
        self._program = ProgramRun(plan.program, self._decide, self._slots)
        self._is_one = not plan.program.reads and sum(1 for _ in islice(self._program.due(), MOST + 1)) <= MOST
        for each in plan.launches:
            self._allow(each.kernel, each.shared)
            if each.cooperative:
                self._gpu.check_together(self._functions[each.kernel], each)

    @override
    def run(self, inputs: Sequence[Array | None], outputs: Sequence[Array]) -> Wrong | None:
        elsewhere = self._left_out(inputs)
        copied = self._pin(elsewhere)
        for there, array in zip(copied, inputs, strict=False):
            if array is not None:
                there[:] = bytes_of(array)
        wrong = self._start(tuple(self._stage(elsewhere)), copied)()
        for there, array in zip(copied[self._inputs :], outputs, strict=True):
            bytes_of(array)[:] = there
        for number in self._presents:
            if (room := inputs[number]) is not None:
                self._give_back(number, room, copied[number])
        return wrong

    def _pin(self, elsewhere: Container[int]) -> list[Array]:
        """Pinned memory for the bytes of each buffer; none for those that lie elsewhere."""
        found: list[Array] = []
        for number, spec in enumerate(self._specs):
            if number in elsewhere:
                found.append(self._nothing)
                continue
            held = self._pinned.get(number)
            if held is None or held.nbytes < spec.nbytes:
                held = self._pinned[number] = self._gpu.pinned(grown(spec.nbytes, held))
            found.append(held[: spec.nbytes])
        return found

    @override
    def start(self, stream: object) -> Callable[[], Wrong | None]:
        return self._start(self._bound_addresses(), stream=stream)

    @override
    def run_tensors(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor], stream: object = None) -> Wrong | None:
        addresses = tuple(each.address for each in (*inputs, *outputs))
        key = (self._plan, *addresses)
        if not self._is_tried or self._profile is not None or key in self._graphs or key in self._seen:
            return self._start(addresses, stream=stream)()
        keep_recent(self._seen, key, None, SEEN)
        staged = self._stage({number: addresses[number] for number in self._presents})
        return self._start(tuple(staged), theirs=addresses, stream=stream)()

    @override
    def _run(self, addresses: Sequence[int]) -> Wrong | None:
        return self._start(tuple(addresses))()

    def _start(
        self,
        addresses: Addresses,
        copied: Sequence[Array] = (),
        *,
        theirs: Addresses = (),
        stream: object = None,
    ) -> Callable[[], Wrong | None]:
        """Enqueues an inference at those addresses; what is returned waits for it.

        `copied` are pinned arrays to copy to and from these addresses, `theirs` the caller's addresses on the GPU.
        """
        own, inputs = self._stream, self._inputs
        places = [(there, here, spec.nbytes) for there, here, spec in zip(theirs, addresses, self._specs, strict=False)]
        with self._gpu.active(), faults("an inference failed"):
            own.follow(stream)
            for there, here, nbytes in places[:inputs]:
                if there != here:
                    own.copy(there, here, nbytes)
            self._launch_all(addresses, copied)
            for there, here, nbytes in places[inputs:]:
                own.copy(here, there, nbytes)
            if stream is not None:
                own.precede(stream)

        def finish() -> Wrong | None:
            with self._gpu.active(), faults("an inference failed"):
                self._decide()
            wrong = self._wrong.view(np.int64)
            return wrong.copy() if wrong.any() else None

        return finish

    def _launch_all(self, addresses: Addresses, copied: Sequence[Array]) -> None:
        """Enqueues the operations of an inference: one by one, or as a graph at addresses that were used before."""
        own, profile = self._stream, self._profile
        key = (self._plan, *addresses, *(there.ctypes.data for there in copied))

        def enqueue(after: Callable[[int], object] | None = None) -> None:
            self._enqueue(addresses, copied, after)

        if profile is not None:
            profile.start()
            enqueue(profile.note)
        elif not self._is_tried:
            enqueue(lambda _: own.wait())
            self._is_tried = True
            keep_recent(self._seen, key, None, SEEN)
        elif self._is_one and (key in self._graphs or key in self._seen):
            graph = self._graphs.get(key) or own.captured(enqueue)
            keep_recent(self._graphs, key, graph, GRAPHS)
            own.replay(graph)
        else:
            keep_recent(self._seen, key, None, SEEN)
            enqueue()

    def _decide(self) -> None:
        """Waits for what is due so far."""
        self._stretches.flush()
        self._stream.wait()
        if self._profile is not None:
            self._profile.pause()

    def _enqueue(
        self, addresses: Sequence[int], copied: Sequence[Array], after: Callable[[int], object] | None
    ) -> None:
        """Enqueues all operations of an inference; calls `after` after each launch, with its number.

        Where the host decides, this waits for what decides, and ends early if the run is over.
        """
        stream, status = self._stream, self._status
        places = [*zip(addresses, copied, strict=False)]
        for address, there in places[: self._inputs]:
            stream.send(there, address)
        if status is not None:
            stream.clear(status.address, status.nbytes)
        roots = (*addresses, *(memory.address for memory in self._own))
        for each in self._program.due():
            if self._is_one or after is not None:
                self._issue(each, roots, after)
            else:
                self._stretches.add(each, roots)
            if not self._is_one and self._control is not None and self._control.is_over:
                break
        self._stretches.flush()
        if status is not None:
            stream.fetch(status.address, self._wrong)
        for address, there in (*places[self._inputs :], *(places[each] for each in self._presents if places)):
            stream.fetch(address, there)

    def _issue(self, due: Due, roots: Sequence[int], after: Callable[[int], object] | None = None) -> None:
        """Enqueues a launch or a read of main's arguments at these addresses."""
        if isinstance(due, DueRead):
            slot = self._program.slots[due.slot : due.slot + due.nbytes]
            self._stream.fetch(roots[due.root] + due.offset, slot)
            return
        launch = due.launch
        with faults(describe_launch(launch)):
            given = [roots[each.root] + each.offset for each in launch.arguments]
            if not launch.is_empty:
                maps = [encoded(each, given[each.argument] + each.offset) for each in launch.maps]
                self._stream.launch(self._functions[launch.kernel], launch, [*given, *launch.sizes], maps)
            if after is not None:
                after(due.number)

    def microseconds(self, count: int, rounds: int) -> list[float]:
        """For each round, the time by the GPU's clock of an inference on the bound buffers: `count` are one graph.

        Raises UnsupportedError if an inference is more than one graph.
        """
        if not self._is_one:
            raise UnsupportedError(
                "an inference with loops or branches that hang on its values is no single CUDA graph"
            )
        addresses = self._bound_addresses()
        stream, found = self._stream, list[float]()
        with self._gpu.active(), faults("an inference failed"):
            stream.follow()
            graph = stream.captured(lambda: [self._enqueue(addresses, (), None) for _ in range(count)])
            stream.replay(graph)
            for _ in range(rounds):
                start = stream.mark()
                stream.replay(graph)
                end = stream.mark()
                stream.wait()
                found.append(stream.milliseconds(start, end) * 1e3 / count)
        return found

    @override
    def times(self) -> Array:
        assert self._profile is not None, "the plan is not profiled"
        return self._profile.totals

    @override
    def turns(self) -> Array:
        assert self._profile is not None, "the plan is not profiled"
        return self._profile.turns
