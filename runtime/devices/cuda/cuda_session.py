"""A session on an NVIDIA GPU: runs a plan's launches on a stream of its own, replayed as a CUDA graph.

Copies of the caller's arrays through pinned memory, the launches and the copies back are enqueued together. The first
inference synchronises after every launch, so that a fault is attributed to its kernel; a second one at the same
addresses is captured as a graph, which later ones replay. Results are complete when an inference returns. Launches
are enqueued long before they run, so a run that is cancelled, or over its time limit, is completed by the GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from typing_extensions import override

from ...asynchronous.cancellation import RunControl
from ...compute_device import LoadedPlan, Wrong
from ...device import Array, Memory
from ...memory.host_memory import bytes_of
from ..launch_device import describe_launch
from ..remote_session import RemoteSession
from .cupy_calls import Gpu, Stream, faults

GRAPHS = 8  # graphs of one session; for other addresses, launches are enqueued one by one


def _launched_by_itself(_: Sequence[int], __: RunControl | None) -> None:
    """In the place of a launch: `_run` does it all."""


class CudaSession(RemoteSession):
    """Runs a plan's launches, with kernels by name."""

    def __init__(self, gpu: Gpu, plan: LoadedPlan, arena: Memory, functions: Callable[[str], Any]) -> None:
        super().__init__(plan, arena, _launched_by_itself)
        self._gpu, self._launches, self._inputs = gpu, plan.launches, len(plan.inputs)
        self._functions = {each.kernel: functions(each.kernel) for each in plan.launches}
        for name, function in self._functions.items():
            gpu.allow_shared(function, max(each.shared for each in plan.launches if each.kernel == name))
        self._stream = Stream(gpu)
        self._wrong = gpu.pinned(8 * len(plan.checks))
        self._pinned: list[Array] = []
        self._graphs: dict[tuple[int, ...], Any] = {}  # by addresses; None after the first run
        self._profiled, self._marks = plan.profiled, list[Any]()

    @override
    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Wrong | None:
        self._pinned = self._pinned or [self._gpu.pinned(spec.nbytes) for spec in self._specs]
        for there, array in zip(self._pinned, inputs, strict=False):
            there[:] = bytes_of(array)
        wrong = self._infer([memory.address for memory in self._stage()], self._pinned)
        for there, array in zip(self._pinned[self._inputs :], outputs, strict=True):
            bytes_of(array)[:] = there
        return wrong

    @override
    def _run(self, addresses: Sequence[int]) -> Wrong | None:
        return self._infer(addresses, ())

    def _infer(self, addresses: Sequence[int], copied: Sequence[Array]) -> Wrong | None:
        """One inference at those addresses, with copies to and from pinned arrays if there are any."""
        key, graphs, stream = tuple(addresses), self._graphs, self._stream

        def enqueue(after: Callable[[], object] | None = None) -> None:
            self._enqueue(addresses, copied, after)

        with self._gpu.active(), faults("an inference failed"):
            stream.follow()
            if self._profiled:
                self._marks = [stream.mark()]
                enqueue(lambda: self._marks.append(stream.mark()))
            elif key in graphs:
                graphs[key] = graphs[key] or stream.captured(enqueue)
                stream.replay(graphs[key])
            else:
                enqueue(None if graphs else stream.wait)
                graphs[key] = None
                if len(graphs) > GRAPHS:
                    del graphs[next(iter(graphs))]
            stream.wait()
        wrong = self._wrong.view(np.int64)
        return wrong.copy() if wrong.any() else None

    def _enqueue(self, addresses: Sequence[int], copied: Sequence[Array], after: Callable[[], object] | None) -> None:
        """Enqueues all operations of an inference; calls `after` after each launch."""
        stream, status = self._stream, self._status
        places = [*zip(addresses, copied, strict=False)]
        for address, there in places[: self._inputs]:
            stream.send(there, address)
        if status is not None:
            stream.clear(status.address, status.nbytes)
        roots = [*addresses, *(memory.address for memory in self._own)]
        for launch in self._launches:
            with faults(describe_launch(launch)):
                given = [roots[each.root] + each.offset for each in launch.arguments]
                stream.launch(self._functions[launch.kernel], launch, given)
                if after is not None:
                    after()
        if status is not None:
            stream.fetch(status.address, self._wrong)
        for address, there in places[self._inputs :]:
            stream.fetch(address, there)

    def microseconds(self, count: int, rounds: int) -> list[float]:
        """For each round, the time by the GPU's clock of an inference on the bound buffers: `count` are one graph."""
        addresses = [self._bound[index].address for index in range(len(self._specs))]
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
        if not self._marks:  # nothing has been run
            return np.zeros((len(self._launches), 2))
        return np.array([(self._stream.milliseconds(*pair) * 1e6, 1) for pair in pairwise(self._marks)])

    @override
    def turns(self) -> Array:
        taken = self.times()[:, 0] if self._marks else np.zeros(0)
        return np.stack([np.arange(len(taken)), np.cumsum(taken) - taken, taken], axis=1).astype(np.int64)
