"""Engine: a compiled model; calling it runs one inference. CompiledModel: the result of a compile."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias, cast

from typing_extensions import override

from ..dialects.arguments import checked_sequence
from ..dialects.errors import InvalidInputError, UnsupportedError
from .asynchronous.cancellation import RunControl
from .config import EngineConfig
from .device import Array
from .forks import ForkSafeLock
from .labelled_outputs import labelled
from .memory.tensor import Tensor, is_remote
from .plan import ExecutionContext, InferencePlan
from .plan_reprs import html_table, one_line
from .specs import Stationary, SymbolicSpec, TensorSpec, ordered, ordered_shapes

if TYPE_CHECKING:
    from ..dialects.sizes.guards import Guards
    from ..passes.pass_counts import PassStatistics
    from .asynchronous.background import Background
    from .asynchronous.batch_axis import BatchAxis
    from .asynchronous.batching import BatchingQueue
    from .asynchronous.run_handle import RunHandle


@dataclass(frozen=True)
class CompiledModel:
    """The result of a compile, as stored in files: a plan with its code, and statistics of the passes."""

    plan: InferencePlan
    statistics: PassStatistics
    guards: Guards | None = None
    """The conditions on symbolic sizes under which the code is valid; None for a model with static shapes."""


_BACKGROUND = ForkSafeLock()
"""Held while an engine's threads and queues are made."""

AskedModel: TypeAlias = "Callable[[Mapping[str, Any], Sequence[str] | None], dict[str, Array]]"
"""Gives the values of ONNX tensors by name for inputs by name; see Engine.intermediates."""

Build: TypeAlias = "Callable[[Mapping[str, Sequence[int]]], CompiledModel]"
"""Compiles a model, optimised for shapes of the inputs by name; if empty, for the profile's optimal shapes."""


