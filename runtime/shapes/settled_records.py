"""Plain records with sizes of run time, such as a GPU's program, at one shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar, cast

from ...dialects.sizes.formulas import formulas
from ...dialects.sizes.polynomials import Symbol
from ...dialects.sizes.sizes import Size, now, terms_of
from ...lowering.gpu_to_cuda.device_program import DeviceProgram

T = TypeVar("T")


def settled(record: T, number: Callable[[int], int]) -> T:
    """A tree of dataclasses and tuples with its sizes replaced by numbers."""
    if isinstance(record, Size):
        return cast("T", number(record))
    if isinstance(record, tuple):
        return cast("T", tuple(settled(each, number) for each in cast("tuple[Any, ...]", record)))
    if is_dataclass(record) and not isinstance(record, type):
        known = cast("Any", record)
        changed = {each.name: settled(getattr(known, each.name), number) for each in fields(known)}
        return cast("T", replace(known, **changed))
    return record


def settled_programs(program: DeviceProgram, symbols: Sequence[Symbol]) -> Callable[..., DeviceProgram]:
    """A program with sizes of run time at one shape, as a function of the values of the symbols, in order."""
    sizes: dict[int, None] = {}

    def note(size: int) -> int:
        sizes[size] = None
        return now(size)

    settled(program, note)
    evaluate = formulas(map(terms_of, sizes), symbols)
    return lambda *values: settled(program, dict(zip(sizes, evaluate(*values), strict=True)).__getitem__)
