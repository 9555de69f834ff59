"""The call of a module whose own buffers take most of the arena."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, SSAValue

from ....dialects.graph.base import node_name
from ....dialects.graph.host import main_of
from ....dialects.kernel.calls import CallOp
from ..analysis.buffers import Places, int_attribute
from ..analysis.main_steps import Step, read_by, scratch_of, steps_of, written_by


@dataclass(frozen=True)
class LargestStep:
    """A call that no order and no placement runs in fewer bytes of the arena than its own buffers take."""

    bytes: int = 0
    operands: int = 0
    """Bytes of those that it only reads."""
    results: int = 0
    scratch: int = 0
    node: str = ""
    """The first ONNX node that it computes, or its kernel."""


def largest_step(module: ModuleOp) -> LargestStep:
    """The call of a module at the arena level that needs most for itself, at the current sizes."""
    places = Places()
    found = LargestStep()
    for step in steps_of(main_of(module)):
        scratch = _bytes(places, scratch_of(step))
        results = _bytes(places, written_by(step))
        operands = {number: size for number, size in _bytes(places, read_by(step)).items() if number not in results}
        read, made, used = (sum(each.values()) for each in (operands, results, scratch))
        if read + made + used > found.bytes:
            found = LargestStep(read + made + used, read, made, used, step_name(step))
    return found


def _bytes(places: Places, values: tuple[SSAValue, ...]) -> dict[int, int]:
    """The bytes that values take of each buffer of the arena, by its number; those of the largest, if several do."""
    found: dict[int, int] = {}
    for value in values:
        number = int_attribute(value.owner, "buffer") if isinstance(value.owner, Operation) else None
        if number is not None:
            found[number] = max(found.get(number, 0), places[value].bytes.count)
    return found


def step_name(step: Step) -> str:
    """The first ONNX node that a step computes, or its kernel."""
    return node_name(step) or (step.callee.string_value() if isinstance(step, CallOp) else step.name)
