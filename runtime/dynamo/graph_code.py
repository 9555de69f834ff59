"""GraphCode: what torch.compile calls for one graph: engines, one for each set of weights."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, cast
from weakref import ref

import numpy as np

from ...dialects.errors import InvalidInputError, MiniInferError, UnknownValueError
from ..compile.source import WeightsApart
from ..compile.source_to_engine import compile_source
from ..config import EngineConfig
from ..engine import Engine
from ..forks import ForkSafeLock
from ..from_torch.tensors import array_of, tensor_of
from ..from_torch.torch_package import torch_module
from ..kept.cache_folders import Cache
from ..progress import LOG
from .aten_graph import AtenGraph, Result

MOST_ENGINES = 64  # of one graph: for modules that share their code, and for values of sizes that are arguments
UNCOUNTED = -1  # the version of a tensor whose changes aren't counted
MOST_CHANGES = 4  # of parameters in place, each of which makes code again; later ones are inputs


@dataclass(frozen=True)
class Binding:
    """An engine, and the tensors that are constants in it."""

    engine: Engine
    weights: tuple[tuple[int, Callable[[], Any], int], ...]
    """The places of the tensors among the arguments, the tensors, and their versions."""

    def is_for(self, args: Sequence[Any]) -> bool:
        """Whether these are the tensors, perhaps with other elements."""
        return all(known() is args[place] for place, known, _ in self.weights)

    def suits(self, args: Sequence[Any]) -> bool:
        """Whether these are the tensors, unchanged."""
        for place, known, version in self.weights:
            weight = args[place]
            if known() is not weight or (version != UNCOUNTED and weight._version != version):
                return False
        return True

    @property
    def is_gone(self) -> bool:
        """Whether some of the tensors aren't there any more."""
        return any(known() is None for _, known, _ in self.weights)


def version_of(tensor: Any) -> int:
    """How often a tensor's elements were changed in place, as PyTorch counts; tensors of inference_mode aren't."""
    return UNCOUNTED if tensor.is_inference() else tensor._version


@dataclass(frozen=True)
class Roles:
    """What the arguments of a graph are for its engines; by their places, names of the ONNX graph's inputs."""

    weights: Mapping[int, str]
    """Constants, as long as they are the same."""
    inputs: Mapping[int, str]
    """Tensors and sizes, in the order of the ONNX graph's inputs, which is that of the arguments."""
    sizes: Mapping[int, str]
    """Sizes that are constants, of which each value has an engine."""
    bindings: OrderedDict[tuple[int, ...], Binding] = field(default_factory=OrderedDict[tuple[int, ...], Binding])

    @cached_property
    def _first(self) -> tuple[int, ...]:
        return tuple(self.weights)[:1]

    def key(self, args: Sequence[Any]) -> tuple[int, ...]:
        """Tells apart the engines that are kept: by the first of the weights, and the sizes."""
        return (*[id(args[place]) for place in self._first], *[int(args[place]) for place in self.sizes])


