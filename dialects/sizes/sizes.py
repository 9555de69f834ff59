"""`Size`: a Python integer that carries the symbolic polynomial it was computed from.

A `Size` is an int, its value at the shapes that a model is compiled for, together with a polynomial of symbols
(dimensions of the inputs, and floor quotients). All code that computes with sizes therefore computes with polynomials
as well; the index arithmetic that results becomes instructions at the end (loops_to_llvm/instructions.py).

    batch, tokens = Symbol("batch", 1, 8), Symbol("tokens", 1, 512)
    rows = size_of(batch, 2) * size_of(tokens, 64)      # 128 now; batch*tokens
    rows * 256 // 256 == rows                           # true at all shapes
    rows < 4096                                         # depends: true now, which is noted as a guard

Two sizes are equal only if they are at all shapes. Where an order, or whether a size is 0, depends on the shapes, the
current value decides, and a guard records it (`Guards`): the code is correct wherever all its guards hold. Choices that
are correct either way, such as the faster of two schedules, are made `unguarded`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, wraps
from math import gcd
from typing import TYPE_CHECKING, Any, Self, TypeVar

from typing_extensions import override

from .guards import Guards, are_noted, note
from .polynomials import (
    Symbol,
    Terms,
    added,
    bounds,
    constant,
    multiplied,
    number_of,
    scaled,
    spelled,
    symbols_in,
    text_of,
    value_of,
)
from .quotients import floor_quotient, parted

T = TypeVar("T")

if TYPE_CHECKING:
    _Int = int
else:
    _Int = object


def _of_integers(exact: Callable[[Any, int], T]) -> Callable[[Any, int], T]:
    """An operation on integers; with a float operand it uses the current value."""

    @wraps(exact)
    def operation(size: Any, other: Any) -> Any:
        if isinstance(other, int):
            return exact(size, other)
        return getattr(float(size), exact.__name__)(other) if isinstance(other, float) else NotImplemented

    return operation


class Size(_Int):
    """An integer with the polynomial that gives its value at other shapes.

    `isinstance(size, int)` holds, but the C-level integer is a dummy: what needs a machine integer (`range`, numpy,
    struct, a slice) has to call `__index__`, and so can't drop the symbols silently.
    """

    value: int
    terms: Terms

    __class__ = int  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]

    def __new__(cls, value: int, terms: Terms) -> Size:
        """See `size_of` and `_made`."""
        made = super().__new__(cls)
        made.value, made.terms = value, terms
        return made

    @override
    def __int__(self) -> int:
        return _converted(self)

    @override
    def __index__(self) -> int:
        return _converted(self)

    @override
    def __hash__(self) -> int:
        return hash(self.terms)

    @override
    def __str__(self) -> str:
        return text_of(self.terms)

    __repr__ = __str__

    @override
    def __format__(self, spec: str) -> str:
        return f"({spelled(self.terms)})" if spec == "d" else str(self)  # by "d" IR is printed: see spelling.py

    # arithmetic

    @override
    @_of_integers
    def __add__(self, other: int) -> int:
        return _made(self.value + now(other), added(self.terms, terms_of(other)))

    __radd__ = __add__

    @override
    def __neg__(self) -> int:
        return _made(-self.value, scaled(self.terms, -1))

    @override
    def __pos__(self) -> int:
        return self

    @override
    def __abs__(self) -> int:
        return self if self >= 0 else -self

    @override
    @_of_integers
    def __sub__(self, other: int) -> int:
        return _made(self.value - now(other), added(self.terms, scaled(terms_of(other), -1)))

    @override
    @_of_integers
    def __rsub__(self, other: int) -> int:
        return -self + other

    @override
    @_of_integers
    def __mul__(self, other: int) -> int:
        return _made(self.value * now(other), multiplied(self.terms, terms_of(other)))

    __rmul__ = __mul__

    @override
    def __pow__(self, other: Any, modulus: Any = None) -> Any:
        if is_fixed(other) and isinstance(other, int) and other >= 0:
            result: int = 1
            for _ in range(other):
                result = result * self
            return result
        return pinned(self) ** pinned(other)

    @override
    def __rpow__(self, other: Any, modulus: Any = None) -> Any:
        return other ** pinned(self)

    @override
    @_of_integers
    def __floordiv__(self, other: int) -> int:
        return _quotient(self, other)

    @override
    @_of_integers
    def __rfloordiv__(self, other: int) -> int:
        return _quotient(other, self)

    @override
    @_of_integers
    def __mod__(self, other: int) -> int:
        return self - _quotient(self, other) * other

    @override
    @_of_integers
    def __rmod__(self, other: int) -> int:
        return other - _quotient(other, self) * self

    @override
    @_of_integers
    def __divmod__(self, other: int) -> tuple[int, int]:
        return self // other, self % other

    @override
    @_of_integers
    def __rdivmod__(self, other: int) -> tuple[int, int]:
        return other // self, other % self

    # An operation whose result is no polynomial is correct for the current value only, which a guard records.

    @override
    def __float__(self) -> float:
        return float(pinned(self))

    @override
    @_of_integers
    def __truediv__(self, other: int) -> float:
        return pinned(self) / pinned(other)

    @override
    @_of_integers
    def __rtruediv__(self, other: int) -> float:
        return other / pinned(self)

    @override
    def __lshift__(self, other: int) -> int:
        return self * 2 ** pinned(other)

    @override
    def __rshift__(self, other: int) -> int:
        return self // 2 ** pinned(other)

    @override
    def __and__(self, other: int) -> int:
        return pinned(self) & pinned(other)

    @override
    def bit_length(self) -> int:
        return pinned(self).bit_length()

    # comparisons

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.terms == other.terms

    @override
    def __ne__(self, other: object) -> bool:
        return not self == other

    @override
    @_of_integers
    def __lt__(self, other: int) -> bool:
        return _positive(other - self)

    @override
    @_of_integers
    def __gt__(self, other: int) -> bool:
        return _positive(self - other)

    @override
    @_of_integers
    def __le__(self, other: int) -> bool:
        return not _positive(self - other)

    @override
    @_of_integers
    def __ge__(self, other: int) -> bool:
        return not _positive(other - self)

    @override
    def __bool__(self) -> bool:
        low, high = bounds(self.terms)
        if low > 0 or high < 0:
            return True
        return not equal(self, 0)

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The smallest and largest value within the bounds of the symbols."""
        return bounds(self.terms)


