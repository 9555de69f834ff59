"""What a device offers to the runtime: memory, code, and one inference as a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, Protocol, TypeAlias

import numpy as np

from ..dialects.errors import ConfigError

Array: TypeAlias = "np.ndarray[Any, np.dtype[Any]]"
_HOMES = {"cpu": "cpu_device"}
"""The file of each device, which has the device as DEVICE; imported when it is first used."""


class Code(Protocol):
    """Code that has been loaded."""

    def address(self, name: str) -> int:
        """Where a function is; raises CompileError where it, or something it calls, isn't there."""
        ...


class Device(Protocol):
    """Where tensors lie and plans run."""

    def allocate(self, nbytes: int, alignment: int) -> Array:
        """Zeroed bytes, of which the first lies at a multiple of `alignment`; they are free once nobody holds them."""
        ...

    def load(self, objects: Sequence[bytes]) -> Code:
        """Code from the objects that a compile made. Raises CompileError."""
        ...

    def runner(self, code: Code, threads: int) -> Callable[[int], None]:
        """What runs a plan's code once, with at most so many threads, on the address of its pointers."""
        ...


def device_named(name: str) -> Device:
    """A device by its name; raises ConfigError for one that is not there."""
    if name not in [*_HOMES]:
        raise ConfigError(f"device '{name}' is not supported; there is {', '.join(map(repr, _HOMES))}")
    return import_module(f".{_HOMES[name]}", __package__).DEVICE
