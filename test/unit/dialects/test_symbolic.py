"""Sizes of run time against plain integers, at random values of their symbols."""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from math import gcd, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from mini_infer.dialects.sizes.guards import Guards, unguarded
from mini_infer.dialects.sizes.polynomials import Symbol
from mini_infer.dialects.sizes.sizes import (
    LostSizeError,
    Size,
    bounds_of,
    common_divisor,
    equal,
    is_fixed,
    larger,
    now,
    pinned,
    size_of,
    smaller,
    surely_below,
    symbols_of,
    value_at,
)

SYMBOLS = (Symbol("a", 1, 6), Symbol("b", 2, 9), Symbol("c", 0, 40), Symbol("d", -5, 7))

Values = Mapping[Symbol, int]


@dataclass(frozen=True)
class Expression:
    """A way to compute an integer from the symbols, with sizes or with plain numbers alike."""

    text: str
    compute: Callable[[Callable[[Symbol], int]], int]

    def at(self, values: Values) -> int:
        """As Python computes it."""
        return self.compute(values.__getitem__)

    def size(self, now: Values) -> int:
        """As a size, at present values."""
        return self.compute(lambda symbol: size_of(symbol, now[symbol]))


OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": lambda a, b: a // b,
    "%": operator.mod,
    "min": smaller,
    "max": larger,
}


def _joined(operation: str, a: Expression, b: Expression) -> Expression:
    apply = OPERATIONS[operation]
    return Expression(f"({a.text} {operation} {b.text})", lambda give: apply(a.compute(give), b.compute(give)))


def _single(sign: str, a: Expression) -> Expression:
    apply: Callable[[int], int] = operator.neg if sign == "-" else abs
    return Expression(f"{sign}({a.text})", lambda give: apply(a.compute(give)))


@cache
def expressions() -> SearchStrategy[Expression]:
    """Trees of operations on symbols and numbers."""
    numbers = st.integers(-12, 12).map(lambda number: Expression(str(number), lambda give: number))
    symbols = st.sampled_from(SYMBOLS).map(lambda symbol: Expression(symbol.name, lambda give: give(symbol)))
    return st.recursive(
        symbols | numbers,
        lambda inner: (
            st.builds(_joined, st.sampled_from(list(OPERATIONS)), inner, inner)
            | st.builds(_single, st.sampled_from(["-", "abs"]), inner)
        ),
        max_leaves=7,
    )


def values() -> SearchStrategy[Values]:
    """A value for each symbol."""
    return st.fixed_dictionaries({symbol: st.integers(symbol.low, symbol.high) for symbol in SYMBOLS})


def held(guards: Guards, values: Values) -> bool:
    """Whether the sizes are as they were taken for."""
    return all(guard.is_met(values) for guard in guards.noted.values())


def both(a: Expression, b: Expression, now: Values, other: Values) -> tuple[int, int]:
    """The sizes of two expressions; examples of which the guards don't hold at other values are dropped."""
    (x, first, *_), (y, second, *_) = computed(a, now, other), computed(b, now, other)
    assume(held(first, other) and held(second, other))
    return x, y


def computed(expression: Expression, now: Values, other: Values) -> tuple[int, Guards, int, int]:
    """The size, the guards, what it ought to be now and at other values; examples that divide by 0 are dropped."""
    guards = Guards()
    try:
        here, there = expression.at(now), expression.at(other)
        with guards.collecting():
            size = expression.size(now)
    except ZeroDivisionError:
        assume(False)
        raise
    return size, guards, here, there


@given(expressions(), values(), values())
def test_sizes_are_what_plain_integers_are_wherever_the_guards_hold(
    expression: Expression, now: Values, other: Values
) -> None:
    size, guards, here, there = computed(expression, now, other)
    assert int(size) == here == value_at(size, now)
    assert held(guards, now)
    if held(guards, other):
        assert value_at(size, other) == there


@given(expressions(), values(), values())
def test_bounds_hold_at_all_values(expression: Expression, now: Values, other: Values) -> None:
    size, guards, here, _ = computed(expression, now, other)
    low, high = bounds_of(size)
    assert low <= here <= high
    if held(guards, other):
        assert low <= value_at(size, other) <= high


@given(expressions(), expressions(), values(), values())
def test_equality_is_at_all_values(a: Expression, b: Expression, now: Values, other: Values) -> None:
    x, y = both(a, b, now, other)
    with Guards().collecting() as guards:
        same = x == y
        assert (x != y) is not same
    assert not guards.noted
    if same:
        assert hash(x) == hash(y)
        assert value_at(x, other) == value_at(y, other)


COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "equal": equal,
}


@given(st.sampled_from(list(COMPARISONS)), expressions(), expressions(), values(), values())
def test_a_decision_holds_where_its_guards_do(
    comparison: str, a: Expression, b: Expression, now: Values, other: Values
) -> None:
    x, y = both(a, b, now, other)
    with Guards().collecting() as guards:
        decided = COMPARISONS[comparison](x, y)
    decide = operator.eq if comparison == "equal" else COMPARISONS[comparison]
    assert decided == decide(int(x), int(y))
    if held(guards, other):
        assert decided == decide(value_at(x, other), value_at(y, other))
    if guards.noted:
        with Guards().collecting() as outer, unguarded():
            assert COMPARISONS[comparison](x, y) == decided
        assert not outer.noted


@given(expressions(), expressions(), values(), values())
def test_what_surely_is(a: Expression, b: Expression, now: Values, other: Values) -> None:
    x, y = both(a, b, now, other)
    if surely_below(x, y):
        assert value_at(x, other) < value_at(y, other)
    divisor = common_divisor(x, y)
    if is_fixed(x, y):
        assert divisor == gcd(x, y)
    elif divisor:
        assert value_at(x, other) % divisor == 0
        assert value_at(y, other) % divisor == 0


@given(expressions(), values(), values())
def test_whether_it_is_nothing(expression: Expression, now: Values, other: Values) -> None:
    size, made, here, _ = computed(expression, now, other)
    assume(held(made, other))
    with Guards().collecting() as guards:
        assert bool(size) == bool(here)
    if held(guards, other):
        assert bool(value_at(size, other)) == bool(here)


@given(expressions(), values(), values())
def test_pinned_sizes_are_right_for_one_value(expression: Expression, now: Values, other: Values) -> None:
    size, made, *_ = computed(expression, now, other)
    assume(held(made, other))
    with Guards().collecting() as guards:
        number = pinned(size)
    assert number == int(size)
    assert is_fixed(number)
    met = held(guards, other)
    assert met == (value_at(size, other) == number)


@given(expressions(), values())
def test_only_what_hangs_on_symbols_is_a_size(expression: Expression, now: Values) -> None:
    size = computed(expression, now, now)[0]
    assert is_fixed(size) == (not symbols_of(size))


A, B, C, D = (size_of(symbol, now) for symbol, now in zip(SYMBOLS, (2, 3, 10, 1), strict=True))


