"""What a name of the model may stand for beside a tensor, while it is imported: nothing of it is left in the module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from typing_extensions import override
from xdsl.ir import SSAValue


@dataclass(frozen=True)
class TensorSequence:
    """A sequence whose length import knows: its tensors."""

    items: tuple[SSAValue, ...]

    @override
    def __str__(self) -> str:
        return "a sequence of tensors"


@dataclass(frozen=True)
class Nothing:
    """An optional without a value; one with a value is the value."""

    @override
    def __str__(self) -> str:
        return "an optional without a value"


Held: TypeAlias = SSAValue | TensorSequence | Nothing
