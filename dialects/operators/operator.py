"""Operator: what is known of an ONNX operator, this package's or a user's; and the kernel that a user's may have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .signature import OperatorSignature


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """The compiled function behind an operator, called on buffers."""

    symbol: str
    """Its name in the source; for a pointer, in messages."""
    source: str
    """Path of a C file (.c) or of LLVM IR (.ll); "" for a pointer."""
    address: int = 0
    flags: tuple[str, ...] = ()
    """Further flags of the C compiler."""
    threads: bool = False
    """Whether it divides its work by (thread, threads); else one thread makes the whole call."""
    scratch: Callable[..., int] | int = 0
    cost: Callable[..., float] | float | None = None
    inplace: tuple[tuple[int, int], ...] = ()
    run: Callable[[Operator, Sequence[Any], Sequence[Any], int, Sequence[Any]], None]
    """Calls it on numpy arrays: inputs (None where absent), outputs, bytes of scratch, values of attributes."""


@dataclass(frozen=True, kw_only=True, eq=False)  # by identity: a function's defaults need not be hashable
class Operator:
    """An operator from version `since` of its domain on.

    Of an operator of this package only `handler` is set. A user's has a function: a composition of graph values, or
    with a `kernel` the rule of result types.
    """

    domain: str
    name: str
    since: int
    kind: str
    """"built in", "composed", "C", "LLVM IR" or "function pointer"."""
    origin: str
    """Where it was defined: a module, or file:line."""
    handler: Callable[[Any], Any] | None = None
    function: Callable[..., Any] | None = None
    signature: OperatorSignature | None = None
    kernel: Kernel | None = None
    depends: tuple[str, ...] = ()
    """Further files that it is made of."""
    override: bool = False

    @property
    def full_name(self) -> str:
        """Domain and name: `my.domain.MyOp`; without the domain of ONNX itself."""
        return f"{self.domain}.{self.name}" if self.domain else self.name