class Engine(Stationary):
    """A compiled model: `engine(x)` runs it. Thread-safe; inputs are never changed, outputs are fresh.

    Except for caches: see ExecutionContext.run.

    Tensors on the plan's GPU, or another library's arrays there, give tensors on it; all else gives arrays. A mapping
    of names to arrays gives a mapping of names to arrays. Arrays in the order of the model's inputs, or as keyword
    arguments, give an array, or a tuple of arrays when the model has several outputs. Class labels that are texts, and
    mappings from classes to scores (ZipMap), come as a classifier's caller expects them: see TensorSpec.

    `close`, or the end of a `with` block, frees memory. Otherwise it is freed with the engine.
    """

    _background: Background | None = None
    """The threads and queues of runs in the background, once there are any."""
    asked_model: AskedModel | None = None
    """What `intermediates` asks; None where the engine knows no file of its model."""

    def __init__(self, plan: InferencePlan, config: EngineConfig, statistics: PassStatistics) -> None:
        self._plan: InferencePlan | None = plan
        self._is_closed = False  # then there is no plan
        self.config = config
        self.statistics = statistics
        self._idle: deque[ExecutionContext] = deque()

    @property
    def plan(self) -> InferencePlan:
        """All compile-time results; shared by all contexts."""
        plan = self._plan
        if plan is None:
            self._check_open()
            raise InvalidInputError("there is no plan before the first call, whose shapes it is for: see plan_for")
        return plan

    @property
    def inputs(self) -> tuple[TensorSpec, ...] | tuple[SymbolicSpec, ...]:
        """Names, shapes and types of the inputs, in the model's order.

        For an engine for many shapes these are SymbolicSpecs; without a profile there are none before the first call.
        """
        return self.plan.inputs

    @property
    def outputs(self) -> tuple[TensorSpec, ...] | tuple[SymbolicSpec, ...]:
        """Names, shapes and types of the outputs, in the model's order; as `inputs`."""
        return self.plan.outputs

    def close(self) -> None:
        """Releases code, weights and arenas; any further use but `close` raises InvalidInputError.

        Calls in progress in other threads finish normally. It waits for runs that were submitted and for requests of
        queues, and ends their threads. Objects held elsewhere stay valid: a plan, with its code and weights, contexts
        made from it, and arrays that calls have returned.
        """
        self._close_background()
        self._is_closed = True
        self._plan = self.asked_model = None
        self._release(self._idle)

    def _close_background(self) -> None:
        """Waits for runs in the background, and ends their threads."""
        if self._background is not None:
            self._background.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise InvalidInputError("the engine is closed")

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def plan_for(self, shapes: Mapping[str, Sequence[int]]) -> InferencePlan:
        """The plan for shapes of the inputs, by name. Raises InvalidInputError for shapes without a plan."""
        for spec, shape in zip(self.plan.inputs, ordered_shapes(self.input_names, shapes), strict=True):
            if spec.shape != shape:
                raise InvalidInputError(f"input '{spec.name}' has shape {list(shape)} instead of {list(spec.shape)}")
        return self.plan

    def create_execution_context(
        self, arena: object | None = None, *, allocator: str | None = None
    ) -> ExecutionContext:
        """A context of the engine's `plan`: see InferencePlan.create_execution_context."""
        return self.plan.create_execution_context(arena, allocator=allocator)

    def create_context(self, arena: object | None = None, *, allocator: str | None = None) -> ExecutionContext:
        """`create_execution_context`, by a shorter name."""
        return self.create_execution_context(arena, allocator=allocator)

    def warmup(self, shapes: Iterable[Mapping[str, Sequence[int]]]) -> None:
        """Performs in advance what the first calls with these shapes would have to do."""
        for each in checked_sequence("shapes", shapes, "a list of mappings from inputs to shapes", InvalidInputError):
            self.plan_for(each)

    def run(self, *arrays: Any, time_limit: float | None = None, **named: Any) -> Any:
        """One inference, as `engine(...)`, that must be over within `time_limit` seconds, if that is given.

        Raises TimeLimitError if it is not: a run ends early between two kernels; a kernel that has started is
        completed. (An input named time_limit is given by position, or in a mapping.) Raises as a call.
        """
        return self._controlled(RunControl.of(time_limit), *self._given(arrays, named))

    def submit(self, *arrays: Any, time_limit: float | None = None, **named: Any) -> RunHandle:
        """Starts an inference in the background, as `engine(...)`, and returns a future that can also stop it.

        A thread of the engine's own carries it out, one of as many as the engine's runs leave cores for; `close` ends
        them, when all is done that was submitted before, and the interpreter's end waits for that, too. The inputs are
        not to be changed until it is over. The time limit, in seconds, is from now on. The future raises all errors
        of the run, a wrong shape or type of an input among them; here InvalidInputError is raised for inputs that are
        missing or unknown, and when the engine is closed.
        """
        from .asynchronous.run_handle import RunHandle, perform

        given, control = self._given(arrays, named), RunControl(time_limit)
        handle = RunHandle(control)
        self._have_background().workers.start(partial(perform, handle, partial(self._controlled, control, *given)))
        return handle

    async def run_async(self, *arrays: Any, time_limit: float | None = None, **named: Any) -> Any:
        """One inference, as `engine(...)`, beside the event loop of asyncio.

        Cancelling the task that awaits it stops the run before its next kernel; the task is cancelled once the run is
        over. The time limit, in seconds, is from now on. Raises as `run`.
        """
        from .asynchronous.coroutines import finished

        return await finished(self.submit(*arrays, time_limit=time_limit, **named))

    def batched(self, max_batch: int = 8, max_wait_ms: float = 2.0, *, workers: int = 1) -> BatchingQueue:
        """A queue that runs requests of several threads or coroutines together, joined along axis 0 of all inputs.

        A batch has at most `max_batch` rows, or as many as the engine allows, if that is fewer; one that waits for more
        requests does so for at most `max_wait_ms` milliseconds. `workers` batches may run at the same time. `close` of
        the queue, or of the engine, answers what waits and ends its threads.

        Raises UnsupportedError for outputs, and ConfigError for inputs, that don't have one row for each of a batch,
        and ConfigError for wrong arguments.
        """
        specs, names = self.outputs, self.output_names

        def shaped(outputs: Sequence[Array], form: Any) -> Any:
            return self._shaped(names, labelled(specs, outputs), form)

        return self._queue(shaped, max_batch, max_wait_ms, workers)

    def _queue(
        self, shaped: Callable[[Sequence[Array], Any], Any], max_batch: int, max_wait_ms: float, workers: int
    ) -> BatchingQueue:
        """`batched`, with results that are made of the outputs and a call's form by `shaped`."""
        from .asynchronous.batching import BatchedModel, BatchingQueue

        model = BatchedModel(self._batch_axis(), self._given, self._run_rows, shaped)
        queue = BatchingQueue(model, max_batch, max_wait_ms, workers)
        self._have_background().queues.add(queue)
        return queue

    def _batch_axis(self) -> BatchAxis:
        """How requests are joined to a batch."""
        from .asynchronous.batch_axis import BatchAxis

        return BatchAxis.of(self.plan)

    def _run_rows(self, arrays: Sequence[Array], control: RunControl) -> Sequence[Array]:
        """A run of a batch, on arrays in the order of the inputs."""
        return cast("Sequence[Array]", self._run(arrays, control)[1])

    def _have_background(self) -> Background:
        """The threads and queues of this engine."""
        from .asynchronous.background import Background

        self._check_open()
        with _BACKGROUND:
            if self._background is None:
                threads = self.config.thread_count if self._plan is None else self._plan.threads
                self._background = Background(max(1, replace(self.config, threads=None).thread_count // threads))
            return self._background

    def _given(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> tuple[Sequence[Any], Any]:
        """One value for each input, and the call's form: whether they were given by name in a mapping."""
        if len(arrays) == 1 and not named and isinstance(arrays[0], Mapping):
            return ordered(self.input_names, cast("Mapping[str, Any]", arrays[0])), True
        if named or len(arrays) != len(self.input_names):
            arrays = self._collected(arrays, named)
        return arrays, False

    def _controlled(self, control: RunControl | None, inputs: Sequence[Any], form: Any) -> Any:
        """A call under a control."""
        plan, outputs = self._run(inputs, control)
        if plan.has_labels:
            outputs = labelled(plan.outputs, outputs)
        return self._shaped(plan.output_names, outputs, form)

    def _shaped(self, names: Sequence[str], outputs: Sequence[Any], form: Any) -> Any:
        """The outputs as a call of this form returns them."""
        if form:
            return dict(zip(names, outputs, strict=True))
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """One inference.

        Raises InvalidInputError for a wrong name, type or shape, before anything runs, for an index out of range, and
        for a branch that can't be run.
        """
        if len(arrays) == 1 and not named and isinstance(arrays[0], Mapping):
            ready = self.run_ready(cast("Mapping[str, Any]", arrays[0]))
            if ready is not None:
                return dict(zip(self.output_names, ready, strict=True))
        return self._controlled(None, *self._given(arrays, named))

    def run_ready(self, inputs: Mapping[str, Any]) -> list[Array] | None:
        """The outputs, in order, for one array for each input that code can read in place.

        None, and nothing is run, where something is missing, of another type or shape, or has to be copied: a call does
        that, or says what is wrong. Raises InvalidInputError as a call does for what turns out in a run.
        """
        plan = self._plan
        if plan is None:
            return None
        idle, names = self._idle, plan.input_names
        try:
            arrays = [inputs[name] for name in names]
            if len(inputs) != len(names):
                return None
            context = idle.pop()
        except (KeyError, TypeError, IndexError):  # or there is no context yet
            return None
        try:
            return context.run_ready(arrays)
        finally:
            self._put_back(context, idle)

    def _collected(self, arrays: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """One value for each input, from positional and keyword arguments."""
        names = self.input_names
        if len(arrays) > len(names):
            raise InvalidInputError(f"{len(arrays)} inputs are given; the model has {len(names)}: {', '.join(names)}")
        placed = dict(zip(names, arrays, strict=False))
        if twice := [name for name in named if name in placed]:
            raise InvalidInputError(f"input '{twice[0]}' is given twice")
        return ordered(names, {**placed, **named})

    def _run(
        self, inputs: Sequence[Any], control: RunControl | None = None
    ) -> tuple[InferencePlan, Sequence[Array | Tensor]]:
        plan, idle = self._chosen(inputs)
        try:
            context = idle.pop()
            if context.plan is not plan:
                context.use(plan)
        except IndexError:
            context = plan.create_execution_context()
        try:
            if plan.launches and any(map(is_remote, inputs)):
                return plan, context.run_ordered_tensors(inputs, control)
            return plan, context.run_ordered(inputs, control)
        finally:
            self._put_back(context, idle)

    def tensors(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """One inference on inputs by name, whose outputs stay tensors: those with labels, too (see TensorSpec).

        Raises as a call.
        """
        plan, outputs = self._run(ordered(self.input_names, inputs))
        return dict(zip(plan.output_names, outputs, strict=True))

    def intermediates(self, inputs: Mapping[str, Any], names: Sequence[str] | None = None) -> dict[str, Array]:
        """The values of ONNX tensors by name for inputs by name, in the model's own shapes and types.

        Also of tensors inside of fused kernels: the model's file is compiled once more, with these tensors as outputs,
        for these names and shapes; another call with the same ones uses that code. By default of the model's inputs and
        all results of nodes of its main graph, except for what is no tensor of numbers. Constants, weights and inputs
        need no compile.

        Raises UnsupportedError where the engine knows no file of its model, which is compiled from bytes, an object in
        memory, or loaded: `mini_infer.intermediates` takes the model itself; and for a tensor inside of a loop or a
        branch, or that is no tensor of numbers. Raises InvalidInputError for an unknown name, InvalidModelError if
        the file has changed, and as `compile` and a call do.
        """
        self._check_open()
        if self.asked_model is None:
            raise UnsupportedError(
                "the engine knows no ONNX file of its model, whose tensors could be asked for: "
                "mini_infer.intermediates(model, inputs, names) takes the model"
            )
        return self.asked_model(inputs, names)

    def _chosen(self, inputs: Sequence[Any]) -> tuple[InferencePlan, deque[ExecutionContext]]:
        """The plan for these inputs, which stays, whoever closes the engine meanwhile, and its idle contexts."""
        del inputs
        return self.plan, self._idle

    def _put_back(self, context: ExecutionContext, idle: deque[ExecutionContext]) -> None:
        """Keeps a context for the next call, unless the engine is closed."""
        idle.append(context)
        if self._is_closed:  # meanwhile, perhaps before it was there to be released
            self._release(idle)

    @staticmethod
    def _release(idle: deque[ExecutionContext]) -> None:
        """Closes idle contexts, of which other threads may take some concurrently."""
        while idle:
            try:
                idle.pop().close()
            except IndexError:
                return

    @override
    def __repr__(self) -> str:
        if self._is_closed:
            return f"{type(self).__name__}(closed)"
        return one_line(self.plan, type(self).__name__)

    def _repr_html_(self) -> str | None:
        return None if self._plan is None else html_table(self._plan)  # then notebooks show what repr tells

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs, in the model's order."""
        return self.plan.input_names

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs, in the model's order."""
        return self.plan.output_names