class GraphCode:
    """Runs a graph by an engine, or as `eager` where there can be none; threads may call it at the same time."""

    def __init__(
        self,
        graph: AtenGraph,
        config: EngineConfig,
        cache: Cache,
        eager: Callable[..., Any],
        refuse: Callable[[MiniInferError], None],
    ) -> None:
        """`refuse` is told why there is no engine, and may raise."""
        self._graph, self._cache, self._eager, self._refuse = graph, cache, eager, refuse
        self._config = replace(config, enable_dynamic_shapes=graph.is_dynamic)
        self._roles = Roles(graph.weights, _ordered({**graph.tensors, **graph.sizes}), {})
        self._is_eager = False
        self._changes = 0
        self._lock = ForkSafeLock()

    def __call__(self, *args: Any) -> Any:
        """The graph's results, in order. Raises InvalidInputError, such as for an index out of range."""
        if self._graph.model is None:
            return self._results(args, ())
        while not self._is_eager:
            roles = self._roles
            try:
                engine = self._engine(roles, args)
                if engine is None:
                    continue  # with other roles
                found: Any = engine(*(_value(args[place]) for place in roles.inputs))
            except UnknownValueError as error:
                with self._lock:
                    if not self._specialize_sizes(roles):
                        self._give_up(error)
            except InvalidInputError:
                raise
            except MiniInferError as error:
                self._give_up(error)
            else:
                return self._results(args, cast("tuple[Any, ...]", found) if isinstance(found, tuple) else (found,))
        return self._eager(*args)

    def _give_up(self, error: MiniInferError) -> None:
        self._refuse(error)
        self._is_eager = True

    def _engine(self, roles: Roles, args: Sequence[Any]) -> Engine | None:
        """The engine for these weights; None if roles were changed."""
        key = roles.key(args)
        known = roles.bindings.get(key)
        if known is not None and known.suits(args):
            return known.engine
        with self._lock:
            if roles is not self._roles:
                return None
            known = roles.bindings.get(key)
            if known is not None and known.suits(args):
                return known.engine
            if known is not None and known.is_for(args):
                self._note_changes(roles, known, args)
                if roles is not self._roles:
                    return None
            weights = [(place, ref(args[place]), version_of(args[place])) for place in roles.weights]
            made = Binding(self._compiled(roles, args), tuple(weights))
            for gone in [each for each, old in roles.bindings.items() if old.is_gone]:
                del roles.bindings[gone]
            roles.bindings[key] = made
            if len(roles.bindings) > MOST_ENGINES:
                roles.bindings.popitem(last=False)
            return made.engine

    def _note_changes(self, roles: Roles, known: Binding, args: Sequence[Any]) -> None:
        """Makes what was changed in place an input: buffers at once, parameters if it was often."""
        parameter = torch_module("torch").nn.Parameter
        changed = {place: args[place] for place, _, version in known.weights if version_of(args[place]) != version}
        self._changes += any(isinstance(weight, parameter) for weight in changed.values())
        often = self._changes > MOST_CHANGES
        moved = [place for place, weight in changed.items() if often or not isinstance(weight, parameter)]
        if moved:
            LOG.info("tensors that were changed between calls are inputs from now on")
            kept = {place: name for place, name in roles.weights.items() if place not in moved}
            added = {place: roles.weights[place] for place in moved}
            self._roles = Roles(kept, _ordered({**added, **roles.inputs}), roles.sizes)

    def _specialize_sizes(self, roles: Roles) -> bool:
        """Makes sizes that are arguments constants; whether that changes anything."""
        if roles is not self._roles:
            return True
        sizes = {place: name for place, name in roles.inputs.items() if place in self._graph.sizes}
        if sizes:
            inputs = {place: name for place, name in roles.inputs.items() if place not in sizes}
            self._roles = Roles(roles.weights, inputs, sizes)
        return bool(sizes)

    def _compiled(self, roles: Roles, args: Sequence[Any]) -> Engine:
        arrays = {name: array_of(args[place]) for place, name in roles.weights.items()}
        sizes = {name: np.array(int(args[place]), np.int64) for place, name in roles.sizes.items()}
        source = WeightsApart(self._graph.model, {**self._graph.constants, **arrays, **sizes})
        return compile_source(source, self._config, cache=self._cache)

    def _results(self, args: Sequence[Any], outputs: Sequence[Any]) -> tuple[Any, ...]:
        for argument, output in self._graph.changes:
            args[argument].copy_(tensor_of(outputs[output], args[argument].is_complex()))
        return tuple(_result(each, args, outputs) for each in self._graph.results)


def _ordered(names: Mapping[int, str]) -> dict[int, str]:
    return dict(sorted(names.items()))


def _value(argument: Any) -> Any:
    return argument if isinstance(argument, int) else array_of(argument)


def _result(result: Result, args: Sequence[Any], outputs: Sequence[Any]) -> Any:
    if result.argument is not None:
        return args[result.argument]
    if result.output is None:
        return result.constant
    if result.is_number:
        return int(outputs[result.output])
    tensor = tensor_of(outputs[result.output], result.is_complex)
    if result.order is None:
        return tensor
    return tensor.permute([result.order.index(axis) for axis in range(len(result.order))])