@pytest.mark.parametrize(
    ("size", "same"),
    [
        (A * 8 * 64 // 64, A * 8),
        (A * B * 7 // (A * 7), B),
        ((A * B + B) // B, A + 1),
        ((A + 1) * (B - 2) // (A + 1), B - 2),
        ((A * 8 + 7) // 8, A),
        ((A * 8 + 8) // 8, A + 1),
        (-(-A * 4 // 4), A),
        (C // 2 // 3, C // 6),
        ((C + 1 - 1) % 7, C % 7),
        (A * 6 % 3, 0),
        (A % 7, A),
        (A // 7, 0),
        ((A + B) * (A + B), A * A + 2 * A * B + B * B),
        ((A + 2) ** 2, A * A + 4 * A + 4),
        (A - A, 0),
        (A + B - A, B),
        (larger(A, 1), A),
        (smaller(A, 6), A),
        (larger(A, 9), 9),
        (divmod(A * 4 + 1, 4)[1], 1),
        (12 - A + A, 12),
        (abs(A), A),
        (size_of(Symbol("one", 3, 3), 3), 3),
    ],
    ids=str,
)
def test_known_without_a_guess(size: int, same: int) -> None:
    with Guards().collecting() as guards:
        assert size == same
        assert equal(size, same)
    assert not guards.noted


@pytest.mark.parametrize("now", [0, 1])
def test_a_quotient_of_less_than_nothing_by_a_symbol(now: int) -> None:
    bit, n = Symbol("bit", 0, 1), Symbol("n", 3, 9)
    found = -size_of(bit, now) // size_of(n, 5)
    assert [value_at(found, {bit: at, n: 5}) for at in (0, 1)] == [0, -1]


def test_guards_say_what_they_hold() -> None:
    with Guards().collecting() as guards:
        assert A < B
        assert A < B
        assert not equal(C, 1)
        assert C
    assert [str(guard) for guard in guards.noted.values()] == ["-a + b > 0", "c - 1 != 0", "c != 0"]


BY_THE_WAY: dict[str, Callable[[int], Any]] = {
    "int": int,
    "index": operator.index,
    "range": range,
    "gcd": lambda size: gcd(size, 12),
    "slice": lambda size: "abcdefghi"[:size],
    "repeated": lambda size: [0] * size,
    "bytes": lambda size: struct.pack("<q", size),
    "an array": lambda size: np.array([size], np.int64),
    "a shape": np.zeros,
    "written": hex,
}


@pytest.mark.parametrize("convert", BY_THE_WAY.values(), ids=BY_THE_WAY)
def test_a_size_becomes_a_number_only_with_a_guard(
    convert: Callable[[int], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with Guards().collecting() as guards:
        with pytest.raises(LostSizeError, match=r"c is converted to a number"):
            convert(C)
        with unguarded():
            convert(C)
        assert not guards.noted
        monkeypatch.setattr(Guards, "explicit", False)
        convert(C)
    assert [str(guard) for guard in guards.noted.values()] == ["c - 10 == 0"]


@pytest.mark.parametrize(
    ("computed", "plain"),
    [
        (lambda: np.prod([A, B]), A * B),
        (lambda: np.array([A, 1]).sum(), A + 1),
        (lambda: np.int64(3) * A, A * 3),
        (lambda: (np.array([1, 2]) + A)[1], A + 2),
        (lambda: prod([A, B]), A * B),
        (lambda: max(A, 1), A),
    ],
)
def test_what_keeps_a_size(computed: Callable[[], Any], plain: int) -> None:
    with Guards().collecting() as guards:
        assert computed() == plain
    assert not guards.noted


IN_FLOATS: list[Callable[[Any], Any]] = [
    lambda a: a * 0.5,
    lambda a: 0.5 + a,
    lambda a: a / 2,
    lambda a: a < 2.5,
    float,
]


@pytest.mark.parametrize("compute", IN_FLOATS)
def test_what_is_computed_in_floats_has_a_guard(compute: Callable[[Any], Any]) -> None:
    with Guards().collecting() as guards:
        assert compute(A) == compute(now(A))
    assert guards.noted


def test_a_size_is_an_int_by_all_tests_of_python() -> None:
    assert isinstance(A, int)
    assert isinstance(A, Size)
    match A:
        case int():
            pass
        case _:
            pytest.fail("a size is no int")


def test_two_symbols_of_one_name_are_two() -> None:
    a, other = size_of(Symbol("n", 1, 4), 2), size_of(Symbol("n", 1, 4), 2)
    assert a != other
    assert a == a + other - other


def test_sizes_print_as_the_text_is_read() -> None:
    assert f"{A * 4 + 1:d}" == "(a * 4 + 1)"
    assert str((A + 1) // B) == "(a + 1) floordiv b"
    assert str(-((A + 1) // B) * 2 - 3) == "-((a + 1) floordiv b) * 2 - 3"
    rows = size_of(Symbol('rows / "2"', 1, 9), 4)
    assert (str(rows // 3), f"{rows:d}") == ('(rows / "2") floordiv 3', '("rows / \\222\\22")')


@pytest.mark.parametrize("most", [5, 28])
def test_the_parts_of_a_size_are_no_larger_than_they_may_be(most: int) -> None:
    """A size in the fewest nearly equal parts: what the largest has at most is what it may have, not all."""
    a, b, c, _ = (size_of(symbol, symbol.high) for symbol in SYMBOLS)
    for total in (a * b, 2 * a * b, -(-a // 2) * b, 3 * (b + 1), 4 * c + 5):
        part = 1 + (total - 1) // -(-total // most)
        assert bounds_of(part)[1] == min(most, bounds_of(total)[1])
    assert bounds_of((a * b) // (1 + (a * b) // most))[1] == min(most - 1, 54)
    assert bounds_of((a * b) // ((a * b + most) // (most + 1) + 1))[1] <= most
    # Another size's parts say nothing.
    assert bounds_of((a * b) // -(-a // most))[1] == 54


def test_a_quotient_just_below_a_multiple_is_a_number() -> None:
    a, b, *_ = (size_of(symbol, symbol.high) for symbol in SYMBOLS)
    assert [(2 * a * b - 1) // (2 * a * b), (b - 2) // b, (a * b - b) // (a * b), (3 * b - 2) // b] == [0, 0, 0, 2]
    assert not is_fixed((a * b - 2 * b) // (a * b)), "-1 where a is 1"
