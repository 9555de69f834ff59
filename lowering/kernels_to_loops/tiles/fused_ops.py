"""Elementwise ops fused with a contraction: an epilogue on its sums, or a prologue that computes its rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

from xdsl.dialects.builtin import VectorType
from xdsl.ir import Attribute, Operation, SSAValue

from ....dialects.graph.ops.structure import ConstantOp
from ....dialects.graph.values import element_type_of_value
from ....passes.kernels.forms.contraction import ContractionForm
from ...kernel_code.arithmetic import Arithmetic, signless
from ...kernel_code.elements.elementwise_ops import emit_elementwise
from ...kernel_code.loop_builder import LoopBuilder
from ..kernel_instance import KernelInstance


class Epilogue(Protocol):
    """Applied to finished sums before they are stored. Epilogues with equal keys build the same code."""

    @property
    def operands(self) -> Sequence[SSAValue]:
        """Its operands besides the sums; a tile receives the address of each."""
        ...

    @property
    def inline(self) -> bool:
        """Whether it runs on the sums in registers, or in a second pass over the stored tile."""
        ...

    @property
    def key(self) -> Hashable: ...

    @property
    def stem(self) -> str:
        """Suffix of the name of a function with this epilogue."""
        ...

    def emit(self, b: LoopBuilder, sums: SSAValue, lanes: int, load: Callable[[SSAValue], SSAValue]) -> SSAValue:
        """The vector of `lanes` to store for `sums`; `load` gives an operand's vector at the same position."""
        ...


@dataclass(frozen=True)
class TimesFactor:
    """Sums times the element of an operand at the same position."""

    factors: SSAValue
    inline: bool = True
    key: Hashable = "times factor"
    stem: str = "_times"

    @property
    def operands(self) -> Sequence[SSAValue]:
        """The factors."""
        return (self.factors,)

    def emit(self, b: LoopBuilder, sums: SSAValue, lanes: int, load: Callable[[SSAValue], SSAValue]) -> SSAValue:
        """The product."""
        return Arithmetic(b, sums.type).mul(sums, load(self.factors))


@dataclass(frozen=True)
class AddedToScaled:
    """Sums plus the previously stored value, scaled by a factor for its row."""

    stored: SSAValue
    factors: SSAValue
    inline: bool = True
    key: Hashable = "added to scaled"
    stem: str = "_onto"

    @property
    def operands(self) -> Sequence[SSAValue]:
        """The stored values, and the factors."""
        return (self.stored, self.factors)

    def emit(self, b: LoopBuilder, sums: SSAValue, lanes: int, load: Callable[[SSAValue], SSAValue]) -> SSAValue:
        """The fused multiply-add, rounded once."""
        return b.fma(load(self.stored), load(self.factors), sums)


@dataclass(frozen=True)
class FusedOps:
    """`ops` compute the stored `result` from the value `root`; `operands` are the kernel arguments they also read.

    A prologue has no root: it reads its operands and constants alone, and perhaps only constants. `inline`: an epilogue
    runs on the sums in registers, not in a second pass over the stored tile. Where it begins with the two `halves` of
    the root's columns, a tile computes equally many columns of each.
    """

    root: SSAValue | None
    result: SSAValue
    ops: tuple[Operation, ...]
    operands: tuple[SSAValue, ...]
    inline: bool
    halves: tuple[SSAValue, ...] = ()

    @property
    def key(self) -> Hashable:
        """Equal where the same code is built, whichever kernel's ops they are."""
        roots = () if self.root is None else (self.root,)
        given = (*roots, *self.halves, *self.operands)
        number: dict[SSAValue, int] = {value: -1 - index for index, value in enumerate(given)}
        ops: list[Hashable] = []
        for op in self.ops:
            read = [number[value] if value in number else _constant(value) for value in op.operands]
            result = op.results[0]
            ops.append((op.name, *read, *op.properties.items(), element_type_of_value(result)))
            number[result] = len(number)
        types = tuple(element_type_of_value(value) for value in given)
        return (*ops, number[self.result], types, self.inline, len(roots), len(self.halves))

    @property
    def stem(self) -> str:
        """Suffix of the name of a function with this epilogue."""
        return f"_{self.ops[-1].name.removeprefix('graph.')}" if self.ops else ""

    @classmethod
    def of(cls, k: KernelInstance, form: ContractionForm, inline: bool) -> FusedOps:
        """The epilogue of a kernel."""
        operands = arguments_of(k, form.epilogue)
        return cls(form.root.results[0], form.stored, form.epilogue, operands, inline, form.halves)

    def emit(self, b: LoopBuilder, sums: SSAValue | None, lanes: int, load: Callable[[SSAValue], SSAValue]) -> SSAValue:
        """The vector to store for `sums`, the root's if there is one; `load` gives an operand's vector there."""
        known: dict[SSAValue, SSAValue] = {}
        if self.root is not None and sums is not None:
            known[self.root] = sums
            for index, half in enumerate(self.halves):
                known[half] = b.shuffle(sums, sums, range(index * lanes, (index + 1) * lanes))

        def operand(value: SSAValue) -> SSAValue:
            if value not in known:
                owner = value.owner
                if isinstance(owner, ConstantOp):
                    type = VectorType(signless(element_type_of_value(value)), [lanes])
                    known[value] = b.constant(owner.to_numpy().flat[0].item(), type)
                else:
                    known[value] = load(value)
            return known[value]

        for op in self.ops:
            result = op.results[0]
            operands = [operand(value) for value in op.operands]
            known[result] = emit_elementwise(b, op, operands, element_type_of_value(result))
        return known[self.result]


def _constant(value: SSAValue) -> tuple[bytes, Attribute]:
    """The bits and the type of a splat constant's element."""
    assert isinstance(value.owner, ConstantOp)
    return value.owner.to_numpy().flat[0].tobytes(), element_type_of_value(value)


def arguments_of(k: KernelInstance, ops: Sequence[Operation]) -> tuple[SSAValue, ...]:
    """The kernel arguments that ops read, each once, in order."""
    arguments = set(k.kernel.arguments)
    return tuple(dict.fromkeys(value for op in ops for value in op.operands if value in arguments))
