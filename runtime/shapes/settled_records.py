"""Plain records with sizes of run time, such as a GPU's program, at one shape."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from operator import itemgetter
from typing import Any, Generic, TypeVar, cast

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
    """A program with sizes of run time at one shape, as a function of the values of the symbols, in order.

    A launch is made anew where its own numbers are others than at the shape before: of a language model's step that has
    one token more in its caches, few are.
    """
    places: dict[int, int] = {}
    launches = [_Settled(each, places) for each in program.launches]
    steps = _Settled(program.steps, places)
    evaluate = formulas(map(terms_of, places), symbols)

    def made(*values: int) -> DeviceProgram:
        numbers = evaluate(*values)
        return replace(program, launches=tuple([each.at(numbers) for each in launches]), steps=steps.at(numbers))

    return made


class _Settled(Generic[T]):
    """A record, and what it was at the shape it was last asked for."""

    def __init__(self, record: T, places: dict[int, int]) -> None:
        """`places` has each size's number among those of all records, and is given those of this one."""
        sizes: dict[int, int] = {}

        def note(size: int) -> int:
            sizes[size] = places.setdefault(size, len(places))
            return now(size)

        fixed = settled(record, note)
        self._places, self._make = [*sizes.values()], _maker(record, sizes)
        self._last: tuple[list[int] | None, T] = (None if sizes else []), fixed

    def at(self, numbers: Sequence[int]) -> T:
        """The record with these numbers."""
        own = [numbers[place] for place in self._places]
        before, made = self._last
        if own != before and self._make is not None:
            made = cast("T", self._make(numbers))
            self._last = own, made
        return made


def _maker(record: object, places: Mapping[int, int]) -> Callable[[Sequence[int]], Any] | None:
    """A function of the numbers that makes a tree of dataclasses and tuples anew; None for one without sizes."""
    if isinstance(record, Size):
        return itemgetter(places[record])
    if is_dataclass(record) and not isinstance(record, type):
        kind, inner = type(record), _maker(tuple(getattr(record, each.name) for each in fields(record)), places)
        return None if inner is None else lambda numbers: kind(*inner(numbers))
    if not isinstance(record, tuple):
        return None
    parts = [(each, _maker(each, places)) for each in cast("tuple[object, ...]", record)]
    if all(make is None for _, make in parts):
        return None
    return lambda numbers: tuple([each if make is None else make(numbers) for each, make in parts])
