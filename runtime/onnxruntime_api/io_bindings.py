"""IOBinding: inputs and outputs of runs that are bound to memory once."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from typing import Any, Protocol

import numpy as np

from ..device import Array
from .element_texts import dtype_of
from .node_args import NodeArg
from .ort_values import OrtValue, check_device
from .status_errors import StatusError


class Runs(Protocol):
    """What a binding asks of its session; see session.py."""

    def get_inputs(self) -> list[NodeArg]: ...

    def get_overridable_initializers(self) -> list[NodeArg]: ...

    def run(self, output_names: Sequence[str] | None, input_feed: Any, run_options: Any = None, /) -> list[Any]: ...


class IOBinding:
    """The bound inputs and outputs of a session; `run_with_iobinding` reads and writes them.

    An output that is bound to memory is copied there at the end of a run.
    """

    def __init__(self, session: Runs) -> None:
        self._session = session
        self._inputs: dict[str, OrtValue] = {}
        self._targets: dict[str, OrtValue | None] = {}
        self._outputs: dict[str, OrtValue] = {}

    def bind_cpu_input(self, name: str, arr_on_cpu: Any) -> None:
        """Binds an input to an array. Raises RuntimeError for an unknown name."""
        self.bind_ortvalue_input(name, OrtValue.ortvalue_from_numpy(arr_on_cpu))

    def bind_input(
        self, name: str, device_type: str, device_id: int, element_type: Any, shape: Sequence[int], buffer_ptr: int
    ) -> None:
        """Binds an input to the memory at an address, which must stay valid while it is bound.

        Raises RuntimeError for an unknown name, another device, or a type that there is not.
        """
        check_device(device_type)
        self.bind_ortvalue_input(name, OrtValue(_array_at(buffer_ptr, shape, element_type)))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Binds an input to a value. Raises RuntimeError for an unknown name."""
        known = (*self._session.get_inputs(), *self._session.get_overridable_initializers())
        if name not in [each.name for each in known]:
            raise RuntimeError(f"Failed to find NodeArg with name: {name} in the def list")
        self._inputs[name] = ortvalue

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: Any = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Asks for an output: in the memory at an address, or without one in new memory at every run."""
        check_device(device_type)
        target = None
        if buffer_ptr is not None:
            if element_type is None or shape is None:
                raise ValueError("`element_type` and `shape` are to be provided if pre-allocated memory is provided")
            target = OrtValue(_array_at(buffer_ptr, shape, element_type))
        self._targets[name] = target

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Asks for an output in a value's memory."""
        self._targets[name] = ortvalue

    def synchronize_inputs(self) -> None:
        """Waits until inputs are there; on a CPU they are."""

    def synchronize_outputs(self) -> None:
        """Waits until outputs are there; on a CPU they are."""

    def get_outputs(self) -> list[OrtValue]:
        """The outputs of the last run, in the order in which they were bound."""
        return [self._outputs[name] for name in self._targets if name in self._outputs]

    def copy_outputs_to_cpu(self) -> list[Array]:
        """The outputs of the last run as arrays of their own."""
        return [each.numpy().copy() for each in self.get_outputs()]

    def clear_binding_inputs(self) -> None:
        """Forgets the bound inputs."""
        self._inputs.clear()

    def clear_binding_outputs(self) -> None:
        """Forgets the bound outputs."""
        self._targets.clear()
        self._outputs.clear()

    def run(self, run_options: Any = None) -> None:
        """One inference. Raises RuntimeError, for whatever reason it fails."""
        if not self._targets:
            raise RuntimeError("Error in execution: At least one output should be requested.")
        names = list(self._targets)
        try:
            found = self._session.run(names, {name: each.numpy() for name, each in self._inputs.items()}, run_options)
        except StatusError as error:
            raise RuntimeError(f"Error in execution: {error.message}") from error
        except ValueError as error:
            raise RuntimeError(f"Error in execution: {error}") from error
        for name, output in zip(names, found, strict=True):
            target = self._targets[name]
            self._outputs[name] = OrtValue(output) if target is None else target
            if target is not None:
                _copy(name, output, target.numpy())


def _copy(name: str, output: Array, target: Array) -> None:
    if output.dtype != target.dtype or output.shape != target.shape:
        raise RuntimeError(
            f"Error in execution: Got invalid dimensions for output: {name}: it has shape {list(output.shape)} and "
            f"type {output.dtype}, and the bound memory {list(target.shape)} and {target.dtype}"
        )
    np.copyto(target, output)


def _array_at(address: int, shape: Sequence[int], element_type: Any) -> Array:
    """An array over the memory at an address, row-major."""
    dtype = dtype_of(element_type)
    nbytes = prod(shape) * dtype.itemsize
    memory: Any = (ctypes.c_uint8 * nbytes).from_address(address) if nbytes else bytearray()
    return np.frombuffer(memory, dtype).reshape(tuple(shape))
