"""Scopes of names: values, initialisers and operator versions of a graph, a branch or a function."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from xdsl.ir import SSAValue

from ...dialects.errors import InvalidModelError, UnsupportedError
from .non_tensors import Held


class Scope:
    """Names of values, each defined at most once; initialisers become values at first use."""

    def __init__(
        self,
        opsets: Mapping[str, int],
        initializers: Mapping[str, Callable[[], Held]] | None = None,
        outer: Scope | None = None,
        prefix: str = "",
    ) -> None:
        self.opsets = opsets
        self.prefix = prefix  # prefix of names of nodes inside: the node that calls the branch or function
        self._initializers = initializers or {}
        self._outer = outer
        self._values: dict[str, Held] = {}

    def define(self, name: str, value: Held) -> None:
        """Binds a name to a value."""
        self._values[name] = value

    def value(self, name: str, subject: str) -> SSAValue:
        """The tensor bound to a name. Raises UnsupportedError, naming the subject, for anything else."""
        held = self.held(name)
        if not isinstance(held, SSAValue):
            raise UnsupportedError(f"{subject} is {held}")
        return held

    def held(self, name: str) -> Held:
        """What a name is bound to. Raises InvalidModelError for an undefined name."""
        if name in self._values:
            return self._values[name]
        if name in self._initializers:
            self._values[name] = self._initializers[name]()
            return self._values[name]
        if self._outer is None:
            raise InvalidModelError(f"{self.prefix or 'the graph'} reads {name}, which is undefined")
        return self._outer.held(name)

    def found(self, name: str) -> Held | None:
        """What a name is bound to; None for initialisers that nobody has read, and undefined names."""
        if name in self._values:
            return self._values[name]
        return None if self._outer is None or name in self._initializers else self._outer.found(name)
