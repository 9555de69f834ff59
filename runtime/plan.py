"""InferencePlan, the compile-time results of a model, immutable and shared by threads; and ExecutionContext.

A context runs a plan; it has one arena and the buffers bound to the plan's inputs and outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, Self, cast

import numpy as np
from typing_extensions import override

from ..dialects.arguments import check_function, check_kind, checked_path, nearest, shown
from ..dialects.bounded_crops import cut_shape, trimmed
from ..dialects.errors import ConfigError, InvalidInputError, OutOfMemoryError
from .asynchronous.cancellation import RunControl
from .compute_device import LoadedPlan, Session, Wrong, compute_device
from .device import DEFAULT_ALIGNMENT, Array, Memory, device_named
from .hooks.hook_points import Hook
from .inputs import checked, typed
from .limits import memory_for
from .memory.kv_cache_memory import (
    CacheBuffer,
    PresentTensor,
    beginning,
    lies_in,
    reaches_into,
    room_of,
    room_tensor_of,
)
from .memory.storage import Storage
from .memory.tensor import Tensor, lies_on_gpu
from .plan_reprs import html_table, interface, one_line
from .profiling.kernel_records import KernelTime, KernelTurn
from .reprs import size_text
from .run_guard import RunGuard
from .specs import Stationary, TensorSpec, check_placed, ordered_shapes

if TYPE_CHECKING:
    from ..dialects.sizes.polynomials import Symbol
    from .asynchronous.run_handle import RunHandle
    from .asynchronous.workers import Workers

Shapes = tuple[tuple[int, ...], ...]


class PlanFamily(Protocol):
    """The plans for different shapes that share the code of one compile; see shapes/shape_family.py."""

    base: InferencePlan
    """The plan with symbolic sizes, of which the others are instances."""

    def suits(self, shapes: Shapes) -> bool:
        """Whether the code is valid for these shapes of the inputs, in order."""
        ...

    def plan_for(self, shapes: Shapes) -> InferencePlan:
        """The plan for these shapes of the inputs, in order."""
        ...

    def values_of(self, shapes: Shapes) -> dict[Symbol, int]:
        """The values of the symbols at these shapes of the inputs. Raises InvalidInputError if no values give them."""
        ...


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class InferencePlan(LoadedPlan, Stationary):
    """Code, weights and memory plan of a model for given shapes and options.

    `memory` gives the place of every intermediate (`arena_bytes`, `lower_bound_bytes`, `tensors`). Contexts made from a
    plan are independent of each other; the plan itself never changes, so any number of threads may use it.
    """

    family: PlanFamily | None = None
    """The plans for other shapes that have this one's code, too."""

    @override
    def __repr__(self) -> str:
        return one_line(self, type(self).__name__)

    def _repr_html_(self) -> str:
        return html_table(self)

    def session(self, arena: Memory) -> Session:
        """A session that runs the code with that arena."""
        return compute_device(self.config.place).session(self, arena)

    def create_execution_context(
        self, arena: object | None = None, *, allocator: str | None = None
    ) -> ExecutionContext:
        """A context with an arena of its own, or over `arena`: the caller's Storage, numpy or DLPack memory.

        An arena of its own is made by the device, or by an `allocator` of `register_allocator`. Raises
        InvalidInputError if `arena` is read-only, on another device, smaller than `arena_bytes` or not aligned to
        `alignment`, and as Storage.
        """
        return ExecutionContext(self, arena, allocator=allocator)

    def create_context(self, arena: object | None = None, *, allocator: str | None = None) -> ExecutionContext:
        """`create_execution_context`, by a shorter name."""
        return self.create_execution_context(arena, allocator=allocator)

    def write_perf_map(self) -> Path:
        """Tells Linux's `perf` the names of this plan's functions: appends them to /tmp/perf-PID.map, and returns that.

        With `perf record`, samples in a kernel are then told by its name. They are right as long as the plan lives.
        Raises UnsupportedError for a GPU's code, MiniInferError if the file can't be written.
        """
        from .profiling.perf_map import write_perf_map

        codes = [self.code]
        if self.threads > 1:
            from .native.team import team

            codes.append(team().code)
        return write_perf_map(codes)

    def execute(self, context: ExecutionContext) -> None:
        """One inference on the buffers bound to a context of this plan, as `context.execute()`.

        Raises InvalidInputError for another plan's context, and as that does.
        """
        check_kind("context", context, ExecutionContext, InvalidInputError)
        if context.plan is not self:
            raise InvalidInputError("the context is for another plan: create_execution_context makes one for this")
        context.execute()


