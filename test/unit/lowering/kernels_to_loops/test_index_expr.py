"""Symbolic indices: what divisions leave over must agree with arithmetic, and vanish where it can."""

from __future__ import annotations

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from mini_infer.lowering.kernel_code.index_expr import Expr, Quotient, Var, delinearize, linear

STEPS = [1, 2, 3, 4, 6, 8, 12, 64]


def value(expr: Expr, at: dict[Var, int]) -> int:
    """The number that an expression stands for."""
    total = expr.constant
    for atom, factor in expr.terms:
        if isinstance(atom, Var):
            total += at[atom] * factor
        else:
            whole = divmod(value(atom.of, at), atom.by)
            total += whole[0 if isinstance(atom, Quotient) else 1] * factor
    return total


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([*STEPS, -1, -4]), st.sampled_from([0, 0, -3]), st.sampled_from([0, 1, 3, 5, 7])),
        min_size=1,
        max_size=3,
    ),
    st.integers(-20, 20),
    st.sampled_from(STEPS[1:]),
    st.sampled_from(STEPS[1:]),
)
def test_division(terms: list[tuple[int, int, int]], constant: int, by: int, then: int) -> None:
    variables = [Var(0, low, high) for _, low, high in terms]
    expr = Expr([(var, step) for var, (step, _, _) in zip(variables, terms, strict=True)], constant)
    quotient, remainder = expr.divide(by)
    coarse, _ = quotient.divide(then)
    assert quotient * by + remainder == expr
    for numbers in product(*(range(low, high + 1) for _, low, high in terms)):
        at = dict(zip(variables, numbers, strict=True))
        number = value(expr, at)
        assert (value(quotient, at), value(remainder, at)) == divmod(number, by)
        assert value(coarse, at) == number // by // then
        for part in (expr, quotient, remainder, coarse):
            low, high = part.bounds
            assert low <= value(part, at) <= high


def test_a_reshape_of_cut_axes_needs_no_division() -> None:
    i, j, k = Var(0, 0, 196), Var(0, 0, 11), Var(0, 0, 63)
    flat = linear([Expr.of(i), Expr.of(j), Expr.of(k)], [768, 64, 1])
    assert delinearize(flat, [197, 12, 64]) == [Expr.of(i), Expr.of(j), Expr.of(k)]
    assert not list(delinearize(flat, [197, 768])[1].divisions())


def test_there_and_back_is_the_same() -> None:
    flat = Expr.of(Var(0, 0, 197 * 768 - 1))
    assert linear(delinearize(flat, [197, 12, 64]), [768, 64, 1]) == flat


def test_coefficients() -> None:
    i, j = Var(0, 0, 9), Var(0, 0, 9)
    index = Expr.of(i) * 3 + Expr.of(j).divide(4)[1] + 2
    assert (index.coefficient(i), index.coefficient(j), index.coefficient(Var(0, 0, 1))) == (3, None, 0)
