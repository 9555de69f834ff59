"""Values of the model that are no tensors, sequences and optionals: they exist only during import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from typing_extensions import override
from xdsl.ir import SSAValue


@dataclass(frozen=True)
class TensorSequence:
    """A sequence of known length: its tensors."""

    items: tuple[SSAValue, ...]

    @override
    def __str__(self) -> str:
        return "a sequence of tensors"


@dataclass(frozen=True)
class Nothing:
    """An optional without a value; one with a value is represented by the value."""

    @override
    def __str__(self) -> str:
        return "an optional without a value"


@dataclass(frozen=True)
class Texts:
    """Texts of labels, by a tensor of their places: an output of the model may be one, and so may its like."""

    places: SSAValue
    labels: tuple[str, ...]

    @override
    def __str__(self) -> str:
        return "a tensor of texts"


@dataclass(frozen=True)
class LabelledRows:
    """A mapping for each row of a tensor, from labels to its elements: only an output of the model may be one."""

    numbers: SSAValue
    keys: tuple[int, ...] | tuple[str, ...]

    @override
    def __str__(self) -> str:
        return "a sequence of maps"


Held: TypeAlias = SSAValue | TensorSequence | Nothing | Texts | LabelledRows
