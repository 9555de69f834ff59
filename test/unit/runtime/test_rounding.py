"""What rounding allows, on plain arrays."""

from __future__ import annotations

import numpy as np
import pytest

from mini_infer.dialects.graph.values import Array
from mini_infer.tools.comparison.rounding import MOST, Looseness, judged, relative_error

HALF = Looseness(2e-3)


def f16(*numbers: float) -> Array:
    with np.errstate(over="ignore"):
        return np.array(numbers, np.float16)


def test_errors_are_of_the_largest_number() -> None:
    assert relative_error(f16(1, 4), np.array([1.5, 4])) == 0.125
    assert relative_error(f16(), np.zeros(0)) == 0
    assert relative_error(f16(0, 0), np.zeros(2)) == 0


@pytest.mark.parametrize("number", [np.inf, -np.inf, np.nan])
def test_what_is_no_number_is_that_of_the_reference(number: float) -> None:
    assert relative_error(f16(1, number), np.array([1, number])) == 0
    for other in {1.0, np.inf, -np.inf, np.nan} - {number}:
        if not (np.isnan(other) and np.isnan(number)):
            assert relative_error(f16(1, number), np.array([1, other])) == np.inf


def test_an_error_within_its_type_is_right() -> None:
    exact = np.array([1.0, 0.5])
    assert judged(f16(1.001, 0.5), exact, HALF).is_right
    assert not judged(f16(1.01, 0.5), exact, HALF).is_right


def test_four_times_the_reference_s_own_error_is_right() -> None:
    exact = np.array([1.0, 0.5])
    assert judged(f16(1, 0.53), exact, HALF, [f16(1.01, 0.5)]).is_right
    assert not judged(f16(1, 0.55), exact, HALF, [f16(1.01, 0.5)]).is_right


def test_a_reference_that_is_far_off_allows_little() -> None:
    verdict = judged(f16(1, 0.5), np.array([1.0, 100]), HALF, [f16(50, 50)])
    assert (verdict.is_right, verdict.allowed) == (False, MOST)


def test_who_agrees_with_the_own_reference_is_right_however_far_that_is_off() -> None:
    assert judged(f16(1, 0.5), np.array([1.0, 100]), HALF, [f16(1, 0.5)]).is_right


def test_what_overflows_in_the_model_s_types_may() -> None:
    exact, own = np.array([1.0, 1e5]), f16(1, 1e5)
    assert judged(f16(1, 1e5), exact, HALF, [own]).is_right
    assert not judged(f16(2, 1e5), exact, HALF, [own]).is_right
    assert not judged(f16(1, -np.inf), exact, HALF, [own]).is_right


def test_integers_are_the_same_or_one_quantum_off_where_they_come_from_rounding() -> None:
    exact = np.array([100, 7], np.int8)
    near, far = exact + np.int8(1), exact + np.int8(2)
    assert judged(exact, exact, Looseness()).is_right
    assert not judged(near, exact, Looseness()).is_right
    assert judged(near, exact, Looseness(quanta=1)).is_right
    assert not judged(far, exact, Looseness(quanta=1)).is_right
    assert judged(far, exact, Looseness(), [far]).is_right


def test_large_integers_that_float64_takes_for_equal_are_not() -> None:
    exact = np.array([2**60], np.int64)
    assert not judged(exact + 1, exact, Looseness()).is_right
