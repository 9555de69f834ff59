"""ONNX's backend interface, `onnx.backend.base.Backend`, for ONNX's own test suite and similar tools.

    from mini_infer.runtime.backend import MiniInferBackend
    outputs = MiniInferBackend.prepare(model).run([x, axes])

An engine has static shapes, and knows the values that they depend on; here only a call provides both. So a model is
compiled when it is prepared if it needs no more information, and otherwise at a call: for the shapes of its inputs, and
for the values of just those inputs that must be known to compile it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from onnx import ModelProto, NodeProto, defs, helper
from onnx.backend.base import Backend, BackendRep
from typing_extensions import override

from ..dialects.arguments import check_kind, checked_sequence
from ..dialects.errors import ConfigError, DeviceError, InvalidInputError, InvalidModelError, UnknownValueError
from .compile.entry import compile
from .device import Array, device_named
from .engine import Engine

# Engines that a prepared model keeps, the last ones that were used.
MOST_ENGINES = 16

_Key: TypeAlias = tuple[tuple[tuple[int, ...], ...], tuple[bytes, ...]]  # shapes of all inputs, values of some


class PreparedModel(BackendRep):
    """A model that is compiled once for each combination of shapes and of values that must be known."""

    def __init__(self, model: ModelProto, options: Mapping[str, Any]) -> None:
        self._model = model
        self._options = options
        weights = {initializer.name for initializer in model.graph.initializer}
        self._names = [value.name for value in model.graph.input if value.name not in weights]
        self._known: list[str] = []  # the inputs whose values are asked for
        self._engines: OrderedDict[_Key, Engine] = OrderedDict()
        try:
            engine = compile(model, **options)
        except UnknownValueError as error:
            self._ask_for(error)
        except InvalidInputError:  # a shape that the model leaves open
            pass
        else:
            self._engines[tuple(spec.shape for spec in engine.plan.inputs), ()] = engine

    @override
    def run(self, inputs: Any, **kwargs: Any) -> tuple[Array, ...]:
        """The outputs for one array for each input, in order or by name.

        Raises InvalidInputError as an engine does, and, if something is left to compile, the errors of `compile`.
        """
        arrays = self._by_name(inputs)
        engine = self.engine_for(arrays)
        outputs = engine({name: arrays[name] for name in engine.input_names})
        return tuple(outputs.values())

    def engine_for(self, arrays: Mapping[str, Array]) -> Engine:
        """The engine for the arrays' shapes, and for their values where these must be known."""
        while True:
            try:
                return self._engine(arrays)
            except UnknownValueError as error:
                self._ask_for(error)

    def _by_name(self, inputs: Any) -> dict[str, Array]:
        if not isinstance(inputs, Mapping):
            inputs = checked_sequence("inputs", inputs, "arrays, in order or by name", InvalidInputError)
            inputs = dict(zip(self._names, inputs, strict=False)) if len(inputs) <= len(self._names) else {}
        given = cast("Mapping[str, Any]", inputs)
        if set(given) != set(self._names):
            raise InvalidInputError(f"one array is expected for each input: {', '.join(self._names)}")
        return {name: np.asarray(given[name]) for name in self._names}

    def _ask_for(self, error: UnknownValueError) -> None:
        """Makes later compiles specialise for the inputs named in the error; raises it if there are none."""
        if not error.inputs:
            raise error
        self._known += error.inputs

    def _engine(self, arrays: Mapping[str, Array]) -> Engine:
        values = {name: arrays[name] for name in self._known}
        shapes = {name: array.shape for name, array in arrays.items()}
        key = tuple(shapes.values()), tuple(value.tobytes() for value in values.values())
        if key not in self._engines:
            self._engines[key] = compile(self._model, shapes=shapes, specialize=values, **self._options)
        self._engines.move_to_end(key)
        if len(self._engines) > MOST_ENGINES:
            self._engines.popitem(last=False)
        return self._engines[key]


class MiniInferBackend(Backend):
    """mini_infer as an ONNX backend.

    Devices are "CPU" and, with a GPU, "CUDA" or "CUDA:1"; keyword arguments are those of `compile`.
    """

    @classmethod
    @override
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: Any) -> PreparedModel:
        """The model, ready to run. Raises MiniInferError, as `compile` does."""
        check_kind("model", model, ModelProto, InvalidModelError)
        check_kind("device", device, str)
        return PreparedModel(model, {"device": device.lower(), **kwargs})

    @classmethod
    @override
    def run_model(cls, model: ModelProto, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Array, ...]:
        """The outputs of the model for one array for each input."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    @override
    def run_node(
        cls,
        node: NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] | None = None,
        **kwargs: Any,
    ) -> tuple[Array, ...]:
        """The results of one node for one array for each of its operands.

        `opset_version` is by default the newest one.
        """
        version = kwargs.pop("opset_version", defs.onnx_opset_version())
        opsets = [helper.make_opsetid("", version)]
        if node.domain not in ("", "ai.onnx"):
            opsets.append(helper.make_opsetid(node.domain, 1))
        names = [name for name in dict.fromkeys(node.input) if name]
        given = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)
            for name, array in zip(names, map(np.asarray, inputs), strict=True)
        ]
        results = [helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = helper.make_graph([node], "node", given, results)
        return cls.run_model(helper.make_model(graph, opset_imports=opsets), inputs, device, **kwargs)

    @classmethod
    @override
    def supports_device(cls, device: str) -> bool:
        """Whether models can run on the device."""
        check_kind("device", device, str)
        try:
            device_named(device.lower()).open()
        except (ConfigError, DeviceError):
            return False
        return True