class ExecutionContext(Stationary):
    """Runs a plan with an arena of its own. A context serves one thread at a time; make one for each.

    Any use by another thread during a run, or during one that `enqueue` started, raises BusyError.

    Buffers may be bound (`bind_input`, `bind_output`) and `execute` called many times, without a copy and without an
    allocation; or `run` takes arrays and returns fresh ones.

    `close`, or the end of a `with` block, frees the memory. Otherwise it is freed with the context.
    """

    def __init__(self, plan: InferencePlan, arena: object | None = None, *, allocator: str | None = None) -> None:
        self.plan = plan
        self._arena, self._allocator = _arena_storage(plan, arena, allocator), allocator
        # The bytes that code works on, whatever becomes of the storage; the caller's, where others may lie in them.
        self._memory, self._is_lent = self._arena.memory, arena is not None
        self._names = (*plan.input_names, *(spec.name for spec in plan.written[: len(plan.written) - len(plan.counts)]))
        self._bound: list[tuple[int, int] | None] = [None] * len(self._names)  # addresses, [start, end)
        self._bound_are_apart = self._caches_are_apart = False
        self._counts = [Tensor.empty((), np.int64, device=plan.config.place) for _ in plan.counts]
        # Views, where this process reads that memory: to make one takes longer than a small model.
        self._count_views = [count.numpy() for count in self._counts if count.device == "cpu"]
        self._session = self._new_session(plan)
        self._found: list[int] = []  # the counts of the last run
        # Whether a call returns just what code writes, and inputs can't lie in the arena.
        self._is_plain = not (plan.caches or plan.counts or plan.has_labels or self._is_lent)
        self._run_guard = RunGuard(self._session)
        self._workers: Workers | None = None

    def _new_session(self, plan: InferencePlan) -> Session:
        """A session with the present arena, to which nothing but the counts is bound."""
        session = plan.session(self._memory)
        for place, (spec, count) in enumerate(zip(plan.counts, self._counts, strict=True), len(self._names)):
            session.bind(place, spec, count, written=True)
        return session

    @property
    def arena(self) -> Storage:
        """The memory of the plan's intermediates."""
        self._check_open()
        return self._arena

    def close(self) -> None:
        """Releases the arena and the bound buffers; any further use but `close` raises InvalidInputError.

        The plan, other contexts, and arrays that a run has returned are not affected. A Tensor in the arena (`tensor`)
        keeps the arena's bytes alive. Raises BusyError during a run.
        """
        if self._run_guard.is_over:
            return
        with self._run_guard:
            self._run_guard.is_over = True
        if self._workers is not None:
            self._workers.close()
        self._run_guard.session = None
        del self._session, self._memory, self._arena
        self._bound, self._counts, self._count_views = [], [], []

    def _check_open(self) -> None:
        if self._run_guard.is_over:
            raise InvalidInputError("the context is closed")

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @override
    def __repr__(self) -> str:
        if self._run_guard.is_over:
            return f"{type(self).__name__}(closed)"
        bound = sum(each is not None for each in self._bound)
        arena = f"arena of {size_text(self.plan.arena_bytes)} on {self._arena.device}"
        return f"{type(self).__name__}({interface(self.plan)}; {arena}, {bound} of {len(self._bound)} bound)"

    def set_shapes(self, shapes: Mapping[str, Sequence[int]]) -> None:
        """Sets the shapes of the inputs, by name: `plan` becomes the one for them, and bindings are dropped.

        For plans of several shapes; `run` does it automatically. Raises InvalidInputError for shapes outside of the
        profile, or for which the plan's code was not compiled: `Engine.plan_for` compiles for those; BusyError during a
        run.
        """
        self._check_open()
        family = self.plan.family
        if family is None:
            raise InvalidInputError("the plan has one shape; compile with a profile for several")
        wanted = ordered_shapes(self.plan.input_names, shapes)
        if not family.suits(wanted):
            raise InvalidInputError(f"the plan's code is not for shapes {', '.join(map(str, wanted))}: see plan_for")
        self.use(family.plan_for(wanted))

    def use(self, plan: InferencePlan) -> None:
        """Switches to another plan of the same family: bindings are dropped, except caches. BusyError during a run."""
        with self._run_guard:
            self._use(plan)

    def _use(self, plan: InferencePlan) -> None:
        if plan is self.plan:
            return
        check_kind("plan", plan, type(self.plan), InvalidInputError)
        kept = self._bound
        if plan.arena_bytes > self._memory.nbytes:  # there is no profile that told
            if self._is_lent:
                raise InvalidInputError(f"the arena has {self._memory.nbytes} bytes; the plan needs {plan.arena_bytes}")
            self._arena = _arena_storage(plan, None, self._allocator)
            self._memory = self._arena.memory
            self._session = self._run_guard.session = self._new_session(plan)
            kept = [None] * len(self._names)
        else:
            self._session.use(plan)
        self._bound = [bound if index in plan.cached else None for index, bound in enumerate(kept)]
        self.plan = plan
        self._bound_are_apart = False

    def bind_input(self, name: str, memory: object) -> None:
        """Reads input `name` from this memory in following runs: a Tensor, a numpy array or DLPack memory.

        Arrays of CuPy, PyTorch or JAX on the plan's GPU are used in place, after waiting for pending work on CUDA's
        default stream.

        A cache takes its whole buffer (`InferencePlan.room`), of which its input, and its output after the run, are the
        beginning. It stays bound when shapes change.

        Raises InvalidInputError if shape or type are wrong, the elements are not contiguous and row-major, or the
        memory is not on the plan's device: `Tensor.to` copies it there; BusyError during a run.
        """
        with self._run_guard:
            index = _index(self.plan.input_names, name, "input")
            cache = self.plan.cached.get(index)
            spec = self.plan.inputs[index] if cache is None else cache.room
            self._bound[index] = self._session.bind(index, spec, memory, written=cache is not None)
            self._bound_are_apart = self._caches_are_apart = False

    def bind_output(self, name: str, memory: object) -> None:
        """Writes output `name` to this memory in following runs; as bind_input, and it must be writable.

        A bounded output takes memory for its maximal size; `output_shape` gives its actual size.
        """
        with self._run_guard:
            index = _index(self.plan.output_names, name, "output")
            spec = self.plan.outputs[index]
            if spec not in self.plan.written:
                past = next(cache.room.name for cache in self.plan.caches if cache.output == index)
                raise InvalidInputError(f"output '{name}' lies in the memory of the cache '{past}': bind that")
            place = len(self.plan.inputs) + self.plan.written.index(spec)
            self._bound[place] = self._session.bind(place, spec, memory, written=True)
            self._bound_are_apart = False

    def execute(self, *, time_limit: float | None = None, stream: object = None) -> None:
        """One inference on the bound buffers, which must be over within `time_limit` seconds, if that is given.

        On an NVIDIA GPU it begins when the work that a CUDA `stream` has by now is done: one of CuPy or PyTorch, any
        object with `__cuda_stream__`, or the integer of one; by default CuPy's current stream. It is over when this
        returns; `enqueue` does not wait.

        Raises InvalidInputError if one is not bound, or if written memory overlaps any other; and, after the run, if an
        index was out of range: then the contents of the outputs are undefined, as after TimeLimitError. Raises
        BusyError during another run.
        """
        with self._run_guard:
            if not self._bound_are_apart:
                self._check_bound()
            inference = self._session.execute if stream is None else self._session.start(stream)
            self._execute(inference, RunControl.of(time_limit), is_begun=stream is not None)

    def _execute(
        self, inference: Callable[[], Wrong | None], control: RunControl | None, *, is_begun: bool = False
    ) -> None:
        self._perform(inference, control, is_begun=is_begun)
        views = self._count_views or [count.to("cpu").numpy() for count in self._counts]
        self._found = [int(view) for view in views]

    def enqueue(self, *, time_limit: float | None = None, stream: object = None) -> RunHandle:
        """Starts an inference on the bound buffers in the background, and returns a handle that can wait for it.

        A thread of the context's own carries it out, which `close` ends. Until the run is over the context is in use,
        and the buffers are not to be touched. Its result is None. `time_limit` is in seconds from now on. Raises as
        `execute` for what shows before a run; other errors are raised by the handle.

        On an NVIDIA GPU this thread enqueues it, and the other one waits for its end; the first run of a context waits
        after every launch. It begins when the work that a CUDA `stream` has by now is done, as with `execute`, and work
        that this stream is given later waits for the run: there is no need to wait for the handle before it.
        """
        from .asynchronous.run_handle import RunHandle, complete
        from .asynchronous.workers import Workers

        control, guard = RunControl(time_limit), self._run_guard
        guard.__enter__()
        try:
            if not self._bound_are_apart:
                self._check_bound()
            self._workers = self._workers or Workers(1, "context")
            handle = RunHandle(control, guard.leave)
            inference = self._session.start(stream)
            handle.claim()
            is_begun = inference != self._session.execute
            run = partial(self._execute, inference, control, is_begun=is_begun)
            self._workers.start(partial(complete, handle, run))
        except BaseException:
            guard.leave()
            raise
        return handle

    def output_shape(self, name: str) -> tuple[int, ...]:
        """The shape of output `name` after the last run, possibly smaller than its buffer."""
        self._check_open()
        index = _index(self.plan.output_names, name, "output")
        spec = self.plan.outputs[index]
        if spec.bounded and not self._found:
            raise InvalidInputError(f"how large '{name}' is turns out in a run; there was none")
        return tuple(cut_shape(spec.shape, index, self.plan.cuts, self._found)) if spec.bounded else spec.shape

    def _perform(
        self, inference: Callable[[], Wrong | None], control: RunControl | None, *, is_begun: bool = False
    ) -> None:
        """An inference of the session under a control. Raises as `execute` does after the run."""
        wrong = inference() if control is None else control.run(self._session, inference, is_begun=is_begun)
        if wrong is not None:
            self._refuse(wrong)

    def _refuse(self, wrong: Wrong) -> NoReturn:
        """Raises InvalidInputError for a recorded run-time error: an index out of range, a branch that can't be run."""
        place = int(np.flatnonzero(wrong)[0])
        raise self.plan.checks[place].error(int(wrong[place]))

    def _check_bound(self) -> None:
        spans: list[tuple[str, int, int]] = []
        for name, bound in zip(self._names, self._bound, strict=True):
            if bound is None:
                raise InvalidInputError(f"nothing is bound to '{name}'")
            spans.append((f"'{name}'", *bound))
        inputs, cached = len(self.plan.inputs), self.plan.cached
        found = [(low, high, index >= inputs or index in cached, what) for index, (what, low, high) in enumerate(spans)]
        self._check_apart(found)
        self._bound_are_apart = True

    def _check_apart(self, found: list[tuple[int, int, bool, str]]) -> None:
        """Raises InvalidInputError if written memory overlaps other: [low, high), whether it is written, and what."""
        start = self._memory.address
        found.append((start, start + self.plan.arena_bytes, True, "the arena"))
        last: dict[bool, tuple[int, str]] = {}  # the furthest end so far of what is read, and of what is written
        for low, high, is_written, what in sorted(found):
            for other, (end, name) in last.items():
                if (is_written or other) and low < min(high, end):
                    pair = (what, name) if is_written else (name, what)
                    raise InvalidInputError(f"the memory of {pair[0]} overlaps that of {pair[1]}")
            if high > max(low, last.get(is_written, (0, ""))[0]):
                last[is_written] = high, what

    def run(
        self, inputs: Mapping[str, Any], *, time_limit: float | None = None, hook: Hook | None = None
    ) -> dict[str, Array]:
        """One inference on arrays by name; returns fresh arrays by name.

        A cache whose buffer is bound (`bind_input`) may be left out: it is updated there, and its output is left out,
        too. On a GPU caches then stay on the device, where only other inputs and outputs are copied.

        `hook` is called after each kernel call with a KernelRun: the step, its ONNX nodes and its results, which are
        views of memory that later calls overwrite. It is called by the thread that runs the model, once all threads
        have done the call; an exception that it raises ends the run, and is raised. The plan must be compiled with
        `enable_hooks=True`.

        It must be over within `time_limit` seconds, if that is given, or TimeLimitError is raised. A run ends early
        between two kernels; a kernel that has started is completed.

        An output in a cache is no fresh array: given back as an input, it is updated in place. Any other array for a
        cache is first copied to a cache buffer.

        Raises InvalidInputError: before anything runs, or for an index that was out of range; BusyError during another
        run.
        """
        left_out = self._left_out(inputs) if self.plan.caches else {}
        given, control = self.plan.ordered({**inputs, **left_out} if left_out else inputs), RunControl.of(time_limit)
        if hook is None:
            outputs = self.run_ordered(given, control)
        else:
            check_function("hook", hook)
            with self._run_guard, self._session.hooked(hook):
                outputs = self._run_ordered(given, control)
        named = dict(zip(self.plan.output_names, outputs, strict=True))
        for cache in self.plan.caches if left_out else ():
            if cache.room.name in left_out:
                del named[self.plan.output_names[cache.output]]
        return named

    def _left_out(self, inputs: Mapping[str, Any]) -> dict[str, None]:
        """The bound caches that are not among the inputs."""
        self._check_open()
        if not isinstance(cast("object", inputs), Mapping):
            return {}  # which is an error
        bound = [cache.room.name for cache in self.plan.caches if self._bound[cache.input] is not None]
        return {name: None for name in bound if inputs.get(name) is None}

    def run_ordered(self, inputs: Sequence[Any], control: RunControl | None = None) -> list[Array]:
        """`run` on one array for each input, in the model's order; returns arrays in the model's order."""
        if control is None and type(inputs) in (list, tuple) and len(inputs) == len(self.plan.inputs):
            ready = self.run_ready(inputs)
            if ready is not None:
                return ready
        with self._run_guard:
            return self._run_ordered(inputs, control)

    def _run_ordered(self, inputs: Sequence[Any], control: RunControl | None) -> list[Array]:
        plan = self.plan
        check_kind("inputs", inputs, Sequence, InvalidInputError)
        if len(inputs) != len(plan.inputs):
            raise InvalidInputError(f"{len(inputs)} inputs are given; the model has {len(plan.inputs)}")
        arrays, rooms = dict[int, Array](), dict[int, Array]()
        taken: set[CacheBuffer] = set()
        left_out = [bound for number in plan.cached if inputs[number] is None and (bound := self._bound[number])]
        for number, (spec, value) in enumerate(zip(plan.inputs, inputs, strict=True)):
            cache = plan.cached.get(number)
            if cache is None:
                arrays[number] = checked(spec, value)
            elif value is not None or self._bound[number] is None:
                rooms[number] = room_of(cache, typed(spec, value), taken)
        if left_out and not self._caches_are_apart:
            bound = [(f"'{plan.input_names[each]}'", self._bound[each]) for each in plan.cached]
            self._check_apart([(*span, True, name) for name, span in bound if span is not None])
            self._caches_are_apart = True
        if taken or left_out:  # what else lies in these rooms may be overwritten before it is read
            for number, array in arrays.items():
                if lies_in(array) in taken or reaches_into(array, left_out):
                    arrays[number] = array.copy()
        arrays |= rooms
        if self._is_lent:
            self._check_outside_arena(arrays)
        try:
            outputs = [np.empty(spec.shape, spec.dtype) for spec in plan.written]
        except MemoryError:
            total = sum(spec.nbytes for spec in plan.written)
            raise OutOfMemoryError(f"there is no memory for {total} bytes of outputs") from None
        given = [arrays.get(number) for number in range(len(plan.inputs))]
        self._perform(partial(self._session.run, given, outputs), control)
        self._found = [int(outputs.pop()) for _ in plan.counts][::-1]
        for cache in sorted(plan.caches, key=lambda cache: cache.output):
            room, shape = rooms.get(cache.input), plan.outputs[cache.output].shape
            outputs.insert(cache.output, np.empty(0) if room is None else beginning(room, shape))
        return trimmed(outputs, plan.cuts, self._found) if plan.counts else outputs

    def run_ready(self, inputs: Sequence[Any]) -> list[Array] | None:
        """`run_ordered` on arrays that code can read in place; None, and nothing is run, if some are not.

        There must be as many as the model has inputs. Raises InvalidInputError for an index that was out of range.
        """
        if not self._is_plain:
            return None
        with self._run_guard:
            outputs = self._session.take_ready(inputs)
            if outputs is None:
                return None
            wrong = self._session.run_taken()
        if wrong is not None:
            self._refuse(wrong)
        return outputs

    def run_tensors(
        self, inputs: Mapping[str, Any], *, time_limit: float | None = None, stream: object = None
    ) -> dict[str, Tensor]:
        """`run` that returns fresh tensors on the plan's device by name, which other libraries import by DLPack.

        Inputs on the device, row-major and aligned, are read in place; others are copied. An output in a cache, given
        back as an input, is updated in place. `stream` is that of `execute`. Raises as `run`.
        """
        outputs = self.run_ordered_tensors(self.plan.ordered(inputs), RunControl.of(time_limit), stream)
        return dict(zip(self.plan.output_names, outputs, strict=True))

    def run_ordered_tensors(
        self, inputs: Sequence[Any], control: RunControl | None = None, stream: object = None
    ) -> list[Tensor]:
        """`run_tensors` on one value for each input, in the model's order; returns tensors in the model's order."""
        with self._run_guard:
            return self._run_ordered_tensors(inputs, control, stream)

    def _run_ordered_tensors(self, inputs: Sequence[Any], control: RunControl | None, stream: object) -> list[Tensor]:
        plan, taken = self.plan, list[Storage]()
        given = [self._tensor_of(spec, value) for spec, value in zip(plan.inputs, inputs, strict=True)]
        for cache in plan.caches:
            given[cache.input] = room_tensor_of(cache, given[cache.input], plan.config.place, taken)
        for number, tensor in enumerate(given):
            if number not in plan.cached:  # what else lies in these rooms may be overwritten before it is read
                given[number] = self._placed(tensor, fresh=any(map(tensor.storage.overlaps, taken)))
        outputs = [self._fresh(spec) for spec in plan.written]
        self._perform(partial(self._session.run_tensors, given, outputs, stream), control)
        self._found = [int(outputs.pop().to("cpu").numpy()) for _ in plan.counts][::-1]
        for cache in sorted(plan.caches, key=lambda cache: cache.output):
            outputs.insert(
                cache.output, PresentTensor.beginning_of(given[cache.input], plan.outputs[cache.output].shape)
            )
        return [
            Tensor(each.storage, self.output_shape(spec.name), each.dtype, each.offset, each.strides)
            if spec.bounded
            else each
            for spec, each in zip(plan.outputs, outputs, strict=True)
        ]

    def _fresh(self, spec: TensorSpec) -> Tensor:
        """Memory of an output, which the code writes."""
        place = self.plan.config.place
        with memory_for(f"{spec.nbytes} bytes of output '{spec.name}'"):
            memory = device_named(place).uninitialised(spec.nbytes, DEFAULT_ALIGNMENT)
        return Tensor(Storage.of_memory(memory, place, owned=True), spec.shape, spec.dtype)

    def _tensor_of(self, spec: TensorSpec, value: Any) -> Tensor:
        """An input as a tensor, wherever it is."""
        tensor = Tensor.from_dlpack(value) if lies_on_gpu(value) else value
        if not isinstance(tensor, Tensor):
            tensor = Tensor.from_array(checked(spec, tensor))
        check_placed(spec, tensor.dtype, tensor.shape, "input ")
        if self._is_lent and tensor.storage.overlaps(self._arena):
            raise InvalidInputError(f"input '{spec.name}' lies in the arena")
        return tensor

    def _placed(self, tensor: Tensor, *, fresh: bool = False) -> Tensor:
        """An input as a tensor that code on the plan's device can read: a copy if need be, or if it must be `fresh`."""
        device = self.plan.config.place
        there = tensor.to(device)
        aligned = max(tensor.dtype.alignment, device_named(device).access_bytes)
        if there.is_contiguous and there.address % aligned == 0 and not fresh:
            return there
        copy = Tensor.empty(tensor.shape, tensor.dtype, device=device)
        copy.copy_from(there)
        return copy

    def tensor(self, name: str) -> Tensor:
        """An intermediate tensor in the arena, by its name in the memory plan.

        Its bytes belong to other tensors outside its lifetime, so after a run it holds what the run left there:
        `plan.memory.overwritten_by(name)` tells what was written there since, nothing for a tensor that is still
        there. `Engine.intermediates` gives the values of any tensor, at the price of another compile; one with
        `enable_memory_planning=False` keeps every intermediate. Axes may have another order than in the model:
        `model_shape` of the tensor's record tells the model's shape. Raises InvalidInputError if the arena holds no
        tensor of that name; for one of the model's, the error tells which kernel computes it inside, or where else it
        is.
        """
        self._check_open()
        check_kind("name", name, str, InvalidInputError)
        try:
            record, removed = self.plan.memory.find(name)
        except ConfigError as error:
            raise InvalidInputError(f"{error}; plan.memory.tensors lists what it holds") from None
        if record is not None and record.offset is not None:
            return Tensor(self._arena, record.shape, record.dtype, record.offset, record.strides)
        where = removed.text if removed is not None else "it lies in the memory of an input, an output or the weights"
        raise InvalidInputError(f"the arena holds no tensor '{name}': {where}; Engine.intermediates gives its value")

    def _check_outside_arena(self, arrays: Mapping[int, Array]) -> None:
        """Refuses inputs in an arena lent by the caller, which would be overwritten while being read."""
        if self._memory.host is None:
            return
        for number, array in arrays.items():
            if np.may_share_memory(array, self._memory.host[: self.plan.arena_bytes]):
                raise InvalidInputError(f"input '{self.plan.input_names[number]}' lies in the arena")

    def profile(self) -> list[KernelTime]:
        """The time of each call of the last run; empty unless the plan was compiled with `enable_profiling`.

        A call in a loop has the sum of its turns, one in a branch that was not taken no `runs`.
        """
        self._check_open()
        if not self.plan.profiled:
            return []
        traffic = self._session.traffic() or [(None, None)] * len(self.plan.calls)
        rows = zip(self.plan.calls, self._session.times(), traffic, strict=True)
        return [KernelTime(call.kernel, call.node, int(taken), int(runs), *made) for call, (taken, runs), made in rows]

    def timeline(self) -> list[KernelTurn]:
        """The calls of the last run in order, with their begins; empty unless compiled with `enable_profiling`.

        Empty on "cuda-emulated", which has no clock. On the CPU the first 16,384 are known, which a model without loops
        does not reach.
        """
        self._check_open()
        turns: list[tuple[int, int, int]] = self._session.turns().tolist() if self.plan.profiled else []
        calls = self.plan.calls
        return [
            KernelTurn(call, calls[call].kernel, calls[call].node, begin - turns[0][1], taken)
            for call, begin, taken in turns
        ]

    def write_trace(self, path: str | Path) -> None:
        """Writes the last run as a trace for Perfetto (ui.perfetto.dev) and chrome://tracing: `timeline` as JSON.

        Raises InvalidInputError unless the plan was compiled with `enable_profiling` for a device with a clock,
        MiniInferError if the file can't be written.
        """
        from .profiling.trace import Trace

        self._check_open()
        if not self.plan.profiled:
            raise InvalidInputError("the plan has no times to write: compile with enable_profiling=True")
        if not self._session.has_clock:
            raise InvalidInputError(f"the device '{self.plan.config.place}' has no clock, and no times to write")
        trace = Trace()
        trace.add_run(self.timeline())
        trace.write(checked_path("path", path))