class LostSizeError(AssertionError):
    """A size was converted to a plain number implicitly; see `Guards.explicit`."""


def _positive(size: int) -> bool:
    """Whether size > 0: at all shapes, or at the current one with a guard."""
    if not isinstance(size, Size):
        return size > 0
    low, high = size.bounds
    if low > 0 or high <= 0:
        return low > 0
    return note(size.terms, "positive", size.value > 0)


def equal(a: int, b: int) -> bool:
    """Whether two sizes are equal: at all shapes, or at the current one with a guard."""
    difference = a - b
    if not isinstance(difference, Size):
        return difference == 0
    low, high = difference.bounds
    if low > 0 or high < 0:
        return False
    return note(difference.terms, "zero", difference.value == 0)


def equal_shapes(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes are equal: at all shapes of the inputs, or at the current one with a guard."""
    return len(a) == len(b) and all(map(equal, a, b))


def pinned(size: int) -> int:
    """The current value as a plain number, with a guard: the code is correct for this value only."""
    if isinstance(size, Size):
        equal(size, size.value)
        return size.value
    return size


def _converted(size: Size) -> int:
    if Guards.explicit and are_noted():
        raise LostSizeError(f"{size} is converted to a number implicitly: use `now` or `pinned`")
    return pinned(size)


def now(size: int) -> int:
    """The current value as a plain number without a guard, for choices that are correct at every value."""
    return size.value if isinstance(size, Size) else int(size)


def surely_below(a: int, b: int) -> bool:
    """Whether a < b at all shapes."""
    difference = b - a
    return difference.bounds[0] > 0 if isinstance(difference, Size) else difference > 0


def bounds_of(size: int) -> tuple[int, int]:
    """The smallest and the largest value at all shapes."""
    return size.bounds if isinstance(size, Size) else (size, size)


def is_fixed(*sizes: int) -> bool:
    """Whether all sizes are the same at all shapes."""
    return not any(isinstance(size, Size) for size in sizes)


def smaller(a: int, b: int) -> int:
    """The smaller size: of all shapes where the order is fixed, else by the current values with a guard."""
    return a if a <= b else b


def larger(a: int, b: int) -> int:
    """The larger size: of all shapes where the order is fixed, else by the current values with a guard."""
    return b if a <= b else a


def ordered(a: int, b: int) -> tuple[int, int] | None:
    """The smaller and the larger size, where the order is the same at all shapes; else None."""
    low, high = bounds_of(b - a)
    return (a, b) if low >= 0 else (b, a) if high <= 0 else None


def times_in(a: int, b: int) -> int:
    """The quotient a / b of terms divisible one by one, if the rest is a number >= 0; else floor(a / b)."""
    if not is_fixed(a, b):
        whole, rest = parted(terms_of(a), terms_of(b))
        left = number_of(rest)
        if left is not None and left >= 0:
            return _made((now(a) - left) // now(b), whole)
    return a // b


def common_divisor(a: int, b: int) -> int:
    """A common divisor at all shapes: the greatest one where both are constant."""
    return gcd(*(factor for size in (a, b) for _, factor in terms_of(size)))


def size_of(symbol: Symbol, value: int) -> int:
    """The size of a symbol whose current value is `value`; a plain number where its bounds admit no other."""
    return symbol.low if symbol.low == symbol.high else Size(value, frozenset({((symbol,), 1)}))


def terms_of(value: int) -> Terms:
    """The polynomial of a size or number."""
    return value.terms if isinstance(value, Size) else constant(int(value))


def _made(value: int, terms: Terms) -> int:
    """A size, or a plain number where the polynomial is constant."""
    number = number_of(terms)
    return Size(value, terms) if number is None else number


def _quotient(a: int, b: int) -> int:
    """floor(a / b) of sizes; where the sign of the divisor depends on the shapes, it is noted as a guard."""
    if is_fixed(a, b):
        return a // b
    if not b:
        raise ZeroDivisionError(f"{a} is divided by 0")
    if not b > 0:
        return _quotient(-a, -b)
    return _made(now(a) // now(b), floor_quotient(terms_of(a), terms_of(b)))


class SizesData(bytes):
    """The bytes of a list of 64-bit integers some of which are sizes; `sizes` holds the list itself."""

    sizes: tuple[int, ...]

    def __new__(cls, data: bytes, sizes: tuple[int, ...]) -> Self:
        """`data` are the bytes at the current values, `sizes` the integers they encode."""
        made = super().__new__(cls, data)
        made.sizes = sizes
        return made

    @override
    def __eq__(self, other: object) -> bool:
        return isinstance(other, SizesData) and self.sizes == other.sizes

    @override
    def __hash__(self) -> int:
        return hash(self.sizes)


def value_at(size: int, values: Mapping[Symbol, int]) -> int:
    """The value of a size at given values of its symbols."""
    return value_of(size.terms, values) if isinstance(size, Size) else size


def symbols_of(size: int) -> set[Symbol]:
    """The symbols that a size depends on."""
    return symbols_in(size.terms) if isinstance(size, Size) else set()
