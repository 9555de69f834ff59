"""InferenceSession: a model that is compiled for the shapes of its calls."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, NoReturn, SupportsIndex, TypeAlias, cast

from typing_extensions import override

from ...dialects.arguments import shown
from ...dialects.errors import InvalidInputError, UnknownValueError, UnsupportedError
from ..compile.learning_engine import LearningEngine
from ..config import CompileOptions
from ..device import Array
from ..engine import Engine
from ..specs import Stationary, SymbolicSpec, TensorSpec
from .environment import PROVIDERS
from .fed_values import check_complete, fed_arrays
from .io_bindings import IOBinding
from .node_args import ModelMetadata, NodeArg, node_arg
from .ort_values import OrtValue
from .session_options import (
    SEVERITIES,
    WRONG_SEVERITY,
    GraphOptimizationLevel,
    RunOptions,
    SessionOptions,
)
from .status_errors import Fail, InvalidArgument, InvalidProtobuf, NoSuchFile, StatusError, as_status_errors
from .trace_file import TraceFile

MOST_READY = 4
"""Engines that are tried before the inputs are looked at: for one shape, and for many."""
MOST_SELECTIONS = 64
"""Selections of outputs whose places are noted."""
Feed: TypeAlias = Mapping[str, Any]


class CopyError(UnsupportedError, TypeError):
    """A session can't be pickled or copied: a TypeError, as Python has it for such objects."""


