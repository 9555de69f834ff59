"""A session on an NVIDIA GPU: runs a plan's launches on a stream of its own, replayed as a CUDA graph.

Copies of the caller's arrays through pinned memory, the launches and the copies back are enqueued together. The first
inference synchronises after every launch, so that a fault is attributed to its kernel; a second one at the same
addresses is captured as a graph, which later ones replay. Fresh tensors, which lie elsewhere in every run, are copied
to and from memory of the session, whose graph is replayed. An inference follows the caller's stream, which in turn
waits for it if it was named. Launches are enqueued long before they run, so a run that is cancelled, or over its time
limit, is completed by the GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias, TypeVar

import numpy as np
from typing_extensions import override

from ...asynchronous.cancellation import RunControl
from ...compute_device import LoadedPlan, Wrong
from ...device import Array, Memory
from ...memory.host_memory import bytes_of
from ...memory.tensor import Tensor
from ..launch_device import describe_launch
from ..remote_session import RemoteSession
from .cupy_calls import Gpu, Stream, faults

GRAPHS = 8  # graphs of one session, of the addresses that were used last; others are launched one by one
SEEN = 64  # addresses that are remembered, so that a second run at them is captured

Addresses: TypeAlias = tuple[int, ...]
Key: TypeAlias = tuple[int, ...]  # addresses, and the number of pinned arrays that are copied there
V = TypeVar("V")


def _use(kept: dict[Key, V], key: Key, value: V, most: int) -> None:
    """Keeps a value as the most recently used of `most`."""
    kept.pop(key, None)
    kept[key] = value
    if len(kept) > most:
        del kept[next(iter(kept))]


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
        self._is_tried = False  # whether there was a run, which synchronised after each launch
        self._graphs: dict[Key, Any] = {}  # the most recently used last, as in:
        self._seen: dict[Key, None] = {}
        self._profiled, self._marks = plan.profiled, list[Any]()

    @override
    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> Wrong | None:
        self._pinned = self._pinned or [self._gpu.pinned(spec.nbytes) for spec in self._specs]
        for there, array in zip(self._pinned, inputs, strict=False):
            there[:] = bytes_of(array)
        wrong = self._start(self._staging(), self._pinned)()
        for there, array in zip(self._pinned[self._inputs :], outputs, strict=True):
            bytes_of(array)[:] = there
        return wrong

    @override
    def start(self, stream: object) -> Callable[[], Wrong | None]:
        return self._start(self._bound_addresses(), stream=stream)

    @override
    def run_tensors(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor], stream: object = None) -> Wrong | None:
        addresses = tuple(each.address for each in (*inputs, *outputs))
        key = (*addresses, 0)
        if not self._is_tried or self._profiled or key in self._graphs or key in self._seen:
            return self._start(addresses, stream=stream)()
        _use(self._seen, key, None, SEEN)
        return self._start(self._staging(), theirs=addresses, stream=stream)()

    @override
    def _run(self, addresses: Sequence[int]) -> Wrong | None:
        return self._start(tuple(addresses))()

    def _staging(self) -> Addresses:
        return tuple(memory.address for memory in self._stage())

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
                own.copy(there, here, nbytes)
            self._launch_all(addresses, copied)
            for there, here, nbytes in places[inputs:]:
                own.copy(here, there, nbytes)
            if stream is not None:
                own.precede(stream)

        def finish() -> Wrong | None:
            with self._gpu.active(), faults("an inference failed"):
                own.wait()
            wrong = self._wrong.view(np.int64)
            return wrong.copy() if wrong.any() else None

        return finish

    def _launch_all(self, addresses: Addresses, copied: Sequence[Array]) -> None:
        """Enqueues the operations of an inference: one by one, or as a graph at addresses that were used before."""
        own, key = self._stream, (*addresses, len(copied))

        def enqueue(after: Callable[[], object] | None = None) -> None:
            self._enqueue(addresses, copied, after)

        if self._profiled:
            self._marks = [own.mark()]
            enqueue(lambda: self._marks.append(own.mark()))
        elif not self._is_tried:
            enqueue(own.wait)
            self._is_tried = True
            _use(self._seen, key, None, SEEN)
        elif key in self._graphs or key in self._seen:
            graph = self._graphs.get(key) or own.captured(enqueue)
            _use(self._graphs, key, graph, GRAPHS)
            own.replay(graph)
        else:
            _use(self._seen, key, None, SEEN)
            enqueue()

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
        if not self._marks:  # nothing has been run
            return np.zeros((len(self._launches), 2))
        return np.array([(self._stream.milliseconds(*pair) * 1e6, 1) for pair in pairwise(self._marks)])

    @override
    def turns(self) -> Array:
        taken = self.times()[:, 0] if self._marks else np.zeros(0)
        return np.stack([np.arange(len(taken)), np.cumsum(taken) - taken, taken], axis=1).astype(np.int64)