def _index(names: tuple[str, ...], name: str, kind: str) -> int:
    if not isinstance(cast("object", name), str) or name not in names:
        known = ", ".join(map(repr, names))
        raise InvalidInputError(f"there is no {kind} {shown(name)}{nearest(name, names)}; the model has {known}")
    return names.index(name)


def _arena_storage(plan: InferencePlan, arena: object | None, allocator: str | None) -> Storage:
    device = plan.config.place
    if arena is None:
        return Storage(plan.arena_bytes, device, plan.alignment, allocator=allocator)
    if allocator is not None:
        raise ConfigError(f"allocator '{allocator}' does nothing with an arena that is given")
    storage = arena if isinstance(arena, Storage) else Storage.borrow(arena, device)
    if storage.device != device:
        raise InvalidInputError(f"the arena is on '{storage.device}'; the plan runs on '{device}'")
    if not storage.writable:
        raise InvalidInputError("the arena is read-only")
    if storage.capacity < plan.arena_bytes:
        raise InvalidInputError(f"the arena has {storage.capacity} bytes, but the plan needs {plan.arena_bytes}")
    if plan.arena_bytes and storage.address % plan.alignment:
        raise InvalidInputError(f"the arena at {storage.address:#x} is not aligned to {plan.alignment} bytes")
    return storage