class InferenceSession(Stationary):
    """A model, ready to run. Thread-safe.

    A model whose inputs have fixed shapes is compiled at once. Any other is compiled for the shapes of its calls: for
    the first ones alone, then for many at a time; and for the values of inputs, where those determine shapes. What was
    compiled is kept in mini_infer's cache (see docs/caching.md), for later sessions and other processes.
    """

    def __init__(
        self,
        path_or_bytes: str | bytes | os.PathLike[str],
        sess_options: SessionOptions | None = None,
        providers: Sequence[str | tuple[str, Mapping[str, Any]]] | None = None,
        provider_options: Sequence[Mapping[str, Any]] | None = None,
        **kwargs: Any,
    ) -> None:
        """Opens a model, a path or its bytes, on the CPU: any other execution provider is named in a warning.

        Raises NoSuchFile, InvalidProtobuf, InvalidGraph, InvalidArgument or NotImplemented for a model that can't be
        used or a folder for profiles that there is not, RuntimeError for a level of severity that there is not, and
        TypeError for arguments of other types.
        """
        if not isinstance(cast("object", path_or_bytes), str | bytes | os.PathLike):
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        if sess_options is not None and not isinstance(cast("object", sess_options), SessionOptions):
            raise TypeError(f"sess_options must be SessionOptions, not {type(sess_options).__name__}")
        _check_providers(providers, provider_options)
        self._options = SessionOptions() if sess_options is None else sess_options
        self._options.warn_of_unused()
        self._options.check()
        self._trace = TraceFile(self._options.profile_file_prefix) if self._options.enable_profiling else None
        start = time.perf_counter_ns()
        self._ready: tuple[Engine, ...] = ()  # those used last, which may take a feed without a closer look
        with as_status_errors():
            self._open(_checked_model(path_or_bytes))
        if self._trace is not None:
            self._trace.add_session_event("session_initialization", start)

    @override
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> NoReturn:
        try:
            super().__reduce_ex__(protocol)
        except UnsupportedError as error:
            raise CopyError(str(error)) from None

    def _open(self, model: str | bytes | os.PathLike[str]) -> None:
        options, threads = self._options, max(self._options.intra_op_num_threads, 0) or None
        dims = dict(options.dimension_sizes)
        given = CompileOptions(
            enable_profiling=options.enable_profiling,
            enable_memory_planning=options.enable_mem_reuse,
            enable_graph_optimization=options.graph_optimization_level is not GraphOptimizationLevel.ORT_DISABLE_ALL,
        )
        plain = LearningEngine(model, given, threads)
        for value in plain.description["inputs"] if dims or options.denotation_sizes else ():
            for axis, (size, denotation) in enumerate(zip(value["shape"] or (), value["denotations"], strict=False)):
                if denotation in options.denotation_sizes and not isinstance(size, int):
                    dims[size or f"{value['name']}.{axis}"] = options.denotation_sizes[denotation]
        open_dims = {
            size or f"{value['name']}.{axis}"
            for value in plain.description["inputs"]
            for axis, size in enumerate(value["shape"] or ())
            if not isinstance(size, int)
        }
        dims = {name: size for name, size in dims.items() if name in open_dims}
        self._engines = LearningEngine(model, {**given, "dims": dims}, threads) if dims else plain
        described = self._engines.description
        self._inputs = [node_arg(each, dims) for each in described["inputs"]]
        self._outputs = [node_arg(each, dims) for each in described["outputs"]]
        self._defaults = [node_arg(each, dims) for each in described["defaults"]]
        self._metadata = ModelMetadata.of(described)
        values = (*described["inputs"], *described["defaults"])
        self._without_rank = {each["name"] for each in values if each["shape"] is None}
        self._places = {each.name: place for place, each in enumerate(self._outputs)}
        self._selections: dict[tuple[str, ...], list[int]] = {}
        shapes = self._engines.declared_shapes()
        if shapes is not None:
            with suppress(UnknownValueError):  # a call brings the value
                engine = self._engines.engine_for(shapes, {})
                self._outputs = [_with_sizes(*each) for each in zip(self._outputs, engine.outputs, strict=True)]
                self._use(engine)

    def _use(self, engine: Engine) -> None:
        """Tries this engine first from now on."""
        if self._trace is None and not self._engines.needs_values:
            self._ready = (engine, *(each for each in self._ready if each is not engine))[:MOST_READY]

    def run(
        self, output_names: Iterable[str] | None, input_feed: Feed, run_options: RunOptions | None = None
    ) -> list[Any]:
        """One inference: the outputs of these names, or all, in order, as fresh arrays.

        `input_feed` has an array (or nested lists of numbers, or an OrtValue) for each input by name. Raises ValueError
        for missing inputs; RuntimeError for what is no tensor; InvalidArgument for unknown names and for wrong types,
        ranks and sizes, and for an index out of range; and if it has to compile, as the constructor.
        """
        places: list[int] | None = None
        if isinstance(output_names, list | tuple):
            places = self._selections.get(tuple(output_names))
        if places is None and output_names is not None:
            places = self._selection(output_names)
        if run_options is not None:
            _check_run_options(run_options)
        found = self._run_ready(input_feed)
        if found is None:
            input_feed.keys()  # an AttributeError for what is no mapping
            with as_status_errors(at_run=True):
                found = self._run_checked(input_feed)
        return found if not places else [found[place] for place in places]

    def _run_ready(self, feed: Feed) -> list[Array] | None:
        """The outputs of a run by one of the engines used last; None if the inputs need a closer look."""
        try:
            for engine in self._ready:
                found = engine.run_ready(feed)
                if found is not None:
                    return found
        except InvalidInputError as error:  # an index out of range, say
            raise InvalidArgument(str(error)) from error
        return None

    def _selection(self, given: object) -> list[int]:
        """The places of outputs by name; none for all of them. Raises InvalidArgument for an unknown name."""
        names: list[Any] = [*cast("Iterable[Any]", given)] if isinstance(given, Iterable) else [None]
        if isinstance(given, str | Mapping) or not all(isinstance(name, str) for name in names):
            raise TypeError(f"run(): output_names must be a sequence of names, not {shown(cast('object', given))}")
        if not names and isinstance(given, Iterator):
            raise InvalidArgument("At least one output should be requested.")
        for name in names:
            if name not in self._places:
                raise InvalidArgument(f"Invalid output name:{name}")
        places = [self._places[name] for name in names]
        if len(self._selections) < MOST_SELECTIONS:
            self._selections[tuple(names)] = places
        return places

    def _run_checked(self, feed: Feed) -> list[Array]:
        arrays = fed_arrays(feed, self._inputs, self._defaults, self._without_rank)
        start = time.perf_counter_ns()
        engine = self._engines.engine_for({name: array.shape for name, array in arrays.items()}, arrays)
        inputs = {name: arrays[name] for name in engine.input_names}
        if self._trace is not None:
            context = engine.plan_for({name: each.shape for name, each in inputs.items()}).create_execution_context()
            with context:
                start = time.perf_counter_ns()
                outputs = [*context.run(inputs).values()]
                self._trace.add_run(start, context.timeline())
            return outputs
        found = [*engine(inputs).values()]
        if not self._defaults or len(arrays) == len(self._inputs):
            self._use(engine)
        return found

    def run_with_ort_values(
        self, output_names: Sequence[str] | None, input_dict_ort_values: Feed, run_options: RunOptions | None = None
    ) -> list[OrtValue]:
        """`run` with OrtValues for inputs and outputs."""
        for value in input_dict_ort_values.values():
            if not isinstance(value, OrtValue):
                raise AttributeError(f"an OrtValue is expected, not {type(value).__name__}")
        return [OrtValue(each) for each in self.run(output_names, input_dict_ort_values, run_options)]

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Feed,
        callback: Callable[[list[Any], Any, str], None],
        user_data: Any,
        run_options: RunOptions | None = None,
    ) -> None:
        """`run` in another thread, which ends by calling `callback(outputs, user_data, error)`.

        `error` is "" after a run; its message after one that failed, with no outputs. Raises ValueError for missing
        inputs.
        """
        check_complete(input_feed, self._inputs)

        def work() -> None:
            found: list[Any] = []
            text = ""
            try:
                found = self.run(output_names, input_feed, run_options)
            except Exception as error:  # of any kind: the caller learns of it by the callback only
                text = error.message if isinstance(error, StatusError) else str(error) or type(error).__name__
            callback(found, user_data, text)

        threading.Thread(target=work, daemon=True).start()

    def io_binding(self) -> IOBinding:
        """Bindings of inputs and outputs to memory, for run_with_iobinding."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """One inference on bound memory. Raises RuntimeError, for whatever reason it fails."""
        iobinding.run(run_options)

    def get_inputs(self) -> list[NodeArg]:
        """The inputs, in the model's order, without those that have a default."""
        return [*self._inputs]

    def get_outputs(self) -> list[NodeArg]:
        """The outputs, in the model's order."""
        return [*self._outputs]

    def get_overridable_initializers(self) -> list[NodeArg]:
        """The inputs that have a default; another value for one is built into code made for it."""
        return [*self._defaults]

    def get_modelmeta(self) -> ModelMetadata:
        """What the model says about itself."""
        return self._metadata

    def get_session_options(self) -> SessionOptions:
        """The options of the session."""
        return self._options

    def get_providers(self) -> list[str]:
        """The execution providers: the CPU's."""
        return [*PROVIDERS]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The options of the execution providers: none."""
        return {name: {} for name in PROVIDERS}

    def set_providers(
        self,
        providers: Sequence[str | tuple[str, Mapping[str, Any]]] | None = None,
        provider_options: Sequence[Mapping[str, Any]] | None = None,
    ) -> None:
        """Goes on with these execution providers: the CPU's, as there is no other."""
        _check_providers(providers, provider_options)

    def disable_fallback(self) -> None:
        """Does nothing: there is one execution provider."""

    def enable_fallback(self) -> None:
        """Does nothing: there is one execution provider."""

    def end_profiling(self) -> str:
        """Writes the trace of a session with `enable_profiling`; returns its file's name, "" without profiling.

        Raises Fail if the file can't be written.
        """
        if self._trace is None:
            return ""
        try:
            return self._trace.write()
        except OSError as error:
            raise Fail(f"the profile can't be written: {error}") from error

    def get_profiling_start_time_ns(self) -> int:
        """When profiling began, by `time.perf_counter_ns`; 0 without profiling."""
        return 0 if self._trace is None else self._trace.start_ns


