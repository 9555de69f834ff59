"""Conversion of dataclasses to JSON values and back, by field names.

Input is untrusted: each value is checked against the type of its field. Symbolic sizes and their symbols are stored in
tables and referred to by number, so that object identity is preserved.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from types import UnionType
from typing import Any, Literal, NoReturn, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import numpy as np

from ...dialects.sizes import polynomials
from ...dialects.sizes.offsets import Offset
from ...dialects.sizes.polynomials import InputSymbol, Quotient, Symbol, Terms, weight
from ...dialects.sizes.sizes import Size

T = TypeVar("T")

_SYMBOLS: dict[str, type[Symbol]] = {"symbol": Symbol, "input": InputSymbol, "offset": Offset}
_DTYPES = (
    "bool",
    "float16",
    "float32",
    "float64",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
)
_OTHER_DTYPES = ("bfloat16", "float8_", "float4_", "float6_", "int4", "uint4", "int2", "uint2")  # those of ml_dtypes


class KeptError(ValueError):
    """A file does not contain what was written."""


class Writer:
    """Converts records to plain values, and collects their symbols and sizes."""

    def __init__(self) -> None:
        self._symbols: dict[Symbol, int] = {}
        self._sizes: dict[tuple[int, Terms], int] = {}

    def plain(self, value: Any) -> Any:
        """A value as JSON values; for a dataclass, the fields that differ from their defaults."""
        if type(value) is Size:
            return {"size": self._sizes.setdefault((value.value, value.terms), len(self._sizes))}
        if value is None or isinstance(value, bool | float | str):
            return value
        if isinstance(value, int | np.integer):
            return int(cast("int", value))
        if isinstance(value, np.dtype):
            return cast("np.dtype[Any]", value).name
        if isinstance(value, Symbol):
            return self._symbols.setdefault(value, len(self._symbols))
        if isinstance(value, frozenset):
            return self._terms(cast("Terms", value))
        if isinstance(value, tuple | list):
            return [self.plain(each) for each in cast("Sequence[Any]", value)]
        if isinstance(value, Mapping):
            return {str(name): self.plain(each) for name, each in cast("Mapping[Any, Any]", value).items()}
        if not is_dataclass(value):
            raise TypeError(f"{type(value).__name__} can't be kept")
        given = {each: getattr(value, each.name) for each in fields(value) if each.init}
        usual = {each.name for each, it in given.items() if type(it) is not Size and it == each.default}
        return {each.name: self.plain(it) for each, it in given.items() if each.name not in usual}

    def tables(self) -> dict[str, Any]:
        """The symbols and sizes of all converted values, for `Reader`."""
        sizes = [[value, self._terms(terms)] for value, terms in self._sizes]
        kinds = {kind: name for name, kind in _SYMBOLS.items()}
        symbols = [[kinds[type(each)], each.number, self._fields(each)] for each in self._symbols]
        return {"symbols": symbols, "sizes": sizes}

    def _fields(self, symbol: Symbol) -> dict[str, Any]:
        return {each.name: self.plain(getattr(symbol, each.name)) for each in fields(symbol) if each.init}

    def _terms(self, terms: Terms) -> list[Any]:
        return [[[self._atom(atom) for atom in product], factor] for product, factor in sorted(terms, key=weight)]

    def _atom(self, atom: Symbol | Quotient) -> Any:
        if isinstance(atom, Symbol):
            return self.plain(atom)
        return {"of": self._terms(atom.dividend), "by": self._terms(atom.divisor)}


class Reader:
    """Converts plain values to records. Raises KeptError, naming the value, for anything invalid."""

    def __init__(self, tables: Any = None) -> None:
        self._symbols: list[Symbol] = []
        self._sizes: list[Size] = []
        if tables is not None:
            self._read_tables(_dict(tables, "tables"))

    def _read_tables(self, tables: dict[str, Any]) -> None:
        listed = [_row(each, 3, "symbols") for each in _list(tables.get("symbols"), "symbols")]
        numbers = [_of_type(number, int, "symbols") for _, number, _ in listed]
        made: dict[int, Symbol] = {}
        for index in sorted(
            range(len(listed)), key=lambda index: numbers[index]
        ):  # in the order that they were made in
            kind = _SYMBOLS.get(_of_type(listed[index][0], str, "symbols")) or _wrong("symbols", listed[index][0])
            made[index] = self.read(kind, listed[index][2], f"symbol {index}")
        self._symbols = [made[index] for index in range(len(listed))]
        for each in _list(tables.get("sizes"), "sizes"):
            value, terms = _row(each, 2, "sizes")
            self._sizes.append(Size(_of_type(value, int, "sizes"), self.terms(terms)))

    def read(self, kind: Any, value: Any, where: str) -> Any:
        """A value of a type: a dataclass, a type of a field, or a tuple of these."""
        if kind is int:
            return (
                self._size(cast("dict[str, Any]", value), where)
                if isinstance(value, dict)
                else _of_type(value, int, where)
            )
        if kind in (bool, str, float):
            return _of_type(value, kind, where)
        if kind is type(None):
            return None if value is None else _wrong(where, value)
        if get_origin(kind) is np.dtype:
            return _dtype(_of_type(value, str, where), where)
        if isinstance(kind, type) and issubclass(cast("type[Any]", kind), Symbol) and not isinstance(value, dict):
            return self._symbol(value, where, cast("type[Symbol]", kind))
        if is_dataclass(kind):
            return self._record(kind, _dict(value, where), where)
        return self._composed(kind, value, where)

    def terms(self, value: Any) -> Terms:
        """A polynomial."""
        rows = [_row(each, 2, "terms") for each in _list(value, "terms")]
        return frozenset(
            (tuple(self._atom(atom) for atom in _list(atoms, "terms")), _of_type(factor, int, "terms"))
            for atoms, factor in rows
        )

    def _atom(self, value: Any) -> Symbol | Quotient:
        if isinstance(value, dict):
            pair = cast("dict[str, Any]", value)
            return Quotient(self.terms(pair.get("of")), self.terms(pair.get("by")))
        return self._symbol(value, "terms", Symbol)

    def _symbol(self, value: Any, where: str, kind: type[Symbol]) -> Symbol:
        number = _of_type(value, int, where)
        if not 0 <= number < len(self._symbols) or not isinstance(self._symbols[number], kind):
            _wrong(where, value)
        return self._symbols[number]

    def _size(self, value: dict[str, Any], where: str) -> Size:
        number = _of_type(value.get("size"), int, where)
        return self._sizes[number] if 0 <= number < len(self._sizes) else _wrong(where, value)

    def _record(self, kind: Any, value: dict[str, Any], where: str) -> Any:
        known = _kinds_of(kind)
        if strange := sorted(set(value) - set(known)):
            raise KeptError(f"{where} has a field {strange[0]!r}, which is unknown")
        found = {name: self.read(known[name], each, f"{where}.{name}") for name, each in value.items()}
        for each in fields(kind):
            if each.init and each.name not in found and each.default is MISSING and each.default_factory is MISSING:
                raise KeptError(f"{where} lacks {each.name}")
        try:
            return kind(**found)
        except Exception as error:  # what a record says of its own fields
            raise KeptError(f"{where}: {error}") from None

    def _composed(self, kind: Any, value: Any, where: str) -> Any:
        origin, parts = get_origin(kind), get_args(kind)
        if origin is Literal:
            return value if value in parts and isinstance(value, str) else _wrong(where, value)
        if origin in (Union, UnionType):
            for part in parts:
                try:
                    return self.read(part, value, where)
                except KeptError:
                    continue
            _wrong(where, value)
        if origin is frozenset:
            return self.terms(value)
        if origin is tuple:
            listed = _list(value, where)
            if len(parts) == 2 and parts[1] is ...:
                return tuple(self.read(parts[0], each, f"{where}[{index}]") for index, each in enumerate(listed))
            return tuple(map(self.read, parts, _row(value, len(parts), where), [where] * len(parts)))
        raise TypeError(f"{kind} can't be kept")


def _of_type(value: Any, kind: type[T], where: str) -> T:
    """The value, checked to be of exactly that type."""
    return value if type(value) is kind else _wrong(where, value)


def _list(value: Any, where: str) -> list[Any]:
    return cast("list[Any]", value) if type(value) is list else _wrong(where, value)


def _dict(value: Any, where: str) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if type(value) is dict else _wrong(where, value)


def _row(value: Any, length: int, where: str) -> list[Any]:
    listed: list[Any] = _list(value, where)
    return listed if len(listed) == length else _wrong(where, value)


def _wrong(where: str, value: Any) -> NoReturn:
    raise KeptError(f"{where} is {repr(value)[:60]}")


@cache
def _kinds_of(kind: Any) -> dict[str, Any]:
    """The types of a dataclass's fields by name."""
    hints = get_type_hints(kind, localns=vars(polynomials))
    return {each.name: hints[each.name] for each in fields(kind) if each.init}


def _dtype(name: str, where: str) -> np.dtype[Any]:
    if name in _DTYPES:
        return np.dtype(name)
    import ml_dtypes

    kind = getattr(ml_dtypes, name, None) if name.startswith(_OTHER_DTYPES) else None
    return np.dtype(cast("Any", kind)) if isinstance(kind, type) else _wrong(where, name)