def _checked_model(model: str | bytes | os.PathLike[str]) -> str | bytes | os.PathLike[str]:
    """The model, if there is one. Raises NoSuchFile, InvalidProtobuf or InvalidArgument."""
    if isinstance(model, bytes):
        if not model:
            raise InvalidArgument("No graph was found in the protobuf.")
        return model
    path = os.fspath(model)
    if not os.path.exists(path):
        raise NoSuchFile(f"Load model from {path} failed:Load model {path} failed. File doesn't exist")
    if not os.path.isfile(path):
        raise InvalidProtobuf(f"Load model from {path} failed:Protobuf parsing failed.")
    if os.path.getsize(path) == 0:
        raise InvalidArgument(f"Load model from {path} failed:No graph was found in the protobuf.")
    return path


def _with_sizes(arg: NodeArg, spec: TensorSpec | SymbolicSpec) -> NodeArg:
    """An output of a compiled model: with the sizes that it has at every run."""
    declared = dict(enumerate(arg.shape))
    sizes = [declared.get(axis) if axis in spec.bounded else size for axis, size in enumerate(spec.shape)]
    return NodeArg(arg.name, arg.type, sizes)


def _check_run_options(options: object) -> None:
    """Raises TypeError for what are no RunOptions, and Fail if they end the run or have a wrong level."""
    if not isinstance(options, RunOptions):
        raise TypeError(f"run(): run_options must be RunOptions, not {type(options).__name__}")
    if (level := options.log_severity_level) not in SEVERITIES:
        raise Fail(f"{WRONG_SEVERITY} {level}")
    if options.terminate:
        raise Fail("Exiting due to terminate flag being set to true.")


def _check_providers(providers: object, options: object) -> None:
    """Warns of execution providers that there are not; the CPU's is used."""
    for each in cast("Sequence[Any]", providers or ()):
        name: object = each
        if isinstance(each, tuple) and each:
            name = cast("tuple[Any, ...]", each)[0]
        if name not in PROVIDERS:
            known = ", ".join(PROVIDERS)
            warnings.warn(
                f"Specified provider '{name}' is not in available provider names. Available providers: '{known}'",
                stacklevel=3,
            )
    if options and len(cast("Sequence[Any]", options)) != len(cast("Sequence[Any]", providers or ())):
        warnings.warn("'providers' and 'provider_options' should be the same length if both are given.", stacklevel=3)
